package report

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/perf"
)

// wordList is a list of words, a cell of a table.
type wordList []string

// String implements fmt.Stringer.
func (l wordList) String() string { return strings.Join(l, "; ") }

// perfColumns are the columns of an operator in csv and json: the counters as they were
// read, what follows from them, and what the baseline has.
func perfColumns(r *perf.Report) []Column[*perf.Operator] {
	type op = *perf.Operator
	derived := derivedColumns(r)
	columns := []Column[op]{words("name", func(o op) string { return o.Name }).says("The name, that of the reference if a map has one.")}
	for _, c := range perf.Columns() {
		columns = append(columns, numbers(c.String(), func(o op) perf.Count { return o.Get(c) }).says("A counter, as HPAA's manual names it: null where the tables do not have it."))
	}
	columns = append(columns,
		words("rank", func(o op) int { return o.Rank }).says("The place in the order of the report, from 1."),
		words("occurrence", func(o op) int { return o.Occurrence }).says("The number among the operators of the name, from 1."),
		words("at", func(o op) int { return o.At }).says("The place in the tables, from 0."),
		words("file", func(o op) string { return o.File }).says("The table."),
		words("line", func(o op) int { return o.Line }).says("The line of the table."),
		numbers("share_of_total", func(o op) *float64 { return o.Share }).says("The share of the cycles of all operators."),
		numbers("cumulative", func(o op) *float64 { return o.Cumulative }).says("The share of the operators up to this one."),
		words("class", func(o op) perf.Class { return o.Class }).says("What the cycles are bound by."),
		words("confidence", func(o op) perf.Confidence { return o.Confidence }).says("How certain the class is: high, medium, low or none."),
		words("evidence", func(o op) wordList { return list(o.Evidence) }).says("The columns that decided about the class, or what contradicts itself."),
		words("unit", func(o op) string { return o.Unit }).given().says("The busier unit of class compute: mme or vme."),
		words("derived", func(o op) any { return objectOf(derived, o) }).in(InJSON).says("Numbers that follow from the counters."),
	)
	for _, c := range derived {
		columns = append(columns, c.in(InCSV))
	}
	if r.Before != nil {
		columns = append(columns, baselineColumns()...)
	}
	if len(r.Cores) > 0 {
		columns = append(columns, of(func(o op) (*perf.Cores, bool) { return o.Cores, o.Cores != nil }, coreColumns...)...)
	}
	return append(columns,
		words("advice", func(o op) wordList { return list(o.Codes()) }).says("The codes of the findings."),
		words("explanation", func(o op) string { return o.Says.String() }).in(InCSV),
		words("explanation", func(o op) lang.Text { return o.Says.Text() }).in(InJSON).says("Why it is of its class, and what helps."),
		words("advice_text", func(o op) []lang.Text {
			texts := []lang.Text{}
			for _, a := range o.Advice {
				texts = append(texts, a.Says.Text())
			}
			return texts
		}).in(InJSON).says("The findings in words."),
		words("extra", func(o op) any {
			if all := o.Extra(); all != nil {
				return all
			}
			return nil
		}).in(InJSON).says("The cells of columns that are not known."),
	)
}

// derivedColumns are the numbers that follow from counters.
func derivedColumns(r *perf.Report) []Column[*perf.Operator] {
	type op = *perf.Operator
	columns := []Column[op]{
		numbers("compute", func(o op) perf.Count { return o.Compute }).says("Cycles in which VME or MME ran."),
		numbers("union", func(o op) perf.Count { return o.Union }).says("Cycles in which VME, MME or MTE ran."),
		words("inconsistent", func(o op) *bool { return o.Inconsistent }).says("Whether units overlap longer than one of them ran."),
		numbers("exposed_data", func(o op) perf.Count { return o.ExposedData }).says("Cycles of moves without maths."),
		numbers("exposed_compute", func(o op) perf.Count { return o.ExposedCompute }).says("Cycles of maths without moves."),
		numbers("hidden_data", func(o op) perf.Count { return o.HiddenData }).says("Cycles of moves beside maths."),
	}
	for _, q := range perf.Quotients() {
		columns = append(columns, numbers(q.Name, q.Of).says(q.Doc))
	}
	columns = append(columns, numbers("ddr_bytes", func(o op) perf.Count { return o.DDRBytes }).says("Bytes of all DMA channels."))
	if r.PeakBPC > 0 {
		columns = append(columns, numbers("ddr_use", r.DDRUse).says("The share of what the DDR can move, where --peak-bpc is given."))
	}
	if r.MHz > 0 {
		columns = append(columns, numbers("mcu_us", r.Microseconds).says("Microseconds, where --mhz is given."))
	}
	return columns
}

// baselineColumns are those of an operator beside a baseline.
func baselineColumns() []Column[*perf.Operator] {
	type op = *perf.Operator
	base := func(c perf.Column) Column[op] {
		return numbers("base_"+c.String(), func(o op) perf.Count { return o.WasBefore(c) }).says("The counter of the baseline.")
	}
	mcu := base(perf.MCU)
	mcu.Key = "baseline_mcu_cycle"
	return []Column[op]{
		words("status", func(o op) perf.Status { return o.Status }).says("How mcu_cycle is beside the baseline: SLOWER, FASTER, SAME, NEW or UNKNOWN."),
		mcu, base(perf.PLDByte), base(perf.L1Conflict), base(perf.IMConflict),
		numbers("growth", func(o op) perf.Count { return o.Growth() }).says("By how many cycles mcu_cycle grew."),
	}
}

// coreColumns are those of an operator on several cores.
var coreColumns = []Column[*perf.Cores]{
	numbers("slowest_core", func(c *perf.Cores) int { return c.Slowest }).says("The core with the largest mcu_cycle."),
	numbers("mean", (*perf.Cores).Mean).says("The mean of mcu_cycle over the cores."),
	numbers("imbalance", (*perf.Cores).Imbalance).says("How many times the mean the slowest core takes."),
}

// WritePerfCSV writes a line for every operator.
func WritePerfCSV(w io.Writer, r *perf.Report) error {
	return Table[*perf.Operator]{perfColumns(r), r.Listed()}.CSV(w)
}

// WritePerfJSON writes a report of performance as one JSON object: the head in lines for
// people, then a line for each operator.
func WritePerfJSON(w io.Writer, r *perf.Report) error {
	const end = "]\n}"
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(marshal(struct {
		*perf.Report
		Operators [0]struct{} `json:"operators"`
	}{Report: r}, "  "), []byte(end)))
	columns, operators, before := Table[*perf.Operator]{Columns: perfColumns(r)}.columns(InJSON), r.Listed(), "\n    "
	var line []byte
	for _, o := range operators {
		line = appendObject(append(line[:0], before...), columns, o)
		out.Write(jsonpos.Visible(line))
		before = ",\n    "
	}
	if len(operators) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}
