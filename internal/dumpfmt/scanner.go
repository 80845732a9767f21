package dumpfmt

import (
	"fmt"
	"io"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"dumptool/internal/lang"
)

const (
	// windowSize is the number of bytes read at a time while scanning descriptors.
	windowSize = 4096
	// memoryBudget bounds the memory for the descriptors of one file, in bytes. Real files need a
	// few kilobytes.
	memoryBudget = 64 << 20
)

// scanner reads a file sequentially in small reads, skips tensor bytes, and counts the memory that
// the descriptors will take.
type scanner struct {
	r      io.ReaderAt
	size   int64
	off    int64   // offset of the next byte
	start  int64   // offset of the window
	window []byte  // bytes of the file from start on
	buf    []byte  // backing array of window
	spent  int64   // part of memoryBudget
	parts  []*part // parts read so far
}

// newScanner returns a scanner at the beginning of a file.
func newScanner(r io.ReaderAt, size int64) *scanner {
	s := scanners.Get().(*scanner)
	*s = scanner{r: r, size: size, buf: s.buf, parts: s.parts[:0]}
	return s
}

// scanners pools scanners with their buffers.
var scanners = sync.Pool{New: func() any { return &scanner{buf: make([]byte, windowSize)} }}

// release returns the scanner to the pool.
func (s *scanner) release() {
	s.r = nil
	scanners.Put(s)
}

// seek continues at off with the full memory budget.
func (s *scanner) seek(off int64) { s.off, s.spent = off, 0 }

// chargeMemory takes n bytes off the memory budget.
func (s *scanner) chargeMemory(n int64) error {
	if n > memoryBudget-s.spent {
		return &UnsupportedError{What: lang.Say("a header that needs more than %d MiB of memory (reached at 0x%x)", memoryBudget>>20, s.off)}
	}
	s.spent += n
	return nil
}

// peek returns the next n bytes without consuming them, or fewer if end comes first. n is at most
// windowSize, end at most the file size. The bytes are valid until the next call.
func (s *scanner) peek(n int, end int64) ([]byte, error) {
	n = int(min(int64(n), end-s.off))
	if s.off < s.start || s.off+int64(n) > s.start+int64(len(s.window)) {
		s.start = s.off
		s.window = s.buf[:min(int64(len(s.buf)), s.size-s.off)]
		if err := readFull(s.r, s.window, s.off); err != nil {
			s.window = nil
			return nil, err
		}
	}
	return s.window[s.off-s.start:][:n], nil
}

// nextBytes returns the next n bytes; the caller has checked that the file has them. They are valid
// until the next call.
func (s *scanner) nextBytes(n int64) (b []byte, err error) {
	if err := s.chargeMemory(n); err != nil {
		return nil, err
	}
	if n <= int64(len(s.buf)) {
		b, err = s.peek(int(n), s.size)
	} else {
		b = make([]byte, n)
		err = readFull(s.r, b, s.off)
	}
	s.off += n
	return b, err
}

// readVarint reads a base-128 integer; what names it in errors.
func (s *scanner) readVarint(what string, end int64) (uint64, error) {
	return s.readVarintOf(what, "", end)
}

// readVarintOf reads a varint; part is a suffix of its name in errors.
func (s *scanner) readVarintOf(what, part string, end int64) (uint64, error) {
	b, err := s.peek(maxVarint, end)
	if err != nil {
		return 0, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		problem := "is not a 64-bit varint"
		if len(b) < maxVarint {
			problem = "is cut off"
		}
		return 0, formatError(s.off, lang.Say(what+part), lang.Sentence{}, lang.Say(problem))
	}
	s.off += int64(n)
	return v, nil
}

// maxVarint is the length of the longest varint, in bytes.
const maxVarint = 10

// readLength reads a length and checks that as many bytes follow.
func (s *scanner) readLength(what string, end int64) (int64, error) {
	at := s.off
	v, err := s.readVarintOf(what, " length", end)
	if err != nil {
		return 0, err
	}
	if rest := end - s.off; v > uint64(rest) {
		return 0, formatError(at, lang.Say("%s length", lang.Say(what)), lang.Plain(formatLength(v)), exceeds(rest))
	}
	return int64(v), nil
}

// readFull fills b from off. A file that ends early is an error.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case lang.IsLocated(err):
		return err
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return lang.Errorf("dumpfmt: read %d bytes at 0x%x: %w", len(b), off, err)
}

// formatLength prints a length, in hexadecimal if it is very large.
func formatLength(v uint64) string {
	if v >= 1<<40 {
		return fmt.Sprintf("0x%x", v)
	}
	return strconv.FormatUint(v, 10)
}

func exceeds(rest int64) lang.Sentence {
	return lang.Say("exceeds the %d bytes that follow", rest)
}
