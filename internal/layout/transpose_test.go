package layout

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

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
