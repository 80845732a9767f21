package report

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// Words of msprobe's table in place of numbers.
const (
	notAvailable   = "N/A"
	unsupported    = "unsupported"
	shapeUnmatched = "shape unmatched"
	nanWord        = "Nan"
)

// WriteCompareMSProbe writes a table with the columns of msprobe: every value of the NPU run's
// calls, with metrics of tensors, differences of statistics if there are no tensors, or digests.
// Runs of other dumpers show the rows of the report. The first value of a call has the stack.
//
// The numbers equal msprobe's, except the largest relative error with reference 0 and a nonzero NPU
// value, which is within an eighth of an octave.
func WriteCompareMSProbe(w io.Writer, r *record.Report) error {
	return writeCSV(w, msprobeColumns(msprobeModeOf(r)), func(yield func(*msprobeRow) bool) {
		for _, c := range callsOf(r) {
			rows := newMSProbeRows(r, &c)
			for i := range rows {
				if !yield(&rows[i]) {
					return
				}
			}
		}
	})
}

// msprobeName is the name of the table without its extension.
const msprobeName = "compare_result"

// writeMSProbeRounds writes a table for each of several rounds, because rows do not name their
// round.
func writeMSProbeRounds(f *Folder, r *record.Report, _ Options) error {
	var rounds []record.RoundCoordinates
	tables := make(map[record.RoundCoordinates][]record.CallPair)
	for _, c := range callsOf(r) {
		if tables[c.At] == nil {
			rounds = append(rounds, c.At)
		}
		tables[c.At] = append(tables[c.At], c)
	}
	if len(rounds) < 2 {
		return nil
	}
	names := NewFileNames()
	for _, at := range rounds {
		name := msprobeName
		for _, c := range at.Coordinates() {
			if c.Value != "" {
				name += "_" + c.Name + c.Value
			}
		}
		one := *r
		one.Calls = tables[at]
		if err := f.Write(names.Stem(name)+".csv", func(w io.Writer) error { return WriteCompareMSProbe(w, &one) }); err != nil {
			return err
		}
	}
	return nil
}

// msprobeMode is the kind of values in the table.
type msprobeMode uint8

const (
	tensorMode msprobeMode = iota
	numberMode
	digestMode
)

func msprobeModeOf(r *record.Report) msprobeMode {
	if r.Verdict != statisticsMethod {
		return tensorMode
	}
	for i := range r.Len() {
		if row := r.Row(i); row.Statistics != nil && row.IsJudged() {
			if row.Statistics.HasComparableDigests() {
				return digestMode
			}
			return numberMode
		}
	}
	return numberMode
}

// callsOf returns the calls of a report; for runs of other dumpers the rows of each operator.
func callsOf(r *record.Report) []record.CallPair {
	if r.Calls != nil {
		return r.Calls
	}
	var all []record.CallPair
	for i, row := range r.AllRows() {
		if row.NPUFile == "" {
			continue
		}
		leaf := func(op string, d tensor.DType, s tensor.Shape) *msprobe.Leaf {
			kind := cmp.Or(tensor.Kind(row.Kind), tensor.Output)
			return &msprobe.Leaf{Name: fmt.Sprintf("%s.%s.%d", op, kind, row.Output), Kind: kind, Tensor: &msprobe.Tensor{DType: dtypeText(d), Shape: s}}
		}
		v := record.ValuePair{NPU: leaf(npuName(row), row.NPUDType, row.NPUShape), Row: i}
		if row.RefFile != "" {
			v.Ref = leaf(row.Op, row.RefDType, row.RefShape)
		}
		if n := len(all); n == 0 || all[n-1].API != npuName(row) || all[n-1].At != row.RoundCoordinates {
			all = append(all, record.CallPair{At: row.RoundCoordinates, API: npuName(row)})
		}
		last := &all[len(all)-1]
		last.Values = append(last.Values, v)
	}
	return all
}

// msprobeRow is a row of the table.
type msprobeRow struct {
	record.ValuePair
	mode     msprobeMode
	metrics  [6]any      // metrics of the elements
	npu, ref [4]any      // max, min, mean, norm
	diffs    [4][2]any   // of max, min, mean, norm: n - b, and the relative difference
	stack    string      // for the first value of a call
	judgment judgment    // of the value in its call
	messages []string    // reasons of the judgment, and missing data
	numbers  valueNumber // input of the judgment
}

