// Package perf reads the operator performance tables of HPAA, op_perf.csv, op_perf_{core}.csv and
// perf/{op}.csv, classifies where the cycles of every operator go, with a confidence, and reports
// regressions since a baseline.
//
// The only sources are the list of columns in HPAA's manual and the event table of the vendor's
// profiler: mcu_cycle is the total, vme the vendor's vector instructions, vec RISC-V vector
// instructions, mme the matrix engine, mte all moves; pal_x_y_cycle are cycles in which both ran,
// syn_wait_cycle is waiting for other cores. Counters are 32-bit registers and can wrap. How
// op_perf.csv combines cores and runs is not documented: it is inferred from perf/. Seconds need
// the clock as an option. The classes, their thresholds and the formulas are ours.
//
// All cycles and bytes are exact integers, and every threshold is compared exactly.
package perf

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// Schema names the JSON form of a report.
const Schema = "dumptool/perf/1"

// SortKey is an order of operators.
type SortKey string

// The orders. All but SortName are descending with unknown numbers last; ties keep the order of the
// tables.
const (
	SortMCU      SortKey = "mcu"
	SortPLD      SortKey = "pld"
	SortConflict SortKey = "conflict" // at L1 and IMB
	SortWait     SortKey = "wait"     // for other cores
	SortGrowth   SortKey = "growth"   // of mcu_cycle since the baseline
	SortName     SortKey = "name"
)

// SortKeys lists all orders.
var SortKeys = []SortKey{SortMCU, SortPLD, SortConflict, SortWait, SortGrowth, SortName}

// Options chooses the tables to read and the thresholds.
type Options struct {
	// Paths lists tables and folders of tables. Baseline is the table or folder to compare with;
	// empty for none.
	Paths    []string `json:"-"`
	Baseline string   `json:"-"`
	// NoSpan skips operators with _span in their names, Filter skips others.
	NoSpan bool                `json:"-"`
	Filter *dumpdir.NodeFilter `json:"-"`
	// Sort is the order of operators, Thresholds the limits of classes and findings.
	Sort       SortKey    `json:"sort"`
	Thresholds Thresholds `json:"thresholds"`
	// Classes selects the operators that reports list, empty for all. It affects neither ranks,
	// shares nor failures.
	Classes []Class `json:"-"`
	// Top limits the operators in a report for people, 0 for all.
	Top int `json:"-"`
	// MHz is the clock, PeakBPC the peak bytes per cycle of the DDR; 0 if unknown.
	MHz     float64 `json:"mhz,omitempty"`
	PeakBPC float64 `json:"peak_bpc,omitempty"`
	// Mode says whether tensors were dumped during the profiling, according to the environment.
	Mode    DumpMode `json:"-"`
	Workers int      `json:"-"`
}

// SkippedOperator is a skipped operator; in documents a list of its name and the reason.
type SkippedOperator struct {
	Name   string
	Reason dumpdir.NodeSkip
}

// MarshalJSON implements json.Marshaler.
func (h SkippedOperator) MarshalJSON() ([]byte, error) {
	return jsonpos.Marshal([]string{h.Name, string(h.Reason)}, ""), nil
}

// SkipSpan is the reason to skip operators for Options.NoSpan.
const SkipSpan dumpdir.NodeSkip = "SPAN"

// span marks the names of such operators.
const span = "_span"

// NoteCode names a note.
type NoteCode string

// Values of NoteCode.
const (
	NoteDumping   NoteCode = "DUMP_MODE"
	NoteBaseline  NoteCode = "BASELINE_MODE"
	NoteColumns   NoteCode = "UNKNOWN_COLUMNS"
	NoteRelation  NoteCode = "RELATION_UNKNOWN"
	NoteUnstable  NoteCode = "RUNS_DIFFER"
	NoteUnmatched NoteCode = "EXCLUDE_UNMATCHED"
	NoteCore      NoteCode = "CORE_MISSING"
	NoteNoCore    NoteCode = "NOT_A_CORE"
	NoteNoClass   NoteCode = "CLASS_UNKNOWN"
)

// Note is a remark on the tables that is no problem of a line.
type Note struct {
	// Code names the note, Text is its text.
	Code NoteCode      `json:"code"`
	Text lang.Sentence `json:"text"`
}

