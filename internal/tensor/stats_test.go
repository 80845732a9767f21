package tensor

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// slowSummary is Summary by definition, the mean by exact arithmetic.
func slowSummary(values []float64) Summary {
	sum := Summary{Count: int64(len(values))}
	exact, finite := new(big.Rat), int64(0)
	low, high := 0.0, 0.0
	for _, x := range values {
		switch {
		case math.IsNaN(x):
			sum.NaN++
			continue
		case math.IsInf(x, 1):
			sum.PosInf++
			continue
		case math.IsInf(x, -1):
			sum.NegInf++
			continue
		}
		if finite == 0 || x < low {
			low = x
		}
		if finite == 0 || x > high {
			high = x
		}
		finite++
		exact.Add(exact, new(big.Rat).SetFloat64(x))
	}
	if finite == 0 {
		return sum
	}
	mean, _ := exact.Quo(exact, new(big.Rat).SetInt64(finite)).Float64()
	sum.Min, sum.Max, sum.Mean = &low, &high, &mean
	return sum
}

// checkSummary compares everything exactly but the mean, which may be off by
// tolerance.
func checkSummary(t interface{ Fatalf(string, ...any) }, got, want Summary, tolerance float64) {
	if (got.Mean == nil) != (want.Mean == nil) {
		t.Fatalf("mean %v, want %v", got.Mean, want.Mean)
	}
	if got.Mean != nil {
		if !(math.Abs(*got.Mean-*want.Mean) <= tolerance) {
			t.Fatalf("mean %v, want %v within %v", *got.Mean, *want.Mean, tolerance)
		}
		if *got.Mean < *got.Min || *got.Mean > *got.Max {
			t.Fatalf("mean %v is not within %v and %v", *got.Mean, *got.Min, *got.Max)
		}
		got.Mean = want.Mean
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("summary differs (-want +got):\n%s", diff)
	}
}

func summarize(h Host, blocks ...[]byte) Summary {
	s := NewStats(h)
	for _, block := range blocks {
		s.Add(block)
	}
	return s.Summary()
}

func TestStats(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const largest, smallest = math.MaxFloat64, math.SmallestNonzeroFloat64
	for name, values := range map[string][]float64{
		"empty":        {},
		"one":          {0.1},
		"negative":     {-3, -1, -2},
		"not finite":   {nan, inf, -inf, nan, inf, nan},
		"some finite":  {nan, 5, inf, -7, -inf, 1.5},
		"zeros":        {0, 0, 0},
		"equal":        {0x1.d2b8981093982p+0, 0x1.d2b8981093982p+0, 0x1.d2b8981093982p+0}, // sum / 3 is not
		"cancelling":   {1e16, 1, -1e16, 1e-8},
		"far apart":    {1e300, 1, -1e300},
		"largest":      {largest, largest, largest},
		"both largest": {largest, -largest, largest, 3, -largest},
		"lowest":       {-largest, -largest, -largest / 2},
		"huge and not": {0x1p900, 0x1p899, -0x1p900, 1},
		"smallest":     {smallest, smallest, smallest},
		"subnormal":    {0x1p-1060, -0x1p-1070, 0x1p-1074},
	} {
		t.Run(name, func(t *testing.T) {
			want := slowSummary(values)
			tolerance := 0.0
			if want.Mean != nil {
				tolerance = 2 * (math.Nextafter(math.Abs(*want.Mean), inf) - math.Abs(*want.Mean))
				if math.IsInf(tolerance, 1) {
					tolerance = math.Abs(*want.Mean) * 0x1p-52
				}
			}
			checkSummary(t, summarize(HostFloat64, hostBytes(t, values)), want, tolerance)
		})
	}
}

// TestStatsHosts checks each real host type on random bit patterns.
func TestStatsHosts(t *testing.T) {
	for _, h := range Hosts() {
		if h.Complex() {
			continue
		}
		t.Run(h.String(), func(t *testing.T) {
			src := randomBytes(5000 * h.Size())
			values := make([]float64, 5000)
			Float64s(values, src, h)
			want := slowSummary(values)
			magnitude := max(math.Abs(*want.Min), math.Abs(*want.Max))
			checkSummary(t, summarize(h, src), want, max(math.Abs(*want.Mean)*0x1p-51, magnitude*0x1p-80))
		})
	}
}

