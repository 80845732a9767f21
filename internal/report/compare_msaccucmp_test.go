package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// slowResult computes msaccucmp's metrics in the plainest way.
func slowResult(npu, ref []float64) *metrics.Result {
	r := &metrics.Result{Total: int64(len(npu)), RefDType: tensor.Float32, NPUDType: tensor.Float32}
	var sumAbs, sumSquare, nn, rr, nr, sumRel, maxAbs, maxRel float64
	finite, relative := 0.0, 0
	for i, n := range npu {
		y := ref[i]
		r.Classes[classOf(n)][classOf(y)]++
		if classOf(n) != metrics.Finite || classOf(y) != metrics.Finite {
			continue
		}
		d := math.Abs(n - y)
		finite++
		sumAbs, sumSquare, maxAbs = sumAbs+d, sumSquare+d*d, max(maxAbs, d)
		nn, rr, nr = nn+n*n, rr+y*y, nr+n*y
		if y != 0 {
			relative++
			sumRel, maxRel = sumRel+d/math.Abs(y), max(maxRel, d/math.Abs(y))
		} else if d != 0 {
			r.RelUndefined++
		}
	}
	if finite > 0 {
		r.MaxAbs.Metric, r.MeanAbs, r.RMSE = known(maxAbs), known(sumAbs/finite), known(math.Sqrt(sumSquare/finite))
		r.RED, r.Cosine = known(math.Sqrt(sumSquare/rr)), known(nr/math.Sqrt(nn*rr))
		switch {
		case rr == 0 && nn == 0:
			r.RED, r.Cosine, r.CosineZero = known(0), known(1), metrics.BothZero
		case rr == 0 || nn == 0:
			r.Cosine, r.CosineZero = known(0), metrics.OneZero
		}
	}
	if relative > 0 {
		r.MaxRel.Metric, r.AccRel = known(maxRel), known(sumRel)
	}
	r.NPU, r.Ref = slowSide(npu), slowSide(ref)
	return r
}

func classOf(x float64) metrics.Class {
	switch {
	case math.IsNaN(x):
		return metrics.NaN
	case math.IsInf(x, 1):
		return metrics.PosInf
	case math.IsInf(x, -1):
		return metrics.NegInf
	}
	return metrics.Finite
}

// slowSide computes mean and standard deviation of the finite elements.
func slowSide(values []float64) (s metrics.SideStats) {
	var sum, square, n float64
	for _, x := range values {
		switch classOf(x) {
		case metrics.NaN:
			s.NaN++
		case metrics.PosInf:
			s.PosInf++
		case metrics.NegInf:
			s.NegInf++
		default:
			n, sum = n+1, sum+x
		}
	}
	if n == 0 {
		return s
	}
	for _, x := range values {
		if classOf(x) == metrics.Finite {
			square += (x - sum/n) * (x - sum/n)
		}
	}
	s.Mean, s.Std = known(sum/n), known(math.Sqrt(square/n))
	return s
}

// algorithms lists the metrics of msaccucmp, ordered by its indexes.
var algorithms = []string{"CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
	"KullbackLeiblerDivergence", "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError"}

