package jsonpos

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                  "{\"a\": 1}",
		"{\n  \"算子\": \"é\u00a0\"}": "{\n  \"算子\": \"é\u00a0\"}",
		"\"\x7f\u009b31m\"":         `"\u007f\u009b31m"`,
		"\"a\u202eb\"":              `"a\u202eb"`,
		"\"\U000e0001\"":            `"\udb40\udc01"`,
	} {
		if got := string(Visible([]byte(text))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestVisiblePlaces: a character is found at every position among others.
func TestVisiblePlaces(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"\x7f", `\u007f`}, {"\u0080", `\u0080`}, {"\u202e", `\u202e`}, {"\u00ff", "\u00ff"}, {"~", "~"}} {
		for before := range 18 {
			for after := range 18 {
				a, b := strings.Repeat("~", before), strings.Repeat("é", after)
				if got := string(Visible([]byte(a + c.text + b))); got != a+c.want+b {
					t.Errorf("%q between %d and %d others: %q", c.text, before, after, got)
				}
			}
		}
	}
}

// TestVisibleMeaning: every character keeps its meaning.
func TestVisibleMeaning(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r < 0xd800 || r > 0xdfff {
			all.WriteRune(r)
		}
	}
	text, err := json.Marshal(all.String())
	if err != nil {
		t.Fatal(err)
	}
	text = Visible(text)
	if i := strings.IndexFunc(string(text), func(r rune) bool { return isInvisible(r) || r < ' ' }); i >= 0 {
		t.Errorf("%q is not visible", text[i:i+8])
	}
	var back string
	if err := json.Unmarshal(text, &back); err != nil || back != all.String() {
		t.Errorf("read back as another text, error %v", err)
	}
}
