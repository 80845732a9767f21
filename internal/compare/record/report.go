// Package record holds the results of a comparison: rows, findings and the report of a run, in memory and in
// compare.json. Start at Report and Row; Write and Read convert reports to documents and back. Baselines and later
// judgements use the same types, so that a run can be concluded and judged again without its tensors. The package
// judges nothing.
package record

import (
	"encoding/json"
	"iter"
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
)

// Report is the result of a comparison. Fields with a tag have the same value in compare.json;
// document has the other keys.
type Report struct {
	// Origin identifies the program and the part of the run, for a merge.
	shard.Origin
	// Args are the arguments of the program.
	Args []string `json:"args"`

	Profile   string `json:"profile"`
	NaNPolicy string `json:"nan_policy"`
	TolMode   string `json:"tol_mode"`
	// Verdict is the criterion for failed rows. VerdictWhy is the reason for a criterion other than evidence that the
	// user did not request. Both are empty in reports of versions without evidence, whose verdict is limits.
	Verdict    string        `json:"-"`
	VerdictWhy lang.Sentence `json:"-"`
	// Standard names the acceptance standard of single operators that replaces the verdict, empty for none.
	Standard string `json:"-"`
	// Headline is the verdict in one line, in English; set when the report is written.
	Headline string `json:"-"`
	// Effective is the type of the values in the NPU's float32 arrays, empty for float32.
	Effective string `json:"-"`
	// Meaning says how reliable the verdict is.
	Meaning Meaning `json:"-"`
	// Origins are the rows where an independent error begins, by evidence, as indexes
	// into Rows, in the round of the findings.
	Origins []int `json:"-"`
	// OrderSource says where the execution order comes from, with the file.
	OrderSource lang.Sentence `json:"order_source"`
	// GraphSource says where the inputs of operators come from. It is empty without a graph; the preceding operator
	// then counts as the input.
	GraphSource lang.Sentence  `json:"graph_source"`
	Counts      map[Status]int `json:"-"`
	Findings    Findings       `json:"-"`
	// Rounds are the compared rounds, ordered by their coordinates; nil in reports of versions
	// without rounds.
	Rounds []Round `json:"-"`
	// Listed is the listing of both runs, nil in reports of versions that did not keep it.
	Listed   *Listing        `json:"rounds_listed,omitempty"`
	Coverage Coverage        `json:"coverage"`
	Baseline *Baseline       `json:"-"` // nil without a baseline
	Warnings []lang.Sentence `json:"warnings"`
	// FailedFast is set when --fail-fast stopped the run at the first failure.
	FailedFast bool `json:"failed_fast"`
	// Ranks is the document of package ranks on the NPU's run, if the run is sharded differently from the reference;
	// else nil. See ranks.Read.
	Ranks json.RawMessage `json:"ranks,omitempty"`
	// Calls are the calls of msprobe, in their order, if a report shows them.
	Calls []CallPair `json:"-"`
	// Files are the reports beside compare.json that were written with it.
	Files []File `json:"files,omitempty"`
	// Rows are in execution order, rows of equal position by name and output. They include unmatched and skipped
	// rows.
	Rows []Row `json:"-"`
	// LeftOut counts passed rows that Rows omits, see BadRows. The counts include them.
	LeftOut int `json:"left_out,omitempty"`
	// whole is the report from which BadRows made this one, nil for none.
	whole *Report
}

// Coverage says how much of the reference was compared. The lists name tensors as op:output:k.
type Coverage struct {
	// Reference is the number of tensors of the reference, Compared the number of compared ones.
	Reference int      `json:"-"`
	Compared  int      `json:"-"`
	RefOnly   []string `json:"ref_only"`
	NPUOnly   []string `json:"npu_only"`
	Skipped   []string `json:"skipped"`
	Unread    []string `json:"unread"`
	// Superseded are files with an older timestamp than another file of the same name.
	Superseded []string `json:"superseded"`
	// Rounds are rounds that were not compared, with the reason.
	Rounds []lang.Sentence `json:"rounds,omitempty"`
	// Unused are names in op_config.csv that no row has.
	Unused []string `json:"unused_op_config"`
	// PairedBy counts the tensors that were paired by rules for names that differ.
	PairedBy map[string]int `json:"paired_by,omitempty"`
}

// Ratio returns the compared share of the reference; 1 if the reference is empty.
func (c *Coverage) Ratio() float64 {
	if c.Reference == 0 {
		return 1
	}
	return float64(c.Compared) / float64(c.Reference)
}

