package overflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// What the rows of part files hold: results as JSON, from which the same report can be
// made as from the results themselves.

// errorPart is what reports need of an error.
type errorPart struct {
	EN, ZH shard.Text
	// NotNumeric is set for a tensor whose elements are no numbers.
	NotNumeric bool `json:",omitempty"`
}

func errorPartOf(err error) *errorPart {
	if err == nil {
		return nil
	}
	text := lang.Sayf("%v", "%v", err).Text()
	_, notNumeric := errors.AsType[*tensor.UnsupportedType](err)
	return &errorPart{shard.Text(text.EN), shard.Text(text.ZH), notNumeric}
}

// error is an error with the texts.
func (p *errorPart) error() error {
	if p == nil {
		return nil
	}
	e := partError{text: lang.Text{EN: string(p.EN), ZH: string(p.ZH)}}
	if p.NotNumeric {
		e.of = &tensor.UnsupportedType{}
	}
	return &e
}

// partError is an error that another process had.
type partError struct {
	text lang.Text
	of   error
}

// Error implements error.
func (e *partError) Error() string { return e.text.EN }

// Text is the error in both languages.
func (e *partError) Text() lang.Text { return e.text }

// Unwrap returns what is left of the error, nil for nothing.
func (e *partError) Unwrap() error { return e.of }

// atPart are coordinates: rank, step, graph, model and folder.
type atPart [5]shard.Text

func atPartOf(c dumpdir.Coordinates) atPart {
	return atPart{shard.Text(c.Rank), shard.Text(c.Step), shard.Text(c.Graph), shard.Text(c.Model), shard.Text(c.Folder)}
}

func (p *atPart) coordinates() dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: string(p[0]), Step: string(p[1]), Graph: string(p[2]), Model: string(p[3]), Folder: string(p[4])}
}

type problemPart struct {
	File  shard.Text
	Err   *errorPart
	Empty bool                `json:",omitempty"`
	Kind  dumpdir.ProblemKind `json:",omitempty"`
	At    atPart
}

func problemPartsOf(problems []Problem) []problemPart {
	var all []problemPart
	for _, p := range problems {
		all = append(all, problemPart{shard.Text(p.File), errorPartOf(p.Err), p.Empty, p.Kind, atPartOf(p.At)})
	}
	return all
}

func problemsOfParts(parts []problemPart) []Problem {
	var all []Problem
	for _, p := range parts {
		all = append(all, Problem{string(p.File), p.Err.error(), p.Empty, p.Kind, p.At.coordinates()})
	}
	return all
}

type elementPart struct {
	Index int64
	Value shard.Float
}

func elementPartOf(e *tensor.Element) *elementPart {
	if e == nil {
		return nil
	}
	return &elementPart{e.Index, shard.Float(e.Value)}
}

func (p *elementPart) element() *tensor.Element {
	if p == nil {
		return nil
	}
	return &tensor.Element{Index: p.Index, Value: float64(p.Value)}
}

// statsPart has the fields of tensor.Stats.
type statsPart struct {
	Count, NaN, PosInf, NegInf, Saturated, HalfTraces int64
	Min, Max, Mean                                    *shard.Float
	FirstNonFinite, FirstAtLimit                      *elementPart
}

func statsPartOf(s *tensor.Stats) *statsPart {
	if s == nil {
		return nil
	}
	return &statsPart{s.Count, s.NaN, s.PosInf, s.NegInf, s.Saturated, s.HalfTraces, (*shard.Float)(s.Min), (*shard.Float)(s.Max), (*shard.Float)(s.Mean),
		elementPartOf(s.FirstNonFinite), elementPartOf(s.FirstAtLimit)}
}

func (p *statsPart) stats() *tensor.Stats {
	if p == nil {
		return nil
	}
	return &tensor.Stats{Count: p.Count, NaN: p.NaN, PosInf: p.PosInf, NegInf: p.NegInf, Saturated: p.Saturated, HalfTraces: p.HalfTraces,
		Min: (*float64)(p.Min), Max: (*float64)(p.Max), Mean: (*float64)(p.Mean),
		FirstNonFinite: p.FirstNonFinite.element(), FirstAtLimit: p.FirstAtLimit.element()}
}

type tensorPart struct {
	Kind            shard.Text
	Index           int
	Name            shard.Text `json:",omitempty"`
	DType           tensor.DType
	Format          tensor.Format
	Shape, Original tensor.Shape
	Size            int64
	Stats           *statsPart
	Err             *errorPart `json:",omitempty"`
	Unopened        bool       `json:",omitempty"`
	// Values are those of a table of statistics, nil for a tensor that was read.
	Values map[dumpdir.Statistic]shard.Float
}

