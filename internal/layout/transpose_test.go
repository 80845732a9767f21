package layout

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestTransposeFours compares the loop without vectors with transpose16, which has them.
func TestTransposeFours(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for range 1000 {
		rows, cols := 1+random.Int64N(40), 1+random.Int64N(40)
		step, out := 2*(cols+random.Int64N(20)), 2*(rows+random.Int64N(20))
		src := make([]byte, (rows-1)*step+2*cols)
		for i := range src {
			src[i] = byte(random.Uint32())
		}
		dst, want := make([]byte, (cols-1)*out+2*rows), make([]byte, (cols-1)*out+2*rows)
		transposeFours(dst, src, rows, cols, step, out)
		transpose16(want, src, rows, cols, step/2, out/2)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%d x %d elements, %d and %d bytes apart, differ", rows, cols, step, out)
		}
	}
}

// TestPlaneTranspose compares with a loop over elements, in slices that end with the last element,
// and checks that bytes between the columns stay.
func TestPlaneTranspose(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for round := range 3000 {
		unit := []int{1, 2, 4, 8, 3}[random.IntN(5)]
		u := int64(unit)
		rows, cols := 1+random.Int64N(40), 1+random.Int64N(40)
		devStride, hostStride := cols+random.Int64N(20), rows+random.Int64N(20)
		src := make([]byte, ((rows-1)*devStride+cols)*u)
		for i := range src {
			src[i] = byte(random.Uint32())
		}
		dst := bytes.Repeat([]byte{0xa5}, int(((cols-1)*hostStride+rows)*u))
		want := bytes.Clone(dst)
		for r := range rows {
			for c := range cols {
				copy(want[(c*hostStride+r)*u:][:u], src[(r*devStride+c)*u:])
			}
		}
		p := plane{unit: unit}
		p.transpose(dst, src, rows, cols, devStride, hostStride)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%d: %d x %d elements of %d bytes, strides %d and %d, are not transposed", round, rows, cols, unit, devStride, hostStride)
		}
	}
}
