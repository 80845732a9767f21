package shard

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// Every text comes back with its bytes.
func TestValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Text(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var back Text
		if err := json.Unmarshal(data, &back); err != nil || back != text {
			t.Errorf("%q comes back as %q, %v", text, back, err)
		}
	})
	var s Text
	if json.Unmarshal([]byte(`{"bytes":1}`), &s) == nil || json.Unmarshal([]byte(`1`), &s) == nil {
		t.Error("a number is no text")
	}
}
