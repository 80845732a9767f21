package checkpoint

import (
	"context"
	"math"
	"math/bits"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// kind says which lines of a matrix are compared.
type kind int

const (
	rows kind = iota
	columns
	pieces // of rows, for a weight whose columns were divided
	kinds  = 3
)

// Text names the lines in messages.
func (k kind) Text() lang.Text {
	return [kinds]lang.Text{{EN: "checkpoint¦rows"}, {EN: "checkpoint¦columns"}, {EN: "checkpoint¦pieces"}}[k]
}

// weight is a tensor as batch matrices of rows x columns.
type weight struct {
	name, file string
	tensor     *tensorfile.Tensor
	shape      tensor.Shape
	decoder    tensor.Decoder
	float      tensor.Float
	isFloat    bool
	err        error

	batch, rows, columns int64
	piece                int64 // length of a piece
	// digests are the digests of the lines of each kind, nil if not computed.
	digests [kinds][]uint64
	// owners are the lines of the other side that were found for the lines of each kind, as the index of a weight + 1.
	owners [kinds][]int32
}

// minLine is the length of the shortest last axis whose lines tell which they are. The last axes of the kernels of
// convolutions are shorter.
const minLine = 16

func newWeight(file, name string, t *tensorfile.Tensor) *weight {
	w := &weight{name: name, file: file, tensor: t, err: t.Err}
	if w.err == nil {
		w.shape, w.err = t.Stored()
	}
	if w.err == nil {
		w.decoder, w.err = tensor.NewDecoder(t.DType)
	}
	if w.err == nil && w.decoder.Host().Complex() {
		w.err = lang.Errorf("complex weights are not supported")
	}
	if w.err != nil {
		return w
	}
	w.float, w.isFloat = tensor.ScalarFloat(t.DType)
	w.batch, w.rows, w.columns = 1, 1, w.shape.Elements()
	switch s := w.shape; {
	case len(s) == 3 && s[2] >= minLine:
		w.batch, w.rows, w.columns = s[0], s[1], s[2]
	case len(s) >= 2:
		w.rows, w.columns = s[0], s[1:].Elements()
	}
	return w
}

// lines is the number of lines of a kind, length the number of their elements.
func (w *weight) lines(k kind) int64 { return w.shape.Elements() / max(1, w.length(k)) }

func (w *weight) length(k kind) int64 { return [kinds]int64{w.columns, w.rows, w.piece}[k] }

// place is the first element of a line, and the distance between its elements.
func (w *weight) place(k kind, line int64) (first, stride int64) {
	if k != columns {
		return line * w.length(k), 1
	}
	return line/w.columns*w.rows*w.columns + line%w.columns, w.columns
}

// block is the number of elements that are read at once.
const block = 1 << 16

// each calls use for the elements in order, in blocks.
func (w *weight) each(ctx context.Context, n int64, use func(first int64, values []float64)) error {
	var buf, host []byte
	values, first, unit := make([]float64, block), int64(0), w.decoder.UnitSize()
	for part, err := range w.tensor.Blocks(ctx, n, &buf) {
		if err != nil {
			return err
		}
		for len(part) > 0 {
			count := min(len(part)/unit, block)
			if need := count * w.decoder.Host().Size(); cap(host) < need {
				host = make([]byte, need)
			}
			decoded := host[:count*w.decoder.Host().Size()]
			w.decoder.Decode(decoded, part[:count*unit])
			tensor.Float64s(values[:count], decoded, w.decoder.Host())
			use(first, values[:count])
			first, part = first+int64(count), part[count*unit:]
		}
	}
	return nil
}

// digest computes the digests of the lines of a kind. Floating-point elements are rounded to grid first, so that
// lines of different types have equal digests if one is the rounded other.
func (w *weight) digest(ctx context.Context, k kind, grid tensor.Float) error {
	if w.digests[k] != nil || w.length(k) == 0 {
		return nil
	}
	all := make([]uint64, w.lines(k))
	for i := range all {
		all[i] = uint64(w.length(k))
	}
	line, column, length := int64(0), int64(0), w.columns
	if k == pieces {
		length = w.piece
	}
	err := w.each(ctx, w.shape.Elements(), func(_ int64, values []float64) {
		if w.isFloat && !w.fits(grid) {
			grid.RoundAll(values)
		}
		for _, v := range values {
			at := line
			if k == columns {
				at = line/w.rows*w.columns + column
			}
			all[at] = mix(all[at], math.Float64bits(v+0)) // -0 equals 0
			if column++; column == length {
				line, column = line+1, 0
			}
		}
	})
	if err == nil {
		w.digests[k] = all
	}
	return err
}

// emptyLine is the digest of a line of zeros.
func (w *weight) emptyLine(k kind) uint64 {
	digest := uint64(w.length(k))
	for range w.length(k) {
		digest = mix(digest, 0)
	}
	return digest
}

// mix adds an element to a digest: a product of 128 bits whose halves are combined.
func mix(digest, element uint64) uint64 {
	high, low := bits.Mul64(digest^element^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low ^ bits.RotateLeft64(digest, 23)
}

// fits reports whether all numbers of the type of the elements are numbers of grid.
func (w *weight) fits(grid tensor.Float) bool {
	return w.float.Mantissa <= grid.Mantissa && w.float.Exponent <= grid.Exponent
}

// sampled is the number of elements that show which type the numbers of a tensor have.
const sampled = 4096

// typeOf returns the type with the fewest bits of mantissa that holds the elements of the largest tensor of a side:
// weights of bfloat16 are often stored in float32.
func typeOf(ctx context.Context, s *side) (f tensor.Float, ok bool, err error) {
	var largest *weight
	for _, t := range s.tensors {
		if t.isFloat && (largest == nil || t.shape.Elements() > largest.shape.Elements()) {
			largest = t
		}
	}
	if largest == nil {
		return f, false, nil
	}
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16, largest.tensor.DType} {
		f, _ = tensor.ScalarFloat(d)
		if f.Mantissa > largest.float.Mantissa {
			continue
		}
		has := true
		err := largest.each(ctx, min(sampled, largest.shape.Elements()), func(_ int64, values []float64) {
			for _, v := range values {
				has = has && (v != v || f.Has(v))
			}
		})
		if err != nil || has {
			return f, true, err
		}
	}
	return largest.float, true, nil
}

// gridOf returns the coarser type of two sides.
func gridOf(ctx context.Context, a, b *side) (tensor.Float, error) {
	f, okA, err := typeOf(ctx, a)
	if err != nil {
		return f, err
	}
	g, okB, err := typeOf(ctx, b)
	if okB && (!okA || g.Mantissa < f.Mantissa) {
		f = g
	}
	return f, err
}

// isEqual reports whether two elements are equal, or equal after one rounding: one of them is the other rounded to
// grid, or they are both rounded, to types without a common grid.
func isEqual(a, b float64, of, with *weight, grid tensor.Float) bool {
	if a == b || a != a && b != b {
		return true
	}
	if !of.isFloat || !with.isFloat {
		return false
	}
	if x, y := grid.Round(a), grid.Round(b); x == y && (x == a || y == b) {
		return true
	}
	return of.tensor.DType != with.tensor.DType && math.Abs(a-b) <= (of.float.Ulp(a)+with.float.Ulp(b))/2
}
