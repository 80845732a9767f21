package page

import (
	"encoding/base64"
	"strconv"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
)

// shownWorst is the largest number of elements of a row in the page.
const shownWorst = 12

// detail holds the data of a row's panel beside its columns.
type detail struct {
	Reasons []reason `json:"reasons"`
	Ref     string   `json:"ref,omitempty"`
	NPU     string   `json:"npu,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	NPUOp   string   `json:"npu_op,omitempty"`
	Script  string   `json:"script,omitempty"`
	Err     string   `json:"err,omitempty"`
	Notes   []text   `json:"notes,omitempty"`
	Shapes  []string `json:"shapes,omitempty"` // of both sides, if they differ
	elements
	Stats  [][3]string     `json:"stats,omitempty"` // name, reference, NPU
	Lambda numberList      `json:"lambda,omitempty"`
	Proof  *evidence       `json:"ev,omitempty"`
	Checks []standardCheck `json:"std,omitempty"`
	Files  []string        `json:"files,omitempty"`
	Tokens *tokens         `json:"tok,omitempty"`
	// Attributes, Inputs and Outputs describe an operator of a check.
	Attributes []attribute    `json:"attrs,omitempty"`
	Inputs     []check.Tensor `json:"in,omitempty"`
	Outputs    []check.Output `json:"out,omitempty"`
}

// elements is the comparison of the elements of a pair.
type elements struct {
	Limits  *limits             `json:"lim,omitempty"`
	First   *element            `json:"first,omitempty"`
	Metrics numberList          `json:"m,omitempty"` // in the order of metrics.Table
	Classes *numbersByName      `json:"cls,omitempty"`
	Worst   []element           `json:"w,omitempty"`
	Axes    []axis              `json:"axes,omitempty"`
	Abs     *record.HalfOctaves `json:"abs,omitempty"`
	Rel     *record.HalfOctaves `json:"rel,omitempty"`
}

// tokens compares log probabilities.
type tokens struct {
	Text text     `json:"t"`
	Axes []axis   `json:"axes"` // sequences, and positions in them
	Map  *heatMap `json:"map,omitempty"`
}

func tokensOf(x *metrics.Tokens) *tokens {
	along := func(k int, all []metrics.TokenNumbers, fold int64) axis {
		a := axis{Axis: k, Size: x.Shape[k], Fold: fold}
		for i := range all {
			finite := all[i].Counted - all[i].NonFinite
			a.Share = append(a.Share, metrics.NumberIf(float64(all[i].Beyond)/float64(finite), finite > 0))
			a.Abs = append(a.Abs, all[i].MeanAbs)
		}
		return a
	}
	t := &tokens{Text: textOf(x.Sentence()), Axes: []axis{along(0, x.Sequences, x.SequenceFold), along(1, x.Places, x.PlaceFold)}}
	if x.Map != nil {
		t.Map = new(heatMapOf(x.Map))
	}
	return t
}

// attribute is an attribute of an operator, and where its value comes from.
type attribute struct {
	Name   string `json:"n"`
	Value  string `json:"v"`
	Source text   `json:"s"`
}

// reason is a reason of a row's status.
type reason struct {
	Code       finding.Code       `json:"c"`
	Confidence finding.Confidence `json:"k"`
	Evidence   text               `json:"t"`
	// Facts holds the numbers of the evidence.
	Facts finding.Facts `json:"f,omitempty"`
}

// limits are the limits in force.
type limits struct {
	Both   numberList `json:"v"` // atol and rtol
	Source string     `json:"source"`
}

// element is a pair of elements.
type element struct {
	At     []int64    `json:"at"`
	Ref    string     `json:"r"`
	NPU    string     `json:"n"`
	Errors numberList `json:"d"` // |d| and |d|/|r|
	// Output is the index of the output of an operator with several.
	Output string `json:"o,omitempty"`
}

// axis is the distribution of the errors along an axis.
type axis struct {
	Axis int   `json:"a"`
	Size int64 `json:"n"`
	Fold int64 `json:"f"` // positions per bin
	// Share is the share of errors in each bin, Abs the mean of |d|.
	Share numberList `json:"e"`
	Abs   numberList `json:"d"`
}

// evidence is the error of a row with its explained parts.
type evidence struct {
	Shown numbersByName `json:"v"`
	FedBy []int         `json:"fed,omitempty"`
}

// standardCheck is a number limited by an acceptance standard.
type standardCheck struct {
	Name     string     `json:"name"`
	Numbers  numberList `json:"v"` // value and limit
	Relation string     `json:"rel"`
	Holds    bool       `json:"ok"`
}

// detailOf makes the detail of a row; files lists its files beside the page.
func detailOf(row *record.Row, files []string) *detail {
	d := &detail{Reasons: []reason{}, Ref: row.RefFile, NPU: row.NPUFile, Rule: row.Rule, NPUOp: row.NPUOp, Script: row.Script, Files: files}
	for _, f := range row.Reasons {
		d.Reasons = append(d.Reasons, reason{f.Code, f.Confidence, textOf(f.Evidence), f.Facts})
	}
	for _, n := range row.Notes {
		d.Notes = append(d.Notes, textOf(n))
	}
	if row.Err != nil {
		d.Err = row.Err.Error()
	}
	if row.RefShape != nil && row.NPUShape != nil && !row.RefShape.Equal(row.NPUShape) {
		d.Shapes = []string{row.RefShape.String(), row.NPUShape.String()}
	}
	if s := row.Statistics; s != nil {
		d.Stats = statisticsOf(s)
		if row.Evidence != nil {
			d.Lambda = numberList{metrics.NumberOf(float64(row.Evidence.Lambda))}
		}
	} else if e := row.Evidence; e != nil {
		d.Proof = evidenceOf(e)
	}
	if s := row.Standard; s != nil {
		for _, x := range s.Checks {
			d.Checks = append(d.Checks, standardCheck{x.Name, numberList{metrics.NumberOf(float64(x.Value)), metrics.NumberOf(float64(x.Limit))}, x.Relation, x.Holds})
		}
	}
	if row.Tokens != nil {
		d.Tokens = tokensOf(row.Tokens)
	}
	if result := row.Result; result != nil {
		d.elements = elementsOf(row, result)
	}
	return d
}

func elementsOf(row *record.Row, r *metrics.Result) (d elements) {
	d.Limits = &limits{numberList{metrics.NumberOf(row.Limits.Atol), metrics.NumberOf(row.Limits.Rtol)}, row.Limits.Source()}
	if first := row.First; first != nil {
		d.First = elementOf(row, first)
	}
	d.Classes = &numbersByName{}
	for i := range metrics.Table {
		d.Metrics = append(d.Metrics, metrics.Table[i].MetricOf(r))
	}
	for n, counts := range r.Classes {
		for ref, count := range counts {
			if count > 0 && (n != int(metrics.Finite) || ref != int(metrics.Finite)) {
				d.Classes.add(classNames[n]+" / "+classNames[ref], metrics.NumberOf(float64(count)))
			}
		}
	}
	for k := range r.Worst[:min(shownWorst, len(r.Worst))] {
		d.Worst = append(d.Worst, *elementOf(row, &r.Worst[k]))
	}
	d.Abs, d.Rel = record.HalfOctavesOf(r.AbsHistogram), record.HalfOctavesOf(r.RelHistogram)
	folded := record.FoldAxes(r.Axes)
	for k := range folded {
		d.Axes = append(d.Axes, axisOf(&folded[k]))
	}
	return d
}

// classNames are the names of metrics.Class.
var classNames = []string{metrics.Finite: "finite", metrics.PosInf: "+inf", metrics.NegInf: "-inf", metrics.NaN: "NaN"}

func elementOf(row *record.Row, e *metrics.Element) *element {
	return &element{At: record.Coordinates(row.Shape, e.Offset), Ref: valueText(e.Ref), NPU: valueText(e.NPU), Errors: numberList{metrics.NumberOf(e.Abs), metrics.NumberOf(e.Rel)}}
}

// valueDigits is the number of digits of an element in the page.
const valueDigits = 7

// valueText formats an element: integers with all digits, others with enough for float32.
func valueText(v metrics.Value) string {
	text := v.String()
	if v.DType.Host().Complex() || !strings.ContainsFunc(text, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }) {
		return text
	}
	return strconv.FormatFloat(v.Real, 'g', valueDigits, 64)
}

func axisOf(p *metrics.AxisProfile) axis {
	a := axis{Axis: p.Axis, Size: p.Size, Fold: p.Fold}
	for _, bin := range p.Bins {
		a.Share = append(a.Share, metrics.NumberOf(record.Share(bin.Errors, bin.Count)))
		mean := number{}
		if bin.Count > 0 {
			mean = metrics.NumberOf(bin.SumAbs / float64(bin.Count))
		}
		a.Abs = append(a.Abs, mean)
	}
	return a
}

func evidenceOf(e *record.Evidence) *evidence {
	shown := &evidence{FedBy: e.FedBy}
	for _, x := range []struct {
		name  string
		value jsonpos.Float
	}{{"rms", e.RMS}, {"expected", e.Expected}, {"propagated", e.Propagated}, {"own", e.Own}, {"score", e.Score}} {
		shown.Shown.add(x.name, metrics.NumberOf(float64(x.value)))
	}
	return shown
}

// statisticsOf returns the statistics and digests that either side has.
func statisticsOf(s *record.Statistics) (all [][3]string) {
	for _, n := range record.StatisticNumbers {
		if ref, npu := n.Of(&s.Ref), n.Of(&s.NPU); ref.IsDefined() || npu.IsDefined() {
			all = append(all, [3]string{n.Name, statisticText(ref), statisticText(npu)})
		}
	}
	if s.Ref.Digest != "" || s.NPU.Digest != "" {
		all = append(all, [3]string{"digest", s.Ref.Digest, s.NPU.Digest})
	}
	return all
}

// statisticText formats a statistic with enough digits to see every judged difference.
func statisticText(m metrics.Metric) string {
	if !m.IsDefined() {
		return ""
	}
	return strconv.FormatFloat(m.Value(), 'g', valueDigits, 64)
}

// rowsWithDetail returns the rows that get a detail, most important first: rows with pictures, other rows
// that did not pass, and rows judged by statistics or with log probabilities.
func rowsWithDetail(r *record.Report) []int {
	order := r.PictureRows(record.AllPictures)
	taken := make([]bool, r.Len())
	for _, i := range order {
		taken[i] = true
	}
	var passed []int
	for i, row := range r.AllRows() {
		switch {
		case taken[i]:
		case row.Status != record.Pass:
			order = append(order, i)
		case row.Statistics != nil || row.Tokens != nil:
			passed = append(passed, i)
		}
	}
	return append(order, passed...)
}

// pictures holds the data of a row's charts.
type pictures struct {
	// Sampled is the number of elements in Values, Inner, Joint, InnerJoint and ULP, 0 for all.
	Sampled    int64     `json:"sampled,omitempty"`
	Values     *sides    `json:"values,omitempty"`
	Inner      *sides    `json:"inner,omitempty"` // a narrow range with nearly all values
	Joint      *density  `json:"joint,omitempty"`
	InnerJoint *density  `json:"inner_joint,omitempty"`
	Maps       []heatMap `json:"maps,omitempty"`
	ULP        []int64   `json:"ulp,omitempty"`
	// Window holds values around the worst element, as in compare.json.
	Window *metrics.Window `json:"window,omitempty"`
}

// sides holds the values of both sides on one grid.
type sides struct {
	Range numberList `json:"range"`
	Ref   []int64    `json:"ref"`
	NPU   []int64    `json:"npu"`
}

// density counts pairs; each cell is a byte with the logarithm of the count.
type density struct {
	Range numberList `json:"range"`
	Bins  int        `json:"n"`
	Max   int64      `json:"max"`
	Cells cells      `json:"cells"`
}

// heatMap locates differences; each cell is a byte with the logarithm of mean |d|.
type heatMap struct {
	Axes   [2]int     `json:"axes"` // axes of rows and columns
	Folds  [2]int64   `json:"folds"`
	Size   [2]int     `json:"size"`
	Log    numberList `json:"log"` // log10 of the smallest and largest mean
	Mean   cells      `json:"mean"`
	Errors cells      `json:"errors"`
}

// cells holds bytes, most of them 0. In base64 a 0 is followed by the length of its run, up to 255.
type cells []byte

// MarshalText implements encoding.TextMarshaler.
func (c cells) MarshalText() ([]byte, error) {
	packed := make([]byte, 0, len(c))
	for i := 0; i < len(c); i++ {
		packed = append(packed, c[i])
		if c[i] != 0 {
			continue
		}
		first := i
		for i+1 < len(c) && c[i+1] == 0 && i-first < 254 {
			i++
		}
		packed = append(packed, byte(i-first+1))
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

func picturesOf(p *metrics.Pictures) *pictures {
	j := &pictures{Sampled: p.OfSample, Values: sidesOf(&p.Values), Inner: sidesOf(p.Values.Inner), Joint: densityOf(p.Joint), ULP: p.ULP, Window: p.Window}
	if p.Joint != nil {
		j.InnerJoint = densityOf(p.Joint.Inner)
	}
	for i := range p.Maps {
		j.Maps = append(j.Maps, heatMapOf(&p.Maps[i]))
	}
	return j
}

func heatMapOf(m *metrics.Map) heatMap {
	return heatMap{[2]int{m.RowAxis, m.ColumnAxis}, [2]int64{m.RowFold, m.ColumnFold}, [2]int{m.Rows, m.Columns}, numberList{metrics.NumberOf(m.LogLow), metrics.NumberOf(m.LogHigh)}, m.Mean, m.Errors}
}

func sidesOf(s *metrics.SideBins) *sides {
	if s == nil || len(s.Ref) == 0 {
		return nil
	}
	return &sides{numberList{s.Low, s.High}, s.Ref, s.NPU}
}

func densityOf(d *metrics.Density) *density {
	if d == nil {
		return nil
	}
	return &density{numberList{d.Low, d.High}, d.Count, d.Max, d.Cells}
}
