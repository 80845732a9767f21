package report

import (
	"fmt"
	"io"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
)

// watchColumns are the columns of a change of watched memory.
var watchColumns = []Column[*overflow.Change]{
	textColumn("rank", func(c *overflow.Change) string { return c.Rank }).hideIfEmpty(),
	textColumn("step", func(c *overflow.Change) string { return c.Step }).hideIfEmpty(),
	textColumn("op_type", func(c *overflow.Change) string { return c.OpType }).inForms(InCSV),
	textColumn("op", func(c *overflow.Change) string { return c.Op }).withTitle("OPERATOR"),
	textColumn("after", func(c *overflow.Change) string { return c.After }).withTitle("CHANGED AFTER"),
	textColumn("before", func(c *overflow.Change) string { return c.Before }).inForms(InCSV),
	textColumn("first", func(c *overflow.Change) bool { return c.First }).inForms(InCSV),
	textColumn("timestamp", func(c *overflow.Change) uint64 { return c.Timestamp }).inForms(InCSV),
	textColumn("tensor", changedTensor).withTitle("TENSOR"),
	textColumn("dtype", func(c *overflow.Change) string { return c.DType.String() }).withTitle("overflow¦DTYPE"),
	textColumn("shape", func(c *overflow.Change) tensor.Shape { return c.Shape }).inForms(InCSV),
	textColumn("elements", elementsText).withTitle("ELEMENTS").inForms(InText),
	numberColumn("elements", func(c *overflow.Change) int64 { return c.Elements }).inForms(InCSV),
	numberColumn("of", func(c *overflow.Change) int64 { return c.Total }).inForms(InCSV),
	textColumn("ranges", runsText).inForms(InCSV),
	numberColumn("runs", func(c *overflow.Change) int64 { return c.NumRanges }).inForms(InCSV),
	numberColumn("first_byte", func(c *overflow.Change) int64 { return c.FirstByte }).inForms(InCSV),
	numberColumn("bytes", func(c *overflow.Change) int64 { return c.Bytes }).withTitle("BYTES"),
	numberColumn("size", func(c *overflow.Change) int64 { return c.Size }).inForms(InCSV),
	textColumn("was", func(c *overflow.Change) string { return c.OldValue }).withTitle("WAS"),
	textColumn("is", func(c *overflow.Change) string { return c.NewValue }).withTitle("IS"),
	textColumn("file", func(c *overflow.Change) string { return c.File }).inForms(InCSV),
	textColumn("before_file", func(c *overflow.Change) string { return c.BeforeFile }).inForms(InCSV),
	textColumn("graph", func(c *overflow.Change) string { return c.Graph }).inForms(InCSV),
	textColumn("model", func(c *overflow.Change) string { return c.Model }).inForms(InCSV),
}

func changedTensor(c *overflow.Change) string { return fmt.Sprintf("%s %d", c.Kind, c.Index) }

// runsText lists the ranges of differing elements.
func runsText(c *overflow.Change) string {
	var runs []string
	for _, r := range c.Ranges {
		text := fmt.Sprint(r[0])
		if r[1] > r[0] {
			text = fmt.Sprintf("%d-%d", r[0], r[1])
		}
		runs = append(runs, text)
	}
	if int64(len(runs)) < c.NumRanges {
		runs = append(runs, "...")
	}
	return strings.Join(runs, " ")
}

// elementsClause lists the differing elements within a sentence.
func (p *printer) elementsClause(c *overflow.Change) string {
	return strings.NewReplacer(" ", ", ", "-", p.format(" to ")).Replace(runsText(c)) + fmt.Sprintf(p.format(" of %d"), c.Total)
}

// elementsText lists the differing elements.
func elementsText(c *overflow.Change) lang.Text {
	return lang.Say("%s of %d", runsText(c), c.Total).Text()
}

// WriteWatch prints the operator that first changed the memory of each watched operator, and then
// all changes.
func (t Text) WriteWatch(w io.Writer, r *overflow.WatchReport) error {
	p := t.printerTo(w)
	for i := range r.Rows {
		if c := &r.Rows[i]; c.First {
			p.line("", p.firstChange(c))
		}
	}
	if len(r.Rows) > 0 {
		p.writeBlankLine()
		p.table("", Table[*overflow.Change]{watchColumns, pointers(r.Rows)}.Grid(p.Lang))
	}
	p.printProblems(r.Problems, true)
	return p.err
}

// firstChange describes the first change of an operator's memory.
func (p *printer) firstChange(c *overflow.Change) string {
	where := p.Lang.Text(c.Coordinates().Text())
	if where != "" {
		where = " (" + where + ")"
	}
	since := p.format("its own dump")
	if c.Before != "" {
		since = p.format("the dump after %s", c.Before)
	}
	return p.format("%s%s first changed after %s: %s, elements %s, %s -> %s, since %s",
		c.Op, where, c.After, changedTensor(c), p.elementsClause(c), c.OldValue, c.NewValue, since)
}

// WriteWatchCSV writes a line for every change.
func WriteWatchCSV(w io.Writer, r *overflow.WatchReport) error {
	return Table[*overflow.Change]{watchColumns, pointers(r.Rows)}.CSV(w)
}
