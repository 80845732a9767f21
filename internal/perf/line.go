package perf

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxLine is how many bytes a line may have.
const maxLine = 1 << 20

// lines reads the lines of a table, one at a time: a cell in quotes does not go over
// the end of its line, so that a damaged one costs its line only.
type lines struct {
	r      *bufio.Reader
	number int // of the last line, from 1
}

// next returns the next line without its end; long says that it has more than maxLine
// bytes and is cut.
func (l *lines) next() (text string, long bool, err error) {
	var b []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if room := maxLine - len(b); len(part) > room {
			part, long = part[:room], true
		}
		b = append(b, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(b) > 0 || err == nil:
			l.number++
			return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), long, nil
		}
		return "", false, err
	}
}

// errQuote is the error of a cell whose quote is not closed in its line.
var errQuote = errors.New("a quote is not closed in its line")

// splitLine appends the cells of a line, without blanks around them. A quote in quotes
// is written twice.
func splitLine(cells []string, line string) ([]string, error) {
	for {
		rest := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(rest, `"`) {
			cell, after, more := strings.Cut(line, ",")
			cells = append(cells, strings.TrimSpace(cell))
			if !more {
				return cells, nil
			}
			line = after
			continue
		}
		cell, after, err := quoted(rest[1:])
		if err != nil {
			return cells, err
		}
		tail, after, more := strings.Cut(after, ",")
		cells = append(cells, strings.TrimSpace(cell+tail))
		if !more {
			return cells, nil
		}
		line = after
	}
}

// quoted returns a cell behind its opening quote, and what is behind the closing one.
func quoted(text string) (cell, after string, err error) {
	for {
		before, rest, found := strings.Cut(text, `"`)
		cell += before
		switch {
		case !found:
			return "", "", errQuote
		case !strings.HasPrefix(rest, `"`):
			return cell, rest, nil
		}
		cell, text = cell+`"`, rest[1:]
	}
}
