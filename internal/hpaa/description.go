package hpaa

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

const (
	// maxLine is the longest line of a description, in bytes.
	maxLine = 1 << 20
	// maxProblems is how many problems of a description are listed.
	maxProblems = 20
)

// DescriptionError is the error of a description: what is wrong, a text a line.
type DescriptionError struct {
	Problems []string
	// More counts those that are not listed.
	More int
}

// Error lists the problems.
func (e *DescriptionError) Error() string {
	text := strings.Join(e.Problems, "; ")
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more", e.More)
	}
	return text
}

// add adds what is wrong with a line.
func (e *DescriptionError) add(line int, err error) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, fmt.Sprintf("line %d: %v", line, err))
}

// orNil is the error, nil without problems.
func (e *DescriptionError) orNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// ReadPieces reads a description: JSON Lines, an object a piece, or CSV with the same
// keys as the names of its columns, which the first character tells apart. Empty lines
// are left out. Pieces come in the order of the file. A line that cannot be used makes
// the whole description useless, since a tensor could be written without its last
// piece: the error is a *DescriptionError, or that of r.
func ReadPieces(r io.Reader) ([]*Piece, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	for {
		c, err := in.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case c[0] == '{':
			return readJSONLines(in)
		case strings.IndexByte(" \t\r\n", c[0]) < 0:
			return readCSV(in)
		}
		if c[0] == '\n' {
			return readJSONLines(in) // a line to count
		}
		_, _ = in.Discard(1)
	}
}

// readJSONLines reads objects, one a line.
func readJSONLines(in io.Reader) ([]*Piece, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var pieces []*Piece
	var bad DescriptionError
	line := 0
	for lines.Scan() {
		line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		p := &Piece{Skip: -1, line: line}
		if err := p.fromJSON(text); err != nil {
			bad.add(line, err)
			continue
		}
		pieces = append(pieces, p)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		bad.add(line+1, fmt.Errorf("more than %d bytes", maxLine))
	} else if err != nil {
		return nil, err
	}
	if err := bad.orNil(); err != nil {
		return nil, err
	}
	return pieces, nil
}

// fromJSON reads a piece from its line.
func (p *Piece) fromJSON(text []byte) error {
	doc := jsonpos.Parse(text)
	if !doc.Valid() {
		problem := doc.Problems[0]
		_, column := doc.Position(problem.Offset)
		return fmt.Errorf("column %d: %v", column, problem.Message)
	}
	if doc.Root.Kind != jsonpos.Object {
		return fmt.Errorf("found %v, want an object", doc.Root.Kind)
	}
	for before, again := range doc.Root.Repeated() {
		_, column := doc.Position(again.KeyStart)
		return fmt.Errorf("column %d: the key %q comes again", column, lang.Clip(before.Key))
	}
	for _, m := range doc.Root.Members {
		text, given, err := valueText(m.Key, m.Value)
		if err == nil && given {
			err = p.setKey(m.Key, text)
		}
		if err != nil {
			_, column := doc.Position(m.KeyStart)
			return fmt.Errorf("column %d: %w", column, err)
		}
	}
	return p.check()
}

// valueText is a value as a cell of a table has it; null is not given.
func valueText(key string, v *jsonpos.Value) (text string, given bool, err error) {
	names := key == "file" || key == "node" || key == "dtype" || key == "encoding"
	shape := key == "shape" || key == "model_shape"
	switch {
	case v.Kind == jsonpos.Null:
		return "", false, nil
	case v.Kind == jsonpos.String, v.Kind == jsonpos.Number && !names:
		return v.Text, true, nil
	case v.Kind == jsonpos.Array && shape:
		var parts []string
		for _, e := range v.Elems {
			if e.Kind != jsonpos.Number {
				return "", false, fmt.Errorf("%s: found %v in it, want numbers", key, e.Kind)
			}
			parts = append(parts, e.Text)
		}
		return "[" + strings.Join(parts, ",") + "]", true, nil
	case names:
		return "", false, fmt.Errorf("%s: found %v, want a string", key, v.Kind)
	case shape:
		return "", false, fmt.Errorf("%s: found %v, want an array of numbers", key, v.Kind)
	}
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	return "", false, fmt.Errorf("%s: found %v, want a number", key, v.Kind)
}

// readCSV reads a table whose columns are called as the keys are. Empty cells are not
// given.
func readCSV(in io.Reader) ([]*Piece, error) {
	rows := csv.NewReader(in)
	rows.FieldsPerRecord = -1
	rows.TrimLeadingSpace = true
	var bad DescriptionError
	title, err := rows.Read()
	if err != nil {
		return nil, csvError(err)
	}
	seen := map[string]bool{}
	for i, name := range title {
		title[i] = strings.ToLower(strings.TrimSpace(name))
		if err := checkKey(title[i]); err != nil {
			bad.add(1, err)
		} else if seen[title[i]] {
			bad.add(1, fmt.Errorf("the column %q comes again", title[i]))
		}
		seen[title[i]] = true
	}
	if len(bad.Problems) > 0 {
		return nil, &bad
	}
	var pieces []*Piece
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := rows.FieldPos(0)
		p := &Piece{Skip: -1, line: line}
		if err := p.fromCells(title, row); err != nil {
			bad.add(line, err)
			continue
		}
		pieces = append(pieces, p)
	}
	if err := bad.orNil(); err != nil {
		return nil, err
	}
	return pieces, nil
}

// fromCells reads a piece from the row of a table.
func (p *Piece) fromCells(title, row []string) error {
	if len(row) != len(title) {
		return fmt.Errorf("found %d cells, want %d", len(row), len(title))
	}
	for i, cell := range row {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if err := p.setKey(title[i], cell); err != nil {
			return err
		}
	}
	return p.check()
}

// csvError is an error of a table as a problem of the description, that of a reader as
// it is.
func csvError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	return &DescriptionError{Problems: []string{fmt.Sprintf("line %d, column %d: %v", parse.Line, parse.Column, parse.Err)}}
}
