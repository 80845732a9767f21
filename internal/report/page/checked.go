package page

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lists"
	"dumptool/internal/overflow"
	"dumptool/internal/recompute"
	"dumptool/internal/store"
)

// checkMarks are the marks of the statuses of operators; others have no verdict.
var checkMarks = map[recompute.Status]record.Mark{recompute.OK: record.MarkPasses, recompute.Low: record.MarkRounding, recompute.Misfit: record.MarkWarned,
	recompute.Crashed: record.MarkFails, recompute.Wrong: record.MarkOrigin}

// checkReader makes the head and the rows of a check. An operator is a row.
type checkReader struct {
	*check.Report
	run     *runPage
	rounds  map[dumpdir.Coordinates]int
	marks   []record.Mark // the highest mark of each round
	modules modules
	ops     []string
}

// checkOf returns the head and the rows of a check.
func checkOf(r *check.Report) *runPage {
	c := &checkReader{Report: r, rounds: map[dumpdir.Coordinates]int{}, run: &runPage{
		Tool: r.Tool, Args: r.RecheckArguments(), Headline: text{EN: r.Summary.Headline.String(), ZH: r.Summary.HeadlineZH}, Graph: text{EN: r.Graph},
		Reference: r.Summary.Operators, Compared: r.Summary.Judged, Share: &r.Summary.Share, Meanings: map[finding.Code]text{},
	}}
	d := c.run
	for _, w := range r.Warnings {
		d.Warnings = append(d.Warnings, textOf(w))
	}
	for _, p := range r.Problems[:min(len(r.Problems), maxOthers)] {
		d.Problems = append(d.Problems, overflow.Problem{File: p.File, Fault: overflow.Fault{Error: p.Err.String(), ErrorZH: p.Err.Text().Chinese()}})
	}
	for _, s := range check.Statuses {
		d.Statuses = append(d.Statuses, record.Status(s))
	}
	for _, at := range r.Rounds {
		c.round(at)
	}
	for i := range r.Operators {
		c.add(i)
	}
	levels, paths := c.modules.modulesOf(c.ops)
	for _, l := range levels {
		d.Cols.Module.add(l)
	}
	n := len(c.ops)
	d.Cols.Name, d.Cols.Op, d.Cols.Path, d.Cols.Change = c.ops, map[int]string{}, paths, make([]int, n)
	d.Cols.MeanRel, d.Cols.MaxAbs, d.Cols.CosDist, d.Cols.ULP = make(numberList, n), make(numberList, n), make(numberList, n), make(numberList, n)
	c.addRankFindings()
	if len(d.Rounds) == 0 {
		c.round(dumpdir.Coordinates{})
	}
	d.Round = max(0, slices.IndexFunc(d.Rounds, func(x round) bool { return x.Status == record.Status(recompute.Wrong) }))
	return d
}

// addRankFindings adds the findings between ranks, which make their rounds wrong.
func (c *checkReader) addRankFindings() {
	if c.Ranks == nil {
		return
	}
	c.run.Ranks = newRankFindings(c.Ranks)
	for _, f := range c.Ranks.Findings {
		for i := range c.run.Rounds {
			if x := &c.run.Rounds[i]; x.At.Step == f.Step && x.At.Rank == strconv.Itoa(f.Rank) {
				x.Status = record.Status(recompute.Wrong)
			}
		}
	}
}

// round returns the index of a round, which is new or known.
func (c *checkReader) round(at dumpdir.Coordinates) int {
	i, known := c.rounds[at]
	if !known {
		i = len(c.marks)
		c.rounds[at], c.marks = i, append(c.marks, record.MarkNotCompared)
		none := landmarks{Bad: -1, Damaged: -1, Good: -1, NaN: -1, Overflow: -1, Jump: -1, Factor: make(numberList, 1), Suspects: []int{}}
		c.run.Rounds = append(c.run.Rounds, round{Name: at.Folder, At: record.RoundCoordinates{Rank: at.Rank, Step: at.Step, Graph: at.Graph, Model: at.Model}, Status: record.Status(recompute.Undecided), Known: true, Find: none})
	}
	return i
}

