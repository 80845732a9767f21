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
	words("rank", func(c *overflow.Change) string { return c.Rank }).optional(),
	words("step", func(c *overflow.Change) string { return c.Step }).optional(),
	words("op_type", func(c *overflow.Change) string { return c.OpType }).in(InCSV),
	words("op", func(c *overflow.Change) string { return c.Op }).titled("OPERATOR"),
	words("after", func(c *overflow.Change) string { return c.After }).titled("CHANGED AFTER"),
	words("before", func(c *overflow.Change) string { return c.Before }).in(InCSV),
	words("first", func(c *overflow.Change) bool { return c.First }).in(InCSV),
	words("timestamp", func(c *overflow.Change) uint64 { return c.Timestamp }).in(InCSV),
	words("tensor", changedTensor).titled("TENSOR"),
	words("dtype", func(c *overflow.Change) string { return c.DType.String() }).titled("overflow¦DTYPE"),
	words("shape", func(c *overflow.Change) tensor.Shape { return c.Shape }).in(InCSV),
	words("elements", elementsText).titled("ELEMENTS").in(InText),
	numbers("elements", func(c *overflow.Change) int64 { return c.Elements }).in(InCSV),
	numbers("of", func(c *overflow.Change) int64 { return c.Total }).in(InCSV),
	words("ranges", runsText).in(InCSV),
	numbers("runs", func(c *overflow.Change) int64 { return c.NumRanges }).in(InCSV),
	numbers("first_byte", func(c *overflow.Change) int64 { return c.FirstByte }).in(InCSV),
	numbers("bytes", func(c *overflow.Change) int64 { return c.Bytes }).titled("BYTES"),
	numbers("size", func(c *overflow.Change) int64 { return c.Size }).in(InCSV),
	words("was", func(c *overflow.Change) string { return c.OldValue }).titled("WAS"),
	words("is", func(c *overflow.Change) string { return c.NewValue }).titled("IS"),
	words("file", func(c *overflow.Change) string { return c.File }).in(InCSV),
	words("before_file", func(c *overflow.Change) string { return c.BeforeFile }).in(InCSV),
	words("graph", func(c *overflow.Change) string { return c.Graph }).in(InCSV),
	words("model", func(c *overflow.Change) string { return c.Model }).in(InCSV),
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

// elementsIn lists the differing elements within a sentence.
func (p *printer) elementsIn(c *overflow.Change) string {
	return strings.NewReplacer(" ", ", ", "-", p.say(" to ")).Replace(runsText(c)) + fmt.Sprintf(p.say(" of %d"), c.Total)
}

// elementsText lists the differing elements.
func elementsText(c *overflow.Change) lang.Text {
	return lang.Say("%s of %d", runsText(c), c.Total).Text()
}

// WriteWatch prints the operator that first changed the memory of each watched operator, and then
// all changes.
func (t Text) WriteWatch(w io.Writer, r *overflow.WatchReport) error {
	p := t.to(w)
	for i := range r.Rows {
		if c := &r.Rows[i]; c.First {
			p.line("", p.firstChange(c))
		}
	}
	if len(r.Rows) > 0 {
		p.blank()
		p.table("", Table[*overflow.Change]{watchColumns, pointers(r.Rows)}.Grid(p.Lang))
	}
	p.problems(r.Problems, true)
	return p.err
}

// firstChange describes the first change of an operator's memory.
func (p *printer) firstChange(c *overflow.Change) string {
	where := p.Lang.Text(c.At().Text())
	if where != "" {
		where = " (" + where + ")"
	}
	since := p.say("its own dump")
	if c.Before != "" {
		since = p.say("the dump after %s", c.Before)
	}
	return p.say("%s%s first changed after %s: %s, elements %s, %s -> %s, since %s",
		c.Op, where, c.After, changedTensor(c), p.elementsIn(c), c.OldValue, c.NewValue, since)
}

// WriteWatchCSV writes a line for every change.
func WriteWatchCSV(w io.Writer, r *overflow.WatchReport) error {
	return Table[*overflow.Change]{watchColumns, pointers(r.Rows)}.CSV(w)
}
