package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensor"
)

// The results of overflow are tables: records or scanned files, with tables of
// tensors, problems and causes in them.

// tensorTable is the table of tensors. One that could not be read has an error in
// place of statistics.
func tensorTable(tensors []overflow.Tensor) Table[*overflow.Tensor] {
	return Table[*overflow.Tensor]{tensorColumns, pointers(tensors)}
}

var tensorColumns = slices.Concat(
	[]Column[*overflow.Tensor]{
		words("tensor", tensorName).titled("TENSOR", "张量").in(InText | InCSV),
		words("kind", func(t *overflow.Tensor) string { return string(t.Kind) }).in(InJSON),
		words("index", func(t *overflow.Tensor) int { return t.Index }).in(InJSON),
		words("dtype", func(t *overflow.Tensor) string { return t.DType.String() }).titled("DTYPE", "类型"),
		words("format", func(t *overflow.Tensor) string { return t.Format.String() }).titled("FORMAT", "格式"),
		words("shape", storedShape).titled("SHAPE", "形状"),
		words("original_shape", func(t *overflow.Tensor) tensor.Shape { return t.Original }).in(InJSON),
	},
	of(func(t *overflow.Tensor) (*overflow.Tensor, bool) { return t, t.Stats != nil },
		counted("count", "count", dumpdir.Count, func(s *tensor.Stats) int64 { return s.Count }).in(InCSV|InJSON),
		counted("nan", "nan", dumpdir.NaNs, func(s *tensor.Stats) int64 { return s.NaN }),
		counted("+inf", "pos_inf", dumpdir.PositiveInfs, func(s *tensor.Stats) int64 { return s.PosInf }),
		counted("-inf", "neg_inf", dumpdir.NegativeInfs, func(s *tensor.Stats) int64 { return s.NegInf }),
		saturated(func(s *tensor.Stats) int64 { return s.Saturated + s.HalfTraces }).titled("LIMIT", "饱和").in(InText|InCSV),
		saturated(func(s *tensor.Stats) int64 { return s.Saturated }).in(InJSON),
	),
	of(func(t *overflow.Tensor) (*tensor.Stats, bool) { return t.Stats, t.Stats != nil },
		words("half_traces", func(s *tensor.Stats) int64 { return s.HalfTraces }).given().in(InJSON),
		numbers("min", func(s *tensor.Stats) *float64 { return s.Min }).titled("MIN", "最小值"),
		numbers("max", func(s *tensor.Stats) *float64 { return s.Max }).titled("MAX", "最大值"),
		numbers("mean", func(s *tensor.Stats) *float64 { return s.Mean }).titled("MEAN", "均值"),
	),
	[]Column[*overflow.Tensor]{words("first bad", firstBadText).titled("FIRST BAD", "首个异常").in(InText)},
	of(firstBadOf,
		words("first_bad", func(e badElement) int64 { return e.Index }).in(InCSV),
		words("coordinates", func(e badElement) string { return tensor.Shape(e.Coord).Join(" ") }).in(InCSV),
	),
	[]Column[*overflow.Tensor]{
		words("first_bad", func(t *overflow.Tensor) any {
			if e, ok := firstBadOf(t); ok {
				return &e
			} else if t.Stats != nil {
				return (*badElement)(nil)
			}
			return nil
		}).in(InJSON),
		words("bad", func(t *overflow.Tensor) bool { return t.Bad() }).in(InJSON),
		fromStatistics.in(InJSON),
		words("error", func(t *overflow.Tensor) any { return t.Err }).in(InCSV | InJSON),
	},
)

// fromStatistics says that a table of statistics is all there is of a tensor.
var fromStatistics = words("from_statistics", func(t *overflow.Tensor) bool { return t.Statistics != nil }).given()

// counted returns a column of a number of elements. Of a table of statistics it has
// what the table says.
func counted(name, key string, what dumpdir.Statistic, of func(*tensor.Stats) int64) Column[*overflow.Tensor] {
	c := numbers(name, func(t *overflow.Tensor) any {
		if t.Statistics == nil {
			return of(t.Stats)
		}
		if v, ok := t.Statistics.Values.Get(what); ok {
			return int64(v)
		}
		return nil
	})
	c.Key = key
	return c
}

