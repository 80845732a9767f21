package locate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// random is an array of normal numbers.
func random(seed uint64, shape ...int) *Array {
	g := rand.New(rand.NewPCG(seed, 3))
	a := &Array{Shape: shape}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for range n {
		a.Values = append(a.Values, float32(g.NormFloat64()))
	}
	return a
}

// noisy adds rounding noise to an array.
func noisy(a *Array, seed uint64, by float64) *Array {
	g := rand.New(rand.NewPCG(seed, 5))
	b := &Array{Shape: a.Shape, Values: slices.Clone(a.Values), Exact: a.Exact}
	for i := range b.Values {
		b.Values[i] *= float32(1 + by*g.NormFloat64())
	}
	return b
}

// pick returns the index of the runs.
func pick(runs ...Run) (x Index) {
	for _, r := range runs {
		for i := range r.N {
			x = append(x, r.From+i)
		}
	}
	return x
}

// TestFind: common ways to cut tensors, with the noise of another device.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int
		axis  int
		index Index
		kind  Kind
	}{
		{"columns of a linear", []int{64, 24}, 0, pick(Run{16, 16}), Block},
		{"rows of a linear", []int{24, 64}, 1, pick(Run{48, 16}), Block},
		{"gate and up", []int{96, 24}, 0, pick(Run{12, 12}, Run{60, 12}), Fused2},
		{"q, k and v", []int{96, 24}, 0, pick(Run{16, 16}, Run{68, 4}, Run{84, 4}), Fused3},
		{"zig-zag of a context", []int{32, 2, 16}, 0, pick(Run{4, 4}, Run{24, 4}), Zigzag},
		{"zig-zag of four, cut for sequence parallel", []int{64, 1, 16}, 0, pick(Run{8, 8}), Block},
		{"a batch", []int{8, 4, 16}, 1, pick(Run{2, 2}), Block},
		{"heads", []int{8, 2, 16, 4}, 2, pick(Run{4, 4}), Block},
		{"tokens of experts", []int{40, 16}, 0, Index{3, 17, 9, 30, 1, 22, 8, 35, 5, 12}, Permuted},
		{"four blocks", []int{64, 16}, 0, pick(Run{0, 4}, Run{20, 4}, Run{32, 4}, Run{52, 4}), Blocks},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := random(1, c.shape...)
			part := noisy(Take(whole, c.axis, c.index), 2, 0.01)
			m, ok := Find(part, whole, nil)
			if !ok || m.Score < doubleVote || !slices.Equal(m.Axes[c.axis], c.index) || m.Axes[c.axis].Kind(c.shape[c.axis]) != c.kind {
				t.Errorf("%v %v, want %v: %s", ok, m, c.index, m.Axes[c.axis].Kind(c.shape[c.axis]))
			}
			if got := m.Part(whole); !slices.Equal(got.Shape, part.Shape) || Distance(part.Values, got.Values) > 0.05 {
				t.Error("the part of the map is another one")
			}
		})
	}
}

// TestSeveralAxes: parts that are cut along two axes, the second by an index known from elsewhere or into equal
// blocks.
func TestSeveralAxes(t *testing.T) {
	whole := random(1, 32, 4, 24)
	zigzag := pick(Run{0, 4}, Run{28, 4})
	heads := pick(Run{12, 12})
	part := noisy(Take(Take(whole, 0, zigzag), 2, heads), 2, 0.01)
	m, ok := Find(part, whole, nil)
	if !ok || !slices.Equal(m.Axes[0], zigzag) || !slices.Equal(m.Axes[2], heads) || m.Axes[1] != nil {
		t.Error(ok, m)
	}
	odd := pick(Run{3, 5}, Run{11, 7})
	part = noisy(Take(Take(whole, 0, zigzag), 2, odd), 2, 0.01)
	if m, ok := Find(part, whole, []KnownIndex{{odd, 24}}); !ok || !slices.Equal(m.Axes[0], zigzag) || !slices.Equal(m.Axes[2], odd) {
		t.Error(ok, m)
	}
}

