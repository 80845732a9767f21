package metrics

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/tensor"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// slowBins counts values by comparing them with the edges. The edges are as documented for
// numpy.linspace: low + i*step, the last one high.
func slowBins(g Grid, values []float64) []int64 {
	if g.Count == 0 {
		return []int64{}
	}
	low, high, factor := g.Low, g.High, 1.0
	if g.Log { // to the last bit, like the edges
		low, high = exact.Log10(low), exact.Log10(high)
	}
	if math.IsInf(high-low, 0) {
		low, high, factor = low/2, high/2, 0.5
	}
	counts := make([]int64, g.Count)
	for _, x := range values {
		if g.Log {
			x = exact.Log10(x)
		}
		bin := 0
		for i := 1; i < g.Count; i++ {
			step := (high - low) / float64(g.Count)
			edge := low + float64(float64(i)*step)
			if step == 0 {
				edge = low + float64(float64(i)/float64(g.Count)*(high-low))
			}
			if x*factor >= edge {
				bin = i
			}
		}
		counts[bin]++
	}
	return counts
}

// usedPool has the memory of earlier pictures.
var usedPool = NewPool()

// picturesOf returns the pictures of a pair.
func picturesOf(t testing.TB, req Request, limits BinLimits, ref, npu memory) (*Pictures, *Result) {
	t.Helper()
	res, err := Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	p, err := usedPool.Pictures(t.Context(), req, res, PictureRequest{Bins: limits}, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	return p, res
}

// checkPictures checks the pictures of a pair whose errors are all sampled.
func checkPictures(t *testing.T, p *slowPair, got *Pictures, res *Result) {
	t.Helper()
	var refs, npus, abs, rel []float64
	odd := map[int64]bool{}
	for i, x := range p.all {
		if x.r.class == Finite {
			refs = append(refs, p.magnitude(x.r))
		}
		if x.n.class == Finite {
			npus = append(npus, p.magnitude(x.n))
		}
		if x.r.class != x.n.class {
			odd[int64(i)] = true
		}
	}
	for _, f := range errorsOf(p.hpaa) {
		if x := p.all[f.offset]; x.r.class != Finite || x.n.class != Finite {
			odd[f.offset] = true
		}
	}
	var sampled []SampledError
	for _, f := range errorsOf(p.finite) {
		e := SampledError{f.offset, f.abs64, math.NaN()}
		abs = append(abs, min(e.Abs, math.MaxFloat64))
		if f.rel != nil {
			e.Rel = relative64(&f)
			rel = append(rel, min(e.Rel, math.MaxFloat64))
		}
		sampled = append(sampled, e)
	}
	want := Pictures{
		Total: int64(len(p.all)), Errors: res.HPAA.Count, RefStats: res.Ref, NPUStats: res.NPU, ULP: slowOctaves(p.finite),
		Sample: &ErrorSample{
			Errors: sampled, Every: 1, NonFinite: make([]byte, Marks/8), RunLength: int64(len(p.all)+Marks-1) / Marks, NonFiniteErrors: int64(len(odd)),
			Undefined: int64(len(abs) - len(rel)),
		},
	}
	bins := func(b *Bins, values []float64) Bins {
		g := around(b.Grid(), values)
		return Bins{g.Edges(), b.Log, slowBins(b.Grid(), values)}
	}
	want.Diff = ErrorBins{bins(&got.Diff.Abs, abs), bins(&got.Diff.Rel, rel)}
	grid := got.Values.Grid()
	values := around(grid, slices.Concat(refs, npus))
	want.Values = SideBins{Edges: values.Edges(), Ref: slowBins(grid, refs), NPU: slowBins(grid, npus)}
	var pairs [][2]float64
	for _, x := range p.all {
		if x.r.class == Finite && x.n.class == Finite {
			pairs = append(pairs, [2]float64{p.magnitude(x.r), p.magnitude(x.n)})
		}
	}
	if got.Joint != nil {
		want.Joint = slowDensity(pairs, want.Values.Edges, got.Joint.Count)
	}
	checkMaps(t, p, got.Maps)
	checkWindow(t, p, got.Window, res)
	for i := range odd {
		run := i / want.Sample.RunLength
		want.Sample.NonFinite[run/8] |= 1 << (run % 8)
	}
	whole := gocmp.Options{ // Diff is slow on slices of thousands
		gocmp.Comparer(slices.Equal[[]byte]), gocmp.Comparer(slices.Equal[[]int64]),
		gocmp.Comparer(func(a, b []SampledError) bool {
			return slices.EqualFunc(a, b, func(x, y SampledError) bool {
				return x.Offset == y.Offset && x.Abs == y.Abs && (x.Rel == y.Rel || math.IsNaN(x.Rel) && math.IsNaN(y.Rel))
			})
		}),
	}
	if diff := gocmp.Diff(&want, got, cmpopts.IgnoreFields(Pictures{}, "Maps", "Window"), cmpopts.IgnoreFields(SideBins{}, "Inner"), cmpopts.IgnoreFields(Density{}, "Inner"), whole); diff != "" {
		t.Error(diff)
	}
}

// slowOctaves counts distances by comparing them with each power of two.
func slowOctaves(pairs []slowFinite) []int64 {
	counts := make([]int64, 1)
	for _, x := range pairs {
		k := 0
		for limit := 1.0; x.ulps >= limit; limit *= 2 {
			k++
		}
		k = min(k, 64)
		for len(counts) <= k {
			counts = append(counts, 0)
		}
		counts[k]++
	}
	return counts
}

// slowDensity counts pairs of values like numpy.histogram2d: by the edges in each
// dimension.
func slowDensity(pairs [][2]float64, e Edges, bins int) *Density {
	low, high := e.Low.Value(), e.High.Value()
	d := &Density{Edges: e, Count: bins, Cells: make([]byte, bins*bins)}
	counts := make([]int64, bins*bins)
	bin := func(x float64) int {
		return slices.Index(slowBins(Grid{Low: low, High: high, Count: bins}, []float64{x}), 1)
	}
	for _, x := range pairs {
		at := bin(x[1])*bins + bin(x[0])
		counts[at]++
		d.Max = max(d.Max, counts[at])
	}
	for i, n := range counts {
		switch {
		case n > 0 && d.Max == 1:
			d.Cells[i] = 255
		case n > 0:
			d.Cells[i] = byte(1 + math.Round(254*(exact.Log(float64(n))/exact.Log(float64(d.Max)))))
		}
	}
	return d
}

// checkMaps recomputes the maps from the coordinates of the elements.
func checkMaps(t *testing.T, p *slowPair, maps []Map) {
	t.Helper()
	shape := p.req.Shape
	long := slices.DeleteFunc([]int{0, 1, 2, 3, 4, 5}, func(i int) bool { return i >= len(shape) || shape[i] == 1 })
	if want := min(len(long), 2); len(long) == 2 && len(maps) != 1 || len(long) != 2 && len(maps) != want {
		t.Fatalf("%d maps of the shape %s", len(maps), shape)
	}
	bad, finite := map[int64]bool{}, map[int64]slowFinite{}
	for _, f := range errorsOf(p.finite) {
		bad[f.offset] = true
	}
	for _, f := range p.finite {
		finite[f.offset] = f
	}
	for k, m := range maps {
		cells := m.Rows * m.Columns
		if m.Rows < 1 || m.Rows > 32 || m.Columns < 1 || m.Columns > 48 || len(m.Mean) != cells || len(m.Errors) != cells {
			t.Fatalf("map %d is %d x %d with %d and %d cells", k, m.Rows, m.Columns, len(m.Mean), len(m.Errors))
		}
		count, errors, sums, numbers := make([]int, cells), make([]int, cells), make([]float64, cells), make([]int, cells)
		for i, x := range p.all {
			var cell int64
			if at := shape.Coordinates(int64(i)); len(long) == 1 {
				cell = int64(i) / m.ColumnFold
			} else {
				if m.RowAxis != long[len(long)-2-k] || m.ColumnAxis != long[len(long)-1-k] {
					t.Fatalf("map %d is of the axes %d and %d of %s", k, m.RowAxis, m.ColumnAxis, shape)
				}
				cell = at[m.RowAxis]/m.RowFold*int64(m.Columns) + at[m.ColumnAxis]/m.ColumnFold
			}
			count[cell]++
			if bad[int64(i)] || x.r.class != x.n.class {
				errors[cell]++
			}
			if f, ok := finite[int64(i)]; ok {
				sums[cell] += min(f.abs64, math.MaxFloat64)
				numbers[cell]++
			}
		}
		low, high := math.Inf(1), math.Inf(-1)
		mean := func(i int) float64 { // math.Log10 knows no subnormals
			return exact.Log10(max(min(sums[i], math.MaxFloat64)/float64(numbers[i]), math.SmallestNonzeroFloat64))
		}
		for i := range sums {
			if sums[i] > 0 {
				low, high = min(low, mean(i)), max(high, mean(i))
			}
		}
		for i := range sums {
			share := byte(0)
			if errors[i] > 0 {
				share = byte(max(1, math.Round(255*float64(errors[i])/float64(count[i]))))
			}
			level := 0.0
			switch {
			case sums[i] > 0 && low == high:
				level = 255
			case sums[i] > 0:
				level = 1 + math.Round(254*(mean(i)-low)/(high-low))
			}
			if m.Errors[i] != share || math.Abs(float64(m.Mean[i])-level) > 1 {
				t.Errorf("map %d, cell %d: mean %d, want %g; errors %d, want %d", k, i, m.Mean[i], level, m.Errors[i], share)
			}
		}
	}
}

// checkWindow recomputes the window from coordinates: at most 16 positions of each of the last
// two long axes, and the position of the worst element on all other axes.
func checkWindow(t *testing.T, p *slowPair, w *Window, res *Result) {
	t.Helper()
	if len(p.all) == 0 {
		if w != nil {
			t.Errorf("a window of no elements: %+v", w)
		}
		return
	}
	if len(res.Worst) > 0 && w.Place != res.Worst[0].Offset {
		t.Errorf("the window is around %d, want %d", w.Place, res.Worst[0].Offset)
	}
	shape := p.req.Shape
	long := slices.DeleteFunc([]int{0, 1, 2, 3, 4, 5}, func(i int) bool { return i >= len(shape) || shape[i] == 1 })
	worst := shape.Coordinates(w.Place)
	seen := 0
	for i, x := range p.all {
		at := shape.Coordinates(int64(i))
		row, column := int64(0), int64(i)-w.Column // of one axis
		if len(long) >= 2 {
			if w.RowAxis != long[len(long)-2] || w.ColumnAxis != long[len(long)-1] {
				t.Fatalf("a window of the axes %d and %d of %s", w.RowAxis, w.ColumnAxis, shape)
			}
			row, column = at[w.RowAxis]-w.Row, at[w.ColumnAxis]-w.Column
			others := slices.Clone(at)
			others[w.RowAxis], others[w.ColumnAxis] = worst[w.RowAxis], worst[w.ColumnAxis]
			if !slices.Equal(others, worst) {
				continue
			}
		} else if column >= 0 {
			row, column = column/16, column%16
		}
		inside := row >= 0 && row < int64(w.Rows) && column >= 0 && column < int64(w.Columns)
		if !inside {
			if int64(i) == w.Place {
				t.Errorf("the worst place %d is not in the window", i)
			}
			continue
		}
		seen++
		k := row*int64(w.Columns) + column
		for _, v := range []struct{ got, want float64 }{{float64(w.Ref[k]), float64(float32(p.magnitude(x.r)))}, {float64(w.NPU[k]), float64(float32(p.magnitude(x.n)))}} {
			if v.got != v.want && !(math.IsNaN(v.got) && math.IsNaN(v.want)) {
				t.Errorf("window, element %d: %g, want %g", i, v.got, v.want)
			}
		}
	}
	want := min(len(p.all), 256)
	if len(long) >= 2 {
		want = int(min(shape[w.RowAxis], 16) * min(shape[w.ColumnAxis], 16))
	}
	if seen != want || len(w.Ref) != want || len(w.NPU) != want {
		t.Errorf("the window has %d elements, %d of the reference and %d of the NPU, want %d", seen, len(w.Ref), len(w.NPU), want)
	}
}

// TestPicturesShapes has maps of all kinds of shapes, and values with a few
// outliers.
func TestPicturesShapes(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for _, shape := range []tensor.Shape{{1}, {2}, {47}, {1537}, {5000}, {1, 3100, 1}, {2, 3}, {33, 49}, {64, 96}, {100, 1, 101}, {3, 5, 7}, {2, 40, 60}, {5, 34, 1, 49, 2}, {70, 2, 3}, {2, 3, 1, 500}, {4, 1024}} {
		total, _ := shape.Count()
		r, n := make([]float64, total), make([]float64, total)
		for i := range r {
			r[i] = random.NormFloat64()
			n[i] = r[i]
			switch random.IntN(4) {
			case 0:
				n[i] += random.ExpFloat64()
			case 1:
				n[i] = []float64{inf, math.NaN(), -inf, 65504}[random.IntN(4)]
			}
		}
		req := Request{Shape: shape, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits}
		ref, npu := store(tensor.Float32, r...), store(tensor.Float16, n...)
		got, res := picturesOf(t, req, BinLimits{1, 16}, ref, npu)
		checkPictures(t, newSlowPair(t, req, ref, npu), got, res)
	}
	// A single outlier hides all other values.
	r := make([]float64, 4000)
	for i := range r {
		r[i] = float64(i) / 4000
	}
	n := slices.Clone(r)
	n[7] = 1e6
	req := Request{Shape: tensor.Shape{4000}, RefDType: tensor.Float64, NPUDType: tensor.Float64, Limits: hpaaLimits}
	p, _ := picturesOf(t, req, BinLimits{4, 4}, store(tensor.Float64, r...), store(tensor.Float64, n...))
	if p.Values.Ref[0] != 4000 || p.Values.NPU[3] != 1 {
		t.Errorf("values %v and %v", p.Values.Ref, p.Values.NPU)
	}
	inner := p.Values.Inner
	if inner == nil || p.Joint.Inner == nil || p.Joint.Inner.Max < 80 {
		t.Fatalf("inner range %+v", inner)
	}
	g := inner.Grid()
	if g.Low > 0.01 || g.High < 0.98 || g.High > 1 {
		t.Fatalf("inner range %+v", inner)
	}
	inside := int64(0)
	for _, x := range r {
		if x >= g.Low && x <= g.High {
			inside++
		}
	}
	if sum := inner.Ref[0] + inner.Ref[1] + inner.Ref[2] + inner.Ref[3]; sum != inside {
		t.Errorf("%d values inside, want %d", sum, inside)
	}
}

// around returns a grid with the bounds of the values.
func around(g Grid, values []float64) Grid {
	g.Low, g.High = 0, 0
	if len(values) > 0 {
		g.Low, g.High = slices.Min(values)+0, slices.Max(values)+0
	}
	return g
}

// TestBinsLikeNumpy compares bins with numpy 1.24.2: the number of bins by
//
//	h = 2 * (q75 - q25) * n**(-1/3)   # numpy.percentile
//	bins = clip(ceil((max - min) / h), least, most); q75 == q25: ceil(log2(n)) + 1
//
// and numpy.histogram(v, bins, (v.min(), v.max())) of i = numpy.arange(1000.). Long lists of
// counts are hashed: h = h*31 + count, modulo 2**32.
func TestBinsLikeNumpy(t *testing.T) {
	sets := map[string]func(i int) float64{
		"sawtooth": func(i int) float64 { return float64(float64(i*7919%1009)/1009*20) - 7 },
		"squares":  func(i int) float64 { return float64(i*i) / 1000 },
		"mostly one": func(i int) float64 {
			if i%10 == 0 {
				return float64(i)
			}
			return 3
		},
		"one decimal": func(i int) float64 { return float64(i%37) * 0.1 },
		"huge":        func(i int) float64 { return float64(i-400) * 1e305 },
	}
	for _, c := range []struct {
		set         string
		least, most int
		want        []int64
		joined      uint32
	}{
		{"sawtooth", 1, 128, []int64{91, 91, 90, 91, 91, 90, 91, 92, 90, 92, 91}, 0},
		{"sawtooth", 1, 7, []int64{143, 142, 142, 143, 143, 143, 144}, 0},
		{"sawtooth", 64, 128, nil, 3973214606},
		{"squares", 1, 128, []int64{316, 131, 101, 84, 75, 67, 62, 58, 54, 52}, 0},
		{"squares", 1, 7, []int64{378, 156, 120, 102, 89, 80, 75}, 0},
		{"squares", 64, 128, nil, 2318784096},
		{"mostly one", 1, 128, []int64{909, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10}, 0},
		{"mostly one", 1, 7, []int64{915, 14, 14, 14, 14, 14, 15}, 0},
		{"mostly one", 64, 128, nil, 1944354620},
		{"one decimal", 1, 128, []int64{109, 108, 81, 108, 81, 108, 108, 81, 108, 108}, 0},
		{"one decimal", 1, 7, []int64{163, 135, 135, 135, 135, 135, 162}, 0},
		{"one decimal", 64, 128, nil, 3492800526},
		{"huge", 1, 128, []int64{100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, 0},
		{"huge", 1, 7, []int64{143, 143, 143, 142, 143, 143, 143}, 0},
		{"huge", 64, 128, nil, 223187584},
	} {
		values := make([]float64, 1000)
		for i := range values {
			values[i] = sets[c.set](i)
		}
		sorted := slices.Sorted(slices.Values(values))
		g := BinLimits{c.least, c.most}.newGrid(sorted[0], sorted[999], 1000, sorted, false)
		counts := make([]int64, g.Count)
		newBinner(g).add(counts, values)
		joined := uint32(0)
		for _, n := range counts {
			joined = joined*31 + uint32(n)
		}
		if c.want != nil && !slices.Equal(counts, c.want) || c.want == nil && (joined != c.joined || g.Count != c.least) {
			t.Errorf("%s, %d to %d bins: %v (%d), want %v (%d)", c.set, c.least, c.most, counts, joined, c.want, c.joined)
		}
	}
}

// TestBinsProperties compares the bins of random values of all magnitudes with slowBins.
func TestBinsProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 2))
	for range 1000 {
		values := make([]float64, 1+random.IntN(300))
		scale, offset := math.Ldexp(1, random.IntN(2120)-1100), float64(random.IntN(3)-1)
		kind := random.IntN(5)
		for i := range values {
			switch kind {
			case 0: // any bits
				values[i] = math.Float64frombits(random.Uint64())
			case 1: // next to each other
				values[i] = math.Float64frombits(math.Float64bits(scale) + uint64(random.IntN(50)))
			case 2: // subnormal
				values[i] = math.Float64frombits(uint64(random.IntN(200)))
			case 3:
				values[i] = scale
			default:
				values[i] = scale * (offset + random.NormFloat64())
			}
			if !(math.Abs(values[i]) <= math.MaxFloat64) {
				values[i] = math.MaxFloat64
			}
		}
		sorted := slices.Sorted(slices.Values(values))
		limits := BinLimits{1 + random.IntN(20), 20 + random.IntN(200)}
		low, high := sorted[0], sorted[len(sorted)-1]
		g := limits.newGrid(low, high, int64(len(values)), sorted, low > 0 && random.IntN(2) == 0)
		if g.Count < 1 || g.Count > limits.Max || (low == high || len(values) < 2) && g.Count != 1 {
			t.Fatalf("%d bins of %d values from %g to %g, want %v", g.Count, len(values), low, high, limits)
		}
		counts := make([]int64, g.Count)
		newBinner(g).add(counts, values)
		if want := slowBins(g, values); !g.Log && !slices.Equal(counts, want) {
			t.Fatalf("%+v: %v, want %v", g, counts, want)
		}
		total := int64(0)
		for _, n := range counts {
			total += n
		}
		if total != int64(len(values)) {
			t.Fatalf("%+v counts %d of %d values", g, total, len(values))
		}
	}
}

