package record

import "dumptool/internal/compare/metrics"

// classes counts the pairs by class, the NPU's element first: of nan_vs_finite
// the NPU's is NaN. They are undefined in rows that were not compared.
type classes struct {
	BothFinite  metrics.Metric `json:"both_finite"`
	NaNBoth     metrics.Metric `json:"nan_both"`
	InfEqual    metrics.Metric `json:"inf_equal"`
	InfOpposite metrics.Metric `json:"inf_opposite"`
	NaNVsFinite metrics.Metric `json:"nan_vs_finite"`
	FiniteVsNaN metrics.Metric `json:"finite_vs_nan"`
	InfVsFinite metrics.Metric `json:"inf_vs_finite"`
	FiniteVsInf metrics.Metric `json:"finite_vs_inf"`
	NaNVsInf    metrics.Metric `json:"nan_vs_inf"`
	InfVsNaN    metrics.Metric `json:"inf_vs_nan"`
	// ClassMismatch counts all pairs of two classes.
	ClassMismatch metrics.Metric `json:"class_mismatch"`
}

// classCells are the cells of metrics.Classes that a number of classes adds up.
type classCells struct {
	at    *metrics.Metric
	cells [][2]metrics.Class
}

func (c *classes) groups() []classCells {
	const f, p, n, x = metrics.Finite, metrics.PosInf, metrics.NegInf, metrics.NaN
	return []classCells{
		{&c.BothFinite, [][2]metrics.Class{{f, f}}},
		{&c.NaNBoth, [][2]metrics.Class{{x, x}}},
		{&c.InfEqual, [][2]metrics.Class{{p, p}, {n, n}}},
		{&c.InfOpposite, [][2]metrics.Class{{p, n}, {n, p}}},
		{&c.NaNVsFinite, [][2]metrics.Class{{x, f}}},
		{&c.FiniteVsNaN, [][2]metrics.Class{{f, x}}},
		{&c.InfVsFinite, [][2]metrics.Class{{p, f}, {n, f}}},
		{&c.FiniteVsInf, [][2]metrics.Class{{f, p}, {f, n}}},
		{&c.NaNVsInf, [][2]metrics.Class{{x, p}, {x, n}}},
		{&c.InfVsNaN, [][2]metrics.Class{{p, x}, {n, x}}},
	}
}

// put adds up the classes of a result.
func (c *classes) put(r *metrics.Result) {
	for _, group := range c.groups() {
		var sum int64
		for _, cell := range group.cells {
			sum += r.Classes[cell[0]][cell[1]]
		}
		*group.at = countOf(sum)
	}
	c.ClassMismatch = countOf(r.Mismatch.Count)
}

// take sets the classes of a result; the sum of several cells is in the first.
func (c *classes) take(r *metrics.Result) (err error) {
	for _, group := range c.groups() {
		first := group.cells[0]
		if r.Classes[first[0]][first[1]], err = asCount(*group.at); err != nil {
			return err
		}
	}
	r.Mismatch.Count, err = asCount(c.ClassMismatch)
	return err
}
