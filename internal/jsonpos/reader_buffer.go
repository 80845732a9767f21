package jsonpos

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// peek returns the next byte, or 0 at the end.
func (r *Reader) peek() byte {
	if r.pos < len(r.buf) || r.fill() {
		return r.buf[r.pos]
	}
	return 0
}

// fill reads further bytes and drops those that are not needed any more.
func (r *Reader) fill() bool {
	if drop := r.kept(); drop > 0 {
		gone := r.buf[:drop]
		r.line, r.column = advance(r.line, r.column, gone)
		r.base += int64(drop)
		r.buf = r.buf[:copy(r.buf, r.buf[drop:])]
		r.pos -= drop
	}
	for tries := 0; r.err == nil; tries++ {
		r.buf = slices.Grow(r.buf, readSize)
		n, err := r.in.Read(r.buf[len(r.buf) : len(r.buf)+readSize])
		r.buf, r.err = r.buf[:len(r.buf)+n], err
		switch r.size += int64(n); {
		case r.size > r.maxSize:
			r.err = fmt.Errorf("the file is larger than %d MiB", r.maxSize>>20)
			r.buf = r.buf[:len(r.buf)-n]
			return false
		case n > 0:
			return true
		case tries == 100:
			r.err = io.ErrNoProgress
		}
	}
	return false
}

// kept returns the index in buf of the first byte that is still needed. It splits
// no character.
func (r *Reader) kept() int {
	first := r.pos
	if r.token >= 0 {
		first = int(r.token - r.base)
	}
	for back := 0; back < utf8.UTFMax && first > 0 && first < len(r.buf) && !utf8.RuneStart(r.buf[first]); back++ {
		first--
	}
	return first
}

func (r *Reader) offset() int64 { return r.base + int64(r.pos) }

// unexpected is the error for the character that comes next.
func (r *Reader) unexpected(wanted string) error {
	for !utf8.FullRune(r.buf[r.pos:]) && r.fill() {
	}
	if r.pos < len(r.buf) {
		_, size := utf8.DecodeRune(r.buf[r.pos:])
		return r.wrong(strconv.Quote(string(r.buf[r.pos:r.pos+size])), wanted)
	}
	if !errors.Is(r.err, io.EOF) {
		return r.err
	}
	return r.wrong("the end of the file", wanted)
}

// wrong is an error at the current place.
func (r *Reader) wrong(found, wanted string) error {
	return r.errorAt(r.offset(), r.where(), found, wanted)
}

// where is the path of the current value.
func (r *Reader) where() string { return pathText(r.path) }

func (r *Reader) errorAt(offset int64, path, found, wanted string) error {
	e := &Error{Path: path, Offset: offset, Found: found, Wanted: wanted}
	e.Line, e.Column = advance(r.line, r.column, r.buf[:offset-r.base])
	return e
}