// UnmarshalJSON implements json.Unmarshaler. It refuses a tensor of a table that is bad
// by no statistic, which reports could not show.
func (p *tensorPart) UnmarshalJSON(data []byte) error {
	type plain tensorPart
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if s := p.Stats; p.Values != nil && s != nil && s.Saturated > 0 && s.Min == nil && (s.Max == nil || !atLimit(p.DType, float64(*s.Max))) {
		return errors.New("a tensor of a table is at the limit of its type without an extreme")
	}
	return nil
}

func tensorPartsOf(tensors []Tensor) []tensorPart {
	var all []tensorPart
	for i := range tensors {
		t := &tensors[i]
		p := tensorPart{shard.Text(t.Kind), t.Index, shard.Text(t.Name), t.DType, t.Format, t.Shape, t.Original, t.Size,
			statsPartOf(t.Stats), errorPartOf(t.Err), t.unopened, nil}
		if t.Statistics != nil {
			p.Values = make(map[dumpdir.Statistic]shard.Float)
			for what, v := range t.Statistics.Values.All() {
				p.Values[what] = shard.Float(v)
			}
		}
		all = append(all, p)
	}
	return all
}

func tensorsOfParts(parts []tensorPart) []Tensor {
	var all []Tensor
	for _, p := range parts {
		t := Tensor{Kind: tensor.Kind(p.Kind), Index: p.Index, Name: string(p.Name), DType: p.DType, Format: p.Format, Shape: p.Shape,
			Original: p.Original, Size: p.Size, Stats: p.Stats.stats(), Err: p.Err.error(), unopened: p.Unopened}
		if p.Values != nil {
			t.Statistics = &dumpdir.Statistics{DType: p.DType, Shape: p.Shape, Size: p.Size}
			for what, v := range p.Values {
				t.Statistics.Values.Set(what, float64(v))
			}
		}
		all = append(all, t)
	}
	return all
}

// inputsPart is the row with index 0, which the first shard writes: what is known
// before any tensor is read.
type inputsPart struct {
	Files    int // that were listed
	Others   []messagePart
	Problems []problemPart
	All      bool
	// Of a scan.
	Orders []orderPart `json:",omitempty"`
	// Of an analysis.
	Dumps int `json:",omitempty"`
	Total int `json:",omitempty"`
}

// messagePart is a message about the files that were listed.
type messagePart struct {
	Level  slog.Level
	EN, ZH shard.Text
}

func messagePartsOf(messages []batch.Message) []messagePart {
	var all []messagePart
	for _, m := range messages {
		text := m.Text.Text()
		all = append(all, messagePart{m.Level, shard.Text(text.EN), shard.Text(text.ZH)})
	}
	return all
}

// inputs are the files that were listed.
func (p *inputsPart) inputs() Inputs {
	return Inputs{Files: p.Files, Others: func() []batch.Message {
		var all []batch.Message
		for _, m := range p.Others {
			all = append(all, batch.Message{Level: m.Level, Text: lang.Sayf(string(m.EN), string(m.ZH))})
		}
		return all
	}}
}

type orderPart struct {
	By                dumpdir.OrderBy
	Source            shard.Text
	Known, Of, Rounds int
}

func orderPartsOf(orders []OrderSource) []orderPart {
	var all []orderPart
	for _, o := range orders {
		all = append(all, orderPart{o.By, shard.Text(o.Source), o.Known, o.Of, o.Rounds})
	}
	return all
}

func ordersOfParts(parts []orderPart) []OrderSource {
	var all []OrderSource
	for _, p := range parts {
		all = append(all, OrderSource{p.By, string(p.Source), p.Known, p.Of, p.Rounds})
	}
	return all
}

// scanPart is the row of an operator of a scan.
type scanPart struct {
	Round                  roundPart
	File                   shard.Text
	Files                  []shard.Text
	At                     atPart
	Timestamp              uint64
	OpType, OpName, Script shard.Text
	Read                   []filePart
}

// roundPart is what the order of rows needs of their round.
type roundPart struct {
	Index         int // among those that are scanned
	Known, ByTime bool
}

// filePart is what a scan found in a file.
type filePart struct {
	File     int // its index among the files that were listed
	Tensors  []tensorPart
	Problems []problemPart `json:",omitempty"`
}

func scanPartOf(row *scanRow, read []filePart) *scanPart {
	return &scanPart{row.round, shard.Text(row.File), shard.Texts(row.Files), atPartOf(row.At), row.Timestamp,
		shard.Text(row.OpType), shard.Text(row.OpName), shard.Text(row.Script), read}
}

