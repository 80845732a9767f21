package record

import (
	"cmp"
	"fmt"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// Schema names the form of compare.json.
const Schema = "dumptool/compare/1"

// head is a report without its rows as compare.json has it. It holds no clock.
type head struct {
	Schema      string          `json:"schema"`
	Tool        string          `json:"tool"`
	Args        []string        `json:"args"`
	Profile     string          `json:"profile"`
	NaNPolicy   string          `json:"nan_policy"`
	TolMode     string          `json:"tol_mode"`
	OrderSource lang.Sentence   `json:"order_source"`
	GraphSource lang.Sentence   `json:"graph_source"`
	Summary     summary         `json:"summary"`
	Findings    findingRows     `json:"findings"`
	Rounds      []roundJSON     `json:"rounds,omitempty"`
	Listed      *Listed         `json:"rounds_listed,omitempty"`
	Coverage    Coverage        `json:"coverage"`
	Baseline    *baselineRow    `json:"baseline"`
	Warnings    []lang.Sentence `json:"warnings"`
	Interrupted bool            `json:"interrupted"`
	FailedFast  bool            `json:"failed_fast"`
	Files       []File          `json:"files,omitempty"`
	// LeftOut is the number of rows that passed and are not in the document.
	LeftOut int `json:"left_out,omitempty"`
	// Shard, Listing, Options and RunID are those of shard.Origin.
	Shard   *shard.Spec    `json:"shard,omitempty"`
	Listing string         `json:"listing,omitempty"`
	Options []shard.Option `json:"options,omitempty"`
	RunID   string         `json:"run_id,omitempty"`
	// Chinese has the sentences of the document in Chinese, by those in English, where they
	// are others.
	Chinese map[string]string `json:"zh,omitempty"`
	// Rows come last, so that they can be written one by one.
	Rows []struct{} `json:"rows"`
}

// summary is the result at a glance. Rows are named as op:output:k.
type summary struct {
	counts
	// VerdictMode is what rows fail by: evidence or limits; Why says why it is limits
	// where nobody asked for them. Headline is the verdict in a line.
	VerdictMode string        `json:"verdict_mode"`
	VerdictWhy  lang.Sentence `json:"verdict_why"`
	Headline    string        `json:"headline"`
	// Standard names the acceptance standard in place of the verdict, null for none.
	Standard *string `json:"standard"`
	// Effective is the type that the arrays of float32 of the NPU hold, null where it
	// is float32.
	Effective *string      `json:"effective_type"`
	Origins   []originJSON `json:"origins"`
	Meaning
	// Reference and Compared count tensors of the reference, Coverage is the
	// share compared/reference.
	Reference int     `json:"reference"`
	Compared  int     `json:"compared"`
	Coverage  float64 `json:"coverage"`
	// The findings, null where there is no such row.
	FirstBad      *string        `json:"first_bad"`
	FirstDamaged  *string        `json:"first_damaged"`
	LastGood      *string        `json:"last_good"`
	Suspects      []string       `json:"suspects"`
	FirstNaN      *string        `json:"first_nan"`
	FirstOverflow *string        `json:"first_overflow"`
	LargestJump   *string        `json:"largest_jump"`
	Jump          metrics.Metric `json:"jump"`
	OutputsBad    bool           `json:"outputs_bad"`
	// Worst are the worst rows, at most ten, the worst first.
	Worst []string `json:"worst"`
}

// findingRows are the findings as indexes into the rows, null where there is no
// such row.
type findingRows struct {
	FirstBad      *int  `json:"first_bad"`
	FirstDamaged  *int  `json:"first_damaged"`
	LastGood      *int  `json:"last_good"`
	Suspects      []int `json:"suspects"`
	FirstNaN      *int  `json:"first_nan"`
	FirstOverflow *int  `json:"first_overflow"`
	LargestJump   *int  `json:"largest_jump"`
	Chain         []int `json:"chain"`
	Origins       []int `json:"origins,omitempty"`
}

// baselineRow is the comparison with a baseline, rows named as op:output:k.
type baselineRow struct {
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

// head makes the head of compare.json.
func (r *Report) head() *head {
	f, c := &r.Findings, &r.Coverage
	h := &head{
		Schema: Schema, Tool: r.Tool, Args: list(r.Args),
		Profile: r.Profile, NaNPolicy: r.NaNPolicy, TolMode: r.TolMode,
		OrderSource: r.OrderSource, GraphSource: r.GraphSource,
		Summary:  r.summary(),
		Findings: r.findingRows(f), Rounds: r.roundsJSON(), Listed: r.Listed,
		Coverage: Coverage{
			RefOnly: list(c.RefOnly), NPUOnly: list(c.NPUOnly), Skipped: list(c.Skipped),
			Unread: list(c.Unread), Superseded: list(c.Superseded), Rounds: c.Rounds, Unused: list(c.Unused),
		},
		Warnings: list(r.Warnings), Interrupted: r.Interrupted, FailedFast: r.FailedFast, Files: r.Files, LeftOut: r.LeftOut,
		Shard: r.Shard, Listing: r.Listing, Options: r.Options, RunID: r.RunID, Chinese: r.chinese(),
		Rows: []struct{}{},
	}
	if b := r.Baseline; b != nil {
		h.Baseline = &baselineRow{File: b.File, New: r.names(b.New), Known: r.names(b.Known), Worse: r.names(b.Worse),
			Fixed: r.names(b.Fixed), Missing: list(b.Missing), Updated: b.Updated}
	}
	return h
}

// summary counts the rows and names those that were found.
func (r *Report) summary() summary {
	f := &r.Findings
	s := summary{counts: countsOf(r.Counts),
		VerdictMode: r.Verdict, VerdictWhy: r.VerdictWhy, Headline: r.Headline, Standard: optional(r.Standard), Effective: optional(r.Effective), Origins: r.originsJSON(), Meaning: r.Meaning,
		Reference: r.Coverage.Reference, Compared: r.Coverage.Compared, Coverage: r.Coverage.Ratio(),
		FirstBad: r.firstBad(), FirstDamaged: r.found(f.FirstDamaged), LastGood: r.found(f.LastGood), Suspects: r.names(f.Suspects),
		FirstNaN: r.found(f.FirstNaN), FirstOverflow: r.found(f.FirstOverflow), LargestJump: r.found(f.LargestJump),
		OutputsBad: f.OutputsBad, Worst: r.names(r.Worst(worstShown))}
	if s.LargestJump != nil {
		s.Jump = NumberOf(f.Jump)
	}
	return s
}

// report makes the report of a head and its rows.
func (h *head) report(rows []Row) (*Report, error) {
	if h.LeftOut < 0 || h.LeftOut > math.MaxInt-len(rows) {
		return nil, fmt.Errorf("left_out is %d", h.LeftOut)
	}
	r := &Report{
		Origin: shard.Origin{Tool: h.Tool, Shard: h.Shard, Listing: h.Listing, Options: h.Options, RunID: h.RunID, Interrupted: h.Interrupted}, Args: h.Args, Profile: h.Profile, NaNPolicy: h.NaNPolicy, TolMode: h.TolMode,
		OrderSource: h.OrderSource, GraphSource: h.GraphSource, Coverage: h.Coverage,
		Warnings: h.Warnings, FailedFast: h.FailedFast, Files: h.Files, LeftOut: h.LeftOut, Listed: h.Listed, Rows: rows,
	}
	r.Verdict, r.VerdictWhy, r.Headline, r.Effective = h.Summary.VerdictMode, h.Summary.VerdictWhy, h.Summary.Headline, textOf(h.Summary.Effective)
	r.Standard, r.Meaning = textOf(h.Summary.Standard), h.Summary.Meaning
	names := make([]string, 0, len(h.Summary.Origins))
	for _, o := range h.Summary.Origins {
		names = append(names, o.Row)
	}
	if r.Origins = r.rowsOf(names); r.Verdict == "statistics" { // named by operators there
		r.Origins = h.Findings.Origins
	}
	r.Coverage.Reference, r.Coverage.Compared = h.Summary.Reference, h.Summary.Compared
	r.Count()
	r.Findings = h.Findings.findings(h.Summary.Jump, h.Summary.OutputsBad)
	checks := []error{h.Findings.check(len(rows)), checkLinks(rows)}
	for i := range h.Rounds {
		r.Rounds = append(r.Rounds, h.Rounds[i].round())
		checks = append(checks, h.Rounds[i].Findings.check(len(rows)), checkRows(r.Rounds[i].Origins, len(rows)))
	}
	if err := cmp.Or(checks...); err != nil {
		return nil, err
	}
	r.say(h.Chinese)
	keys := map[string]string{}
	for i := range r.Rounds {
		keys[r.Rounds[i].Name] = r.Rounds[i].Pairing.Key
	}
	for i := range r.Rows {
		r.Rows[i].Key = keys[r.Rows[i].Round]
	}
	if b := h.Baseline; b != nil {
		r.Baseline = &Baseline{File: b.File, New: r.rowsOf(b.New), Known: r.rowsOf(b.Known), Worse: r.rowsOf(b.Worse),
			Fixed: r.rowsOf(b.Fixed), Missing: b.Missing, Updated: b.Updated}
	}
	return r, nil
}

// rowsOf finds rows by name, in their order; a name that several rows have
// stands for the next of them.
func (r *Report) rowsOf(names []string) []int {
	if len(names) == 0 {
		return nil
	}
	at := map[string][]int{}
	for i := range r.Len() {
		name := r.Row(i).Name()
		at[name] = append(at[name], i)
	}
	var rows []int
	for _, name := range names {
		if same := at[name]; len(same) > 0 {
			rows, at[name] = append(rows, same[0]), same[1:]
		}
	}
	return rows
}

// index is the index of a finding, nil if it is that of no row.
func (r *Report) index(i int) *int {
	if i < 0 || i >= r.Len() {
		return nil
	}
	return &i
}

// list is a copy of a list that is never nil.
func list[T any](all []T) []T { return append(make([]T, 0, len(all)), all...) }
