package hpaa

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// Piece is a file with a part of an operator's output, as described.
type Piece struct {
	// File is the slash-separated name of the file in the description or the folder, Path its path.
	File, Path string
	// Node is the name of the operator, with its slashes.
	Node string
	// Output is the index of the output, Number the position of the piece on the joined axis, Round
	// the run of the network; all from 0.
	Output, Number int
	Round          int64
	// DType and Shape describe the elements of the piece; Undefined and nil if the description
	// lacks them. An empty shape is a scalar.
	DType tensor.DType
	Shape tensor.Shape
	// Encoding is empty if the description lacks it. Skip is the length of the header that the
	// encoding does not cover, in bytes, -1 if the description lacks it.
	Encoding Encoding
	Skip     int64
	// Axis is the axis on which the pieces are joined, -1 for the first axis whose length is not 1;
	// nil if the description lacks it.
	Axis *int
	// ModelShape is the shape of the output in the model, nil if unknown.
	ModelShape tensor.Shape
	// Time is when the operator ran, nil if unknown.
	Time *sidefile.Moment

	// line is the line of the piece in its description, for errors; 0 for none.
	line int
}

// MarshalText returns File.
func (p *Piece) MarshalText() ([]byte, error) { return []byte(p.File), nil }

// pieceKeys lists the keys of a description with their parsers.
var pieceKeys = []struct {
	name string
	set  func(p *Piece, text string) error
}{
	{"file", func(p *Piece, text string) error { p.File = text; return nil }},
	{"node", func(p *Piece, text string) error { p.Node = text; return nil }},
	{"output", func(p *Piece, text string) error { return setNumber(&p.Output, 31, text) }},
	{"piece", func(p *Piece, text string) error { return setNumber(&p.Number, 31, text) }},
	{"round", func(p *Piece, text string) error { return setNumber(&p.Round, 63, text) }},
	{"dtype", func(p *Piece, text string) (err error) {
		p.DType, err = ParseDType(text)
		return err
	}},
	{"shape", func(p *Piece, text string) (err error) {
		p.Shape, err = ParseShape(text)
		return err
	}},
	{"encoding", func(p *Piece, text string) (err error) {
		p.Encoding, err = ParseEncoding(text)
		return err
	}},
	{"skip", func(p *Piece, text string) error { return setNumber(&p.Skip, 63, text) }},
	{"axis", func(p *Piece, text string) error {
		axis, err := ParseAxis(text)
		p.Axis = &axis
		return err
	}},
	{"model_shape", func(p *Piece, text string) (err error) {
		p.ModelShape, err = ParseShape(text)
		return err
	}},
	{"time", func(p *Piece, text string) error {
		at, ok := sidefile.ParseInstant(text)
		if !ok {
			return lang.Errorf("found %q, want a number", lang.Clip(text))
		}
		p.Time = &at
		return nil
	}},
}

