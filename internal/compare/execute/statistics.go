package execute

import (
	"context"
	"math"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensorfile"
)

// compareStatistics compares a pair by the statistics of its tensors.
func (e *executor) compareStatistics(ctx context.Context, x *plan.Pair, row *record.Row) error {
	if e.opt.Standard.Name != "" || e.opt.Judge.Verdict.Gates != (limits.Gates{}) {
		row.Pair.Set(record.Skip, finding.StatisticsOnly, lang.Say("this judgement needs the elements, but only statistics are available"))
		return nil
	}
	ref, err := e.tensorStatistics(ctx, x.Ref)
	if err != nil {
		return err
	}
	npu, err := e.tensorStatistics(ctx, x.NPU)
	if err != nil {
		return err
	}
	row.RefDType, row.NPUDType, row.RefShape, row.NPUShape = ref.DType, npu.DType, ref.Shape, npu.Shape
	atol, rtol := e.configLimits(row)
	row.Limits = e.opt.Judge.Limits.Limits(ref.DType, npu.DType, atol, rtol)
	row.Statistics = plan.StatisticsOfPair(ref, npu)
	if compareFinite(row.Statistics, ref, npu) {
		row.Notes = append(row.Notes, lang.Say("max and min cover finite elements only: both sides also have NaN or infinities"))
	}
	if ref.Shape != nil && npu.Shape != nil && !ref.Shape.Equal(npu.Shape) {
		row.Pair.Set(record.ShapeMismatch, finding.SizeMismatch, lang.Say("reference is %s, NPU is %s", ref.Shape, npu.Shape))
		return nil
	}
	if row.Shape = npu.Shape; row.Shape == nil {
		row.Shape = ref.Shape
	}
	limits.JudgeStatistics(row)
	return nil
}

// tensorStatistics returns the statistics of a tensor from its table, or computes them.
func (e *executor) tensorStatistics(ctx context.Context, t *plan.Tensor) (*dumpdir.Statistics, error) {
	if t.Statistics != nil && (t.Table || !t.Statistics.Values.IsEmpty() || t.Statistics.Digest != "") {
		return t.Statistics, nil
	}
	open, err := t.Open(e.opt.Version, tensorfile.RawHint{})
	if err != nil {
		return nil, err
	}
	defer open.Close()
	shape, err := open.Tensor.StoredShape()
	if err != nil {
		return nil, err
	}
	var buf []byte
	s, err := open.Tensor.StatsAndNorm(ctx, shape, &buf)
	if err != nil {
		return nil, err
	}
	found := &dumpdir.Statistics{DType: open.DType, Shape: open.Shape}
	if t.Statistics != nil {
		found.Spot = t.Statistics.Spot
	}
	for what, v := range map[dumpdir.Statistic]*float64{dumpdir.Max: s.Highest(), dumpdir.Min: s.Lowest(), dumpdir.Mean: s.Mean, dumpdir.Norm: s.Norm} {
		if v != nil {
			found.Values.Set(what, *v)
		}
	}
	return found, nil
}

// compareFinite replaces max or min by the extremes of finite elements if both sides have NaN
// there, or the same infinity. It reports whether it did.
func compareFinite(s *record.Statistics, ref, npu *dumpdir.Statistics) (done bool) {
	for _, x := range []struct {
		finite   dumpdir.Statistic
		ref, npu *metrics.Metric
	}{{dumpdir.FiniteMax, &s.Ref.Max, &s.NPU.Max}, {dumpdir.FiniteMin, &s.Ref.Min, &s.NPU.Min}} {
		a, isRef := ref.Values.Get(x.finite)
		b, isNPU := npu.Values.Get(x.finite)
		same := math.IsNaN(x.ref.Value()) && math.IsNaN(x.npu.Value()) || math.IsInf(x.ref.Value(), 0) && x.ref.Value() == x.npu.Value()
		if isRef && isNPU && same {
			*x.ref, *x.npu, done = metrics.NumberOf(a), metrics.NumberOf(b), true
		}
	}
	return done
}
