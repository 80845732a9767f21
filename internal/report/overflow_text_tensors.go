package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/overflow"
	"dumptool/internal/ui"
)

// tensors prints a table of tensors; on a narrow terminal what they are and what
// they hold in two, or a few lines a tensor. Then come the errors.
func (p *printer) tensors(tensors []overflow.Tensor) {
	var read []*overflow.Tensor
	for i := range tensors {
		if tensors[i].Census != nil {
			read = append(read, &tensors[i])
		}
	}
	if len(read) > 0 {
		p.readTensors(read)
	}
	for i := range tensors {
		if t := &tensors[i]; t.Census == nil {
			p.line(textIndent, fmt.Sprintf("%s: %v", tensorName(t), t.Err))
		}
	}
}

// readTensors prints tensors that could be read.
func (p *printer) readTensors(tensors []*overflow.Tensor) {
	what, counts, bad := p.whatColumns(), p.countColumns(), p.badColumn()
	whole := p.table(slices.Concat(what, counts, bad), tensors, func(t *overflow.Tensor) []string {
		return slices.Concat(whatCells(t), countCells(t), p.badCell(t))
	})
	if p.fits(whole) {
		p.print(whole)
		return
	}
	upper := p.table(slices.Concat(what, bad), tensors, func(t *overflow.Tensor) []string {
		return slices.Concat(whatCells(t), p.badCell(t))
	})
	lower := p.table(slices.Concat(what[:1], counts), tensors, func(t *overflow.Tensor) []string {
		return slices.Concat(whatCells(t)[:1], countCells(t))
	})
	if p.fits(upper) && p.fits(lower) {
		p.print(upper + lower)
		return
	}
	for _, t := range tensors {
		p.tensor(t)
	}
}

// table lays out a table without cutting anything.
func (p *printer) table(columns []ui.Column, tensors []*overflow.Tensor, cells func(*overflow.Tensor) []string) string {
	table := ui.NewTable(columns...)
	for _, t := range tensors {
		table.Row(cells(t)...)
	}
	var plain, indented strings.Builder
	if err := table.Print(&plain, 0); err != nil && p.err == nil {
		p.err = err
	}
	for line := range strings.Lines(plain.String()) {
		indented.WriteString(textIndent + line)
	}
	return indented.String()
}

// fits reports whether the terminal is wide enough for lines.
func (p *printer) fits(lines string) bool {
	if p.Width <= 0 {
		return true
	}
	for line := range strings.Lines(lines) {
		if metric.StringWidth(strings.TrimSuffix(line, "\n")) > p.Width {
			return false
		}
	}
	return true
}

// tensor prints a tensor that is too wide for a table.
func (p *printer) tensor(t *overflow.Tensor) {
	p.line(textIndent, strings.Join(whatCells(t), " "))
	columns := slices.Concat(p.countColumns(), p.badColumn())
	var parts []string
	for i, cell := range slices.Concat(countCells(t), p.badCell(t)) {
		if cell != "" {
			parts = append(parts, columns[i].Title+" "+cell)
		}
	}
	p.line(textIndent+textIndent, p.join(parts...))
}

// whatColumns are the columns of what a tensor is.
func (p *printer) whatColumns() []ui.Column {
	return []ui.Column{{Title: p.say("TENSOR", "张量")}, {Title: p.say("DTYPE", "类型")}, {Title: p.say("FORMAT", "格式")}, {Title: p.say("SHAPE", "形状")}}
}

func whatCells(t *overflow.Tensor) []string {
	return []string{tensorName(t), t.DType.String(), t.Format.String(), storedShape(t).Join(",")}
}

func tensorName(t *overflow.Tensor) string { return fmt.Sprintf("%s %d", t.Kind, t.Index) }

// countColumns are the columns of what a tensor holds.
func (p *printer) countColumns() []ui.Column {
	columns := []ui.Column{{Title: "NAN"}, {Title: "+INF"}, {Title: "-INF"}, {Title: p.say("LIMIT", "饱和")},
		{Title: p.say("MIN", "最小值")}, {Title: p.say("MAX", "最大值")}, {Title: p.say("MEAN", "均值")}}
	for i := range columns {
		columns[i].Align = ui.Right
	}
	return columns
}

func countCells(t *overflow.Tensor) []string {
	c := t.Census
	return []string{count(c.NaN), count(c.PosInf), count(c.NegInf), count(c.Saturated + c.HalfTraces), short(c.Min), short(c.Max), short(c.Mean)}
}

// badColumn is the column of the first bad element of a tensor.
func (p *printer) badColumn() []ui.Column {
	return []ui.Column{{Title: p.say("FIRST BAD", "首个异常")}}
}

func (p *printer) badCell(t *overflow.Tensor) []string {
	s := t.Census.First()
	if s == nil || !t.Bad() {
		return []string{""}
	}
	return []string{fmt.Sprintf(p.say("%s at [%s]", "%s 位于 [%s]"), short(&s.Value), joinInts(coordinates(t, s.Index), ","))}
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// short prints six digits of a number.
func short(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'g', 6, 64)
}
