package noise

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// typeOf returns the noise type of a type that has one.
func typeOf(t *testing.T, d tensor.DType) Type {
	t.Helper()
	typ, ok := TypeOf(d)
	if !ok {
		t.Fatalf("no type of %s", d)
	}
	return typ
}

// sample returns a pair of one kind.
type sample func(random *rand.Rand, count int) (n, r []float64)

// samples has pairs of many kinds.
var samples = map[string]sample{
	"normal":   normal,
	"octaves":  noisy(func(random *rand.Rand, _ int) float64 { return math.Ldexp(random.NormFloat64(), random.IntN(60)-45) }),
	"positive": noisy(func(random *rand.Rand, _ int) float64 { return max(random.NormFloat64(), 0) }),
	"offset":   noisy(func(random *rand.Rand, _ int) float64 { return 100 + 1e-3*random.NormFloat64() }),
	"zeros":    noisy(func(*rand.Rand, int) float64 { return 0 }),
	"constant": func(_ *rand.Rand, count int) (n, r []float64) {
		return slices.Repeat([]float64{0.25}, count), slices.Repeat([]float64{0.3}, count)
	},
	"equal": func(random *rand.Rand, count int) (n, r []float64) {
		for range count {
			r = append(r, float64(float32(random.NormFloat64())))
		}
		return slices.Clone(r), r
	},
	"masks": spoiled(-20000, -65504, -1e9),
	"range": spoiled(65504, -65504, 65505, 70000, inf, -inf),
	"nan":   spoiled(nan, inf, -inf, 65504, -65504, 1e100, 0),
	"tiny":  spoiled(5e-324, -5e-324, 1e-310, 0x1p-1022, 1e-40, 0),
	"few": func(random *rand.Rand, count int) (n, r []float64) {
		for range count {
			r, n = append(r, random.NormFloat64()), append(n, float64(random.IntN(50))/16)
		}
		return n, r
	},
	"softmax": func(random *rand.Rand, count int) (n, r []float64) {
		for range count {
			r = append(r, random.Float64())
			n = append(n, r[len(r)-1]*(1+1e-3*random.NormFloat64()))
		}
		return n, r
	},
}

var normal = noisy(func(random *rand.Rand, _ int) float64 { return random.NormFloat64() })

// noisy returns a sample of a reference with small differences.
func noisy(value func(random *rand.Rand, i int) float64) sample {
	return func(random *rand.Rand, count int) (n, r []float64) {
		for i := range count {
			x := value(random, i)
			r = append(r, x)
			n = append(n, x+1e-3*(math.Abs(x)+0.1)*random.NormFloat64()*float64(random.IntN(2)))
		}
		return n, r
	}
}

// spoiled returns a sample with some values replaced on either side.
func spoiled(values ...float64) sample {
	return func(random *rand.Rand, count int) (n, r []float64) {
		n, r = normal(random, count)
		for i := range n {
			if random.IntN(3) == 0 {
				n[i] = values[random.IntN(len(values))]
			}
			if random.IntN(3) == 0 {
				r[i] = values[random.IntN(len(values))]
			}
		}
		return n, r
	}
}

var shapes = []tensor.Shape{
	{}, {1}, {7}, {1000}, {5000}, {0}, {3, 0, 2},
	{9, 1}, {3, 7}, {130, 16}, {9, 1000}, {3, 5000}, {5000, 7}, {1, 9}, {16000, 1}, {1, 16000}, {5, 4000}, {90, 200}, {40, 129},
	{2, 3, 16}, {4, 50, 33}, {2, 3, 4, 5}, {3, 5, 7, 7}, {2, 70, 9, 11}, {1, 1, 1, 1}, {2, 3, 2, 3, 16}, {2, 1, 1, 1000},
	{3, 400, 1, 1}, {2, 100, 20, 17},
}