// saturated returns a column of elements at the limit of their type, which no table
// of statistics counts.
func saturated(of func(*tensor.Stats) int64) Column[*overflow.Tensor] {
	c := numbers("saturated", func(t *overflow.Tensor) any {
		if t.Statistics == nil {
			return of(t.Stats)
		}
		return nil
	})
	c.Key = ""
	return c
}

// firstBadText says which value makes a tensor bad, and where it is.
func firstBadText(t *overflow.Tensor) any {
	if v, ok := t.BadStatistic(); ok {
		value := sixDigits(&v)
		return lang.Text{EN: value + ", from statistics", ZH: value + "，来自统计值"}
	}
	e, ok := firstBadOf(t)
	if !ok {
		return nil
	}
	value, coord := sixDigits(&e.value), tensor.Shape(e.Coord).Join(",")
	return lang.Text{EN: fmt.Sprintf("%s at [%s]", value, coord), ZH: fmt.Sprintf("%s 位于 [%s]", value, coord)}
}

// badElement is the first element that makes a tensor bad.
type badElement struct {
	Index int64   `json:"index"`
	Coord []int64 `json:"coord"`
	Value any     `json:"value"` // the value; JSON has no NaN and no infinities

	value float64
}

func firstBadOf(t *overflow.Tensor) (e badElement, ok bool) {
	first := t.FirstBad()
	if first == nil {
		return e, false
	}
	e = badElement{first.Index, coordinates(t, first.Index), first.Value, first.Value}
	if math.IsNaN(first.Value) || math.IsInf(first.Value, 0) {
		e.Value = allDigits(first.Value)
	}
	return e, true
}

func tensorName(t *overflow.Tensor) string { return fmt.Sprintf("%s %d", t.Kind, t.Index) }

// coordinates are those of an element in the stored shape.
func coordinates(t *overflow.Tensor, index int64) []int64 {
	shape := storedShape(t)
	if n, ok := shape.Count(); !ok || index >= n {
		return []int64{index}
	}
	return shape.Coordinates(index)
}

// storedShape is the shape of the elements of a tensor; without a recorded one
// that is a flat run.
func storedShape(t *overflow.Tensor) tensor.Shape {
	n, ok := t.Shape.Count()
	if c := t.Stats; c != nil && (t.Shape == nil || !ok || n != c.Count) {
		return tensor.Shape{c.Count}
	}
	return t.Shape
}