// Findings say where the run went wrong. The numbers are indexes into Rows, -1 without such a row.
type Findings struct {
	// FirstBad is the first failing row whose known inputs all pass; also -1 if the execution order is unknown.
	FirstBad int `json:"-"`
	// Origins are, by evidence, all rows where an independent error begins, in the order of the data flow. By limits
	// they replace FirstBad if the order is unknown but the data flow is known: the failing rows whose inputs all
	// pass.
	Origins []int `json:"origins,omitempty"`
	// FirstDamaged is the first failing row with a cause of its own - a pattern, a calculation error, a wrong shape -
	// rather than accumulated noise or bad inputs. It usually is FirstBad.
	FirstDamaged int `json:"-"`
	// LastGood is the last good row before FirstBad, in execution order. Suspects are the rows in between that were
	// not compared: the fault may be there.
	LastGood int   `json:"-"`
	Suspects []int `json:"suspects"`
	// FirstNaN and FirstOverflow are the first rows whose NPU tensor has a NaN or infinity that the reference lacks,
	// or overflowed elements.
	FirstNaN      int `json:"-"`
	FirstOverflow int `json:"-"`
	// LargestJump is the row whose mean relative error exceeds the error of its
	// inputs by the largest factor, Jump the factor.
	LargestJump int     `json:"-"`
	Jump        float64 `json:"-"`
	// Chain are the bad rows that the data flow reaches from FirstBad, in order. OutputsBad reports whether the chain
	// includes outputs of the network.
	Chain      []int `json:"chain"`
	OutputsBad bool  `json:"-"`
}

// NoFindings are the findings of a run without any.
func NoFindings() Findings {
	return Findings{FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1}
}

// JumpOfOrigin returns LargestJump if a fault begins at that row, else -1: errors also grow at healthy operators,
// such as a sum that cancels.
func (f *Findings) JumpOfOrigin() int {
	if f.LargestJump >= 0 && f.LargestJump != f.FirstBad && !slices.Contains(f.Origins, f.LargestJump) {
		return -1
	}
	return f.LargestJump
}

// Baseline compares the run with an earlier one. In compare.json the rows are named as
// op:output:k, see baselineJSON.
type Baseline struct {
	File string `json:"file"`
	// New and the other lists are indexes into Rows.
	New   []int `json:"-"`
	Known []int `json:"-"`
	Worse []int `json:"-"`
	Fixed []int `json:"-"`
	// Missing are the op:output:k of the baseline that this run lacks.
	Missing []string `json:"missing"`
	Updated bool     `json:"updated"`
}

// File is a report that was written into the folder of compare.json.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Count counts the rows by status.
func (r *Report) Count() {
	r.Counts = map[Status]int{}
	for i := range r.Rows {
		r.Counts[r.Rows[i].Status]++
	}
	if r.LeftOut > 0 {
		r.Counts[Pass] += r.LeftOut
	}
}

// WorstRows returns the indexes of the compared rows that did not pass, at most worstShown:
// failures first, then by the share of errors, by the mean relative and by the
// largest absolute error.
func (r *Report) WorstRows() []int {
	type rank struct {
		row int
		by  [4]float64 // the most important first; larger is worse
	}
	var all []rank
	for i, row := range r.AllRows() {
		if !row.IsCompared() || row.Status == Pass {
			continue
		}
		result := row.Result
		fails := 0.0
		if row.Status == Fail {
			fails = 1
		}
		all = append(all, rank{i, [4]float64{fails, Share(max(row.Errors, result.StrictErrors()), result.Total),
			numberOrLeast(result.MeanRel), numberOrLeast(result.MaxAbs.Metric)}})
	}
	slices.SortStableFunc(all, func(a, b rank) int { return slices.Compare(b.by[:], a.by[:]) })
	worst := make([]int, 0, min(worstShown, len(all)))
	for _, a := range all[:min(worstShown, len(all))] {
		worst = append(worst, a.row)
	}
	return worst
}

// numberOrLeast returns a metric for sorting: an undefined metric is less than all others.
func numberOrLeast(m metrics.Metric) float64 {
	if !m.IsDefined() {
		return math.Inf(-1)
	}
	return m.Value()
}

// Share returns part/whole, 0 if whole is 0.
func Share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// rowName returns the name of the row of a finding, nil without a row.
func (r *Report) rowName(i int) *string {
	if i < 0 || i >= r.Len() {
		return nil
	}
	return new(r.Row(i).Name())
}

func (r *Report) rowNames(rows []int) []string {
	all := make([]string, 0, len(rows))
	for _, i := range rows {
		if name := r.rowName(i); name != nil {
			all = append(all, *name)
		}
	}
	return all
}

