package conclude

import (
	"io"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// JudgeFile judges the compare.json at a path: see Judge. Errors name the path.
func JudgeFile(path string, opt *limits.Options, config *sidefile.OpConfig) (doc *record.Report, j *Judgement, err error) {
	err = readDocument(path, func(in io.Reader) error {
		if doc, err = record.Read(in); err != nil {
			return err
		}
		j, err = Judge(doc, opt, config)
		return err
	})
	return doc, j, err
}

// Judge judges a document by evidence, like the run that wrote it, or by other limits, and sets
// the verdicts of its rows. Limits are applied to the margin and to the smallest atol and rtol
// that pass all pairs of a row; if these do not suffice, the row is limits.Undecided. config has
// the limits of operators, nil for none.
func Judge(doc *record.Report, opt *limits.Options, config *sidefile.OpConfig) (*Judgement, error) {
	j := &judgeState{Judgement: &Judgement{Counts: map[record.Status]int{}}, opt: opt, config: config, doc: doc, mode: opt.Verdict.Mode}
	var ok bool
	if j.docMode, ok = limits.TolMode(doc.TolMode); !ok {
		return nil, lang.Errorf("tol_mode is %q, want one of %s", doc.TolMode, strings.Join(limits.TolModes(), ", "))
	}
	// Documents written before the mode evidence existed are judged by limits.
	if j.mode == limits.ByEvidence && doc.Verdict == string(limits.ByStatistics) {
		j.mode = limits.ByStatistics
	}
	j.evidence = j.mode == limits.ByEvidence && doc.Verdict != ""
	statuses := make([]record.Status, len(doc.Rows))
	for i := range doc.Rows {
		statuses[i] = doc.Rows[i].Status
	}
	j.judgeRounds()
	for i := range doc.Rows {
		j.add(&doc.Rows[i], statuses[i])
	}
	return j.setTotals(), nil
}

// Judgement is the result of judging a document again, by other limits and without
// tensors.
type Judgement struct {
	// Compared counts the rows with numbers to judge.
	Compared int
	// LeftOut counts the passing rows that the document omits. Their status under other limits is unknown.
	LeftOut int
	// UsesLevels: the evidence levels in the document are used, because the document lacks the noise of the rows.
	UsesLevels bool
	Rows       []JudgedRow
	Counts     map[record.Status]int
	// noNumbers counts the rows whose sides are both empty, or NaN everywhere. isUnproven: the run could not have
	// detected a fault.
	noNumbers  int
	isUnproven bool
	// passing counts the undecided rows that do not fail, whether or not the limits are met.
	passing int
	// lowCoverage: too few operators have a partner. noVerdict is the reason if rows have only
	// digests and cannot be judged.
	lowCoverage bool
	noVerdict   lang.Sentence
}

// JudgedRow is a row of a Judgement.
type JudgedRow struct {
	Op     string
	Kind   string
	Output int
	Round  string
	// OldStatus is the status in the document, Status the new one.
	OldStatus, Status record.Status
	Limits            record.Limits
	Total             int64
	// Errors is the number of error elements, nil if the document does not determine it.
	Errors  *int64
	Reasons []finding.Finding
	// statusIfPassing is the status if the number of errors stays within the allowed share.
	statusIfPassing record.Status
	// passes: the row is undecided, but does not fail whether or not the limits are met.
	passes bool
}

// Name returns the name of the row, like Row.Name.
func (r *JudgedRow) Name() string {
	return (&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}).Name()
}

// judgeState is the state of Judge.
type judgeState struct {
	*Judgement
	opt     *limits.Options
	config  *sidefile.OpConfig
	doc     *record.Report
	docMode metrics.Mode
	// docMode is the tolerance mode of the document, mode the verdict mode of the new judgement. evidence: both the
	// document and the options have the mode evidence. facts: rows have the noise that a judgement by evidence needs.
	mode            limits.VerdictMode
	evidence, facts bool
}

// judgeRounds judges the rounds again if the document is complete and has the facts.
func (j *judgeState) judgeRounds() {
	whole := j.doc.LeftOut == 0 && !j.doc.Interrupted
	j.facts = whole && j.doc.Listed != nil && j.doc.HasRow(func(row *record.Row) bool { return row.Noise != nil })
	if j.evidence && j.facts || j.mode == limits.ByStatistics && whole {
		var o Options
		o.Judge.Verdict = limits.Verdict{Mode: j.mode, NaN: limits.NaNPolicy(j.doc.NaNPolicy)}
		o.judgeRounds(j.doc)
	}
}

