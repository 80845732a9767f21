package report

import (
	"bytes"
	"encoding/json"
	"io"

	"dumptool/internal/jsonpos"
)

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
	return jsonpos.Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// writeLine writes v as JSON on one line.
func writeLine[R any](w io.Writer, v R) error {
	_, err := w.Write(append(marshal(v, ""), '\n'))
	return err
}

// writeJSON writes v in lines that people can read too.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(marshal(v, "  "), '\n'))
	return err
}

// writeDocument writes a result that is a document as it is.
func writeDocument[R any](w io.Writer, r R) error { return writeJSON(w, r) }
