package dumpdir

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/misfit"
	"dumptool/internal/tensor"
)

// Statistics are the statistics of one tensor from a table or dump.json.
type Statistics struct {
	// DType and Shape are undefined and nil if unknown. Format is a text such as NC1HWC0.
	DType  tensor.DType
	Shape  tensor.Shape
	Format string
	Size   int64 // in bytes, 0 when unknown
	Values Numbers
	// Digest is the MD5 or SHA1 of the elements, empty for none.
	Digest string
	// Spot is the position of the tensor among the calls of msprobe; the zero value for other
	// tools.
	Spot MSProbePosition
	// File is the table, Line the line of the row, from 1.
	File *File
	Line int
}

// MSProbePosition is the position of a tensor among the calls of a run, with attributes from the
// call.
type MSProbePosition struct {
	Tensor string // in its call, such as input.1 or parameters.weight
	// Call is the index of the call in the run, Leaf the index of the tensor in its call, from 0.
	Call, Leaf int
	// Unread is set for an input that the call does not read, such as a buffer for the result.
	// RequiresGrad is PyTorch's requires_grad. Exponent is the exponent if the tensor is a power,
	// else 0.
	Unread, RequiresGrad bool
	Exponent             float64
	// Unwritten is set for uninitialised memory, such as the output of torch.empty.
	Unwritten bool
}

// Number returns a statistic, nil if unknown.
func (s *Statistics) Number(what Statistic) *float64 {
	if v, ok := s.Values.Get(what); ok {
		return &v
	}
	return nil
}

// CanReplaceElements reports whether the statistics can replace missing elements: there is a number or a
// digest, or the tensor has no elements.
func (s *Statistics) CanReplaceElements() bool {
	n, _ := s.Shape.Count()
	return !s.Values.IsEmpty() || s.Digest != "" || s.Shape != nil && n == 0
}

// dropImpossible drops impossible numbers and describes the first dropped number; empty for none.
func (s *Statistics) dropImpossible() (odd lang.Sentence) {
	for _, pair := range [][2]Statistic{{Max, Min}, {FiniteMax, FiniteMin}} {
		high, isHigh := s.Values.Get(pair[0])
		low, isLow := s.Values.Get(pair[1])
		if isHigh && isLow && high < low {
			s.Values.setUnknown(pair[0])
			s.Values.setUnknown(pair[1])
			odd = cmp.Or(odd, lang.Say("%s %v is below %s %v", pair[0], high, pair[1], low))
		}
	}
	if norm, _ := s.Values.Get(Norm); norm < 0 {
		s.Values.setUnknown(Norm)
		odd = cmp.Or(odd, lang.Say("norm %v is negative", norm))
	}
	return odd
}

// CountOf returns a number of elements, nil if the table does not have it. An impossible number is
// 0.
func (s *Statistics) CountOf(what Statistic) *int64 {
	v, ok := s.Values.Get(what)
	if !ok {
		return nil
	}
	if !(v > 0 && v < 1<<62) {
		v = 0
	}
	return new(int64(v))
}

// TensorFormat is the parsed Format, ND for an unknown one.
func (s *Statistics) TensorFormat() tensor.Format {
	if format, ok := tensor.ParseFormat(s.Format); ok {
		return format
	}
	return tensor.ND
}

// Statistic is a kind of number about the elements of a tensor.
type Statistic uint8

// The statistics. Counts are of elements.
const (
	Max Statistic = iota
	Min
	Mean
	Norm // the square root of the sum of squares
	Count
	NaNs
	NegativeInfs
	PositiveInfs
	Zeros
	NegativeZero
	PositiveZero
	FiniteMax // of the finite elements, if Max or Min is not finite
	FiniteMin
	statistics // the number of statistics
)

var statisticNames = [statistics]string{"max", "min", "mean", "norm", "count", "NaN", "-Inf", "+Inf", "zero", "negative zero", "positive zero", "finite max", "finite min"}

// String is the name of the statistic.
func (s Statistic) String() string { return statisticNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Statistic) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Statistic) UnmarshalText(text []byte) error {
	i := slices.Index(statisticNames[:], string(text))
	if i < 0 {
		return lang.Errorf("statistic %.40q, want one of %s", text, strings.Join(statisticNames[:], ", "))
	}
	*s = Statistic(i)
	return nil
}

// Numbers has the known statistics of one tensor. It is an array because a map takes twice as much
// memory, and a run keeps one for every tensor.
type Numbers struct {
	known  uint16 // a bit for each statistic
	values [statistics]float64
}

