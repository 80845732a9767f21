package page

import (
	"encoding/json"
	"math"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// version is that of the data; the script of the page has the same.
const version = 1

// data is what the script of the page knows of the run: the head and all rows as
// columns. What it knows of single rows beside them is in details.
type data struct {
	V     int    `json:"v"`
	Title string `json:"title"`
	Lang  string `json:"lang"`
	// Run is null in a page of other results.
	Run *run `json:"run"`
	// Before is the comparison that Run is shown beside, null for none.
	Before      *side        `json:"before"`
	Overflow    *overflow    `json:"overflow"`
	Determinism *determinism `json:"determinism"`
	Perf        *performance `json:"perf"`
	Check       *checked     `json:"check"`
}

// run is the head of a comparison and its rows.
type run struct {
	Tool      string   `json:"tool"`
	Args      []string `json:"args"`
	Profile   string   `json:"profile"`
	NaNPolicy string   `json:"nan"`
	TolMode   string   `json:"tol"`
	Verdict   string   `json:"verdict"`
	Why       text     `json:"why"`
	Standard  string   `json:"standard"`
	Effective string   `json:"effective"`
	Headline  text     `json:"headline"`
	Order     text     `json:"order"`
	Graph     text     `json:"graph"`
	// Round is the one that is shown first.
	Round     int             `json:"round"`
	Rounds    []round         `json:"rounds"`
	Coverage  record.Coverage `json:"coverage"`
	Reference int             `json:"reference"`
	Compared  int             `json:"compared"`
	Baseline  *baseline       `json:"baseline"`
	Warnings  []text          `json:"warnings"`
	Facts     []fact          `json:"facts,omitempty"`
	// Few is set where no more than statistics or digests are known of some rows.
	Few bool `json:"few,omitempty"`
	// Dumps are the files of the reference and of the NPU.
	Dumps       [2]dumps        `json:"dumps"`
	Interrupted bool            `json:"interrupted"`
	FailedFast  bool            `json:"failed_fast"`
	Statuses    []record.Status `json:"statuses"`
	Codes       []record.Code   `json:"codes"`
	Metrics     []string        `json:"metrics"` // the names of those of details
	Cols        columns         `json:"cols"`
	// Drawn counts the rows that have pictures, NoPicture those of them that are
	// without them in the page and NoDetail the rows without any detail, for its size.
	Drawn     int `json:"drawn"`
	NoPicture int `json:"no_picture"`
	NoDetail  int `json:"no_detail"`
}

// fact is a Fact of a Comparison.
type fact struct {
	Label text   `json:"label"`
	Lines []text `json:"lines"`
}

// round is a round of the run.
type round struct {
	Name   string        `json:"name"`
	At     record.At     `json:"at"`
	Status record.Status `json:"status"`
	Known  bool          `json:"known"` // the execution order
	Find   finding       `json:"find"`
}

// finding says where a round went wrong: indexes of rows, -1 for none.
type finding struct {
	Bad        int     `json:"bad"`
	Damaged    int     `json:"damaged"`
	Good       int     `json:"good"`
	NaN        int     `json:"nan"`
	Overflow   int     `json:"overflow"`
	Jump       int     `json:"jump"`
	Factor     numbers `json:"factor"`
	Suspects   []int   `json:"suspects"`
	Origins    []int   `json:"origins"`
	Inherited  int     `json:"inherited"`
	OutputsBad bool    `json:"outputs_bad"`
}

// baseline is the comparison with an earlier run, of which the rows have the column
// Change.
type baseline struct {
	File    string   `json:"file"`
	Missing []string `json:"missing"`
	Updated bool     `json:"updated"`
}

// The changes since the baseline, as the column has them.
const (
	unchanged = iota
	changeNew
	changeWorse
	changeKnown
	changeFixed
)

// columns are the rows in their order.
type columns struct {
	Name []string `json:"name"`
	// Op are the names that commands take, where they are others.
	Op     map[int]string `json:"op"`
	Type   texts          `json:"type"`
	Status []int          `json:"status"`
	Mark   []record.Mark  `json:"mark"`
	// Err and Total are -1 in rows that were not compared.
	Err     []int64 `json:"err"`
	Total   []int64 `json:"total"`
	MeanRel numbers `json:"mean_rel"`
	MaxAbs  numbers `json:"max_abs"`
	CosDist numbers `json:"cosd"` // 1 - cosine
	ULP     numbers `json:"ulp"`
	Score   numbers `json:"score"` // error beside what rounding explains
	// Ratio, Z and Expected are of rows that are judged by statistics, empty where there are
	// none: the ratio of the norms, the largest difference of a statistic, and the noise that
	// is expected.
	Ratio    numbers `json:"ratio"`
	Z        numbers `json:"z"`
	Expected numbers `json:"expected"`
	Reason   []int   `json:"reason"` // the first code, -1 for none
	Shape    texts   `json:"shape"`
	DType    texts   `json:"dt"`
	Module   texts   `json:"mod"` // levels, separated by separator
	// Path is the length of what stands before the last part of a name.
	Path []int `json:"path"`
	// Flow are the rows that a row reads, by how far they are before it.
	Flow    []distances `json:"flow"`
	Round   []int       `json:"round"`
	Change  []int       `json:"chg"`
	Chunk   []int       `json:"chunk"` // the block with the detail, -1 for none
	Picture []int       `json:"pic"`   // the block with the pictures, -1 for none
}

// dataOf makes the head and the columns of a comparison.
func dataOf(c *Comparison) *run {
	r := c.Report
	d := &run{
		Tool: r.Tool, Args: append([]string{}, r.Args...), Profile: r.Profile, NaNPolicy: r.NaNPolicy, TolMode: r.TolMode, Verdict: r.Verdict, Why: textOf(r.VerdictWhy),
		Standard: r.Standard, Effective: r.Effective, Headline: text(c.Headline), Order: textOf(r.OrderSource), Graph: textOf(r.GraphSource),
		Coverage: r.Coverage, Reference: r.Coverage.Reference, Compared: r.Coverage.Compared,
		Few:         r.Any(func(row *record.Row) bool { return row.Statistics != nil }),
		Interrupted: r.Interrupted, FailedFast: r.FailedFast, Statuses: record.Statuses(),
	}
	for i := range metrics.Table {
		d.Metrics = append(d.Metrics, metrics.Table[i].Name)
	}
	for _, w := range r.Warnings {
		d.Warnings = append(d.Warnings, textOf(w))
	}
	for _, f := range c.Facts {
		x := fact{Label: text(f.Label)}
		for _, line := range f.Lines {
			x.Lines = append(x.Lines, text(line))
		}
		d.Facts = append(d.Facts, x)
	}
	if r.LeftOut > 0 {
		d.Warnings = append(d.Warnings, textOf(lang.Sayf("left out here: %s of %d, which passed (--rows all shows them)", "此处略去通过的 %s，共 %d 行(--rows all 可全部显示)", lang.CountText(r.LeftOut, "row", "行"), r.Total())))
	}
	if l := r.Listed; l != nil {
		d.Dumps = [2]dumps{dumpsOf(l.Ref), dumpsOf(l.NPU)}
	}
	if b := r.Baseline; b != nil {
		d.Baseline = &baseline{b.File, b.Missing, b.Updated}
	}
	d.Rounds, d.Round = roundsOf(r)
	d.Cols = columnsOf(c, d)
	return d
}

// roundsOf lists the rounds, and says which is shown first. A report without any has
// one.
func roundsOf(r *record.Report) ([]round, int) {
	if len(r.Rounds) == 0 {
		all := record.Round{Counts: r.Counts}
		return []round{{Status: all.Status(), Known: true, Find: findingOf(r, &r.Findings, r.Origins)}}, 0
	}
	var all []round
	for i := range r.Rounds {
		x := &r.Rounds[i]
		all = append(all, round{x.Name, x.At, x.Status(), x.OrderKnown, findingOf(r, &x.Findings, x.Findings.Origins)})
	}
	return all, max(0, r.HeadlineRound())
}

func findingOf(r *record.Report, f *record.Findings, origins []int) finding {
	within := func(i int) int {
		if i < 0 || i >= r.Len() {
			return -1
		}
		return i
	}
	return finding{
		Bad: within(f.FirstBad), Damaged: within(f.FirstDamaged), Good: within(f.LastGood), NaN: within(f.FirstNaN), Overflow: within(f.FirstOverflow),
		Jump: within(f.JumpOfOrigin()), Factor: numbers{{Value: f.Jump, Defined: f.JumpOfOrigin() >= 0}}, Suspects: append([]int{}, f.Suspects...), Origins: origins,
		Inherited: max(0, len(f.Chain)-1), OutputsBad: f.OutputsBad,
	}
}

// columnsOf makes the columns of the rows.
func columnsOf(c *Comparison, d *run) columns {
	r := c.Report
	cols := columns{Op: map[int]string{}}
	statuses, codes, rounds := map[record.Status]int{}, map[record.Code]int{}, map[string]int{}
	for i, s := range d.Statuses {
		statuses[s] = i
	}
	for i := range d.Rounds {
		rounds[d.Rounds[i].Name] = i
	}
	modules, paths := modulesOf(r)
	changes := changesOf(r)
	cols.Path = paths
	for i, row := range r.All() {
		cols.Name = append(cols.Name, c.Labels[i])
		if c.Labels[i] != row.Op {
			cols.Op[i] = row.TensorName()
		}
		cols.Type.add(row.OpType)
		cols.Status = append(cols.Status, statuses[row.Status])
		cols.Mark = append(cols.Mark, r.Mark(i))
		cols.addNumbers(row, d.Few)
		reason := -1
		if code := row.FirstCode(); len(row.Reasons) > 0 {
			at, ok := codes[code]
			if !ok {
				at = len(d.Codes)
				codes[code] = at
				d.Codes = append(d.Codes, code)
			}
			reason = at
		}
		cols.Reason = append(cols.Reason, reason)
		cols.Shape.add(shapeOf(row))
		cols.DType.add(typesOf(row))
		cols.Module.add(modules[i])
		cols.Round = append(cols.Round, rounds[row.Round])
		cols.Change = append(cols.Change, changes[i])
		cols.Flow = append(cols.Flow, distancesOf(row.Inputs, i))
	}
	return cols
}

// mostInputs is how many inputs of a row are in the page.
const mostInputs = 12

// distances say how far before a row others are. In JSON they are 0 for none, a number for
// one, and a list.
type distances []int

func distancesOf(rows []int, from int) (d distances) {
	for _, row := range rows[:min(len(rows), mostInputs)] {
		if row != from {
			d = append(d, from-row)
		}
	}
	return d
}

// MarshalJSON implements json.Marshaler.
func (d distances) MarshalJSON() ([]byte, error) {
	switch len(d) {
	case 0:
		return []byte("0"), nil
	case 1:
		return strconv.AppendInt(nil, int64(d[0]), 10), nil
	}
	return json.Marshal([]int(d))
}

// addNumbers adds the numbers of a row, few where some rows are judged by statistics.
func (c *columns) addNumbers(row *record.Row, few bool) {
	result := row.Result
	var score, ratio, z, expected number
	e := row.Evidence
	if e != nil && e.Score > 0 {
		score = of(float64(e.Score))
	}
	if row.Statistics != nil {
		ratio = row.Statistics.NormRatio()
		if e != nil && e.RefRMS > 0 {
			z = of(float64(e.RMS / e.RefRMS))
		}
		if e != nil && e.Judged {
			expected, score = of(e.Relative()), of(float64(e.Score))
		}
	}
	c.Score = append(c.Score, score)
	if few {
		c.Ratio, c.Z, c.Expected = append(c.Ratio, ratio), append(c.Z, z), append(c.Expected, expected)
	}
	if result == nil {
		c.Err, c.Total = append(c.Err, -1), append(c.Total, -1)
		c.MeanRel, c.MaxAbs, c.CosDist, c.ULP = append(c.MeanRel, number{}), append(c.MaxAbs, number{}), append(c.CosDist, number{}), append(c.ULP, number{})
		return
	}
	c.Err, c.Total = append(c.Err, row.Errors), append(c.Total, result.Total)
	c.MeanRel, c.MaxAbs, c.ULP = append(c.MeanRel, result.MeanRel), append(c.MaxAbs, result.MaxAbs.Metric), append(c.ULP, result.ULPMax.Metric)
	distance := result.Cosine
	distance.Value = 1 - distance.Value
	c.CosDist = append(c.CosDist, distance)
}

// changesOf are the changes of the rows since the baseline.
func changesOf(r *record.Report) map[int]int {
	changes := map[int]int{}
	if r.Baseline == nil {
		return changes
	}
	for change, rows := range [][]int{changeNew: r.Baseline.New, changeWorse: r.Baseline.Worse, changeKnown: r.Baseline.Known, changeFixed: r.Baseline.Fixed} {
		for _, i := range rows {
			changes[i] = change
		}
	}
	return changes
}

func shapeOf(row *record.Row) string {
	switch {
	case row.Shape != nil:
		return row.Shape.String()
	case row.RefShape != nil:
		return row.RefShape.String()
	case row.NPUShape != nil:
		return row.NPUShape.String()
	}
	return ""
}

// typesOf are the element types of a row: one where both sides have the same.
func typesOf(row *record.Row) string {
	name := func(known bool, s string) string {
		if known {
			return s
		}
		return "?"
	}
	ref, npu := name(row.RefFile != "" && row.RefDType != 0, row.RefDType.String()), name(row.NPUFile != "" && row.NPUDType != 0, row.NPUDType.String())
	if ref == npu {
		return ref
	}
	return ref + " → " + npu
}

// text is a text of the page: a string where both languages have the same one.
type text lang.Text

func textOf(s lang.Sentence) text { return text(s.Text()) }

// number is a number that may be undefined.
type number = metrics.Metric

// numbers are a list of numbers of four digits: null where undefined, and the words
// "nan", "inf" and "-inf".
type numbers []number

// shownDigits is the number of digits of a number in the page.
const shownDigits = 4

// MarshalJSON implements json.Marshaler.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(n)+2)
	b = append(b, '[')
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, x)
	}
	return append(b, ']'), nil
}

