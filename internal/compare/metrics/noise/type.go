package noise

import (
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Type is the floating-point type of the numbers in an NPU tensor, which may be narrower than
// the stored type: float32 elements may hold bfloat16 numbers.
type Type struct {
	Name string
	tensor.Float
	// Integer types have no rounding error; Mantissa is their number of bits.
	Integer bool
}

// Epsilon returns the distance from 1 to the next larger number.
func (t Type) Epsilon() float64 {
	if t.Integer {
		return 1
	}
	return t.Float.Epsilon()
}

// TypeOf returns the type of elements whose numbers have the stored type. ok is false for
// complex types, elements of less than a byte, and types whose values are a list.
func TypeOf(d tensor.DType) (t Type, ok bool) {
	f, ok := tensor.ScalarFloat(d)
	if !ok {
		return integerType(d)
	}
	return Type{Name: d.String(), Float: f}, true
}

// integerType returns the type of integers and bool. It sets no range: no element is beyond it.
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

// check returns an error if the type is invalid.
func (t Type) check() error {
	if t.Mantissa < 0 || t.Mantissa > 64 || t.MinExp < -1022 || t.MinExp > 1023 || !(t.Max > 0 && t.Max <= math.MaxFloat64) {
		return lang.Errorf("type %s of %d mantissa bits, exponents from %d on and numbers up to %v, want 0 to 64, -1022 to 1023, a positive number", t.Name, t.Mantissa, t.MinExp, t.Max)
	}
	return nil
}