// setKey sets the property with a key.
func (p *Piece) setKey(name, text string) error {
	if err := checkKey(name); err != nil {
		return err
	}
	for _, k := range pieceKeys {
		if k.name == name {
			if err := k.set(p, text); err != nil {
				return lang.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// checkKey returns an error for an unknown key.
func checkKey(name string) error {
	var names []string
	for _, k := range pieceKeys {
		names = append(names, k.name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	if similar := lang.Nearest(name, names); similar != "" {
		return lang.Errorf("unknown key %q, did you mean %s?", lang.Clip(name), similar)
	}
	return lang.Errorf("unknown key %q, want %s", lang.Clip(name), strings.Join(names, ", "))
}

// check checks the required properties.
func (p *Piece) check() error {
	switch {
	case p.File == "":
		return lang.Errorf("no file")
	case strings.ContainsRune(p.File, 0):
		return lang.Errorf("file: %q has a character that is not allowed in a path", lang.Clip(p.File))
	case p.Node == "":
		return lang.Errorf("no node")
	}
	return nil
}

// setNumber parses a number from 0 of at most bits bits.
func setNumber[N int | int64](n *N, bits int, text string) error {
	v, err := strconv.ParseUint(text, 10, bits)
	*n = N(v)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return lang.Errorf("found %q, want a number of at most %d", lang.Clip(text), uint64(1)<<bits-1)
	case err != nil:
		return lang.Errorf("found %q, want a number from 0", lang.Clip(text))
	}
	return nil
}

// ParseAxis parses an axis: a number from 0, or -1.
func ParseAxis(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < -1 {
		return 0, lang.Errorf("found %q, want an axis from 0, or -1 for the first whose length is not 1", lang.Clip(text))
	}
	return int(n), nil
}

// shortTypes maps alternative names of element types.
var shortTypes = map[string]tensor.DType{
	"fp16": tensor.Float16, "half": tensor.Float16, "bf16": tensor.BFloat16, "fp32": tensor.Float32, "float": tensor.Float32,
	"fp64": tensor.Float64, "double": tensor.Float64,
}

// ParseDType parses the name of a storable element type.
func ParseDType(name string) (tensor.DType, error) {
	d, ok := shortTypes[strings.ToLower(name)]
	if !ok {
		d, ok = tensor.ParseDType(name)
	}
	if _, err := tensor.NewDecoder(d); !ok || err != nil || d == tensor.Undefined {
		return tensor.Undefined, lang.Errorf("found %q, want an element type, such as float16, bfloat16, float32 or int8", lang.Clip(name))
	}
	return d, nil
}

// ParseShape parses a shape: 2x3x5, 2_3_5, 2,3,5, possibly in brackets; [] is a scalar.
func ParseShape(text string) (tensor.Shape, error) {
	inner, shape := strings.TrimSpace(text), tensor.Shape{}
	for _, brackets := range []string{"[]", "()"} {
		if len(inner) >= 2 && inner[0] == brackets[0] && inner[len(inner)-1] == brackets[1] {
			inner = strings.TrimSuffix(strings.TrimSpace(inner[1:len(inner)-1]), ",")
			if inner == "" {
				return shape, nil
			}
			break
		}
	}
	separator := ","
	if i := strings.IndexAny(inner, "x_"); i >= 0 {
		separator = inner[i : i+1]
	}
	for part := range strings.SplitSeq(inner, separator) {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 63)
		if err != nil {
			return nil, lang.Errorf("found %q, want a shape such as 2x3x5, or [] for a scalar", lang.Clip(text))
		}
		shape = append(shape, int64(n))
	}
	if n, ok := shape.Count(); !ok || n > math.MaxInt64/16 {
		return nil, lang.Errorf("%v has too many elements", shape)
	}
	if len(shape) > maxRank {
		return nil, lang.Errorf("found %d dimensions, want at most %d", len(shape), maxRank)
	}
	return shape, nil
}

// maxRank is the largest number of dimensions of an array, as in numpy.
const maxRank = 64

// Code names the reason why a piece is in no array, as written to the logs.
type Code string

// The codes. The first three are found while reading a piece, the others while joining.
const (
	BadHex         Code = "BAD_HEX"
	SizeMismatch   Code = "SIZE_MISMATCH"
	ReadError      Code = "READ_ERROR"
	MissingPiece   Code = "MISSING_PIECE"
	DuplicatePiece Code = "DUPLICATE_PIECE"
	ConcatShape    Code = "CONCAT_SHAPE"
	// NotInModel: the reference, which would supply the shape, has no tensor of that name.
	NotInModel Code = "NOT_IN_MODEL"
	// WriteError: the array could not be written.
	WriteError Code = "WRITE_ERROR"
)

// PieceError is the error of a piece.
type PieceError struct {
	// Code names the reason.
	Code Code `json:"code"`
	// Problem describes the place, the value found and the value wanted.
	Problem lang.Sentence `json:"error"`
}

// Error returns the English text.
func (e *PieceError) Error() string { return e.Problem.String() }

// Text returns the error in both languages.
func (e *PieceError) Text() lang.Text { return e.Problem.Text() }

// sizeError returns the error of a piece whose size does not match its shape.
func sizeError(found int64, dtype tensor.DType, shape tensor.Shape, want int64) *PieceError {
	return &PieceError{SizeMismatch, lang.Say("found %d bytes, want %d for %v of %s", found, want, shape, dtype)}
}

func readError(err error) *PieceError { return &PieceError{ReadError, lang.Error(err)} }

func concatError(format string, args ...any) *PieceError {
	return &PieceError{ConcatShape, lang.Say(format, args...)}
}

const (
	// maxLine is the longest line of a description, in bytes.
	maxLine = 1 << 20
	// maxProblems is the number of problems of a description that are listed.
	maxProblems = 20
)

// DescriptionError lists the problems of a description.
type DescriptionError struct {
	Problems []lang.Sentence
	// More counts the problems that are not listed.
	More int
}

// Error lists the problems.
func (e *DescriptionError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *DescriptionError) Text() lang.Text {
	text := lang.Join(e.Problems, lang.Text{EN: "; "})
	if e.More > 0 {
		text = lang.Say("%s; and %d more", text, e.More)
	}
	return text.Text()
}

// add adds the problem of a line.
func (e *DescriptionError) add(line int, err error) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, lang.Say("line %d: %v", line, err))
}

// nilIfEmpty returns the error, nil without problems.
func (e *DescriptionError) nilIfEmpty() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// ReadPieces reads a description: JSON Lines with an object per piece, or CSV with the same keys as
// column names; the first character decides. Empty lines are skipped. Pieces are returned in file
// order. One unusable line makes the whole description unusable, because a tensor could be written
// without its last piece: the error is a *DescriptionError, or an error of r.
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
			return readJSONLines(in) // an empty line counts for line numbers
		}
		_, _ = in.Discard(1)
	}
}

