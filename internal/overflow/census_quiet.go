package overflow

import "encoding/binary"

// quietRange holds the values that need no closer look: those between the
// smallest and the largest so far, and of a magnitude below 65504. For numbers
// of either sign it has the lowest magnitude and the number of codes from there
// on, both twice, once in either half of a word. The zero value holds nothing.
type quietRange struct {
	positive, positives uint64
	negative, negatives uint64
}

const (
	twice    = 1<<32 | 1
	signs    = (1 << 31) * twice
	quietEnd = trace65504 // the first magnitude that is not quiet
)

// quietBetween returns the range of two values, as sortable gives them.
func quietBetween(low, high int32) (q quietRange) {
	if high >= 0 && low <= high {
		q.positive, q.positives = quietHalf(max(low, 0), high)
	}
	if low < 0 && low <= high {
		q.negative, q.negatives = quietHalf(^min(high, -1), ^low)
	}
	return q
}

// quietHalf returns the magnitudes from one to another, as far as they are
// quiet.
func quietHalf(from, to int32) (start, count uint64) {
	end := min(to+1, quietEnd)
	if end <= from {
		return 0, 0
	}
	return uint64(from) * twice, uint64(end-from) * twice
}

// holds reports whether all elements are in the range. Half a word each: with
// the sign set above the magnitude, what is left after subtracting the start is
// the offset from it modulo 2^31; with the sign set again, subtracting the count
// leaves the sign alone if the offset is outside.
func (q *quietRange) holds(chunk []byte) bool {
	outside, r := uint64(0), *q
	for ; len(chunk) >= 8; chunk = chunk[8:] {
		two := binary.LittleEndian.Uint64(chunk)
		positive := (two | signs - r.positive) | signs - r.positives
		negative := (two | signs - r.negative) | signs - r.negatives
		outside |= positive&^two | negative&two
	}
	if len(chunk) >= 4 {
		return false // half a word is not worth a test of its own
	}
	return outside&signs == 0
}
