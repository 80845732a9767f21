package report

import "testing"

// TestQuoted: a shell takes every word as it is, whatever an operator is called.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"net/conv1.weight:0": "net/conv1.weight:0",
		"":                   "''",
		"a b":                "'a b'",
		"$(touch x)":         "'$(touch x)'",
		"it's":               `'it'\''s'`,
		"*":                  "'*'",
		"算子":                 "'算子'",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}
