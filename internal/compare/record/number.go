package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// Number is a number of compare.json, or nothing where it is undefined. In JSON
// that is a number or null; what JSON has no numbers for are the strings "nan",
// "inf" and "-inf".
type Number metrics.Metric

// Float is a number that is always defined; what JSON has no numbers for are the same
// strings as in a Number.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) { return jsonFloat(float64(f)), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (f *Float) UnmarshalJSON(data []byte) error {
	x, err := parseNumber(data)
	*f = Float(x)
	return err
}

// NumberOf returns a defined number.
func NumberOf(x float64) Number { return Number{x, true} }

// Float returns the value, and whether there is one.
func (m Number) Float() (float64, bool) { return m.Value, m.Defined }

// String prints the number with all of its digits, an undefined one as NA.
func (m Number) String() string {
	if !m.Defined {
		return "NA"
	}
	return FormatFloat(m.Value)
}

// FormatFloat prints x with the fewest digits that read back as x, without an
// exponent where the number is of a usual size; nan, inf and -inf are words.
func FormatFloat(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// MarshalJSON implements json.Marshaler.
func (m Number) MarshalJSON() ([]byte, error) {
	return m.append(nil), nil
}

// append appends the number to JSON.
func (m Number) append(b []byte) []byte {
	if !m.Defined {
		return append(b, "null"...)
	}
	return append(b, jsonFloat(m.Value)...)
}

// orNaN is the value, NaN where there is none.
func (m Number) orNaN() float64 {
	if !m.Defined {
		return math.NaN()
	}
	return m.Value
}

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) Number {
	if x != x {
		return Number{}
	}
	return NumberOf(x)
}

// jsonFloat is x in JSON.
func jsonFloat(x float64) []byte {
	text := FormatFloat(x)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		text = `"` + text + `"`
	}
	return []byte(text)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = Number{}
		return nil
	}
	x, err := parseNumber(data)
	if err != nil {
		return err
	}
	*m = NumberOf(x)
	return nil
}

// parseNumber reads a number or one of the words for what is none.
func parseNumber(data []byte) (float64, error) {
	switch string(data) {
	case `"nan"`:
		return math.NaN(), nil
	case `"inf"`:
		return math.Inf(1), nil
	case `"-inf"`:
		return math.Inf(-1), nil
	}
	if !isNumber(data) {
		return 0, fmt.Errorf("%s is no number, want one, null, \"nan\", \"inf\" or \"-inf\"", excerpt(data))
	}
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return 0, fmt.Errorf("number %s is out of range", excerpt(data))
	}
	return x, nil
}

// isNumber reports whether a JSON value, of correct syntax, is a number.
func isNumber(data []byte) bool {
	return len(data) > 0 && (data[0] == '-' || '0' <= data[0] && data[0] <= '9')
}

// excerpt is the beginning of a text, for messages.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}

// ElementValue is one element of a tensor as JSON text: a number with all of
// its digits (integers of 64 bits too), one of the strings "nan", "inf" and
// "-inf", or a list of two of them for a complex element. It is empty, and null
// in JSON, where there is no element.
type ElementValue string

// ElementValueOf returns the document's form of an element.
func ElementValueOf(v metrics.Value) ElementValue {
	switch h := v.DType.Host(); h {
	case tensor.HostBool, tensor.HostUint8, tensor.HostUint16, tensor.HostUint32, tensor.HostUint64:
		return ElementValue(strconv.FormatUint(v.Int, 10))
	case tensor.HostInt8, tensor.HostInt16, tensor.HostInt32, tensor.HostInt64:
		return ElementValue(strconv.FormatInt(int64(v.Int), 10))
	default:
		if h.Complex() {
			return ElementValue(fmt.Sprintf("[%s,%s]", jsonFloat(v.Real), jsonFloat(v.Imag)))
		}
	}
	return ElementValue(jsonFloat(v.Real))
}

// Float returns the element as the nearest float64; ok is false where there is
// none, and for complex elements.
func (v ElementValue) Float() (x float64, ok bool) {
	if v == "" {
		return 0, false
	}
	x, err := parseNumber([]byte(v))
	return x, err == nil
}

// value is the element as one of a type.
func (v ElementValue) value(d tensor.DType) (metrics.Value, error) {
	e := metrics.Value{DType: d}
	if v == "" {
		return e, nil
	}
	parts := []json.RawMessage{json.RawMessage(v)}
	if v[0] == '[' {
		if err := json.Unmarshal([]byte(v), &parts); err != nil {
			return e, err
		}
	}
	var err error
	switch h := d.Host(); h {
	case tensor.HostBool, tensor.HostUint8, tensor.HostUint16, tensor.HostUint32, tensor.HostUint64:
		e.Int, err = strconv.ParseUint(string(v), 10, 64)
		e.Real = float64(e.Int)
	case tensor.HostInt8, tensor.HostInt16, tensor.HostInt32, tensor.HostInt64:
		var n int64
		n, err = strconv.ParseInt(string(v), 10, 64)
		e.Int, e.Real = uint64(n), float64(n)
	default:
		if len(parts) == 2 && !h.Complex() {
			return e, fmt.Errorf("element %s of the type %s", excerpt([]byte(v)), d)
		}
		if e.Real, err = parseNumber(parts[0]); err == nil && len(parts) == 2 {
			e.Imag, err = parseNumber(parts[1])
		}
	}
	if err != nil {
		return e, fmt.Errorf("element %s of the type %s", excerpt([]byte(v)), d)
	}
	return e, nil
}

// MarshalJSON implements json.Marshaler.
func (v ElementValue) MarshalJSON() ([]byte, error) {
	if v == "" {
		return []byte("null"), nil
	}
	return []byte(v), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *ElementValue) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		*v = ""
		return nil
	}
	if len(data) == 0 || data[0] != '[' {
		if _, err := parseNumber(data); err != nil {
			return err
		}
		*v = ElementValue(data)
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("complex element of %d parts, want 2", len(parts))
	}
	for _, p := range parts {
		if _, err := parseNumber(p); err != nil {
			return err
		}
	}
	*v = ElementValue("[" + string(parts[0]) + "," + string(parts[1]) + "]")
	return nil
}