// TestPicturesSamples has more errors than are sampled: every k-th error in the order of
// offsets must be in the sample, and the worst ones.
func TestPicturesSamples(t *testing.T) {
	const count = 200000
	random := rand.New(rand.NewPCG(1, 9))
	r, n := make([]float64, count), make([]float64, count)
	var offsets []int64
	for i := range r {
		r[i] = 1 + random.Float64()
		n[i] = r[i]
		if i%3 == 1 {
			n[i] += 1 + random.Float64()*8
			offsets = append(offsets, int64(i))
		}
	}
	n[100] = 1e6 // one of them
	n[count-2] = inf
	ref, npu := store(tensor.Float32, r...), store(tensor.Float32, n...)
	req := Request{Shape: tensor.Shape{count}, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: hpaaLimits}
	p, res := picturesOf(t, req, BinLimits{1, 128}, ref, npu)
	if k := (res.HPAA.Count + maxSampledErrors - 1) / maxSampledErrors; p.Sample.Every != k {
		t.Errorf("every %d, want %d", p.Sample.Every, k)
	}
	sampled := map[int64]SampledError{}
	for _, e := range p.Sample.Errors {
		sampled[e.Offset] = e
	}
	if len(sampled) != len(p.Sample.Errors) || len(sampled) > maxSampledErrors+2*worstSampled {
		t.Errorf("%d samples of %d offsets", len(p.Sample.Errors), len(sampled))
	}
	for k := 0; k < len(offsets); k += int(p.Sample.Every) {
		if _, ok := sampled[offsets[k]]; !ok {
			t.Fatalf("error %d at %d is not sampled", k, offsets[k])
		}
	}
	if e := sampled[100]; e.Abs != 1e6-float64(float32(r[100])) {
		t.Errorf("worst %+v", e)
	}
	sum := func(counts []int64) (total int64) {
		for _, n := range counts {
			total += n
		}
		return total
	}
	if got := [4]int64{sum(p.Values.Ref), sum(p.Values.NPU), sum(p.Diff.Abs.Counts), sum(p.Diff.Rel.Counts)}; got != [4]int64{count, count - 1, int64(len(offsets)), int64(len(offsets))} {
		t.Errorf("counts %v", got)
	}
	if !p.Diff.Abs.Log || p.Sample.NonFiniteErrors != 1 || !p.Sample.IsMarked(int((count-2)/p.Sample.RunLength)) {
		t.Errorf("log %t, %d not finite", p.Diff.Abs.Log, p.Sample.NonFiniteErrors)
	}
}

