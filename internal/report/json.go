package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
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

// writeAround writes an object without a newline: the members of head, those of tail,
// and between them a list, left out when it is nil. Its elements are marshalled one at a
// time: there may be as many as a run has tensors. Errors are those of the next Flush.
func writeAround[T, F any](out *bufio.Writer, head any, key string, elements []T, form func(*T) F, tail any) {
	out.Write(bytes.TrimSuffix(marshal(head, ""), []byte("}")))
	if elements != nil {
		fmt.Fprintf(out, ",%q:[", key)
		for i := range elements {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(marshal(form(&elements[i]), ""))
		}
		out.WriteByte(']')
	}
	members := marshal(tail, "")[1:]
	if len(members) > len("}") {
		out.WriteByte(',')
	}
	out.Write(members)
}

// writeJSON writes v in lines that people can read too.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(marshal(v, "  "), '\n'))
	return err
}

// writeDocument writes a result that is a document as it is.
func writeDocument[R any](w io.Writer, r R) error { return writeJSON(w, r) }
