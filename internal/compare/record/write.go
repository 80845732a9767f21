package record

import (
	"bufio"
	"bytes"
	"io"

	"dumptool/internal/jsonpos"
)

// Write writes compare.json: the head in lines for people, then a line for each
// row.
func (r *Report) Write(w io.Writer) error {
	const end = "]\n}"
	head, err := marshal(documentOf(r).members(), "  ")
	if err != nil {
		return err
	}
	var text bytes.Buffer // of a row
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte(end))) // the rows come last
	for i, x := range r.All() {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		row := x.object
		if r.Shard != nil { // what a merge leaves out is not known yet
			row = x.whole
		}
		if err := row().encode(&text); err != nil {
			return err
		}
		if _, err := out.Write(jsonpos.Visible(text.Bytes())); err != nil {
			return err
		}
	}
	if r.Len() > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}
