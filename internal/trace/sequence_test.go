package trace_test

import (
	"slices"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// chain adds operators to a rank, each of which reads the output of the previous one, in another order than their
// names.
func chain(b *ranktest.Built, step, rank int, names []string, seed uint64) {
	const d = tensor.Float32
	s := b.Step(step)
	s.Ordered = map[int]bool{}
	value := func(at int) *trace.Tensor { return ranktest.Of(d, ranktest.Normals(d, seed+uint64(at), 6)...) }
	for at, name := range names {
		b.Call(step, rank, name, &trace.Call{In: []*trace.Tensor{value(at)}, Out: []*trace.Tensor{value(at + 1)}})
	}
	slices.SortFunc(s.Calls[rank], func(x, y *trace.Call) int { return slices.Compare([]byte(x.Name), []byte(y.Name)) })
	for rank := range s.Calls {
		s.Ordered[rank] = false
	}
}

// TestSequence: operators of unknown order come after the producers of their inputs.
func TestSequence(t *testing.T) {
	names := []string{"Module.embed.E.forward.0", "Module.layers.0.b.B.forward.0", "Module.layers.0.a.A.forward.0", "Module.final.F.forward.0", "Module.apart.Z.forward.0"}
	b := new(ranktest.Built)
	chain(b, 0, 0, names[:4], 10)
	r := b.Run()
	s := r.Steps[0]
	s.PutInOrder(&trace.Digests{Files: new(trace.Files)})
	var got []string
	for i, c := range s.OrderedCalls(0) {
		got = append(got, c.Name)
		if c.Place != i {
			t.Errorf("%s has the place %d, want %d", c.Name, c.Place, i)
		}
	}
	if !slices.Equal(got, names[:4]) || !s.IsOrdered() {
		t.Errorf("%q, ordered %v", got, s.IsOrdered())
	}
}

// TestNoSequence: operators that read nothing of each other, or only common tensors, keep their order.
func TestNoSequence(t *testing.T) {
	const d = tensor.Float32
	for _, values := range [][]float64{nil, {0, 0, 0}} {
		b := new(ranktest.Built)
		b.Step(0).Ordered = map[int]bool{0: false}
		for i, name := range []string{"Module.b.B.forward.0", "Module.a.A.forward.0", "Module.c.C.forward.0"} {
			in, out := ranktest.Of(d, ranktest.Normals(d, uint64(i), 3)...), ranktest.Of(d, ranktest.Normals(d, uint64(10+i), 3)...)
			if values != nil {
				in, out = ranktest.Of(d, values...), ranktest.Of(d, values...)
			}
			b.Call(0, 0, name, &trace.Call{In: []*trace.Tensor{in}, Out: []*trace.Tensor{out}})
		}
		s := b.Run().Steps[0]
		s.PutInOrder(&trace.Digests{Files: new(trace.Files)})
		if s.IsOrdered() || s.OrderedCalls(0)[0].Name != "Module.b.B.forward.0" {
			t.Errorf("%v: %v", values, s.OrderedCalls(0)[0].Name)
		}
	}
}

// TestUnplaced: the position of a call is a guess if no call of the rank wrote some input. Inputs of equal elements
// do not count.
func TestUnplaced(t *testing.T) {
	const d = tensor.Float32
	value := func(seed uint64) *trace.Tensor { return ranktest.Of(d, ranktest.Normals(d, seed, 6)...) }
	list := func(all ...*trace.Tensor) []*trace.Tensor { return all }
	b := new(ranktest.Built)
	b.Step(0).Ordered = map[int]bool{0: false}
	want := map[string]bool{"first": true, "second": false, "keys of another rank": true, "zeros": false}
	b.Call(0, 0, "first", &trace.Call{In: list(value(1)), Out: list(value(2))})
	b.Call(0, 0, "second", &trace.Call{In: list(value(2)), Out: list(value(3))})
	b.Call(0, 0, "keys of another rank", &trace.Call{In: list(value(3), value(90)), Out: list(value(4))})
	b.Call(0, 0, "zeros", &trace.Call{In: list(value(4), ranktest.Of(d, 0, 0, 0, 0, 0, 0)), Out: list(value(5))})
	s := b.Run().Steps[0]
	s.PutInOrder(&trace.Digests{Files: new(trace.Files)})
	for _, c := range s.OrderedCalls(0) {
		if c.Unplaced != want[c.Name] {
			t.Errorf("%s: unplaced %v, want %v", c.Name, c.Unplaced, want[c.Name])
		}
	}
}