// TestMsaccucmpFixtures expects msaccucmp's output, except where msaccucmp is wrong.
func TestMsaccucmpFixtures(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	repeat := func(x float64) []float64 { return []float64{x, x, x, x} }
	count := []float64{1, 2, 3, 4}
	for name, c := range map[string]struct {
		npu, ref []float64
		kld      float64
		want     string // in the order of algorithms, without StandardDeviation
	}{
		"near":          {[]float64{1, 2, 3, 4.5}, count, .002961, "0.998295 0.500000 0.125000 0.091287 0.002961 0.125000 0.250000 0.125000 0.031250"},
		"mine zero":     {repeat(0), count, 3.668468, "NaN 4.000000 4.000000 1.000000 3.668468 2.500000 2.738613 1.000000 1.000000"},
		"golden zero":   {count, repeat(0), .374889, "NaN 4.000000 NaN inf 0.374889 2.500000 2.738613 NaN NaN"},
		"negated":       {[]float64{1, -2, 3}, []float64{-1, 2, -3}, 9.982507, "-1.000000 6.000000 6.000000 2.000000 9.982507 4.000000 4.320494 2.000000 2.000000"},
		"constants":     {repeat(5), repeat(7), 0, "1.000000 2.000000 1.142857 0.285714 0.000000 2.000000 2.000000 0.285714 0.285714"},
		"tiny golden":   {[]float64{1, 1}, []float64{0x1p-60, 0x1p-60}, 0, "1.000000 1.000000 2.305843e+18 1.152922e+18 0.000000 1.000000 1.000000 1.152922e+18 1.152922e+18"},
		"both zero":     {repeat(0), repeat(0), 0, "1.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000"},
		"scalar":        {[]float64{5}, []float64{1}, 0, "1.000000 4.000000 4.000000 4.000000 0.000000 4.000000 4.000000 4.000000 4.000000"},
		"nan":           {[]float64{nan, 2}, []float64{1, 2}, 5, "NaN NaN NaN NaN NaN NaN NaN NaN NaN"},
		"inf":           {[]float64{inf, 2}, []float64{1, 2}, 5, "NaN inf inf inf NaN inf inf inf inf"},
		"inf in place":  {[]float64{inf, 2}, []float64{inf, 2}, 5, "NaN NaN NaN NaN NaN NaN NaN NaN NaN"},
		"inf against":   {[]float64{inf, 2}, []float64{-inf, 2}, 5, "NaN inf NaN NaN NaN inf inf NaN NaN"},
		"golden inf":    {[]float64{1, 3}, []float64{inf, 2}, 5, "NaN inf 1.500000 NaN NaN inf inf 1.000000 0.750000"},
		"both have inf": {[]float64{inf, 3}, []float64{1, inf}, 5, "NaN inf inf NaN NaN inf inf inf inf"},
		"empty":         {nil, nil, nan, "1.000000 NaN 0.000000 0.000000 NaN NaN NaN NaN NaN"},
		"huge":          {repeat(1e20), repeat(1e20), 0, "1.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000 0.000000"},
	} {
		result := slowResult(c.npu, c.ref)
		result.KLD = known(c.kld)
		row := record.Row{Op: name, Shape: tensor.Shape{int64(len(c.npu))}, Result: result}
		cells := table(t, rendered(t, func(w io.Writer) error {
			return WriteCompareMsaccucmp(w, reportOf(row))
		}))[0]
		var got []string
		for _, algorithm := range algorithms {
			if algorithm != "StandardDeviation" {
				got = append(got, cells[algorithm])
			}
		}
		if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMsaccucmpTable(t *testing.T) {
	relu, second := passing("net/relu"), passing("net/relu")
	relu.NPUOp, second.NPUOp, second.Output, second.OpType = "npu_relu", "npu_relu", 1, ""
	dump := passing("-odd")
	dump.NPUFile, dump.Shape = "npu/Relu.odd.1.2.3:output:0", tensor.Shape{2, 2}
	r := reportOf(relu, second, dump, uncompared("alone", record.UnmatchedNPU), uncompared("lost", record.UnmatchedRef))
	got := rendered(t, func(w io.Writer) error { return WriteCompareMsaccucmp(w, r) })
	const numbers = `NO,0.998295,0.500000,0.125000,0.091287,NaN,"(2.625;1.293),(2.500;1.118)",0.125000,0.250000,0.125000,0.031250,`
	const none = "NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,"
	want := "Index,OpType,NPUDump,DataType,Address,GroundTruth,DataType,TensorIndex,Shape,OverFlow,CosineSimilarity,MaxAbsoluteError," +
		"AccumulatedRelativeError,RelativeEuclideanDistance,KullbackLeiblerDivergence,StandardDeviation,MeanAbsoluteError,RootMeanSquareError," +
		"MaxRelativeError,MeanRelativeError,CompareFailReason\n" +
		"1,Relu,npu_relu,float16,NaN,net/relu,float32,npu_relu:output:0,[4]," + numbers + "\n" +
		"1,NaN,npu_relu,float16,NaN,net/relu,float32,npu_relu:output:1,[4]," + numbers + "\n" +
		"2,Relu,'-odd,float16,NaN,'-odd,float32,'-odd:output:0,\"[2,2]\"," + numbers + "\n" +
		"3,NaN,alone,float16,NaN,*,NaN,alone:output:0,\"[3,2]\"," + none + "NOT_IN_MODEL: the reference has no such tensor\n" +
		"4,NaN,*,NaN,NaN,lost,float32,lost:output:0,\"[2,3]\"," + none + "UNMATCHED_REF: the NPU run has no such tensor\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMsaccucmpSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{1, 2, 3, 4.5}, "(2.625;1.293)"},
		{[]float64{1, 2, 3, 4}, "(2.500;1.118)"},
		{[]float64{0.0005, -0.0012}, "(0.000;0.000)"},
		{[]float64{math.NaN(), 1}, "(NaN;NaN)"},
		{[]float64{math.Inf(-1), 1}, "(-inf;NaN)"},
		{nil, "(NaN;NaN)"},
	} {
		side := slowSide(c.values)
		if got := meanAndDeviation(&side); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestMsaccucmpOverflow(t *testing.T) {
	for _, c := range []struct {
		dtype     tensor.DType
		saturated int64
		inf, nan  int64
		want      string
	}{
		{tensor.Float16, 0, 0, 0, "NO"}, {tensor.Float16, 1, 0, 0, "YES"}, {tensor.Float16, 0, 1, 1, "YES"}, {tensor.Float16, 0, 0, 1, "NO"},
		{tensor.Float32, 1, 1, 0, "NaN"},
	} {
		r := &metrics.Result{NPUDType: c.dtype, NPU: metrics.SideStats{Saturated: c.saturated, NegInf: c.inf, NaN: c.nan}}
		if got := overflowCell(r); got != c.want {
			t.Errorf("%s: %q, want %q", fmt.Sprint(c), got, c.want)
		}
	}
}
