package noise

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
)

// noiseOf is noise with numbers in all of its fields.
func noiseOf(t testing.TB) *Noise {
	t.Helper()
	next := 0.0
	number := func() float64 { next++; return next * math.Pi }
	column := func(bins int) []float32 {
		all := make([]float32, bins)
		for i := range all {
			all[i] = float32(number())
		}
		return all
	}
	groups := func(count, size, fold int64, bins int) Groups {
		g := Groups{Count: count, Size: size, Fold: fold}
		for _, c := range g.columns() {
			*c = column(bins)
		}
		return g
	}
	typ, ok := TypeOf(tensor.BFloat16)
	if !ok {
		t.Fatal("no bfloat16")
	}
	n := &Noise{Type: typ, Shape: tensor.Shape{3, 5}, Elements: 15, Count: 14, Bits: 5, Constant: true, Softmax: true, NonFinite: 2, Overflows: 3,
		Rows: groups(3, 5, 1, 3), Channels: groups(5, 3, 2, 3)}
	for _, x := range n.numbers()[1:] {
		*x = number()
	}
	n.Scale, n.View, n.P90 = -1e-300, math.Inf(1), math.Copysign(0, -1)
	n.Probe = Probe{Values: column(15), RowMean: []float64{number(), number(), math.Inf(-1)}, RowStd: []float64{number(), number(), number()}}
	return n
}

// TestJSON: what is written is read as it was, to the last bit, and nothing else is read.
func TestJSON(t *testing.T) {
	for name, n := range map[string]*Noise{"full": noiseOf(t), "empty": {Type: noiseOf(t).Type, Shape: tensor.Shape{0, 4}}} {
		data, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		got := new(Noise)
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		if got.Pack() != n.Pack() {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(n, got))
		}
	}
	data, err := json.Marshal(noiseOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, to, want string }{
		{`"bfloat16"`, `"bfloat17"`, `noise of the type "bfloat17"`},
		{`"bfloat16"`, `"complex64"`, `noise of the type "complex64"`},
		{`"numbers":[`, `"numbers":[1,`, "noise of 21 numbers, want 20"},
		{`"inf"`, `"infinite"`, `"infinite" is no number`},
		{`"shape":[3,5]`, `"shape":[3,6]`, "noise of 14 pairs of 15 elements in the shape"},
		{`"shape":[3,5]`, `"shape":[-3,-5]`, "in the shape"},
		{`"count":14`, `"count":16`, "noise of 16 pairs of 15 elements"},
		{`"rows":{"count":3`, `"rows":{"count":2`, "27 numbers of 2 groups"},
		{`"fold":2`, `"fold":0`, "3 bins of 5 groups, 0 in a bin"},
		{`"fold":2`, `"fold":-1`, "-1 in a bin"},
		{`"probe":"`, `"probe":"AAAAAAAAAAAAAAAA`, "probe of 18 elements, want 15"},
		{`"probe":"`, `"probe":"@`, "illegal base64"},
		{`"row_mean":[`, `"row_mean":[1,`, "probe of rows without both of their numbers"},
	} {
		if !strings.Contains(string(data), tt.from) {
			t.Fatalf("no %s in %s", tt.from, data)
		}
		if err := json.Unmarshal([]byte(strings.Replace(string(data), tt.from, tt.to, 1)), new(Noise)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.to, err, tt.want)
		}
	}
}