// Len returns the number of rows.
func (r *Report) Len() int { return len(r.Rows) }

// Row returns the row at an index.
func (r *Report) Row(i int) *Row { return &r.Rows[i] }

// AllRows iterates over the rows.
func (r *Report) AllRows() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		for i := range r.Rows {
			if !yield(i, &r.Rows[i]) {
				return
			}
		}
	}
}

// Unfetched counts the rows whose tensors object storage did not deliver.
func (r *Report) Unfetched() (n int) {
	for _, row := range r.AllRows() {
		if row.Transport {
			n++
		}
	}
	return n
}

// IsCutShort reports whether the run ended before all of its pairs were compared: rows are
// missing.
func (r *Report) IsCutShort() bool { return r.Interrupted || r.FailedFast }

// IsUnfinished reports whether another run of the same work could compare more rows. The document
// then has the details of its rows, so that the other run can reuse them.
func (r *Report) IsUnfinished() bool { return r.Interrupted || r.Unfetched() > 0 }

// HasRow reports whether any row satisfies the predicate.
func (r *Report) HasRow(is func(*Row) bool) bool {
	for i := range r.Rows {
		if is(&r.Rows[i]) {
			return true
		}
	}
	return false
}

// Listing is the listing of both runs, including rounds that are not compared.
type Listing struct {
	// Ref and NPU are the selected rounds of each side.
	Ref []ListedRound `json:"ref"`
	NPU []ListedRound `json:"npu"`
	// Inputs: inputs of operators are compared too.
	Inputs bool `json:"inputs,omitempty"`
	// Others are rounds of the NPU that were not requested, by their keys in a baseline.
	Others []string `json:"others,omitempty"`
	// Warnings are about the runs, OfOptions about the options.
	Warnings  []lang.Sentence `json:"warnings,omitempty"`
	OfOptions []lang.Sentence `json:"of_options,omitempty"`
	// Stale has a sentence for each name of the name map that its side lacks.
	Stale []lang.Sentence `json:"stale,omitempty"`
	// Kept are lines of the logs of an import, which reports write again.
	Kept []sidefile.SkipLine `json:"kept,omitempty"`
}

// ListedRound is a round of a side.
type ListedRound struct {
	RoundCoordinates
	// Folder is the rest of the path, if the other coordinates do not distinguish the rounds.
	Folder string `json:"folder,omitempty"`
	// Outputs is the number of tensors that a comparison of the whole round would have
	// compared.
	Outputs int `json:"outputs,omitempty"`
	// Paired: the other side has such a round.
	Paired bool `json:"paired,omitempty"`
	Dumps
}

// Dumps summarises the files of a round: facts from their names and headers, and the files beside them. It contains
// no time of the comparison.
type Dumps struct {
	// Files counts the files with tensors, Bytes is the sum of their sizes. A file that several rounds share counts
	// in each round. Rounds that are not compared have neither.
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Oldest and Newest are the times of the dumps, in microseconds since 1970; 0 if neither names nor headers have a
	// time.
	Oldest uint64 `json:"oldest,omitempty"`
	Newest uint64 `json:"newest,omitempty"`
	// Software is the producer of the files, if a file beside them names it.
	Software []Software `json:"software,omitempty"`
}

// Software is a program that wrote dumps, and the name of the file that names the program.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	File    string `json:"file"`
}

// HasFacts reports whether the dumps have any facts.
func (d *Dumps) HasFacts() bool { return d.Files > 0 || d.Newest > 0 || len(d.Software) > 0 }

// Add adds the dumps of another round.
func (d *Dumps) Add(o *Dumps) {
	d.Files, d.Bytes, d.Newest = d.Files+o.Files, d.Bytes+o.Bytes, max(d.Newest, o.Newest)
	if d.Oldest == 0 || o.Oldest > 0 && o.Oldest < d.Oldest {
		d.Oldest = o.Oldest
	}
	for _, s := range o.Software {
		if !slices.Contains(d.Software, s) {
			d.Software = append(d.Software, s)
		}
	}
}

