package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// endless is a large tensor whose elements are a function of their offset.
type endless struct {
	value func(i int64) float64
	read  *int64 // elements
}

func (e endless) ReadElements(dst []byte, first int64) error {
	values := make([]float64, len(dst)/4)
	for i := range values {
		values[i] = e.value(first + int64(i))
	}
	*e.read += int64(len(values))
	copy(dst, store(tensor.Float32, values))
	return nil
}

// TestLargeTensor examines tensors of 2^36 elements: the fault is found although only a bounded
// number of elements is read.
func TestLargeTensor(t *testing.T) {
	shape := tensor.Shape{1 << 10, 1 << 10, 1 << 16}
	value := func(i int64) float64 { return float64(splitmix64(uint64(i))%2000)/100 - 10 }
	row := shape[2]
	tests := map[finding.Code]func(i int64) float64{
		finding.Shift:  func(i int64) float64 { return value(i + row) },
		finding.Layout: func(i int64) float64 { return value(i%1024<<26 | i>>10) },
		"":             func(i int64) float64 { return value(i ^ 0x55555) },
	}
	metric := func(v float64) metrics.Metric { return metrics.NumberOf(v) }
	for code, npu := range tests {
		t.Run(string(code), func(t *testing.T) {
			var read int64
			side := metrics.SideStats{Min: metric(-10), Max: metric(10), Mean: metric(0), Std: metric(5.77), RMS: metric(5.77)}
			result := &metrics.Result{
				Total: 1 << 36, NPUDType: tensor.Float32, RefDType: tensor.Float32, Ref: side, NPU: side,
				Beyond: metrics.Errors{Count: 1 << 35}, ErrorOffsets: []int64{0, 1, 2, 5, 9},
			}
			result.Classes[metrics.Finite][metrics.Finite] = 1 << 36
			findings, _, err := Examine(t.Context(), Tensors{
				Result: result, Request: request(shape, kind{tensor.Float32, tensor.Float32}),
				Ref: endless{value, &read}, NPU: endless{npu, &read},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got finding.Code
			if len(findings) > 0 {
				got = findings[0].Code
			}
			if got != code {
				t.Errorf("got %v, want %q", findings, code)
			}
			if read > 100_000 {
				t.Errorf("%d elements read", read)
			}
		})
	}
}

// TestOutsideOfSample damages rows that no run of the sample touches: their errors are counted
// and located.
func TestOutsideOfSample(t *testing.T) {
	const rows, columns, wrong = 2048, 256, 4
	shape, k := tensor.Shape{rows, columns}, kind{tensor.Float32, tensor.Float32}
	rng := rand.New(rand.NewPCG(35, 2))
	refs := normal(rng, rows*columns, 3, 0)
	ref := memory{store(k.ref, refs), 4}
	good, err := newPair(t.Context(), &Tensors{Result: &metrics.Result{Total: rows * columns}, Request: request(shape, k), Ref: ref, NPU: ref})
	if err != nil {
		t.Fatal(err)
	}
	touched := [rows / wrong]bool{}
	for _, offset := range good.sample().offsets {
		touched[offset/columns/wrong] = true
	}
	tried := 0
	for part, is := range touched {
		if is || part%37 > 0 {
			continue
		}
		tried++
		npus := slices.Clone(refs)
		for i := part * wrong * columns; i < (part+1)*wrong*columns; i++ {
			npus[i] += 20 + rng.Float64()
		}
		in := Tensors{Request: request(shape, k), Ref: ref, NPU: memory{store(k.npu, npus), 4}}
		if in.Result, err = metrics.Compare(t.Context(), in.Request, in.Ref, in.NPU); err != nil {
			t.Fatal(err)
		}
		findings, uneven, err := Examine(t.Context(), in)
		if err != nil || in.Result.StrictErrors() != wrong*columns {
			t.Fatalf("%d errors, want %d; error %v", in.Result.StrictErrors(), wrong*columns, err)
		}
		// The bins of the axis have two rows each.
		if first := int64(part) * wrong; uneven == nil || uneven.Axis != 0 || uneven.From != first || uneven.To != first+wrong {
			t.Errorf("rows from %d on: %+v, findings %v", first, uneven, findings)
		}
	}
	if tried == 0 {
		t.Error("the sample touches all rows")
	}
}

// failing is a reader that fails.
type failing struct{}

func (failing) ReadElements([]byte, int64) error { return errors.New("disk gone") }

func TestErrors(t *testing.T) {
	k := kind{tensor.Float32, tensor.Float32}
	shape := tensor.Shape{10, 10}
	ref := memory{store(k.ref, normal(rand.New(rand.NewPCG(1, 1)), 100, 1, 0)), 4}
	npu := memory{store(k.npu, normal(rand.New(rand.NewPCG(2, 1)), 100, 1, 0)), 4}
	result, _ := diagnosed(t, request(shape, k), ref, npu)
	good := Tensors{Result: result, Request: request(shape, k), Ref: ref, NPU: npu}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Examine(cancelled, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	tests := []struct {
		change func(*Tensors)
		want   string
	}{
		{func(in *Tensors) { in.NPU = failing{} }, "disk gone"},
		{func(in *Tensors) { in.Ref = failing{} }, "disk gone"},
		{func(in *Tensors) { in.Request.Shape = tensor.Shape{10, 11} }, "result of 100 elements for a shape of 110"},
		{func(in *Tensors) { in.Request.Shape = tensor.Shape{-1} }, "no number of elements"},
		{func(in *Tensors) { in.Request.NPUDType = tensor.String }, "unsupported element type string"},
		{func(in *Tensors) { in.Request.RefDType = tensor.String }, "unsupported element type string"},
	}
	for _, test := range tests {
		in := good
		test.change(&in)
		findings, uneven, err := Examine(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), test.want) || findings != nil || uneven != nil {
			t.Errorf("got %v, uneven %v, error %v, want %q", findings, uneven, err, test.want)
		}
	}
}

// TestTinyTensors: a few elements show no pattern, and nothing breaks.
func TestTinyTensors(t *testing.T) {
	k := kind{tensor.Float32, tensor.Float32}
	for _, shape := range []tensor.Shape{{}, {1}, {0}, {3, 0}, {2}, {1, 1, 3}} {
		ref, npu := make([]float64, count(shape)), make([]float64, count(shape))
		for i := range ref {
			ref[i], npu[i] = float64(3*i+1), float64(2*i*i+5)
		}
		_, findings := diagnosed(t, request(shape, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 4})
		if len(findings) > 0 {
			t.Errorf("%s: %v", shape, findings)
		}
	}
}

// TestComplex: the parts of complex elements are separate values.
func TestComplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	parts := normal(rng, 2*300, 2, 0)
	negative := make([]float64, len(parts))
	for i, v := range noisy(rng, parts) {
		negative[i] = -v
	}
	ref := memory{store(tensor.Float32, parts), 8}
	req := request(tensor.Shape{15, 20}, kind{tensor.Complex64, tensor.Complex64})
	_, findings := diagnosed(t, req, ref, memory{store(tensor.Float32, negative), 8})
	checkFindings(t, "negated", findings, finding.Negated, nil)
	swapped := store(tensor.Float32, parts)
	for i := 0; i < len(swapped); i += 4 {
		swapped[i], swapped[i+1], swapped[i+2], swapped[i+3] = swapped[i+3], swapped[i+2], swapped[i+1], swapped[i]
	}
	_, findings = diagnosed(t, req, ref, memory{swapped, 8})
	checkFindings(t, "swapped", findings, finding.Endian, nil)
}

// TestScaleNames: typical factors of faults are named.
func TestScaleNames(t *testing.T) {
	shape := tensor.Shape{8, 77, 96}
	for s, want := range map[float64]string{
		0.501: "1/2", 2: "2", 1. / 256: "1/256", 255: "1/256", 1 / math.Sqrt(96): "sqrt(96)",
		1. / 77: "77", 0.25: "2^-2", 16: "2^4", 0.125: "sqrt(64)", 1.3: "", -0.5: "",
	} {
		got := scaleName(s, shape).String()
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%g: %q, want %q", s, got, want)
		}
	}
}

// TestDeterminism: what is found does not depend on the run.
func TestDeterminism(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	k := kind{tensor.Float16, tensor.Float32}
	shape := tensor.Shape{3, 50, 70, 9}
	values := normal(rng, count(shape), 2, 0)
	moved, _ := transposed(noisy(rng, values), shape, []int{0, 2, 3, 1})
	first := ""
	for range 3 {
		_, findings := diagnosed(t, request(shape, k), memory{store(k.ref, values), 4}, memory{store(k.npu, moved), 2})
		text := fmt.Sprint(findings)
		if first == "" {
			first = text
		}
		if text != first || !strings.Contains(text, string(finding.Layout)) {
			t.Errorf("got %s, then %s", first, text)
		}
	}
}
