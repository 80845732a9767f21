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
	least := columnsOfPart(func(h *overflow.Headroom) (m overflow.Margin, ok bool) {
		if len(h.Margins) > 0 {
			m = h.Margins[0]
		}
		return m, len(h.Margins) > 0
	}, textColumn("where", func(m overflow.Margin) string { return m.Where }).inForms(InCSV), textColumn("index", func(m overflow.Margin) int { return m.Index }).inForms(InCSV),
		textColumn("log2", func(m overflow.Margin) float64 { return m.Log2 }).inForms(InCSV), textColumn("bits", func(m overflow.Margin) float64 { return m.Bits }).inForms(InCSV),
		textColumn("bound", func(m overflow.Margin) bool { return m.IsBound }).inForms(InCSV))
	return Table[*overflow.Headroom]{Rows: rows, Columns: slices.Concat([]Column[*overflow.Headroom]{
		textColumn("status", func(h *overflow.Headroom) overflow.HeadroomStatus { return h.Status }).withTitle("STATUS"),
		textColumn("operator", (*overflow.Headroom).Label).withTitle("OPERATOR").inForms(InText),
		textColumn("margin", func(h *overflow.Headroom) string { return cmp.Or(t.sentence(h.Text()), noValue) }).withTitle("headroom¦MARGIN").inForms(InText),
		textColumn("op_type", func(h *overflow.Headroom) string { return h.OpType }).inForms(InCSV),
		textColumn("op_name", func(h *overflow.Headroom) string { return h.OpName }).inForms(InCSV),
	}, least, []Column[*overflow.Headroom]{
		textColumn("rank", func(h *overflow.Headroom) string { return h.At.Rank }).emptyUnless(isBeside).withTitle("RANK").hideIfEmpty().withRank(1),
		textColumn("step", func(h *overflow.Headroom) string { return h.At.Step }).emptyUnless(isBeside).withTitle("STEP").hideIfEmpty().withRank(2),
		textColumn("reason", func(h *overflow.Headroom) string { return t.Lang.Text(lang.Text{EN: h.Reason, ZH: h.ReasonZH}) }).withTitle("REASON").hideIfEmpty().withRank(3),
		textColumn("order", func(h *overflow.Headroom) int { return h.Order }).inForms(InCSV),
		textColumn("file", func(h *overflow.Headroom) string { return h.File }).inForms(InCSV),
		textColumn("script", func(h *overflow.Headroom) string { return h.Script }).inForms(InCSV),
	})}
}

// WriteHeadroomCSV writes a line for each operator, with its smallest margin.
func WriteHeadroomCSV(w io.Writer, r *overflow.HeadroomReport) error {
	return Text{}.headroomTable(pointers(r.Rows), true).CSV(w)
}

// WriteHeadroom prints the operators that overflow or nearly do, or all.
func (t Text) WriteHeadroom(w io.Writer, r *overflow.HeadroomReport) error {
	p := t.printerTo(w)
	p.text(p.sentence(r.Headline))
	rows, left := pointers(r.Rows), 0
	if !r.All {
		rows = slices.DeleteFunc(rows, func(h *overflow.Headroom) bool { return h.Status != overflow.Overflows && h.Status != overflow.Tight })
		left = len(rows) - maxShown
		rows = rows[:min(len(rows), maxShown)]
	}
	if len(rows) > 0 {
		p.writeBlankLine()
		printTable(p, p.headroomTable(rows, len(r.Rounds) > 1), minName)
	}
	p.printOmitted(left, lang.Text{EN: "%d more (--all shows all)"})
	p.printProblems(r.Problems, r.All)
	return p.err
}
