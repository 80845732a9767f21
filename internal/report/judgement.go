package report

import (
	"io"
	"slices"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
)

// judgedTable lists judged rows.
func judgedTable(rows []*conclude.JudgedRow) Table[*conclude.JudgedRow] {
	type row = *conclude.JudgedRow
	return Table[row]{Rows: rows, Columns: []Column[row]{
		textColumn("op_name", judgedLabel).withTitle("TENSOR").inForms(InText | InCSV),
		textColumn("op", func(r row) string { return r.Op }).inForms(InJSON),
		textColumn("kind", func(r row) string { return r.Kind }).inForms(InJSON),
		textColumn("output", func(r row) int { return r.Output }).inForms(InJSON),
		textColumn("round", func(r row) string { return r.Round }).inForms(InJSON),
		textColumn("was", func(r row) record.Status { return r.OldStatus }).withTitle("judgement¦WAS").withRank(3),
		textColumn("status", func(r row) record.Status { return r.Status }).withTitle("NOW").withRank(1),
		numberColumn("atol", func(r row) float64 { return r.Limits.Atol }).inForms(InCSV | InJSON),
		numberColumn("rtol", func(r row) float64 { return r.Limits.Rtol }).inForms(InCSV | InJSON),
		textColumn("source", func(r row) string { return r.Limits.Source() }).inForms(InJSON),
		numberColumn("total", func(r row) int64 { return r.Total }).inForms(InJSON),
		numberColumn("errors", func(r row) *int64 { return r.Errors }).withTitle("ERRORS").withRank(2),
		numberColumn("total", func(r row) int64 { return r.Total }).withTitle("OF").inForms(InText | InCSV).withRank(4),
		textColumn("reasons", func(r row) []finding.Finding { return nonNilList(r.Reasons) }).inForms(InJSON),
	}}
}

// judgedLabel returns the label of a row as in comparison tables, with its round.
func judgedLabel(r *conclude.JudgedRow) string {
	return rowInRound(&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round})
}

// WriteJudgementJSON writes a judgement as one JSON object.
func WriteJudgementJSON(w io.Writer, j *conclude.Judgement) error {
	return writeJSON(w, struct {
		Schema  string                     `json:"schema"`
		Summary map[record.Status]int      `json:"summary"`
		Rows    Table[*conclude.JudgedRow] `json:"rows"`
	}{"dumptool/judge/2", j.Counts, judgedTable(pointers(j.Rows))})
}

// WriteJudgementCSV writes a judgement as a table.
func WriteJudgementCSV(w io.Writer, j *conclude.Judgement) error {
	return judgedTable(pointers(j.Rows)).CSV(w)
}

// WriteJudgement prints the rows of a judgement that fail, are undecided or changed.
func (t Text) WriteJudgement(w io.Writer, j *conclude.Judgement) error {
	p := t.printerTo(w)
	if why := j.NoVerdict(); !why.IsZero() {
		p.text(p.format("NO VERDICT: %s", why))
	}
	p.text(p.format("%d of %d compared tensors pass, %d fail, %d are undecided", j.Counts[record.Pass], j.Compared,
		j.Counts[record.Fail], j.Counts[limits.Undecided]))
	if j.Counts[limits.Undecided] > j.LeftOut {
		p.text(p.format("UNDECIDED: compare.json does not hold enough to decide; run compare again with these limits"))
	}
	changed := slices.DeleteFunc(pointers(j.Rows), func(r *conclude.JudgedRow) bool { return r.OldStatus == r.Status && r.Status != record.Fail })
	if len(changed) > 0 {
		p.writeBlankLine()
		p.table("", judgedTable(changed).Grid(p.Lang).Fit(p.Width))
	}
	return p.err
}
