package compare

import (
	"io"
	"math"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
)

// Undecided is the status of a row when the numbers in the document do not tell what it is by
// other limits: it has to be compared again.
const Undecided record.Status = "UNDECIDED"

// Judgement is a run that was judged again, by other limits and without its
// tensors.
type Judgement struct {
	// Compared counts the rows that have numbers to be judged by.
	Compared int
	// LeftOut counts the rows that passed and are not in the document: by other limits
	// nobody knows what they are.
	LeftOut int
	// ByLevels is set where the evidence is taken from the run, since the document lacks the
	// noise of the rows.
	ByLevels bool
	Rows     []JudgedRow
	Counts   map[record.Status]int
	// noNumbers counts the rows of which both sides are empty, or NaN everywhere; unproven is set
	// where the run proved nothing.
	noNumbers int
	unproven  bool
	// passing counts the undecided rows that do not fail either way.
	passing int
	// few is set where too few operators have a partner, noVerdict says why nothing can be
	// said of rows of which only digests are known.
	few       bool
	noVerdict lang.Sentence
}

// JudgedRow is a row of a Judgement.
type JudgedRow struct {
	Op     string
	Kind   string
	Output int
	Round  string
	// Was is the status in the document, Status the one by the new limits.
	Was, Status record.Status
	Limits      record.Limits
	Total       int64
	// Errors is the number of error elements, nil where the document does not tell.
	Errors  *int64
	Reasons []finding.Finding
	// within is the status that the row has if no more elements are errors than may be.
	within record.Status
	// passes is set where a row that is undecided does not fail either way.
	passes bool
}

// Name names the row as Row.Name does.
func (r *JudgedRow) Name() string {
	return (&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}).Name()
}

// judging judges a document.
type judging struct {
	*Judgement
	opt    *JudgeOptions
	config *sidefile.OpConfig
	doc    *record.Report
	was    metrics.Mode
	// mode is what the rows are judged by. evidence is set where the document and the options
	// have the mode evidence, facts where rows have the noise that it needs.
	mode            VerdictMode
	evidence, facts bool
}

// JudgeFile judges the compare.json at a path, see Judge. Errors name the path.
func JudgeFile(path string, opt *JudgeOptions, config *sidefile.OpConfig) (doc *record.Report, j *Judgement, err error) {
	err = readDocument(path, func(in io.Reader) error {
		if doc, err = record.Read(in); err != nil {
			return err
		}
		j, err = Judge(doc, opt, config)
		return err
	})
	return doc, j, err
}

// Judge judges a document by evidence, as the run that wrote it did, or by other limits, and
// sets the verdicts of its rows. The margin of a row and the smallest atol and rtol that pass
// all of its pairs decide; a row that they leave open is Undecided. config gives the limits of
// operators, nil for none.
func Judge(doc *record.Report, opt *JudgeOptions, config *sidefile.OpConfig) (*Judgement, error) {
	j := &judging{Judgement: &Judgement{Counts: map[record.Status]int{}}, opt: opt, config: config, doc: doc, mode: opt.Verdict.Mode}
	var ok bool
	if j.was, ok = tolMode(doc.TolMode); !ok {
		return nil, lang.Errorf("tol_mode is %q, want one of %s", doc.TolMode, strings.Join(TolModes(), ", "))
	}
	// A document that was written before there was evidence goes by limits.
	if j.mode == ByEvidence && doc.Verdict == string(ByStatistics) {
		j.mode = ByStatistics
	}
	j.evidence = j.mode == ByEvidence && doc.Verdict != ""
	was := make([]record.Status, len(doc.Rows))
	for i := range doc.Rows {
		was[i] = doc.Rows[i].Status
	}
	j.judgeRounds()
	for i := range doc.Rows {
		j.add(&doc.Rows[i], was[i])
	}
	return j.finish(), nil
}

// judgeRounds judges the rounds of a whole document again, with the facts of its rows.
func (j *judging) judgeRounds() {
	whole := j.doc.LeftOut == 0 && !j.doc.Interrupted
	j.facts = whole && j.doc.Listed != nil && j.doc.Any(func(row *record.Row) bool { return row.Noise != nil })
	if j.evidence && j.facts || j.mode == ByStatistics && whole {
		var o Options
		o.Judge.Verdict = VerdictOptions{Mode: j.mode, NaN: NaNPolicy(j.doc.NaNPolicy)}
		o.judgeRounds(j.doc)
	}
}

