package noise

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPacked: what is packed is unpacked as it was, all fields of it.
func TestPacked(t *testing.T) {
	next := 0.0
	number := func() float64 { next++; return next * math.Pi }
	column := func(bins int) []float32 {
		all := make([]float32, bins)
		for i := range all {
			all[i] = float32(number())
		}
		return all
	}
	groups := func(bins int) Groups {
		g := Groups{Count: int64(number()), Size: int64(number()), Fold: int64(number())}
		for _, c := range g.columns() {
			*c = column(bins)
		}
		return g
	}
	full := &Noise{Type: Type{Name: "bfloat16", Mantissa: 7, MinExp: -126, Integer: true}, Shape: tensor.Shape{3, 1 << 40}, Elements: 3 << 40, Count: 7,
		Bits: 5, Constant: true, Softmax: true, NonFinite: 2, Overflows: math.MaxInt64, Rows: groups(3), Channels: groups(5)}
	for _, x := range full.numbers() {
		*x = number()
	}
	full.Scale, full.View = -1e-300, math.Inf(1)
	full.Probe = Probe{Values: column(11), RowMean: []float64{number(), number()}, RowStd: []float64{number(), number()}}
	empty := &Noise{Rows: groups(0), Channels: groups(0)}
	for name, n := range map[string]*Noise{"full": full, "empty": empty} {
		if diff := cmp.Diff(n, n.Pack().Unpack()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if (*Noise)(nil).Pack() != "" || Packed("").Unpack() != nil {
		t.Error("nothing is packed as something")
	}
	// A tiny pair has to take little: a run keeps all of them.
	if tiny := (&Noise{Type: full.Type, Shape: tensor.Shape{4, 16}, Rows: groups(4), Channels: groups(16)}); len(tiny.Pack()) > 1<<10 {
		t.Errorf("a pair of 20 groups takes %d bytes, want at most 1024", len(tiny.Pack()))
	}
}

// TestPackedBits: numbers of any size, sign and kind come back bit by bit.
func TestPackedBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins := [2]int{rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(0, 20).Draw(t, "channels")}
		some := rapid.SampledFrom([]*rapid.Generator[float32]{
			rapid.Map(rapid.Uint32(), math.Float32frombits),
			rapid.Float32Range(0, 1),
			rapid.Map(rapid.Int16(), func(k int16) float32 { return float32(k) / 256 }),
			rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1e9, float32(math.Inf(1)), float32(math.NaN())}),
		})
		column := func(n int) []float32 {
			of, all := some.Draw(t, "of"), make([]float32, n)
			for i := range all {
				all[i] = of.Draw(t, "number")
			}
			return all
		}
		n := &Noise{Type: Type{Name: "float16"}, Probe: Probe{Values: column(rapid.IntRange(1, 64).Draw(t, "probed"))}}
		for i, g := range []*Groups{&n.Rows, &n.Channels} {
			for _, c := range g.columns() {
				*c = column(bins[i])
			}
		}
		for _, x := range n.numbers() {
			*x = rapid.OneOf(rapid.Map(rapid.Uint64(), math.Float64frombits), rapid.Map(rapid.Float32(), func(x float32) float64 { return float64(x) })).Draw(t, "number")
		}
		got := n.Pack().Unpack()
		for i, x := range got.numbers() {
			if want := *n.numbers()[i]; math.Float64bits(*x) != math.Float64bits(want) {
				t.Fatalf("number %d is %x, want %x", i, *x, want)
			}
		}
		same := func(name string, got, want []float32) {
			if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				t.Fatalf("%s is %v, want %v", name, got, want)
			}
		}
		for i, g := range []*Groups{&got.Rows, &got.Channels} {
			for k, c := range g.columns() {
				same(fmt.Sprintf("column %d of groups %d", k, i), *c, *[]*Groups{&n.Rows, &n.Channels}[i].columns()[k])
			}
		}
		same("the probe", got.Probe.Values, n.Probe.Values)
	})
}
