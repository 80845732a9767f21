package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"dumptool/internal/compare"
	"dumptool/internal/ui"
)

// judgedJSON is the JSON form of a judged row.
type judgedJSON struct {
	Op      string                   `json:"op"`
	Kind    string                   `json:"kind"`
	Output  int                      `json:"output"`
	Round   string                   `json:"round"`
	Was     compare.Status           `json:"was"`
	Status  compare.Status           `json:"status"`
	Atol    compare.Number           `json:"atol"`
	Rtol    compare.Number           `json:"rtol"`
	Source  string                   `json:"source"`
	Total   int64                    `json:"total"`
	Least   int64                    `json:"errors_min"`
	Most    int64                    `json:"errors_max"`
	Reasons []compare.DocumentReason `json:"reasons"`
}

// WriteJudgementJSON writes a judgement as one JSON object.
func WriteJudgementJSON(w io.Writer, j *compare.Judgement) error {
	doc := struct {
		Schema  string                 `json:"schema"`
		Summary map[compare.Status]int `json:"summary"`
		Rows    []judgedJSON           `json:"rows"`
	}{"dumptool/judge/1", j.Counts, []judgedJSON{}}
	for i := range j.Rows {
		r := &j.Rows[i]
		row := judgedJSON{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Was: r.Was, Status: r.Status,
			Atol: compare.NumberOf(r.Limits.Atol), Rtol: compare.NumberOf(r.Limits.Rtol), Source: r.Limits.LimitSource(),
			Total: r.Total, Least: r.Least, Most: r.Most, Reasons: []compare.DocumentReason{}}
		for _, reason := range r.Reasons {
			row.Reasons = append(row.Reasons, compare.DocumentReason(reason))
		}
		doc.Rows = append(doc.Rows, row)
	}
	_, err := w.Write(append(marshal(doc, "  "), '\n'))
	return err
}

// judgedLabel names a row as the tables of a comparison do, with its round.
func judgedLabel(r *compare.JudgedRow) string {
	return driftLabel(&compare.DriftRow{Row: compare.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}})
}

// WriteJudgementCSV writes a judgement as a table.
func WriteJudgementCSV(w io.Writer, j *compare.Judgement) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"op_name", "was", "status", "atol", "rtol", "errors_min", "errors_max", "total"}}
	for i := range j.Rows {
		r := &j.Rows[i]
		lines = append(lines, []string{guard(judgedLabel(r)), string(r.Was), string(r.Status), compare.FormatFloat(r.Limits.Atol),
			compare.FormatFloat(r.Limits.Rtol), strconv.FormatInt(r.Least, 10), strconv.FormatInt(r.Most, 10), strconv.FormatInt(r.Total, 10)})
	}
	return out.WriteAll(lines)
}

// WriteJudgement prints the rows of a judgement that fail, are undecided or
// changed.
func (t Text) WriteJudgement(w io.Writer, j *compare.Judgement) error {
	p := newComparePrinter(t, w)
	p.text(fmt.Sprintf("%d of %d compared tensors pass, %d fail, %d are undecided", j.Counts[compare.Pass], j.Compared,
		j.Counts[compare.Fail], j.Counts[compare.Undecided]))
	g := grid{columns: []ui.Column{{Title: "TENSOR"}, {Title: "WAS"}, {Title: "NOW"}, {Title: "ERRORS", Align: ui.Right}, {Title: "OF", Align: ui.Right}},
		keep: []int{2, 3, 1, 4}}
	for i := range j.Rows {
		r := &j.Rows[i]
		if r.Was == r.Status && r.Status != compare.Fail {
			continue
		}
		errors := strconv.FormatInt(r.Least, 10)
		if r.Most != r.Least {
			errors += " to " + strconv.FormatInt(r.Most, 10)
		}
		g.rows = append(g.rows, []string{judgedLabel(r), string(r.Was), string(r.Status), errors, strconv.FormatInt(r.Total, 10)})
	}
	if len(g.rows) > 0 {
		p.blank()
		p.table(g)
	}
	return p.err
}