// readJSONLines reads objects, one per line.
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
		bad.add(line+1, lang.Errorf("more than %d bytes", maxLine))
	} else if err != nil {
		return nil, err
	}
	if err := bad.nilIfEmpty(); err != nil {
		return nil, err
	}
	return pieces, nil
}

// fromJSON parses a piece from its line.
func (p *Piece) fromJSON(text []byte) error {
	doc := jsonpos.Parse(text)
	if !doc.Valid() {
		problem := doc.Problems[0]
		_, column := doc.Position(problem.Offset)
		return lang.Errorf("column %d: %v", column, problem.Message)
	}
	if doc.Root.Kind != jsonpos.Object {
		return lang.Errorf("found %v, want an object", doc.Root.Kind)
	}
	for before, again := range doc.Root.EachRepeated() {
		_, column := doc.Position(again.KeyStart)
		return lang.Errorf("column %d: duplicate key %q", column, lang.Clip(before.Key))
	}
	for _, m := range doc.Root.Members {
		text, given, err := valueText(m.Key, m.Value)
		if err == nil && given {
			err = p.setKey(m.Key, text)
		}
		if err != nil {
			_, column := doc.Position(m.KeyStart)
			return lang.Errorf("column %d: %w", column, err)
		}
	}
	return p.check()
}

// valueText converts a JSON value to the text of a table cell; null is an absent value.
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
				return "", false, lang.Errorf("%s: found %v in it, want numbers", key, e.Kind)
			}
			parts = append(parts, e.Text)
		}
		return "[" + strings.Join(parts, ",") + "]", true, nil
	case names:
		return "", false, lang.Errorf("%s: found %v, want a string", key, v.Kind)
	case shape:
		return "", false, lang.Errorf("%s: found %v, want an array of numbers", key, v.Kind)
	}
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	return "", false, lang.Errorf("%s: found %v, want a number", key, v.Kind)
}

// readCSV reads a table whose columns are named like the keys. Empty cells are absent values.
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
			bad.add(1, lang.Errorf("duplicate column %q", title[i]))
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
	if err := bad.nilIfEmpty(); err != nil {
		return nil, err
	}
	return pieces, nil
}

// fromCells parses a piece from the row of a table.
func (p *Piece) fromCells(title, row []string) error {
	if len(row) != len(title) {
		return lang.Errorf("found %d cells, want %d", len(row), len(title))
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

// csvError converts an error of a table to a problem of the description; other errors are returned
// as they are.
func csvError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	return &DescriptionError{Problems: []lang.Sentence{lang.Say("line %d, column %d: %v", parse.Line, parse.Column, parse.Err)}}
}
