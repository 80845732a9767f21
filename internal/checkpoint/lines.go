package checkpoint

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

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
	pieceLength          int64 // length of a piece
	// digests are the digests of the lines of each kind, nil if not computed.
	digests [kinds][]uint64
	// owners are the lines of the other side that were found for the lines of each kind, as the index of a weight + 1.
	owners [kinds][]int32
	// isRounded: elements were rounded for the digests.
	isRounded bool
}

// minLine is the minimum length of a last axis whose lines identify themselves by their digests. The last axes of
// convolution kernels are shorter.
const minLine = 16

func newWeight(file, name string, t *tensorfile.Tensor) *weight {
	w := &weight{name: name, file: file, tensor: t, err: t.Err}
	if w.err == nil {
		w.shape, w.err = t.StoredShape()
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

// lineCount is the number of lines of a kind, length the number of their elements.
func (w *weight) lineCount(k kind) int64 { return w.shape.Elements() / max(1, w.length(k)) }

func (w *weight) length(k kind) int64 { return [kinds]int64{w.columns, w.rows, w.pieceLength}[k] }

// lineOffset is the first element of a line, and the distance between its elements.
func (w *weight) lineOffset(k kind, line int64) (first, stride int64) {
	if k != columns {
		return line * w.length(k), 1
	}
	return line/w.columns*w.rows*w.columns + line%w.columns, w.columns
}

// blockElements is the number of elements that are read at once. Its codes are whole words.
const blockElements = 1 << 16

// codes reads the elements of a weight, rounded to the type grid of both sides, as bit patterns of size bytes.
type codes struct {
	*elements
	grid  tensor.Float
	size  int64
	isRaw bool   // the stored elements are their codes
	signs uint64 // the sign bits in a word, 0 for integers
	text  []byte
	exact []float64 // values before they were rounded
}

// codesOf returns the reader of codes. Integers are float64.
func (w *weight) codesOf(grid tensor.Float) *codes {
	c := &codes{elements: w.read(), grid: grid, size: 8}
	if !w.isFloat {
		return c
	}
	for c.size = 2; 8*c.size < int64(grid.Bits()); {
		c.size *= 2
	}
	c.isRaw = w.float == grid && 8*c.size == int64(grid.Bits())
	for at := grid.Bits() - 1; at < 64; at += int(8 * c.size) {
		c.signs |= 1 << at
	}
	return c
}

// load returns the codes of elements; the next call overwrites them.
func (c *codes) load(first, n int64) []byte {
	stored := c.readStored(first, n)
	if c.isRaw {
		return stored
	}
	values := c.decode(stored)
	c.text = slices.Grow(c.text[:0], int(n*c.size))[:n*c.size]
	if c.isFloat && !c.fitsGrid(c.grid) {
		c.exact = append(c.exact[:0], values...)
		c.grid.RoundAll(values)
		c.isRounded = c.isRounded || !slices.EqualFunc(c.exact, values, func(a, b float64) bool { return a == b || a != a })
	}
	for i, v := range values {
		switch at := c.text[int64(i)*c.size:]; {
		case !c.isFloat:
			binary.LittleEndian.PutUint64(at, math.Float64bits(v))
		case c.size == 2:
			binary.LittleEndian.PutUint16(at, uint16(c.grid.Code(v)))
		case c.size == 4:
			binary.LittleEndian.PutUint32(at, uint32(c.grid.Code(v)))
		default:
			binary.LittleEndian.PutUint64(at, c.grid.Code(v))
		}
	}
	return c.text
}

// digest computes the digests of the lines of a kind, of words of 8 bytes. Floating-point elements are rounded to grid
// first, so that lines of different types have equal digests if one is the rounded other.
func (w *weight) digest(ctx context.Context, k kind, grid tensor.Float) error {
	if w.digests[k] != nil || w.length(k) == 0 {
		return nil
	}
	all := make([]uint64, w.lineCount(k))
	for i := range all {
		all[i] = uint64(w.length(k))
	}
	c, length, total := w.codesOf(grid), w.columns, w.shape.Elements()
	var words []uint64 // of columns, not yet full
	if k == pieces {
		length = w.pieceLength
	}
	if k == columns {
		words = make([]uint64, w.columns)
	}
	for first, n := int64(0), int64(0); first < total; first += n {
		if n = min(length-first%length, blockElements); n == length {
			n = min(total-first, blockElements/length*length)
		}
		text := c.load(first, n)
		if err := cmp.Or(ctx.Err(), c.err); err != nil {
			return err
		}
		if k == columns {
			c.addColumns(all, words, text, first)
			continue
		}
		for at := first / length; len(text) > 0; at++ {
			part := text[:min(length*c.size, int64(len(text)))]
			all[at], text = all[at]+c.digest(part, uint64(first%length*c.size/8)), text[len(part):]
		}
	}
	w.digests[k] = all
	return nil
}

// digest is the digest of codes that begin at a word of their line.
func (c *codes) digest(text []byte, word uint64) (digest uint64) {
	signs, key := c.signs, keyOf(word)
	for ; len(text) >= 8; text = text[8:] {
		digest += mixWord(clearZeroSigns(binary.LittleEndian.Uint64(text), signs), key)
		key += keyStep
	}
	if len(text) > 0 {
		var last [8]byte
		copy(last[:], text)
		digest += mixWord(clearZeroSigns(binary.LittleEndian.Uint64(last[:]), signs), key)
	}
	return digest
}

// addColumns adds codes to the digests of columns, a word as soon as all its rows were read.
func (c *codes) addColumns(all, words []uint64, text []byte, first int64) {
	for per := 8 / c.size; len(text) > 0; {
		row, column := first/c.columns, first%c.columns
		n := min(c.columns-column, int64(len(text))/c.size)
		at, word := row%c.rows, words[column:column+n]
		for i, shift := int64(0), 8*c.size*(at%per); i < n; i++ {
			word[i] |= c.firstCode(text[i*c.size:]) << shift
		}
		if lines := all[row/c.rows*c.columns+column:]; at%per == per-1 || at == c.rows-1 {
			for i, w := range word {
				lines[i] += mixWord(clearZeroSigns(w, c.signs), keyOf(uint64(at/per)))
			}
			clear(word)
		}
		first, text = first+n, text[n*c.size:]
	}
}

// firstCode is the first code of a text.
func (c *codes) firstCode(text []byte) uint64 {
	switch c.size {
	case 2:
		return uint64(binary.LittleEndian.Uint16(text))
	case 4:
		return uint64(binary.LittleEndian.Uint32(text))
	}
	return binary.LittleEndian.Uint64(text)
}

// clearZeroSigns clears the signs of zeros in a word: -0 equals 0. The sum carries into the sign bit of each code
// that is not 0.
func clearZeroSigns(word, signs uint64) uint64 {
	return word & (word&^signs + ^signs | ^signs)
}

// emptyLine is the digest of a line of zeros.
func (w *weight) emptyLine(k kind, grid tensor.Float) uint64 {
	digest := uint64(w.length(k))
	for word := range uint64(w.length(k)*w.codesOf(grid).size+7) / 8 {
		digest += mixWord(0, keyOf(word))
	}
	return digest
}

// mixWord returns the term of a word in the digest of a line, the sum of these terms: a product of 128 bits whose
// halves are combined.
func mixWord(word, key uint64) uint64 {
	high, low := bits.Mul64(word^key, 0xd6e8feb86659fd93)
	return high ^ low
}

// keyStep is the difference between the keys of neighbouring words: 2^64 divided by the golden ratio.
const keyStep = 0x9e3779b97f4a7c15

// keyOf is the key of a place in a line, in words.
func keyOf(word uint64) uint64 { return (word + 1) * keyStep }

// fitsGrid reports whether every value of the weight's type is also a value of the type grid.
func (w *weight) fitsGrid(grid tensor.Float) bool {
	return w.float.Mantissa <= grid.Mantissa && w.float.Exponent <= grid.Exponent
}

// maxSamples is the number of elements that show which type the numbers of a tensor have.
const maxSamples = 4096

// typeOf returns the type with the fewest bits of mantissa that holds the elements of the largest tensor of a side:
// weights of bfloat16 are often stored in float32.
func typeOf(s *side) (f tensor.Float, ok bool, err error) {
	var largest *weight
	for _, t := range s.tensors {
		if t.isFloat && (largest == nil || t.shape.Elements() > largest.shape.Elements()) {
			largest = t
		}
	}
	if largest == nil {
		return f, false, nil
	}
	e := largest.read()
	values := e.decode(e.readStored(0, min(maxSamples, largest.shape.Elements())))
	if e.err != nil {
		return f, false, e.err
	}
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16, largest.tensor.DType} {
		f, _ = tensor.ScalarFloat(d)
		if f.Mantissa > largest.float.Mantissa {
			continue
		}
		has := true
		for _, v := range values {
			has = has && f.Has(v)
		}
		if has {
			return f, true, nil
		}
	}
	return largest.float, true, nil
}

// gridOf returns the coarser type of two sides.
func gridOf(a, b *side) (tensor.Float, error) {
	f, okA, err := typeOf(a)
	if err != nil {
		return f, err
	}
	g, okB, err := typeOf(b)
	if okB && (!okA || g.Mantissa < f.Mantissa) {
		f = g
	}
	return f, err
}

// isEqual reports whether two elements are equal, or equal after one rounding: one element is the other element rounded
// to grid, or both are rounded, to types without a common grid.
func isEqual(a, b float64, of, with *weight, grid tensor.Float) bool {
	if a == b || a != a && b != b {
		return true
	}
	if !of.isFloat || !with.isFloat || of.tensor.DType == with.tensor.DType && of.fitsGrid(grid) {
		return false
	}
	if x, y := grid.Round(a), grid.Round(b); x == y && (x == a || y == b) {
		return true
	}
	return of.tensor.DType != with.tensor.DType && math.Abs(a-b) <= (of.float.Ulp(a)+with.float.Ulp(b))/2
}