// manyShapes have more groups than the collector keeps.
var manyShapes = []tensor.Shape{{70000, 1}, {1, 70000}, {70001, 2}, {1, 70001, 1, 1}, {2, 70001, 1, 2}, {1, 2100, 3, 7}, {3, 5, 300, 31}}

// collect collects segments of each elements, in blocks of a size, and merges
// them.
func collect(req *Request, n, r []float64, each, block int) *Noise {
	total, part := NewCollector(req), NewCollector(req)
	for first := 0; first < len(n); first += each {
		c := part
		if first == 0 {
			c = total
		}
		c.Reset(req)
		end := min(first+each, len(n))
		for at := first; at < end; at += block {
			last := min(at+block, end)
			c.Add(int64(at), n[at:last], r[at:last])
		}
		if first > 0 {
			total.Merge(c)
		}
	}
	return total.Finish(differences(n, r))
}

// differences returns the histogram of |d|.
func differences(n, r []float64) iter.Seq2[float64, int64] {
	counts := map[uint]int64{}
	for i, x := range r {
		if d := math.Abs(n[i] - x); math.Abs(x) <= math.MaxFloat64 && math.Abs(n[i]) <= math.MaxFloat64 {
			counts[kernel.Bin(d)]++
		}
	}
	return func(yield func(float64, int64) bool) {
		for _, bin := range slices.Sorted(maps.Keys(counts)) {
			if !yield(math.Float64frombits(uint64(bin)<<49), counts[bin]) {
				return
			}
		}
	}
}

func TestSlowReference(t *testing.T) {
	for name, make := range samples {
		for k, shape := range shapes {
			if shape.Elements() > 9000 && name != "nan" && name != "octaves" {
				continue // slow
			}
			t.Run(fmt.Sprintf("%s%v", name, shape), func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(len(name)), uint64(k)))
				n, r := make(random, int(shape.Elements()))
				req := &Request{Shape: shape, Type: typeOf(t, tensor.Float16), Mask: -inf, Groups: 1 << 20}
				if name == "masks" {
					req.Mask = -9000
				}
				if name == "tiny" {
					req.Type = typeOf(t, tensor.Float32)
				}
				if name == "softmax" && len(shape) > 0 {
					normalize(r, int(shape[len(shape)-1]))
				}
				want := slowly(req, n, r)
				compare(t, collect(req, n, r, 1<<30, 1024), want)
				compare(t, collect(req, n, r, 3*1024, 1024), want)
				if len(n) <= 20000 {
					compare(t, collect(req, n, r, 777, 100), want)
				}
			})
		}
	}
}

// normalize scales rows to a sum of 1.
func normalize(r []float64, length int) {
	for len(r) > 0 && length > 0 {
		var sum float64
		for _, x := range r[:length] {
			sum += x
		}
		for i := range length {
			r[i] /= sum
		}
		r = r[length:]
	}
}

// compare reports differences beyond rounding.
func compare(t *testing.T, got, want *Noise) {
	t.Helper()
	if got == nil {
		t.Fatal("nothing found")
	}
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		name := g.Type().Field(i).Name
		a, b := g.Field(i), w.Field(i)
		switch {
		case a.Kind() == reflect.Float64:
			x, y := a.Float(), b.Float()
			size := math.Abs(y)
			switch name {
			case "RefMean":
				size = max(size, want.RefRMS*1e-2)
			case "RefStd": // a difference of sums over all elements
				of := float64(want.Elements) / float64(max(want.Count, 1))
				x, y, size = x*x, y*y, max(y*y, want.RefRMS*want.RefRMS*of*1e-4)
			case "ScaleBySign", "TowardZero", "GroupScale", "GroupMean":
				size = max(size, 1e-3)
			case "Mean", "Residual":
				if name == "Residual" { // a difference of sums
					x, y, size = x*x, y*y, want.RMS*want.RMS
				} else {
					size = max(size, want.RMS*1e-3)
				}
			case "Scale":
				size = max(size, want.RMS/max(want.RefRMS, 1e-300)*1e-3)
			case "View":
				size *= 200 // a quotient of two numbers that the reference has in float32
			}
			if !(math.Abs(x-y) <= 1e-9*size) {
				t.Errorf("%s is %v, want %v", name, x, y)
			}
		case a.Type() == reflect.TypeFor[Groups]():
			compareGroups(t, name, a, b)
		case name == "Grid":
			if diff := cmp.Diff(want.Grid, got.Grid, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("the grid (-want +got):\n%s", diff)
			}
		case name == "Probe":
			compareProbe(t, &got.Probe, &want.Probe, want.RefMax)
		case !reflect.DeepEqual(a.Interface(), b.Interface()):
			t.Errorf("%s is %v, want %v", name, a, b)
		}
	}
}

