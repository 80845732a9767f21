package kernel

import "math"

// Span is the range of values and of their magnitudes. Zeros in it are positive.
type Span struct {
	Min, Max, MinAbs, MaxAbs float64
	// NotZero is the smallest magnitude above 0, +inf if all values are 0; 0 if it was not
	// computed.
	NotZero float64
	Special bool // some value is not finite; the range is meaningless
}

// SpanOf returns the span of values; values is not empty.
func SpanOf(values []float64) Span {
	b := newBitBounds()
	for ; len(values) >= chunk; values = values[chunk:] {
		b.addChunk(bitsOf((*[chunk]float64)(values)))
	}
	for _, v := range values {
		b.add(math.Float64bits(v))
	}
	return b.span()
}

// bitBounds computes the range of values from their bits, without jumps. negative is the
// maximum as unsigned numbers: the lowest negative value, if there is one. positive is the
// maximum as signed numbers: the largest non-negative value, if there is one. least is the
// smallest magnitude, shifted left by one.
type bitBounds struct {
	negative uint64
	positive int64
	least    uint64
}

func newBitBounds() bitBounds {
	return bitBounds{positive: math.MinInt64, least: math.MaxUint64}
}

// add adds a value.
func (b *bitBounds) add(bits uint64) {
	b.negative = max(b.negative, bits)
	b.positive = max(b.positive, int64(bits))
	b.least = min(b.least, bits<<1)
}

// addChunk adds a chunk in two independent chains of comparisons.
func (b *bitBounds) addChunk(values *[chunk]uint64) {
	negative, positive, least := b.negative, b.positive, b.least
	negative1, positive1, least1 := negative, positive, least
	for i := 0; i < chunk; i += 2 {
		bits := values[i]
		negative = max(negative, bits)
		positive = max(positive, int64(bits))
		least = min(least, bits<<1)
		bits = values[i+1]
		negative1 = max(negative1, bits)
		positive1 = max(positive1, int64(bits))
		least1 = min(least1, bits<<1)
	}
	*b = bitBounds{max(negative, negative1), max(positive, positive1), min(least, least1)}
}

// span returns the span of the values; there must be at least one.
func (b *bitBounds) span() Span {
	minAbs := math.Float64frombits(b.least >> 1)
	low, high := minAbs, -minAbs
	if b.negative >= SignBit {
		low = math.Float64frombits(b.negative)
	}
	if b.positive >= 0 {
		high = math.Float64frombits(uint64(b.positive))
	}
	s := span(low, high, minAbs)
	s.Special = b.negative&^SignBit >= exponentBits || b.positive >= exponentBits
	return s
}