// valueNumber holds the numbers that a value is judged by; each may be undefined.
type valueNumber struct {
	cosine, thousandth, norm metrics.Metric
}

// judgment is the quality of a value; the worst judgment of a call counts.
type judgment uint8

const (
	judgedPass judgment = iota
	judgedWarning
	judgedError
	judgedUnmatched
)

var judgments = [...]string{judgedPass: "pass", judgedWarning: "warning", judgedError: "error", judgedUnmatched: "unmatched"}

func newMSProbeRows(r *record.Report, c *record.CallPair) []msprobeRow {
	rows, mode := make([]msprobeRow, len(c.Values)), msprobeModeOf(r)
	for i, v := range c.Values {
		row := &rows[i]
		row.ValuePair, row.mode, row.stack = v, mode, notAvailable
		for k := range row.metrics {
			row.metrics[k] = notAvailable
		}
		row.setStatistics()
		switch {
		case v.Ref == nil:
			row.judgment = judgedUnmatched
			row.messages = append(row.messages, "unmatched: the reference has no such value")
		case mode == tensorMode:
			row.setMetrics(r)
		}
	}
	if len(rows) > 0 && len(c.Stack) > 0 {
		rows[0].stack = strings.Join(c.Stack, "\n")
	}
	judgeCall(c.API, rows)
	return rows
}

// setStatistics sets the statistics of both sides.
func (r *msprobeRow) setStatistics() {
	n, b := statisticsOf(r.NPU), statisticsOf(r.Ref)
	for i := range n {
		r.npu[i], r.ref[i] = numberCell(n[i]), numberCell(b[i])
		diff, relative := statisticDifference(n[i], b[i])
		r.diffs[i] = [2]any{diff, relative}
		if f, ok := relative.(percent); ok && i == 3 {
			r.numbers.norm = metrics.NumberOf(float64(f))
		}
	}
}

// statisticsOf returns the four numbers of a value; a value that is no tensor is used for all four.
func statisticsOf(l *msprobe.Leaf) (n [4]msprobe.Number) {
	switch {
	case l == nil:
	case l.Tensor != nil:
		return l.Tensor.Numbers()
	case l.Value != nil:
		v := msprobe.Number{Kind: jsonpos.String, Text: l.Value.Text}
		if f, err := strconv.ParseFloat(l.Value.Text, 64); err == nil && l.Value.Kind == jsonpos.Number {
			v = msprobe.Number{Kind: jsonpos.Number, Value: f, Int: !strings.ContainsAny(l.Value.Text, ".eEnN")}
		}
		return [4]msprobe.Number{v, v, v, v}
	}
	return n
}

// percent is a relative difference, 1 for 100 %.
type percent float64

// String formats it as msprobe does: 25.0%.
func (p percent) String() string { return floatRepr(100*float64(p)) + "%" }

// floatRepr formats a number as Python's repr does.
func floatRepr(x float64) string {
	text := jsonpos.FormatFloat(x)
	if math.IsInf(x, 0) || math.IsNaN(x) || strings.ContainsAny(text, ".e") {
		return text
	}
	return text + ".0"
}

// numberCell formats a statistic.
func numberCell(n msprobe.Number) any {
	switch n.Kind {
	case jsonpos.Number:
		switch {
		case math.IsInf(n.Value, 0):
			return " " + jsonpos.FormatFloat(n.Value) // a blank keeps spreadsheets from parsing it
		case n.Int:
			return numeral(jsonpos.FormatFloat(n.Value))
		case math.IsNaN(n.Value):
			return "nan"
		}
		return numeral(floatRepr(n.Value))
	case jsonpos.Bool:
		return pythonBool(n.Value != 0)
	case jsonpos.String:
		return n.Text
	}
	return notAvailable
}

