package dumpfmt

import (
	"fmt"
	"io"
	"strings"
)

// mapping.csv, which writers of dumps put beside files whose names would be
// too long: lines of "stored,original" without a header line, after the public
// documentation of MindSpore and the Ascend toolkit. Stored names have no
// comma, original ones may; nothing is quoted.

const (
	maxMapping      = 16 << 20 // bytes of a file
	maxMappingLines = 100      // bad lines kept
)

// Mapping is the content of a mapping.csv file.
type Mapping struct {
	// Bad are the lines that could not be used, the first hundred of them.
	Bad []*LineError
	// Warnings are oddities in lines that could.
	Warnings []string

	original map[string]string
}

// LineError reports an unusable line of a mapping.csv file.
type LineError struct {
	Line    int // from 1
	Text    string
	Problem string
}

// Error returns the text of the error.
func (e *LineError) Error() string {
	return fmt.Sprintf("dumpfmt: mapping line %d %q %s", e.Line, e.Text, e.Problem)
}

// Original returns the original name of the file stored under that name.
func (m *Mapping) Original(stored string) (string, bool) {
	name, ok := m.original[stored]
	return name, ok
}

// Len returns the number of stored names.
func (m *Mapping) Len() int { return len(m.original) }

// ReadMapping reads a mapping.csv file. Bad lines are data of the Mapping; the
// error is for a file that cannot be read or is too large to be one.
func ReadMapping(r io.Reader) (*Mapping, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMapping+1))
	if err != nil {
		return nil, fmt.Errorf("dumpfmt: read mapping: %w", err)
	}
	if len(b) > maxMapping {
		return nil, &UnsupportedError{fmt.Sprintf("a mapping of more than %d MiB", maxMapping>>20)}
	}
	m := &Mapping{original: make(map[string]string)}
	rest := strings.TrimPrefix(string(b), "\ufeff")
	line := 0
	for text := range strings.Lines(rest) {
		line++
		m.add(line, strings.TrimRight(text, "\r\n"))
	}
	return m, nil
}

func (m *Mapping) add(line int, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	stored, original, ok := strings.Cut(text, ",")
	switch {
	case !ok:
		m.bad(line, text, "has no comma")
	case stored == "":
		m.bad(line, text, "has no stored name")
	case original == "":
		m.bad(line, text, "has no original name")
	default:
		if old, dup := m.original[stored]; dup && old != original && len(m.Warnings) < maxMappingLines {
			m.Warnings = append(m.Warnings, fmt.Sprintf("mapping line %d gives %q another original name, which counts", line, stored))
		}
		m.original[stored] = original
	}
}

func (m *Mapping) bad(line int, text, problem string) {
	const longest = 80
	if len(m.Bad) == maxMappingLines {
		return
	}
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	m.Bad = append(m.Bad, &LineError{line, text, problem})
}