func appendNumber(b []byte, x number) []byte {
	switch {
	case !x.Defined:
		return append(b, "null"...)
	case math.IsNaN(x.Value):
		return append(b, `"nan"`...)
	case math.IsInf(x.Value, 1):
		return append(b, `"inf"`...)
	case math.IsInf(x.Value, -1):
		return append(b, `"-inf"`...)
	}
	return strconv.AppendFloat(b, x.Value, 'g', shownDigits, 64)
}

// of is a number that is defined.
func of(x float64) number { return number{Value: x, Defined: true} }

// named are numbers by name, without those that are undefined.
type named struct {
	names  []string
	values numbers
}

func (n *named) add(name string, x number) {
	if x.Defined {
		n.names, n.values = append(n.names, name), append(n.values, x)
	}
}

// MarshalJSON implements json.Marshaler.
func (n named) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = appendNumber(b, n.values[i])
	}
	return append(b, '}'), nil
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if t.EN == t.ZH {
		return json.Marshal(t.EN)
	}
	return json.Marshal(lang.Text(t))
}

// texts is a column of texts of which many are the same: a table, and an index into
// it for every row.
type texts struct {
	Table []string `json:"table"`
	At    []int    `json:"at"`
	index map[string]int
}

func (s *texts) add(text string) {
	i, ok := s.index[text]
	if !ok {
		if s.index == nil {
			s.index = map[string]int{}
		}
		i = len(s.Table)
		s.index[text] = i
		s.Table = append(s.Table, text)
	}
	s.At = append(s.At, i)
}
