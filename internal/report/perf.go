package report

import (
	"bufio"
	"bytes"
	"io"
	"slices"
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
	columns := []Column[op]{words("name", func(o op) string { return o.Name })}
	for _, c := range perf.Columns() {
		columns = append(columns, numbers(c.String(), func(o op) perf.Count { return o.Get(c) }))
	}
	columns = append(columns,
		words("rank", func(o op) int { return o.Rank }),
		words("occurrence", func(o op) int { return o.Occurrence }),
		words("at", func(o op) int { return o.At }),
		words("file", func(o op) string { return o.File }),
		words("line", func(o op) int { return o.Line }),
		numbers("share_of_total", func(o op) *float64 { return o.Share }),
		numbers("cumulative", func(o op) *float64 { return o.Cumulative }),
		words("class", func(o op) perf.Class { return o.Class }),
		words("confidence", func(o op) perf.Confidence { return o.Confidence }),
		words("evidence", func(o op) wordList { return list(o.Evidence) }),
		words("unit", func(o op) string { return o.Unit }).given(),
		words("derived", func(o op) any { return objectOf(derived, o) }).in(InJSON),
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
		words("advice", func(o op) wordList {
			codes := wordList{}
			for _, a := range o.Advice {
				codes = append(codes, string(a.Code))
			}
			return codes
		}),
		words("explanation", func(o op) string { return o.Says.String() }).in(InCSV),
		words("explanation", func(o op) lang.Text { return o.Says.Text() }).in(InJSON),
		words("advice_text", func(o op) []lang.Text {
			texts := []lang.Text{}
			for _, a := range o.Advice {
				texts = append(texts, a.Says.Text())
			}
			return texts
		}).in(InJSON),
		words("extra", func(o op) any { return extraCells(o) }).in(InJSON),
	)
}

