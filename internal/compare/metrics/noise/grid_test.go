package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// valuesOf returns all finite numbers of a 16-bit type.
func valuesOf(host tensor.Host) []float64 {
	codes := make([]byte, 0, 2<<16)
	for code := range 1 << 16 {
		codes = append(codes, byte(code), byte(code>>8))
	}
	values := make([]float64, 1<<16)
	tensor.Float64s(values, codes, host)
	finite := values[:0]
	for _, x := range values {
		if x-x == 0 {
			finite = append(finite, x)
		}
	}
	return finite
}

// bfloat16s returns all finite numbers of bfloat16: float32 whose lower 16 bits are 0.
func bfloat16s() []float64 {
	var finite []float64
	for code := range uint32(1 << 16) {
		if x := float64(math.Float32frombits(code << 16)); x-x == 0 {
			finite = append(finite, x)
		}
	}
	return finite
}

// rounded returns a number rounded to the given bits of the fraction.
func rounded(x float64, bits int) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, bits+1)), exponent-bits-1)
}

// float32s generates float32 numbers of several kinds.
var float32s = map[string]func(random *rand.Rand) float64{
	"any":               func(random *rand.Rand) float64 { return float64(math.Float32frombits(random.Uint32())) },
	"float32":           func(random *rand.Rand) float64 { return float64(float32(random.NormFloat64())) },
	"float16":           func(random *rand.Rand) float64 { return rounded(random.NormFloat64(), 10) },
	"bfloat16":          func(random *rand.Rand) float64 { return rounded(random.NormFloat64(), 7) },
	"few float16":       func(random *rand.Rand) float64 { return float64(random.IntN(40)) / 512 },
	"large bfloat16":    func(random *rand.Rand) float64 { return rounded(1e5*random.NormFloat64(), 7) },
	"subnormal float16": func(random *rand.Rand) float64 { return float64(random.IntN(2048)-1024) * 0x1p-24 },
	"subnormal":         func(random *rand.Rand) float64 { return math.Ldexp(random.NormFloat64(), -14-random.IntN(12)) },
	"limits": func(random *rand.Rand) float64 {
		all := []float64{0, math.Copysign(0, -1), 65504, -65504, 65536, -65536, 65505, 0x1p-14, -0x1p-14, 0x1p-14 - 0x1p-38, 0x1p-24, inf, -inf, nan, math.MaxFloat32, 0x1p-149}
		return all[random.IntN(len(all))]
	},
}

// TestNumberGrid compares the counts with the counts of a slow loop, in one run and in segments.
func TestNumberGrid(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	for ours, npu := range float32s {
		for theirs, ref := range float32s {
			for _, damaged := range []int{0, 150, 20} { // one damaged element in this many
				for _, high := range []float64{math.MaxFloat32, 65504} {
					n, r := make([]float64, 900), make([]float64, 900)
					for i := range n {
						n[i], r[i] = npu(random), ref(random)
						if damaged > 0 && random.IntN(damaged) == 0 {
							n[i] = float32s["any"](random)
						}
						if random.IntN(9) == 0 {
							n[i] = float32s["limits"](random)
						}
					}
					req := &Request{Shape: tensor.Shape{9, 100}, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: MaxGroups}
					req.Type.Max = high
					want := slowly(req, n, r).Grid
					want.RowsOffFloat16, want.RowsOffBFloat16, want.OtherRowsRMSFloat16, want.OtherRowsRMSBFloat16 = 0, 0, 0, 0
					for _, each := range []int{1 << 30, 512, 333} {
						if diff := cmp.Diff(want, collectGrid(req, n, r, each)); diff != "" {
							t.Fatalf("%s beside %s up to %g, one of %d damaged, in segments of %d (-want +got):\n%s", ours, theirs, high, damaged, each, diff)
						}
					}
				}
			}
		}
	}
	half := &Request{Shape: tensor.Shape{1}, Type: typeOf(t, tensor.Float16), Mask: -inf, Groups: 1}
	if got := collect(half, []float64{1}, []float64{1}, 1, 1); got.Grid != nil {
		t.Errorf("an array of float16 has the grid %v", got.Grid)
	}
}

