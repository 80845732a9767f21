package noise

import (
	"math"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
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
