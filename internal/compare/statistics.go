package compare

import (
	"cmp"
	"context"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Statistics say less than elements do: a row that is judged by them fails where they
// cannot come from rounding.
const (
	// looser is the factor by which the relative limit is wider for statistics.
	looser = 10
	// normGrowth and minNorm are what the relative difference of the norm of an output
	// exceeds where the operator adds it: so many times that of its inputs, and that.
	normGrowth = 10
	minNorm    = 1e-2
)

// chooseStatistics makes a comparison one of statistics where a side has no tensors,
// and returns what to say about it.
func (o *Options) chooseStatistics(ref, npu *Side) ([]lang.Sentence, error) {
	if !ref.FromTables && !npu.FromTables {
		return nil, nil
	}
	if s := cmp.Or(o.Third, o.Second, string(o.Standard.Name)); s != "" || o.Keep {
		return nil, cmp.Or(ref.NoTensors(), npu.NoTensors())
	}
	o.Judge.Verdict.Mode = ByStatistics
	o.Judge.Verdict.Why = lang.Sayf("from statistics only: elements are missing", "仅依据统计量：没有元素数据")
	from, other := "--npu", "--cpu"
	switch {
	case ref.FromTables && npu.FromTables:
		return nil, nil
	case ref.FromTables:
		from, other = other, from
	}
	return []lang.Sentence{lang.Sayf("%s has statistics only, %s has tensors: statistics are compared", "%s 只有统计量，%s 有张量：比对统计量", from, other)}, nil
}

// byStatistics compares a pair by what is known of its tensors.
func (e *executor) byStatistics(ctx context.Context, x *Pair, row *record.Row) error {
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
	row.Statistics = &record.Statistics{Ref: sideStatistics(ref), NPU: sideStatistics(npu)}
	if ref.Shape != nil && npu.Shape != nil && !ref.Shape.Equal(npu.Shape) {
		row.Pair.Status, row.Statistics = record.ShapeMismatch, nil
		row.Pair.Reasons = append(row.Pair.Reasons, record.Finding{Code: record.SizeMismatch, Confidence: record.High,
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
	s, err := open.Tensor.Stats(ctx, shape, &buf)
	if err != nil {
		return nil, err
	}
	found := &dumpdir.Statistics{DType: open.DType, Shape: open.Shape}
	for what, v := range map[dumpdir.Statistic]*float64{dumpdir.Max: s.Max, dumpdir.Min: s.Min, dumpdir.Mean: s.Mean} {
		if v != nil {
			found.Values.Set(what, *v)
		}
	}
	switch {
	case s.NaN > 0:
		found.Values.Set(dumpdir.Max, math.NaN())
		found.Values.Set(dumpdir.Min, math.NaN())
	case s.PosInf > 0:
		found.Values.Set(dumpdir.Max, math.Inf(1))
	}
	if s.NaN == 0 && s.NegInf > 0 {
		found.Values.Set(dumpdir.Min, math.Inf(-1))
	}
	return found, nil
}

func sideStatistics(s *dumpdir.Statistics) record.SideStatistics {
	number := func(what dumpdir.Statistic) metrics.Metric {
		v, ok := s.Values.Get(what)
		return metrics.Metric{Value: v, Defined: ok}
	}
	return record.SideStatistics{Max: number(dumpdir.Max), Min: number(dumpdir.Min), Mean: number(dumpdir.Mean), Norm: number(dumpdir.Norm), Digest: s.Digest}
}

// judgeStatistics sets the status of a row by its own statistics.
func judgeStatistics(row *record.Row) {
	s := row.Statistics
	row.Pair.Status = record.Pass
	fail := func(code record.Code, evidence lang.Sentence) {
		row.Pair.Status = record.Fail
		row.Pair.Reasons = append(row.Pair.Reasons, record.Finding{Code: code, Confidence: record.Medium, Evidence: evidence})
	}
	if s.ByDigest() {
		if s.Ref.Digest != s.NPU.Digest {
			fail(record.DigestDiffers, lang.Sayf("digest %s, the reference has %s", "摘要为 %s，标杆为 %s", s.NPU.Digest, s.Ref.Digest))
		}
		return
	}
	if lost(s.NPU.Max, s.Ref.Max) || lost(s.NPU.Min, s.Ref.Min) {
		fail(record.NPUNaN, lang.Sayf("max %s and min %s of the NPU, %s and %s of the reference", "NPU 的 max 为 %s、min 为 %s，标杆为 %s、%s",
			s.NPU.Max, s.NPU.Min, s.Ref.Max, s.Ref.Min))
		return
	}
	for _, n := range []struct {
		name     string
		ref, npu metrics.Metric
	}{{"norm", s.Ref.Norm, s.NPU.Norm}, {"max", s.Ref.Max, s.NPU.Max}, {"min", s.Ref.Min, s.NPU.Min}} {
		d := math.Abs(n.npu.Value - n.ref.Value)
		if n.ref.Defined && n.npu.Defined && d > row.Limits.Atol && d > looser*row.Limits.Rtol*math.Abs(n.ref.Value) {
			fail(record.StatisticsDiffer, lang.Sayf("%s %s, the reference has %s", "%s 为 %s，标杆为 %s", n.name, n.npu, n.ref))
			return
		}
	}
}

// lost reports whether a number of the NPU is not finite and that of the reference is.
func lost(npu, ref metrics.Metric) bool {
	finite := func(m metrics.Metric) bool { return !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) }
	return npu.Defined && ref.Defined && !finite(npu) && finite(ref)
}

// judgeNorms fails the outputs of a round whose norm is off by much more than those of
// the inputs of their operator.
func judgeNorms(rows []record.Row) {
	inputs := make(map[string]float64) // the largest relative difference
	for i := range rows {
		if row := &rows[i]; row.Statistics != nil && tensor.Kind(row.Kind).IsInput() {
			inputs[row.Op] = max(inputs[row.Op], row.Statistics.RelativeNorm().Value)
		}
	}
	for i := range rows {
		row := &rows[i]
		if row.Statistics == nil || row.Statistics.ByDigest() || row.Status != record.Pass || tensor.Kind(row.Kind).IsInput() {
			continue
		}
		in, known := inputs[row.Op]
		if n := row.Statistics.RelativeNorm(); known && n.Defined && n.Value > minNorm && n.Value > normGrowth*in {
			row.Status = record.Fail
			row.Reasons = append(row.Reasons, record.Finding{Code: record.StatisticsDiffer, Confidence: record.Medium,
				Evidence: lang.Sayf("the norm differs by %.3g %%, those of the inputs by %.3g %% at most", "范数相差 %.3g %%，输入的范数最多相差 %.3g %%", 100*n.Value, 100*in)})
		}
	}
}