// statisticDifference returns the difference of a statistic, absolute and relative to the reference.
func statisticDifference(n, b msprobe.Number) (diff, relative any) {
	absent := func(x msprobe.Number) bool { return x.Kind == jsonpos.Invalid || x.Kind == jsonpos.Null }
	switch {
	case n.Kind == jsonpos.Null && b.Kind == jsonpos.Null:
		return numeral("0"), numeral("0")
	case absent(n) || absent(b):
		return notAvailable, notAvailable
	case n.Kind != jsonpos.Number || b.Kind != jsonpos.Number:
		if n.Kind == b.Kind && n.Text == b.Text && n.Value == b.Value {
			return numeral("0"), numeral("0")
		}
		return "Diff", notAvailable
	case n.Value == b.Value || math.IsNaN(n.Value) && math.IsNaN(b.Value):
		return numeral("0"), numeral("0")
	case math.IsNaN(n.Value) || math.IsNaN(b.Value):
		return nanWord, nanWord
	case math.IsInf(n.Value, 0):
		return " " + jsonpos.FormatFloat(n.Value), " " + jsonpos.FormatFloat(n.Value)
	case math.IsInf(b.Value, 0):
		return " " + jsonpos.FormatFloat(-b.Value), " " + jsonpos.FormatFloat(-b.Value)
	}
	d := n.Value - b.Value
	diff = numeral(floatRepr(d))
	if b.Value == 0 {
		return diff, " inf"
	}
	return diff, percent(math.Abs(d / b.Value))
}

// setMetrics sets the metrics of the elements.
func (r *msprobeRow) setMetrics(rep *record.Report) {
	without := func(word, template string, args ...any) {
		for i := range r.metrics {
			r.metrics[i] = word
		}
		r.messages = append(r.messages, fmt.Sprintf(template, args...))
	}
	n, b := r.NPU.Tensor, r.Ref.Tensor
	switch {
	case n == nil || b == nil:
		if r.NPU.Value != nil || r.Ref.Value != nil {
			without(unsupported, "no data: the value is no tensor")
		}
		return
	case !n.Shape.Equal(b.Shape):
		without(shapeUnmatched, "shape: %s against %s", pythonShape(n.Shape), pythonShape(b.Shape))
		return
	case r.Row < 0:
		without(unsupported, "no data: the tensor was not saved")
		return
	}
	row := rep.Row(r.Row)
	if !row.IsCompared() {
		r.messages = append(r.messages, english.notComparedText(row))
		return
	}
	res := row.Result
	if res.Mismatch.Count > 0 {
		r.messages = append(r.messages, "nonfinite positions: NaN or infinities stand at different places")
		return
	}
	if res.Total == 0 {
		r.messages = append(r.messages, "empty")
		return
	}
	number := func(m metrics.Metric) any {
		switch {
		case !m.IsDefined():
			return notAvailable
		case math.IsInf(m.Value(), 0):
			return " " + jsonpos.FormatFloat(m.Value())
		}
		return numeral(jsonpos.FormatFloat(m.Value()))
	}
	finite := float64(res.CountBothFinite())
	good := float64(res.Total) - finite // NaN and infinities at the same places count as 0
	share := func(m metrics.Metric) metrics.Metric {
		return metrics.NumberOf((math.Round(m.Value()*finite) + good) / float64(res.Total))
	}
	r.numbers.cosine, r.numbers.thousandth = res.Cosine, share(res.R1000)
	r.metrics = [6]any{number(res.Cosine), number(metrics.NumberIf(math.Sqrt(res.MSE.Value()*finite), res.MSE.IsDefined())),
		number(metrics.NumberOf(res.MaxAbs.Value())), number(largestRelative(res)), number(r.numbers.thousandth), number(share(res.R5000))}
	switch {
	case len(n.Shape) == 0:
		r.numbers = valueNumber{norm: r.numbers.norm}
		for _, i := range []int{0, 1, 4, 5} {
			r.metrics[i] = unsupported
		}
		r.messages = append(r.messages, "scalar: only absolute and relative errors")
	case res.Total == 1:
		r.numbers.cosine = metrics.Metric{}
		r.metrics[0] = unsupported
		r.messages = append(r.messages, "one element: no cosine")
	case res.CosineZero == metrics.OneZero:
		r.numbers.cosine = metrics.Metric{}
		r.metrics[0] = nanWord
	}
}

// epsilon is added by msprobe to both sides where the reference is 0.
const epsilon = 0x1p-52

// largestRelative returns the largest relative error.
func largestRelative(res *metrics.Result) metrics.Metric {
	largest := metrics.NumberOf(res.MaxRel.Value())
	if res.RelUndefined > 0 {
		largest = metrics.NumberOf(max(largest.Value(), res.MaxAbsUndefined/epsilon))
	}
	return largest
}

