package compare

import (
	"cmp"
	"context"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensorfile"
)

// chooseStatistics makes a comparison one of statistics where a side has no tensors,
// and returns what to say about it.
func (o *planOptions) chooseStatistics(ref, npu *Side) ([]lang.Sentence, error) {
	if !ref.FromTables && !npu.FromTables {
		return nil, nil
	}
	if o.needElements() {
		return nil, cmp.Or(ref.NoTensors(), npu.NoTensors())
	}
	if o.Judge.Verdict.Mode == ByEvidence {
		o.Judge.Verdict.Mode = ByStatistics
		o.Judge.Verdict.Why = lang.Sayf("from statistics only: elements are missing", "仅依据统计量：没有元素数据")
	}
	from, other := "--npu", "--cpu"
	switch {
	case ref.FromTables && npu.FromTables:
		return nil, nil
	case ref.FromTables:
		from, other = other, from
	}
	return []lang.Sentence{lang.Sayf("%s has statistics only, %s has tensors: statistics are compared", "%s 只有统计量，%s 有张量：比对统计量", from, other)}, nil
}

// needElements reports whether statistics are of no use for what is asked for.
func (o *planOptions) needElements() bool {
	return cmp.Or(o.Third, o.Second) != "" || o.Keep
}

// skipStatistics skips a pair of which only statistics are known where it is elements that
// are judged, and reports whether it did.
func (o *executeOptions) skipStatistics(row *record.Row) bool {
	if o.Standard.Name == "" && o.Judge.Verdict.Gates == (Gates{}) {
		return false
	}
	row.Pair.Status = record.Skip
	row.Pair.Reasons = append(row.Pair.Reasons, finding.Finding{Code: finding.StatisticsOnly, Confidence: finding.High,
		Evidence: lang.Sayf("only statistics are known, and what is asked for needs the elements", "只有统计量，而所要求的判定需要元素数据")})
	return true
}

// byStatistics compares a pair by what is known of its tensors.
func (e *executor) byStatistics(ctx context.Context, x *Pair, row *record.Row) error {
	if e.opt.skipStatistics(row) {
		return nil
	}
	ref, err := e.statistics(ctx, x.Ref)
	if err != nil {
		return err
	}
	npu, err := e.statistics(ctx, x.NPU)
	if err != nil {
		return err
	}
	row.RefDType, row.NPUDType, row.RefShape, row.NPUShape = ref.DType, npu.DType, ref.Shape, npu.Shape
	atol, rtol := e.config(row)
	row.Limits = e.opt.Judge.Limits.limits(ref.DType, npu.DType, atol, rtol)
	row.Statistics = statisticsOfPair(ref, npu)
	if compareFinite(row.Statistics, ref, npu) {
		row.Notes = append(row.Notes, lang.Sayf("max and min are those of the finite elements: both sides have others", "max、min 取自有限元素：两侧均含非有限元素"))
	}
	if ref.Shape != nil && npu.Shape != nil && !ref.Shape.Equal(npu.Shape) {
		row.Pair.Status = record.ShapeMismatch
		row.Pair.Reasons = append(row.Pair.Reasons, finding.Finding{Code: finding.SizeMismatch, Confidence: finding.High,
			Evidence: lang.Sayf("reference is %s, NPU is %s", "标杆为 %s，NPU 为 %s", ref.Shape, npu.Shape)})
		return nil
	}
	if row.Shape = npu.Shape; row.Shape == nil {
		row.Shape = ref.Shape
	}
	judgeStatistics(row)
	return nil
}

