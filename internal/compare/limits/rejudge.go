package limits

import (
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
)

// Undecided is the status of a row whose numbers do not suffice for the new limits: the
// tensors must be compared again.
const Undecided record.Status = "UNDECIDED"

// Rejudgement is the result of a row under limits other than the limits of its comparison.
type Rejudgement struct {
	Status record.Status
	// Errors is the number of error elements, nil if it does not follow from the numbers.
	Errors  *int64
	Reasons []finding.Finding
	// PassStatus is the status of the row if it passes: PASS, PARTIAL or WARN.
	PassStatus record.Status
}

// Rejudge judges a compared row by limits in the mode of o; was is the mode of its comparison.
func (o *Options) Rejudge(row *record.Row, was metrics.Mode, limits *record.Limits) (a Rejudgement) {
	res := row.Result
	f := factsOf(res)
	least, most := o.errorRange(res, f, limitsOf(&row.Limits, was), limitsOf(limits, o.Mode))
	if least == most {
		a.Errors = &least
	}
	whole, highest := o.Verdict.denominator(f), o.Verdict.MaxErrorRatio
	if a.Reasons = o.Verdict.failedGates(f); len(a.Reasons) > 0 || o.Verdict.FailsOnClass() && f.mismatch > 0 || record.Share(least, whole) > highest {
		a.Status, a.Reasons = record.Fail, append(a.Reasons, o.Verdict.replacedReasons(res)...)
		return a
	}
	warnings := o.Verdict.warnings(f)
	if row.Evidence != nil && row.Evidence.BiasOfInputs {
		warnings = finding.WithoutCode(warnings, finding.Bias)
	}
	switch a.PassStatus = record.Pass; {
	case row.Partial:
		a.PassStatus = record.Partial
	case len(warnings) > 0 || row.Forced:
		a.PassStatus = record.Warn
	}
	if record.Share(most, whole) > highest {
		a.Status, a.Reasons = Undecided, o.Verdict.replacedReasons(res)
		return a
	}
	a.Status, a.Reasons = a.PassStatus, warnings
	return a
}

// limitsOf returns the limits of a row in a mode.
func limitsOf(l *record.Limits, mode metrics.Mode) metrics.Limits {
	return metrics.Limits{Atol: l.Atol, Rtol: l.Rtol, Mode: mode}
}

// errorRange returns the smallest and the largest possible number of errors under the limits now, for a row that was
// compared with the limits was.
func (o *Options) errorRange(res *metrics.Result, f *facts, was, now metrics.Limits) (least, most int64) {
	least, most = finiteErrors(res, was, now)
	switch {
	case o.Verdict.FailsOnClass():
		return least + f.mismatch, most + f.mismatch
	case o.Verdict.NaN == NaNHPAA && was == now:
		return res.HPAA.Count, res.HPAA.Count
	case o.Verdict.NaN == NaNHPAA:
		return least, most + f.mismatch // countErrors among replaced elements depend on the limits
	}
	return least, most
}

// finiteErrors is errorRange over the pairs that are finite on both sides.
func finiteErrors(res *metrics.Result, was, now metrics.Limits) (least, most int64) {
	errors := res.Beyond.Count
	switch {
	case was == now:
		return errors, errors
	case res.Passes(now):
		return 0, 0
	case was.Mode != now.Mode:
		return 0, res.CountBothFinite()
	}
	least, most = 0, res.CountBothFinite()
	if now.Atol >= was.Atol && now.Rtol >= was.Rtol {
		most = errors
	}
	if now.Atol <= was.Atol && now.Rtol <= was.Rtol {
		least = errors
	}
	for _, a := range []decision{
		decideByMargin(res.Margin, was, now),
		decideBySmallest(res.MinRtol, now.Rtol, now.Atol, was.Atol),
		decideBySmallest(res.MinAtol, now.Atol, now.Rtol, was.Rtol),
	} {
		if a.passes {
			return 0, 0
		}
		if a.fails {
			least = max(least, 1)
		}
	}
	return least, max(least, most)
}

// decision: all pairs pass the limits, or some pair fails; neither if it is not known.
type decision struct{ passes, fails bool }

// decideBySmallest judges a limit by the smallest limit that passes all pairs, while the other limit is was.
func decideBySmallest(smallest metrics.Metric, limit, other, was float64) decision {
	v := smallest.Value()
	if !smallest.IsDefined() || math.IsNaN(v) {
		return decision{}
	}
	return decision{passes: limit >= v && other >= was, fails: limit < v && other <= was}
}

// decideByMargin judges by the largest |d|/limit: all pairs pass if every limit grows by more than
// this factor, some pair fails if every limit grows by less.
func decideByMargin(margin metrics.Metric, was, now metrics.Limits) decision {
	const slack = 1 + 0x1p-40 // exceeds the rounding errors of limits and quotients
	m := margin.Value()
	if !margin.IsDefined() || math.IsNaN(m) {
		return decision{}
	}
	least, most := math.Inf(1), 0.0 // factors from the earlier limits to the new ones
	for _, l := range [][2]float64{{was.Atol, now.Atol}, {was.Rtol, now.Rtol}} {
		switch {
		case l[0] > 0:
			least, most = min(least, l[1]/l[0]), max(most, l[1]/l[0])
		case l[1] > 0:
			most = math.Inf(1)
		}
	}
	return decision{passes: m*slack < least, fails: m > most*slack}
}
