package report

import (
	"bytes"
	"encoding/json"
	"io"

	"dumptool/internal/convert"
)

// WriteConvertedJSON writes the result of a file as a JSON object on one line.
func WriteConvertedJSON(w io.Writer, r *convert.Result) error {
	var line bytes.Buffer
	json.HTMLEscape(&line, objectOf([]Column[*convert.Result]{
		words("file", func(r *convert.Result) string { return r.Job.Path() }),
		words("outputs", func(r *convert.Result) any { return Table[*convert.Row]{convertedColumns, pointers(r.Rows)} }),
		words("warnings", func(r *convert.Result) []string { return r.Warnings }).given(),
		words("error", func(r *convert.Result) any { return r.Err }),
	}, r))
	_, err := w.Write(append(line.Bytes(), '\n'))
	return err
}

// convertedColumns are those of a converted tensor.
var convertedColumns = []Column[*convert.Row]{
	words("kind", func(r *convert.Row) string { return r.Kind }),
	words("index", func(r *convert.Row) int { return r.Index }),
	words("name", func(r *convert.Row) string { return r.Name }).given(),
	words("path", func(r *convert.Row) any {
		if r.Err != nil {
			return nil
		}
		return r.Path
	}).given(),
	words("skipped", func(r *convert.Row) bool { return r.Skipped }).given(),
	words("warnings", func(r *convert.Row) []string { return r.Warnings }).given(),
	words("error", func(r *convert.Row) any { return r.Err }),
}
