package layout

import (
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// TestPick compares every read of a selection by runs with reads of single positions.
func TestPick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		got, axes := make(tensor.Shape, rank), make([][]Run, rank)
		where := []int64{0} // offsets in the array of the elements of the result
		want := make(tensor.Shape, rank)
		for k := range got {
			got[k] = rapid.Int64Range(1, 9).Draw(t, "size")
			positions := []int64{}
			if rapid.Bool().Draw(t, "all") {
				for i := range got[k] {
					positions = append(positions, i)
				}
			} else {
				axes[k] = []Run{}
				for range rapid.IntRange(0, 4).Draw(t, "runs") {
					from := rapid.Int64Range(0, got[k]).Draw(t, "from")
					n := rapid.Int64Range(0, got[k]-from).Draw(t, "n")
					axes[k] = append(axes[k], Run{from, n})
					for i := range n {
						positions = append(positions, from+i)
					}
				}
			}
			want[k] = int64(len(positions))
			next := []int64{}
			for _, at := range where {
				for _, i := range positions {
					next = append(next, at*got[k]+i)
				}
			}
			where = next
		}
		stored := make([]byte, got.Elements())
		for i := range stored {
			stored[i] = byte(i)
		}
		p, err := Pick(got, axes)
		if err != nil || !p.Shape.Equal(want) {
			t.Fatalf("%v of %v: %v, %v, want %v", axes, got, p, err, want)
		}
		r, err := p.Reader(&memory{data: stored, unit: 1}, 1, &Buffers{sizes: sizes{minTile: 4, maxTile: 16, goodRun: 4, gap: 2}})
		if err != nil {
			t.Fatal(err)
		}
		first := rapid.IntRange(0, len(where)).Draw(t, "first")
		out := make([]byte, rapid.IntRange(0, len(where)-first).Draw(t, "count"))
		if err := r.ReadElements(out, int64(first)); err != nil {
			t.Fatal(err)
		}
		for i, b := range out {
			if at := where[first+i]; b != byte(at) {
				t.Fatalf("%v of %v: element %d is that at %d, want %d", axes, got, first+i, b, at)
			}
		}
	})
}

// TestPickOutside: runs have to lie in their axes.
func TestPickOutside(t *testing.T) {
	for _, axes := range [][][]Run{{}, {{{-1, 1}}}, {{{0, 4}}}, {{{3, 1}}}, {{{2, -1}}}, {{{0, 1}}, nil}} {
		if p, err := Pick(tensor.Shape{3}, axes); err == nil {
			t.Errorf("%v of 3 positions: %v, want an error", axes, p)
		}
	}
}
