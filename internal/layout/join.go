package layout

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Piece is a dense array and its place in a larger one.
type Piece struct {
	Source Source
	Shape  tensor.Shape
	From   []int64 // its first position in the larger array, by axis

	strides []int64
	run     int64 // elements that are contiguous in both arrays
}

// joinedSource reads pieces as the array that they compose.
type joinedSource struct {
	shape  tensor.Shape
	unit   int
	pieces []Piece
	at     []int64
}

// Join reads pieces as the dense array that they compose, of elements of unit bytes. It serves one
// goroutine.
func Join(whole tensor.Shape, unit int, pieces []Piece) (Source, error) {
	var n int64
	for i := range pieces {
		p := &pieces[i]
		if len(p.Shape) != len(whole) || len(p.From) != len(whole) {
			return nil, lang.Errorf("a piece of shape %v in %v", p.Shape, whole)
		}
		p.strides, p.run = p.Shape.Strides(), 1
		inside := true // the piece spans all axes visited so far
		for k := len(whole) - 1; k >= 0; k-- {
			if p.From[k] < 0 || p.Shape[k] > whole[k]-p.From[k] {
				return nil, lang.Errorf("axis %d: positions from %d on, %d of them, want some of %d", k, p.From[k], p.Shape[k], whole[k])
			}
			if inside {
				p.run *= p.Shape[k]
			}
			inside = inside && p.Shape[k] == whole[k]
		}
		n += p.Shape.Elements()
	}
	if n != whole.Elements() {
		return nil, lang.Errorf("pieces of %d elements, want the %d of %v", n, whole.Elements(), whole)
	}
	return &joinedSource{whole, unit, pieces, make([]int64, len(whole))}, nil
}

// ReadElements fills dst with the elements from first on.
func (j *joinedSource) ReadElements(dst []byte, first int64) error {
	for len(dst) > 0 {
		rest := first
		for k := len(j.at) - 1; k >= 0; k-- {
			j.at[k] = rest % j.shape[k]
			rest /= j.shape[k]
		}
		p, offset := j.pieceAt()
		if p == nil {
			return lang.Errorf("no piece has %v of %v", j.at, j.shape)
		}
		n := min(p.run-offset%p.run, int64(len(dst)/j.unit))
		if err := p.Source.ReadElements(dst[:n*int64(j.unit)], offset); err != nil {
			return err
		}
		dst, first = dst[n*int64(j.unit):], first+n
	}
	return nil
}

// pieceAt returns the piece with the position j.at and the offset of the element in it.
func (j *joinedSource) pieceAt() (*Piece, int64) {
next:
	for i := range j.pieces {
		p, offset := &j.pieces[i], int64(0)
		for k, at := range j.at {
			if at < p.From[k] || at-p.From[k] >= p.Shape[k] {
				continue next
			}
			offset += (at - p.From[k]) * p.strides[k]
		}
		return p, offset
	}
	return nil, 0
}
