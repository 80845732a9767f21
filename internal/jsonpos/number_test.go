package jsonpos

import (
	"encoding/json"
	"testing"
)

// TestNumbers compares isNumber with encoding/json on all texts of up to six characters from the alphabet of numbers.
func TestNumbers(t *testing.T) {
	const letters = "-+.eE019"
	var check func(text []byte)
	check = func(text []byte) {
		if got, want := isNumber(text), json.Valid(text); got != want {
			t.Fatalf("%q: %t, want %t", text, got, want)
		}
		if len(text) < 6 {
			for i := range letters {
				check(append(text, letters[i]))
			}
		}
	}
	check(make([]byte, 0, 6))
}