func compareProbe(t *testing.T, got, want *Probe, most float64) {
	t.Helper()
	if !cmp.Equal(got.Values, want.Values, cmpopts.EquateNaNs()) {
		t.Errorf("the probe is %v, want %v", got.Values, want.Values)
	}
	for _, x := range []struct {
		name      string
		got, want []float64
		allowed   float64
	}{{"means", got.RowMean, want.RowMean, 1e-12 * most}, {"standard deviations", got.RowStd, want.RowStd, 1e-6 * most}} {
		if !cmp.Equal(x.got, x.want, cmpopts.EquateApprox(0, x.allowed), cmpopts.EquateEmpty()) {
			t.Errorf("the %s of the rows of the probe are %v, want %v", x.name, x.got, x.want)
		}
	}
}

func compareGroups(t *testing.T, name string, got, want reflect.Value) {
	t.Helper()
	rms := want.FieldByName("RMS").Interface().(Column)
	ref := want.FieldByName("RefRMS").Interface().(Column)
	for i := range got.NumField() {
		field := got.Type().Field(i).Name
		a, ok := got.Field(i).Interface().(Column)
		if !ok {
			if got.Field(i).Int() != want.Field(i).Int() {
				t.Errorf("%s.%s is %v, want %v", name, field, got.Field(i), want.Field(i))
			}
			continue
		}
		b := want.Field(i).Interface().(Column)
		if len(a) != len(b) {
			t.Fatalf("%s has %d bins of %s, want %d", name, len(a), field, len(b))
		}
		for k, x := range a {
			size := math.Abs(float64(b[k]))
			switch field {
			case "Mean":
				size = max(size, float64(rms[k])*1e-3)
			case "RefStd":
				size = max(size, float64(ref[k])*1e-5)
			case "Scale":
				size = max(size, float64(rms[k])/max(float64(ref[k]), 1e-300)*1e-3)
			}
			if !(math.Abs(float64(x)-float64(b[k])) <= 2e-7*size) && !(field == "Rounding" && math.Abs(float64(x)-float64(b[k])) < 1e-45) {
				t.Errorf("%s.%s of bin %d is %v, want %v", name, field, k, x, b[k])
				return
			}
		}
	}
}

// TestSegments: segments give the same bits as a single run, for numbers whose sums
// are exact.
func TestSegments(t *testing.T) {
	for k, shape := range slices.Concat(shapes, manyShapes) {
		random := rand.New(rand.NewPCG(7, uint64(k)))
		var n, r []float64
		for range shape.Elements() {
			x := float64(random.IntN(65) - 32)
			n, r = append(n, x+float64(random.IntN(5)-2)/4), append(r, x)
			if random.IntN(50) == 0 {
				n[len(n)-1], r[len(r)-1] = nan, inf
			}
		}
		req := &Request{Shape: shape, Type: typeOf(t, tensor.Float16), Mask: -inf, Groups: 64}
		want := collect(req, n, r, 1<<30, 1024)
		for _, each := range []int{1, 640, 1024, 5000, 30000} {
			if len(n) > 100*each {
				continue // slow
			}
			got := collect(req, n, r, each, 1024)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v in segments of %d: %+v, want %+v", shape, each, got, want)
			}
		}
	}
}

