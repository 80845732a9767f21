package report

import (
	"encoding/json"
	"io"

	"dumptool/internal/jsonpos"
)

// marshal returns v as JSON that a terminal shows.
func marshal(v any, indent string) []byte { return jsonpos.Marshal(v, indent) }

// writeLine writes v as JSON on one line.
func writeLine[R any](w io.Writer, v R) error {
	_, err := w.Write(append(marshal(v, ""), '\n'))
	return err
}

// writeEscaped writes v as JSON on one line in which the signs of HTML are escaped.
func writeEscaped[R any](w io.Writer, v R) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(jsonpos.Visible(text), '\n'))
	return err
}

// writeJSON writes v in lines that people can read too.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(marshal(v, "  "), '\n'))
	return err
}

// writeDocument writes a result that is a document as it is.
func writeDocument[R any](w io.Writer, r R) error { return writeJSON(w, r) }
