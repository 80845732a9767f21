package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/ui"
)

// defaultWidth is the width of a line where the terminal has none.
const defaultWidth = 80

// wideWidth is the width from which the table of the worst rows has room for a
// second code.
const wideWidth = 120

// labelWidth is the width of the labels of facts, the gap behind them included.
const labelWidth = 16

// WriteCompare prints the summary of a comparison: the verdict, the first bad
// operator and what is known of it, the worst rows and what was compared. It is
// English in every language. No line is longer than the terminal is wide, 80
// columns with width 0.
func (t Text) WriteCompare(w io.Writer, r *compare.Report) error {
	p := newComparePrinter(t, w)
	p.text(CompareVerdict(r))
	if facts := slices.Concat(findingFacts(r), problemFacts(r)); len(facts) > 0 {
		p.blank()
		p.facts(facts)
	}
	if worst := compare.WorstRows(r, compareWorst); len(worst) > 0 {
		p.blank()
		p.text("The worst rows (numbers over finite elements):")
		codes := 1
		if p.Width >= wideWidth {
			codes = 2
		}
		p.table(worstTable(r, worst, codes))
	}
	p.blank()
	p.facts(runFacts(r))
	return p.err
}

// comparePrinter prints lines that are never too long.
type comparePrinter struct{ printer }

func newComparePrinter(t Text, w io.Writer) *comparePrinter {
	if t.Width <= 0 {
		t.Width = defaultWidth
	}
	return &comparePrinter{printer{w: w, Text: t}}
}

// text prints a paragraph.
func (p *comparePrinter) text(text string) {
	for _, part := range wrap(ui.Escape(text), p.Width, p.Width) {
		p.print(part + "\n")
	}
}

// facts prints labels with their texts beside them.
func (p *comparePrinter) facts(facts []fact) {
	width := p.Width - labelWidth
	for _, f := range facts {
		label := f.label
		for _, line := range f.lines {
			for i, part := range wrap(ui.Escape(line), width, width-len(textIndent)) {
				if i > 0 {
					part = textIndent + part
				}
				p.print(strings.TrimRight(pad(label, labelWidth)+part, " ") + "\n")
				label = ""
			}
		}
	}
}

// grid is a table that can do without some of its columns.
type grid struct {
	columns []ui.Column
	// keep lists the columns from the one to keep longest.
	keep []int
	rows [][]string
}

// minName is what shortening leaves of a name.
const minName = 12

// table prints a table whose first column holds names: they are shortened in the
// middle, and columns are left out where that does not help.
func (p *comparePrinter) table(g grid) {
	if p.err != nil {
		return
	}
	for _, row := range g.rows {
		for i := range row {
			row[i] = ui.Escape(row[i])
		}
	}
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = metric.StringWidth(c.Title)
		for _, row := range g.rows {
			widths[i] = max(widths[i], metric.StringWidth(row[i]))
		}
	}
	shown, used := []int{0}, min(widths[0], minName)
	for _, i := range g.keep {
		if used+columnGap+widths[i] > p.Width {
			continue
		}
		shown, used = append(shown, i), used+columnGap+widths[i]
	}
	slices.Sort(shown)
	name := min(widths[0], minName) + p.Width - used
	columns := make([]ui.Column, len(shown))
	for i, c := range shown {
		columns[i] = g.columns[c]
	}
	table := ui.NewTable(columns...)
	for _, row := range g.rows {
		cells := make([]string, len(shown))
		for i, c := range shown {
			cells[i] = row[c]
		}
		cells[0] = shorten(cells[0], name)
		table.Row(cells...)
	}
	p.started = true
	p.err = table.Print(p.w, p.Width)
}

// worstTable is the table of the worst rows, with so many codes of each.
func worstTable(r *compare.Report, worst []int, codes int) grid {
	g := grid{keep: []int{2, 6, 3, 1, 5, 4}}
	for i, name := range worstColumns {
		align := ui.Left
		if i >= 2 && i <= 5 {
			align = ui.Right
		}
		g.columns = append(g.columns, ui.Column{Title: strings.ToUpper(name), Align: align})
	}
	for _, i := range worst {
		g.rows = append(g.rows, worstCells(&r.Rows[i], codes))
	}
	return g
}

// shorten cuts text to a width: the middle makes way for an ellipsis, for
// names of operators differ at their ends.
func shorten(text string, width int) string {
	if metric.StringWidth(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	head, tail, left := "", "", width-1
	runes := []rune(text)
	for _, c := range runes {
		size := metric.RuneWidth(c)
		if metric.StringWidth(head)+size > left/3 {
			break
		}
		head += string(c)
	}
	for _, c := range slices.Backward(runes) {
		size := metric.RuneWidth(c)
		if metric.StringWidth(head)+metric.StringWidth(tail)+size > left {
			break
		}
		tail = string(c) + tail
	}
	return head + "…" + tail
}

// floatShort prints a number with few digits.
func floatShort(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return compare.FormatFloat(x)
	}
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := fmt.Sprintf("%.4g", x)
	if x != 1 && text == "1" {
		return fmt.Sprintf("%.9g", x) // a cosine: it matters how near to 1
	}
	return text
}

// valueShort prints an element with few digits; integers have all of theirs.
func valueShort(v engine.Value) string {
	h := v.DType.Host()
	if isInteger(h) {
		return string(compare.ElementValueOf(v))
	}
	text := elementShort(v.Real)
	if h.Complex() {
		imaginary := elementShort(v.Imag)
		if imaginary[0] != '-' {
			imaginary = "+" + imaginary
		}
		text += imaginary + "j"
	}
	return text
}

// elementShort prints a part of an element, with enough digits to see a
// difference.
func elementShort(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return compare.FormatFloat(x)
	}
	return fmt.Sprintf("%.7g", x)
}