// TestReset: a reused collector gives the same result as a new one.
func TestReset(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	used := new(Collector)
	for _, shape := range shapes {
		if shape.Elements() > 20000 {
			continue // slow
		}
		for name, make := range samples {
			n, r := make(random, int(shape.Elements()))
			req := &Request{Shape: shape, Type: typeOf(t, tensor.BFloat16), Mask: -9000, Groups: 16}
			c := NewCollector(req)
			used.Reset(req)
			c.Add(0, n, r)
			used.Add(0, n, r)
			if got, want := used.Finish(differences(n, r)), c.Finish(differences(n, r)); !cmp.Equal(got, want, cmpopts.EquateNaNs()) {
				t.Fatalf("%s%v: %+v, want %+v", name, shape, got, want)
			}
		}
	}
}

func TestFold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, c := range []struct {
		shape          tensor.Shape
		groups         int
		rows, channels int64 // folds
	}{
		{tensor.Shape{100, 37}, 16, 8, 4},
		{tensor.Shape{100, 37}, 1, 128, 64},
		{tensor.Shape{100, 37}, 100, 1, 1},
		{tensor.Shape{3, 1000, 2, 5}, 256, 16, 4}, // rows are planes of 10
		{tensor.Shape{3, 1000, 2, 5}, 255, 16, 4},
		{tensor.Shape{2, 1024, 2, 5}, 256, 16, 4}, // 4096 rows of 5
		{tensor.Shape{1, 1025, 2, 5}, 256, 16, 8},
		{tensor.Shape{1, 1025, 2, 5}, MaxGroups, 64, 32},
		{tensor.Shape{3, 5, 1000}, 256, 1, 4},
		{tensor.Shape{4, 30, 35, 35}, 256, 1, 1},  // squares
		{tensor.Shape{4, 30, 36, 35}, 256, 32, 1}, // 4320 rows of 35
		{tensor.Shape{1, 70, 64, 64}, 256, 32, 1}, // 4480 rows of 64
	} {
		n, r := samples["octaves"](random, int(c.shape.Elements()))
		req := &Request{Shape: c.shape, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: c.groups}
		got := collect(req, n, r, 1<<30, 1024)
		want := slowly(req, n, r)
		for _, of := range []struct {
			name      string
			got, want *Groups
			fold      int64
		}{{"rows", &got.Rows, &want.Rows, c.rows}, {"channels", &got.Channels, &want.Channels, c.channels}} {
			if of.got.Fold != of.fold || of.got.Count != of.want.Count || of.got.Size != of.want.Size {
				t.Errorf("%v, %d groups: %s folded by %d of %d times %d, want %d of %d times %d", c.shape, c.groups, of.name, of.got.Fold, of.got.Count, of.got.Size, of.fold, of.want.Count, of.want.Size)
				continue
			}
			checkScales(t, of.name, of.got, of.want)
			checkFold(t, fmt.Sprintf("%v, %d groups: %s", c.shape, c.groups, of.name), of.got, of.want)
		}
		if got.View != collect(&Request{Shape: c.shape, Type: req.Type, Mask: -inf, Groups: 1 << 20}, n, r, 1<<30, 1024).View {
			t.Errorf("%v: folding changes the view", c.shape)
		}
	}
}