// Pairing holds the facts of a round that are known before its tensors are compared.
type Pairing struct {
	// Place is the position of the round among all paired rounds, compared or not. Key names the round in a baseline.
	Place int    `json:"place"`
	Key   string `json:"key,omitempty"`
	// Candidates are tensors of the reference that are possible partners in ambiguous rows. Superseded are earlier
	// executions. Unmatched are requested operator names without a match.
	Candidates []string `json:"candidates,omitempty"`
	Superseded []string `json:"superseded,omitempty"`
	Unmatched  []string `json:"unmatched,omitempty"`
	// Rejected are the reasons why sources of the order and of the data flow are not used.
	Rejected []lang.Sentence `json:"rejected,omitempty"`
	// Differ counts non-tensor arguments that differ; FirstDiffer describes the first.
	Differ      int           `json:"differ,omitempty"`
	FirstDiffer lang.Sentence `json:"first_differ,omitzero"`
	// Common counts the rows that were matched, nil if all rows are compared.
	Common *CommonPart `json:"common,omitempty"`
	// Flow has the inputs of the operators, nil if unknown.
	Flow Flow `json:"flow,omitempty"`
	// Across: the tensors are parts of reference tensors, and the rounds of all ranks of a step are judged together.
	Across bool `json:"across,omitempty"`
	// Folder is the folder of the program on the NPU, if several programs of a run have the same ranks and steps.
	Folder string `json:"folder,omitempty"`
}

// CallPair is a call of the NPU's msprobe run with its values and their partners in the reference. It is not in
// compare.json.
type CallPair struct {
	At    RoundCoordinates
	API   string
	Stack []string // the lines of the script, the innermost first
	// Values are in the order of the call.
	Values []ValuePair
}

// ValuePair is a value of a call; Ref is nil if the reference has no such value.
type ValuePair struct {
	NPU, Ref *msprobe.Leaf
	// Row is the index of the row that compared the tensors, -1 without such a row.
	Row int
}

// Power is the smallest fault that would have been seen: an error of Size, relative to the reference, in a Share of
// the rows (0 to 1).
type Power struct {
	Share float64 `json:"share"`
	Size  float64 `json:"size"`
	// Judged counts the rows whose evidence could find a fault; Of counts all rows that no origin damaged. Deepest is
	// the last judged row in execution order.
	Judged  int    `json:"judged"`
	Of      int    `json:"of"`
	Deepest string `json:"deepest"`
}

// Inputs counts the tensors without a producer whose sides are equal, differ by rounding, or differ
// by more.
type Inputs struct {
	Equal    int `json:"equal"`
	Rounding int `json:"rounding"`
	Differ   int `json:"differ"`
}

// Operators counts the operators of each side, and the operators with a compared tensor.
type Operators struct {
	Reference int `json:"reference"`
	NPU       int `json:"npu"`
	Compared  int `json:"compared"`
}

// Share returns the compared share of the operators of the smaller side, 1 without operators.
func (o Operators) Share() float64 {
	if smaller := min(o.Reference, o.NPU); smaller > 0 {
		return float64(min(o.Compared, smaller)) / float64(smaller)
	}
	return 1
}

// Meaning says how reliable a verdict is.
type Meaning struct {
	// Proof is false if the compared tensors could not have shown a fault, nil if it is not known, as for an
	// interrupted run. NoNumbers counts the compared tensors that are empty, or NaN everywhere on both sides.
	Proof     *bool           `json:"proof"`
	NoNumbers int             `json:"no_numbers,omitempty"`
	Inputs    *Inputs         `json:"inputs,omitempty"`
	Power     *Power          `json:"power,omitempty"`
	Notes     []lang.Sentence `json:"notes,omitempty"`
	Operators *Operators      `json:"operators,omitempty"`
	// StartedAlike is nil if elements were compared. Start has the tensors without a producer that differ. NoVerdict
	// is the reason for a missing verdict.
	StartedAlike *bool         `json:"started_alike,omitempty"`
	Start        []Start       `json:"start,omitempty"`
	NoVerdict    lang.Sentence `json:"no_verdict,omitzero"`
}

// CannotShowFault reports whether the compared tensors could not have shown a fault of the NPU.
func (m *Meaning) CannotShowFault() bool { return m.Proof != nil && !*m.Proof }

// Start is a tensor without a producer that differs between both runs.
type Start struct {
	Op        string `json:"op"`
	Tensor    string `json:"tensor"`
	Parameter bool   `json:"parameter"`
	// Updated: the parameter belongs to the later step named by Round, and training does not explain its difference.
	Updated bool          `json:"updated,omitempty"`
	Round   string        `json:"round,omitempty"`
	Why     lang.Sentence `json:"why"`
}

// minComparedShare is the share of operators (0 to 1) below which a verdict is not significant.
const minComparedShare = 0.5

// LowCoverage reports whether fewer than half of the operators of the smaller side were
// compared, though some were.
func (r *Report) LowCoverage() bool {
	o := r.Meaning.Operators
	return o != nil && o.Compared > 0 && o.Share() < minComparedShare
}
