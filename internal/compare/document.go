package compare

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/engine"
)

// DocumentSchema names the form of a Document.
const DocumentSchema = "dumptool/compare/1"

// Document is a report as it is kept in compare.json: everything that readers,
// baselines and later judgements need, without the tensors. It holds no clock.
type Document struct {
	Schema      string   `json:"schema"`
	Tool        string   `json:"tool"`
	Args        []string `json:"args"`
	Profile     string   `json:"profile"`
	NaNPolicy   string   `json:"nan_policy"`
	TolMode     string   `json:"tol_mode"`
	OrderSource string   `json:"order_source"`
	// GraphSource is empty when the operator before counts as the input.
	GraphSource string            `json:"graph_source"`
	Summary     Summary           `json:"summary"`
	Findings    DocumentFindings  `json:"findings"`
	Coverage    DocumentCoverage  `json:"coverage"`
	Baseline    *DocumentBaseline `json:"baseline"`
	Warnings    []string          `json:"warnings"`
	Interrupted bool              `json:"interrupted"`
	FailedFast  bool              `json:"failed_fast"`
	// Rows are in execution order. They come last, so that a writer can stream
	// them.
	Rows []DocumentRow `json:"rows"`
}

// DocumentMeta is what a Document tells beside the report.
type DocumentMeta struct {
	// Tool is the name and version of the program, Args its arguments.
	Tool string
	Args []string
}

// Summary is the result at a glance. Rows are named as op:output:k.
type Summary struct {
	Rows          int `json:"rows"`
	Pass          int `json:"pass"`
	Warn          int `json:"warn"`
	Fail          int `json:"fail"`
	ShapeMismatch int `json:"shape_mismatch"`
	DTypeMismatch int `json:"dtype_mismatch"`
	Ambiguous     int `json:"ambiguous"`
	Error         int `json:"error"`
	Partial       int `json:"partial"`
	Skip          int `json:"skip"`
	UnmatchedRef  int `json:"unmatched_ref"`
	UnmatchedNPU  int `json:"unmatched_npu"`
	// Reference and Compared count tensors of the reference, Coverage is the
	// share compared/reference.
	Reference int     `json:"reference"`
	Compared  int     `json:"compared"`
	Coverage  float64 `json:"coverage"`
	// The findings, null where there is no such row.
	FirstBad      *string  `json:"first_bad"`
	FirstDamaged  *string  `json:"first_damaged"`
	LastGood      *string  `json:"last_good"`
	Suspects      []string `json:"suspects"`
	FirstNaN      *string  `json:"first_nan"`
	FirstOverflow *string  `json:"first_overflow"`
	LargestJump   *string  `json:"largest_jump"`
	Jump          Number   `json:"jump"`
	OutputsBad    bool     `json:"outputs_bad"`
	// Worst are the worst rows, at most ten, the worst first.
	Worst []string `json:"worst"`
}

// DocumentFindings are the findings as indexes into the rows, null where there
// is no such row.
type DocumentFindings struct {
	FirstBad      *int  `json:"first_bad"`
	FirstDamaged  *int  `json:"first_damaged"`
	LastGood      *int  `json:"last_good"`
	Suspects      []int `json:"suspects"`
	FirstNaN      *int  `json:"first_nan"`
	FirstOverflow *int  `json:"first_overflow"`
	LargestJump   *int  `json:"largest_jump"`
	Chain         []int `json:"chain"`
}

// DocumentCoverage lists what was not compared, named as op:output:k.
type DocumentCoverage struct {
	RefOnly    []string `json:"ref_only"`
	NPUOnly    []string `json:"npu_only"`
	Skipped    []string `json:"skipped"`
	Unread     []string `json:"unread"`
	Superseded []string `json:"superseded"`
	Unused     []string `json:"unused_op_config"`
}

// DocumentBaseline is the comparison with a baseline, rows named as op:output:k.
type DocumentBaseline struct {
	File    string   `json:"file"`
	New     []string `json:"new"`
	Known   []string `json:"known"`
	Worse   []string `json:"worse"`
	Fixed   []string `json:"fixed"`
	Missing []string `json:"missing"`
	Updated bool     `json:"updated"`
}

// worstShown is the number of worst rows in a summary.
const worstShown = 10

// NewDocument makes the document of a report.
func NewDocument(r *Report, meta DocumentMeta) *Document {
	d := NewDocumentHead(r, meta)
	d.Rows = make([]DocumentRow, len(r.Rows))
	for i := range r.Rows {
		d.Rows[i] = r.DocumentRow(i)
	}
	return d
}

// DocumentRow makes the row of the report's document at an index.
func (r *Report) DocumentRow(i int) DocumentRow {
	d := NewDocumentRow(&r.Rows[i])
	if kld, ok := r.KLD[i]; ok && d.Metrics != nil && !constant(r.Rows[i].Result) {
		d.Metrics.KLD = Number(kld)
	}
	return d
}