// extraCells are the cells of columns that are not known; nil if there are none.
func extraCells(o *perf.Operator) any {
	all := map[string]string{}
	for _, e := range o.Extra() {
		all[e.Column] = e.Text
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// derivedColumns are the numbers that follow from counters.
func derivedColumns(r *perf.Report) []Column[*perf.Operator] {
	type op = *perf.Operator
	columns := []Column[op]{
		numbers("compute", func(o op) perf.Count { return o.Compute }),
		numbers("union", func(o op) perf.Count { return o.Union }),
		words("inconsistent", func(o op) *bool { return o.Inconsistent }),
		numbers("exposed_data", func(o op) perf.Count { return o.ExposedData }),
		numbers("exposed_compute", func(o op) perf.Count { return o.ExposedCompute }),
		numbers("hidden_data", func(o op) perf.Count { return o.HiddenData }),
	}
	for _, q := range perf.Quotients() {
		columns = append(columns, numbers(q.Name, q.Of))
	}
	columns = append(columns, numbers("ddr_bytes", func(o op) perf.Count { return o.DDRBytes }))
	if r.PeakBPC > 0 {
		columns = append(columns, numbers("ddr_use", r.DDRUse))
	}
	if r.MHz > 0 {
		columns = append(columns, numbers("mcu_us", r.Microseconds))
	}
	return columns
}

// baselineColumns are those of an operator beside a baseline.
func baselineColumns() []Column[*perf.Operator] {
	type op = *perf.Operator
	base := func(c perf.Column) Column[op] {
		return numbers("base_"+c.String(), func(o op) perf.Count {
			if o.Before == nil {
				return perf.Count{}
			}
			return o.Before.Get(c)
		})
	}
	mcu := base(perf.MCU)
	mcu.Key = "baseline_mcu_cycle"
	return []Column[op]{
		words("status", func(o op) perf.Status { return o.Status }),
		mcu, base(perf.PLDByte), base(perf.L1Conflict), base(perf.IMConflict),
		numbers("growth", func(o op) perf.Count { return o.Growth() }),
	}
}

// coreColumns are those of an operator on several cores.
var coreColumns = []Column[*perf.Cores]{
	numbers("slowest_core", func(c *perf.Cores) int { return c.Slowest }),
	numbers("mean", (*perf.Cores).Mean),
	numbers("imbalance", (*perf.Cores).Imbalance),
}

// runsColumns are those of the runs of an operator.
var runsColumns = []Column[*perf.Runs]{
	words("name", func(r *perf.Runs) string { return r.Name }),
	numbers("runs", func(r *perf.Runs) int { return r.N }),
	numbers("min", func(r *perf.Runs) int64 { return r.Min }),
	numbers("median", (*perf.Runs).Median),
	numbers("max", func(r *perf.Runs) int64 { return r.Max }),
	words("unstable", func(r *perf.Runs) bool { return r.Unstable }),
}

// WritePerfCSV writes a line for every operator.
func WritePerfCSV(w io.Writer, r *perf.Report) error {
	return Table[*perf.Operator]{perfColumns(r), r.Listed()}.CSV(w)
}

// perfForm is the JSON form of a report of performance.
type perfForm struct {
	Schema     string          `json:"schema"`
	Files      []string        `json:"files"`
	Sort       perf.SortKey    `json:"sort"`
	Thresholds perf.Thresholds `json:"thresholds"`
	MHz        *float64        `json:"mhz,omitempty"`
	PeakBPC    *float64        `json:"peak_bpc,omitempty"`
	Total      int64           `json:"total_mcu_cycle"`
	*perfBefore
	Hidden         [][2]string       `json:"hidden"`
	Top            []string          `json:"top"`
	Cores          []int             `json:"cores"`
	Relation       *perf.Relation    `json:"relation"`
	Runs           Table[*perf.Runs] `json:"runs"`
	MissingColumns []string          `json:"missing_columns"`
	UnknownColumns []string          `json:"unknown_columns"`
	Read           [][3]any          `json:"read,omitempty"`
	Problems       [][4]any          `json:"problems"`
	Notes          []perf.Note       `json:"notes"`
	// Operators come last, a line each.
	Operators [0]struct{} `json:"operators"`
}

// perfBefore is what the JSON form has of a baseline.
type perfBefore struct {
	Files   []string `json:"baseline_files"`
	Total   int64    `json:"baseline_total_mcu_cycle"`
	Missing []string `json:"missing"`
}

// WritePerfJSON writes a report of performance as one JSON object: the head in lines for
// people, then a line for each operator.
func WritePerfJSON(w io.Writer, r *perf.Report) error {
	form := perfForm{
		Schema: perf.Schema, Files: list(r.Files), Sort: r.Sort, Thresholds: r.Thresholds,
		MHz: pointer(r.MHz, r.MHz > 0), PeakBPC: pointer(r.PeakBPC, r.PeakBPC > 0), Total: r.Total,
		Hidden: [][2]string{}, Top: []string{}, Cores: list(r.Cores), Relation: pointer(r.Relation, r.Relation != ""),
		Runs:           Table[*perf.Runs]{runsColumns, r.Runs},
		MissingColumns: list(r.Missing), UnknownColumns: list(r.Unknown), Problems: [][4]any{}, Notes: list(r.Notes),
	}
	if r.Before != nil {
		form.perfBefore = &perfBefore{list(r.Before.Files), r.Before.Total, list(r.Before.Missing)}
	}
	for _, h := range r.Hidden {
		form.Hidden = append(form.Hidden, [2]string{h.Name, string(h.Reason)})
	}
	for _, o := range r.Top() {
		form.Top = append(form.Top, o.Name)
	}
	for _, p := range r.Problems {
		form.Problems = append(form.Problems, [4]any{p.Line, p.Text, p.Column, p.File})
	}
	if len(r.Problems) > 0 {
		inOrder := slices.SortedFunc(slices.Values(r.Operators), func(a, b *perf.Operator) int { return a.At - b.At })
		for _, o := range inOrder {
			form.Read = append(form.Read, [3]any{o.Name, o.Occurrence, o.Get(perf.MCU)})
		}
	}
	const end = "]\n}"
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(marshal(form, "  "), []byte(end)))
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
