package page

import (
	"encoding/json"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// Values of the column of changes since the baseline.
const (
	unchanged = iota
	changeNew
	changeWorse
	changeKnown
	changeFixed
)

// columns holds the rows in their order, by column.
type columns struct {
	Name []string `json:"name"`
	// Op holds the names for commands that differ from Name, by row.
	Op     map[int]string `json:"op"`
	Type   texts          `json:"type"`
	Status []int          `json:"status"`
	Mark   []record.Mark  `json:"mark"`
	// Err and Total are -1 in rows that were not compared.
	Err     []int64    `json:"err"`
	Total   []int64    `json:"total"`
	MeanRel numberList `json:"mean_rel"`
	MaxAbs  numberList `json:"max_abs"`
	CosDist numberList `json:"cosd"` // 1 - cosine
	ULP     numberList `json:"ulp"`
	Score   numberList `json:"score"` // error relative to the part explained by rounding
	// Ratio, Z and Expected are for rows judged by statistics, else empty: the ratio of the norms,
	// the largest difference of a statistic, and the expected noise.
	Ratio    numberList `json:"ratio"`
	Z        numberList `json:"z"`
	Expected numberList `json:"expected"`
	Reason   []int      `json:"reason"` // index of the first code, -1 for none
	Shape    texts      `json:"shape"`
	DType    texts      `json:"dt"`
	Module   texts      `json:"mod"` // levels joined by separator
	// Path is the length of a name before its last part.
	Path []int `json:"path"`
	// Flow holds the rows that a row reads, as distances before the row.
	Flow    []distances `json:"flow"`
	Round   []int       `json:"round"`
	Change  []int       `json:"chg"`
	Chunk   []int       `json:"chunk"` // block with the detail, -1 for none
	Picture []int       `json:"pic"`   // block with the pictures, -1 for none
}

// pageRows holds the data of all rows that a page shows. It is gathered row by row, since rows may
// not stay in memory.
type pageRows struct {
	cols columns
	// ops lists the operators, tensors their names for commands; output 0 is just its operator.
	ops, tensors []string
	modules      modules
	statuses     map[record.Status]int
	codes        map[finding.Code]int
	listed       []finding.Code // the codes by index
	rounds       map[string]int
	// hasStatistics: some row has statistics.
	hasStatistics bool
	// paths has one path for each folder in folders.
	folders map[string]bool
	paths   []string
}

// rowsOf gathers the rows of a report.
func rowsOf(r *record.Report) *pageRows {
	g := new(pageRows)
	g.indexRounds(r)
	for i, row := range r.AllRows() {
		g.add(r, i, row)
	}
	return g
}

// indexRounds indexes the statuses and rounds of a report.
func (g *pageRows) indexRounds(r *record.Report) {
	g.statuses, g.codes, g.rounds, g.folders = map[record.Status]int{}, map[finding.Code]int{}, map[string]int{}, map[string]bool{}
	for i, s := range record.Statuses() {
		g.statuses[s] = i
	}
	for i := range r.Rounds {
		g.rounds[r.Rounds[i].Name] = i
	}
}

// add adds the next row of a report, row i.
func (g *pageRows) add(r *record.Report, i int, row *record.Row) {
	cols := &g.cols
	g.ops, g.tensors = append(g.ops, row.Op), append(g.tensors, tensorOf(row))
	g.modules.add(row.Modules)
	cols.Type.add(row.OpType)
	cols.Status = append(cols.Status, g.statuses[row.Status])
	cols.Mark = append(cols.Mark, r.Mark(i, row))
	g.addNumbers(row)
	reason := -1
	if code := row.FirstCode(); len(row.Reasons) > 0 {
		at, ok := g.codes[code]
		if !ok {
			at = len(g.listed)
			g.codes[code] = at
			g.listed = append(g.listed, code)
		}
		reason = at
	}
	cols.Reason = append(cols.Reason, reason)
	cols.Shape.add(shapeOf(row))
	cols.DType.add(typesOf(row))
	cols.Round = append(cols.Round, g.rounds[row.Round])
	cols.Flow = append(cols.Flow, distancesOf(row.Inputs, i))
	for _, path := range []string{row.RefFile, row.NPUFile} {
		if folder := path[:strings.LastIndexAny(path, `/\`)+1]; !g.folders[folder] {
			g.folders[folder] = true
			g.paths = append(g.paths, path)
		}
	}
}

// tensorOf returns the name of a row for commands; output 0 is just its operator.
func tensorOf(row *record.Row) string {
	if row.Output == 0 && row.Kind == string(tensor.Output) {
		return row.Op
	}
	return strings.TrimSuffix(row.TensorName(), firstOutput)
}

// firstOutput is the suffix of an operator's output 0.
const firstOutput = ":" + string(tensor.Output) + ":0"

// columns returns the columns of all rows.
func (g *pageRows) columns(c *Comparison) columns {
	cols := g.cols
	cols.Name, cols.Op = c.Labels, map[int]string{}
	for i, label := range c.Labels {
		if label != g.ops[i] {
			if cols.Op[i] = g.tensors[i]; g.tensors[i] == g.ops[i] {
				cols.Op[i] += firstOutput
			}
		}
	}
	modules, paths := g.modules.modulesOf(g.ops)
	cols.Path = paths
	for _, m := range modules {
		cols.Module.add(m)
	}
	changes := changesOf(c.Report)
	for i := range g.ops {
		cols.Change = append(cols.Change, changes[i])
	}
	return cols
}

// maxInputs is the largest number of inputs of a row in the page.
const maxInputs = 12

// distances are the distances from a row back to the rows that it reads. In JSON it is 0 for none, a number for one,
// else a list.
type distances []int

func distancesOf(rows []int, from int) (d distances) {
	for _, row := range rows[:min(len(rows), maxInputs)] {
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

// addNumbers adds the numbers of a row.
func (g *pageRows) addNumbers(row *record.Row) {
	c, result := &g.cols, row.Result
	var score, ratio, z, expected number
	e := row.Evidence
	if e != nil && e.Score > 0 {
		score = metrics.NumberOf(float64(e.Score))
	}
	if row.Statistics != nil {
		ratio = row.Statistics.NormRatio()
		if e != nil && e.RefRMS > 0 {
			z = metrics.NumberOf(float64(e.RMS / e.RefRMS))
		}
		if e != nil && e.Judged {
			expected, score = metrics.NumberOf(e.Relative()), metrics.NumberOf(float64(e.Score))
		}
	}
	c.Score = append(c.Score, score)
	if !g.hasStatistics && row.Statistics != nil {
		before := len(c.Score) - 1
		g.hasStatistics, c.Ratio, c.Z, c.Expected = true, make(numberList, before), make(numberList, before), make(numberList, before)
	}
	if g.hasStatistics {
		c.Ratio, c.Z, c.Expected = append(c.Ratio, ratio), append(c.Z, z), append(c.Expected, expected)
	}
	if result == nil {
		c.Err, c.Total = append(c.Err, -1), append(c.Total, -1)
		c.MeanRel, c.MaxAbs, c.CosDist, c.ULP = append(c.MeanRel, number{}), append(c.MaxAbs, number{}), append(c.CosDist, number{}), append(c.ULP, number{})
		return
	}
	c.Err, c.Total = append(c.Err, row.Errors), append(c.Total, result.Total)
	c.MeanRel, c.MaxAbs, c.ULP = append(c.MeanRel, result.MeanRel), append(c.MaxAbs, result.MaxAbs.Metric), append(c.ULP, result.ULPMax.Metric)
	c.CosDist = append(c.CosDist, metrics.NumberIf(1-result.Cosine.Value(), result.Cosine.IsDefined()))
}

// changesOf returns the changes of the rows since the baseline.
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

// typesOf formats the element types of a row: one if both sides agree.
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

// texts is a column of repeated texts: a table, and an index into it for every row.
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
