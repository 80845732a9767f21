package shard

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is a text in a document, such as a path, that may hold any bytes. JSON has it as a
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
