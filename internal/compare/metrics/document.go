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
	if !m.Defined() {
		return "NA"
	}
	return jsonpos.FormatFloat(m.Value())
}

// MarshalJSON implements json.Marshaler: a number, or null where it is undefined; what
// JSON has no numbers for are the strings "nan", "inf" and "-inf".
func (m Metric) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// AppendJSON appends the number to JSON.
func (m Metric) AppendJSON(b []byte) []byte {
	if !m.Defined() {
		return append(b, "null"...)
	}
	return jsonpos.AppendNumber(b, m.Value())
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

// OrNaN is the value, NaN where there is none.
func (m Metric) OrNaN() float64 {
	if !m.Defined() {
		return math.NaN()
	}
	return m.Value()
}

// String is the element in JSON.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// AppendJSON appends the element to JSON.
func (v Value) AppendJSON(b []byte) []byte {
	switch h := v.DType.Host(); {
	case h.Signed():
		return strconv.AppendInt(b, int64(v.Int), 10)
	case h.Integer():
		return strconv.AppendUint(b, v.Int, 10)
	case h.Complex():
		return appendNumbers(jsonpos.AppendNumber(append(b, '['), v.Real), v.Imag)
	}
	return jsonpos.AppendNumber(b, v.Real)
}

// MarshalJSON implements json.Marshaler: a number with all of its digits (integers of 64
// bits too), one of the strings "nan", "inf" and "-inf", or a list of two of them for a
// complex element.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler. The element is of no type yet: see As.
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

// As is an element that was read, as one of a type; an error where it is none.
func (v Value) As(d tensor.DType) (Value, error) {
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
func (e Element) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends the elements to JSON.
func (e Element) AppendJSON(b []byte) []byte {
	b = e.Ref.AppendJSON(append(appendCounts(b, e.Offset), ','))
	return appendNumbers(e.NPU.AppendJSON(append(b, ',')), e.Abs, e.Rel)
}

// UnmarshalJSON implements json.Unmarshaler. The elements are of no type yet.
func (e *Element) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "element", &e.Offset, &e.Ref, &e.NPU, (*jsonpos.Float)(&e.Abs), (*jsonpos.Float)(&e.Rel))
}

// MarshalJSON implements json.Marshaler: a list.
func (p Point) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// AppendJSON appends the point to JSON.
func (p Point) AppendJSON(b []byte) []byte {
	return appendNumbers(appendCounts(b, p.Offset), p.Ref, p.NPU)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Point) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "point", &p.Offset, (*jsonpos.Float)(&p.Ref), (*jsonpos.Float)(&p.NPU))
}

// MarshalJSON implements json.Marshaler: a list of the elements, the errors (of the
// strict policy), the sums of |d| and of |d|/|r|.
func (b AxisBin) MarshalJSON() ([]byte, error) { return b.AppendJSON(nil), nil }

// AppendJSON appends the bin to JSON.
func (b AxisBin) AppendJSON(to []byte) []byte {
	return appendNumbers(appendCounts(to, b.Count, b.Errors), b.SumAbs, b.SumRel)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *AxisBin) UnmarshalJSON(data []byte) error {
	return UnmarshalList(data, "axis profile", &b.Count, &b.Errors, (*jsonpos.Float)(&b.SumAbs), (*jsonpos.Float)(&b.SumRel))
}

// appendCounts begins a list of JSON with whole numbers.
func appendCounts(b []byte, all ...int64) []byte {
	for i, n := range all {
		b = strconv.AppendInt(append(b, "[,"[min(i, 1)]), n, 10)
	}
	return b
}

// appendNumbers ends a list of JSON with numbers.
func appendNumbers(b []byte, all ...float64) []byte {
	for _, x := range all {
		b = jsonpos.AppendNumber(append(b, ','), x)
	}
	return append(b, ']')
}

// UnmarshalList reads a list of JSON of a fixed length; errors begin with what it is of.
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
