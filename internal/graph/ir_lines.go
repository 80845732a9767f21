package graph

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineReader reads lines with their places.
type lineReader struct {
	in      *bufio.Reader
	offset  int64 // of the next line
	line    int32 // the number of the last one
	long    []byte
	tooLong int
}

// next returns a line without its end, and its place.
func (r *lineReader) next() (line []byte, offset int64, err error) {
	offset = r.offset
	line, err = r.in.ReadSlice('\n')
	r.offset += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, line[:min(len(line), maxIRLine-len(r.long))]...)
			line, err = r.in.ReadSlice('\n')
			r.offset += int64(len(line))
		}
		if len(r.long)+len(line) > maxIRLine {
			r.tooLong++
		}
		r.long = append(r.long, line[:min(len(line), maxIRLine-len(r.long))]...)
		line = r.long
	}
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, offset, err
	}
	r.line++
	return bytes.TrimRight(line, "\r\n"), offset, nil
}
