package plan

import (
	"cmp"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// chooseStatistics switches to a comparison of statistics if a side has no tensors, and
// returns warnings about it.
func (o *Options) chooseStatistics(ref, npu *Side) ([]lang.Sentence, error) {
	if !ref.FromTables && !npu.FromTables {
		return nil, nil
	}
	if o.needElements() {
		return nil, cmp.Or(ref.CheckTensors(), npu.CheckTensors())
	}
	if o.Judge.Verdict.Mode == limits.ByEvidence {
		o.Judge.Verdict.Mode = limits.ByStatistics
		o.Judge.Verdict.ModeReason = lang.Say("judged from max/min/mean/norm only; the dump contains no tensor data")
	}
	from, other := "--npu", "--cpu"
	switch {
	case ref.FromTables && npu.FromTables:
		return nil, nil
	case ref.FromTables:
		from, other = other, from
	}
	return []lang.Sentence{lang.Say("%s has statistics only, %s has tensors: statistics are compared", from, other)}, nil
}

// needElements reports whether an option needs the elements of tensors.
func (o *Options) needElements() bool {
	return cmp.Or(o.Third, o.Second) != "" || o.Keep
}

// StatisticsOfPair combines the statistics of both sides; nil stands for a missing side.
func StatisticsOfPair(ref, npu *dumpdir.Statistics) *record.Statistics {
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

func sideStatistics(s *dumpdir.Statistics) record.SideStatistics {
	number := func(what dumpdir.Statistic) metrics.Metric {
		return metrics.NumberIf(s.Values.Get(what))
	}
	return record.SideStatistics{Max: number(dumpdir.Max), Min: number(dumpdir.Min), Mean: number(dumpdir.Mean), Norm: number(dumpdir.Norm), Digest: s.Digest,
		Call: s.Spot.Call, Leaf: s.Spot.Leaf}
}

// unpairedStatistics returns the statistics of a tensor without a partner.
func unpairedStatistics(x *Pair) *record.Statistics {
	var ref, npu *dumpdir.Statistics
	if x.Ref != nil {
		ref = x.Ref.Statistics
		x.Row.RefDType, x.Row.RefShape = ref.DType, ref.Shape
	}
	if x.NPU != nil {
		npu = x.NPU.Statistics
		x.Row.NPUDType, x.Row.NPUShape = npu.DType, npu.Shape
	}
	return StatisticsOfPair(ref, npu)
}
