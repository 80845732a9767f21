package trace_test

import (
	"slices"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestFindParameters: if a dump has no parameters, they are the inputs after the first that no call of the rank
// wrote, and that are neither indices nor single numbers.
func TestFindParameters(t *testing.T) {
	const d = tensor.Float32
	value := func(seed uint64, n int) *trace.Tensor { return ranktest.Of(d, ranktest.Normals(d, seed, n)...) }
	indices := ranktest.IntTensor(tensor.Shape{6}, []int32{0, 1, 2, 3, 4, 5})
	list := func(all ...*trace.Tensor) []*trace.Tensor { return all }
	for _, test := range []struct {
		name   string
		params bool // another call of the step has parameters
		in     []*trace.Tensor
		want   []string
	}{
		{"the first input is data", false, list(value(1, 6)), nil},
		{"a weight and a bias", false, list(value(1, 6), value(50, 6), value(51, 3)), []string{"input 1", "input 2"}},
		{"what another call wrote", false, list(value(1, 6), value(2, 6), value(50, 6)), []string{"input 2"}},
		{"what a communication gave", false, list(value(1, 6), value(3, 6)), nil},
		{"indices", false, list(value(1, 6), indices), nil},
		{"one number", false, list(value(1, 6), value(50, 1)), nil},
		{"the dump has parameters", true, list(value(1, 6), value(50, 6)), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := new(ranktest.Built)
			c := b.Call(0, 0, "MatMul", &trace.Call{In: test.in})
			if test.params {
				b.Call(0, 1, "Linear", &trace.Call{Params: list(value(60, 6))})
			}
			// Written later in the list, since the order of a dump may be unknown.
			b.Call(0, 0, "Before", &trace.Call{Out: list(value(2, 6))})
			b.Comm(0, 0, "all_reduce", []int{0, 1}, list(value(4, 6)), list(value(3, 6)), nil)
			s := b.Run().Steps[0]
			for range 2 { // a second call finds nothing more
				s.FindParameters(&trace.Digests{Files: new(trace.Files)})
			}
			var got []string
			for _, p := range c.Params {
				got = append(got, p.Label())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if n := len(c.Tensors()); n != len(test.in) {
				t.Errorf("%d tensors, want %d: a parameter among the inputs counts once", n, len(test.in))
			}
		})
	}
	named := &trace.Call{Params: list(value(1, 6))}
	named.Params[0].Call, named.Params[0].Path = named, "weight"
	if got := named.Params[0].Label(); got != "weight" {
		t.Errorf("a parameter with a name is %q", got)
	}
}
