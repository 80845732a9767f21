package plan

import (
	"strings"

	"dumptool/internal/compare/record"
)

// Resume takes the rows of an earlier document of the same work that could be read: they
// are not compared again. Without a document there are none.
func (p *Plan) Resume(earlier *record.Report) {
	if earlier == nil {
		return
	}
	rows := map[string]*record.Row{}
	for _, row := range earlier.All() {
		if row.Pair.Status != record.Error {
			rows[resumeKey(row)] = row
		}
	}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		row := rows[resumeKey(x.Row)]
		if x.decided || row == nil {
			continue
		}
		planned := *x.Row
		*x.Row = *row
		x.Row.Verdict = record.Verdict{}
		x.Row.RefPath, x.Row.NPUPath, x.Row.Order, x.Row.Key = planned.RefPath, planned.NPUPath, planned.Order, planned.Key
	}
}

// resumeKey names a row by all that tells it from others.
func resumeKey(row *record.Row) string {
	return strings.Join([]string{row.Name(), row.NPUOp, row.RefFile, row.NPUFile}, "\x00")
}
