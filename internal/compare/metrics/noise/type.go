package noise

import (
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Type is the floating-point type that the elements of an NPU tensor have in
// effect: an array of float32 may hold bfloat16 numbers.
type Type struct {
	Name string
	tensor.Float
	// Integer types have no rounding error of their own; Mantissa are their bits.
	Integer bool
}

// Epsilon is the distance from 1 to the next larger number.
func (t Type) Epsilon() float64 {
	if t.Integer {
		return 1
	}
	return t.Float.Epsilon()
}

// TypeOf returns the type of elements that hold what their type says. ok is false
// for those that have no such numbers: complex types, elements of less than a byte,
// and types whose values are a list.
func TypeOf(d tensor.DType) (t Type, ok bool) {
	f, ok := tensor.ScalarFloat(d)
	if !ok {
		return integerType(d)
	}
	return Type{Name: d.String(), Float: f}, true
}

// integerType returns the type of integers and bool, of which no element is beyond
// the range.
func integerType(d tensor.DType) (Type, bool) {
	t := Type{Name: d.String(), Float: tensor.Float{Mantissa: d.Bits(), Max: math.MaxFloat64}, Integer: true}
	switch d.Host() {
	case tensor.HostBool:
		t.Mantissa = 1
	case tensor.HostUint8, tensor.HostUint16, tensor.HostUint32, tensor.HostUint64:
	case tensor.HostInt8, tensor.HostInt16, tensor.HostInt32, tensor.HostInt64:
		t.Mantissa--
	default:
		return Type{}, false
	}
	return t, d.Bits() >= 8
}

// MarshalText implements encoding.TextMarshaler.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.Name), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Type) UnmarshalText(text []byte) error {
	d, _ := tensor.ParseDType(string(text))
	of, ok := TypeOf(d)
	if !ok || of.Name != string(text) {
		return lang.Errorf("noise of the type %.40q", text)
	}
	*t = of
	return nil
}

// check reports what makes the numbers of a type impossible.
func (t Type) check() error {
	if t.Mantissa < 0 || t.Mantissa > 64 || t.MinExp < -1022 || t.MinExp > 1023 || !(t.Max > 0 && t.Max <= math.MaxFloat64) {
		return lang.Errorf("type %s of %d mantissa bits, exponents from %d on and numbers up to %v, want 0 to 64, -1022 to 1023, a positive number", t.Name, t.Mantissa, t.MinExp, t.Max)
	}
	return nil
}