// pythonShape formats a shape as a Python list.
func pythonShape(s tensor.Shape) string { return "[" + s.Join(", ") + "]" }

// digestOf returns the digest of a value; for a value that is no tensor the CRC-32 of its text.
func digestOf(l *msprobe.Leaf) string {
	switch {
	case l == nil:
	case l.Tensor != nil:
		if l.Tensor.Digest != "" {
			return l.Tensor.Digest
		}
	case l.Value != nil:
		return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(l.Value.Text)))
	}
	return notAvailable
}

// msprobeColumns returns the columns of the table.
func msprobeColumns(mode msprobeMode) []Column[*msprobeRow] {
	type row = *msprobeRow
	var columns []Column[row]
	both := func(npuName, refName string, of func(l *msprobe.Leaf) string) {
		columns = append(columns, textColumn(npuName, func(r row) string { return of(r.NPU) }), textColumn(refName, func(r row) string { return of(r.Ref) }))
	}
	both("NPU Name", "Bench Name", func(l *msprobe.Leaf) string {
		if l == nil {
			return notAvailable
		}
		return l.Name
	})
	both("NPU Dtype", "Bench Dtype", typeCell)
	both("NPU Tensor Shape", "Bench Tensor Shape", tensorCell(func(t *msprobe.Tensor) string { return pythonShape(t.Shape) }))
	both("NPU Requires_grad", "Bench Requires_grad", gradCell)
	each := func(cell func(r row, i int) any, names ...string) {
		for i, name := range names {
			columns = append(columns, numberColumn(name, func(r row) any { return cell(r, i) }))
		}
	}
	switch mode {
	case digestMode:
		both("NPU MD5", "BENCH MD5", digestOf)
	case tensorMode:
		each(func(r row, i int) any { return r.metrics[i] }, "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")
	case numberMode:
		each(func(r row, i int) any { return r.diffs[i][0] }, "Max diff", "Min diff", "Mean diff", "L2norm diff")
		each(func(r row, i int) any {
			if p, ok := r.diffs[i][1].(percent); ok {
				return numeral(p.String())
			}
			return r.diffs[i][1]
		}, "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr")
	}
	if mode != digestMode {
		each(func(r row, i int) any { return r.npu[i] }, "NPU max", "NPU min", "NPU mean", "NPU l2norm")
		each(func(r row, i int) any { return r.ref[i] }, "Bench max", "Bench min", "Bench mean", "Bench l2norm")
	}
	columns = append(columns,
		textColumn("Requires_grad Consistent", func(r row) string {
			n, b := gradCell(r.NPU), gradCell(r.Ref)
			if n == notAvailable || b == notAvailable {
				return notAvailable
			}
			return pythonBool(n == b)
		}),
		textColumn("Result", func(r row) string { return judgments[r.judgment] }),
		textColumn("Err_message", func(r row) string { return strings.Join(r.messages, "; ") }),
		textColumn("NPU_Stack_Info", func(r row) string { return r.stack }))
	if mode == tensorMode {
		columns = append(columns, textColumn("Data_name", func(r row) string { return "[" + dataName(r.NPU) + ", " + dataName(r.Ref) + "]" }))
	}
	return columns
}

// tensorCell returns a cell for tensors; other values and empty texts are N/A.
func tensorCell(of func(*msprobe.Tensor) string) func(*msprobe.Leaf) string {
	return func(l *msprobe.Leaf) string {
		if l == nil || l.Tensor == nil {
			return notAvailable
		}
		return cmp.Or(of(l.Tensor), notAvailable)
	}
}

var dataName = tensorCell(func(t *msprobe.Tensor) string { return t.DataName })

// gradCell says whether a tensor requires a gradient.
var gradCell = tensorCell(func(t *msprobe.Tensor) string {
	if t.RequiresGrad == nil {
		return ""
	}
	return pythonBool(*t.RequiresGrad)
})

func typeCell(l *msprobe.Leaf) string {
	switch {
	case l == nil:
	case l.Tensor != nil:
		return l.Tensor.DType
	case l.Value != nil:
		return l.Value.Type
	}
	return notAvailable
}
