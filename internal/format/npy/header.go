package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"

	"dumptool/internal/format"
)

// source is the part of a header that is Python source.
type source struct {
	data []byte
	off  int64 // in the file
}

// readHeader reads the header text, after the magic, version and length.
func readHeader(r io.ReaderAt, size int64) (source, error) {
	var prefix [len(Magic) + 2 + 4]byte
	got := prefix[:max(0, min(size, int64(len(prefix))))]
	if err := format.ReadFull(r, got, 0); err != nil {
		return source{}, fmt.Errorf("npy: read header: %w", err)
	}
	start, length, err := parsePrefix(got)
	if err != nil {
		return source{}, err
	}
	switch {
	case length > size-start:
		return source{}, wrongLength(start, "header is truncated", length, size-start)
	case length > maxHeader:
		return source{}, &UnsupportedError{int64(len(Magic) + 2),
			fmt.Sprintf("header length over %d bytes is not supported", maxHeader), length}
	}
	text := source{make([]byte, length), start}
	if err := format.ReadFull(r, text.data, start); err != nil {
		return source{}, fmt.Errorf("npy: read header: %w", err)
	}
	if i := bytes.IndexByte(text.data, 0); i >= 0 {
		return source{}, &FormatError{start + int64(i), "header has a zero byte", nil}
	}
	if prefix[len(Magic)] >= 3 && !utf8.Valid(text.data) {
		return source{}, &FormatError{start, "header is not utf-8", nil}
	}
	return text, nil
}

// parsePrefix returns the offset and the length of the header text.
func parsePrefix(b []byte) (start, length int64, err error) {
	const version = len(Magic)
	if n := min(len(b), len(Magic)); n > 0 && string(b[:n]) != Magic[:n] {
		return 0, 0, &FormatError{0, fmt.Sprintf("magic is wrong, want %q", Magic), string(b[:n])}
	}
	if len(b) < version+2 {
		return 0, 0, wrongLength(int64(len(b)), "file is truncated", int64(version+2), int64(len(b)))
	}
	major, minor := b[version], b[version+1]
	if major < 1 || major > 3 || minor != 0 {
		return 0, 0, &UnsupportedError{int64(version), "format version is not supported, want 1.0, 2.0 or 3.0",
			fmt.Sprintf("%d.%d", major, minor)}
	}
	field := b[version+2:]
	want := 4
	if major == 1 {
		want = 2
	}
	switch {
	case len(field) < want:
		return 0, 0, wrongLength(int64(version+2), "header length is truncated", int64(want), int64(len(field)))
	case major == 1:
		length = int64(binary.LittleEndian.Uint16(field))
	default:
		length = int64(binary.LittleEndian.Uint32(field))
	}
	return int64(version + 2 + want), length, nil
}
