package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// Undecided is the outcome of a row that was judged without its tensors when
// the numbers that were kept allow either answer.
const Undecided Status = "UNDECIDED"

// Judgement is a run that was judged again, by other limits and without its
// tensors.
type Judgement struct {
	// Compared counts the rows that have numbers to be judged by.
	Compared int
	Rows     []JudgedRow
	Counts   map[Status]int
}

// JudgedRow is a row of a Judgement.
type JudgedRow struct {
	Op     string
	Kind   string
	Output int
	Round  string
	// Was is the status in the document, Status the one by the new limits.
	Was, Status Status
	Limits      Limits
	Total       int64
	// Least and Most bound the number of error elements; they are equal where
	// it is known exactly.
	Least, Most int64
	Reasons     []Reason
}

// Name names the row as Row.Name does.
func (r *JudgedRow) Name() string {
	return (&Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}).Name()
}

// Judge judges a document by other limits. Where every pair passes or the
// smallest limits that pass all pairs tell, the answer is exact; elsewhere the
// joint histogram of |d| and |r| bounds the number of errors, and a row that it
// leaves open is Undecided. config gives the limits of operators, nil for none.
func Judge(doc *Document, opt JudgeOptions, config func(op string) (atol, rtol *float64)) (*Judgement, error) {
	j := &Judgement{Counts: map[Status]int{}}
	was, ok := tolMode(doc.TolMode)
	if !ok {
		return nil, fmt.Errorf("tol_mode is %q, want one of %s", doc.TolMode, strings.Join(TolModes(), ", "))
	}
	for i := range doc.Rows {
		row := &doc.Rows[i]
		r := JudgedRow{Op: row.Op, Kind: row.Kind, Output: row.Output, Round: row.Round, Was: row.Status, Status: row.Status}
		if row.Compared() {
			j.Compared++
			if row.Metrics == nil {
				return nil, fmt.Errorf("row %s has elements but no metrics", r.Name())
			}
			atol, rtol := configOf(config, row.Op)
			r.Limits = opt.Limits.limits(dtypeOf(row.DTypeRef), dtypeOf(row.DTypeNPU), atol, rtol)
			judgeRow(&r, row, was, &opt)
		}
		j.Counts[r.Status]++
		j.Rows = append(j.Rows, r)
	}
	return j, nil
}

func configOf(config func(string) (atol, rtol *float64), op string) (atol, rtol *float64) {
	if config == nil {
		return nil, nil
	}
	return config(op)
}

// dtypeOf reads the name of an element type; one that is missing or unknown
// has the limits of integers, none.
func dtypeOf(name *string) tensor.DType {
	if name == nil {
		return tensor.Undefined
	}
	d, _ := tensor.ParseDType(*name)
	return d
}

// TolModes are the names of the tolerance modes, in the order of engine.Mode.
func TolModes() []string { return []string{"isclose", "both-exceeded", "either-exceeded"} }

func tolMode(name string) (engine.Mode, bool) {
	i := slices.Index(TolModes(), name)
	return engine.Mode(max(i, 0)), i >= 0
}

// judgeRow judges a compared row.
func judgeRow(r *JudgedRow, row *DocumentRow, was engine.Mode, opt *JudgeOptions) {
	f := row.facts()
	r.Total = f.total
	limits := engine.Limits{Atol: r.Limits.Atol, Rtol: r.Limits.Rtol, Mode: opt.Mode}
	if limits != limitsOf(row, was) {
		f.margin = engine.Metric{} // is that of the old limits
	}
	r.Least, r.Most = finiteErrors(row, was, limits)
	switch {
	case opt.Verdict.classes():
		r.Least, r.Most = r.Least+f.mismatch, r.Most+f.mismatch
	case opt.Verdict.NaN == NaNHPAA:
		if r.Least == r.Most && limits == limitsOf(row, was) && row.Errors != nil {
			r.Least, r.Most = *row.Errors, *row.Errors
		} else {
			r.Most += f.mismatch // what the replacement makes of them depends on the limits
		}
	}
	whole, highest := opt.Verdict.judged(f), opt.Verdict.MaxErrorRatio
	r.Reasons = opt.Verdict.broken(f)
	switch {
	case len(r.Reasons) > 0 || opt.Verdict.classes() && f.mismatch > 0 || ratio(r.Least, whole) > highest:
		r.Status = Fail
		return
	case ratio(r.Most, whole) > highest:
		r.Status = Undecided
		return
	}
	r.Status, r.Reasons = Pass, opt.Verdict.warnings(f)
	if len(r.Reasons) > 0 || row.Forced {
		r.Status = Warn
	}
	if row.Partial {
		r.Status = Partial
	}
}

// facts are the numbers that the row is judged by.
func (d *DocumentRow) facts() *facts {
	m := d.Metrics
	return &facts{
		total: *d.Total, bothFinite: counted(d.Classes.BothFinite), mismatch: counted(d.Classes.ClassMismatch),
		nanBoth: counted(d.Classes.NaNBoth), saturatedBoth: counted(m.SaturatedBoth),
		relUndefined: counted(m.RelUndefined), biasCount: counted(m.BiasCount),
		cos: engine.Metric(m.Cosine), red: engine.Metric(m.RED), meanRel: engine.Metric(m.MeanRelFinite),
		sqnr: engine.Metric(m.SQNR), ulps: engine.Metric(m.ULPMax),
		margin: engine.Metric(m.Margin), biasZ: engine.Metric(m.BiasZ),
	}
}

// limitsOf returns the limits that a row was compared with.
func limitsOf(row *DocumentRow, mode engine.Mode) engine.Limits {
	l := engine.Limits{Mode: mode}
	l.Atol, _ = row.Limits.Atol.Float()
	l.Rtol, _ = row.Limits.Rtol.Float()
	return l
}

func counted(n Number) int64 {
	v, _ := n.Float()
	return int64(v)
}

// finiteErrors bounds the pairs, finite on both sides, that are beyond the
// limits.
func finiteErrors(row *DocumentRow, was engine.Mode, l engine.Limits) (least, most int64) {
	old := limitsOf(row, was)
	mismatch := counted(row.Classes.ClassMismatch)
	if l == old && row.ErrorsStrict != nil {
		n := *row.ErrorsStrict - mismatch
		return n, n
	}
	for _, bin := range row.Joint {
		if !(bin.MaxAbs <= l.Of(bin.MinRef)) {
			most += bin.Count
		}
		if !(bin.MinAbs <= l.Of(bin.MaxRef)) {
			least += bin.Count
		}
	}
	if l.Mode != was {
		return least, most
	}
	// The smallest limits that pass all pairs are exact, one given the other.
	for _, m := range []struct {
		least     Number
		is, given float64
		fixed     float64
	}{
		{row.Metrics.MinRtol, l.Rtol, l.Atol, old.Atol},
		{row.Metrics.MinAtol, l.Atol, l.Rtol, old.Rtol},
	} {
		v, ok := m.least.Float()
		switch {
		case !ok || math.IsNaN(v):
		case m.given >= m.fixed && m.is >= v:
			return 0, 0
		case m.given <= m.fixed && m.is < v:
			least = max(least, 1)
			most = max(most, least)
		}
	}
	return least, most
}
