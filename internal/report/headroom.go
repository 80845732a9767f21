package report

import (
	"cmp"
	"io"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/overflow"
)

// headroomTable lists operators.
func (t Text) headroomTable(rows []*overflow.Headroom, severalRounds bool) Table[*overflow.Headroom] {
	isBeside := func(*overflow.Headroom) bool { return severalRounds }
	least := of(func(h *overflow.Headroom) (m overflow.Margin, ok bool) {
		if len(h.Margins) > 0 {
			m = h.Margins[0]
		}
		return m, len(h.Margins) > 0
	}, words("where", func(m overflow.Margin) string { return m.Where }).in(InCSV), words("index", func(m overflow.Margin) int { return m.Index }).in(InCSV),
		words("log2", func(m overflow.Margin) float64 { return m.Log2 }).in(InCSV), words("bits", func(m overflow.Margin) float64 { return m.Bits }).in(InCSV),
		words("bound", func(m overflow.Margin) bool { return m.IsBound }).in(InCSV))
	return Table[*overflow.Headroom]{Rows: rows, Columns: slices.Concat([]Column[*overflow.Headroom]{
		words("status", func(h *overflow.Headroom) overflow.HeadroomStatus { return h.Status }).titled("STATUS"),
		words("operator", (*overflow.Headroom).Label).titled("OPERATOR").in(InText),
		words("margin", func(h *overflow.Headroom) string { return cmp.Or(t.of(h.Text()), noValue) }).titled("headroom¦MARGIN").in(InText),
		words("op_type", func(h *overflow.Headroom) string { return h.OpType }).in(InCSV),
		words("op_name", func(h *overflow.Headroom) string { return h.OpName }).in(InCSV),
	}, least, []Column[*overflow.Headroom]{
		words("rank", func(h *overflow.Headroom) string { return h.At.Rank }).where(isBeside).titled("RANK").optional().ranked(1),
		words("step", func(h *overflow.Headroom) string { return h.At.Step }).where(isBeside).titled("STEP").optional().ranked(2),
		words("reason", func(h *overflow.Headroom) string { return t.Lang.Text(lang.Text{EN: h.Reason, ZH: h.ReasonZH}) }).titled("REASON").optional().ranked(3),
		words("order", func(h *overflow.Headroom) int { return h.Order }).in(InCSV),
		words("file", func(h *overflow.Headroom) string { return h.File }).in(InCSV),
		words("script", func(h *overflow.Headroom) string { return h.Script }).in(InCSV),
	})}
}

// WriteHeadroomCSV writes a line for each operator, with its smallest margin.
func WriteHeadroomCSV(w io.Writer, r *overflow.HeadroomReport) error {
	return Text{}.headroomTable(pointers(r.Rows), true).CSV(w)
}

// WriteHeadroom prints the operators that overflow or nearly do, or all.
func (t Text) WriteHeadroom(w io.Writer, r *overflow.HeadroomReport) error {
	p := t.to(w)
	p.text(p.of(r.Headline))
	rows, left := pointers(r.Rows), 0
	if !r.All {
		rows = slices.DeleteFunc(rows, func(h *overflow.Headroom) bool { return h.Status != overflow.Overflows && h.Status != overflow.Tight })
		left = len(rows) - maxShown
		rows = rows[:min(len(rows), maxShown)]
	}
	if len(rows) > 0 {
		p.blank()
		printTable(p, p.headroomTable(rows, len(r.Rounds) > 1), minName)
	}
	p.left(left, lang.Text{EN: "%d more (--all shows all)"})
	p.problems(r.Problems, r.All)
	return p.err
}
