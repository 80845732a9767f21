package metrics

import (
	"encoding/json"
	"math"
	"strconv"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// String prints the number with all of its digits, an undefined one as NA.
func (m Metric) String() string {
	if !m.IsDefined() {
		return "NA"
	}
	return jsonpos.FormatFloat(m.Value())
}

// MarshalJSON implements json.Marshaler: a number, or null if undefined; NaN and infinities are the strings "nan",
// "inf" and "-inf".
func (m Metric) MarshalJSON() ([]byte, error) {
	if !m.IsDefined() {
		return []byte("null"), nil
	}
	return jsonpos.AppendNumber(nil, m.Value()), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metric) UnmarshalJSON(data []byte) (err error) {
	*m = Metric{}
	if string(data) != "null" {
		var x float64
		x, err = jsonpos.ParseNumber(data)
		*m = NumberIf(x, err == nil)
	}
	return err
}

// OrNaN returns the value, NaN if undefined.
func (m Metric) OrNaN() float64 {
	if !m.IsDefined() {
		return math.NaN()
	}
	return m.Value()
}

// String returns the element as JSON: a number with all of its digits (also 64-bit integers), one of the strings
// "nan", "inf" and "-inf", or a list of two numbers for a complex element.
func (v Value) String() string {
	switch h := v.DType.Host(); {
	case h.IsSigned():
		return strconv.FormatInt(int64(v.Int), 10)
	case h.Integer():
		return strconv.FormatUint(v.Int, 10)
	case h.Complex():
		return string(numberList(v.Real, v.Imag))
	}
	return string(jsonpos.AppendNumber(nil, v.Real))
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. The element gets no type: see As.
func (v *Value) UnmarshalJSON(data []byte) (err error) {
	*v = Value{}
	switch {
	case string(data) == "null":
		return nil
	case len(data) > 0 && data[0] == '[':
		return UnmarshalList(data, "complex element", (*jsonpos.Float)(&v.Real), (*jsonpos.Float)(&v.Imag))
	}
	if v.Real, err = jsonpos.ParseNumber(data); err != nil {
		return err
	}
	if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
		v.Int = uint64(n)
	} else if n, err := strconv.ParseUint(string(data), 10, 64); err == nil {
		v.Int = n
	}
	return nil
}

// Convert returns an element that was read with the type d, or an error if d has no such element.
func (v Value) Convert(d tensor.DType) (Value, error) {
	h := d.Host()
	if v.Imag != 0 && !h.Complex() || h.Integer() && v.Real != float64(int64(v.Int)) && v.Real != float64(v.Int) {
		return v, lang.Errorf("element (%g, %g) of the type %s", v.Real, v.Imag, d)
	}
	if v.DType = d; !h.Integer() {
		v.Int = 0
	}
	return v, nil
}

// MarshalJSON implements json.Marshaler: a list of the offset, the elements of the
// reference and of the NPU, |d| and |d|/|r|.
func (e Element) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{e.Offset, e.Ref, e.NPU, jsonpos.Float(e.Abs), jsonpos.Float(e.Rel)})
}

// UnmarshalJSON implements json.Unmarshaler. The elements get no type.
func (e *Element) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "element", &e.Offset, &e.Ref, &e.NPU, (*jsonpos.Float)(&e.Abs), (*jsonpos.Float)(&e.Rel))
}

// MarshalJSON implements json.Marshaler: a list.
func (p Point) MarshalJSON() ([]byte, error) { return numberList(float64(p.Offset), p.Ref, p.NPU), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Point) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "point", &p.Offset, (*jsonpos.Float)(&p.Ref), (*jsonpos.Float)(&p.NPU))
}

// MarshalJSON implements json.Marshaler: a list of the elements, the errors (of the
// strict policy), the sums of |d| and of |d|/|r|.
func (b AxisBin) MarshalJSON() ([]byte, error) {
	return numberList(float64(b.Count), float64(b.Errors), b.SumAbs, b.SumRel), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *AxisBin) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "axis profile", &b.Count, &b.Errors, (*jsonpos.Float)(&b.SumAbs), (*jsonpos.Float)(&b.SumRel))
}

// numberList returns numbers as a JSON list. Counts and offsets below 2^53 are exact.
func numberList(all ...float64) []byte {
	b := []byte("[")
	for i, x := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonpos.AppendNumber(b, x)
	}
	return append(b, ']')
}

// UnmarshalList reads a JSON list of fixed length; what names the list in errors.
func UnmarshalList(data []byte, what string, into ...any) error {
	var parts []json.RawMessage
	err := json.Unmarshal(data, &parts)
	if err == nil && len(parts) != len(into) {
		err = lang.Errorf("list of %d numbers, want %d: %.40s", len(parts), len(into), data)
	}
	for i := 0; err == nil && i < len(into); i++ {
		err = json.Unmarshal(parts[i], into[i])
	}
	if err != nil {
		return lang.Errorf("%s: %w", what, err)
	}
	return nil
}