// TestStatsInt64 keeps the promise about integers that float64 cannot hold.
func TestStatsInt64(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, 4000)
	exact, magnitude := new(big.Float).SetPrec(200), 0.0
	for i := range values {
		values[i] = int64(random.Uint64())
		exact.Add(exact, new(big.Float).SetInt64(values[i]))
		magnitude += math.Abs(float64(values[i])) / float64(len(values))
	}
	want, _ := exact.Quo(exact, big.NewFloat(float64(len(values)))).Float64()
	got := *summarize(HostInt64, hostBytes(t, values)).Mean
	if math.Abs(got-want) > magnitude*0x1p-53+math.Abs(want)*0x1p-52 {
		t.Errorf("mean %v, want %v", got, want)
	}
}

// TestStatsAccuracy has a mean that a plain float64 sum misses altogether: it
// would be 0.
func TestStatsAccuracy(t *testing.T) {
	values := make([]float64, 10000)
	for i := range values {
		values[i] = 0.1
	}
	values[0], values[len(values)-1] = 1e17, -1e17
	data, want := hostBytes(t, values), slowSummary(values)
	checkSummary(t, summarize(HostFloat64, data), want, 1e-12)

	left, right := NewStats(HostFloat64), NewStats(HostFloat64)
	left.Add(data[:len(data)/2])
	right.Add(data[len(data)/2:])
	left.Merge(right)
	checkSummary(t, left.Summary(), want, 1e-12)
}

// TestStatsCuts checks that cutting the same elements into other blocks
// changes nothing, and that merged parts agree with the whole.
func TestStatsCuts(t *testing.T) {
	special := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 1e300, 5e-324}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom(special))
		values := rapid.SliceOf(number).Draw(t, "values")
		var data []byte
		for _, x := range values {
			data = appendFloat64(data, x)
		}
		cut := 8 * rapid.IntRange(0, len(values)).Draw(t, "cut")
		whole := summarize(HostFloat64, data)
		if diff := cmp.Diff(whole, summarize(HostFloat64, data[:cut], nil, data[cut:])); diff != "" {
			t.Fatalf("cut at byte %d changes (-whole +cut):\n%s", cut, diff)
		}
		left, right := NewStats(HostFloat64), NewStats(HostFloat64)
		left.Add(data[:cut])
		right.Add(data[cut:])
		left.Merge(right)
		tolerance := 0.0
		if whole.Mean != nil {
			tolerance = max(math.Abs(*whole.Min), math.Abs(*whole.Max)) * 0x1p-52
		}
		checkSummary(t, left.Summary(), whole, tolerance)
	})
}

func appendFloat64(dst []byte, x float64) []byte {
	bits := math.Float64bits(x)
	for shift := 0; shift < 64; shift += 8 {
		dst = append(dst, byte(bits>>shift))
	}
	return dst
}

func TestStatsComplex(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	values := []complex128{
		complex(1, 2), complex(nan, 0), complex(0, nan), complex(nan, inf), complex(inf, nan),
		complex(inf, 0), complex(1, inf), complex(-inf, inf), complex(-inf, 0), complex(0, -inf),
	}
	want := Summary{Count: 10, NaN: 4, PosInf: 3, NegInf: 2}
	if diff := cmp.Diff(want, summarize(HostComplex128, hostBytes(t, values))); diff != "" {
		t.Errorf("complex128 (-want +got):\n%s", diff)
	}
	var narrow []complex64
	for range 100 {
		for _, z := range values {
			narrow = append(narrow, complex64(z))
		}
	}
	want = Summary{Count: 1000, NaN: 400, PosInf: 300, NegInf: 200}
	if diff := cmp.Diff(want, summarize(HostComplex64, hostBytes(t, narrow))); diff != "" {
		t.Errorf("complex64 (-want +got):\n%s", diff)
	}
}