// collectGrid returns the grid that a collector finds, without its counts of rows; also if sums leave the range of
// float64.
func collectGrid(req *Request, n, r []float64, each int) *NumberGrid {
	total := NewCollector(req)
	for first := 0; first < len(n); first += each {
		c := NewCollector(req)
		end := min(first+each, len(n))
		c.Add(int64(first), n[first:end], r[first:end])
		total.Merge(c)
	}
	grid := total.grid
	grid.Distinct = total.distinct.count
	grid.LoneBFloat16, grid.LoneFloat16 = total.countLone(1), total.countLone(2)
	return &grid
}

// TestGridOfTypes: all numbers of a type fit the type, and no number between two of them does.
func TestGridOfTypes(t *testing.T) {
	for d, values := range map[tensor.DType][]float64{tensor.Float16: valuesOf(tensor.HostFloat16), tensor.BFloat16: bfloat16s()} {
		of := func(n []float64) *NumberGrid {
			req := &Request{Shape: tensor.Shape{int64(len(n))}, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: 1}
			return collectGrid(req, n, n, 1<<30)
		}
		if off := of(values).countOffGrid(d); off != 0 {
			t.Errorf("%d numbers of %s are off its grid", off, d)
		}
		var between []float64
		for _, x := range values {
			if math.Abs(x) > 0x1p-14 {
				between = append(between, float64(math.Nextafter32(float32(x), 0)), float64(math.Nextafter32(float32(x), x32(x))))
			}
		}
		if off := of(between).countOffGrid(d); off != int64(len(between)) {
			t.Errorf("%d of %d numbers between those of %s are off its grid", off, len(between), d)
		}
	}
}

// x32 is the infinity with the sign of x.
func x32(x float64) float32 { return float32(math.Inf(int(math.Copysign(1, x)))) }

// TestHeld: a float32 array holds the coarsest type that less than 1 % of the elements do not fit; few different
// values may have any type that fits them all.
func TestHeld(t *testing.T) {
	grid := func(distinct int, half, bfloat int64) *Noise {
		return &Noise{Elements: 1000, Grid: &NumberGrid{Distinct: distinct, OffFloat16: half, OffBFloat16: bfloat}}
	}
	none, half, bfloat := tensor.Undefined, tensor.Float16, tensor.BFloat16
	for _, tt := range []struct {
		noise     *Noise
		held      tensor.DType
		mayHalf   bool
		mayBFloat bool
	}{
		{&Noise{Elements: 1000}, none, false, false},
		{grid(64, 0, 0), bfloat, false, false},
		{grid(64, 0, 9), bfloat, false, false},
		{grid(64, 0, 10), half, false, false},
		{grid(64, 9, 10), half, false, false},
		{grid(64, 10, 10), none, false, false},
		{grid(64, 10, 9), bfloat, false, false},
		{grid(63, 0, 0), none, true, true},
		{grid(63, 1, 0), none, false, true},
		{grid(63, 0, 1), none, true, false},
		{grid(1, 9, 9), none, false, false},
	} {
		held, ok := tt.noise.HeldType()
		if held != tt.held || ok != (tt.held != none) {
			t.Errorf("%+v holds %s, %t; want %s", tt.noise.Grid, held, ok, tt.held)
		}
		if h, b := tt.noise.MayHold(half), tt.noise.MayHold(bfloat); h != tt.mayHalf || b != tt.mayBFloat {
			t.Errorf("%+v may hold float16: %t, bfloat16: %t; want %t and %t", tt.noise.Grid, h, b, tt.mayHalf, tt.mayBFloat)
		}
	}
}

