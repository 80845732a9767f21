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

// Piece is a file with a part of an output of an operator, as its description has it.
type Piece struct {
	// File is the file as the description or the folder names it, with slashes, and
	// Path where it is.
	File, Path string
	// Node is the name of the operator, slashes kept.
	Node string
	// Output is the index of the output, Number the place of the piece on the axis on
	// which the pieces are joined, Round the run of the network; all from 0.
	Output, Number int
	Round          int64
	// DType and Shape are those of the elements of the piece; Undefined and nil where
	// the description does not have them, an empty shape for a scalar.
	DType tensor.DType
	Shape tensor.Shape
	// Encoding is empty where the description does not say it. Skip is how many bytes of
	// the file come before what it applies to, -1 where it does not say it.
	Encoding Encoding
	Skip     int64
	// Axis is the axis on which the pieces are joined, -1 for the first whose length
	// is not 1; nil where the description does not have it.
	Axis *int
	// ModelShape is the shape of the output in the model, nil if that is not known.
	ModelShape tensor.Shape
	// Time is when the operator ran, nil if that is not known.
	Time *sidefile.Instant

	// line is the place of the piece in its description, for errors; 0 for none.
	line int
}

// MarshalText implements encoding.TextMarshaler: the file.
func (p *Piece) MarshalText() ([]byte, error) { return []byte(p.File), nil }

// keys are the keys of a description, and how each is read from its text.
var keys = []struct {
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

// setKey sets what a key says of a piece.
func (p *Piece) setKey(name, text string) error {
	if err := checkKey(name); err != nil {
		return err
	}
	for _, k := range keys {
		if k.name == name {
			if err := k.set(p, text); err != nil {
				return lang.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// checkKey is the error of a key that no description has.
func checkKey(name string) error {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	if near := lang.Nearest(name, names); near != "" {
		return lang.Errorf("unknown key %q, did you mean %s?", lang.Clip(name), near)
	}
	return lang.Errorf("unknown key %q, want %s", lang.Clip(name), strings.Join(names, ", "))
}

// check checks what every piece needs.
func (p *Piece) check() error {
	switch {
	case p.File == "":
		return lang.Errorf("no file")
	case strings.ContainsRune(p.File, 0):
		return lang.Errorf("file: %q has a character that no path has", lang.Clip(p.File))
	case p.Node == "":
		return lang.Errorf("no node")
	}
	return nil
}

// setNumber sets a number from 0 of so many bits.
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

// ParseAxis reads an axis: a number from 0, or -1.
func ParseAxis(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < -1 {
		return 0, lang.Errorf("found %q, want an axis from 0, or -1 for the first whose length is not 1", lang.Clip(text))
	}
	return int(n), nil
}

// shortTypes are other names of element types.
var shortTypes = map[string]tensor.DType{
	"fp16": tensor.Float16, "half": tensor.Float16, "bf16": tensor.BFloat16, "fp32": tensor.Float32, "float": tensor.Float32,
	"fp64": tensor.Float64, "double": tensor.Float64,
}

// ParseDType reads the name of an element type whose elements a file can hold.
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

// ParseShape reads a shape: 2x3x5, 2_3_5, 2,3,5, perhaps in brackets; [] is a scalar.
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

// maxRank is how many dimensions an array has at most, as in numpy.
const maxRank = 64

// Code names the reason why a piece did not become part of an array, as the logs have
// it.
type Code string

// The codes. The first three are found while a piece is checked, the others where
// pieces are joined.
const (
	BadHex         Code = "BAD_HEX"
	SizeMismatch   Code = "SIZE_MISMATCH"
	ReadError      Code = "READ_ERROR"
	MissingPiece   Code = "MISSING_PIECE"
	DuplicatePiece Code = "DUPLICATE_PIECE"
	ConcatShape    Code = "CONCAT_SHAPE"
	// NotInModel is for names without a tensor of the reference that would give their
	// shape.
	NotInModel Code = "NOT_IN_MODEL"
	// WriteError is for arrays that could not be written.
	WriteError Code = "WRITE_ERROR"
)

// PieceError is the error of a piece.
type PieceError struct {
	// Code names the reason.
	Code Code `json:"code"`
	// Problem says what was found, where, and what was wanted.
	Problem lang.Sentence `json:"error"`
}

// Error is the text.
func (e *PieceError) Error() string { return e.Problem.String() }

// Text is the error in both languages.
func (e *PieceError) Text() lang.Text { return e.Problem.Text() }

// sizeError is the error of a piece that has another number of bytes than its shape.
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
	// maxProblems is how many problems of a description are listed.
	maxProblems = 20
)

// DescriptionError is the error of a description: what is wrong, a text a line.
type DescriptionError struct {
	Problems []lang.Sentence
	// More counts those that are not listed.
	More int
}

// Error lists the problems.
func (e *DescriptionError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *DescriptionError) Text() lang.Text {
	text := lang.Join(e.Problems, lang.Text{EN: "; ", ZH: "；"})
	if e.More > 0 {
		text = lang.Say("%s; and %d more", text, e.More)
	}
	return text.Text()
}

// add adds what is wrong with a line.
func (e *DescriptionError) add(line int, err error) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, lang.Say("line %d: %v", line, err))
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
		bad.add(line+1, lang.Errorf("more than %d bytes", maxLine))
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
		return lang.Errorf("column %d: %v", column, problem.Message)
	}
	if doc.Root.Kind != jsonpos.Object {
		return lang.Errorf("found %v, want an object", doc.Root.Kind)
	}
	for before, again := range doc.Root.Repeated() {
		_, column := doc.Position(again.KeyStart)
		return lang.Errorf("column %d: the key %q comes again", column, lang.Clip(before.Key))
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
			bad.add(1, lang.Errorf("the column %q comes again", title[i]))
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

// csvError is an error of a table as a problem of the description, that of a reader as
// it is.
func csvError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	return &DescriptionError{Problems: []lang.Sentence{lang.Say("line %d, column %d: %v", parse.Line, parse.Column, parse.Err)}}
}