// checkFold folds unfolded groups by the definition of each column.
func checkFold(t *testing.T, name string, got, want *Groups) {
	t.Helper()
	rms := func(x []float32) float64 {
		var sum float64
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum / float64(len(x)))
	}
	highest := func(x []float32) float64 { return float64(slices.Max(x)) }
	mean := func(x []float32) (sum float64) {
		for _, v := range x {
			sum += float64(v) / float64(len(x))
		}
		return sum
	}
	for _, c := range []struct {
		column    string
		got, want []float32
		fold      func([]float32) float64
	}{
		{"RefRMS", got.RefRMS, want.RefRMS, rms}, {"RefStd", got.RefStd, want.RefStd, rms},
		{"RMS", got.RMS, want.RMS, rms}, {"Rounding", got.Rounding, want.Rounding, rms},
		{"Mean", got.Mean, want.Mean, mean}, {"RefMax", got.RefMax, want.RefMax, highest},
		{"Max", got.Max, want.Max, highest}, {"Relative", got.Relative, want.Relative, highest},
		{"Inverse", got.Inverse, want.Inverse, highest},
	} {
		bin := 0
		for groups := range slices.Chunk(c.want, int(got.Fold)) {
			x, y := float64(c.got[bin]), c.fold(groups)
			if !(math.Abs(x-y) <= 1e-6*rms(groups)) {
				t.Errorf("%s.%s of bin %d is %v, want %v", name, c.column, bin, x, y)
				break
			}
			bin++
		}
		if bin != len(c.got) {
			t.Errorf("%s.%s has %d bins, want %d", name, c.column, len(c.got), bin)
		}
	}
}

// checkScales folds the scales of groups, weighted by the sum of squares of the references.
func checkScales(t *testing.T, name string, got, want *Groups) {
	t.Helper()
	for bin, x := range got.Scale {
		var dr, rr float64
		for i := bin * int(got.Fold); i < min((bin+1)*int(got.Fold), len(want.Scale)); i++ {
			square := float64(want.RefRMS[i]) * float64(want.RefRMS[i])
			dr, rr = dr+float64(want.Scale[i])*square, rr+square
		}
		if math.Abs(float64(x)-dr/rr) > 1e-6*float64(got.RMS[bin]/got.RefRMS[bin]) {
			t.Errorf("the scale of bin %d of the %s is %v, want %v", bin, name, x, dr/rr)
		}
	}
}

// TestWide: the columns of a wide last axis share bins.
func TestWide(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	shape := tensor.Shape{3, 16384 + 65}
	n, r := normal(random, int(shape.Elements()))
	req := &Request{Shape: shape, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: 1 << 20}
	got := collect(req, n, r, 1<<30, 1024).Channels
	if got.Fold != 64 || len(got.RMS) != 258 || got.Count != shape[1] || got.Size != 3 {
		t.Fatalf("%d bins of %d channels of %d of %d, want 258 of 64 of 3 of %d", len(got.RMS), got.Fold, got.Size, got.Count, shape[1])
	}
	for bin, rms := range got.RMS {
		var dd, count float64
		for i := range n {
			if i%int(shape[1])/64 == bin {
				dd += (n[i] - r[i]) * (n[i] - r[i])
				count++
			}
		}
		if want := math.Sqrt(dd / count); math.Abs(float64(rms)-want) > 1e-6*want {
			t.Errorf("RMS of bin %d is %v, want %v", bin, rms, want)
		}
	}
}

// TestManyGroups: if there are more groups than are kept, groups share bins.
func TestManyGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	shape := tensor.Shape{140001, 3}
	n, r := normal(random, int(shape.Elements()))
	req := &Request{Shape: shape, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: 1 << 20}
	got := collect(req, n, r, 1<<30, 1024)
	if got.Rows.Fold != 4 || len(got.Rows.RMS) != 35001 || got.Rows.Count != 140001 || got.Rows.Size != 3 {
		t.Errorf("%d bins of %d rows of %d of %d, want 35001 of 4 of 3 of 140001", len(got.Rows.RMS), got.Rows.Fold, got.Rows.Size, got.Rows.Count)
	}
	joined := slowly(&Request{Shape: tensor.Shape{35000, 12}, Type: req.Type, Mask: -inf, Groups: 1}, n[:420000], r[:420000])
	for bin, want := range joined.Rows.RMS {
		if x := got.Rows.RMS[bin]; math.Abs(float64(x-want)) > 1e-6*float64(want) {
			t.Fatalf("RMS of bin %d is %v, want %v", bin, x, want)
		}
	}
	if x, want := got.Rows.Max[35000], float32(math.Abs(n[420000]-r[420000])); x < want {
		t.Errorf("Max of the last bin is %v, want at least %v", x, want)
	}
}