// Report is the analysis of performance tables, and its document except for the operators, whose
// keys are columns.
type Report struct {
	Schema string `json:"schema"`
	// Files lists the operator tables that were read, Inputs all files that were opened.
	Files  []string `json:"files"`
	Inputs []string `json:"-"`
	Options
	// Total is the mcu_cycle of all operators that were not skipped.
	Total int64 `json:"total_mcu_cycle"`
	// Before is the baseline, nil for none.
	*BaselineSummary
	// Operators lists the remaining operators by rank, Hidden the skipped operators in table order.
	Operators []*Operator       `json:"-"`
	Hidden    []SkippedOperator `json:"hidden"`
	// TopNames lists the operators that a report for people shows.
	TopNames []string `json:"top"`
	// Cores lists the cores with tables. Relation says how the table combines the runs of
	// operators, Runs; null without runs.
	Cores    []int    `json:"cores"`
	Relation Relation `json:"relation"`
	Runs     []*Runs  `json:"runs"`
	// Missing lists known columns that a table lacks, Unknown the columns that are not known.
	Missing []string `json:"missing_columns"`
	Unknown []string `json:"unknown_columns"`
	// Read lists the operators in table order, with their occurrence and mcu_cycle, if there are
	// Problems: unusable lines and tables.
	Read     [][3]any  `json:"read,omitempty"`
	Problems []Problem `json:"problems"`
	// Notes lists remarks on the tables.
	Notes []Note `json:"notes"`
}

// BaselineSummary summarises a baseline.
type BaselineSummary struct {
	// Files lists the tables of the baseline.
	Files []string `json:"baseline_files"`
	// Total is the mcu_cycle of all operators that the options keep.
	Total int64 `json:"baseline_total_mcu_cycle"`
	// Missing lists the names of operators that are gone.
	Missing []string `json:"missing"`
}

// Microseconds returns the duration of an operator, nil if the clock or its cycles are unknown.
func (r *Report) Microseconds(o *Operator) *float64 {
	if mcu := o.Get(MCU); mcu.Known && r.MHz > 0 {
		us := float64(mcu.N) / r.MHz
		return &us
	}
	return nil
}

// DDRUse returns the used share of the peak DDR transfer during an operator; nil if unknown.
func (r *Report) DDRUse(o *Operator) *float64 {
	use := o.DDRBytes.Quotient(o.Get(MCU))
	if use == nil || r.PeakBPC <= 0 {
		return nil
	}
	share := *use / r.PeakBPC
	return &share
}

// ListedOperators returns the operators that reports list.
func (r *Report) ListedOperators() []*Operator {
	if len(r.Classes) == 0 {
		return r.Operators
	}
	return lists.Filter(r.Operators, func(o *Operator) bool { return slices.Contains(r.Classes, o.Class) })
}

// ShownOperators returns the operators that a report for people shows.
func (r *Report) ShownOperators() []*Operator {
	all := r.ListedOperators()
	return all[:r.NumShown(len(all))]
}

// NumShown returns how many of n operators a report for people shows.
func (r *Report) NumShown(n int) int {
	if r.Options.Top <= 0 {
		return n
	}
	return min(n, r.Options.Top)
}

// Analyze reads and analyses the tables. An unreadable table is a problem; the error is for a
// missing path, a baseline without a table, and a cancelled context.
func Analyze(ctx context.Context, opt Options) (*Report, error) {
	current, err := loadTables(ctx, &opt, opt.Paths)
	if err != nil {
		return nil, err
	}
	if opt.Mode == ModeDumping || current.mode == ModeUnknown {
		current.mode = opt.Mode
	}
	selected := selectOperators(current, &opt)
	r := &current.Report
	r.Missing, r.Hidden, r.Total, r.Runs = current.missing.names(), selected.hidden, selected.total, selected.runs
	r.Problems = append(r.Problems, selected.problems...)
	var before *selection
	if opt.Baseline != "" {
		if before, err = r.readBaseline(ctx, current.mode, selected); err != nil {
			return nil, err
		}
	}
	r.judge(selected, before)
	r.addNotes(current, selected)
	r.rank()
	for _, o := range r.ShownOperators() {
		r.TopNames = append(r.TopNames, o.Name)
	}
	if len(r.Problems) > 0 {
		r.Read = make([][3]any, len(selected.rows))
		for i, o := range selected.rows {
			r.Read[i] = [3]any{o.Name, o.Occurrence, o.Get(MCU)}
		}
	}
	return r, nil
}

