package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// NumberOf returns a defined number.
func NumberOf(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: x == x} }

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
			return ElementValue(fmt.Sprintf("[%s,%s]", metrics.AppendNumber(nil, v.Real), metrics.AppendNumber(nil, v.Imag)))
		}
	}
	return ElementValue(metrics.AppendNumber(nil, v.Real))
}

// Float returns the element as the nearest float64; ok is false where there is
// none, and for complex elements.
func (v ElementValue) Float() (x float64, ok bool) {
	if v == "" {
		return 0, false
	}
	x, err := metrics.ParseNumber([]byte(v))
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
		if e.Real, err = metrics.ParseNumber(parts[0]); err == nil && len(parts) == 2 {
			e.Imag, err = metrics.ParseNumber(parts[1])
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
		if _, err := metrics.ParseNumber(data); err != nil {
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
		if _, err := metrics.ParseNumber(p); err != nil {
			return err
		}
	}
	*v = ElementValue("[" + string(parts[0]) + "," + string(parts[1]) + "]")
	return nil
}
