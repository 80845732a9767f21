package plan

import (
	"strings"

	"dumptool/internal/compare/record"
)

// Resume reuses the rows of an earlier document of the same run, except rows with errors:
// their pairs are not compared again. earlier may be nil.
func (p *Plan) Resume(earlier *record.Report) {
	if earlier == nil {
		return
	}
	key := func(row *record.Row) string { // unique
		return strings.Join([]string{row.Name(), row.NPUOp, row.RefFile, row.NPUFile}, "\x00")
	}
	rows := map[string]*record.Row{}
	for _, row := range earlier.AllRows() {
		if row.Pair.Status != record.Error {
			rows[key(row)] = row
		}
	}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		row := rows[key(x.Row)]
		if x.isDecided || row == nil {
			continue
		}
		planned := *x.Row
		*x.Row = *row
		x.Row.Verdict = record.Verdict{}
		x.Row.RefPath, x.Row.NPUPath, x.Row.Order, x.Row.Key = planned.RefPath, planned.NPUPath, planned.Order, planned.Key
	}
}
