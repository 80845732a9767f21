package conclude

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// OutcomeOptions say when the command fails.
type OutcomeOptions struct {
	// ExitZero suppresses failures in the outcome. Coverage is the required coverage of the
	// reference.
	ExitZero bool
	Coverage RequiredCoverage
}

// RequiredCoverage is the minimum share and the minimum number of reference tensors to compare; Text is
// the user's text.
type RequiredCoverage struct {
	Share   float64
	Tensors int
	Text    string
}

// ParseRequired parses "all", a share such as 0.9 or 90%, or a number of tensors from 2 on.
// Empty means no requirement.
func ParseRequired(text string) (r RequiredCoverage, ok bool) {
	r.Text = text
	plain := strings.TrimSpace(strings.ToLower(text))
	number, percent := strings.CutSuffix(plain, "%")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case plain == "":
	case plain == "all":
		r.Share = 1
	case err != nil:
		return r, false
	case percent && v >= 0 && v <= 100:
		r.Share = v / 100
	case !percent && v >= 0 && v <= 1:
		r.Share = v
	case !percent && v == float64(int32(v)) && v > 1:
		r.Tensors = int(v)
	default:
		return r, false
	}
	return r, true
}

// Outcome returns the outcome by priority: unreadable tensors, failures,
// coverage.
func (o *Options) Outcome(rep *record.Report) batch.Outcome {
	failOn := o.FailOn
	if !hasPairs(rep) { // ambiguous tensors are no failures if there is no pair at all
		failOn = slices.DeleteFunc(slices.Clone(failOn), func(s record.Status) bool { return s == record.Ambiguous })
	}
	failed, compared, crashed := countFailures(rep, failOn), 0, 0
	for _, row := range rep.AllRows() {
		if row.Self.IsCrashed() {
			crashed++
		}
		if row.IsJudged() {
			compared++
		}
	}
	c, want := &rep.Coverage, &o.Coverage
	switch n := rep.Counts[record.Error]; {
	case n > 0 && rep.Unfetched() > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d of them since object storage did not answer; %d of %d others failed", lang.CountText(n, "tensor"), rep.Unfetched(), failed, rep.Len()-n).
			WithHint("the same command line with --resume repeats only these")
	case n > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read%s, %d of %d others failed", lang.CountText(n, "tensor"), firstUnreadText(rep), failed, rep.Len()-n)
	case slices.ContainsFunc(o.SideFiles.Problems, func(e *sidefile.FileError) bool { return e.Given }):
		return batch.Outcomef(batch.Incomplete, "a file about operators could not be read, %d of %s failed", failed, lang.CountText(rep.Len(), "tensor"))
	case crashed > 0:
		return batch.Outcomef(batch.Incomplete, "internal error while computing again: %s (please report), %d of %d tensors failed",
			lang.CountText(crashed, "output"), failed, rep.Len())
	case failed > 0 && !o.ExitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors failed", failed, rep.Len()).AsShown()
	case countRankFindings(rep) > 0 && !o.ExitZero:
		return batch.Outcomef(batch.Found, "%d findings between ranks", countRankFindings(rep)).AsShown()
	case rep.Baseline != nil && len(rep.Baseline.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s of the baseline missing, such as %s", lang.CountText(len(rep.Baseline.Missing), "tensor"), rep.Baseline.Missing[0])
	case c.Reference > 0 && c.Ratio() < want.Share, want.Share > 0 && compared == 0, c.Compared < want.Tensors:
		return batch.Outcomef(batch.NotCovered, "compared %d of %s of the reference, want %s", c.Compared, lang.CountText(c.Reference, "tensor"), want.Text)
	case compared == 0:
		return NothingCompared(rep, o.Pair.Rounds)
	case !rep.Meaning.NoVerdict.IsZero():
		return batch.Outcomef(batch.Nothing, "no verdict: %s", rep.Meaning.NoVerdict).AsShown()
	case rep.LowCoverage() && want.Text == "":
		operators := rep.Meaning.Operators
		return batch.Outcomef(batch.NotCovered, "%d of %d operators have a partner (--require-coverage 0 allows it)", operators.Compared, min(operators.Reference, operators.NPU)).AsShown()
	case rep.Meaning.CannotShowFault() && want.Text == "":
		return batch.Outcomef(batch.NotCovered, "the comparison proves nothing (--require-coverage 0 allows it)").AsShown()
	}
	return batch.Outcome{}
}

// firstUnreadText names the file of the first tensor that could not be read, in brackets; empty in documents.
func firstUnreadText(rep *record.Report) lang.Sentence {
	for _, row := range rep.AllRows() {
		if row.Status == record.Error && row.Err != nil {
			return lang.Say(" (%s)", lang.Error(row.Err))
		}
	}
	return lang.Sentence{}
}

// comparedNames limits the search for the nearest name.
const comparedNames = 300

// NothingCompared is the outcome of a run without a pair; it says why, for example that the names of both sides differ.
func NothingCompared(rep *record.Report, rounds plan.Rounds) batch.Outcome {
	c := &rep.Coverage
	skipped, ambiguous := rep.Counts[record.Skip], rep.Counts[record.Ambiguous]
	unpaired := lang.Say("%s in the reference, %d in the NPU run only", lang.CountText(c.Reference, "tensor"), len(c.NPUOnly))
	if ambiguous > 0 {
		unpaired = lang.Say("%s, %d AMBIGUOUS", unpaired, ambiguous)
	}
	nothing := func(why lang.Sentence) batch.Outcome {
		return batch.Outcomef(batch.Nothing, "nothing was compared: %s", why)
	}
	nothingf := func(en string, args ...any) batch.Outcome { return nothing(lang.Say(en, args...)) }
	switch {
	case ambiguous > 0 && ambiguous+skipped == rep.Len():
		return nothingf("%s AMBIGUOUS: each has several partners", tensorsAreText(ambiguous)).
			WithHint("--map-node-dict pairs the operators")
	case len(c.RefOnly) > 0 && len(c.NPUOnly) > 0:
		near := slices.MinFunc(c.NPUOnly[:min(len(c.NPUOnly), comparedNames)], func(a, b string) int { return lang.Distance(c.RefOnly[0], a) - lang.Distance(c.RefOnly[0], b) })
		return nothing(unpaired).WithHint("--map-node-dict pairs names that differ, such as %s and %s", c.RefOnly[0], near)
	case rep.Standard != "" && skipped > 0:
		return nothingf("the standard %s could be applied to none of %s", rep.Standard, lang.CountText(rep.Len(), "tensor"))
	case skipped > 0 && skipped == rep.Len():
		return nothingf("all tensors were skipped (%s; --skip-keys, --exclude-node-list)", lang.CountText(skipped, "tensor"))
	case skipped > 0:
		return nothingf("%s skipped, %s", lang.CountText(skipped, "tensor"), unpaired)
	case rep.Len() == 0 && rounds != (plan.Rounds{}):
		return nothingf("--round %s selects no tensor", rounds)
	case rep.Len() == 0 && len(c.Rounds) > 0:
		return nothingf("the two sides have no round in common: %s", c.Rounds[0]).
			WithHint("--ref-rank, --npu-rank and similar flags choose one round of each side; their numbers may differ")
	}
	return nothing(unpaired)
}

// countFailures counts the failing rows that no other failure damaged; with a baseline only new failures and worse ones.
func countFailures(rep *record.Report, failOn []record.Status) int {
	n := 0
	for _, row := range rep.AllRows() {
		fails := slices.Contains(failOn, row.Status) || row.Common != nil && slices.Contains(failOn, record.Rows)
		if fails && !row.Known && !row.Downstream {
			n++
		}
	}
	return n
}

func tensorsAreText(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "the only tensor is"}
	}
	return lang.Say("all %d tensors are", n).Text()
}
