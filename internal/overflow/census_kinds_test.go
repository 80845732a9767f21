package overflow

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// TestCensusFolds lets the small counters of codes fill up often.
func TestCensusFolds(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Int8, tensor.Float8E5M2, tensor.HiFloat8} {
		block := randomBlock(30000)
		want := censusOf(t, d, block)
		c, err := newCounter(d)
		if err != nil {
			t.Fatal(err)
		}
		switch k := c.part.(type) {
		case *halfCounter:
			k.limit = 1000
		case *codeCounter:
			k.limit = 1000
		}
		c.add(block[:20])
		c.add(block[20:])
		if diff := cmp.Diff(want, c.census(), cmp.Comparer(sameBits)); diff != "" {
			t.Errorf("%s (-one fold +many):\n%s", d, diff)
		}
	}
}

// TestCensusFloat32Sum has the largest fractions, more of them than the buckets
// can hold.
func TestCensusFloat32Sum(t *testing.T) {
	const blocks, elements = 49, 1 << 16
	block := slices.Repeat([]byte{0xff, 0xff, 0x7f, 0x7f}, elements)
	got := censusOf(t, tensor.Float32, slices.Repeat([][]byte{block}, blocks)...)
	const n = blocks * elements
	want := &Census{Count: n, Saturated: n, FirstSuspect: &Spot{Value: math.MaxFloat32}}
	want.setRange(math.MaxFloat32, math.MaxFloat32)
	want.Mean = want.Min
	if diff := cmp.Diff(*want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCensusFloat32Range hides the next smaller and the next larger number in
// many equal ones, of either sign.
func TestCensusFloat32Range(t *testing.T) {
	const n = 3 * chunk32 / 4
	for _, x := range []float32{1, -1} {
		for _, toward := range []float32{-2, 2} {
			var block []byte
			for range n {
				block = binary.LittleEndian.AppendUint32(block, math.Float32bits(x))
			}
			next := math.Nextafter32(x, toward)
			binary.LittleEndian.PutUint32(block[4*n-12:], math.Float32bits(next))
			got := censusOf(t, tensor.Float32, block)
			if *got.Min != float64(min(x, next)) || *got.Max != float64(max(x, next)) {
				t.Errorf("%v and %v: minimum %v, maximum %v", x, next, *got.Min, *got.Max)
			}
		}
	}
}

// TestQuietRange compares the test of two elements at once with that of their
// values.
func TestQuietRange(t *testing.T) {
	special := rapid.SampledFrom([]float32{
		0, float32(math.Copysign(0, -1)), 65504, -65504, 65503.996, -65503.996, 65536, 0x1p-149, -0x1p-149,
		math.MaxFloat32, -math.MaxFloat32, 1, -1,
	})
	number := rapid.OneOf(special, rapid.Float32Range(-2, 2), rapid.Float32())
	rapid.Check(t, func(t *rapid.T) {
		bounds := []float32{number.Draw(t, "bound"), number.Draw(t, "bound")}
		slices.Sort(bounds)
		// Of two zeros the negative one is first in the order of the codes.
		keys := []int32{sortable(int32(math.Float32bits(bounds[0]))), sortable(int32(math.Float32bits(bounds[1])))}
		slices.Sort(keys)
		q := quietBetween(keys[0], keys[1])
		want, chunk := true, []byte{}
		for range 2 {
			x := rapid.OneOf(number, rapid.SampledFrom(bounds)).Draw(t, "element")
			code := math.Float32bits(x)
			key := sortable(int32(code))
			want = want && keys[0] <= key && key <= keys[1] && math.Abs(float64(x)) < 65504
			chunk = binary.LittleEndian.AppendUint32(chunk, code)
		}
		if got := q.holds(chunk); got != want {
			t.Fatalf("%v: holds %x is %t, want %t", bounds, chunk, got, want)
		}
	})
	empty := newFloat32Counter().quiet
	if empty.holds(make([]byte, 8)) {
		t.Error("the empty range holds zeros")
	}
}

// TestCensusMean has means that sums in float64 miss.
func TestCensusMean(t *testing.T) {
	float32s := func(values ...float32) (block []byte) {
		for _, x := range values {
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(x))
		}
		return block
	}
	int64s := func(values ...int64) (block []byte) {
		for _, x := range values {
			block = binary.LittleEndian.AppendUint64(block, uint64(x))
		}
		return block
	}
	for _, test := range []struct {
		name  string
		d     tensor.DType
		block []byte
		want  float64
	}{
		{"cancelling", tensor.Float32, float32s(0x1p100, 1, -0x1p100, 0x1p-149), float64(0.25 + 0x1p-151)},
		{"just above half", tensor.Float32, float32s(0x1p100, 0x1p47, 0x1p-100, 0), 0x1p98 + 0x1p46},
		{"smallest", tensor.Float32, float32s(0x1p-149, 0, 0, 0), 0x1p-151},
		{"opposite", tensor.Float32, float32s(0x1p127, -0x1p127), 0},
		{"thirds", tensor.Float32, float32s(1, 0, 0), 1. / 3},
		{"large integers", tensor.Int64, int64s(1<<62, 1<<62, -1<<63, 3), 0.75},
		{"lowest integers", tensor.Int64, int64s(math.MinInt64, math.MinInt64), math.MinInt64},
		{"unsigned integers", tensor.Uint64, int64s(-1, 1), 1 << 63},
	} {
		if got := censusOf(t, test.d, test.block); *got.Mean != test.want {
			t.Errorf("%s: mean %v, want %v", test.name, *got.Mean, test.want)
		}
	}
}

// TestCensusComplex says which class elements belong to whose parts stand out in
// two ways, and which part is shown.
func TestCensusComplex(t *testing.T) {
	inf, nan, largest := float32(math.Inf(1)), float32(math.NaN()), float32(math.MaxFloat32)
	values := []complex64{
		complex(1, 2), complex(inf, nan), complex(nan, nan), complex(-inf, inf), complex(largest, -inf),
		complex(65536, -largest), complex(largest, largest), complex(3, -98304), complex(65504, 65536),
	}
	block, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		t.Fatal(err)
	}
	want := Census{
		Count: 9, NaN: 2, PosInf: 1, NegInf: 1, Saturated: 2, HalfTraces: 2,
		FirstHard: &Spot{Index: 1, Value: math.NaN()}, FirstSuspect: &Spot{Index: 5, Value: -math.MaxFloat32},
	}
	if diff := cmp.Diff(want, censusOf(t, tensor.Complex64, block), cmp.Comparer(sameBits)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	traces := censusOf(t, tensor.Complex64, block[7*8:])
	if spot := traces.First(); *spot != (Spot{Index: 0, Value: -98304}) {
		t.Errorf("first trace is %v", *spot)
	}
}

func TestCensusWholeElements(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a block that ends within an element is accepted")
		}
	}()
	censusOf(t, tensor.Float32, make([]byte, 6))
}