// recordColumns are the columns of a record; cells of what it does not say are
// empty. Keys that scripts rely on come first in JSON.
var recordColumns = slices.Concat(
	[]Column[*overflow.Record]{
		{Name: "record", Key: "file", Cell: func(r *overflow.Record) any { return r.File }},
		words("device", func(r *overflow.Record) string { return r.At.Rank }), // as older reports have it
		words("step", func(r *overflow.Record) string { return r.At.Step }),
		words("model", func(r *overflow.Record) string { return r.At.Model }).in(InCSV),
		words("timestamp", func(r *overflow.Record) uint64 { return r.Timestamp }),
		words("time", func(r *overflow.Record) string { return timeText(r.Timestamp) }).in(InCSV),
	},
	of(func(r *overflow.Record) (*opdebug.Area, bool) { return r.Area, true },
		words("acc_type", func(a *opdebug.Area) string { return a.Unit.String() }),
		words("task_id", func(a *opdebug.Area) uint64 { return a.TaskID }).in(InCSV),
		words("model_id", func(a *opdebug.Area) uint64 { return a.ModelID }).in(InJSON),
		words("stream_id", func(a *opdebug.Area) uint64 { return a.StreamID }),
		words("task_id", func(a *opdebug.Area) uint64 { return a.TaskID }).in(InJSON),
		words("context_id", func(a *opdebug.Area) *uint64 {
			context, _, ok := a.Context()
			return pointer(context, ok)
		}),
		words("thread_id", func(a *opdebug.Area) *uint64 {
			_, thread, ok := a.Context()
			return pointer(thread, ok)
		}),
	),
	placeColumns(InCSV),
	[]Column[*overflow.Record]{
		words("status", statusText).in(InCSV),
		words("status", func(r *overflow.Record) []uint64 { return list(r.Area.Status) }).in(InJSON),
		words("causes", causesText).in(InCSV),
		words("causes", causesOf).in(InJSON),
		words("op", func(r *overflow.Record) any { return operatorOf(r.Op) }).in(InJSON),
		words("tensors", func(r *overflow.Record) any { return tensorTable(r.Tensors) }).in(InJSON),
		words("producers", func(r *overflow.Record) any {
			if len(r.Producers) == 0 {
				return nil
			}
			return Table[*overflow.Producer]{producerColumns, pointers(r.Producers)}
		}).given().in(InJSON),
		words("verdict", func(r *overflow.Record) string { return string(r.Verdict) }),
		words("advice", func(r *overflow.Record) []lang.Text { return list(r.Advice) }).in(InJSON),
		words("reason", func(r *overflow.Record) string { return r.Why.EN }).in(InJSON),
		words("time", func(r *overflow.Record) string { return timeText(r.Timestamp) }).given().in(InJSON),
		words("model", func(r *overflow.Record) string { return r.At.Model }).given().in(InJSON),
	},
	placeColumns(InJSON),
	[]Column[*overflow.Record]{words("warnings", func(r *overflow.Record) []string { return r.Warnings }).given().in(InJSON)},
	of(func(r *overflow.Record) (*overflow.Operator, bool) { return r.Op, r.Op != nil },
		words("op_type", func(o *overflow.Operator) string { return o.Type }).in(InCSV),
		words("op_name", func(o *overflow.Operator) string { return o.Name }).in(InCSV),
		words("op_file", func(o *overflow.Operator) string { return o.File }).in(InCSV),
		words("matched_by", func(o *overflow.Operator) string { return string(o.MatchedBy) }).in(InCSV),
	),
)

// producerColumns are what is known of an output that the operator of a record reads.
var producerColumns = []Column[*overflow.Producer]{
	words("op_type", func(p *overflow.Producer) string { return p.Type }),
	words("op_name", func(p *overflow.Producer) string { return p.Op }),
	words("script", func(p *overflow.Producer) string { return p.Script }).given(),
	words("output", func(p *overflow.Producer) *int { return pointer(p.Output, p.Output >= 0) }),
	words("through", func(p *overflow.Producer) []string { return list(p.Through) }),
	words("tensors", func(p *overflow.Producer) any { return tensorTable(p.Tensors) }),
}

// placeColumns say where on the device the overflow was. The layouts of records
// name the fields differently.
func placeColumns(f Forms) []Column[*overflow.Record] {
	return []Column[*overflow.Record]{
		words("core_id", func(r *overflow.Record) any { return areaField(r, "core_id") }).titled("core", "核").in(f),
		words("block", func(r *overflow.Record) any { return areaField(r, "block_id", "block_idx") }).titled("block", "块").in(f),
		words("pc_start", func(r *overflow.Record) any { return areaField(r, "pc_start") }).titled("pc", "pc").in(f),
	}
}

// areaField is the value of the first of some fields that an area has, addresses
// in hex; nil when it has none of them.
func areaField(r *overflow.Record, names ...string) any {
	if r.Rescued {
		return nil // nothing is left of them
	}
	for _, f := range r.Area.Fields() {
		switch {
		case !slices.Contains(names, f.Name):
		case f.Hex:
			return hexText(f.Values[0])
		default:
			return f.Values[0]
		}
	}
	return nil
}

// pointer returns a pointer to v, nil if it is not known.
func pointer[V any](v V, ok bool) *V {
	if !ok {
		return nil
	}
	return &v
}