func (r *Report) readBaseline(ctx context.Context, mode DumpMode, selected *selection) (*selection, error) {
	then, err := loadTables(ctx, &r.Options, []string{r.Baseline})
	if err != nil {
		return nil, err
	}
	r.Inputs = append(r.Inputs, then.Inputs...)
	switch {
	case len(then.Files) == 0 && len(then.Problems) > 0:
		return nil, lang.Errorf("baseline: %s", then.Problems[0])
	case len(then.Files) == 0:
		return nil, lang.Errorf("baseline: no table of operators in %s, want op_perf.csv or op_perf_{core}.csv", r.Baseline)
	}
	if mode != then.mode && mode != ModeUnknown && then.mode != ModeUnknown {
		r.addNote(NoteBaseline, "the baseline was counted in another way: one of the two was counted while tensors were dumped, which takes more cycles")
	}
	before := selectOperators(then, &r.Options)
	r.Problems = append(append(r.Problems, then.Problems...), before.problems...)
	r.BaselineSummary = &BaselineSummary{Files: then.Files, Total: before.total, Missing: []string{}}
	for _, o := range before.rows {
		if !selected.occurrences[o.occurrence()] {
			r.BaselineSummary.Missing = append(r.BaselineSummary.Missing, o.Name)
		}
	}
	return before, nil
}

// addNote adds a note; the arguments are passed to lang.Say.
func (r *Report) addNote(code NoteCode, en string, args ...any) {
	r.Notes = append(r.Notes, Note{code, lang.Say(en, args...)})
}

// addNotes adds notes on oddities of the tables as a whole.
func (r *Report) addNotes(current *tables, selected *selection) {
	if current.mode == ModeDumping {
		r.addNote(NoteDumping, "counted while tensors were dumped: cycles are higher than in a plain run")
	}
	if len(r.Unknown) > 0 {
		r.addNote(NoteColumns, "unknown columns: %s", strings.Join(r.Unknown, ", "))
	}
	if n, columns := r.countWithoutClass(); n > 0 {
		r.addNote(NoteNoClass, "no class for %s without %s", lang.CountText(n, "operator"), strings.Join(columns, ", "))
	}
	if len(selected.unmatched) > 0 {
		r.addNote(NoteUnmatched, "--exclude-node-list: no operator is called %s", strings.Join(selected.unmatched, ", "))
	}
	if r.Relation == RelationUnknown {
		r.addNote(NoteRelation, "mcu_cycle of the table is neither sum, mean, maximum, first nor last of the runs in perf/")
	}
	var unstable []string
	for _, runs := range r.Runs {
		if runs.Unstable {
			unstable = append(unstable, runs.Name)
		}
	}
	if len(unstable) > 0 {
		r.addNote(NoteUnstable, "runs differ by more than %s x the median: %s; the ranking uses the table (%s of the runs)",
			r.Thresholds.Unstable, lang.FirstNames(unstable), relationTexts[r.Relation])
	}
}

