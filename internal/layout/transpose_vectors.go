//go:build (amd64 || arm64) && !purego

package layout

// These take rows, which are step bytes apart, of as many elements as a square has to
// columns, which are out bytes apart. There is at least one square of rows, and only
// squares.

//go:noescape
func transpose8Vector(dst, src *byte, rows, step, out int64)

//go:noescape
func transpose16Vector(dst, src *byte, rows, step, out int64)

//go:noescape
func transpose32Vector(dst, src *byte, rows, step, out int64)

// transposeHead transposes the elements of the first rows and columns that make whole
// squares, and returns how many these are.
func transposeHead(dst, src []byte, rows, cols, devStride, hostStride int64, unit int) (rowsDone, colsDone int64) {
	var square int64
	var transpose func(dst, src *byte, rows, step, out int64)
	switch unit {
	case 1:
		square, transpose = 8, transpose8Vector
	case 2:
		square, transpose = 8, transpose16Vector
	case 4:
		square, transpose = 4, transpose32Vector
	default:
		return 0, 0
	}
	rowsDone, colsDone = rows/square*square, cols/square*square
	if rowsDone == 0 || colsDone == 0 {
		return 0, 0
	}
	u := int64(unit)
	step, out := devStride*u, hostStride*u
	_, _ = src[(rowsDone-1)*step+colsDone*u-1], dst[(colsDone-1)*out+rowsDone*u-1]
	for c := int64(0); c < colsDone; c += square {
		transpose(&dst[c*out], &src[c*u], rowsDone, step, out)
	}
	return rowsDone, colsDone
}