// add judges a row that has a status in the document.
func (j *judging) add(row *record.Row, was record.Status) {
	r := JudgedRow{Op: row.Op, Kind: row.Kind, Output: row.Output, Round: row.Round, Was: was, Status: row.Status}
	if row.Judged() { // statistics have no other limits
		j.Compared++
		if !row.HasNumbers() {
			j.noNumbers++
		}
	}
	if row.Compared() {
		var own sidefile.OpLimits
		if j.config != nil {
			own, _ = j.config.Find(row.Op)
		}
		r.Limits = j.opt.Limits.limits(row.RefDType, row.NPUDType, own.Atol, own.Rtol)
		judgeRow(&r, row, j.was, j.opt)
		if j.evidence {
			r.byEvidence(row)
		}
	}
	j.Counts[r.Status]++
	if r.passes {
		j.passing++
	}
	j.Rows = append(j.Rows, r)
}

// finish adds the rows that the document leaves out.
func (j *judging) finish() *Judgement {
	j.ByLevels = j.evidence && !j.facts
	if j.mode == ByStatistics {
		j.few, j.noVerdict = j.doc.LowCoverage(), j.doc.Meaning.NoVerdict
	}
	j.unproven = j.evidence && j.doc.Meaning.Unproven()
	if n := j.doc.LeftOut; n > 0 { // they passed by what the document was judged by
		j.noNumbers = max(j.noNumbers, j.doc.Meaning.NoNumbers)
		j.LeftOut, j.Compared = n, j.Compared+n
		if j.evidence {
			j.Counts[record.Pass] += n
		} else {
			j.Counts[Undecided] += n
		}
	}
	return j.Judgement
}

// DocumentName is the document of a comparison.
const DocumentName = "compare.json"

// ReadReport reads the compare.json of a run, or that in a folder. Errors name it.
func ReadReport(path string) (rep *record.Report, err error) {
	err = readDocument(path, func(in io.Reader) error {
		rep, err = record.Read(in)
		return err
	})
	return rep, err
}

// documentAt is the compare.json at a path, or in the folder there.
func documentAt(path string) string { return safefile.InFolder(path, DocumentName) }

// readDocument reads the compare.json at a path, or in the folder there. Errors name it.
func readDocument(path string, read func(io.Reader) error) error {
	path = documentAt(path)
	f, err := shard.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return safefile.WithPath(path, err)
	}
	return nil
}

// NoVerdict says why nothing can be said of the rows, zero where something can.
func (j *Judgement) NoVerdict() lang.Sentence {
	if j.Compared > 0 && j.noNumbers >= j.Compared {
		return lang.Sayf("all that was compared is empty, or NaN everywhere on both sides", "比对的张量均为空，或两侧全为 NaN")
	}
	return j.noVerdict
}

// Outcome is how the judgement of a file ended. Rows that could not be read when the
// run was made come first; exitZero keeps failures from the outcome.
func (j *Judgement) Outcome(file string, exitZero bool) batch.Outcome {
	bad := j.Counts[record.Fail] + j.Counts[Undecided] - j.passing + j.Counts[record.ShapeMismatch] + j.Counts[record.DTypeMismatch] + j.Counts[record.Ambiguous]
	switch unread := j.Counts[record.Error]; {
	case unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read when the run was made", "比对时 %s无法读取", lang.CountText(unread, "tensor", "个张量"))
	case bad > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d rows failed or are undecided", "%[2]d 行中 %[1]d 行失败或无法判定", bad, len(j.Rows)+j.LeftOut).AsShown()
	case j.Compared == 0:
		return batch.Outcomef(batch.Nothing, "%s has no row that was compared", "%s 中没有比对过的行", file)
	case !j.NoVerdict().IsZero():
		return batch.Outcomef(batch.Nothing, "no verdict: %s", "无法判定：%s", j.NoVerdict())
	case j.few:
		return batch.Outcomef(batch.NotCovered, "%s has few operators with a partner", "%s 中有对应的算子过少", file)
	case j.unproven:
		return batch.Outcomef(batch.NotCovered, "what was compared proves nothing: %s", "比对的内容不足以证明任何结论：%s", file)
	}
	return batch.Outcome{}
}

// TolModes are the names of the tolerance modes, in the order of metrics.Mode.
func TolModes() []string { return []string{"isclose", "both-exceeded", "either-exceeded"} }

func tolMode(name string) (metrics.Mode, bool) {
	i := slices.Index(TolModes(), name)
	return metrics.Mode(max(i, 0)), i >= 0
}

// judgeRow judges a compared row.
func judgeRow(r *JudgedRow, row *record.Row, was metrics.Mode, opt *JudgeOptions) {
	res := row.Result
	f := factsOf(res)
	r.Total = f.total
	least, most := opt.errorRange(res, f, limitsOf(&row.Limits, was), limitsOf(&r.Limits, opt.Mode))
	if least == most {
		r.Errors = &least
	}
	whole, highest := opt.Verdict.judged(f), opt.Verdict.MaxErrorRatio
	if r.Reasons = opt.Verdict.broken(f); len(r.Reasons) > 0 || opt.Verdict.classes() && f.mismatch > 0 || record.Share(least, whole) > highest {
		r.Status, r.Reasons = record.Fail, append(r.Reasons, opt.Verdict.replaced(res)...)
		return
	}
	warnings := opt.Verdict.warnings(f)
	if row.Evidence != nil && row.Evidence.BiasOfInputs {
		warnings = finding.Without(warnings, finding.Bias)
	}
	switch r.within = record.Pass; {
	case row.Partial:
		r.within = record.Partial
	case len(warnings) > 0 || row.Forced:
		r.within = record.Warn
	}
	if record.Share(most, whole) > highest {
		r.Status, r.Reasons = Undecided, opt.Verdict.replaced(res)
		return
	}
	r.Status, r.Reasons = r.within, warnings
}

