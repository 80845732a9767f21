package jsonpos

import (
	"math"
	"strconv"

	"dumptool/internal/lang"
)

// Float is a number that may be NaN or infinite; in JSON these are the strings "nan", "inf" and
// "-inf".
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) { return AppendNumber(nil, float64(f)), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (f *Float) UnmarshalJSON(data []byte) error {
	x, err := ParseNumber(data)
	*f = Float(x)
	return err
}

// FormatFloat formats x with the fewest digits that parse to x. The exponent form is used below
// 1e-6 and from 1e21 on; nan, inf and -inf are words.
func FormatFloat(x float64) string { return string(appendFloat(nil, x)) }

func appendFloat(b []byte, x float64) []byte {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return append(b, "nan"...)
	case math.IsInf(x, 1):
		return append(b, "inf"...)
	case math.IsInf(x, -1):
		return append(b, "-inf"...)
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.AppendFloat(b, x, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, x, 'f', -1, 64)
}

// AppendNumber appends x to JSON.
func AppendNumber(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(appendFloat(append(b, '"'), x), '"')
	}
	return appendFloat(b, x)
}

// ParseNumber parses a JSON number or one of the strings for NaN and infinities.
func ParseNumber(data []byte) (float64, error) {
	switch string(data) {
	case `"nan"`:
		return math.NaN(), nil
	case `"inf"`:
		return math.Inf(1), nil
	case `"-inf"`:
		return math.Inf(-1), nil
	}
	if len(data) == 0 || data[0] != '-' && (data[0] < '0' || data[0] > '9') {
		return 0, lang.Errorf("%.40s is no number, want one, null, \"nan\", \"inf\" or \"-inf\"", data)
	}
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return 0, lang.Errorf("number %.40s is out of range", data)
	}
	return x, nil
}
