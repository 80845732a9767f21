package graph

import (
	"bytes"
	"errors"
	"io"
)

// AlikeIR reports whether ReadIR makes the same of two texts: every line is the same, or
// has the same length and differs in what is not kept, such as the address of a subgraph
// or the number of a rank among the attributes. The graphs of the ranks of one network
// differ in such lines. It errs on the side of false.
func AlikeIR(a, b io.Reader) bool {
	x, y := make([]byte, irBuffer), make([]byte, irBuffer)
	for kept := 0; ; { // bytes of a line that is not whole, at the begin of both
		n, err := io.ReadFull(a, x[kept:])
		m, err2 := io.ReadFull(b, y[kept:])
		ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if n != m || err != nil && !ends || err2 != nil && !errors.Is(err2, io.EOF) && !errors.Is(err2, io.ErrUnexpectedEOF) {
			return false
		}
		size := kept + n
		end := size
		if !ends {
			if end = bytes.LastIndexByte(x, '\n') + 1; end == 0 { // of a line without end both have to be equal
				if !bytes.Equal(x, y) {
					return false
				}
				end = size
			}
		}
		if !alikeBlocks(x[:end], y[:end]) {
			return false
		}
		if ends {
			return true
		}
		kept = copy(x, x[end:size])
		copy(y, y[end:size])
	}
}

// alikeBlocks compares whole lines.
func alikeBlocks(a, b []byte) bool {
	for at := 0; ; {
		d := firstDifference(a[at:], b[at:])
		if d < 0 {
			return true
		}
		from := bytes.LastIndexByte(a[:at+d], '\n') + 1
		to := bytes.IndexByte(a[from:], '\n')
		if to < 0 {
			to = len(a) - from
		}
		line, line2 := a[from:from+to], b[from:from+to]
		at = from + to
		if bytes.IndexByte(line2, '\n') >= 0 || at < len(a) && b[at] != '\n' || !alikeLines(line, line2) {
			return false
		}
	}
}

// firstDifference returns the index of the first byte in which two texts of the same
// length differ, -1 for none.
func firstDifference(a, b []byte) int {
	const block = 512
	for at := 0; at < len(a); at += block {
		x, y := a[at:min(at+block, len(a))], b[at:min(at+block, len(a))]
		if bytes.Equal(x, y) {
			continue
		}
		for i := range x {
			if x[i] != y[i] {
				return at + i
			}
		}
	}
	return -1
}

// alikeLines reports whether two lines of the same length that differ mean the same.
func alikeLines(a, b []byte) bool {
	text := bytes.TrimLeft(a, " \t")
	if len(text) == 0 {
		return false
	}
	text2 := b[len(a)-len(text):]
	if text[0] != text2[0] || !bytes.Equal(a[:len(a)-len(text)], b[:len(a)-len(text)]) {
		return false
	}
	switch text[0] {
	case '%': // a node, and its attributes
		end := attributesAt(text)
		if end < 0 || !bytes.Equal(text[:end], text2[:end]) {
			return false
		}
		text, text2 = text[end:], text2[end:]
	case ':': // types are read again, from the file of each
		return isOnlyTypes(text) && isOnlyTypes(text2)
	case '#', '}', 'R':
		return false
	default: // of the head, or attributes with a line feed
		const subgraph = "subgraph @"
		if bytes.HasPrefix(text, []byte(subgraph)) || bytes.HasPrefix(text2, []byte(subgraph)) ||
			(bytes.IndexByte(text, ':') < 0) != (bytes.IndexByte(text2, ':') < 0) {
			return false
		}
	}
	var n, n2 Node
	n.readIDs(text)
	n2.readIDs(text2)
	return n.unique == n2.unique && n.forward == n2.forward
}

// isOnlyTypes reports whether a line has types, and no place in a script behind them.
func isOnlyTypes(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text[1:], " "), []byte("(<")) && !bytes.Contains(text, []byte(inFile))
}

// attributesAt returns where the attributes of a node begin in its line, -1 for another
// line.
func attributesAt(text []byte) int {
	_, rest, ok := cutNumber(text[1:])
	if !ok {
		return -1
	}
	at := bytes.Index(rest, []byte(" = "))
	if at < 0 || at > 0 && rest[0] != '(' {
		return -1
	}
	_, rest = cutOperator(rest[at+len(" = "):])
	if end := closing(rest); end >= 0 {
		return len(text) - len(rest) + end + 1
	}
	return -1
}
