package tensorfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"

	"dumptool/internal/lang"
)

// maxNumbers bounds the numbers of a text in memory: 64 MiB.
const maxNumbers = 64 << 20 / 8

// maxWord bounds the bytes of a number in a text.
const maxWord = 4096

// readText reads the numbers of a text file of size bytes in the form of numpy.savetxt for real
// numbers: separated by white space, with comments from # to the end of the line. It returns
// little-endian float64 elements, at most `most`, and their size in bytes.
func readText(file io.ReaderAt, size, most int64) (io.ReaderAt, int64, error) {
	// A number takes at least two bytes: this bounds the memory.
	numbers := make([]byte, 0, 8*min(size/2+1, most))
	w := &fields{line: 1}
	s := bufio.NewScanner(io.NewSectionReader(file, 0, size))
	s.Buffer(make([]byte, 16*maxWord), 16*maxWord)
	s.Split(w.split)
	for s.Scan() {
		// A number beyond the range of float64 is infinite, as in numpy.
		v, err := strconv.ParseFloat(s.Text(), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, 0, lang.Errorf("line %d: %.40q is not a real number", w.line, s.Text())
		}
		if int64(len(numbers)) == 8*most {
			return nil, 0, lang.Errorf("line %d: more than %d numbers; use .npy or .bin for larger arrays", w.line, most)
		}
		numbers = binary.LittleEndian.AppendUint64(numbers, math.Float64bits(v))
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, 0, lang.Errorf("line %d: a word of more than %d bytes is not a real number", w.line, maxWord)
	}
	if s.Err() != nil {
		return nil, 0, s.Err()
	}
	return bytes.NewReader(numbers), int64(len(numbers)), nil
}

// IsNumbers reports whether head begins a text of numbers, as readText reads them: all words are
// numbers, except a last word that may be cut off. A text without words counts as well.
func IsNumbers(head []byte) bool {
	w := &fields{line: 1}
	for {
		n, word, err := w.split(head, len(head) < headBytes)
		if err != nil {
			return false
		}
		if word == nil {
			return true
		}
		if _, err := strconv.ParseFloat(string(word), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return false
		}
		head = head[n:]
	}
}

// fields splits a text at white space and skips comments.
type fields struct {
	line    int // line of the last word
	comment bool
}

// split is a bufio.SplitFunc.
func (w *fields) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	start := 0
	for ; start < len(data) && (w.comment || data[start] == '#' || isSpace(data[start])); start++ {
		switch data[start] {
		case '\n':
			w.line++
			w.comment = false
		case '#':
			w.comment = true
		}
	}
	end := start
	for end < len(data) && data[end] != '#' && !isSpace(data[end]) {
		end++
	}
	switch {
	case start == end || end == len(data) && !atEOF && end-start <= maxWord:
		return start, nil, nil // incomplete word: wait for more
	case end-start > maxWord:
		return 0, nil, bufio.ErrTooLong
	}
	return end, data[start:end], nil
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }
