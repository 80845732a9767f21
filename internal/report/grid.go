package report

import (
	"io"
	"slices"
	"strings"
	"unicode"

	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// Grid is a table of cells for a terminal.
type Grid []gridColumn

// gridColumn is a column of a grid.
type gridColumn struct {
	cells []string // heading first
	right bool
	rank  int
	width int // of the widest cell
}

// Width returns the width of the grid in terminal columns.
func (g Grid) Width() int {
	total := columnGap * (len(g) - 1)
	for i := range g {
		total += g[i].width
	}
	return total
}

// Names and other texts are shortened to no fewer columns.
const (
	minName = 12
	minText = 8
)

// Fit returns the grid for a terminal of width columns; 0 leaves it unchanged. The first column
// without a rank holds names: they are shortened in the middle, and if that is not enough, columns
// with a rank are dropped.
func (g Grid) Fit(width int) Grid { return g.fit(width, minName) }

// fit is Fit with the least width of names.
func (g Grid) fit(width, least int) Grid {
	if width <= 0 {
		return g
	}
	byRank := slices.DeleteFunc(slices.Clone(g), func(c gridColumn) bool { return c.rank == 0 })
	slices.SortFunc(byRank, func(a, b gridColumn) int { return a.rank - b.rank })
	names := func(c gridColumn) bool { return c.rank == 0 }
	widestName := g[slices.IndexFunc(g, names)].width
	used, shown := min(widestName, least), map[int]bool{0: true} // kept columns by rank; 0 is the names
	for i := range byRank {
		if more := columnGap + byRank[i].width; used+more <= width {
			shown[byRank[i].rank], used = true, used+more
		}
	}
	fitted := slices.DeleteFunc(slices.Clone(g), func(c gridColumn) bool { return !shown[c.rank] })
	column := &fitted[slices.IndexFunc(fitted, names)]
	cells, room := slices.Clone(column.cells), min(widestName, least)+width-used
	for i := range cells {
		cells[i] = shorten(cells[i], room)
	}
	column.cells, column.width = cells, widestCell(cells)
	return fitted
}

// Print writes the grid. A positive width is the width of a terminal: the widest text columns are
// cut, with an ellipsis, until the rows fit or the columns have their least width. Cells with a
// status are highlighted.
func (g Grid) Print(w io.Writer, indent string, t Text) error {
	if t.Width > 0 {
		g = g.narrowColumns(max(1, t.Width-len(indent)))
	}
	var text strings.Builder
	for row := range g[0].cells {
		line := indent
		for i := range g {
			c := &g[i]
			cell := ui.Columns.Truncate(c.cells[row], c.width, ellipsis)
			blanks := pad("", c.width-ui.Columns.StringWidth(cell))
			cell = t.paint(ui.StyleOf(cell), cell)
			if i > 0 {
				line += pad("", columnGap)
			}
			if c.right {
				line += blanks + cell
			} else {
				line += cell + blanks
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// markdown returns the grid as a table in Markdown.
func (g Grid) markdown() string {
	lines := make([]string, len(g[0].cells))
	for i := range lines {
		lines[i] = "|"
		for k := range g {
			lines[i] += " " + escapeMarkdown(strings.TrimSpace(g[k].cells[i])) + " |"
		}
	}
	sides := "|"
	for k := range g {
		if g[k].right {
			sides += "--:|"
		} else {
			sides += "---|"
		}
	}
	return strings.Join(slices.Insert(lines, 1, sides), "\n")
}

// widestCell returns the width of the widest cell in columns.
func widestCell(cells []string) int {
	width := 0
	for _, cell := range cells {
		width = max(width, ui.Columns.StringWidth(cell))
	}
	return width
}

// narrowColumns narrows the widest text columns until a row has at most width columns.
func (g Grid) narrowColumns(width int) Grid {
	g = slices.Clone(g)
	for total := g.Width(); total > width; total-- {
		widest := -1
		for i := range g {
			if c := &g[i]; !c.right && c.width > minText && (widest < 0 || c.width > g[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		g[widest].width--
	}
	return g
}

// namePart matches a part of a name with the separators behind it.
var namePart = lang.Pattern(`[^/._]+[/._]*|[/._]+`)

// shorten cuts a name to a width: words without a number are replaced by an ellipsis first, then
// the text around the numbers of other words, beginning near the last word. Numbers of layers are
// kept, and the last word if there is room.
func shorten(text string, width int) string {
	if ui.Columns.StringWidth(text) <= width {
		return text
	}
	if name := strings.TrimLeft(text, culpritMark); name != "" && len(name) < len(text) {
		if mark := strings.TrimSuffix(text, name); ui.Columns.StringWidth(mark)+minText <= width {
			return mark + shorten(name, width-ui.Columns.StringWidth(mark))
		}
	}
	parts := namePart().FindAllString(text, -1)
	last := len(parts) - 1
	for _, cut := range []func(string) string{cutWord, cutAroundNumber} {
		for i := last - 1; i >= 0; i-- {
			parts[i] = cut(parts[i])
			if short := joinParts(parts); ui.Columns.StringWidth(short) <= width {
				return short
			}
		}
	}
	if i := slices.IndexFunc(parts[:max(last, 0)], hasDigit); i >= 0 {
		if room := width - ui.Columns.StringWidth(parts[i]); room >= minText {
			return parts[i] + cutMiddle(parts[last], room)
		}
	}
	return cutMiddle(text, width)
}

// hasDigit reports whether a part of a name contains a number.
func hasDigit(part string) bool { return strings.ContainsFunc(part, unicode.IsDigit) }

// cutWord replaces a part without a number.
func cutWord(part string) string {
	if hasDigit(part) {
		return part
	}
	return ellipsis
}

// cutAroundNumber keeps only the numbers and the separators of a part.
func cutAroundNumber(part string) string {
	var b strings.Builder
	for _, c := range part {
		switch {
		case unicode.IsDigit(c) || strings.ContainsRune("/._", c):
			b.WriteRune(c)
		case !strings.HasSuffix(b.String(), ellipsis):
			b.WriteString(ellipsis)
		}
	}
	return b.String()
}

// joinParts joins the parts of a name and merges adjacent ellipses.
func joinParts(parts []string) string {
	text := strings.Join(parts, "")
	for strings.Contains(text, ellipsis+ellipsis) {
		text = strings.ReplaceAll(text, ellipsis+ellipsis, ellipsis)
	}
	return text
}

// cutMiddle cuts text to a width by replacing its middle with an ellipsis, since names of operators
// differ at their ends.
func cutMiddle(text string, width int) string {
	if ui.Columns.StringWidth(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	head, tail, left := "", "", width-1
	runes := []rune(text)
	for _, c := range runes {
		size := ui.Columns.RuneWidth(c)
		if ui.Columns.StringWidth(head)+size > left/3 {
			break
		}
		head += string(c)
	}
	for _, c := range slices.Backward(runes) {
		size := ui.Columns.RuneWidth(c)
		if ui.Columns.StringWidth(head)+ui.Columns.StringWidth(tail)+size > left {
			break
		}
		tail = string(c) + tail
	}
	return head + ellipsis + tail
}

// columnGap is the number of blanks between columns.
const columnGap = 2

// pad appends blanks up to a width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ui.Columns.StringWidth(text)))
}
