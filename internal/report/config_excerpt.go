package report

import (
	"bytes"
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
	before, beforeWidth, atStart := leftOf(text[:start], room)
	place, placeWidth, placeWhole := rightOf(text[start:end], room)
	after, afterWidth, atEnd := []string(nil), 0, placeWhole
	if placeWhole {
		after, afterWidth, atEnd = rightOf(text[end:], room)
	}
	if placeWhole && bytes.IndexByte(text[start:end], '\n') >= 0 {
		after, afterWidth, atEnd = nil, 0, true // the place goes on in the next line
	}
	right := placeWidth + afterWidth
	if !atStart || beforeWidth+right > room || !atEnd {
		keep := room - 2 // an ellipsis on either side
		lead := beforeWidth
		if !atStart || beforeWidth > keep/2 {
			lead = max(keep/3, keep-right)
		}
		before, beforeWidth = lastColumns(before, lead, !atStart)
		place, placeWidth, after = firstColumns(place, after, room-beforeWidth-1, !atEnd)
	}
	return excerpt{
		line: strings.TrimRight(strings.Join(before, "")+strings.Join(place, "")+strings.Join(after, ""), " "),
		mark: strings.Repeat(" ", beforeWidth) + "^" + strings.Repeat("~", max(0, placeWidth-1)),
	}
}

// leftOf returns what stands before the end of text on its line, a cell for
// each character, and its width; not more than a little over room columns.
// whole is false when there is more of the line.
func leftOf(text []byte, room int) (cells []string, width int, whole bool) {
	for len(text) > 0 && text[len(text)-1] != '\n' {
		if width > room {
			return reversed(cells), width, false
		}
		r, n := utf8.DecodeLastRune(text)
		cell := cellOf(r, text[len(text)-n:])
		cells = append(cells, cell)
		width += metric.StringWidth(cell)
		text = text[:len(text)-n]
	}
	return reversed(cells), width, true
}

func reversed(cells []string) []string {
	for i, j := 0, len(cells)-1; i < j; i, j = i+1, j-1 {
		cells[i], cells[j] = cells[j], cells[i]
	}
	return cells
}

// rightOf is like leftOf for what stands at the start of text.
func rightOf(text []byte, room int) (cells []string, width int, whole bool) {
	for len(text) > 0 && text[0] != '\n' && !bytes.HasPrefix(text, []byte("\r\n")) {
		if width > room {
			return cells, width, false
		}
		r, n := utf8.DecodeRune(text)
		cell := cellOf(r, text[:n])
		cells = append(cells, cell)
		width += metric.StringWidth(cell)
		text = text[n:]
	}
	return cells, width, true
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
func lastColumns(cells []string, columns int, cut bool) ([]string, int) {
	width, i := 0, len(cells)
	for i > 0 && width+metric.StringWidth(cells[i-1]) <= columns {
		i--
		width += metric.StringWidth(cells[i])
	}
	if i > 0 || cut {
		return append([]string{ellipsis}, cells[i:]...), width + 1
	}
	return cells, width
}

// firstColumns keeps the first columns of a place and of what follows it, with
// an ellipsis when something was or is cut away. One more column than that may
// be used.
func firstColumns(place, after []string, columns int, cut bool) (kept []string, placeWidth int, rest []string) {
	width := 0
	all := len(place) + len(after)
	i := 0
	for ; i < all; i++ {
		cell := cellAt(place, after, i)
		size := metric.StringWidth(cell)
		if width+size > columns && (i+1 < all || cut || width+size > columns+1) {
			break
		}
		width += size
		if i < len(place) {
			placeWidth = width
		}
	}
	if i < all || cut {
		rest = []string{ellipsis}
	}
	if i <= len(place) {
		return place[:i], placeWidth, rest
	}
	return place, placeWidth, append(after[:i-len(place):i-len(place)], rest...)
}

func cellAt(place, after []string, i int) string {
	if i < len(place) {
		return place[i]
	}
	return after[i-len(place)]
}
