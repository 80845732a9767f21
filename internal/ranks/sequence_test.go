package ranks

import (
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// chain adds operators to a rank, each of which reads what the one before made, in an order of
// their names that is another one.
func chain(b *built, step, rank int, names []string, seed uint64) {
	const d = tensor.Float32
	s := b.step(step)
	s.ordered = map[int]bool{}
	value := func(at int) *Tensor { return of(d, normals(d, seed+uint64(at), 6)...) }
	for at, name := range names {
		b.call(step, rank, name, &Call{In: []*Tensor{value(at)}, Out: []*Tensor{value(at + 1)}})
	}
	slices.SortFunc(s.Calls[rank], func(x, y *Call) int { return slices.Compare([]byte(x.Name), []byte(y.Name)) })
	for rank := range s.Calls {
		s.ordered[rank] = false
	}
}

// TestSequence: operators whose order nobody knows come after those that made what they read.
func TestSequence(t *testing.T) {
	names := []string{"Module.embed.E.forward.0", "Module.layers.0.b.B.forward.0", "Module.layers.0.a.A.forward.0", "Module.final.F.forward.0", "Module.apart.Z.forward.0"}
	b := new(built)
	chain(b, 0, 0, names[:4], 10)
	r := b.run()
	s := r.Steps[0]
	s.putInOrder(&digests{files: new(files)})
	var got []string
	for i, c := range s.inOrder(0) {
		got = append(got, c.Name)
		if c.place != i {
			t.Errorf("%s has the place %d, want %d", c.Name, c.place, i)
		}
	}
	if !slices.Equal(got, names[:4]) || !s.isOrdered() {
		t.Errorf("%q, ordered %v", got, s.isOrdered())
	}
}

// TestNoSequence: operators that read nothing of each other, or only what all have, stay as they
// stand.
func TestNoSequence(t *testing.T) {
	const d = tensor.Float32
	for _, values := range [][]float64{nil, {0, 0, 0}} {
		b := new(built)
		b.step(0).ordered = map[int]bool{0: false}
		for i, name := range []string{"Module.b.B.forward.0", "Module.a.A.forward.0", "Module.c.C.forward.0"} {
			in, out := of(d, normals(d, uint64(i), 3)...), of(d, normals(d, uint64(10+i), 3)...)
			if values != nil {
				in, out = of(d, values...), of(d, values...)
			}
			b.call(0, 0, name, &Call{In: []*Tensor{in}, Out: []*Tensor{out}})
		}
		s := b.run().Steps[0]
		s.putInOrder(&digests{files: new(files)})
		if s.isOrdered() || s.inOrder(0)[0].Name != "Module.b.B.forward.0" {
			t.Errorf("%v: %v", values, s.inOrder(0)[0].Name)
		}
	}
}

// TestCircle: operators that read what each other made all stay, each once.
func TestCircle(t *testing.T) {
	calls := []*Call{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	from := map[*Call][]*Call{calls[0]: {calls[1]}, calls[1]: {calls[2]}, calls[2]: {calls[0]}}
	got := sorted(calls, from)
	if len(got) != 3 || got[0] != calls[2] || got[1] != calls[1] || got[2] != calls[0] {
		t.Error(got)
	}
}