// operatorOf is the operator of a record, null in JSON when there is none.
func operatorOf(op *overflow.Operator) any {
	if op == nil {
		return (*overflow.Operator)(nil)
	}
	return objectOf([]Column[*overflow.Operator]{
		words("type", func(o *overflow.Operator) string { return o.Type }),
		words("name", func(o *overflow.Operator) string { return o.Name }),
		words("file", func(o *overflow.Operator) string { return o.File }),
		words("matched_by", func(o *overflow.Operator) overflow.Rule { return o.MatchedBy }),
		words("guess", func(o *overflow.Operator) bool { return o.MatchedBy.Guess() }).given(),
		words("script", func(o *overflow.Operator) string { return o.Script }).given(),
	}, op)
}

// causesOf lists the decoded bits of all status words, those that nobody
// documents too.
func causesOf(r *overflow.Record) Table[wordEntry] {
	return Table[wordEntry]{named(entryColumns(), "mask", "en", "zh", "word"), wordEntries(r.Status, entriesOf)}
}

// entriesOf is everything that is to be said of a decoded value.
func entriesOf(r *statusreg.Result) []statusreg.Entry {
	return slices.Concat(r.Entries, r.Undocumented())
}

// timeText prints microseconds since 1970 as UTC.
func timeText(micros uint64) string {
	if micros == 0 || micros > 1<<53 {
		return ""
	}
	return time.UnixMicro(int64(micros)).UTC().Format("2006-01-02 15:04:05.000000")
}

// statusText prints the status words in hex.
func statusText(r *overflow.Record) string {
	var words []string
	for _, s := range r.Area.Status {
		words = append(words, hexText(s))
	}
	return strings.Join(words, " ")
}

// causesText joins what the status words mean.
func causesText(r *overflow.Record) string {
	var causes []string
	for _, e := range causesOf(r).Rows {
		causes = append(causes, e.Meaning.EN)
	}
	return strings.Join(causes, "; ")
}

// scanColumns are the columns of a scanned file.
var scanColumns = []Column[*overflow.Scanned]{
	words("file", func(s *overflow.Scanned) string { return s.File }),
	words("device", func(s *overflow.Scanned) string { return s.At.Rank }), // as older reports have it
	words("step", func(s *overflow.Scanned) string { return s.At.Step }),
	words("timestamp", func(s *overflow.Scanned) uint64 { return s.Timestamp }),
	words("time", func(s *overflow.Scanned) string { return timeText(s.Timestamp) }).in(InCSV),
	words("op_type", func(s *overflow.Scanned) string { return s.OpType }),
	words("op_name", func(s *overflow.Scanned) string { return s.OpName }),
	words("script", func(s *overflow.Scanned) string { return s.Script }).given().in(InJSON),
	words("first", func(s *overflow.Scanned) bool { return s.First }),
	words("verdict", func(s *overflow.Scanned) string { return string(s.Verdict) }).given(),
	words("tensors", func(s *overflow.Scanned) any { return tensorTable(s.Tensors) }).in(InJSON),
}

// The columns of rounds that device, step and model of a record, or device and step
// of a scanned file, leave out.
var (
	recordRoundColumns = of(func(r *overflow.Record) (dumpdir.Coordinates, bool) { return r.At, true }, roundColumns[:2]...)
	scanRoundColumns   = of(func(s *overflow.Scanned) (dumpdir.Coordinates, bool) { return s.At, true }, roundColumns...)
)

var roundColumns = []Column[dumpdir.Coordinates]{
	words("rank", func(c dumpdir.Coordinates) string { return c.Rank }).given(),
	words("graph", func(c dumpdir.Coordinates) string { return c.Graph }).given(),
	words("model", func(c dumpdir.Coordinates) string { return c.Model }).given(),
}

// problemTable is the table of files that could not be used.
func problemTable(problems []overflow.Problem) Table[overflow.Problem] {
	return Table[overflow.Problem]{Rows: problems, Columns: []Column[overflow.Problem]{
		words("file", func(p overflow.Problem) string { return p.File }),
		words("error", func(p overflow.Problem) string { return fmt.Sprint(p.Err) }),
		words("empty", func(p overflow.Problem) bool { return p.Empty }).given(),
		words("kind", func(p overflow.Problem) string { return string(p.Kind) }).given(),
	}}
}