// TestPicturesOfSample: histograms of a large tensor count the sampled blocks, histograms of
// errors every k-th error; the places of errors come from all elements.
func TestPicturesOfSample(t *testing.T) {
	const rows, columns = 700, 500
	const count = rows * columns
	random := rand.New(rand.NewPCG(3, 5))
	r, n := make([]float64, count), make([]float64, count)
	for i := range r {
		r[i] = float64(float32(random.NormFloat64()))
		n[i] = r[i]
		switch i / columns % 3 {
		case 0:
			n[i] = float64(float32(r[i] + 1 + random.Float64()))
		case 1:
			n[i] = float64(math.Nextafter32(float32(r[i]), 9))
		}
	}
	r[5], n[5] = -40, 40 // whether or not the sample has the first block, the grid covers all elements
	n[columns*3+1] = inf
	ref, npu := store(tensor.Float32, r...), store(tensor.Float32, n...)
	req := Request{Shape: tensor.Shape{rows, columns}, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: hpaaLimits}
	all, res := picturesOf(t, req, BinLimits{1, 64}, ref, npu)
	p, err := usedPool.Pictures(t.Context(), req, res, PictureRequest{BinLimits{1, 64}, true}, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	if all.OfSample != 0 || p.OfSample != noise.SampleElements {
		t.Fatalf("of %d and %d elements", all.OfSample, p.OfSample)
	}
	if diff := gocmp.Diff([]any{all.Maps, all.Window, all.Values.Low, all.Values.High}, []any{p.Maps, p.Window, p.Values.Low, p.Values.High}, cmpopts.IgnoreUnexported(Window{})); diff != "" {
		t.Error(diff)
	}
	strata := noise.NewStrata(count)
	var refs, npus, abs, rel []float64
	var pairs [][2]float64
	ulps := make([]int64, 65)
	errors := int64(0)
	for i, x := range r {
		finite := !math.IsInf(n[i], 0)
		d := math.Abs(n[i] - x)
		if finite && d > hpaaLimits.Atol+hpaaLimits.Rtol*math.Abs(x) {
			if errors%p.Sample.Every == 0 {
				abs, rel = append(abs, d), append(rel, d/math.Abs(x))
			}
			errors++
		}
		if !strata.HasBlock(int64(i)) {
			continue
		}
		refs = append(refs, x)
		if finite {
			npus = append(npus, n[i])
			pairs = append(pairs, [2]float64{x, n[i]})
			ulps[bits.Len64(uint64(max(ordinal(n[i]), ordinal(x))-min(ordinal(n[i]), ordinal(x))))]++
		}
	}
	if len(refs) != noise.SampleElements || errors <= maxSampledErrors {
		t.Fatalf("%d elements, %d errors", len(refs), errors)
	}
	for _, c := range []struct {
		name   string
		grid   Grid
		counts []int64
		values []float64
	}{{"reference", p.Values.Grid(), p.Values.Ref, refs}, {"NPU", p.Values.Grid(), p.Values.NPU, npus}, {"|d|", p.Diff.Abs.Grid(), p.Diff.Abs.Counts, abs}, {"|d|/|r|", p.Diff.Rel.Grid(), p.Diff.Rel.Counts, rel}} {
		if want := slowBins(c.grid, c.values); !slices.Equal(c.counts, want) {
			t.Errorf("%s: %v, want %v", c.name, c.counts, want)
		}
	}
	if g, want := p.Diff.Abs.Grid(), around(p.Diff.Abs.Grid(), abs); g != want {
		t.Errorf("|d| in %+v, want %+v", g, want)
	}
	for i, want := range ulps {
		if got := append(slices.Clone(p.ULP), make([]int64, 65)...)[i]; got != want {
			t.Errorf("ULP %d: %d, want %d", i, got, want)
		}
	}
	if diff := gocmp.Diff(slowDensity(pairs, p.Values.Edges, p.Joint.Count), p.Joint); diff != "" {
		t.Errorf("pairs of values (-want +got):\n%s", diff)
	}
}

// ordinal returns the rank of a float32 among all values, 0 for both zeros.
func ordinal(x float64) int64 {
	code := int64(math.Float32bits(float32(math.Abs(x))))
	if x < 0 {
		return -code
	}
	return code
}

func TestPicturesErrors(t *testing.T) {
	good := store(tensor.Float32, 1, 2, 3)
	req := Request{Shape: tensor.Shape{3}, RefDType: tensor.Float32, NPUDType: tensor.Float32}
	failure := errors.New("disk on fire")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx      context.Context
		ref, npu Reader
		want     error
	}{{t.Context(), broken{failure}, good, failure}, {t.Context(), good, broken{failure}, failure}, {canceled, good, good, context.Canceled}} {
		if p, err := NewPool().Pictures(c.ctx, req, new(Result), PictureRequest{Bins: BinLimits{1, 8}}, c.ref, c.npu); p != nil || !errors.Is(err, c.want) {
			t.Errorf("%v, error %v, want %v", p, err, c.want)
		}
	}
	req.Shape = tensor.Shape{0}
	if p, _ := picturesOf(t, req, BinLimits{1, 8}, memory{nil, 4}, memory{nil, 4}); len(p.Values.Ref) != 0 || len(p.Sample.Errors) != 0 {
		t.Errorf("an empty tensor has %+v", p)
	}
}

func BenchmarkPictures(b *testing.B) {
	ref, npu := sample(1<<20, 1, tensor.Float32, tensor.Float16)
	req := sampleRequest(tensor.Shape{1 << 20})
	res, err := Compare(b.Context(), req, ref, npu)
	if err != nil {
		b.Fatal(err)
	}
	pool := NewPool()
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pool.Pictures(b.Context(), req, res, PictureRequest{Bins: BinLimits{1, 128}}, ref, npu); err != nil {
			b.Fatal(err)
		}
	}
}