// byEvidence sets the status of a row from its evidence and its status by the new limits. Where
// the limits leave the row open it is UNDECIDED, unless the evidence gives one status whether
// the row is within the limits or not.
func (r *JudgedRow) byEvidence(row *record.Row) {
	if row.Evidence == nil {
		return
	}
	limits, open := r.Status, r.Status == Undecided
	if open {
		limits = record.Fail
	}
	by := func(limits record.Status) record.Status {
		return row.Evidence.Status(limits, row, finding.Has(r.Reasons, finding.Gate) || limits == record.Fail && finding.Has(r.Reasons, finding.NPUNaN))
	}
	r.Status = by(limits)
	if open && by(r.within) != r.Status {
		r.passes = r.Status != record.Fail
		r.Status = Undecided
	}
	if r.Status == record.Fail || r.Status != limits {
		r.Reasons = finding.Merge(r.Reasons, row.Reasons)
	}
}

// limitsOf returns the limits of a row in a mode.
func limitsOf(l *record.Limits, mode metrics.Mode) metrics.Limits {
	return metrics.Limits{Atol: l.Atol, Rtol: l.Rtol, Mode: mode}
}

// errorRange returns the least and the largest number of errors that a row compared with the
// limits was may have by the limits now.
func (o *JudgeOptions) errorRange(res *metrics.Result, f *facts, was, now metrics.Limits) (least, most int64) {
	least, most = finiteErrors(res, was, now)
	switch {
	case o.Verdict.classes():
		return least + f.mismatch, most + f.mismatch
	case o.Verdict.NaN == NaNHPAA && was == now:
		return res.HPAA.Count, res.HPAA.Count
	case o.Verdict.NaN == NaNHPAA:
		return least, most + f.mismatch // what the replacement makes of them depends on the limits
	}
	return least, most
}

// finiteErrors is errorRange for the pairs that are finite on both sides.
func finiteErrors(res *metrics.Result, was, now metrics.Limits) (least, most int64) {
	errors := res.Beyond.Count
	switch {
	case was == now:
		return errors, errors
	case res.Passes(now):
		return 0, 0
	case was.Mode != now.Mode:
		return 0, res.BothFinite()
	}
	least, most = 0, res.BothFinite()
	if now.Atol >= was.Atol && now.Rtol >= was.Rtol {
		most = errors
	}
	if now.Atol <= was.Atol && now.Rtol <= was.Rtol {
		least = errors
	}
	for _, a := range []answer{
		byMargin(res.Margin, was, now),
		bySmallest(res.MinRtol, now.Rtol, now.Atol, was.Atol),
		bySmallest(res.MinAtol, now.Atol, now.Rtol, was.Rtol),
	} {
		if a.passes {
			return 0, 0
		}
		if a.fails {
			least = max(least, 1)
		}
	}
	return least, max(least, most)
}

// answer says that all pairs pass limits, or that one does not; neither where it is not known.
type answer struct{ passes, fails bool }

// bySmallest judges limits by smallest, the smallest value of limit that passes all pairs while
// the other limit is was.
func bySmallest(smallest metrics.Metric, limit, other, was float64) answer {
	v := smallest.Value()
	if !smallest.Defined() || math.IsNaN(v) {
		return answer{}
	}
	return answer{passes: limit >= v && other >= was, fails: limit < v && other <= was}
}

// byMargin judges by the largest |d|/limit: limits that are more than margin times the earlier
// ones pass all pairs, limits that are less do not.
func byMargin(margin metrics.Metric, was, now metrics.Limits) answer {
	const slack = 1 + 0x1p-40 // more than the roundings of limits and quotients
	m := margin.Value()
	if !margin.Defined() || math.IsNaN(m) {
		return answer{}
	}
	least, most := math.Inf(1), 0.0 // times the earlier limits
	for _, l := range [][2]float64{{was.Atol, now.Atol}, {was.Rtol, now.Rtol}} {
		switch {
		case l[0] > 0:
			least, most = min(least, l[1]/l[0]), max(most, l[1]/l[0])
		case l[1] > 0:
			most = math.Inf(1)
		}
	}
	return answer{passes: m*slack < least, fails: m > most*slack}
}
