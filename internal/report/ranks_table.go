package report

import (
	"io"
	"iter"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
)

// rankColumns are the columns of what is wrong between ranks.
func rankColumns() []Column[*ranks.Finding] {
	type row = *ranks.Finding
	return []Column[row]{
		words("step", func(f row) string { return f.Step }),
		numbers("rank", func(f row) int { return f.Rank }),
		words("kind", func(f row) string { return string(f.Kind) }),
		words("class", func(f row) string { return string(f.Class) }),
		words("confidence", func(f row) string { return string(f.Confidence) }),
		words("op", func(f row) string { return f.Op }),
		words("module", func(f row) string { return f.Module }),
		words("members", func(f row) string { return ranks.Ranges(f.Members) }),
		words("alt", func(f row) string { return ranks.Ranges(f.Alt) }),
		words("evidence", func(f row) string { return english.of(f.Evidence) }),
		words("spread_ranks", func(f row) string { return ranks.Ranges(spreadOf(f).Ranks) }),
		words("spread_steps", func(f row) string { return strings.Join(spreadOf(f).Steps, " ") }),
		numbers("spread_tensors", func(f row) int { return spreadOf(f).Tensors }),
		words("script", func(f row) string { return f.Script }),
	}
}

// spreadOf is what a finding may have damaged.
func spreadOf(f *ranks.Finding) *ranks.Spread {
	if f.Spread == nil {
		return new(ranks.Spread)
	}
	return f.Spread
}

// WriteRanksCSV writes a line for everything that is wrong between ranks.
func WriteRanksCSV(w io.Writer, r *ranks.Report) error {
	return Table[*ranks.Finding]{rankColumns(), r.Findings}.CSV(w)
}

// The tables of what is wrong between ranks, which stand beside those of the rows.
const (
	checkRanksFile   = "check_ranks.csv"
	compareRanksFile = "compare_ranks.csv"
)

// writeRanksBeside writes what is wrong between ranks as a table of its own, where ranks were
// judged.
func writeRanksBeside(folder *Folder, name string, r *ranks.Report) error {
	if r == nil {
		return nil
	}
	return folder.Write(name, func(w io.Writer) error { return WriteRanksCSV(w, r) })
}

// rankCases are the findings between ranks as test cases, which fail; those of low confidence
// are skipped. They are counted in the suite.
func rankCases(r *ranks.Report, suite *junitCounts) (all []junitCase) {
	if r == nil {
		return nil
	}
	for _, f := range r.Findings {
		c := junitCase{Class: "ranks", Name: escapeLines("step " + f.Step + " rank " + ranks.Ranges([]int{f.Rank}) + ": " + f.Op)}
		why := &junitOutcome{Message: escapeLines(english.of(lang.Sayf("%s: %s", "%s：%s", f.Headline(), f.Evidence))), Type: string(f.Kind)}
		suite.Tests++
		if f.Weight() == weakFinding {
			why.Type = ""
			c.Skipped = why
			suite.Skipped++
		} else {
			c.Failure = why
			suite.Failures++
		}
		all = append(all, c)
	}
	return all
}

// weakFinding is the weight of findings of low confidence.
const weakFinding = "weak"

// before puts test cases in front of others.
func before(first []junitCase, rest iter.Seq[junitCase]) iter.Seq[junitCase] {
	return func(yield func(junitCase) bool) {
		for _, c := range first {
			if !yield(c) {
				return
			}
		}
		rest(yield)
	}
}

// rankPlaces are the findings between ranks whose call has a line in a script. The first is an
// error, the others too unless they are weak.
func rankPlaces(r *ranks.Report) (all []place) {
	if r == nil {
		return nil
	}
	for _, f := range r.Findings {
		if f.Script == "" {
			continue
		}
		p := place{rule: string(f.Kind), about: ranks.MeaningOf(f.Kind).Short.EN, level: levelError, title: f.Op, key: f.Op + " step " + f.Step + " rank " + ranks.Ranges([]int{f.Rank})}
		if f.Weight() == weakFinding {
			p.level = levelWarning
		}
		p.setFile(f.Script, "")
		p.text = english.of(lang.Sayf("%s: %s", "%s：%s", f.Headline(), f.Evidence))
		all = append(all, p)
	}
	return all
}

// placesOfCheck are what is wrong between ranks, then the operators that computed wrong.
func placesOfCheck(r *check.Report) []place {
	all := rankPlaces(r.Ranks)
	for i := range r.Operators {
		o := &r.Operators[i]
		p := place{rule: string(o.Status), about: "operator " + strings.ToLower(string(o.Status)), title: o.Op, key: o.Op + " " + o.At.String()}
		switch o.Status {
		case recompute.Wrong:
			p.level = levelError
		case recompute.Misfit:
			p.level = levelWarning
		default:
			continue
		}
		p.setFile(o.Script, o.File)
		p.text = o.Op + ": " + string(o.Status) + "; " + english.of(r.Reason(o))
		all = append(all, p)
	}
	return all
}

// placesOfCompare are what is wrong between ranks, then the rows that did not pass.
func placesOfCompare(r *record.Report) []place {
	return append(rankPlaces(ranksOf(r)), comparePlaces(r)...)
}
