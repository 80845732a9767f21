// Package misfit collects lines and fields that do not fit the format of a file. Readers skip them
// and continue. Formats known only from their writers and documents contain more than anyone has
// documented; the list of skipped parts shows it.
package misfit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of the kept misfits.
const (
	// MaxKept is the number of kept misfits per file; others are only counted.
	MaxKept = 300
	maxText = 120 // maximum length of the text of a misfit, in bytes
)

// Misfit is a line or field that does not fit.
type Misfit struct {
	// Line is the line in the file, from 1, 0 for a file without lines.
	Line int
	// Offset is the byte where the line or field begins, -1 if unknown.
	Offset int64
	// Found is the text, or the begin of a long one, Wanted describes the wanted text.
	Found, Wanted string
}

// String returns the place, the found and the wanted text.
func (m *Misfit) String() string {
	return fmt.Sprintf("%s: found %q, want %s", m.Position(), m.Found, m.Wanted)
}

// Position returns the line, or the byte for files without lines.
func (m *Misfit) Position() string {
	if m.Line > 0 {
		return fmt.Sprintf("line %d", m.Line)
	}
	return fmt.Sprintf("byte %d", m.Offset)
}

// List lists the misfits of a file. The zero value is empty.
type List struct {
	// First holds the first misfits, at most Most, in file order.
	First []Misfit
	// Count counts all misfits.
	Count int
}

// Add adds a misfit. The text is copied, cut to maxText bytes.
func (l *List) Add(line int, offset int64, found []byte, wanted string) {
	if l.Count++; len(l.First) >= MaxKept {
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

// Append appends the misfits of another list.
func (l *List) Append(other *List) {
	l.First = append(l.First, other.First[:min(len(other.First), MaxKept-len(l.First))]...)
	l.Count += other.Count
}

// Sort sorts the misfits by their place in the file.
func (l *List) Sort() {
	slices.SortStableFunc(l.First, func(a, b Misfit) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Offset, b.Offset)) })
}

// Clear removes all misfits.
func (l *List) Clear() { l.First, l.Count = l.First[:0], 0 }
