package hpaa

import (
	"context"
	"fmt"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// joinPlan is a plan to join the pieces of an output.
type joinPlan struct {
	pieces []*openPiece // in their order on the axis
	axis   int
	dtype  tensor.DType
	shape  tensor.Shape // of the result
	// The output has rows rows, each a sequence of the pieces. Piece i has lengths[i] elements per
	// row; the result keeps the first keptLengths[i] of them.
	rows                 int64
	lengths, keptLengths []int64
	cropped              int64 // elements cut off the axis
	note                 string
}

// chooseAxis returns the axis on which pieces of a shape are joined: axis, or for -1 the first
// axis whose length is not 1.
func chooseAxis(axis int, shape tensor.Shape) int {
	if axis >= 0 {
		return axis
	}
	return max(0, slices.IndexFunc(shape, func(n int64) bool { return n != 1 }))
}

// checkNumbers returns an error if a number of the pieces is missing or repeated.
func checkNumbers(pieces []*Piece) *PieceError {
	sorted := slices.SortedStableFunc(slices.Values(pieces), func(a, b *Piece) int { return a.Number - b.Number })
	next, last := 0, sorted[len(sorted)-1].Number
	var duplicate *PieceError
	for i, p := range sorted {
		switch {
		case p.Number > next:
			return &PieceError{MissingPiece, lang.Say("piece %d of 0 to %d is missing", next, last)}
		case p.Number < next && duplicate == nil:
			duplicate = &PieceError{DuplicatePiece, lang.Say("duplicate piece %d: %s and %s", p.Number, sorted[i-1].File, p.File)}
		case p.Number == next:
			next++
		}
	}
	return duplicate
}

// planPieces plans how pieces are joined; their numbers must be complete from 0.
func planPieces(pieces []*openPiece, defaultAxis int) (*joinPlan, *PieceError) {
	pieces = slices.SortedStableFunc(slices.Values(pieces), func(a, b *openPiece) int { return a.Number - b.Number })
	first := pieces[0]
	axis, axisPiece := defaultAxis, (*openPiece)(nil)
	model := first
	for _, p := range pieces {
		switch {
		case p.Axis == nil:
		case axisPiece == nil:
			axis, axisPiece = *p.Axis, p
		case *p.Axis != axis:
			return nil, concatError("%s is joined on axis %d, %s on axis %d", axisPiece.File, axis, p.File, *p.Axis)
		}
		switch {
		case p.model == nil:
		case model.model == nil:
			model = p
		case !p.model.Equal(model.model):
			return nil, concatError("%s has the model shape %v, %s has %v", model.File, model.model, p.File, p.model)
		}
	}
	rank := len(first.shape)
	j := &joinPlan{pieces: pieces, axis: chooseAxis(axis, first.shape), dtype: first.dtype, shape: slices.Clone(first.shape)}
	switch {
	case rank == 0 && len(pieces) > 1:
		return nil, concatError("%d pieces are scalars, want one piece", len(pieces))
	case j.axis >= rank && (len(pieces) > 1 || axisPiece != nil && rank > 0):
		return nil, concatError("axis %d of %s, which has %v", j.axis, first.File, first.shape)
	}
	for _, p := range pieces[1:] {
		switch {
		case p.dtype != first.dtype:
			return nil, concatError("%s has the element type %s, %s has %s", first.File, first.dtype, p.File, p.dtype)
		case len(p.shape) != rank || !isEqualExcept(p.shape, first.shape, j.axis):
			return nil, concatError("%s has %v and %s %v, want the same lengths but on axis %d", first.File, first.shape, p.File, p.shape, j.axis)
		}
		j.shape[j.axis] += p.shape[j.axis]
		if j.shape[j.axis] < 0 {
			return nil, concatError("all pieces together have too many elements on axis %d", j.axis)
		}
	}
	if n, ok := j.shape.Count(); !ok || n > maxElements {
		return nil, concatError("%v has too many elements", j.shape)
	}
	j.setLengths(model.model)
	return j, nil
}

// maxElements is the largest number of elements of an array.
const maxElements = 1 << 58

// isEqualExcept reports whether two shapes of equal rank differ at most on one axis.
func isEqualExcept(a, b tensor.Shape, axis int) bool {
	for i := range a {
		if i != axis && a[i] != b[i] {
			return false
		}
	}
	return true
}

// setLengths sets the row lengths of each piece and the kept parts: everything, or less if the model's
// shape is shorter on the axis and equal on all others.
func (j *joinPlan) setLengths(model tensor.Shape) {
	j.rows, j.lengths, j.keptLengths = 1, make([]int64, len(j.pieces)), make([]int64, len(j.pieces))
	innerSize := int64(1)
	remaining := int64(1)
	if j.axis < len(j.shape) {
		j.rows = j.shape[:j.axis].Elements()
		innerSize = j.shape[j.axis+1:].Elements()
		remaining = j.shape[j.axis]
		switch {
		case model == nil || model.Equal(j.shape):
		case len(model) == len(j.shape) && isEqualExcept(model, j.shape, j.axis) && model[j.axis] < remaining:
			j.cropped = remaining - model[j.axis]
			remaining = model[j.axis]
			j.shape[j.axis] = remaining
		default:
			j.note = fmt.Sprintf("the model has %v: nothing cropped", model)
		}
	} else if model != nil && !model.Equal(j.shape) {
		j.note = fmt.Sprintf("the model has %v: nothing cropped", model)
	}
	for i, p := range j.pieces {
		length := p.shape.Elements()
		if j.axis < len(p.shape) {
			length = p.shape[j.axis]
		} else { // a single piece
			remaining = length
		}
		n := min(length, remaining)
		remaining -= n
		j.lengths[i], j.keptLengths[i] = length*innerSize, n*innerSize
	}
}

// manyPieces is the number of pieces above which their files are closed after every block.
const manyPieces = 64

// writeElements passes the elements of the result to w, in their stored form, and checks every piece to its
// end. A block is valid until the next call of w. The first row opens the reader of a piece, the
// last row closes it: with a single row the pieces are read one after the other with one buffer.
func (j *joinPlan) writeElements(ctx context.Context, shared *buffers, w func(block []byte) error) error {
	readers := make([]*reader, len(j.pieces))
	defer func() {
		for _, r := range readers {
			if r != nil {
				_ = r.Close() // read only
			}
		}
	}()
	isInterleaved := j.rows > 1
	unit := int64(j.dtype.UnitSize())
	for row := range max(j.rows, 1) {
		for i, p := range j.pieces {
			if readers[i] == nil {
				own := shared
				if isInterleaved {
					own = newBuffers(max(blockBytes/len(readers), 4<<10))
				}
				readers[i] = newReader(p, own, isInterleaved && len(j.pieces) > manyPieces)
			}
			if j.rows > 0 {
				err := readers[i].copyBytes(ctx, j.keptLengths[i]*unit, w)
				if err == nil {
					err = readers[i].copyBytes(ctx, (j.lengths[i]-j.keptLengths[i])*unit, nil)
				}
				if err != nil {
					return err
				}
			}
			if row < j.rows-1 {
				continue
			}
			if err := readers[i].checkLength(ctx); err != nil {
				return err
			}
			_ = readers[i].Close()
			readers[i] = nil
		}
	}
	return nil
}

// copyBytes passes the next n bytes of a piece to w; a nil w skips them.
func (r *reader) copyBytes(ctx context.Context, n int64, w func(block []byte) error) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := r.next(n)
		if err != nil {
			return err
		}
		if len(block) == 0 {
			if err := r.checkLength(ctx); err != nil {
				return err
			}
			return sizeError(r.decoded, r.piece.dtype, r.piece.shape, r.piece.wantBytes)
		}
		n -= int64(len(block))
		if w != nil {
			if err := w(block); err != nil {
				return err
			}
		}
	}
	return nil
}
