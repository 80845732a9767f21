package report

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// stripCells maps the marks of rows to cells of the strip: characters that differ without colours,
// and colours.
var stripCells = []struct {
	cell, ascii string
	style       ui.Style
	fill        string // colour in SVG
	height      int
	meaning     lang.Text
}{
	record.MarkNotCompared: {"_", "_", ui.Plain, "#8a8f98", 2, lang.Text{EN: "not compared"}},
	record.MarkPasses:      {"▁", ".", ui.Good, "#2f9e5b", 5, lang.Text{EN: "pass"}},
	record.MarkRounding:    {"▂", "-", ui.Plain, "#9aa0a6", 8, lang.Text{EN: "rounding"}},
	record.MarkWarned:      {"▄", "w", ui.Doubtful, "#d99000", 12, lang.Text{EN: "warning"}},
	record.MarkFails:       {"▆", "x", ui.Doubtful, "#e9a3a3", 17, lang.Text{EN: "bad by its inputs or rounding"}},
	record.MarkOrigin:      {"█", "#", ui.Bad, "#c81e1e", 24, lang.Text{EN: "own error"}},
}

// stripMark returns the mark of a row in a strip; tensors that could not be compared stand out.
func stripMark(r *record.Report, i int) record.Mark {
	if row := r.Row(i); row.Status.IsBad() && !row.IsJudged() {
		return record.MarkOrigin
	}
	return r.Mark(i, r.Row(i))
}

// minStrip is the smallest number of rows for a strip.
const minStrip = 3

// stripOf returns the strip of the findings' round in execution order, with at most most cells: the
// worst mark of each cell, and the cell of the first bad row, -1 for none. each is the number of
// rows per cell, round the name of the round if there are several.
func stripOf(r *record.Report, most int) (cells []record.Mark, first, each int, round string) {
	first = -1
	if r.Len() == 0 || most < 1 {
		return nil, first, 0, ""
	}
	from := r.Findings.FirstBad
	for i, row := range r.AllRows() {
		if from < 0 && row.Status.IsBad() {
			from = i
		}
	}
	from = max(from, 0)
	order, at := executionOrder(r, min(from, r.Len()-1))
	if len(order) < minStrip {
		return nil, first, 0, ""
	}
	each = (len(order) + most - 1) / most
	for k, i := range order {
		if k%each == 0 {
			cells = append(cells, record.MarkNotCompared)
		}
		cells[k/each] = max(cells[k/each], stripMark(r, i))
	}
	if r.Findings.FirstBad >= 0 {
		first = at / each
	}
	return cells, first, each, r.Row(order[0]).Round
}

// printStrip prints all rows in execution order as one line of the terminal's width, in Markdown as a picture;
// nothing without a terminal.
func (p *printer) printStrip(r *record.Report) {
	if p.markdown {
		p.printStripSVG(r)
	}
	if p.Width <= 2*len(textIndent) {
		return
	}
	cells, first, each, round := stripOf(r, p.Width-2*len(textIndent))
	if cells == nil {
		return
	}
	p.writeBlankLine()
	p.text(p.stripTitle(r, round, each) + p.format(":"))
	var line strings.Builder
	used := map[record.Mark]bool{}
	for _, s := range equalRuns(cells) {
		mark := cells[s.from]
		used[mark] = true
		line.WriteString(p.paint(stripCells[mark].style, strings.Repeat(p.stripCell(mark), s.to+1-s.from)))
	}
	p.print(textIndent + line.String() + "\n")
	if first >= 0 {
		mark := p.format("^ first bad")
		width := ui.Columns.StringWidth(mark)
		switch {
		case len(textIndent)+first+width <= p.Width:
			p.print(textIndent + strings.Repeat(" ", first) + mark + "\n")
		case first+1 >= width:
			p.print(textIndent + strings.Repeat(" ", first+1-width) + p.format("first bad ^") + "\n")
		}
	}
	var legend []string
	for level := record.MarkOrigin; level >= record.MarkNotCompared; level-- {
		if used[level] {
			legend = append(legend, p.stripCell(level)+" "+p.Lang.Text(stripCells[level].meaning))
		}
	}
	p.line(textIndent, p.join(legend...))
}

