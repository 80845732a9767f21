package noise

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The columns of packed numbers: the magnitudes of a column have the same few zeros at
// their end, and are in a range that begins at an exponent. Each has as many bits as
// the largest needs, and one for the sign if any is negative.
const (
	shiftBits, widthBits, baseBits = 5, 6, 8
	// mantissaBits are those of a float32 below its exponent.
	mantissaBits = 23
	signBit      = 1 << 31
)

// bitWriter writes numbers of some bits each, the lowest first.
type bitWriter struct {
	out  []byte
	held uint64 // fewer than 8 bits that are not in out yet
	n    uint
}

// put writes the lowest bits of x, at most 32; the others are 0.
func (w *bitWriter) put(x uint32, width uint) {
	w.held |= uint64(x) << w.n
	for w.n += width; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.held))
		w.held >>= 8
	}
}

// bytes is what was written, whole bytes.
func (w *bitWriter) bytes() []byte {
	if w.n > 0 {
		return append(w.out, byte(w.held))
	}
	return w.out
}

// number writes a float64 without the zero bytes at its end.
func (w *bitWriter) number(x float64) {
	word := math.Float64bits(x)
	zeros := 8
	if word != 0 {
		zeros = bits.TrailingZeros64(word) / 8
	}
	w.put(uint32(zeros), 4)
	word >>= 8 * zeros % 64
	for i := zeros; i < 8; i++ {
		w.put(uint32(byte(word)), 8)
		word >>= 8
	}
}

// column writes numbers of about one size.
func (w *bitWriter) column(all []float32) {
	if len(all) == 0 {
		return
	}
	some, least, most := uint32(0), uint32(math.MaxUint32), uint32(0)
	for _, x := range all {
		u := math.Float32bits(x)
		some |= u
		u &^= signBit
		least, most = min(least, u), max(most, u)
	}
	shift := min(uint(bits.TrailingZeros32(some)), mantissaBits)
	base := least >> mantissaBits
	width := uint(bits.Len32((most - base<<mantissaBits) >> shift))
	w.put(uint32(shift), shiftBits)
	w.put(uint32(width), widthBits)
	w.put(base, baseBits)
	w.put(some>>31, 1)
	for _, x := range all {
		u := math.Float32bits(x)
		w.put((u&^signBit-base<<mantissaBits)>>shift, width)
		w.put(u>>31, uint(some>>31))
	}
}

// ratio writes numbers that are the quotients of others but for their last bits.
func (w *bitWriter) ratio(all, over, under []float32) {
	if len(all) == 0 {
		return
	}
	some := uint32(0)
	for i, x := range all {
		some |= distance(x, quotient(over[i], under[i]))
	}
	width := uint(bits.Len32(some))
	w.put(uint32(width), widthBits)
	for i, x := range all {
		w.put(distance(x, quotient(over[i], under[i])), width)
	}
}

// distance is how far a number is from another one, in units in the last place: even
// above it and odd below.
func distance(x, from float32) uint32 {
	d := math.Float32bits(x) - math.Float32bits(from)
	return d<<1 ^ uint32(int32(d)>>31)
}

// at is the number that distance was made of.
func at(d uint32, from float32) float32 {
	return math.Float32frombits(math.Float32bits(from) + (d>>1 ^ -(d & 1)))
}

// bitReader reads what a bitWriter has written.
type bitReader struct {
	in   []byte
	held uint64
	n    uint
}

// take reads a number of at most 32 bits.
func (r *bitReader) take(width uint) uint32 {
	if r.n < width {
		if len(r.in) >= 4 {
			r.held |= uint64(binary.LittleEndian.Uint32(r.in)) << r.n
			r.in, r.n = r.in[4:], r.n+32
		} else {
			for ; len(r.in) > 0; r.n += 8 {
				r.held |= uint64(r.in[0]) << r.n
				r.in = r.in[1:]
			}
		}
	}
	x := r.held & (1<<width - 1)
	r.held >>= width
	r.n -= width
	return uint32(x)
}

func (r *bitReader) number() float64 {
	word := uint64(0)
	for i := r.take(4); i < 8; i++ {
		word |= uint64(r.take(8)) << (8 * i)
	}
	return math.Float64frombits(word)
}

func (r *bitReader) column(all []float32) {
	if len(all) == 0 {
		return
	}
	shift, width := uint(r.take(shiftBits)), uint(r.take(widthBits))
	base, signed := r.take(baseBits)<<mantissaBits, uint(r.take(1))
	for i := range all {
		u := r.take(width)<<shift + base
		all[i] = math.Float32frombits(u | r.take(signed)<<31)
	}
}

func (r *bitReader) ratio(all, over, under []float32) {
	if len(all) == 0 {
		return
	}
	width := uint(r.take(widthBits))
	for i := range all {
		all[i] = at(r.take(width), quotient(over[i], under[i]))
	}
}