// TestPadding: the last rank has vocabulary rows that the reference does not have. A key head that several ranks
// share is a block of each.
func TestPadding(t *testing.T) {
	whole := random(1, 90, 16)
	part := Take(whole, 0, pick(Run{72, 18}))
	part.Shape[0] = 24
	part.Values = append(part.Values, make([]float32, 6*16)...)
	m, ok := Find(part, whole, nil)
	want := append(pick(Run{72, 18}), Padding, Padding, Padding, Padding, Padding, Padding)
	if !ok || !slices.Equal(m.Axes[0], want) || m.Axes[0].Kind(90) != BlockPad {
		t.Error(ok, m)
	}
}

// TestNowhere: values that match nothing in the reference are not found. The map of other roles is assumed only if
// each axis has one.
func TestNowhere(t *testing.T) {
	whole, other := random(1, 64, 16), random(2, 16, 16)
	if m, ok := Find(other, whole, nil); ok {
		t.Error(m)
	}
	for _, part := range []*Array{random(1, 64), {Shape: []int{0, 16}}, random(3, 64, 16)} {
		if m, ok := Find(part, whole, nil); ok {
			t.Error(part.Shape, m)
		}
	}
	l := new(Learner)
	if r := l.Learn([]Pair{{other, whole}}); r.Found {
		t.Error(r)
	}
	part := Take(whole, 0, pick(Run{16, 16}))
	if r := l.Learn([]Pair{{part, whole}, {other, whole}, {part, whole}}); !r.Found || r.Assumed || r.Instances != 2 || !slices.Equal(r.Axes[0], pick(Run{16, 16})) {
		t.Error(r)
	}
	if r := l.Learn([]Pair{{other, whole}}); !r.Found || !r.Assumed || !slices.Equal(r.Axes[0], pick(Run{16, 16})) {
		t.Error(r)
	}
}

// TestDamagedRuns: if one layer surely has runs of equal lengths, irregular runs of layers in which a slice holds the
// values of another slice are dropped. Without such a layer they are kept.
func TestDamagedRuns(t *testing.T) {
	healthy, damaged := pick(Run{0, 4}, Run{12, 4}), pick(Run{0, 5}, Run{13, 3})
	var layers []Pair
	for layer := range uint64(4) {
		whole, index := random(layer+1, 16, 16), damaged
		if layer == 2 {
			index = healthy
		}
		layers = append(layers, Pair{noisy(Take(whole, 0, index), layer, 1e-3), whole})
	}
	if r := new(Learner).Learn(layers); !r.Found || r.Instances != 1 || !slices.Equal(r.Axes[0], healthy) {
		t.Errorf("%+v", r)
	}
	if r := new(Learner).Learn(layers[:2]); !r.Found || r.Instances != 2 || !slices.Equal(r.Axes[0], damaged) {
		t.Errorf("without a healthy layer: %+v", r)
	}
}

// TestIntegers: tokens, also repeated ones, are found exactly or not at all.
func TestIntegers(t *testing.T) {
	whole := &Array{Shape: []int{4, 8}, Exact: true}
	for i := range 32 {
		whole.Values = append(whole.Values, float32(i*7%13))
	}
	part := Take(whole, 0, pick(Run{2, 2}))
	if m, ok := Find(part, whole, nil); !ok || !slices.Equal(m.Axes[0], pick(Run{2, 2})) {
		t.Error(ok, m)
	}
	part.Values[3]++
	if m, ok := Find(part, whole, nil); ok && m.Score == 1 {
		t.Error(m)
	}
}

// TestRandomRuns: random runs of slices are found again.
func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(8, 60).Draw(rt, "slices")
		whole := random(rapid.Uint64().Draw(rt, "seed"), n, rapid.IntRange(12, 40).Draw(rt, "columns"))
		var x Index
		for at := 0; at < n; {
			from := at + rapid.IntRange(0, 6).Draw(rt, "gap")
			to := min(n, from+rapid.IntRange(1, 8).Draw(rt, "run"))
			for i := from; i < to; i++ {
				x = append(x, i)
			}
			at = max(to, from) + 1
		}
		if len(x) == 0 || len(x) == n {
			return
		}
		part := noisy(Take(whole, 0, x), 9, 0.004)
		if got, score := Match(part, whole, 0); !slices.Equal(got, x) || score < 1 {
			rt.Fatalf("%v %v, want %v", got, score, x)
		}
	})
}

