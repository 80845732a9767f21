package shard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// CutError says that a part file has no end: it was not copied whole.
type CutError struct {
	Path  string
	Shard int
	// Row is the number, from 1, of the row within or after which the file ends; 0 is
	// the first line.
	Row    int
	Within bool
}

// Error implements error.
func (e *CutError) Error() string {
	where := "after"
	if e.Within {
		where = "within"
	}
	if e.Row == 0 {
		return fmt.Sprintf("%s: ends %s its first line: the shard was killed; run it again", e.Path, where)
	}
	return fmt.Sprintf("%s: ends %s row %d: the shard was killed; run shard %d again", e.Path, where, e.Row, e.Shard)
}

// NewerError says that a part file was written by a newer dumptool.
type NewerError struct{ Path, Schema string }

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s: has the schema %s of a newer dumptool, want %s", e.Path, e.Schema, Schema)
}

// PartReader reads a part file.
type PartReader struct {
	Head Head

	path string
	file io.Closer
	in   *bufio.Reader
	line []byte
	sum  uint32 // of all lines before the one in line
	rows int
	last int
	done bool
}

// OpenPart opens a part file and reads its head. Close it.
func OpenPart(path string) (*PartReader, error) {
	f, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(path, io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		_ = f.Close() // the error is that of reading
		return nil, err
	}
	r.file = f
	return r, nil
}

// newReader reads the head of a part file; path is for errors.
func newReader(path string, in io.Reader) (*PartReader, error) {
	r := &PartReader{path: path, in: bufio.NewReaderSize(in, 16<<10), last: -1}
	err := r.next()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &CutError{Path: path, Within: true}
	case err != nil:
		return nil, err
	}
	if err := checkSchema(path, r.line); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.line, &r.Head); err != nil {
		return nil, fmt.Errorf("%s: the first line is damaged: %w", path, err)
	}
	if err := r.Head.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// checkSchema refuses files of other kinds and of newer versions by their first line,
// of which newer versions keep the schema.
func checkSchema(path string, line []byte) error {
	var h struct{ Schema string }
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Schema == "":
		return fmt.Errorf("%s: is no part of a result: its first line has no schema", path)
	case h.Schema == Schema:
		return nil
	case strings.HasPrefix(h.Schema, "dumptool/part/"):
		return &NewerError{Path: path, Schema: h.Schema}
	}
	return fmt.Errorf("%s: is no part of a result: its schema is %q, want %q", path, h.Schema, Schema)
}

// check looks for numbers that cannot be.
func (h *Head) check() error {
	switch {
	case h.Of < 1 || h.Of > MaxShards || h.Shard < 0 || h.Shard >= h.Of:
		return fmt.Errorf("shard %d of %d: want 0 to %d of at most %d", h.Shard, h.Of, max(h.Of, 1)-1, MaxShards)
	case h.Rows < 0:
		return fmt.Errorf("%d rows in all, want 0 or more", h.Rows)
	}
	return nil
}

// next reads a line without its end. The error is io.EOF at the end of the file, and
// io.ErrUnexpectedEOF within a line.
func (r *PartReader) next() error {
	r.sum = crc32.Update(r.sum, castagnoli, r.line)
	r.line = r.line[:0]
	for {
		piece, err := r.in.ReadSlice('\n')
		r.line = append(r.line, piece...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, io.EOF) && len(r.line) > 0:
			return io.ErrUnexpectedEOF
		case len(r.line) > maxLine:
			return fmt.Errorf("%s: row %d has more than %d bytes", r.path, r.rows+1, maxLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// Next returns the next row. The error is
// io.EOF after the last row, when the file is complete and undamaged.
func (r *PartReader) Next() (Row, error) {
	if r.done {
		return Row{}, io.EOF
	}
	err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return Row{}, &CutError{Path: r.path, Shard: r.Head.Shard, Row: r.rows}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Row{}, &CutError{Path: r.path, Shard: r.Head.Shard, Row: r.rows + 1, Within: true}
	case err != nil:
		return Row{}, safefile.WithPath(r.path, err)
	}
	if bytes.HasPrefix(r.line, []byte(`{"end":`)) {
		return Row{}, r.finish()
	}
	row := Row{Index: -1}
	if err := json.Unmarshal(r.line, &row); err != nil || row.Index < 0 || row.Data == nil {
		return Row{}, fmt.Errorf("%s: row %d is no row: want an index and data; run shard %d again", r.path, r.rows+1, r.Head.Shard)
	}
	if row.Index <= r.last || row.Index >= r.Head.Rows {
		return Row{}, fmt.Errorf("%s: row %d has the index %d, want more than %d and less than %d", r.path, r.rows+1, row.Index, r.last, r.Head.Rows)
	}
	r.rows, r.last = r.rows+1, row.Index
	return row, nil
}

// finish checks the last line, and returns io.EOF.
func (r *PartReader) finish() error {
	var e end
	if err := json.Unmarshal(r.line, &e); err != nil || !e.End {
		return fmt.Errorf("%s: the last line is damaged; run shard %d again", r.path, r.Head.Shard)
	}
	if got := fmt.Sprintf("%08x", r.sum); e.Rows != r.rows || e.Sum != got {
		return fmt.Errorf("%s: has %d rows with the sum %s, its end says %d and %s: the file is damaged; run shard %d again",
			r.path, r.rows, got, e.Rows, e.Sum, r.Head.Shard)
	}
	if err := r.next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: goes on behind its end; run shard %d again", r.path, r.Head.Shard)
	}
	r.done = true
	return io.EOF
}

// Close closes the file.
func (r *PartReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