// add adds operator i.
func (c *checkReader) add(i int) {
	o, cols, k := &c.Operators[i], &c.run.Cols, c.round(c.Operators[i].At)
	x, mark := &c.run.Rounds[k], checkMarks[o.Status]
	if mark > c.marks[k] {
		c.marks[k], x.Status = mark, record.Status(o.Status)
	}
	if x.Known = x.Known && o.Order >= 0; mark == record.MarkOrigin {
		if x.Find.Origins = append(x.Find.Origins, i); x.Find.Bad < 0 {
			x.Find.Bad, x.Find.Damaged = i, i
		}
	}
	c.ops = append(c.ops, o.Op)
	c.modules.add(o.Modules)
	cols.Type.add(o.Type)
	cols.Status = append(cols.Status, slices.Index(check.Statuses, o.Status))
	cols.Mark = append(cols.Mark, mark)
	bad, checked, worst := int64(0), int64(0), number{}
	for _, t := range o.Outputs {
		if bad, checked = bad+t.Bad, checked+t.Checked; t.Checked > 0 && !(float64(t.Worst) <= worst.OrNaN()) {
			worst = metrics.NumberOf(float64(t.Worst))
		}
	}
	if checked == 0 {
		bad, checked = -1, -1
	}
	cols.Err, cols.Total, cols.Score = append(cols.Err, bad), append(cols.Total, checked), append(cols.Score, worst)
	reason := -1
	if code := o.Reason; code != "" {
		if reason = slices.Index(c.run.Codes, code); reason < 0 {
			reason = len(c.run.Codes)
			c.run.Codes = append(c.run.Codes, code)
			c.run.Meanings[code] = textOf(check.Explain(code))
		}
	}
	cols.Reason = append(cols.Reason, reason)
	shape, dtype := "", ""
	if len(o.Outputs) > 0 { // of the output that the pictures show
		t := o.Outputs[max(0, slices.IndexFunc(o.Outputs, func(t check.Output) bool { return t.Pictures != nil }))]
		shape, dtype = t.Shape.String(), t.DType
	}
	cols.Shape.add(shape)
	cols.DType.add(dtype)
	cols.Round = append(cols.Round, k)
	cols.Flow = append(cols.Flow, distancesOf(slices.DeleteFunc(slices.Clone(o.FedBy), func(from int) bool { return from < 0 || from >= i }), i))
}

// checkRows returns the operators of a check, most important first, with their details and pictures.
func checkRows(d *runPage, r *check.Report) rowData {
	order := make([]int, len(r.Operators))
	for i := range order {
		order[i] = i
	}
	weight := func(i int) int { // right operators come last
		if mark := d.Cols.Mark[i]; mark != record.MarkPasses {
			return -int(mark)
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return weight(a) - weight(b) })
	return rowData{d, order, func(i int) *detail { return operatorDetail(&r.Operators[i]) }, func(i int) *metrics.Pictures {
		for _, t := range r.Operators[i].Outputs {
			if t.Pictures != nil {
				return t.Pictures
			}
		}
		return nil
	}}
}

// operatorDetail makes the detail of an operator.
func operatorDetail(o *check.Operator) *detail {
	d := &detail{Reasons: []reason{}, NPU: o.File, Script: o.Script, Inputs: o.Inputs}
	if o.Reason != "" || !o.Evidence.IsZero() {
		d.Reasons = append(d.Reasons, reason{o.Reason, o.Confidence, text{EN: o.Evidence.String(), ZH: o.EvidenceZH}, o.Facts})
	}
	for _, n := range o.Notes {
		d.Notes = append(d.Notes, text{EN: string(n)})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Attributes)) {
		a := o.Attributes[name]
		d.Attributes = append(d.Attributes, attribute{name, a.Value.String(), text{EN: string(a.Source)}})
	}
	for _, t := range o.Outputs {
		for _, e := range t.Elems {
			if d.Worst = append(d.Worst, computedElement(e)); len(o.Outputs) > 1 {
				d.Worst[len(d.Worst)-1].Output = strconv.Itoa(t.Index)
			}
		}
		t.Elems, t.FirstBad, t.Pictures = nil, nil, nil
		d.Outputs = append(d.Outputs, t)
	}
	return d
}

// computedElement is an element of an output beside its computed value.
func computedElement(e recompute.Element) element {
	if e.Computed == nil || e.NPU == nil { // not written by dumptool
		return element{At: e.Coord, Errors: make(numberList, 2)}
	}
	computed, npu := float64(*e.Computed), float64(*e.NPU)
	abs := math.Abs(computed - npu)
	return element{At: e.Coord, Ref: statisticText(metrics.NumberOf(computed)), NPU: statisticText(metrics.NumberOf(npu)), Errors: numberList{metrics.NumberOf(abs), metrics.NumberOf(abs / math.Abs(computed))}}
}

// checkTitle is the title of a page of a check: its paths.
func checkTitle(paths []string) string {
	names := lists.Map(paths, store.Base)
	return strings.Join(names[:min(len(names), 2)], " · ") + strings.Repeat(" …", min(1, max(0, len(names)-2)))
}
