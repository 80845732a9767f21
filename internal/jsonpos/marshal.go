package jsonpos

import (
	"bytes"
	"encoding/json"
)

// Marshal returns v as JSON that a terminal shows, on one line unless there is an
// indentation, without a newline at its end and without escapes for HTML. What it is
// given can always be marshalled.
func Marshal(v any, indent string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
