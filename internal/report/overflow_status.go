package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"dumptool/internal/statusreg"
)

// Lang is the language of texts for people. It has the methods of a flag
// value; the zero value is English.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Set implements the value of a flag.
func (l *Lang) Set(s string) error {
	switch v := Lang(strings.ToLower(s)); v {
	case English, Chinese:
		*l = v
		return nil
	}
	return fmt.Errorf("must be %s or %s", English, Chinese)
}

// String implements the value of a flag.
func (l *Lang) String() string { return string(*l) }

// Type implements the value of a flag.
func (l *Lang) Type() string { return "en|zh" }

// Text returns t in the language.
func (l Lang) Text(t statusreg.Text) string {
	if l == Chinese {
		return t.ZH
	}
	return t.EN
}

// statusJSON is the JSON form of a decoded value. Numbers of more than 53 bits
// do not survive every reader of JSON, so all of them are strings in hex.
type statusJSON struct {
	Value    string      `json:"value"`
	Register string      `json:"register"`
	Bits     []causeJSON `json:"bits"`
	Unknown  string      `json:"unknown"`
}

// causeJSON is a documented bit, or a code in a field of bits. The keys from
// "code" on stand only where there is something to tell.
type causeJSON struct {
	Mask       string  `json:"mask"`
	Name       string  `json:"name"`
	EN         string  `json:"en"`
	ZH         string  `json:"zh"`
	Advice     string  `json:"advice"`
	Code       *uint64 `json:"code,omitempty"`
	Number     *int    `json:"number,omitempty"`
	Word       *int    `json:"word,omitempty"`
	Numeric    bool    `json:"numeric,omitempty"`
	Unofficial bool    `json:"unofficial,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// AppendStatusJSON appends a decoded value as a JSON object on one line,
// without a newline. Advice and notes are in the given language.
func AppendStatusJSON(dst []byte, r *statusreg.Result, lang Lang) []byte {
	form := statusJSON{
		Value:    r.Value.String(),
		Register: r.Register.String(),
		Bits:     causesJSON(r, lang),
		Unknown:  r.Unknown.String(),
	}
	return append(dst, marshal(form, "")...)
}

// causesJSON lists the documented parts of a value.
func causesJSON(r *statusreg.Result, lang Lang) []causeJSON {
	causes := make([]causeJSON, len(r.Entries))
	for i := range r.Entries {
		e := &r.Entries[i]
		causes[i] = causeJSON{
			Mask:       e.Mask.String(),
			Name:       e.Name,
			EN:         e.Meaning.EN,
			ZH:         e.Meaning.ZH,
			Advice:     lang.Text(e.Advice),
			Numeric:    e.Numeric,
			Unofficial: e.Unofficial,
			Note:       lang.Text(e.Note),
		}
		if e.IsCode {
			causes[i].Code = &e.Code
		}
		if e.Global >= 0 {
			causes[i].Number = &e.Global
		}
	}
	return causes
}

// marshal returns v as JSON, on one line unless there is an indentation, and
// without a newline at its end. What it is given can always be marshalled.
func marshal(v any, indent string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
