package report

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/ui"
)

// excerpt is a line of a text, or the part of it around a place.
type excerpt struct {
	line string
	mark string // carets that stand below the place
}

const (
	ellipsis = "…"
	tabText  = "    " // a tab, of which no terminal knows how wide it was meant
)

// newExcerpt returns the line on which the bytes from start to end of a text
// begin. Of a line that has more than room columns it keeps those around the
// place. It looks at no more of the text than it needs.
func newExcerpt(text []byte, start, end, room int) excerpt {
	room = max(room, 8)
	before, atStart := cellsBefore(text[:start], room)
	line, atEnd := cellsAfter(text[start:end], room)
	place := len(line) // the cells of the place
	if atEnd && bytes.IndexByte(text[start:end], '\n') < 0 {
		var after []string
		after, atEnd = cellsAfter(text[end:], room)
		line = append(line, after...)
	}
	lead, rest := columnsOf(before), columnsOf(line)
	if !atStart || lead+rest > room || !atEnd {
		keep := room - 2 // an ellipsis on either side
		if !atStart || lead > keep/2 {
			lead = max(keep/3, keep-rest)
		}
		before = lastColumns(before, lead, !atStart)
		all := len(line)
		line = firstColumns(line, room-columnsOf(before)-1, !atEnd)
		atEnd = atEnd && len(line) == all
	}
	tail := ""
	if !atEnd {
		tail = ellipsis
	}
	place = min(place, len(line))
	return excerpt{
		line: strings.TrimRight(strings.Join(before, "")+strings.Join(line, "")+tail, " "),
		mark: strings.Repeat(" ", columnsOf(before)) + "^" + strings.Repeat("~", max(0, columnsOf(line[:place])-1)),
	}
}

// columnsOf is the width of cells.
func columnsOf(cells []string) int {
	width := 0
	for _, cell := range cells {
		width += metric.StringWidth(cell)
	}
	return width
}

// cellsBefore returns what stands before the end of text on its line, a cell for
// each character; not more than a little over room columns. whole is false when
// there is more of the line.
func cellsBefore(text []byte, room int) (cells []string, whole bool) {
	width := 0
	for len(text) > 0 && text[len(text)-1] != '\n' && width <= room {
		r, n := utf8.DecodeLastRune(text)
		cells = append(cells, cellOf(r, text[len(text)-n:]))
		width += metric.StringWidth(cells[len(cells)-1])
		text = text[:len(text)-n]
	}
	slices.Reverse(cells)
	return cells, len(text) == 0 || text[len(text)-1] == '\n'
}

// cellsAfter is like cellsBefore for what stands at the start of text.
func cellsAfter(text []byte, room int) (cells []string, whole bool) {
	ends := func() bool { return len(text) == 0 || text[0] == '\n' || bytes.HasPrefix(text, []byte("\r\n")) }
	for width := 0; !ends() && width <= room; {
		r, n := utf8.DecodeRune(text)
		cells = append(cells, cellOf(r, text[:n]))
		width += metric.StringWidth(cells[len(cells)-1])
		text = text[n:]
	}
	return cells, ends()
}

// cellOf returns what is shown for a character.
func cellOf(r rune, bytes []byte) string {
	if r == '\t' {
		return tabText
	}
	return ui.Escape(string(bytes))
}

// lastColumns keeps the last columns of cells, behind an ellipsis when
// something was or is cut away.
func lastColumns(cells []string, columns int, cut bool) []string {
	i := len(cells)
	for width := 0; i > 0; i-- {
		if width += metric.StringWidth(cells[i-1]); width > columns {
			break
		}
	}
	if i > 0 || cut {
		return append([]string{ellipsis}, cells[i:]...)
	}
	return cells
}

// firstColumns keeps the first columns of cells. The last cell of a line may take
// the column of an ellipsis, unless something was cut away already.
func firstColumns(cells []string, columns int, cut bool) []string {
	width := 0
	for i, cell := range cells {
		width += metric.StringWidth(cell)
		if width > columns && (i+1 < len(cells) || cut || width > columns+1) {
			return cells[:i]
		}
	}
	return cells
}