// TestAs: the noise of a float32 array as another type equals the noise of the same elements in an array of that
// type.
func TestAs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 2))
	for _, d := range Coarser {
		format, _ := tensor.FloatOf(d)
		for name, value := range map[string]func() float64{
			"normal":     random.NormFloat64,
			"large":      func() float64 { return 4e4 * random.NormFloat64() },
			"octaves":    func() float64 { return math.Ldexp(random.NormFloat64(), random.IntN(24)-20) },
			"few values": func() float64 { return float64(random.IntN(30) - 15) },
		} {
			for _, shape := range []tensor.Shape{{40, 70}, {2, 30, 5, 7}, {500, 3}} {
				n, r := make([]float64, shape.Elements()), make([]float64, shape.Elements())
				direct := &Request{Shape: shape, Type: typeOf(t, d), Mask: -inf, Groups: MaxGroups}
				for i := range n {
					r[i] = float64(float32(value() * (1 + 1e-4*random.NormFloat64())))
					n[i] = format.Round(max(min(r[i], direct.Type.Max), -direct.Type.Max))
				}
				for i := range 3 { // some elements are wrong
					n[17*i] = format.Round(r[17*i]*1.5 + 1)
				}
				stored := *direct
				stored.Type = typeOf(t, tensor.Float32)
				stored.Type.Max = direct.Type.Max
				want, whole := collect(direct, n, r, 1<<30, 1024), collect(&stored, n, r, 1<<30, 1024)
				before := slices.Clone(whole.Rows.Rounding)
				got := whole.WithType(d)
				if got.Type != want.Type {
					t.Fatalf("%s of %s is of %s", name, d, got.Type.Name)
				}
				near := func(what string, got, want float64) {
					if !(math.Abs(got-want) <= 0.004*want) {
						t.Errorf("%s of %s in %s: %s is %g, want %g", name, d, shape, what, got, want)
					}
				}
				near("the rounding", got.Rounding, want.Rounding)
				for _, of := range []struct{ got, want *Groups }{{&got.Rows, &want.Rows}, {&got.Channels, &want.Channels}} {
					for i, x := range of.want.Rounding {
						if name != "octaves" { // a group of small elements may be below the normal numbers of the type
							near("that of a group", float64(of.got.Rounding[i]), float64(x))
						}
					}
					of.got.Rounding = of.want.Rounding
				}
				if !slices.Equal(before, whole.Rows.Rounding) {
					t.Errorf("%s of %s: the noise of float32 has changed", name, d)
				}
				got.Rounding, got.Grid = want.Rounding, nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s of %s in %s (-want +got):\n%s", name, d, shape, diff)
				}
			}
		}
	}
}

// TestAsTiny: whatever the elements are, the rounding is the rounding of the type up to a factor of sqrt(2), also
// below the normal numbers of the type, which are equally spaced.
func TestAsTiny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{tensor.Float16, tensor.BFloat16}).Draw(t, "type")
		scale := math.Ldexp(1, rapid.IntRange(-40, 10).Draw(t, "scale"))
		r := rapid.SliceOfN(rapid.Map(rapid.Float32Range(-1, 1), func(x float32) float64 { return float64(float32(float64(x) * scale)) }), 1, 200).Draw(t, "reference")
		of := func(d tensor.DType) *Noise {
			typ, _ := TypeOf(d)
			return collect(&Request{Shape: tensor.Shape{int64(len(r))}, Type: typ, Mask: -inf, Groups: 1}, r, r, 1<<30, 1024)
		}
		got, want := of(tensor.Float32).WithType(d), of(d)
		if ratio := got.Rounding / want.Rounding; !(ratio > 0.999 && ratio < 1.415) {
			t.Fatalf("the rounding is %g, %g times that of %s", got.Rounding, ratio, d)
		}
		if got.Subnormal != want.Subnormal {
			t.Fatalf("%g of the elements are below the normal numbers, want %g", got.Subnormal, want.Subnormal)
		}
	})
	n := &Noise{Bits: 3}
	if got := n.WithType(tensor.Complex64); got != n {
		t.Errorf("noise of a type that has none: %v", got)
	}
}