func TestOutOfRange(t *testing.T) {
	typ := typeOf(t, tensor.Float64)
	for _, c := range []struct {
		x     float64
		found bool
	}{{1e149, true}, {-1e149, true}, {1e151, false}, {-1e151, false}, {1e308, false}} {
		for side := range 2 {
			req := &Request{Shape: tensor.Shape{3, 4}, Type: typ, Mask: -inf, Groups: 4}
			n, r := make([]float64, 12), make([]float64, 12)
			[2][]float64{n, r}[side][5] = c.x
			if got := collect(req, n, r, 1<<30, 5); (got != nil) != c.found {
				t.Errorf("%v on side %d: found %v", c.x, side, got)
			}
		}
	}
}

func TestIncomplete(t *testing.T) {
	req := &Request{Shape: tensor.Shape{3, 4}, Type: typeOf(t, tensor.Float16), Mask: -inf, Groups: 4}
	for _, first := range []int64{0, 4} {
		c := NewCollector(req)
		c.Add(first, make([]float64, 8), make([]float64, 8))
		if got := c.Finish(differences(nil, nil)); got != nil {
			t.Errorf("8 of 12 elements from %d on: found %+v", first, got)
		}
	}
}

func TestTypes(t *testing.T) {
	for d, want := range map[tensor.DType]Type{
		tensor.Float16:      {"float16", tensor.Float{Exponent: 5, Mantissa: 10, MinExp: -14, Max: 65504}, false},
		tensor.BFloat16:     {"bfloat16", tensor.Float{Exponent: 8, Mantissa: 7, MinExp: -126, Max: 3.3895313892515355e38}, false},
		tensor.Float32:      {"float32", tensor.Float{Exponent: 8, Mantissa: 23, MinExp: -126, Max: 3.4028234663852886e38}, false},
		tensor.Float64:      {"float64", tensor.Float{Exponent: 11, Mantissa: 52, MinExp: -1022, Max: math.MaxFloat64}, false},
		tensor.Float8E5M2:   {"float8_e5m2", tensor.Float{Exponent: 5, Mantissa: 2, MinExp: -14, Max: 57344}, false},
		tensor.Float8E4M3FN: {"float8_e4m3fn", tensor.Float{Exponent: 4, Mantissa: 3, MinExp: -6, Max: 448}, false},
		tensor.Int8:         {"int8", tensor.Float{Mantissa: 7, Max: math.MaxFloat64}, true},
		tensor.Uint8:        {"uint8", tensor.Float{Mantissa: 8, Max: math.MaxFloat64}, true},
		tensor.Int64:        {"int64", tensor.Float{Mantissa: 63, Max: math.MaxFloat64}, true},
		tensor.Bool:         {"bool", tensor.Float{Mantissa: 1, Max: math.MaxFloat64}, true},
		tensor.QInt16:       {"qint16", tensor.Float{Mantissa: 15, Max: math.MaxFloat64}, true},
	} {
		got, ok := TypeOf(d)
		if !ok || got != want {
			t.Errorf("%s is %+v, %v, want %+v", d, got, ok, want)
		}
	}
	for _, d := range []tensor.DType{
		tensor.Complex32, tensor.Complex64, tensor.Complex128, tensor.Int4, tensor.Uint1, tensor.Int2, tensor.Uint2,
		tensor.HiFloat8, tensor.Float8E8M0, tensor.Float6E3M2, tensor.Float6E2M3, tensor.Float4E2M1, tensor.Float4E1M2,
		tensor.String, tensor.Variant, -1, 1000,
	} {
		if got, ok := TypeOf(d); ok {
			t.Errorf("%s is %+v", d, got)
		}
	}
	for d, want := range map[tensor.DType]float64{
		tensor.Float16: 0x1p-10, tensor.BFloat16: 0x1p-7, tensor.Float32: 0x1p-23, tensor.Float64: 0x1p-52, tensor.Int8: 1,
	} {
		if got := typeOf(t, d).Epsilon(); got != want {
			t.Errorf("epsilon of %s is %v, want %v", d, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Request{Shape: tensor.Shape{2, 3}, Type: typeOf(t, tensor.Float16), Mask: -inf, Groups: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Request)
		want   string
	}{
		{func(r *Request) { r.Shape = tensor.Shape{2, -3} }, "shape (2, -3) has no number of elements"},
		{func(r *Request) { r.Shape = tensor.Shape{1 << 40, 1 << 40} }, "has no number of elements"},
		{func(r *Request) { r.Groups = 0 }, "0 groups, want at least 1"},
		{func(r *Request) { r.Mask = nan }, "masks up to NaN"},
		{func(r *Request) { r.Mask = 5 }, "masks up to 5"},
		{func(r *Request) { r.Type.Mantissa = -1 }, "type float16 of -1 mantissa bits"},
		{func(r *Request) { r.Type.Mantissa = 65 }, "type float16 of 65 mantissa bits"},
		{func(r *Request) { r.Type.MinExp = -2000 }, "exponents from -2000 on"},
		{func(r *Request) { r.Type.Max = 0 }, "numbers up to 0"},
		{func(r *Request) { r.Type.Max = nan }, "numbers up to NaN"},
		{func(r *Request) { r.Type.Max = inf }, "numbers up to +Inf"},
		{func(r *Request) { r.Atol = -1 }, "limits atol=-1 rtol=0"},
		{func(r *Request) { r.Rtol = nan }, "limits atol=0 rtol=NaN"},
		{func(r *Request) { r.Rtol = inf }, "limits atol=0 rtol=+Inf"},
	} {
		req := good
		c.change(&req)
		if err := req.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestSmallSign: pairs of one sign that are much smaller than the pairs of the other sign explain no more than their
// own differences.
func TestSmallSign(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, shape := range []tensor.Shape{{50, 100}, {5000, 1}, {2, 5, 500}} {
		n, r := normal(random, 5000)
		for i := range r {
			n[i], r[i] = math.Abs(n[i]), math.Abs(r[i])
		}
		n[700], r[700] = -1.1e-30, -1e-30
		req := &Request{Shape: shape, Type: typeOf(t, tensor.Float32), Mask: -inf, Groups: 1 << 20}
		if got, want := collect(req, n, r, 1<<30, 1024).ScaleBySign, slowly(req, n, r).ScaleBySign; math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: ScaleBySign is %v, want %v", shape, got, want)
		}
	}
}

// FuzzCollector compares arbitrary pairs of any shape with the slow formulas.
func FuzzCollector(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(2), uint8(3), uint8(1), uint8(1), uint16(4))
	f.Add([]byte{0, 0xff, 0x7c, 0xfc, 1, 0x80}, uint8(0), uint8(7), uint8(5), uint8(2), uint16(1000))
	f.Fuzz(func(t *testing.T, data []byte, rank, a, b, c uint8, each uint16) {
		if len(data) == 0 {
			return
		}
		shape := tensor.Shape{int64(a%9) + 1, int64(b%8) + 1, int64(c%5) + 1, 2, 3}[:rank%6]
		var n, r []float64
		for i := range int(shape.Elements()) {
			k := data[i%len(data)]
			x := float64(tensor.Float16To32(uint16(k)<<8 | uint16(data[i/len(data)%len(data)])))
			r, n = append(r, x), append(n, x*(1+float64(data[(i*7+1)%len(data)])/4096))
		}
		req := &Request{Shape: shape, Type: typeOf(t, tensor.Float16), Mask: -9000, Groups: 1 << 20}
		const parts = 16 // at most; each part merges whole groups
		compare(t, collect(req, n, r, max(int(each)+1, (len(n)+parts-1)/parts), 1024), slowly(req, n, r))
	})
}
