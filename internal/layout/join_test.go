package layout

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// elementsOf is a Source of two-byte elements in memory.
type elementsOf []byte

func (e elementsOf) ReadElements(dst []byte, first int64) error {
	copy(dst, e[2*first:])
	return nil
}

// cut cuts an axis into runs of random lengths.
func cut(r *rand.Rand, n int64) (runs []Run) {
	for from := int64(0); from < n; {
		k := 1 + r.Int64N(n-from)
		runs = append(runs, Run{from, k})
		from += k
	}
	return runs
}

// TestJoin cuts arrays of random shapes into pieces along all axes, in any order, and reads any
// elements of the joined array.
func TestJoin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		shape := make(tensor.Shape, 1+r.IntN(4))
		for k := range shape {
			shape[k] = 1 + r.Int64N(6)
		}
		want := make([]byte, 2*shape.Elements())
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		pieces := []Piece{{}}
		for k := range shape {
			var next []Piece
			for _, p := range pieces {
				for _, run := range cut(rand.New(rand.NewPCG(seed, uint64(k))), shape[k]) {
					next = append(next, Piece{Shape: append(slices.Clone(p.Shape), run.N), From: append(slices.Clone(p.From), run.From)})
				}
			}
			pieces = next
		}
		for i := range pieces {
			p := &pieces[i]
			data := make(elementsOf, 0, 2*p.Shape.Elements())
			for n := range p.Shape.Elements() { // element by element
				at, stride := int64(0), int64(1)
				for k := len(shape) - 1; k >= 0; k-- {
					at += (p.From[k] + n%p.Shape[k]) * stride
					n /= p.Shape[k]
					stride *= shape[k]
				}
				data = append(data, want[2*at:2*at+2]...)
			}
			p.Source = data
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		joined, err := Join(shape, 2, pieces)
		if err != nil {
			t.Fatal(seed, err)
		}
		first := r.Int64N(shape.Elements())
		got := make([]byte, 2*(shape.Elements()-first))
		if err := joined.ReadElements(got, first); err != nil || !slices.Equal(got, want[2*first:]) {
			t.Fatalf("%d: %v of %d pieces from %d on: %v", seed, shape, len(pieces), first, err)
		}
	}
}

// TestJoinNothing joins pieces that do not tile the array.
func TestJoinNothing(t *testing.T) {
	piece := func(from, n int64) Piece {
		return Piece{Source: make(elementsOf, 2*n), Shape: tensor.Shape{n}, From: []int64{from}}
	}
	for want, pieces := range map[string][]Piece{
		"a piece of shape (1, 1) in (4,)":                         {{Shape: tensor.Shape{1, 1}, From: []int64{0, 0}}},
		"axis 0: positions from 3 on, 2 of them, want some of 4":  {piece(0, 3), piece(3, 2)},
		"axis 0: positions from -1 on, 2 of them, want some of 4": {piece(-1, 2)},
		"pieces of 3 elements, want the 4 of (4,)":                {piece(0, 3)},
	} {
		if _, err := Join(tensor.Shape{4}, 2, pieces); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	twice, err := Join(tensor.Shape{4}, 2, []Piece{piece(0, 2), piece(0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if err := twice.ReadElements(make([]byte, 8), 0); err == nil || !strings.Contains(err.Error(), "no piece has [2] of (4,)") {
		t.Error(err)
	}
}
