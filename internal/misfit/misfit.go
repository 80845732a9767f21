// Package misfit keeps the lines and fields of a file that do not fit its format: what
// a reader passes over, and goes on behind. Formats that are known from their writers
// and documents only hold more than anybody has written down; a list of what was
// passed over shows it.
package misfit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of what is kept of a file.
const (
	// Most is how many misfits are kept; the others are counted.
	Most    = 300
	maxText = 120 // bytes of the text of one
)

// Misfit is a line or field that does not fit.
type Misfit struct {
	// Line is that of the file from 1, 0 for a file without lines.
	Line int
	// Offset is the byte where the line or field begins, -1 if it is not known.
	Offset int64
	// Found is the text, or the begin of a long one, Wanted what belongs there.
	Found, Wanted string
}

// String says where it is, what was found, and what was wanted.
func (m *Misfit) String() string {
	return fmt.Sprintf("%s: found %q, want %s", m.Place(), m.Found, m.Wanted)
}

// Place is the line, or the byte where there are no lines.
func (m *Misfit) Place() string {
	if m.Line > 0 {
		return fmt.Sprintf("line %d", m.Line)
	}
	return fmt.Sprintf("byte %d", m.Offset)
}

// List are the misfits of a file. The zero value is empty.
type List struct {
	// First are the first ones, at most Most, in the order of the file.
	First []Misfit
	// Count is how many there are.
	Count int
}

// Add adds one. The text is copied; what it has of a long line is its begin.
func (l *List) Add(line int, offset int64, found []byte, wanted string) {
	if l.Count++; len(l.First) >= Most {
		return
	}
	found = bytes.TrimSpace(found)
	cut := len(found) > maxText
	if cut {
		found = found[:maxText]
	}
	text := strings.ToValidUTF8(string(found), "\ufffd")
	if cut {
		text += "..."
	}
	l.First = append(l.First, Misfit{line, offset, text, wanted})
}

// Append adds those of another list, which come behind.
func (l *List) Append(other *List) {
	l.First = append(l.First, other.First[:min(len(other.First), Most-len(l.First))]...)
	l.Count += other.Count
}

// Sort brings them into the order of the file.
func (l *List) Sort() {
	slices.SortStableFunc(l.First, func(a, b Misfit) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Offset, b.Offset)) })
}

// Clear forgets all of them.
func (l *List) Clear() { l.First, l.Count = l.First[:0], 0 }
