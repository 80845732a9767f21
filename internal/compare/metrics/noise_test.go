package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// noiseRequest returns a request for the noise of a pair.
func noiseRequest(t *testing.T, shape tensor.Shape, ref, npu tensor.DType) Request {
	t.Helper()
	typ, ok := noise.TypeOf(npu)
	if !ok {
		t.Fatalf("no type of %s", npu)
	}
	return Request{
		Shape: shape, RefDType: ref, NPUDType: npu, Limits: hpaaLimits,
		Noise: &noise.Request{Shape: shape, Type: typ, Mask: -9000, Groups: 64},
	}
}

// TestNoise compares with a collector that gets all elements in one call.
func TestNoise(t *testing.T) {
	for _, pair := range [][2]tensor.DType{
		{tensor.Float32, tensor.Float16}, {tensor.Float64, tensor.Float64}, {tensor.Float32, tensor.Int8},
		{tensor.Int64, tensor.Int64}, {tensor.BFloat16, tensor.Float8E4M3FN},
	} {
		for _, shape := range []tensor.Shape{{}, {0}, {5000}, {70, 33}, {3, 5, 7, 11}} {
			req := noiseRequest(t, shape, pair[0], pair[1])
			count := int(shape.Elements())
			ref, npu := benchPair(pair[0], pair[1], count)
			if count > 100 && pair[1] == tensor.Float16 {
				copy(ref.data[4*7:], []byte{0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x7f, 0, 0x40, 0x1c, 0xc6})
				copy(npu.data[2*50:], []byte{0, 0x7c, 0, 0x7e})
			}
			for i := 1030; i < count; i += 97 { // zeros, and copies of the first element
				element := npu.data[i*npu.size:][:npu.size]
				if copy(element, npu.data); i%2 == 0 {
					clear(element)
				}
			}
			got, err := Compare(t.Context(), req, ref, npu)
			if err != nil {
				t.Fatal(err)
			}
			n, r := values(t, pair[1], npu.data), values(t, pair[0], ref.data)
			c := noise.NewCollector(req.Noise)
			c.Add(0, n, r)
			if want := c.Finish(got.AbsHistogram.lowerEdges()); !reflect.DeepEqual(got.Noise, want) {
				t.Errorf("%v of %v: %+v, want %+v", pair, shape, got.Noise, want)
			}
		}
	}
}

// values decodes elements.
func values(t *testing.T, d tensor.DType, data []byte) []float64 {
	t.Helper()
	number, err := newNumber(d)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, len(data)/number.size)
	if len(dst) > 0 {
		number.values(dst, data, nil)
	}
	return dst
}

// TestNoiseSegments computes segments in any order and concurrently.
func TestNoiseSegments(t *testing.T) {
	shape := tensor.Shape{2, 50, 30, 41}
	req := noiseRequest(t, shape, tensor.Float32, tensor.Float16)
	ref, npu := benchPair(tensor.Float32, tensor.Float16, int(shape.Elements()))
	e, err := New(req)
	if err != nil {
		t.Fatal(err)
	}
	e.segmentElements = 20 * blockElements
	want, err := e.Compare(t.Context(), ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // in reused memory
		parts := make([]*Partial, e.Segments())
		var group sync.WaitGroup
		for segment := range parts {
			group.Go(func() { parts[segment], _ = e.Run(t.Context(), int64(segment), ref, npu) })
		}
		group.Wait()
		m := e.NewMerger()
		for _, p := range parts {
			if err := m.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.Finish(); !reflect.DeepEqual(got.Noise, want.Noise) {
			t.Fatalf("found %+v, want %+v", got.Noise, want.Noise)
		}
	}
}

func TestNoiseErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*Request)
		want   string
	}{
		{func(r *Request) { r.Noise.Shape = tensor.Shape{6} }, "noise of the shape (6,), want (2, 3)"},
		{func(r *Request) { r.RefDType = tensor.Complex64 }, "the noise of complex elements cannot be measured"},
		{func(r *Request) { r.Noise.Groups = 0 }, "0 groups"},
		{func(r *Request) { r.Noise.Mask = math.NaN() }, "masks up to NaN"},
	} {
		req := noiseRequest(t, tensor.Shape{2, 3}, tensor.Float32, tensor.Float16)
		c.change(&req)
		if _, err := New(req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestNoiseIsFinite has float64 values of all magnitudes up to 2^400: the numbers of the
// resulting noise, if any, are finite.
func TestNoiseIsFinite(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	req := noiseRequest(t, tensor.Shape{300, 100}, tensor.Float64, tensor.Float64)
	for _, octaves := range []int{100, 300, 500, 780} {
		n, r := make([]float64, 30000), make([]float64, 30000)
		for i := range r {
			r[i] = math.Ldexp(random.NormFloat64(), random.IntN(octaves)-octaves/2)
			n[i] = r[i] * (1 + 1e-3*random.NormFloat64()*float64(random.IntN(2)))
		}
		res, err := Compare(t.Context(), req, store(tensor.Float64, r...), store(tensor.Float64, n...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(res.Noise); err != nil {
			t.Errorf("%d octaves: %v", octaves, err)
		}
		if octaves <= 100 && res.Noise == nil {
			t.Errorf("%d octaves have no noise", octaves)
		}
	}
}
