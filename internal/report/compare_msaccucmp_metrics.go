package report

import (
	"math"

	"dumptool/internal/compare/metrics"
)

// accuracy are the metrics of msaccucmp over whole tensors: unlike those of a
// Result they cover what is not finite, with the arithmetic of IEEE 754.
type accuracy struct {
	cosine, maxAbs, accRel, red, kld, meanAbs, rmse, maxRel, meanRel metrics.Metric
	finite                                                           bool
}

// accuracyOf makes the metrics of msaccucmp of a result.
func accuracyOf(r *metrics.Result) accuracy {
	a := accuracy{cosine: r.Cosine, maxAbs: r.MaxAbs.Metric, accRel: r.AccRel, red: r.RED, kld: r.KLD, meanAbs: r.MeanAbs, rmse: r.RMSE, maxRel: r.MaxRel.Metric,
		finite: r.BothFinite() == r.Total}
	if r.CosineZero == metrics.OneZero {
		a.cosine = metrics.Metric{}
	}
	if !a.accRel.Defined && r.RelUndefined == 0 {
		a.accRel = defined(0) // all zero on both sides, or empty
		if r.Total > 0 {
			a.maxRel = defined(0)
		}
	}
	if r.Total == 0 {
		a.cosine, a.red = defined(1), defined(0)
	}
	if !a.finite {
		a.cover(r)
	}
	if a.accRel.Defined && r.Total > 0 {
		a.meanRel = defined(a.accRel.Value / float64(r.Total))
	}
	return a
}

// cover extends the metrics, so far those of finite pairs, to all pairs.
func (a *accuracy) cover(r *metrics.Result) {
	const f, p, n, x = metrics.Finite, metrics.PosInf, metrics.NegInf, metrics.NaN
	c := &r.Classes
	opposite := c[p][n] + c[n][p]
	fromNPU, fromRef := c[p][f]+c[n][f], c[f][p]+c[f][n]
	nan, infinite := metrics.Metric{}, defined(math.Inf(1))
	a.cosine, a.kld = nan, nan                      // only finite tensors have a divergence
	if opposite+fromNPU+fromRef+c[f][f] < r.Total { // NaN, or inf - inf
		a.maxAbs, a.meanAbs, a.rmse, a.accRel, a.maxRel, a.red = nan, nan, nan, nan, nan, nan
		return
	}
	a.maxAbs, a.meanAbs, a.rmse = infinite, infinite, infinite
	switch {
	case opposite > 0: // inf / -inf
		a.accRel, a.maxRel, a.red = nan, nan, nan
	case fromNPU > 0:
		a.accRel, a.maxRel, a.red = infinite, infinite, infinite
		if fromRef > 0 {
			a.red = nan
		}
	default: // a finite number over an infinity is 0, its relative error 1
		a.red = nan
		sum, top := 0.0, 1.0
		if r.AccRel.Defined {
			sum, top = r.AccRel.Value, max(r.MaxRel.Value, 1)
		}
		a.accRel, a.maxRel = defined(sum+float64(fromRef)), defined(top)
	}
}

// defined is a defined metric.
func defined(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }
