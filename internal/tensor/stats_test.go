package tensor

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// partBytes is the size in bytes of an element, or of a part of a complex one.
func partBytes(d DType) int {
	_, parts := d.Host().splitParts()
	return d.UnitSize() / parts
}

func appendElement(dst []byte, code uint64, size int) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], code)
	return append(dst, word[:size]...)
}

// statsOf returns the statistics of elements that come in blocks.
func statsOf(t testing.TB, d DType, blocks ...[]byte) Stats {
	t.Helper()
	a, err := NewAccumulator(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		a.Add(block)
	}
	return a.Stats()
}

// slowStats is Stats by definition, one element after the other, the mean by
// exact arithmetic.
func slowStats(t testing.TB, d DType, block []byte) (s Stats) {
	t.Helper()
	dec, err := NewDecoder(d)
	if err != nil {
		t.Fatal(err)
	}
	sum, unit, part := exactFloat(), dec.UnitSize(), partBytes(d)
	all, limits := slowValues(dec, block), specialCodes[d].limits
	for i := 0; i*unit < len(block); i++ {
		s.Count++
		values := all[i*unit/part : (i+1)*unit/part]
		var limit, trace bool
		for k, value := range values {
			limit = limit || slices.Contains(limits, slowCode(d, block[i*unit+k*part:][:part]))
			x := math.Abs(value)
			trace = trace || (d == Float32 || d == Complex64) && (x == 65504 || x == 65536 || x == 98304)
		}
		count, first := &s.NaN, &s.FirstNonFinite
		switch {
		case slices.ContainsFunc(values, math.IsNaN):
		case slices.Contains(values, math.Inf(1)):
			count = &s.PosInf
		case slices.Contains(values, math.Inf(-1)):
			count = &s.NegInf
		default:
			if len(values) == 1 {
				sum.Add(sum, slowExact(d, block[i*unit:(i+1)*unit], values[0]))
				s.Min, s.Max = slowBounds(s.Min, s.Max, values[0])
			}
			switch {
			case limit:
				count, first = &s.Saturated, &s.FirstAtLimit
			case trace:
				count, first = &s.HalfTraces, &s.FirstAtLimit
			default:
				continue
			}
		}
		if *count++; *first == nil {
			*first = &Element{Index: int64(i), Value: values[0]}
		}
	}
	if s.Min != nil {
		mean, _ := sum.Quo(sum, exactFloat().SetInt64(s.Count-s.NonFinite())).Float64()
		s.Mean = &mean
	}
	return s
}

func slowBounds(low, high *float64, x float64) (*float64, *float64) {
	if x == 0 {
		x = 0 // not -0
	}
	if low == nil {
		return &x, &x
	}
	l, h := math.Min(*low, x), math.Max(*high, x)
	return &l, &h
}

// slowCode returns the code of an element or part without the bits that its type
// does not have.
func slowCode(d DType, part []byte) uint64 {
	var word [8]byte
	copy(word[:], part)
	code := binary.LittleEndian.Uint64(word[:])
	switch {
	case d == Float6E2M3 || d == Float6E3M2:
		code &= 0x3f
	case d.Bits() < 8:
		code &= 1<<d.Bits() - 1
	}
	return code
}

// slowValues decodes elements, complex ones to two parts each.
func slowValues(dec Decoder, block []byte) []float64 {
	part, parts := dec.Host().splitParts()
	count := len(block) / dec.UnitSize()
	decoded, values := make([]byte, count*dec.Host().Size()), make([]float64, count*parts)
	dec.Decode(decoded, block)
	Float64s(values, decoded, part)
	return values
}

// slowExact returns the exact value of an element whose nearest float64 is x.
func slowExact(d DType, element []byte, x float64) *big.Float {
	switch d {
	case Int64, Resource:
		return exactFloat().SetInt64(int64(binary.LittleEndian.Uint64(element)))
	case Uint64:
		return exactFloat().SetUint64(binary.LittleEndian.Uint64(element))
	}
	return exactFloat().SetFloat64(x)
}

// exactFloat returns a number that holds every sum of float64.
func exactFloat() *big.Float { return new(big.Float).SetPrec(2200) }

// checkStats compares everything exactly except the mean, which may be off by the roundings of one
// division and of a sum in twice the precision. TestStatsComplex checks which part of a complex
// element is shown.
func checkStats(t interface{ Fatalf(string, ...any) }, d DType, want, got Stats) {
	if want.Mean != nil && got.Mean != nil {
		magnitude := max(math.Abs(*want.Min), math.Abs(*want.Max))
		tolerance := max(math.Abs(*want.Mean)*0x1p-51, magnitude*0x1p-90)
		if !(math.Abs(*want.Mean-*got.Mean) <= tolerance) || *got.Mean < *got.Min || *got.Mean > *got.Max {
			t.Fatalf("%s: mean %v, want %v", d, *got.Mean, *want.Mean)
		}
		got.Mean = want.Mean
	}
	if d.Host().Complex() {
		for _, first := range []**Element{&got.FirstNonFinite, &got.FirstAtLimit, &want.FirstNonFinite, &want.FirstAtLimit} {
			if *first != nil {
				*first = &Element{Index: (*first).Index}
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameFloat)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", d, diff)
	}
}

// TestStatsClasses has tensors of one element: every code of the table, and either part of complex
// types.
func TestStatsClasses(t *testing.T) {
	for d := range DType(len(dtypes)) {
		row, listed := specialCodes[d]
		if _, err := NewAccumulator(d); listed != (err == nil) {
			t.Errorf("%s: listed is %t, NewAccumulator returns %v", d, listed, err)
		}
		for _, kind := range []struct {
			codes []uint64
			want  Stats
		}{
			{row.nan, Stats{Count: 1, NaN: 1}},
			{row.posInf, Stats{Count: 1, PosInf: 1}},
			{row.negInf, Stats{Count: 1, NegInf: 1}},
			{row.limits, Stats{Count: 1, Saturated: 1}},
			{row.halfTraces, Stats{Count: 1, HalfTraces: 1}},
			{row.ordinary, Stats{Count: 1}},
		} {
			for _, code := range kind.codes {
				element := appendElement(nil, code, partBytes(d))
				blocks := [][]byte{element}
				if zero := make([]byte, partBytes(d)); d.Host().Complex() {
					blocks = [][]byte{append(element, zero...), append(zero, element...)}
				}
				for _, block := range blocks {
					got := statsOf(t, d, block)
					if diff := cmp.Diff(kind.want, got, cmpopts.IgnoreFields(Stats{}, "Min", "Max", "Mean", "FirstNonFinite", "FirstAtLimit")); diff != "" {
						t.Errorf("%s %x (-want +got):\n%s", d, block, diff)
					}
				}
			}
		}
	}
}

func TestStatsUnsupported(t *testing.T) {
	for _, d := range []DType{String, Variant, 99, -1} {
		a, err := NewAccumulator(d)
		var unsupported *UnsupportedType
		if !errors.As(err, &unsupported) || unsupported.DType != d || a != nil {
			t.Errorf("%s: %v, error %v", d, a, err)
		}
	}
}

// elementCodes draws codes of elements or parts: special codes, any codes, and close codes.
func elementCodes(d DType) *rapid.Generator[uint64] {
	row := specialCodes[d]
	kinds := []*rapid.Generator[uint64]{rapid.Uint64(), rapid.Uint64Range(0x3c00, 0x3c40), rapid.Uint64Range(0xbc00, 0xbc40)}
	for _, codes := range [][]uint64{row.nan, row.posInf, row.negInf, row.limits, row.halfTraces, row.ordinary} {
		if len(codes) > 0 {
			kinds = append(kinds, rapid.SampledFrom(codes))
		}
	}
	return rapid.OneOf(kinds...)
}

// TestStats compares with the slow statistics, of elements cut into any blocks.
func TestStats(t *testing.T) {
	for d := range specialCodes {
		t.Run(d.String(), func(t *testing.T) {
			codes := rapid.OneOf(rapid.SliceOf(elementCodes(d)), rapid.SliceOf(rapid.SampledFrom(specialCodes[d].ordinary)))
			rapid.Check(t, func(rt *rapid.T) {
				var block []byte
				for _, code := range codes.Draw(rt, "codes") {
					block = appendElement(block, code, partBytes(d))
				}
				unit := d.UnitSize()
				block = block[:len(block)/unit*unit]
				want := slowStats(t, d, block)
				checkStats(rt, d, want, statsOf(t, d, block))
				cut := unit * rapid.IntRange(0, len(block)/unit).Draw(rt, "cut")
				checkStats(rt, d, want, statsOf(t, d, block[:cut], nil, block[cut:]))
			})
		})
	}
}

// TestStatsLong has tensors that are longer than any chunk, and long enough for
// tables of codes, with few and with many special elements, in blocks of many
// sizes.
func TestStatsLong(t *testing.T) {
	for d := range specialCodes {
		t.Run(d.String(), func(t *testing.T) {
			for _, every := range []int{3, 4999} {
				for _, negative := range []uint64{0, 1} {
					block := longBlock(d, every, negative)
					want := slowStats(t, d, block)
					whole := statsOf(t, d, block)
					checkStats(t, d, want, whole)
					if diff := cmp.Diff(whole, statsOf(t, d, block), cmp.Comparer(sameFloat)); diff != "" {
						t.Fatalf("the same again (-first +second):\n%s", diff)
					}
					for _, cut := range []int{7, 2001, 17000} {
						checkStats(t, d, want, statsOf(t, d, slices.Collect(slices.Chunk(block, cut*d.UnitSize()))...))
					}
				}
			}
		})
	}
}

// longBlock returns small numbers with a special one at regular distances. With negative = 1 half
// of the numbers are negative, with 0 none.
func longBlock(d DType, every int, negative uint64) (block []byte) {
	row, size := specialCodes[d], partBytes(d)
	special := slices.Concat(row.nan, row.posInf, row.negInf, row.limits, row.halfTraces)
	random := rand.New(rand.NewPCG(uint64(d), uint64(every)))
	count := 2 * 4500
	if d.Bits() <= 16 {
		count = 20000 // the codes are counted
	}
	for i := range count {
		code := random.Uint64() >> 3 & (1<<(8*size-3) - 1) // no large exponents, no limits
		code |= random.Uint64() & negative << (8*size - 1)
		if i%every == every-1 && len(special) > 0 {
			code = special[random.IntN(len(special))]
		}
		block = appendElement(block, code, size)
	}
	return block
}

// TestStatsFolds fills the tables of codes more often than they can count.
func TestStatsFolds(t *testing.T) {
	for _, d := range []DType{Float16, BFloat16, Int8, Float8E5M2, HiFloat8} {
		block := longBlock(d, 100, 1)
		a, err := NewAccumulator(d)
		if err != nil {
			t.Fatal(err)
		}
		a.Add(block)
		a.codes.counted = math.MaxUint32 - 100
		a.Add(block)
		checkStats(t, d, slowStats(t, d, slices.Concat(block, block)), a.Stats())
	}
}

// TestStatsFloat32Bounds hides the next smaller and the next larger number in
// many equal ones, of either sign.
func TestStatsFloat32Bounds(t *testing.T) {
	const n = 5003
	for _, x := range []float32{1, -1} {
		for _, toward := range []float32{-2, 2} {
			for _, at := range []int{0, 1, 2, 3, n - 1} {
				values := slices.Repeat([]float32{x}, n)
				next := math.Nextafter32(x, toward)
				values[at] = next
				got := statsOf(t, Float32, hostBytes(t, values))
				if *got.Min != float64(min(x, next)) || *got.Max != float64(max(x, next)) {
					t.Errorf("%v and %v: minimum %v, maximum %v", x, next, *got.Min, *got.Max)
				}
			}
		}
	}
}

// TestStatsMean has means that plain sums in float64 miss.
func TestStatsMean(t *testing.T) {
	const largest, smallest = math.MaxFloat64, math.SmallestNonzeroFloat64
	third := 0x1.d2b8981093982p+0 // three times that, divided by three, is another number
	for name, test := range map[string]struct {
		d      DType
		values any
		want   float64
	}{
		"cancelling float32":    {Float32, []float32{0x1p100, 1, -0x1p100, 0x1p-149}, 0.25},
		"just above half":       {Float32, []float32{0x1p100, 0x1p47, 0x1p-100, 0}, 0x1p98 + 0x1p45},
		"smallest float32":      {Float32, []float32{0x1p-149, 0, 0, 0}, 0x1p-151},
		"opposite":              {Float32, []float32{0x1p127, -0x1p127}, 0},
		"thirds":                {Float32, []float32{1, 0, 0}, 1. / 3},
		"large integers":        {Int64, []int64{1 << 62, 1 << 62, -1 << 63, 3}, 0.75},
		"lowest integers":       {Int64, []int64{math.MinInt64, math.MinInt64}, math.MinInt64},
		"odd integers":          {Int64, []int64{1<<60 + 1, -1 << 60, 0, 1}, 0.5},
		"unsigned integers":     {Uint64, []uint64{math.MaxUint64, 1}, 1 << 63},
		"equal":                 {Float64, []float64{third, third, third}, third},
		"cancelling float64":    {Float64, []float64{1e16, 1, -1e16, 7}, 2},
		"far apart":             {Float64, []float64{1e300, 1, -1e300, 2}, 0.75},
		"largest":               {Float64, []float64{largest, largest, largest}, largest},
		"largest of both signs": {Float64, []float64{largest, -largest, largest, 4, -largest}, 0.8},
		"lowest":                {Float64, []float64{-largest, -largest, -largest / 2, -largest / 2}, -largest * 0.75},
		"huge and not":          {Float64, []float64{0x1p900, 0x1p899, -0x1p900, 1}, 0x1p897},
		"smallest":              {Float64, []float64{smallest, smallest, smallest}, smallest},
		"subnormal":             {Float64, []float64{0x1p-1060, -0x1p-1070, 0x1p-1073, 0x1p-1073}, 0x1p-1062 - 0x1p-1072 + 0x1p-1074},
	} {
		if got := statsOf(t, test.d, hostBytes(t, test.values)); *got.Mean != test.want {
			t.Errorf("%s: mean %v, want %v", name, *got.Mean, test.want)
		}
	}
}

// TestStatsComplex checks the class of complex elements whose parts have two special classes, and
// which part is shown.
func TestStatsComplex(t *testing.T) {
	inf, nan, largest := float32(math.Inf(1)), float32(math.NaN()), float32(math.MaxFloat32)
	block := hostBytes(t, []complex64{
		complex(1, 2), complex(inf, nan), complex(nan, nan), complex(-inf, inf), complex(largest, -inf),
		complex(65536, -largest), complex(largest, largest), complex(3, -98304), complex(65504, 65536),
	})
	want := Stats{
		Count: 9, NaN: 2, PosInf: 1, NegInf: 1, Saturated: 2, HalfTraces: 2,
		FirstNonFinite: &Element{Index: 1, Value: math.NaN()}, FirstAtLimit: &Element{Index: 5, Value: -math.MaxFloat32},
	}
	if diff := cmp.Diff(want, statsOf(t, Complex64, block), cmp.Comparer(sameFloat)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	traces := statsOf(t, Complex64, block[7*8:])
	if *traces.FirstAtLimit != (Element{Index: 0, Value: -98304}) {
		t.Errorf("first trace is %v", *traces.FirstAtLimit)
	}
}

// TestExtremes compares the extremes of all elements with slices.Max and slices.Min, which
// return NaN where an element is NaN, as numpy does.
func TestExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -2})
		elements := rapid.SliceOfN(one, 1, 4).Draw(t, "elements")
		a, err := NewAccumulator(Float32)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range elements {
			a.Add(appendElement(nil, uint64(math.Float32bits(x)), 4))
		}
		s := a.Stats()
		if got, want := *s.Highest(), float64(slices.Max(elements)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("highest is %v, want %v", got, want)
		}
		if got, want := *s.Lowest(), float64(slices.Min(elements)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("lowest is %v, want %v", got, want)
		}
	})
	if s := new(Stats); s.Highest() != nil || s.Lowest() != nil {
		t.Errorf("no elements: highest %v, lowest %v", s.Highest(), s.Lowest())
	}
	one := statsOf(t, Complex64, make([]byte, 8), []byte{0, 0, 0x80, 0x7f, 0, 0, 0, 0}) // 0 and +Inf
	if *one.Highest() != math.Inf(1) || one.Lowest() != nil {
		t.Errorf("complex: highest %v, lowest %v, want +Inf and nil", one.Highest(), one.Lowest())
	}
}

func TestStatsWholeElements(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a block that ends within an element is accepted")
		}
	}()
	statsOf(t, Float32, make([]byte, 6))
}
