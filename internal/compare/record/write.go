package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"dumptool/internal/jsonpos"
)

// Write writes compare.json: the head in lines for people, then a line for each
// row.
func (r *Report) Write(w io.Writer) error {
	const end = "]\n}"
	head, err := marshal(r.head(), "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte(end))) // the rows come last
	for i, x := range r.All() {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		j := x.json()
		if r.Shard != nil { // what a merge leaves out is not known yet
			j = x.whole()
		}
		row, err := marshal(j, "")
		if err != nil {
			return err
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	if r.Len() > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}

// marshal is a value in JSON, without escapes for HTML.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return jsonpos.Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}
