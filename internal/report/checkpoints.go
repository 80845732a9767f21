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
		words("status", func(r *checkpoint.Row) checkpoint.Status { return r.Status }).titled("STATUS"),
		words("a", func(r *checkpoint.Row) string { return r.A }).titled("A"),
		words("b", func(r *checkpoint.Row) string { return strings.Join(r.B, " ") }).in(InCSV),
		words("b", func(r *checkpoint.Row) string {
			if len(r.B) < 2 {
				return strings.Join(r.B, "")
			}
			return fmt.Sprintf("%s +%d", r.B[0], len(r.B)-1)
		}).titled("B").in(InText),
		words("shape", func(r *checkpoint.Row) string { return r.Shape.String() }).in(InCSV),
		words("dtype", func(r *checkpoint.Row) string { return r.DType.String() }).in(InCSV),
		numbers("elements", func(r *checkpoint.Row) int64 { return r.Elements }).in(InCSV),
		numbers("differing", func(r *checkpoint.Row) int64 { return r.Differing }).titled("DIFFERING").optional(),
		words("layout", func(r *checkpoint.Row) checkpoint.Status { return r.Layout }).in(InCSV),
		words("how", func(r *checkpoint.Row) string {
			if r.How.IsZero() {
				return ""
			}
			return t.of(r.How)
		}).titled("HOW").optional().ranked(1),
	}}
}

// WriteCheckpointsCSV writes a line for each tensor.
func WriteCheckpointsCSV(w io.Writer, r *checkpoint.Report) error {
	return Text{}.checkpointTable(pointers(r.Rows)).CSV(w)
}

// WriteCheckpoints prints the tensors that are not the same, or not certain, or all.
func (t Text) WriteCheckpoints(w io.Writer, r *checkpoint.Report) error {
	p := t.to(w)
	p.text(p.of(r.Headline))
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
		p.blank()
		printTable(p, p.checkpointTable(rows), minName)
	}
	p.left(left, lang.Text{EN: "%d more (--all shows all)"})
	if len(r.Problems) > 0 {
		p.blank()
		p.text(p.say("Could not be read:"))
		for i := range r.Problems {
			q := &r.Problems[i]
			p.text("  " + ui.Escape(q.File) + ": " + p.of(q.Text()))
		}
	}
	return p.err
}