// statistics are those of a tensor: of its table, else of its elements.
func (e *executor) statistics(ctx context.Context, t *Tensor) (*dumpdir.Statistics, error) {
	if t.Statistics != nil && (t.Table || !t.Statistics.Values.IsEmpty() || t.Statistics.Digest != "") {
		return t.Statistics, nil
	}
	open, err := t.Open(e.opt.Version, tensorfile.RawHint{})
	if err != nil {
		return nil, err
	}
	defer open.Close()
	shape, err := open.Tensor.Stored()
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

// statisticsOfPair are those of a row; one of the two is nil where it has no partner.
func statisticsOfPair(ref, npu *dumpdir.Statistics) *record.Statistics {
	known := cmp.Or(ref, npu)
	if ref != nil && ref.Spot.Tensor == "" && npu != nil {
		known = npu
	}
	s := &record.Statistics{Tensor: known.Spot.Tensor, Unread: known.Spot.Unread, RequiresGrad: known.Spot.RequiresGrad, Exponent: known.Spot.Exponent}
	if ref != nil {
		s.Ref = sideStatistics(ref)
	}
	if npu != nil {
		s.NPU = sideStatistics(npu)
	}
	return s
}

// compareFinite puts the extremes of the finite elements in place of extremes that are the
// same infinity, or NaN, on both sides, and reports whether it did.
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

func sideStatistics(s *dumpdir.Statistics) record.SideStatistics {
	number := func(what dumpdir.Statistic) metrics.Metric {
		return metrics.NumberIf(s.Values.Get(what))
	}
	return record.SideStatistics{Max: number(dumpdir.Max), Min: number(dumpdir.Min), Mean: number(dumpdir.Mean), Norm: number(dumpdir.Norm), Digest: s.Digest,
		Call: s.Spot.Call, Leaf: s.Spot.Leaf}
}

// judgeStatistics sets the status of a row by its own statistics and the limits.
func judgeStatistics(row *record.Row) {
	s := row.Statistics
	row.Pair.Status = record.Pass
	fail := func(code finding.Code, evidence lang.Sentence) {
		row.Pair.Status = record.Fail
		row.Pair.Reasons = append(row.Pair.Reasons, finding.Finding{Code: code, Confidence: finding.Medium, Evidence: evidence})
	}
	if s.ByDigest() {
		if s.Ref.Digest != s.NPU.Digest {
			fail(finding.DigestDiffers, lang.Sayf("digest %s, the reference has %s", "摘要为 %s，标杆为 %s", s.NPU.Digest, s.Ref.Digest))
		}
		return
	}
	if lost(s.NPU.Max, s.Ref.Max) || lost(s.NPU.Min, s.Ref.Min) {
		fail(finding.NPUNaN, lang.Sayf("max %s and min %s of the NPU, %s and %s of the reference", "NPU 的 max 为 %s、min 为 %s，标杆为 %s、%s",
			s.NPU.Max, s.NPU.Min, s.Ref.Max, s.Ref.Min))
		return
	}
	_, float := precisionOf(row.NPUDType)
	for _, n := range []struct {
		name     string
		ref, npu metrics.Metric
	}{{"norm", s.Ref.Norm, s.NPU.Norm}, {"max", s.Ref.Max, s.NPU.Max}, {"min", s.Ref.Min, s.NPU.Min}} {
		d := math.Abs(n.npu.Value() - n.ref.Value())
		beyond := d > row.Limits.Atol && d > row.Limits.Rtol*max(math.Abs(n.ref.Value()), math.Abs(n.npu.Value())) || d > 0 && !float && n.name != "norm"
		if n.ref.Defined() && n.npu.Defined() && beyond {
			fail(finding.StatisticsDiffer, lang.Sayf("%s %s, the reference has %s", "%s 为 %s，标杆为 %s", n.name, n.npu, n.ref))
			return
		}
	}
}

// lost reports whether a number of the NPU is not finite and that of the reference is.
func lost(npu, ref metrics.Metric) bool {
	finite := func(m metrics.Metric) bool { return !math.IsNaN(m.Value()) && !math.IsInf(m.Value(), 0) }
	return npu.Defined() && ref.Defined() && !finite(npu) && finite(ref)
}

// aloneStatistics are those of a tensor without a partner.
func aloneStatistics(x *Pair) *record.Statistics {
	var ref, npu *dumpdir.Statistics
	if x.Ref != nil {
		ref = x.Ref.Statistics
		x.Row.RefDType, x.Row.RefShape = ref.DType, ref.Shape
	}
	if x.NPU != nil {
		npu = x.NPU.Statistics
		x.Row.NPUDType, x.Row.NPUShape = npu.DType, npu.Shape
	}
	return statisticsOfPair(ref, npu)
}