// Get returns a statistic, false if unknown.
func (n *Numbers) Get(what Statistic) (v float64, ok bool) {
	return n.values[what], n.known>>what&1 != 0
}

// Set sets a statistic.
func (n *Numbers) Set(what Statistic, v float64) {
	n.known |= 1 << what
	n.values[what] = v
}

// setUnknown makes a statistic unknown.
func (n *Numbers) setUnknown(what Statistic) { n.known &^= 1 << what }

// IsEmpty reports whether all statistics are unknown.
func (n *Numbers) IsEmpty() bool { return n.known == 0 }

// statisticTitles are the titles of columns, in lower case.
var statisticTitles = map[string]Statistic{
	"max value": Max, "min value": Min, "avg value": Mean, "mean value": Mean, "max": Max, "min": Min, "mean": Mean,
	"norm": Norm, "l2norm": Norm, "l2norm value": Norm, "count": Count, "nan count": NaNs,
	"negative inf count": NegativeInfs, "positive inf count": PositiveInfs, "zero count": Zeros,
	"negative zero count": NegativeZero, "positive zero count": PositiveZero,
}

// statisticRow is a row of a table of statistics. Unknown fields are zero.
type statisticRow struct {
	opType, opName string
	opID           string // of ATB: 0_1
	kind           tensor.Kind
	index          int
	Moment
	Statistics
}

// maxTable is the largest size of a table of statistics, in bytes.
const maxTable = 1 << 30

// readStatistics reads a table of statistics of MindSpore, CANN or ATB: a line of titles, and a row
// for every input and output. The case of titles does not matter. Invalid rows are skipped; then
// the error is a *TableError.
func readStatistics(in io.Reader, row func(*statisticRow)) error {
	text := bufio.NewReader(io.LimitReader(in, maxTable))
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(3) // which Peek has read
	}
	r := csv.NewReader(text)
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = lang.Errorf("the table is empty")
		}
		return lang.Errorf("statistics: %w", err)
	}
	head = slices.Clone(head) // the reader reuses the record
	columns, err := statisticColumns(head)
	if err != nil {
		return err
	}
	bad := new(TableError)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return bad.nilIfEmpty()
		}
		if err != nil {
			return lang.Errorf("statistics: %w", err)
		}
		line, _ := r.FieldPos(0)
		s := statisticRow{Statistics: Statistics{Line: line}}
		if found, wanted := setCells(&s, columns, head, cells); !found.IsZero() {
			if again, err := statisticColumns(cells); err == nil { // the titles of a second table
				head, columns = slices.Clone(cells), again
				continue
			}
			bad.add(line, found, wanted)
			continue
		}
		if odd := s.dropImpossible(); !odd.IsZero() {
			bad.add(line, odd, lang.Say("want numbers of a tensor"))
		}
		row(&s)
	}
}

// setCells sets the fields of a row. For an invalid row it returns the texts found and wanted.
func setCells(s *statisticRow, columns []statisticSetter, head, cells []string) (found, wanted lang.Sentence) {
	for i, set := range columns {
		if set == nil || i >= len(cells) {
			continue
		}
		if err := set(s, strings.TrimSpace(cells[i])); err != nil {
			return lang.Say("column %q has %.40q", strings.TrimSpace(head[i]), cells[i]), lang.Error(err)
		}
	}
	if s.kind == "" {
		return lang.Say("neither input nor output"), lang.Say("want one of them")
	}
	return found, wanted
}

// TableError is the error of a table of statistics with invalid rows.
type TableError struct {
	Misfits misfit.List

	first  lang.Sentence
	others []lang.Sentence // places of the next ones, at most five
}

func (e *TableError) add(line int, found, wanted lang.Sentence) {
	e.addAt(lang.Say("line %d", line), line, found, wanted)
}

// addAt is add for a place other than a line, such as the name of a tensor; line is then 0.
func (e *TableError) addAt(place lang.Sentence, line int, found, wanted lang.Sentence) {
	if e.first.IsZero() {
		e.first = lang.Say("%s: %s, %s", place, found, wanted)
	} else if len(e.others) < 5 {
		e.others = append(e.others, place)
	}
	e.Misfits.Add(line, -1, []byte(found.String()), strings.TrimPrefix(wanted.String(), "want "))
}

func (e *TableError) nilIfEmpty() error {
	if e.Misfits.Count == 0 {
		return nil
	}
	return e
}

// Error describes the first invalid row, counts the others and names five of them.
func (e *TableError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *TableError) Text() lang.Text {
	if n := e.Misfits.Count - 1; n > 0 {
		return lang.Say("statistics: %s; rows that do not fit: %d more, %s", e.first, n, lang.Join(e.others, lang.Text{EN: ", "})).Text()
	}
	return lang.Say("statistics: %s", e.first).Text()
}

