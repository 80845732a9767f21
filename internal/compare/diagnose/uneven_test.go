package diagnose

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// region is a part of a tensor: a range of one axis, and a range of another.
type region struct {
	axis     int
	from, to int64
}

// spoiled returns errors in a region.
func spoiled(rng *rand.Rand, shape tensor.Shape, values []float64, regions ...region) {
	for i := range values {
		at, in := shape.Coordinates(int64(i)), true
		for _, r := range regions {
			in = in && at[r.axis] >= r.from && at[r.axis] < r.to
		}
		if in {
			values[i] += (2 + math.Abs(values[i])) * rng.NormFloat64()
		}
	}
}

// TestUneven puts errors into parts of an axis, like a bad tile.
func TestUneven(t *testing.T) {
	tests := []struct {
		shape    tensor.Shape
		bad      []region
		from, to int64
		text     string
	}{
		{tensor.Shape{1, 16, 64, 32}, []region{{2, 32, 64}}, 32, 64, "multiples of 32"},
		{tensor.Shape{1, 16, 64, 32}, []region{{2, 0, 32}}, 0, 32, "multiples of 32"},
		{tensor.Shape{1, 16, 64, 32}, []region{{1, 15, 16}}, 15, 16, "axis 1"},
		{tensor.Shape{128, 100}, []region{{1, 96, 100}}, 96, 100, "multiples of 96 = 3 x 32 (tile size?)"},
		{tensor.Shape{200, 300}, []region{{0, 48, 64}}, 48, 64, "multiples of 16"},
		{tensor.Shape{6000, 8}, []region{{0, 4500, 6000}}, 4500, 6000, "axis 0"},
		{tensor.Shape{8, 128, 128}, []region{{1, 64, 128}, {2, 0, 64}}, 64, 128, "multiples of 64"},
		{tensor.Shape{32, 64}, []region{{0, 4, 8}, {1, 16, 32}}, 4, 8, "multiples of 4"},
	}
	k := kind{tensor.Float16, tensor.Float32}
	for _, test := range tests {
		engines := newComparer()
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, 5))
			ref := normal(rng, count(test.shape), 3, 0.5)
			npu := noisy(rng, ref)
			spoiled(rng, test.shape, npu, test.bad...)
			result := engines.compare(t, request(test.shape, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2})
			axes := findUnevenAxes(result)
			if len(axes) != len(test.bad) {
				t.Errorf("%v: %d uneven axes: %+v", test.bad, len(axes), axes)
				continue
			}
			if box := findMostUneven(result); len(box.Also) != len(test.bad)-1 {
				t.Errorf("%v: the box is %+v", test.bad, box)
			}
			u := axes[0]
			for _, a := range axes {
				if a.Axis == test.bad[0].axis {
					u = a
				}
			}
			if u.Axis != test.bad[0].axis || u.From != test.from || u.To != test.to {
				t.Errorf("%v: got axis %d [%d, %d)", test.bad, u.Axis, u.From, u.To)
			}
			if !strings.Contains(unevenText(&u).String(), test.text) {
				t.Errorf("%v: evidence %q lacks %q", test.bad, unevenText(&u).String(), test.text)
			}
		}
	}
}

// TestUnevenNaN: NaN has no magnitude; its number counts.
func TestUnevenNaN(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 5))
	shape := tensor.Shape{64, 32}
	ref := normal(rng, count(shape), 3, 0)
	npu := noisy(rng, ref)
	for i := len(npu) / 2; i < len(npu); i += 3 {
		npu[i] = math.NaN()
	}
	k := kind{tensor.Float16, tensor.Float32}
	result, _ := diagnosed(t, request(shape, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2})
	axes := findUnevenAxes(result)
	if len(axes) == 0 || axes[0].Axis != 0 || axes[0].From != 32 || axes[0].To != 64 {
		t.Errorf("got %+v, want axis 0 [32, 64)", axes)
	}
}

