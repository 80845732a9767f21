package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// ReadDocument reads a document. It accepts keys that it does not know, and no
// other schema; what the rows say must be possible.
func ReadDocument(r io.Reader) (*Document, error) {
	in := json.NewDecoder(r)
	if err := expect(in, json.Delim('{')); err != nil {
		return nil, err
	}
	head := map[string]json.RawMessage{}
	var rows []DocumentRow
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, damaged(err)
		}
		name := strings.ToLower(fmt.Sprint(key))
		if _, twice := head[name]; twice {
			return nil, fmt.Errorf("key %q stands twice", name)
		}
		head[name] = nil
		if name == "rows" {
			rows, err = readRows(in)
		} else {
			err = readHead(in, head, name)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := expect(in, json.Delim('}')); err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more data behind the document, at byte %d", in.InputOffset())
	}
	return assemble(head, rows)
}

// readHead reads the value of a key other than the rows.
func readHead(in *json.Decoder, head map[string]json.RawMessage, name string) error {
	var value json.RawMessage
	if err := in.Decode(&value); err != nil {
		return damaged(err)
	}
	head[name] = value
	if name == "schema" && string(value) != `"`+DocumentSchema+`"` {
		return fmt.Errorf("schema is %s, want %q", excerpt(value), DocumentSchema)
	}
	return nil
}

// readRows reads the rows one after the other and checks each at once, so that
// nonsense takes no more memory than it has bytes.
func readRows(in *json.Decoder) ([]DocumentRow, error) {
	if err := expect(in, json.Delim('[')); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	rows := []DocumentRow{}
	for in.More() {
		var row DocumentRow
		if err := in.Decode(&row); err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows), damaged(err))
		}
		if err := row.check(); err != nil {
			return nil, fmt.Errorf("row %d (%s): %w", len(rows), excerpt([]byte(row.Op)), err)
		}
		rows = append(rows, row)
	}
	return rows, expect(in, json.Delim(']'))
}

// assemble makes the document of its keys.
func assemble(head map[string]json.RawMessage, rows []DocumentRow) (*Document, error) {
	for _, name := range []string{"schema", "rows"} {
		if _, ok := head[name]; !ok {
			return nil, fmt.Errorf("key %q is missing: not a document of %s", name, DocumentSchema)
		}
	}
	delete(head, "rows")
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	d.Rows = rows
	if err := d.Findings.check(len(rows)); err != nil {
		return nil, err
	}
	return d, nil
}

// expect reads a bracket.
func expect(in *json.Decoder, want json.Delim) error {
	got, err := in.Token()
	if err != nil {
		return damaged(err)
	}
	if got != want {
		return fmt.Errorf("%s at byte %d, want %q", excerpt(fmt.Append(nil, got)), in.InputOffset(), want.String())
	}
	return nil
}

// damaged makes the end of the data within a document an error with that name.
func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// check reports findings that are no rows.
func (f *DocumentFindings) check(rows int) error {
	all := slices.Concat(f.Suspects, f.Chain)
	for _, i := range []*int{f.FirstBad, f.LastGood, f.FirstNaN, f.FirstOverflow, f.LargestJump} {
		if i != nil {
			all = append(all, *i)
		}
	}
	for _, i := range all {
		if i < 0 || i >= rows {
			return fmt.Errorf("finding in row %d of %d rows", i, rows)
		}
	}
	return nil
}

// check reports what a row cannot be.
func (d *DocumentRow) check() error {
	switch {
	case d.Op == "":
		return errors.New("no op")
	case d.Output < 0:
		return fmt.Errorf("output %d is negative", d.Output)
	case !slices.Contains(Statuses(), d.Status):
		return fmt.Errorf("status %q is unknown", excerpt([]byte(d.Status)))
	case d.Total == nil:
		return d.checkEmpty()
	case *d.Total < 0:
		return fmt.Errorf("total %d is negative", *d.Total)
	case d.Metrics == nil:
		return errors.New("total without metrics")
	}
	for _, s := range []tensor.Shape{d.Shape, d.RefShape, d.NPUShape} {
		if _, ok := s.Count(); !ok {
			return fmt.Errorf("shape %s has no number of elements", excerpt([]byte(s.String())))
		}
	}
	for name, n := range map[string]*int64{"errors": d.Errors, "errors_strict": d.ErrorsStrict} {
		if n == nil {
			return fmt.Errorf("%s is missing", name)
		}
		if *n < 0 || *n > *d.Total {
			return fmt.Errorf("%s is %d, of %d elements", name, *n, *d.Total)
		}
	}
	for name, limit := range map[string]Number{"atol": d.Limits.Atol, "rtol": d.Limits.Rtol} {
		if !limit.Defined || !(limit.Value >= 0) {
			return fmt.Errorf("%s is %s, want a number that is not negative", name, limit)
		}
	}
	return d.checkElements()
}

// checkEmpty reports numbers in a row that was not compared.
func (d *DocumentRow) checkEmpty() error {
	if d.Errors != nil || d.ErrorsStrict != nil || d.FirstError != nil || len(d.Joint)+len(d.Worst)+len(d.Axes) > 0 {
		return errors.New("errors without a total")
	}
	return nil
}

// checkElements reports elements that the tensors do not have.
func (d *DocumentRow) checkElements() error {
	var offsets []int64
	if d.FirstError != nil {
		offsets = append(offsets, d.FirstError.Offset)
	}
	for _, e := range []*DocumentElement{d.FirstErrorPolicy, d.FirstErrorStrict, d.LastErrorStrict} {
		if e != nil {
			offsets = append(offsets, e.Offset)
		}
	}
	for i := range d.Worst {
		offsets = append(offsets, d.Worst[i].Offset)
	}
	for _, offset := range offsets {
		if offset < 0 || offset >= *d.Total {
			return fmt.Errorf("element %d, of %d elements", offset, *d.Total)
		}
	}
	pairs := int64(0)
	for _, b := range d.Joint {
		if b.Count <= 0 || b.Count > *d.Total-pairs {
			return fmt.Errorf("joint histogram: %d pairs in a bin, of %d elements", b.Count, *d.Total)
		}
		if !(0 <= b.MinAbs && b.MinAbs <= b.MaxAbs && 0 <= b.MinRef && b.MinRef <= b.MaxRef) {
			return fmt.Errorf("joint histogram: bounds %g to %g and %g to %g do not rise from 0", b.MinAbs, b.MaxAbs, b.MinRef, b.MaxRef)
		}
		pairs += b.Count
	}
	return nil
}
