package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/checkpoint"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// checkpointTable lists tensors.
func (t Text) checkpointTable(rows []*checkpoint.Row) Table[*checkpoint.Row] {
	return Table[*checkpoint.Row]{Rows: rows, Columns: []Column[*checkpoint.Row]{
		textColumn("status", func(r *checkpoint.Row) checkpoint.Status { return r.Status }).withTitle("STATUS"),
		textColumn("a", func(r *checkpoint.Row) string { return r.A }).withTitle("A"),
		textColumn("b", func(r *checkpoint.Row) string { return strings.Join(r.B, " ") }).inForms(InCSV),
		textColumn("b", func(r *checkpoint.Row) string {
			if len(r.B) < 2 {
				return strings.Join(r.B, "")
			}
			return fmt.Sprintf("%s +%d", r.B[0], len(r.B)-1)
		}).withTitle("B").inForms(InText),
		textColumn("shape", func(r *checkpoint.Row) string { return r.Shape.String() }).inForms(InCSV),
		textColumn("dtype", func(r *checkpoint.Row) string { return r.DType.String() }).inForms(InCSV),
		numberColumn("elements", func(r *checkpoint.Row) int64 { return r.Elements }).inForms(InCSV),
		numberColumn("differing", func(r *checkpoint.Row) int64 { return r.Differing }).withTitle("DIFFERING").hideIfEmpty(),
		textColumn("layout", func(r *checkpoint.Row) checkpoint.Status { return r.Layout }).inForms(InCSV),
		textColumn("how", func(r *checkpoint.Row) string {
			if r.How.IsZero() {
				return ""
			}
			return t.sentence(r.How)
		}).withTitle("HOW").hideIfEmpty().withRank(1),
	}}
}

// WriteCheckpointsCSV writes a line for each tensor.
func WriteCheckpointsCSV(w io.Writer, r *checkpoint.Report) error {
	return Text{}.checkpointTable(pointers(r.Rows)).CSV(w)
}

// WriteCheckpoints prints the tensors that are not the same, or not certain, or all.
func (t Text) WriteCheckpoints(w io.Writer, r *checkpoint.Report) error {
	p := t.printerTo(w)
	p.text(p.sentence(r.Headline))
	rows := pointers(r.Rows)
	order := checkpoint.Statuses()
	slices.SortStableFunc(rows, func(a, b *checkpoint.Row) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	if !r.All {
		rows = slices.DeleteFunc(rows, func(r *checkpoint.Row) bool {
			return slices.Index(order, r.Status) > slices.Index(order, checkpoint.Padded)
		})
	}
	left := len(rows)
	if !r.All {
		rows = rows[:min(len(rows), maxShown)]
	}
	if left -= len(rows); len(rows) > 0 {
		p.writeBlankLine()
		printTable(p, p.checkpointTable(rows), minName)
	}
	p.printOmitted(left, lang.Text{EN: "%d more (--all shows all)"})
	if len(r.Problems) > 0 {
		p.writeBlankLine()
		p.text(p.format("Could not be read:"))
		for i := range r.Problems {
			q := &r.Problems[i]
			p.text("  " + ui.Escape(q.File) + ": " + p.sentence(q.Text()))
		}
	}
	return p.err
}
