package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// Required is the least share and the least number of tensors of the reference that
// have to be compared; Text is how the user wrote it.
type Required struct {
	Share   float64
	Tensors int
	Text    string
}

// ParseRequired reads all, a share such as 0.9 or 90%, or a number of tensors from 2.
// An empty text asks for nothing.
func ParseRequired(text string) (r Required, ok bool) {
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

// Outcome is how a comparison ended: what could not be read, then failures, then
// coverage.
func (o *Options) Outcome(rep *record.Report) batch.Outcome {
	failOn := o.FailOn
	if !anyPaired(rep) { // what has several partners is no failure of anything
		failOn = slices.DeleteFunc(slices.Clone(failOn), func(s record.Status) bool { return s == record.Ambiguous })
	}
	failed, compared := failures(rep, failOn), 0
	for i := range rep.Rows {
		if rep.Rows[i].Compared() {
			compared++
		}
	}
	c, want := &rep.Coverage, &o.Coverage
	switch n := rep.Counts[record.Error]; {
	case n > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d of %d others failed", lang.Count(n, "tensor"), failed, len(rep.Rows)-n)
	case slices.ContainsFunc(o.SideFiles.Problems, func(e *sidefile.FileError) bool { return e.Given }):
		return batch.Outcomef(batch.Incomplete, "a file about operators could not be read, %d of %s failed", failed, lang.Count(len(rep.Rows), "tensor"))
	case failed > 0 && !o.ExitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors failed", failed, len(rep.Rows)).AsShown()
	case rep.Baseline != nil && len(rep.Baseline.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s of the baseline missing, such as %s", lang.Count(len(rep.Baseline.Missing), "tensor"), rep.Baseline.Missing[0])
	case c.Reference > 0 && c.Ratio() < want.Share, want.Share > 0 && compared == 0, c.Compared < want.Tensors:
		return batch.Outcomef(batch.NotCovered, "compared %d of %s of the reference, want %s", c.Compared, lang.Count(c.Reference, "tensor"), want.Text)
	case compared == 0:
		return nothingCompared(rep, o.Pair.Rounds)
	}
	return batch.Outcome{}
}

// nothingCompared is the outcome of a run without a pair. Where both sides have
// tensors their names differ.
func nothingCompared(rep *record.Report, rounds Rounds) batch.Outcome {
	c := &rep.Coverage
	skipped, ambiguous := rep.Counts[record.Skip], rep.Counts[record.Ambiguous]
	left := fmt.Sprintf("%s in the reference, %d in the NPU run only", lang.Count(c.Reference, "tensor"), len(c.NPUOnly))
	if ambiguous > 0 {
		left += fmt.Sprintf(", %d AMBIGUOUS", ambiguous)
	}
	nothing := func(format string, args ...any) batch.Outcome {
		return batch.Outcomef(batch.Nothing, "nothing was compared: "+format, args...)
	}
	switch {
	case ambiguous > 0 && ambiguous+skipped == len(rep.Rows):
		o := nothing("%s AMBIGUOUS: each has several partners", tensorsAre(ambiguous))
		o.Hint = "--map-node-dict says which operators belong together"
		return o
	case len(c.RefOnly) > 0 && len(c.NPUOnly) > 0:
		o := nothing("%s", left)
		o.Hint = fmt.Sprintf("--map-node-dict pairs names that differ, such as %s and %s", c.RefOnly[0], c.NPUOnly[0])
		return o
	case skipped > 0 && skipped == len(rep.Rows):
		return nothing("all that was found was skipped (%s; --skip-keys, --exclude-node-list)", lang.Count(skipped, "tensor"))
	case skipped > 0:
		return nothing("%s skipped, %s", lang.Count(skipped, "tensor"), left)
	case len(rep.Rows) == 0 && rounds != (Rounds{}):
		return nothing("--round %s leaves no tensor", rounds)
	case len(rep.Rows) == 0 && len(c.Rounds) > 0:
		o := nothing("no round of one side is one of the other: %s", c.Rounds[0])
		o.Hint = "--ref-rank, --npu-rank and the like choose one round of each side, whatever they are called"
		return o
	}
	return nothing("%s", left)
}

// failures counts the rows that fail: with a baseline those that are new or
// worse.
func failures(rep *record.Report, failOn []record.Status) int {
	n := 0
	for i := range rep.Rows {
		if slices.Contains(failOn, rep.Rows[i].Status) && !rep.Rows[i].Known {
			n++
		}
	}
	return n
}

func tensorsAre(n int) string {
	if n == 1 {
		return "the only tensor is"
	}
	return fmt.Sprintf("all %d tensors are", n)
}
