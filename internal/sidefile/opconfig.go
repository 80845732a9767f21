package sidefile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// op_config.csv, the file of the HPAA tools with limits per operator: columns op_name, atol, rtol
// and, as an extension, mode. NA or an empty cell means the limit of the run. Each line has a name
// and at least one cell for a limit; most other files have not.

// OpConfig is the content of an op_config.csv.
type OpConfig struct {
	Entries []OpLimits

	index filename.Index
}

// OpLimits are the limits of an operator; nil if not set.
type OpLimits struct {
	Name       string
	Line       int // from 1
	Atol, Rtol *float64
	// Mode is the mode of comparison, empty if not set. It is not checked here.
	Mode string
}

const notSet = "NA"

// opColumns returns the columns in the order of a file without a title line.
func opColumns() []string { return []string{"op_name", "atol", "rtol", "mode"} }

// ReadOpConfig reads an op_config.csv. If the first line has a cell op_name, it is the title and
// gives the order of the columns. An empty file sets no limits. Errors do not name the file.
func ReadOpConfig(r io.Reader) (*OpConfig, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	c := new(OpConfig)
	if err := c.read(data); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *OpConfig) read(data []byte) error {
	rows := csv.NewReader(bytes.NewReader(data))
	rows.FieldsPerRecord = -1
	columns := opColumns()
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		line, _ := rows.FieldPos(0)
		if err := checkCells(row); err != nil {
			return lang.Errorf("line %d: %w", line, err)
		}
		switch {
		case first && slices.ContainsFunc(row, func(s string) bool { return strings.EqualFold(s, columns[0]) }):
			columns, err = titleColumns(row)
		case !slices.ContainsFunc(row, func(s string) bool { return s != "" }):
		default:
			err = c.add(columns, row, line)
		}
		if err != nil {
			return lang.Errorf("line %d: %w", line, err)
		}
	}
}

// checkCells checks that all cells are text.
func checkCells(row []string) error {
	for i, cell := range row {
		if !isText(cell) {
			return lang.Errorf("cell %d is %q, want UTF-8 text without control characters", i+1, lang.Clip(cell))
		}
	}
	return nil
}

// isText reports whether s is UTF-8 without control characters.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// titleColumns parses a title line.
func titleColumns(row []string) ([]string, error) {
	known := opColumns()
	columns := make([]string, len(row))
	for i, s := range row {
		columns[i] = strings.ToLower(s)
		switch {
		case s != "" && !slices.Contains(known, columns[i]):
			return nil, lang.Errorf("column %q, want %s", s, strings.Join(known, ", "))
		case s != "" && slices.Contains(columns[:i], columns[i]):
			return nil, lang.Errorf("duplicate column %q", s)
		}
	}
	if !slices.Contains(columns, "atol") && !slices.Contains(columns, "rtol") {
		return nil, lang.Errorf("the columns are %s, want atol or rtol among them", strings.Join(row, ", "))
	}
	return columns, nil
}

func (c *OpConfig) add(columns, row []string, line int) error {
	if len(row) < 2 {
		return lang.Errorf("%q is one column, want %s", row[0], strings.Join(columns, ", "))
	}
	e := OpLimits{Line: line}
	var err error
	for i, cell := range row {
		column := ""
		if i < len(columns) {
			column = columns[i]
		}
		switch column {
		case "op_name":
			e.Name = cell
		case "atol":
			e.Atol, err = parseLimit(column, cell)
		case "rtol":
			e.Rtol, err = parseLimit(column, cell)
		case "mode":
			if !strings.EqualFold(cell, notSet) {
				e.Mode = cell
			}
		default:
			if cell != "" {
				err = lang.Errorf("cell %d is %q, want %d columns", i+1, cell, len(columns))
			}
		}
		if err != nil {
			return err
		}
	}
	if e.Name == "" {
		return lang.Errorf("the name is empty, want the name of an operator")
	}
	if old, added := c.index.Add(e.Name, len(c.Entries)); !added {
		return lang.Errorf("%q has limits in line %d already, want one line for an operator", e.Name, c.Entries[old].Line)
	}
	c.Entries = append(c.Entries, e)
	return nil
}

// parseLimit parses a limit; nil if not set.
func parseLimit(column, cell string) (*float64, error) {
	if cell == "" || strings.EqualFold(cell, notSet) {
		return nil, nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, lang.Errorf("%s is %q, want a finite number of 0 or more, or NA", column, cell)
	}
	return &v, nil
}

// Find returns the limits of an operator: under the first name of names that the file has, exact, else normalised as
// in file names. names may have the names of both sides.
func (c *OpConfig) Find(names ...string) (OpLimits, bool) {
	if i, ok := c.index.Find(names...); ok {
		return c.Entries[i], true
	}
	return OpLimits{}, false
}

// FindUnused returns the names in the file that no operator has. Operators are given by their names,
// the best first.
func (c *OpConfig) FindUnused(ops iter.Seq[[]string]) []string {
	used := numbersOf(&c.index, ops)
	var unused []string
	for i, e := range c.Entries {
		if !used[i] {
			unused = append(unused, e.Name)
		}
	}
	return unused
}

// WriteOpConfig writes an op_config.csv without limits for the operators. Repeated names are left
// out, and names that ReadOpConfig would reject.
func WriteOpConfig(w io.Writer, names iter.Seq[string]) error {
	rows := csv.NewWriter(w)
	err := rows.Write(opColumns()[:3])
	seen := make(map[[16]byte]bool) // hashes, because there may be many names
	for name := range names {
		sum := sha256.Sum256([]byte(name))
		if k := [16]byte(sum[:16]); err == nil && !seen[k] && strings.TrimSpace(name) != "" && isText(name) {
			seen[k] = true
			err = rows.Write([]string{name, notSet, notSet})
		}
	}
	rows.Flush()
	return cmp.Or(err, rows.Error())
}