// TestFewSlices: slices may have equal projections; their values decide.
func TestFewSlices(t *testing.T) {
	fused, block := pick(Run{0, 12}, Run{24, 12}), pick(Run{0, 24})
	for seed := range uint64(300) {
		whole := random(seed, 8, 48)
		part := noisy(Take(Take(whole, 0, pick(Run{0, 1})), 1, block), seed, 0.01)
		m, ok := Find(part, whole, []KnownIndex{{fused, 48}, {block, 48}})
		if !ok || !slices.Equal(m.Axes[1], block) || !slices.Equal(m.Axes[0], pick(Run{0, 1})) {
			t.Errorf("seed %d: %v %v", seed, m, ok)
		}
	}
}

// TestBadNumbers: NaN and infinities hide only their own slice.
func TestBadNumbers(t *testing.T) {
	whole := random(1, 40, 32)
	part := Take(whole, 0, pick(Run{10, 20}))
	part.Values[5*32+3] = float32(math.NaN())
	part.Values[9*32+1] = float32(math.Inf(1))
	m, ok := Find(part, whole, nil)
	if !ok || !slices.Equal(m.Axes[0], pick(Run{10, 20})) {
		t.Error(ok, m)
	}
}

// TestByChance: integers in single slices are found if the slices are unique, and not if others are equal. Long runs
// are found.
func TestByChance(t *testing.T) {
	different := &Array{Shape: []int{12, 1}, Exact: true}
	repeated := &Array{Shape: []int{12, 1}, Exact: true}
	for i := range 12 {
		different.Values, repeated.Values = append(different.Values, float32(7*i)), append(repeated.Values, float32(i%3))
	}
	apart, long := pick(Run{1, 1}, Run{5, 1}, Run{9, 1}), pick(Run{2, 6})
	for _, c := range []struct {
		x     Index
		whole *Array
		want  bool
	}{{apart, different, false}, {apart, repeated, true}, {long, different, false}, {long, repeated, false}} {
		m := Map{Axes: []Index{c.x, nil}, Score: 1}
		if got := m.isAmbiguous(c.whole); got != c.want {
			t.Errorf("%v of %v: %v", c.x, c.whole.Values, got)
		}
	}
}

// TestRowsByChance: a row with the projections of another row is not matched with it. The test adds a vector
// orthogonal to all directions (Gram-Schmidt), which changes the values but not the projections.
func TestRowsByChance(t *testing.T) {
	const columns = 32
	unseen := make([]float64, columns)
	for i := range unseen {
		unseen[i] = float64(i%5) - 1.7
	}
	var basis [][]float64
	for p := range projections {
		v := make([]float64, columns)
		for i := range v {
			v[i] = projectionVector(i)[p]
		}
		for _, b := range basis {
			subtract(v, b)
		}
		basis = append(basis, v)
	}
	for _, b := range basis {
		subtract(unseen, b)
	}
	whole := &Array{Shape: []int{6, columns}}
	for i := range 6 * columns {
		whole.Values = append(whole.Values, float32(math.Sin(float64(i*i+1))))
	}
	part := &Array{Shape: []int{6, columns}, Values: slices.Clone(whole.Values)}
	if m, ok := Rows(part, whole); !ok || m.Score != 1 {
		t.Fatalf("the same rows: found %v of score %v", m.Axes, m.Score)
	}
	for i, v := range unseen {
		part.Values[2*columns+i] += float32(v)
	}
	m, ok := Rows(part, whole)
	want := Index{0, 1, Unmatched, 3, 4, 5}
	if !ok || !slices.Equal(m.Axes[0], want) {
		t.Errorf("found %v, want %v", m.Axes[0], want)
	}
	part.Values[4*columns] = float32(math.NaN())
	if m, _ := Rows(part, whole); !slices.Equal(m.Axes[0], want) {
		t.Errorf("with a NaN: found %v, want %v", m.Axes[0], want)
	}
}

// subtract subtracts from a vector its component along another vector.
func subtract(v, along []float64) {
	var dot, size float64
	for i := range v {
		dot += v[i] * along[i]
		size += along[i] * along[i]
	}
	for i := range v {
		v[i] -= dot / size * along[i]
	}
}