// equalRuns returns runs of equal cells.
func equalRuns(cells []record.Mark) []span {
	return equalSpans(len(cells), func(i, j int) bool { return cells[i] == cells[j] })
}

// stripTitle describes the strip: its round, the order and the rows per cell.
func (t Text) stripTitle(r *record.Report, round string, each int) string {
	title := t.format("All tensors")
	if round != "" {
		title = t.format("All tensors of %s", round)
	}
	if isOrderKnown(r) {
		title += t.format(" in execution order")
	} else {
		title += t.format(" (execution order unknown)")
	}
	if each > 1 {
		title = t.format("%s, the worst of each %d", title, each)
	}
	return title
}

func (t Text) stripCell(level record.Mark) string {
	if t.ASCII {
		return stripCells[level].ascii
	}
	return stripCells[level].cell
}

// The bars of a sparkline, in ascending height.
var (
	sparkBars  = []rune(" ▁▂▃▄▅▆▇█")
	sparkASCII = []rune(" .:-=+*#@")
)

// widestSpark is the largest number of bars of a sparkline.
const widestSpark = 64

// unevenAxisLines returns a line with the profile of the axis along which a row's errors are uneven, on
// a terminal and if the row's profiles were kept.
func (t Text) unevenAxisLines(row *record.Row) []string {
	if t.Width <= 0 || !row.IsCompared() || len(row.Reasons) == 0 {
		return nil
	}
	facts := row.Reasons[0].Facts
	axis, ok := facts.Get("axis")
	first, okFirst := facts.Get("first")
	end, okEnd := facts.Get("end")
	if !ok || !okFirst || !okEnd {
		return nil
	}
	for _, a := range record.FoldAxes(row.Result.Axes) {
		if float64(a.Axis) != axis {
			continue
		}
		label := t.format("axis %d, mean |d|: ", a.Axis)
		tail := t.format("  worst in [%g, %g) of %d", first, end, a.Size)
		room := t.Width - labelWidth - ui.Columns.StringWidth(label) - ui.Columns.StringWidth(tail) - 1
		var means []float64
		for _, b := range a.Bins {
			mean := 0.0
			if b.Count > 0 {
				mean = b.SumAbs / float64(b.Count)
			}
			means = append(means, mean)
		}
		if room >= min(len(means), minSpark) {
			return []string{label + t.sparkline(means, min(room, widestSpark)) + tail}
		}
	}
	return nil
}

// minSpark is the smallest width of a sparkline with many bins.
const minSpark = 16

// sparkline draws non-negative numbers as bars; if there are more than most, a bar is the maximum of
// neighbours.
func (t Text) sparkline(values []float64, most int) string {
	bars := sparkBars
	if t.ASCII {
		bars = sparkASCII
	}
	each := (len(values) + most - 1) / most
	top := slices.Max(values)
	var b strings.Builder
	b.WriteByte('|')
	for from := 0; from < len(values); from += each {
		x := slices.Max(values[from:min(from+each, len(values))])
		k := 0
		if x > 0 && top > 0 {
			k = 1 + min(int(x/top*float64(len(bars)-1)), len(bars)-2)
		}
		b.WriteRune(bars[k])
	}
	b.WriteByte('|')
	return b.String()
}

// Dimensions of a strip in SVG.
const (
	svgCells  = 160
	svgHeight = 28
	svgWidth  = 720
)

// printStripSVG prints all rows in execution order as an SVG picture, nothing for few rows.
func (p *printer) printStripSVG(r *record.Report) {
	cells, first, each, _ := stripOf(r, svgCells)
	if cells == nil {
		return
	}
	title := p.stripTitle(r, "", each) // without names, which might contain markup
	var b strings.Builder
	fmt.Fprintf(&b, "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\"><title>%s</title>", svgWidth, svgHeight, title, title)
	for _, s := range equalRuns(cells) {
		c := &stripCells[cells[s.from]]
		x, end := s.from*svgWidth/len(cells), (s.to+1)*svgWidth/len(cells)
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>", x, svgHeight-2-c.height, max(end-x, 1), c.height, c.fill)
	}
	if first >= 0 {
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"0\" width=\"2\" height=\"%d\" fill=\"#111827\"/>", first*svgWidth/len(cells), svgHeight)
	}
	p.paragraph(b.String() + "</svg>")
}