// TestEven measures the false alarms of the axis rule on tensors with only rounding errors:
// channels and rows of very different size, sparse ones, dead channels, with limits so tight
// that there are errors at all. With ten times as many seeds, 6 of 5971 tensors raise an alarm,
// all with half of eight channels dead.
func TestEven(t *testing.T) {
	k := kind{tensor.Float16, tensor.Float32}
	makers := []func(*rand.Rand, tensor.Shape) (ref, npu []float64){
		func(rng *rand.Rand, shape tensor.Shape) (ref, npu []float64) { // loud channels
			ref = normal(rng, count(shape), 1, 0)
			size := normal(rng, int(shape[1]), 2, 0)
			for i := range ref {
				ref[i] *= math.Exp(size[shape.Coordinates(int64(i))[1]])
			}
			return ref, noisy(rng, ref)
		},
		func(rng *rand.Rand, shape tensor.Shape) (ref, npu []float64) { // a ramp of sizes
			ref = normal(rng, count(shape), 1, 0)
			for i := range ref {
				at := shape.Coordinates(int64(i))
				ref[i] *= math.Exp(6 * float64(at[0]) / float64(shape[0]))
			}
			return ref, noisy(rng, ref)
		},
		func(rng *rand.Rand, shape tensor.Shape) (ref, npu []float64) { // sums that cancel
			ref = normal(rng, count(shape), 1, 0)
			npu = make([]float64, len(ref))
			for i := range npu {
				npu[i] = ref[i] + 0.01*rng.NormFloat64()
			}
			return ref, npu
		},
		func(rng *rand.Rand, shape tensor.Shape) (ref, npu []float64) { // dead channels after a ReLU
			ref = normal(rng, count(shape), 1, 0)
			npu = make([]float64, len(ref))
			dead := normal(rng, int(shape[1]), 1, 0)
			for i := range ref {
				bias := 2 * dead[shape.Coordinates(int64(i))[1]]
				npu[i] = math.Max(0, ref[i]+bias+0.01*rng.NormFloat64())
				ref[i] = math.Max(0, ref[i]+bias)
			}
			return ref, npu
		},
	}
	judged, alarms := 0, 0
	engines := newComparer()
	for m, maker := range makers {
		for seed := range uint64(150) {
			rng := rand.New(rand.NewPCG(seed, uint64(m)))
			shape := []tensor.Shape{{24, 40}, {4, 16, 32}, {2, 8, 7, 9}}[seed%3]
			ref, npu := maker(rng, shape)
			req := request(shape, k)
			req.Limits = metrics.Limits{Atol: 1e-5, Rtol: 1e-3}
			result := engines.compare(t, req, memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2})
			if result.StrictErrors() >= minAxisErrors {
				judged++
			}
			for _, u := range findUnevenAxes(result) {
				alarms++
				t.Logf("maker %d, seed %d: %s", m, seed, unevenText(&u).String())
			}
		}
	}
	if judged < 300 {
		t.Errorf("only %d tensors with enough errors", judged)
	}
	if alarms > 0 {
		t.Errorf("%d false alarms in %d tensors", alarms, judged)
	}
}

// maxBins is the maximum number of bins of an axis.
const maxBins = 1024

// TestChance compares the probability with closed forms, which are exact up to
// the step of the statistic: df 1 is erfc(sqrt(x/2)), df 2 is exp(-x/2).
func TestChance(t *testing.T) {
	near := func(got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 1e-10 {
			t.Errorf("got %.15g, want %.15g", got, want)
		}
	}
	for _, x := range []float64{0.0625, 0.5, 1, 3, 10, 24, 60} {
		near(chiSquareTail(x, 1), math.Erfc(math.Sqrt(x/2)))
		near(chiSquareTail(x+chiStep/2, 2), math.Exp(-x/2))
		near(chiSquareTail(x, 4), math.Exp(-x/2)*(1+x/2))
	}
}

// TestChanceOfEveryProcessor: around the limit the steps of the statistic are so
// far apart that the last digits of the probability do not matter.
func TestChanceOfEveryProcessor(t *testing.T) {
	for df := 1; df < maxBins; df++ {
		at := distuv.ChiSquared{K: float64(df)}.Quantile(1 - maxChance)
		for step := -2.0; step <= 2; step++ {
			if p := chiSquareTail(at+step*chiStep, df); math.Abs(p/maxChance-1) < 1e-9 {
				t.Errorf("df %d, statistic %g: p = %.12g is too close to the limit", df, at, p)
			}
		}
	}
}

// TestChiSquare compares the statistic with gonum's over both columns of the table, errors and good elements.
func TestChiSquare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := 2; n < 40; n++ {
		bins := make([]metrics.AxisBin, n)
		var errors, count float64
		for i := range bins {
			bins[i].Count = 500 + rng.Int64N(500)
			bins[i].Errors = 100 + rng.Int64N(300)
			errors, count = errors+float64(bins[i].Errors), count+float64(bins[i].Count)
		}
		var observed, expected []float64
		for _, b := range bins {
			share := float64(b.Count) / count
			observed = append(observed, float64(b.Errors), float64(b.Count-b.Errors))
			expected = append(expected, share*errors, share*(count-errors))
		}
		chi, df := chiSquare(bins)
		if want := stat.ChiSquare(observed, expected); math.Abs(chi/want-1) > 1e-12 || df != n-1 {
			t.Errorf("%d bins: statistic %.15g with %d degrees of freedom, want %.15g with %d", n, chi, df, want, n-1)
		}
	}
}

// TestChiSquareJoins: bins that expect fewer than 5 errors are joined; with errors everywhere or
// nowhere there is nothing to test.
func TestChiSquareJoins(t *testing.T) {
	even := func(n int, count, errors int64) []metrics.AxisBin {
		bins := make([]metrics.AxisBin, n)
		for i := range bins {
			bins[i] = metrics.AxisBin{Count: count, Errors: errors}
		}
		return bins
	}
	for _, test := range []struct {
		bins []metrics.AxisBin
		df   int
	}{
		{even(10, 100, 10), 9},
		{even(10, 100, 1), 1},  // two cells of 5
		{even(11, 100, 1), 1},  // the remainder joins its neighbour
		{even(4, 100, 1), 0},   // one cell
		{even(4, 100, 0), 0},   // no error
		{even(4, 100, 100), 0}, // nothing else
		{nil, 0},
	} {
		if chi, df := chiSquare(test.bins); chi > 1e-20 || df != test.df {
			t.Errorf("%d bins: statistic %g, df %d, want 0 and %d", len(test.bins), chi, df, test.df)
		}
	}
}