// row is the row without its tensors.
func (p *scanPart) row() scanRow {
	return scanRow{Scanned{File: string(p.File), Files: shard.Strings(p.Files), At: p.At.coordinates(), Timestamp: p.Timestamp,
		OpType: string(p.OpType), OpName: string(p.OpName), Script: string(p.Script)}, p.Round}
}

// recordPart is the row of a record of an analysis. What follows from the rest is not
// in it.
type recordPart struct {
	File      shard.Text
	At        atPart
	Timestamp uint64
	Record    opdebugPart
	Area      opdebug.Area
	Op        *operatorPart
	Tensors   []tensorPart
	Producers []producerPart
	Verdict   Verdict
	WhyEN     string
	WhyZH     string
	Warnings  []shard.Text
	Rescued   bool `json:",omitempty"`
	Problems  []problemPart
}

// opdebugPart has the fields of opdebug.Record.
type opdebugPart struct {
	Generation opdebug.Generation
	Header     struct{ Magic, Version, Valid, AccType, Rsv, DataLen uint32 }
	Areas      []opdebug.Area
	Size       int
	Undecoded  []opdebug.Span
	Warnings   []shard.Text
}

type operatorPart struct {
	Type, Name, FileName, File shard.Text
	Timestamp                  uint64
	MatchedBy                  Rule
	Script                     shard.Text
}

type producerPart struct {
	Op, Type, Script shard.Text
	Output           int
	Through          []shard.Text
	Tensors          []tensorPart
}

func recordPartOf(r *Record) *recordPart {
	of := r.Record
	p := &recordPart{File: shard.Text(r.File), At: atPartOf(r.At), Timestamp: r.Timestamp,
		Record: opdebugPart{of.Generation, of.Header, of.Areas, of.Size, of.Undecoded, shard.Texts(of.Warnings)},
		Area:   *r.Area, Tensors: tensorPartsOf(r.Tensors), Verdict: r.Verdict, WhyEN: r.Why.EN, WhyZH: r.Why.ZH,
		Warnings: shard.Texts(r.Warnings), Rescued: r.Rescued, Problems: problemPartsOf(r.problems)}
	if op := r.Op; op != nil {
		p.Op = &operatorPart{shard.Text(op.Type), shard.Text(op.Name), shard.Text(op.FileName), shard.Text(op.File), op.Timestamp, op.MatchedBy, shard.Text(op.Script)}
	}
	if r.Producers != nil {
		p.Producers = []producerPart{}
	}
	for i := range r.Producers {
		from := &r.Producers[i]
		p.Producers = append(p.Producers, producerPart{shard.Text(from.Op), shard.Text(from.Type), shard.Text(from.Script), from.Output,
			shard.Texts(from.Through), tensorPartsOf(from.Tensors)})
	}
	return p
}

// record is the record again.
func (p *recordPart) record() *Record {
	r := &Record{File: string(p.File), At: p.At.coordinates(), Timestamp: p.Timestamp,
		Record: &opdebug.Record{Generation: p.Record.Generation, Header: p.Record.Header, Areas: p.Record.Areas, Size: p.Record.Size,
			Undecoded: p.Record.Undecoded, Warnings: shard.Strings(p.Record.Warnings)},
		Area: &p.Area, Status: DecodeStatus(&p.Area), Tensors: tensorsOfParts(p.Tensors), Verdict: p.Verdict, Why: lang.Text{EN: p.WhyEN, ZH: p.WhyZH},
		Warnings: shard.Strings(p.Warnings), Rescued: p.Rescued, problems: problemsOfParts(p.Problems)}
	if op := p.Op; op != nil {
		r.Op = &Operator{Type: string(op.Type), Name: string(op.Name), FileName: string(op.FileName), File: string(op.File), Timestamp: op.Timestamp,
			MatchedBy: op.MatchedBy, Script: string(op.Script)}
	}
	if p.Producers != nil {
		r.Producers = []Producer{}
	}
	for _, from := range p.Producers {
		r.Producers = append(r.Producers, Producer{Op: string(from.Op), Type: string(from.Type), Script: string(from.Script), Output: from.Output,
			Through: shard.Strings(from.Through), Tensors: tensorsOfParts(from.Tensors)})
	}
	r.Advice = advice(r)
	return r
}

// badPart is the error of a row that does not hold what it should.
func badPart(index int, err error) error { return fmt.Errorf("row %d of the parts: %w", index, err) }