// add judges a row again. Its status in the document was was.
func (j *judgeState) add(row *record.Row, was record.Status) {
	r := JudgedRow{Op: row.Op, Kind: row.Kind, Output: row.Output, Round: row.Round, OldStatus: was, Status: row.Status}
	if row.IsJudged() { // includes rows with statistics, which no limits change
		j.Compared++
		if !row.HasNumbers() {
			j.noNumbers++
		}
	}
	if row.IsCompared() {
		var operator sidefile.OpLimits
		if j.config != nil {
			operator, _ = j.config.Find(row.Op)
		}
		r.Limits = j.opt.Limits.Limits(row.RefDType, row.NPUDType, operator.Atol, operator.Rtol)
		rejudged := j.opt.Rejudge(row, j.docMode, &r.Limits)
		r.Status, r.Errors, r.Reasons, r.statusIfPassing, r.Total = rejudged.Status, rejudged.Errors, rejudged.Reasons, rejudged.PassStatus, row.Result.Total
		if j.evidence {
			r.applyEvidence(row)
		}
	}
	j.Counts[r.Status]++
	if r.passes {
		j.passing++
	}
	j.Rows = append(j.Rows, r)
}

// setTotals sets the totals, including the rows that the document leaves out.
func (j *judgeState) setTotals() *Judgement {
	j.UsesLevels = j.evidence && !j.facts
	if j.mode == limits.ByStatistics {
		j.lowCoverage, j.noVerdict = j.doc.LowCoverage(), j.doc.Meaning.NoVerdict
	}
	j.isUnproven = j.evidence && j.doc.Meaning.CannotShowFault()
	if n := j.doc.LeftOut; n > 0 { // all of these rows passed
		j.noNumbers = max(j.noNumbers, j.doc.Meaning.NoNumbers)
		j.LeftOut, j.Compared = n, j.Compared+n
		if j.evidence {
			j.Counts[record.Pass] += n
		} else {
			j.Counts[limits.Undecided] += n
		}
	}
	return j.Judgement
}

// NoVerdict returns why the rows cannot be judged, zero if they can.
func (j *Judgement) NoVerdict() lang.Sentence {
	if j.Compared > 0 && j.noNumbers >= j.Compared {
		return lang.Say("all compared tensors are empty, or NaN everywhere on both sides")
	}
	return j.noVerdict
}

// Outcome returns the outcome for a file. Rows that the run could not read have priority;
// exitZero suppresses failures.
func (j *Judgement) Outcome(file string, exitZero bool) batch.Outcome {
	bad := j.Counts[record.Fail] + j.Counts[limits.Undecided] - j.passing + j.Counts[record.ShapeMismatch] + j.Counts[record.DTypeMismatch] + j.Counts[record.Ambiguous]
	switch unread := j.Counts[record.Error]; {
	case unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read when the run was made", lang.CountText(unread, "tensor"))
	case bad > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d rows failed or are undecided", bad, len(j.Rows)+j.LeftOut).AsShown()
	case j.Compared == 0:
		return batch.Outcomef(batch.Nothing, "%s has no row that was compared", file)
	case !j.NoVerdict().IsZero():
		return batch.Outcomef(batch.Nothing, "no verdict: %s", j.NoVerdict())
	case j.lowCoverage:
		return batch.Outcomef(batch.NotCovered, "%s has few operators with a partner", file)
	case j.isUnproven:
		return batch.Outcomef(batch.NotCovered, "the comparison proves nothing: %s", file)
	}
	return batch.Outcome{}
}

// applyEvidence sets the status of a row from its evidence and its status under the new limits. If the limits leave the
// row undecided, it stays UNDECIDED unless the evidence gives the same status whether or not the limits are met.
func (r *JudgedRow) applyEvidence(row *record.Row) {
	if row.Evidence == nil {
		return
	}
	byLimits, isOpen := r.Status, r.Status == limits.Undecided
	if isOpen {
		byLimits = record.Fail
	}
	statusFor := func(status record.Status) record.Status {
		return row.Evidence.Status(status, row, finding.Has(r.Reasons, finding.Gate) || status == record.Fail && finding.Has(r.Reasons, finding.NPUNaN))
	}
	r.Status = statusFor(byLimits)
	if isOpen && statusFor(r.statusIfPassing) != r.Status {
		r.passes = r.Status != record.Fail
		r.Status = limits.Undecided
	}
	if r.Status == record.Fail || r.Status != byLimits {
		r.Reasons = finding.Merge(r.Reasons, row.Reasons)
	}
}