// countWithoutClass counts the operators of class unknown and lists their missing columns.
func (r *Report) countWithoutClass() (n int, columns []string) {
	for _, o := range r.Operators {
		if o.Class != ClassUnknown {
			continue
		}
		n++
		for _, name := range o.Evidence {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	return n, columns
}

// relationTexts describes the relations.
var relationTexts = map[Relation]lang.Text{
	RelationSame: {EN: "the only one"}, RelationSum: {EN: "sum"}, RelationMean: {EN: "perf¦mean"},
	RelationMax: {EN: "maximum"}, RelationLast: {EN: "perf¦last"}, RelationFirst: {EN: "perf¦first"},
	RelationUnknown: {EN: "of unknown relation"},
}

// Text returns the relation in words.
func (r Relation) Text() lang.Text { return relationTexts[r] }

// selection holds the operators that the options keep.
type selection struct {
	rows []*Operator
	// occurrences holds the operators in rows, and operators of unusable lines.
	occurrences map[occurrence]bool
	hidden      []SkippedOperator
	unmatched   []string
	runs        []*Runs
	total       int64
	problems    []Problem
}

// selectOperators renames and filters operators in this order: names of the reference, _span, keys, names.
func selectOperators(t *tables, opt *Options) *selection {
	c := &selection{occurrences: make(map[occurrence]bool), hidden: []SkippedOperator{}, runs: []*Runs{}}
	skip := func(name string) dumpdir.NodeSkip {
		if opt.NoSpan && strings.Contains(name, span) {
			return SkipSpan
		}
		return opt.Filter.Skip(name)
	}
	seen, index := make(map[string]int), 0
	for _, o := range t.Operators {
		o.Name = opt.Filter.Rename(o.Row.Name)
		seen[o.Name]++
		o.Occurrence, o.At = seen[o.Name], index
		if !o.isUnusable {
			index++
		}
		switch reason := skip(o.Name); {
		case reason != "" && !o.isUnusable:
			c.hidden = append(c.hidden, SkippedOperator{o.Name, reason})
		case reason == "":
			c.add(o)
		}
	}
	for _, runs := range t.Runs {
		if name := opt.Filter.Rename(runs.Name); skip(name) == "" {
			renamed := *runs
			renamed.Name = name
			c.runs = append(c.runs, &renamed)
		}
	}
	c.unmatched = opt.Filter.Unmatched(maps.Keys(seen))
	return c
}

// add adds an operator, or a problem with its numbers.
func (c *selection) add(o *Operator) {
	c.occurrences[o.occurrence()] = true
	if o.isUnusable {
		return
	}
	var err error
	if o.DerivedCounters, err = derive(&o.Counters); err == nil {
		all, ok := sumDifference([]int64{c.total, o.Get(MCU).N}, nil)
		if ok {
			c.total, c.rows = all, append(c.rows, o)
			return
		}
		err = lang.Errorf("mcu_cycle: the sum over all operators up to this one exceeds int64")
	}
	c.problems = append(c.problems, Problem{o.File, o.Line, 0, lang.Error(err)})
}

// judge fills the operators of a report.
func (r *Report) judge(current, before *selection) {
	known := make(map[occurrence]*Row)
	if before != nil {
		for _, o := range before.rows {
			known[o.occurrence()] = o.Row
		}
	}
	for _, o := range current.rows {
		o.Before = known[o.occurrence()]
		switch {
		case before == nil:
		case o.Before == nil && before.occurrences[o.occurrence()]: // its line was unusable
			o.Status = Unknown
		default:
			o.Status = statusOf(o, &r.Thresholds)
		}
		o.Verdict = classify(o, &r.Thresholds)
		o.Text = explain(o)
		o.Advice = advise(o, &r.Thresholds)
	}
	r.Operators = slices.Clone(current.rows)
}

// rank orders the operators and sets their ranks and shares.
func (r *Report) rank() {
	key := sortKeys[r.Sort]
	slices.SortStableFunc(r.Operators, func(a, b *Operator) int {
		if r.Sort == SortName {
			return lang.CompareNatural(a.Name, b.Name)
		}
		x, y := key(a), key(b)
		switch {
		case x.Known && y.Known:
			return cmp.Compare(y.N, x.N)
		case x.Known:
			return -1
		case y.Known:
			return 1
		}
		return 0
	})
	all, before := count(r.Total), int64(0)
	for i, o := range r.Operators {
		o.Rank = i + 1
		mcu := o.Get(MCU)
		before += mcu.N // no overflow, since the total has none
		if o.Share = mcu.Quotient(all); o.Share != nil {
			o.Cumulative = count(before).Quotient(all)
		}
	}
}

// sortKeys maps orders to their numbers.
var sortKeys = map[SortKey]func(o *Operator) Count{
	SortMCU:  func(o *Operator) Count { return o.Get(MCU) },
	SortPLD:  func(o *Operator) Count { return o.Get(PLDByte) },
	SortWait: func(o *Operator) Count { return o.Get(SynWait) },
	SortConflict: func(o *Operator) Count {
		both, ok := sumCounts(o.Get(L1Conflict), o.Get(IMConflict))
		if !ok {
			return count(math.MaxInt64)
		}
		return both
	},
	SortGrowth: (*Operator).Growth,
}