// statisticColumns returns the setter of each column, nil for an unknown one.
func statisticColumns(head []string) ([]statisticSetter, error) {
	columns := make([]statisticSetter, len(head))
	sides := 0
	for i, title := range head {
		title = strings.ToLower(strings.TrimSpace(title))
		if what, ok := statisticTitles[title]; ok {
			columns[i] = numberSetter(what)
			continue
		}
		columns[i] = textSetters[title]
		if title == "io" || title == "input/output" {
			sides++
		}
	}
	if sides != 1 {
		return nil, lang.Errorf(`statistics: %d columns "IO" or "Input/Output" in the first line, want one`, sides)
	}
	return columns, nil
}

// statisticSetter sets a field of a row from a cell.
type statisticSetter func(s *statisticRow, cell string) error

// textSetters are the setters of columns other than numbers, by their titles in lower case.
var textSetters = map[string]statisticSetter{
	"op type": func(s *statisticRow, c string) error { s.opType = strings.Clone(c); return nil },
	"op name": func(s *statisticRow, c string) error { s.opName = strings.Clone(c); return nil },
	"op id":   func(s *statisticRow, c string) error { s.opID = strings.Clone(c); return nil },
	"task id": func(s *statisticRow, c string) (err error) {
		s.Task, s.HasTask, err = setNumber(c)
		return err
	},
	"timestamp": func(s *statisticRow, c string) (err error) {
		s.Timestamp, _, err = setNumber(c)
		return err
	},
	"io": setSide, "input/output": setSide, "slot": setIndex, "index": setIndex,
	"data size": func(s *statisticRow, c string) error {
		n, _, err := setNumber(c)
		s.Size = int64(min(n, 1<<62))
		return err
	},
	"data type": setType, "dtype": setType,
	"format": func(s *statisticRow, c string) error { s.Format = strings.Clone(c); return nil },
	"shape":  setShape,
	"md5":    setDigest, "sha1": setDigest,
}

func setDigest(s *statisticRow, cell string) error {
	if !isAbsent(cell) {
		s.Digest = strings.Clone(cell)
	}
	return nil
}

func setSide(s *statisticRow, cell string) error {
	switch strings.ToLower(cell) {
	case "input", "intensor":
		s.kind = tensor.Input
	case "output", "outtensor":
		s.kind = tensor.Output
	default:
		return lang.Errorf("want input or output")
	}
	return nil
}

func setIndex(s *statisticRow, cell string) error {
	n, err := strconv.ParseUint(cell, 10, 31)
	if err != nil {
		return lang.Errorf("want the number of an input or output")
	}
	s.index = int(n)
	return nil
}

// setNumber reads a number, unknown if isAbsent.
func setNumber(cell string) (n uint64, known bool, err error) {
	if isAbsent(cell) {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(cell, 10, 64)
	if err != nil {
		return 0, false, lang.Errorf("want a whole number")
	}
	return n, true, nil
}

func isAbsent(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "null", "none", "-":
		return true
	}
	return false
}

// setType reads a type such as float32, DT_FLOAT16 or torch.float16. An unknown type stays
// undefined.
func setType(s *statisticRow, cell string) error {
	word := strings.TrimPrefix(strings.TrimPrefix(cell, "DT_"), "torch.")
	if name, ok := compilerTypes[strings.ToLower(word)]; ok {
		word = name
	}
	s.DType, _ = tensor.ParseDType(word)
	return nil
}

// compilerTypes are names of types in tables of the compiler.
var compilerTypes = map[string]string{"float": "float32", "double": "float64", "bf16": "bfloat16"}

// numberPattern are the numbers of a shape: "(2, 3)", 2x3x4, 2,3.
var numberPattern = lang.Pattern(`[0-9]+`)

func setShape(s *statisticRow, cell string) error {
	if cell == "" || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "N/A") {
		return nil
	}
	s.Shape = tensor.Shape{}
	for _, d := range numberPattern().FindAllString(cell, -1) {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return lang.Errorf("want dimensions of 63 bits")
		}
		s.Shape = append(s.Shape, n)
	}
	return nil
}

// numberSetter sets a statistic. A cell without a number, such as the text of a bool, leaves it
// unknown.
func numberSetter(what Statistic) statisticSetter {
	return func(s *statisticRow, cell string) error {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil
		}
		s.Values.Set(what, v)
		return nil
	}
}
