package shard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// PartWriter writes a part file, which has its name only when it is complete.
type PartWriter struct {
	file *safefile.File
	out  *bufio.Writer
	sum  uint32
	rows int // written
	last int // index of the last one, -1 before the first
	of   int // rows of all shards
	line []byte
}

// Create starts the part file of head's shard in the folder dir, which is made. Exactly
// one of Commit and Abort ends it; defer Abort right after Create.
func Create(dir string, head Head) (*PartWriter, error) {
	head.Schema = Schema
	if err := head.check(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return nil, err
	}
	f, err := safefile.Create(store.Join(dir, FileName(head.Shard, head.Of)))
	if err != nil {
		return nil, err
	}
	w := &PartWriter{file: f, out: bufio.NewWriterSize(f, 64<<10), last: -1, of: head.Rows}
	if err := w.put(line); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// put writes a line.
func (w *PartWriter) put(line []byte) error {
	if len(line) > maxLine {
		return fmt.Errorf("%s: a line of %d bytes, want at most %d", w.Path(), len(line), maxLine)
	}
	w.line = append(append(w.line[:0], line...), '\n')
	w.sum = crc32.Update(w.sum, castagnoli, w.line)
	_, err := w.out.Write(w.line)
	return err
}

// Path is the name of the part file.
func (w *PartWriter) Path() string { return w.file.Path() }

// Write adds a row. Indexes rise from row to row; data is JSON in one line.
func (w *PartWriter) Write(index int, data json.RawMessage) error {
	switch {
	case index <= w.last || index >= w.of:
		return fmt.Errorf("%s: row %d behind row %d of %d", w.Path(), index, w.last, w.of)
	case bytes.IndexByte(data, '\n') >= 0:
		return fmt.Errorf("%s: row %d has several lines", w.Path(), index)
	}
	line := append(make([]byte, 0, len(data)+32), `{"i":`...)
	line = strconv.AppendInt(line, int64(index), 10)
	line = append(append(append(line, `,"row":`...), data...), '}')
	w.rows, w.last = w.rows+1, index
	return w.put(line)
}

// Commit ends the file and gives it its name.
func (w *PartWriter) Commit() error {
	line, err := json.Marshal(end{End: true, Rows: w.rows, Sum: fmt.Sprintf("%08x", w.sum)})
	if err != nil {
		return err
	}
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort gives the file up. It does nothing after Commit.
func (w *PartWriter) Abort() { w.file.Abort() }
