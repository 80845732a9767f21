package metrics

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// number describes the elements of a type as numbers; of a complex type it describes
// the parts.
type number struct {
	dtype   tensor.DType
	decoder tensor.Decoder
	size    int // of an element, in bytes
	complex bool
	// integer: an integer type or bool
	integer, signed, bool bool
	bits                  int
	// low and high are the smallest and the largest finite value; of 64-bit integers rounded to
	// float64. normal is the smallest normal magnitude, 0 for integers.
	low, high, normal float64
	codes             codes
	// highCode and lowCode are the codes of saturated elements. They are equal if the lower
	// limit does not count as saturation.
	highCode, lowCode int64
	// table has the value of every code of a one-byte type; codeOf has the rank of these
	// values (see codes), nil for integers.
	table  *[256]float64
	codeOf *[256]int64
}

// newNumber describes a type; an error if it cannot be decoded.
func newNumber(d tensor.DType) (*number, error) {
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		return nil, err
	}
	n := &number{dtype: d, decoder: decoder, size: d.UnitSize(), bits: d.Bits(), complex: d.Host().Complex()}
	if n.size == 1 {
		n.table = new([256]float64)
		for code, x := range tensor.CodeValues(d) {
			n.table[code] = float64(x)
		}
	}
	if n.setInteger(); n.integer {
		return n, nil
	}
	defer n.setLimits()
	if f, ok := tensor.FloatOf(d); ok {
		n.codes.Float = f
		n.low, n.high, n.normal = -f.Max, f.Max, f.Normal()
		return n, nil
	}
	n.codes.table = newCodeTable(n.table)
	values := n.codes.table.values
	n.low, n.high = values[0], values[len(values)-1]
	n.normal = n.high * 0x1p-254 // E8M0 has no subnormal values
	if d == tensor.HiFloat8 {
		n.normal = 0x1p-15 // smallest value with the longest exponent; denormals are below
	}
	return n, nil
}

// setLimits sets the codes of the limits of a floating-point type.
func (n *number) setLimits() {
	if n.table != nil {
		n.codeOf = new([256]int64)
		n.codes.round(n.codeOf[:], n.table[:])
	}
	n.highCode = n.codes.largestFinite()
	n.lowCode = n.highCode
	if n.low < 0 {
		n.lowCode = -n.highCode
	}
}

// setInteger sets the limits of an integer type.
func (n *number) setInteger() {
	switch n.decoder.Host() {
	case tensor.HostBool:
		n.bool, n.bits = true, 1
	case tensor.HostInt8, tensor.HostInt16, tensor.HostInt32, tensor.HostInt64:
		n.signed = true
	case tensor.HostUint8, tensor.HostUint16, tensor.HostUint32, tensor.HostUint64:
	default:
		return
	}
	n.integer = true
	if n.signed {
		n.high = math.Ldexp(1, n.bits-1) - 1
		n.low = -math.Ldexp(1, n.bits-1)
		n.lowCode = math.MinInt64 >> (64 - n.bits)
		n.highCode = -n.lowCode - 1
		return
	}
	n.highCode = int64(uint64(math.MaxUint64) >> (64 - n.bits))
	n.lowCode = n.highCode
	n.high = math.Ldexp(1, n.bits) - 1
}

// is64Bit reports whether elements are 64-bit integers, which float64 rounds.
func (n *number) is64Bit() bool { return n.integer && n.bits == 64 }

// isDouble reports whether elements are float64 or complex128: sums of their squares may
// leave the range of float64, and differences may be subnormal.
func (n *number) isDouble() bool {
	return n.dtype == tensor.Float64 || n.dtype == tensor.Complex128
}

// ReadValues decodes contiguous elements of a type.
func ReadValues(d tensor.DType, src []byte) ([]Value, error) {
	n, err := newNumber(d)
	if err != nil {
		return nil, err
	}
	var all []Value
	for chunk := range slices.Chunk(src, d.UnitSize()) {
		all = append(all, n.decodeOne(chunk))
	}
	return all, nil
}
