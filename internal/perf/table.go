package perf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Limits of a table; no network has more operators.
const (
	maxRows     = 1 << 15
	maxHeadings = 1 << 8
	maxProblems = 1000
)

// Problem is an unusable line or table; in documents a list of the line, the text, the column and
// the file.
type Problem struct {
	File string
	// Line counts from 1, 0 for the whole file. Column is the number of the cell, from 1, 0 for the
	// whole line.
	Line, Column int
	What         lang.Sentence
}

// MarshalJSON implements json.Marshaler.
func (p Problem) MarshalJSON() ([]byte, error) {
	return jsonpos.Marshal([]any{p.Line, p.What, p.Column, p.File}, ""), nil
}

// String returns the problem in English.
func (p Problem) String() string { return p.Text().EN }

// Text returns the problem with its place.
func (p Problem) Text() lang.Text {
	switch {
	case p.Line == 0:
		return lang.Say("%s: %s", p.File, p.What).Text()
	case p.Column == 0:
		return lang.Say("%s: line %d: %s", p.File, p.Line, p.What).Text()
	}
	return lang.Say("%s: line %d, column %d: %s", p.File, p.Line, p.Column, p.What).Text()
}

// Row is an operator in a table.
type Row struct {
	Name string
	Counters
	// File and Line locate the row.
	File string
	Line int

	table *table
	// cells is the text of all cells of the line; empty unless the table has unknown columns.
	cells string
	// isUnusable: the line is unusable; it still counts as an occurrence of the name.
	isUnusable bool
}

// UnknownColumns returns the cells of the unknown columns, nil for none.
func (r *Row) UnknownColumns() map[string]string {
	if r.cells == "" {
		return nil
	}
	cells, err := splitLine(nil, r.cells)
	if err != nil || len(cells) != len(r.table.headings) {
		return nil
	}
	all := make(map[string]string)
	for i, h := range r.table.headings {
		if h.unknown != "" {
			all[h.unknown] = cells[i]
		}
	}
	return all
}

// heading is the meaning of a column: the name of the operator, a counter, or unknown.
type heading struct {
	name    bool
	counter Column
	unknown string
}

// table is a parsed file.
type table struct {
	file     string
	headings []heading
	columns  columnSet
	unknown  []string
	rows     []Row
	problems []Problem
}

// readTable reads a table; file is its name in problems. The first line has the headings, in any order and letter
// case. An unusable line is a problem, an unusable table the error. Rows of tables without a name column get the name
// runsName; without runsName such a table is unusable.
func readTable(r io.Reader, file, runsName string) (*table, error) {
	t := &table{file: file}
	in := &lineReader{r: bufio.NewReader(r)}
	first, long, err := in.next()
	for err == nil && strings.TrimSpace(strings.TrimPrefix(first, "\ufeff")) == "" {
		first, long, err = in.next()
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, lang.Errorf("the file is empty, want a line of headings")
	case err != nil:
		return nil, err
	case long:
		return nil, lang.Errorf("the first line has more than %d bytes, want headings", maxLine)
	}
	if err = t.readHeadings(strings.TrimPrefix(first, "\ufeff"), runsName != ""); err == nil {
		err = t.readRows(in, runsName)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// readHeadings reads the first line.
func (t *table) readHeadings(line string, hasNoNames bool) error {
	cells, err := splitLine(nil, line)
	switch {
	case err != nil:
		return lang.Errorf("first line: %w", err)
	case len(cells) > maxHeadings:
		return lang.Errorf("%d columns, want at most %d", len(cells), maxHeadings)
	}
	seen := make(map[string]bool)
	for i, cell := range cells {
		h, key := heading{unknown: cell}, strings.ToLower(cell)
		c, known := columnOf(key)
		switch {
		case key == nameColumn:
			h = heading{name: true}
		case known:
			h, key = heading{counter: c}, c.String()
			t.columns |= 1 << c
		case cell == "" || seen[key]:
			key = fmt.Sprintf("column %d", i+1)
			h.unknown = key
		}
		if seen[key] {
			return lang.Errorf("duplicate column %s in the first line", key)
		}
		seen[key] = true
		t.headings = append(t.headings, h)
		if h.unknown != "" {
			t.unknown = append(t.unknown, h.unknown)
		}
	}
	switch {
	case !seen[nameColumn] && !hasNoNames:
		return missingColumnError(nameColumn, line)
	case !t.columns.has(MCU):
		return missingColumnError(MCU.String(), line)
	}
	return nil
}

// readRows reads the lines below the headings.
func (t *table) readRows(in *lineReader, runsName string) error {
	var cells []string
	for {
		line, long, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !long && strings.TrimSpace(line) == "":
			continue
		case len(t.rows) == maxRows:
			return lang.Errorf("more than %d rows, want the operators of a network", maxRows)
		case len(t.problems) == maxProblems:
			return lang.Errorf("more than %d lines cannot be used: is it a table of counters?", maxProblems)
		}
		row := Row{Name: runsName, File: t.file, Line: in.number, table: t}
		cells = cells[:0]
		if cells, err = splitLine(cells, line); long {
			err = lang.Errorf("the line has more than %d bytes", maxLine)
		}
		column := 0
		if err == nil {
			column, err = row.read(cells)
		}
		if err != nil {
			t.problems = append(t.problems, Problem{t.file, in.number, column, lang.Error(err)})
			row.isUnusable, row.Counters = true, Counters{}
		} else if len(t.unknown) > 0 {
			row.cells = line
		}
		if row.Name == "" {
			continue
		}
		row.Name = strings.Clone(row.Name)
		t.rows = append(t.rows, row)
	}
}

// read sets a row from its cells. column is the number of the bad cell, from 1, 0 for the whole
// row. The name is set even then, if present.
func (r *Row) read(cells []string) (column int, err error) {
	headings := r.table.headings
	nameAt := slices.IndexFunc(headings, func(h heading) bool { return h.name })
	if nameAt >= 0 && nameAt < len(cells) {
		r.Name = cells[nameAt]
	}
	switch {
	case len(cells) != len(headings):
		return 0, lang.Errorf("%d fields, want %d", len(cells), len(headings))
	case r.Name == "":
		return nameAt + 1, lang.Errorf("no name")
	}
	for i, h := range headings {
		if h.name || h.unknown != "" {
			continue
		}
		v, err := parseCount(cells[i])
		if err != nil {
			return i + 1, lang.Errorf("%s: %w", h.counter, err)
		}
		r.Set(h.counter, v)
	}
	return 0, nil
}

// maxLine is the longest line, in bytes.
const maxLine = 1 << 20

// lineReader reads a table line by line: a quoted cell cannot contain a line end, so a damaged quote
// costs only its line.
type lineReader struct {
	r      *bufio.Reader
	number int // of the last line, from 1
}

// next returns the next line without its line end; long: the line was cut at maxLine bytes.
func (l *lineReader) next() (text string, long bool, err error) {
	var b []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if free := maxLine - len(b); len(part) > free {
			part, long = part[:free], true
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

// errQuote is the error of a quote that is not closed in its line.
var errQuote = lang.Errorf("a quote is not closed in its line")

// splitLine appends the cells of a line, trimmed. A quote in a quoted cell is doubled.
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
		cell, after, err := cutQuoted(rest[1:])
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

// cutQuoted returns a quoted cell behind its opening quote, and the text behind the closing quote.
func cutQuoted(text string) (cell, after string, err error) {
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
