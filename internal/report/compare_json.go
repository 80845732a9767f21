package report

import (
	"bufio"
	"bytes"
	"io"

	"dumptool/internal/compare"
)

// WriteCompareJSON writes compare.json: the head in lines for people, then a
// line for each row.
func WriteCompareJSON(w io.Writer, d *compare.Document) error {
	return writeDocument(w, *d, len(d.Rows), func(i int) *compare.DocumentRow { return &d.Rows[i] })
}

// WriteCompareReportJSON writes compare.json of a report without holding the
// document of all rows in memory.
func WriteCompareReportJSON(w io.Writer, r *compare.Report, meta compare.DocumentMeta) error {
	return writeDocument(w, *compare.NewDocumentHead(r, meta), len(r.Rows), func(i int) *compare.DocumentRow {
		row := r.DocumentRow(i)
		return &row
	})
}

// writeDocument writes the head of a document, then n rows.
func writeDocument(w io.Writer, head compare.Document, n int, row func(i int) *compare.DocumentRow) error {
	const end = "]\n}"
	head.Rows = []compare.DocumentRow{}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(marshal(head, "  "), []byte(end))) // the rows come last
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		if _, err := out.Write(marshal(row(i), "")); err != nil {
			return err
		}
	}
	if n > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}
