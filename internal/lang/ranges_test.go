package lang

import (
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	for values, want := range map[string]string{
		"": "", "3": "3", "0 1": "0, 1", "0 1 2 3": "0-3", "0 1 2 7 9 10 11": "0-2, 7, 9-11",
		"0 1 2 a b": "0-2, a, b", "18446744073709551614 18446744073709551615 99999999999999999999": "18446744073709551614, 18446744073709551615, 99999999999999999999",
	} {
		if got := Ranges(strings.Fields(values)); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}
