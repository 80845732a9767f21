package report

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
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
		words("tensor", tensorName).titled("TENSOR", "张量"),
		words("dtype", func(t *overflow.Tensor) string { return t.DType }).titled("DTYPE", "类型"),
		words("format", func(t *overflow.Tensor) string { return t.Format }).titled("FORMAT", "格式"),
		words("shape", func(t *overflow.Tensor) tensor.Shape { return t.Shape }).titled("SHAPE", "形状"),
	},
	of(func(t *overflow.Tensor) (*overflow.Stats, bool) { return t.Stats, t.Stats != nil },
		numbers("count", func(s *overflow.Stats) *int64 { return s.Count }).in(InCSV),
		numbers("nan", func(s *overflow.Stats) *int64 { return s.NaN }),
		numbers("+inf", func(s *overflow.Stats) *int64 { return s.PosInf }),
		numbers("-inf", func(s *overflow.Stats) *int64 { return s.NegInf }),
		numbers("saturated", func(s *overflow.Stats) any {
			if s.Saturated == nil {
				return nil
			}
			return *s.Saturated + s.HalfTraces
		}).titled("LIMIT", "饱和"),
		numbers("min", func(s *overflow.Stats) *float64 { return s.Min }).titled("MIN", "最小值"),
		numbers("max", func(s *overflow.Stats) *float64 { return s.Max }).titled("MAX", "最大值"),
		numbers("mean", func(s *overflow.Stats) *float64 { return s.Mean }).titled("MEAN", "均值"),
	),
	[]Column[*overflow.Tensor]{words("first bad", firstBadText).titled("FIRST BAD", "首个异常").in(InText)},
	of(firstBadOf,
		words("first_bad", func(e *overflow.Element) int64 { return e.Index }).in(InCSV),
		words("coordinates", func(e *overflow.Element) string { return tensor.Shape(e.Coord).Join(" ") }).in(InCSV),
	),
	[]Column[*overflow.Tensor]{words("error", func(t *overflow.Tensor) string { return t.Error }).in(InCSV)},
)

// fromStatistics says that a table of statistics is all there is of a tensor.
var fromStatistics = words("from_statistics", func(t *overflow.Tensor) bool { return t.FromStatistics }).given()

// firstBadText says which value makes a tensor bad, and where it is.
func firstBadText(t *overflow.Tensor) any {
	if t.Stats != nil && t.BadStatistic != nil {
		value := sixDigits((*float64)(t.BadStatistic))
		return lang.Text{EN: value + ", from statistics", ZH: value + "，来自统计值"}
	}
	e, ok := firstBadOf(t)
	if !ok {
		return nil
	}
	value, coord := sixDigits((*float64)(&e.Value)), tensor.Shape(e.Coord).Join(",")
	return lang.Text{EN: fmt.Sprintf("%s at [%s]", value, coord), ZH: fmt.Sprintf("%s 位于 [%s]", value, coord)}
}

func firstBadOf(t *overflow.Tensor) (e *overflow.Element, ok bool) {
	if t.Stats == nil || t.FirstBad == nil {
		return nil, false
	}
	return t.FirstBad, true
}

func tensorName(t *overflow.Tensor) string { return fmt.Sprintf("%s %d", t.Kind, t.Index) }

// recordColumns are the columns of a record; cells of what it does not say are empty.
var recordColumns = slices.Concat(
	[]Column[*overflow.Record]{
		words("record", func(r *overflow.Record) string { return r.File }),
		words("device", func(r *overflow.Record) string { return r.Rank }), // as older reports have it
		words("step", func(r *overflow.Record) string { return r.Step }),
		words("model", func(r *overflow.Record) string { return r.Model }),
		words("timestamp", func(r *overflow.Record) uint64 { return r.Timestamp }),
		words("time", func(r *overflow.Record) string { return overflow.Time(r.Timestamp) }),
		words("acc_type", func(r *overflow.Record) string { return r.Unit.String() }),
		words("task_id", func(r *overflow.Record) uint64 { return r.TaskID }),
		words("stream_id", func(r *overflow.Record) uint64 { return r.StreamID }),
		words("context_id", func(r *overflow.Record) *uint64 { return r.ContextID }),
		words("thread_id", func(r *overflow.Record) *uint64 { return r.ThreadID }),
	},
	placeColumns,
	[]Column[*overflow.Record]{
		words("status", (*overflow.Record).StatusText),
		words("causes", causesText),
		words("verdict", func(r *overflow.Record) string { return string(r.Verdict) }),
	},
	of(func(r *overflow.Record) (*overflow.Operator, bool) { return r.Op, r.Op != nil },
		words("op_type", func(o *overflow.Operator) string { return o.Type }),
		words("op_name", func(o *overflow.Operator) string { return o.Name }),
		words("op_file", func(o *overflow.Operator) string { return o.File }),
		words("matched_by", func(o *overflow.Operator) string { return string(o.MatchedBy) }),
	),
)

// placeColumns say where on the device the overflow was.
var placeColumns = []Column[*overflow.Record]{
	words("core_id", func(r *overflow.Record) *uint64 { return r.CoreID }).titled("core", "核"),
	words("block", func(r *overflow.Record) *uint64 { return r.Block }).titled("block", "块"),
	words("pc_start", func(r *overflow.Record) string { return r.PCStart }).titled("pc", "pc"),
}

// pointer returns a pointer to v, nil if it is not known.
func pointer[V any](v V, ok bool) *V {
	if !ok {
		return nil
	}
	return &v
}

// entriesOf is everything that is to be said of a decoded value.
func entriesOf(r *statusreg.Result) []statusreg.Entry {
	return slices.Concat(r.Entries, r.Undocumented())
}

// causesText joins what the status words mean.
func causesText(r *overflow.Record) string {
	var causes []string
	for _, c := range r.Causes {
		causes = append(causes, c.EN)
	}
	return strings.Join(causes, "; ")
}

// scanColumns are the columns of a scanned file.
var scanColumns = []Column[*overflow.Scanned]{
	words("file", func(s *overflow.Scanned) string { return s.File }),
	words("device", func(s *overflow.Scanned) string { return s.Rank }), // as older reports have it
	words("step", func(s *overflow.Scanned) string { return s.Step }),
	words("timestamp", func(s *overflow.Scanned) uint64 { return s.Timestamp }),
	words("time", func(s *overflow.Scanned) string { return overflow.Time(s.Timestamp) }),
	words("op_type", func(s *overflow.Scanned) string { return s.OpType }),
	words("op_name", func(s *overflow.Scanned) string { return s.OpName }),
	words("first", func(s *overflow.Scanned) bool { return s.First }),
	words("verdict", func(s *overflow.Scanned) string { return string(s.Verdict) }),
}

// The columns of rounds that device, step and model of a record, or device and step
// of a scanned file, leave out.
var (
	recordRoundColumns = of(func(r *overflow.Record) (dumpdir.Coordinates, bool) { return r.At(), true }, roundColumns[:2]...)
	scanRoundColumns   = of(func(s *overflow.Scanned) (dumpdir.Coordinates, bool) { return s.At(), true }, roundColumns...)
)

var roundColumns = []Column[dumpdir.Coordinates]{
	words("rank", func(c dumpdir.Coordinates) string { return c.Rank }).given(),
	words("graph", func(c dumpdir.Coordinates) string { return c.Graph }).given(),
	words("model", func(c dumpdir.Coordinates) string { return c.Model }).given(),
}
