package dumpfmt

import (
	"io"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// mapping.csv, beside files whose names would be too long: lines of "stored,original" without a
// header line, after the public documentation of MindSpore and the Ascend toolkit. Stored names
// have no comma, original names may, and the writers of dumps do not quote; spreadsheet programs
// quote cells as in RFC 4180, and people put blanks around them.

const (
	maxMapping      = 16 << 20 // bytes of a file
	maxMappingLines = 100      // maximum number of reported bad lines
)

// Mapping is the content of a mapping.csv file.
type Mapping struct {
	// Bad are the unusable lines, at most the first hundred.
	Bad []*LineError
	// Warnings are oddities in usable lines.
	Warnings []lang.Sentence

	original map[string]string
}

// LineError is the error of an unusable line of a mapping.csv file.
type LineError struct {
	Line    int    // from 1
	Found   string // the text of the line
	Problem lang.Sentence
}

// Error returns the text of the error.
func (e *LineError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *LineError) Text() lang.Text {
	return lang.Say("dumpfmt: mapping line %d %q %s", e.Line, e.Found, e.Problem).Text()
}

// Original returns the original name of the file stored under a name.
func (m *Mapping) Original(stored string) (string, bool) {
	name, ok := m.original[stored]
	return name, ok
}

// Stored returns the sorted stored names.
func (m *Mapping) Stored() []string { return slices.Sorted(maps.Keys(m.original)) }

// ReadMapping reads a mapping.csv file. Bad lines are part of the Mapping; the error is for a file
// that cannot be read or is too large.
func ReadMapping(r io.Reader) (*Mapping, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMapping+1))
	if err != nil {
		return nil, lang.Errorf("dumpfmt: read mapping: %w", err)
	}
	if len(b) > maxMapping {
		return nil, &UnsupportedError{lang.Say("a mapping of more than %d MiB", maxMapping>>20)}
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

// MappingLine returns the line for a file in mapping.csv. The original name is quoted only if it
// would be parsed differently otherwise.
func MappingLine(stored, original string) string {
	if strings.TrimSpace(original) != original || strings.HasPrefix(original, `"`) {
		original = `"` + strings.ReplaceAll(original, `"`, `""`) + `"`
	}
	return stored + "," + original + "\n"
}

func (m *Mapping) add(line int, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	stored, rest, ok := cutCell(text)
	original, after, more := cutCell(rest)
	quoted := strings.HasPrefix(strings.TrimSpace(rest), `"`) && !strings.HasPrefix(original, `"`)
	if quoted && strings.Trim(after, ", \t") == "" {
		more, after = false, "" // the rest are empty cells of a table with more columns
	}
	if more || after != "" {
		original = strings.TrimSpace(rest) // a name with commas
	}
	switch {
	case !ok:
		m.formatError(line, text, "has no comma")
	case stored == "":
		m.formatError(line, text, "has no stored name")
	case original == "":
		m.formatError(line, text, "has no original name")
	default:
		if old, dup := m.original[stored]; dup && old != original && len(m.Warnings) < maxMappingLines {
			m.Warnings = append(m.Warnings, lang.Say("mapping line %d gives %q another original name, which is used", line, stored))
		}
		m.original[stored] = original
	}
}

// cutCell splits the first cell off a line and strips its quotes and surrounding blanks. more: a
// comma follows. Text after a quoted cell is part of rest.
func cutCell(line string) (cell, rest string, more bool) {
	line = strings.TrimSpace(line)
	for end := 1; strings.HasPrefix(line, `"`) && end < len(line); end++ {
		if line[end] != '"' {
			continue
		}
		if strings.HasPrefix(line[end:], `""`) {
			end++
			continue
		}
		rest, more = strings.CutPrefix(strings.TrimSpace(line[end+1:]), ",")
		return strings.ReplaceAll(line[1:end], `""`, `"`), rest, more
	}
	cell, rest, more = strings.Cut(line, ",")
	return strings.TrimSpace(cell), rest, more
}

func (m *Mapping) formatError(line int, text, problem string) {
	const longest = 80
	if len(m.Bad) == maxMappingLines {
		return
	}
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	m.Bad = append(m.Bad, &LineError{line, text, lang.Say(problem)})
}
