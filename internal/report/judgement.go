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
		words("op_name", judgedLabel).titled("TENSOR").in(InText | InCSV),
		words("op", func(r row) string { return r.Op }).in(InJSON),
		words("kind", func(r row) string { return r.Kind }).in(InJSON),
		words("output", func(r row) int { return r.Output }).in(InJSON),
		words("round", func(r row) string { return r.Round }).in(InJSON),
		words("was", func(r row) record.Status { return r.Was }).titled("judgement¦WAS").ranked(3),
		words("status", func(r row) record.Status { return r.Status }).titled("NOW").ranked(1),
		numbers("atol", func(r row) float64 { return r.Limits.Atol }).in(InCSV | InJSON),
		numbers("rtol", func(r row) float64 { return r.Limits.Rtol }).in(InCSV | InJSON),
		words("source", func(r row) string { return r.Limits.Source() }).in(InJSON),
		numbers("total", func(r row) int64 { return r.Total }).in(InJSON),
		numbers("errors", func(r row) *int64 { return r.Errors }).titled("ERRORS").ranked(2),
		numbers("total", func(r row) int64 { return r.Total }).titled("OF").in(InText | InCSV).ranked(4),
		words("reasons", func(r row) []finding.Finding { return list(r.Reasons) }).in(InJSON),
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
	p := t.to(w)
	if why := j.NoVerdict(); !why.IsZero() {
		p.text(p.say("NO VERDICT: %s", why))
	}
	p.text(p.say("%d of %d compared tensors pass, %d fail, %d are undecided", j.Counts[record.Pass], j.Compared,
		j.Counts[record.Fail], j.Counts[limits.Undecided]))
	if j.Counts[limits.Undecided] > j.LeftOut {
		p.text(p.say("UNDECIDED: compare.json does not hold enough to decide; run compare again with these limits"))
	}
	changed := slices.DeleteFunc(pointers(j.Rows), func(r *conclude.JudgedRow) bool { return r.Was == r.Status && r.Status != record.Fail })
	if len(changed) > 0 {
		p.blank()
		p.table("", judgedTable(changed).Grid(p.Lang).Fit(p.Width))
	}
	return p.err
}