// NewDocumentHead makes the document of a report without its rows.
func NewDocumentHead(r *Report, meta DocumentMeta) *Document {
	d := &Document{
		Schema: DocumentSchema, Tool: meta.Tool, Args: list(meta.Args),
		Profile: r.Profile, NaNPolicy: r.NaNPolicy, TolMode: r.TolMode,
		OrderSource: r.OrderSource, GraphSource: r.GraphSource,
		Summary: r.summary(),
		Findings: DocumentFindings{
			FirstBad: r.rowIndex(r.Findings.FirstBad), FirstDamaged: r.rowIndex(r.Findings.FirstDamaged), LastGood: r.rowIndex(r.Findings.LastGood), Suspects: list(r.Findings.Suspects),
			FirstNaN: r.rowIndex(r.Findings.FirstNaN), FirstOverflow: r.rowIndex(r.Findings.FirstOverflow),
			LargestJump: r.rowIndex(r.Findings.LargestJump), Chain: list(r.Findings.Chain),
		},
		Coverage: DocumentCoverage{
			RefOnly: list(r.Coverage.RefOnly), NPUOnly: list(r.Coverage.NPUOnly), Skipped: list(r.Coverage.Skipped),
			Unread: list(r.Coverage.Unread), Superseded: list(r.Coverage.Superseded), Unused: list(r.Coverage.Unused),
		},
		Warnings: list(r.Warnings), Interrupted: r.Interrupted, FailedFast: r.FailedFast,
		Rows: []DocumentRow{},
	}
	if b := r.Baseline; b != nil {
		d.Baseline = &DocumentBaseline{File: b.File, New: r.names(b.New), Known: r.names(b.Known), Worse: r.names(b.Worse),
			Fixed: r.names(b.Fixed), Missing: list(b.Missing), Updated: b.Updated}
	}
	return d
}

// constant reports whether a side of a pair is constant, for which the
// Kullback-Leibler divergence says nothing.
func constant(res *engine.Result) bool {
	return res.Ref.Min.Defined && (res.Ref.Min == res.Ref.Max || res.NPU.Min == res.NPU.Max)
}

// summary counts the rows and names those that were found.
func (r *Report) summary() Summary {
	f := &r.Findings
	s := Summary{Rows: len(r.Rows),
		Reference: r.Coverage.Reference, Compared: r.Coverage.Compared, Coverage: r.Coverage.Ratio(),
		FirstBad: r.found(f.FirstBad), FirstDamaged: r.found(f.FirstDamaged), LastGood: r.found(f.LastGood), Suspects: r.names(f.Suspects),
		FirstNaN: r.found(f.FirstNaN), FirstOverflow: r.found(f.FirstOverflow), LargestJump: r.found(f.LargestJump),
		OutputsBad: f.OutputsBad, Worst: r.names(WorstRows(r, worstShown))}
	if s.LargestJump != nil {
		s.Jump = NumberOf(f.Jump)
	}
	for status, count := range s.counts() {
		*count = r.Counts[status]
	}
	return s
}

// counts are the places of the numbers of rows by status.
func (s *Summary) counts() map[Status]*int {
	return map[Status]*int{Pass: &s.Pass, Warn: &s.Warn, Fail: &s.Fail, ShapeMismatch: &s.ShapeMismatch,
		DTypeMismatch: &s.DTypeMismatch, Ambiguous: &s.Ambiguous, Error: &s.Error, Partial: &s.Partial,
		Skip: &s.Skip, UnmatchedRef: &s.UnmatchedRef, UnmatchedNPU: &s.UnmatchedNPU}
}

// rowIndex is the index of a finding, nil if it is that of no row.
func (r *Report) rowIndex(i int) *int {
	if i < 0 || i >= len(r.Rows) {
		return nil
	}
	return &i
}

// found names the row of a finding, nil if there is none.
func (r *Report) found(i int) *string {
	if i < 0 || i >= len(r.Rows) {
		return nil
	}
	name := r.Rows[i].Name()
	return &name
}

// names lists rows by name.
func (r *Report) names(rows []int) []string {
	all := make([]string, 0, len(rows))
	for _, i := range rows {
		if name := r.found(i); name != nil {
			all = append(all, *name)
		}
	}
	return all
}

// Name names the row as op:output:k, with the round behind it where there is one.
func (r *Row) Name() string {
	kind := r.Kind
	if kind == "" {
		kind = "output"
	}
	name := r.Op + ":" + kind + ":" + strconv.Itoa(r.Output)
	if r.Round != "" {
		name += "@" + r.Round
	}
	return name
}

// list is a copy of a list that is never nil.
func list[T any](all []T) []T { return append(make([]T, 0, len(all)), all...) }

// WorstRows returns the indexes of the compared rows that did not pass, at most
// n: failures first, then by the share of errors, by the mean relative and by the
// largest absolute error.
func WorstRows(r *Report, n int) []int {
	type rank struct {
		row int
		by  [4]float64 // from the most important; more is worse
	}
	var all []rank
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Result == nil || row.Status == Pass {
			continue
		}
		fails := 0.0
		if row.Status == Fail {
			fails = 1
		}
		all = append(all, rank{i, [4]float64{fails, ratio(max(row.Errors, row.Result.StrictErrors()), row.Result.Total),
			orderOf(row.Result.MeanRel), orderOf(row.Result.MaxAbs.Metric)}})
	}
	slices.SortStableFunc(all, func(a, b rank) int { return slices.Compare(b.by[:], a.by[:]) })
	worst := make([]int, 0, min(n, len(all)))
	for _, a := range all[:min(n, len(all))] {
		worst = append(worst, a.row)
	}
	return worst
}

// orderOf is a metric for sorting: what is undefined comes behind all else.
func orderOf(m engine.Metric) float64 {
	if !m.Defined {
		return math.Inf(-1)
	}
	return m.Value
}

// LimitSource tells where the limits of a row come from, in one text: one
// source, or those of atol and of rtol.
func (l *Limits) LimitSource() string {
	if l.AtolSource == l.RtolSource {
		return l.AtolSource
	}
	return strings.Join([]string{"atol " + l.AtolSource, "rtol " + l.RtolSource}, ", ")
}
