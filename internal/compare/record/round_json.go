package record

import (
	"encoding/json"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// counted are the statuses in the order of the document.
var counted = []Status{Pass, Rounding, Warn, Fail, ShapeMismatch, DTypeMismatch, Ambiguous, Error, Partial, Skip, UnmatchedRef, UnmatchedNPU}

// counts are the numbers of all rows and of those of each status in counted.
type counts []int

func countsOf(byStatus map[Status]int) counts {
	c := make(counts, 1+len(counted))
	for i, status := range counted {
		c[1+i] = byStatus[status]
		c[0] += byStatus[status]
	}
	return c
}

func (c counts) members() object {
	o := object{{"rows", &c[0]}}
	for i, status := range counted {
		o = append(o, member{strings.ToLower(string(status)), &c[1+i]})
	}
	return o
}

// byStatus are the statuses that rows have.
func (c counts) byStatus() map[Status]int {
	all := map[Status]int{}
	for i, status := range counted {
		if c[1+i] > 0 {
			all[status] = c[1+i]
		}
	}
	return all
}

// roundForm is a round with what its object in compare.json has in another form.
type roundForm struct {
	*Round
	// ref is nil where the reference has the same coordinates.
	ref    *At
	counts counts
}

// members are the keys of a round. The findings are named as op:output:k, with their rows
// in findings.
func (x *roundForm) members(r *Report) object {
	f, status := &x.Findings, x.Status()
	bad, good, jump := r.found(f.FirstBad), r.found(f.LastGood), r.found(f.LargestJump)
	return object{
		{"round", &x.Name}, {"rank,omitempty", &x.At.Rank}, {"step,omitempty", &x.At.Step}, {"graph,omitempty", &x.At.Graph}, {"model,omitempty", &x.At.Model},
		{"ref,omitempty", &x.ref}, {"notes", &x.Notes}, {"order_source", &x.OrderSource}, {"order_known", &x.OrderKnown}, {"graph_source", &x.GraphSource},
		{"status", &status}, {"counts", x.counts.members()}, {"first_bad", &bad}, {"last_good", &good}, {"largest_jump", &jump}, {"jump", (*jumpOf)(f)},
		{"outputs_bad", &f.OutputsBad}, {"findings", f.members()}, {"origins,omitempty", &x.Origins}, {"pairing", &x.Pairing},
		{"unfit,omitempty", &x.Unfit}, {"no_verdict,omitempty", &x.NoVerdict},
	}
}

// roundList are the rounds of a report.
type roundList struct{ *Report }

// IsZero reports whether there are none.
func (l roundList) IsZero() bool { return len(l.Rounds) == 0 }

// MarshalJSON implements json.Marshaler.
func (l roundList) MarshalJSON() ([]byte, error) {
	var all []object
	for i := range l.Rounds {
		x := roundForm{Round: &l.Rounds[i], counts: countsOf(l.Rounds[i].Counts)}
		if x.RefAt != x.At {
			x.ref = &x.RefAt
		}
		all = append(all, x.members(l.Report))
	}
	return marshal(all, "")
}

// read implements streamed.
func (l roundList) read(in *jsonpos.Reader) error {
	return in.Array(func(int) error {
		x := roundForm{Round: &Round{Findings: NoFindings()}, counts: countsOf(nil)}
		if err := x.members(l.Report).read(in); err != nil {
			return err
		}
		x.RefAt, x.Counts = x.At, x.counts.byStatus()
		if x.ref != nil {
			x.RefAt = *x.ref
		}
		l.Rounds = append(l.Rounds, *x.Round)
		return nil
	})
}

// index is that of a row, null for none.
type index int

// MarshalJSON implements json.Marshaler.
func (i index) MarshalJSON() ([]byte, error) {
	if i < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(i), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *index) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*int)(i))
	if err == nil && *i < 0 {
		err = lang.Errorf("finding in row %d", *i)
	}
	return err
}

// jumpOf is the factor of the largest jump of findings, null without one.
type jumpOf Findings

// MarshalJSON implements json.Marshaler.
func (f *jumpOf) MarshalJSON() ([]byte, error) {
	return metrics.NumberIf(f.Jump, f.LargestJump >= 0).MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *jumpOf) UnmarshalJSON(data []byte) error {
	var m metrics.Metric
	err := m.UnmarshalJSON(data)
	f.Jump = m.Value()
	return err
}

// members are findings as indexes into the rows, null where there is no such row.
func (f *Findings) members() object {
	return object{
		{"first_bad", (*index)(&f.FirstBad)}, {"first_damaged", (*index)(&f.FirstDamaged)}, {"last_good", (*index)(&f.LastGood)},
		{"suspects", &f.Suspects}, {"first_nan", (*index)(&f.FirstNaN)}, {"first_overflow", (*index)(&f.FirstOverflow)},
		{"largest_jump", (*index)(&f.LargestJump)}, {"chain", &f.Chain}, {"origins,omitempty", &f.Origins},
	}
}

// check reports findings in rows that a report lacks.
func (f *Findings) check(rows int) error {
	var all []int
	for _, i := range f.single() {
		if *i >= 0 {
			all = append(all, *i)
		}
	}
	for _, list := range f.lists() {
		all = append(all, *list...)
	}
	return checkRows(all, rows)
}

// checkRows reports findings in rows that a report lacks.
func checkRows(found []int, rows int) error {
	for _, i := range found {
		if i < 0 || i >= rows {
			return lang.Errorf("finding in row %d of %d rows", i, rows)
		}
	}
	return nil
}
