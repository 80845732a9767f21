package tensor

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Number is a number that may be NaN or infinite, which JSON has as the strings nan,
// inf and -inf.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte(`"nan"`), nil
	case math.IsInf(x, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*float64)(n))
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !math.IsNaN(x) && !math.IsInf(x, 0) {
		return fmt.Errorf("%q is no number, want one, or nan, inf or -inf", text)
	}
	*n = Number(x)
	return nil
}
