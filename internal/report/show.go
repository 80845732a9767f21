package report

import (
	"io"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/show"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// shownMarks maps marks of elements to text.
var shownMarks = map[show.Mark]string{show.Beyond: "*", show.OtherClass: "!"}

// WriteWindow prints a part of a tensor, and below it the same part of its reference.
func (t Text) WriteWindow(w io.Writer, s *show.Window) error {
	p := t.printerTo(w)
	var facts factList
	facts.add(p.format("Tensor"), p.tensorText(&s.Tensor))
	if s.Reference != nil {
		facts.add(p.format("Reference"), p.tensorText(s.Reference))
	}
	facts.add(p.format("Shape"), s.Shape.String()+" "+s.Format.String())
	facts.add(p.format("Notes"), p.sentences(s.Notes)...)
	marked := map[show.Mark]int{}
	for i := range s.Rows {
		for _, m := range s.Rows[i].Marks {
			marked[m]++
		}
	}
	if s.Reference != nil && len(s.Rows) > 0 {
		facts.add(p.format("Place"), tensor.Shape(s.At).String())
		facts.add(p.format("Marked"), p.format("among the elements shown: %d beyond atol %s, rtol %s (*), %d NaN or infinite on one side only (!)", marked[show.Beyond], allDigits(float64(s.Atol)), allDigits(float64(s.Rtol)), marked[show.OtherClass]))
	}
	p.facts(facts)
	if len(s.Rows) == 0 {
		p.text(p.format("The tensor has no elements."))
		return p.err
	}
	p.printWindow(s, p.format("NPU"), func(r *show.Row) []metrics.Value { return r.Values }, true)
	if s.Reference != nil {
		p.printWindow(s, p.format("Reference"), func(r *show.Row) []metrics.Value { return r.Reference }, false)
	}
	return p.err
}

// tensorText describes a tensor with its type and storage.
func (p *printer) tensorText(s *show.Side) string {
	name := ui.Escape(s.Name)
	switch s.Kind {
	case tensor.Input:
		name = p.format("input %d", s.Index)
	case tensor.Output:
		name = p.format("output %d", s.Index)
	}
	return ui.Escape(s.File) + p.format(": ") + name + p.format(", ") + s.DType.String() + " " + s.StoredFormat.String() + " " + s.StoredShape.String()
}

// printWindow prints the elements of one side, with row and column indexes.
func (p *printer) printWindow(s *show.Window, title string, side func(*show.Row) []metrics.Value, marked bool) {
	if s.Reference == nil {
		title = ""
	}
	p.writeBlankLine()
	p.print(strings.TrimSpace(title+" "+slicePlace(s)) + "\n")
	columns := []Column[*show.Row]{numberColumn("", func(r *show.Row) int64 { return r.Index })}
	first := int64(0)
	if len(s.First) > 1 {
		first = s.First[len(s.First)-1]
	}
	for i := range s.Columns {
		columns = append(columns, numberColumn(strconv.FormatInt(first+i, 10), func(r *show.Row) string {
			values := side(r)
			if i >= int64(len(values)) {
				return ""
			}
			text := formatElement(values[i], significantDigits(shownDigits))
			switch {
			case !marked || s.Reference == nil:
				return text
			case shownMarks[r.Marks[i]] != "":
				return text + shownMarks[r.Marks[i]]
			}
			return text + " "
		}))
	}
	p.grid("", Table[*show.Row]{columns, pointers(s.Rows)}.Grid(p.Lang), 0)
}

// slicePlace returns the shown slice in numpy notation.
func slicePlace(s *show.Window) string {
	n := len(s.Shape)
	if n < 2 {
		return "[" + strconv.FormatInt(s.Rows[0].Index, 10) + ":]"
	}
	parts := make([]string, n)
	for i, x := range s.First {
		parts[i] = strconv.FormatInt(x, 10)
	}
	from := func(i int, count int64) {
		parts[i] += ":" + strconv.FormatInt(s.First[i]+count, 10)
	}
	from(n-2, int64(len(s.Rows)))
	from(n-1, s.Columns)
	return "[" + strings.Join(parts, ", ") + "]"
}
