package shard

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// Text is a text in a row, such as a path, that may hold any bytes. JSON has it as a
// string, or as an object {"bytes": BASE64} when it is no valid UTF-8.
type Text string

// rawText is a Text that is no valid UTF-8.
type rawText struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw rawText
		err := json.Unmarshal(data, &raw)
		*t = Text(raw.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// Texts are texts; nil stays nil.
func Texts[S ~string](all []S) []Text { return convert[Text](all) }

// Strings are the texts as strings; nil stays nil.
func Strings(all []Text) []string { return convert[string](all) }

func convert[B, A ~string](all []A) []B {
	if all == nil {
		return nil
	}
	out := make([]B, len(all))
	for i, s := range all {
		out[i] = B(s)
	}
	return out
}

// Float is a number in a row that may be NaN or infinite: JSON has the shortest decimal
// that reads as the same number, or "NaN", "Infinity" and "-Infinity".
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	v := float64(f)
	switch {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Float) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*f = Float(math.NaN())
	case `"Infinity"`:
		*f = Float(math.Inf(1))
	case `"-Infinity"`:
		*f = Float(math.Inf(-1))
	default:
		v, err := strconv.ParseFloat(string(data), 64)
		if err != nil {
			return errors.New("want a number, \"NaN\", \"Infinity\" or \"-Infinity\", not " + string(data))
		}
		*f = Float(v)
	}
	return nil
}
