package shard

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Every text and number comes back with its bits.
func TestValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Text(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
		number := Float(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "number"))
		data, err := json.Marshal([]any{text, number})
		if err != nil {
			t.Fatal(err)
		}
		var raw []json.RawMessage
		var backText Text
		var backNumber Float
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw[0], &backText); err != nil || backText != text {
			t.Errorf("%q comes back as %q, %v", text, backText, err)
		}
		if err := json.Unmarshal(raw[1], &backNumber); err != nil || math.Float64bits(float64(backNumber)) != math.Float64bits(float64(number)) {
			t.Errorf("%v comes back as %v, %v", number, backNumber, err)
		}
	})
	var f Float
	var s Text
	for _, bad := range []string{`"nan"`, `true`, `{}`} {
		if json.Unmarshal([]byte(bad), &f) == nil {
			t.Errorf("%s is no number", bad)
		}
	}
	if json.Unmarshal([]byte(`{"bytes":1}`), &s) == nil || json.Unmarshal([]byte(`1`), &s) == nil {
		t.Error("a number is no text")
	}
	if Texts[string](nil) != nil || Strings(nil) != nil || Strings(Texts([]string{"a"}))[0] != "a" {
		t.Error("lists of texts")
	}
}
