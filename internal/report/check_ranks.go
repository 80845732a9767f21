package report

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
	"dumptool/internal/trace"
)

// shownFindings limits the findings between ranks that the text lists beside the first,
// shownReasons the reasons why events were not checked.
const (
	shownFindings = 20
	shownReasons  = 4
)

// printRanks prints the findings between ranks, whose dumps lie at paths: the first finding with the
// tensors that it may have damaged, the other findings, the coverage, and the matrix of ranks and
// layers.
func (p *printer) printRanks(r *ranks.Report, paths []string) {
	p.writeBlankLine()
	var facts factList
	if len(r.Findings) > 0 {
		f := r.Findings[0]
		facts.add(p.format("First wrong"), p.findingLines(f, paths)...)
		if s := f.Spread; s != nil && s.Tensors > 0 {
			facts.add(p.format("Spread"), p.join(p.format("%s of %s", lang.CountText(s.Tensors, "tensor"), trace.RankText(s.Ranks)), p.rangesText(s.Steps, "step")))
		}
		facts.add(p.format("Others"), firstLines(p.Text, joinRanks(r.Findings[1:]), shownFindings, p.findingLine)...)
	}
	facts.add(p.format("Ranks"), p.meshText(r))
	if r.HasChecks() || r.Events.Skipped > 0 { // not for a shard
		facts.add(p.format("Events"), p.eventsText(r))
		facts.add(p.format("Replicas"), p.format("%d sets checked, %d wrong, %d differ by rounding", r.Replicas.Sets, r.Replicas.Wrong, r.Replicas.Drift))
	}
	if l := r.Located; l != nil && l.Of > 0 {
		facts.add(p.format("Located"), p.format("%s %% of %s found in the reference by value", strconv.FormatFloat(math.Floor(1000*float64(l.Tensors)/float64(l.Of))/10, 'f', -1, 64), lang.CountText(l.Of, "tensor")))
	}
	for _, n := range r.Notes {
		facts.add(p.format("check_ranks¦Note"), p.format("%s: %s of %s, %s", n.Kind, ranks.MeaningOf(n.Kind).Short, trace.RankText(n.Ranks), lang.CountText(n.Count, "time")))
	}
	p.facts(facts)
	p.printMatrix(r.Matrix)
}

// findingLines describes a finding: the fault, its place, and the command that inspects it.
func (p *printer) findingLines(f *ranks.Finding, paths []string) []string {
	where := p.join(f.Op, withLabel("step ", f.Step), p.Lang.Text(trace.RankText(f.Members)))
	if f.Script != "" {
		where += "     " + f.Script
	}
	lines := []string{where, p.format("%s (%s confidence): %s", f.Kind, confidenceText(f.Confidence), f.Evidence.Text())}
	if advice := f.Advice(); advice.String() != "" {
		lines = append(lines, p.Lang.Text(advice))
	}
	args := append([]string{"inspect"}, lang.PathArguments(paths)...)
	args = append(args, roundFlags(strings.ReplaceAll(trace.Ranges(f.Members), ",", "|"), f.Step, f.Op)...)
	return append(lines, p.format("look at it: %s", lang.CommandLine(append(args, "--stats")...)))
}

// rankLine is a finding of several ranks and steps, with the evidence of the first.
type rankLine struct {
	*ranks.Finding
	ranks []int
	steps []string
}

// joinRanks joins the findings of one kind about one operator: the ranks of a step, then the steps of the same ranks.
func joinRanks(findings []*ranks.Finding) (lines []rankLine) {
	var bySteps []rankLine
	for _, f := range findings {
		i := slices.IndexFunc(bySteps, func(l rankLine) bool { return l.Step == f.Step && l.Kind == f.Kind && l.Op == f.Op })
		if i < 0 {
			i = len(bySteps)
			bySteps = append(bySteps, rankLine{Finding: f})
		}
		bySteps[i].ranks = append(bySteps[i].ranks, f.Rank)
	}
	for _, f := range bySteps {
		i := slices.IndexFunc(lines, func(l rankLine) bool { return l.Kind == f.Kind && l.Op == f.Op && slices.Equal(l.ranks, f.ranks) })
		if i < 0 {
			i = len(lines)
			lines = append(lines, f)
		}
		lines[i].steps = append(lines[i].steps, f.Step)
	}
	return lines
}

// findingLine describes a finding in one line.
func (p *printer) findingLine(f rankLine) string {
	return strings.TrimSpace(p.format("%s %s %s %s: %s", p.rangesText(f.steps, "step"), trace.RankText(f.ranks), f.Kind, f.Op, f.Evidence.Text()))
}

// meshText describes the numbers of ranks and steps, and the groups.
func (p *printer) meshText(r *ranks.Report) string {
	text := strconv.Itoa(r.World)
	if len(r.Mesh) > 0 {
		source := ranks.FromMesh
		if r.Mesh[0].Name == "" && len(r.Groups) > 0 {
			source = r.Groups[0].Source
		}
		text += p.format(": %s, from %s", ranks.AxesText(r.Mesh), source)
	}
	return text + p.format("; %s", lang.CountText(r.Steps, "step"))
}

// eventsText describes how many communications were checked, and why others were not.
func (p *printer) eventsText(r *ranks.Report) string {
	e := &r.Events
	text := p.format("%d checked, %d wrong", e.Checked, e.Wrong)
	if e.Skipped == 0 {
		return text
	}
	var why []string
	for i, reason := range e.Reasons {
		if i == shownReasons {
			why = append(why, "...")
			break
		}
		why = append(why, fmt.Sprintf("%d (%s)", reason.Count, p.Lang.Text(lang.Text{EN: reason.Text})))
	}
	return text + p.format("; %d not checked: %s", e.Skipped, strings.Join(why, ", "))
}

// Limits of the matrix of ranks and layers.
const (
	maxMatrixRows    = 64
	maxMatrixColumns = 40
)

// printMatrix prints findings by rank and layer.
func (p *printer) printMatrix(m *ranks.Matrix) {
	if m == nil {
		return
	}
	p.writeBlankLine()
	if p.markdown {
		p.paragraph("```text")
		defer p.print("```\n")
	}
	layers := m.Layers[:min(len(m.Layers), maxMatrixColumns)]
	width := len(strconv.Itoa(layers[len(layers)-1])) + 1
	head := pad(p.format("RANKS"), labelWidth)
	for _, n := range layers {
		head += pad(strconv.Itoa(n), width)
	}
	p.print(head + p.format("  step %s by layer: . clean  x origin  c communication  # spread\n", m.Step))
	for _, row := range m.Rows[:min(len(m.Rows), maxMatrixRows)] {
		line := pad(trace.Ranges(row.Ranks), labelWidth)
		for i := range layers {
			line += pad(row.Cells[i:i+1], width)
		}
		p.print(strings.TrimRight(line, " ") + "\n")
	}
}

// rankColumns returns the columns of findings between ranks.
func rankColumns() []Column[*ranks.Finding] {
	type row = *ranks.Finding
	return []Column[row]{
		textColumn("step", func(f row) string { return f.Step }),
		numberColumn("rank", func(f row) int { return f.Rank }),
		textColumn("kind", func(f row) string { return string(f.Kind) }),
		textColumn("class", func(f row) string { return string(f.Class) }),
		textColumn("confidence", func(f row) string { return string(f.Confidence) }),
		textColumn("op", func(f row) string { return f.Op }),
		textColumn("module", func(f row) string { return f.Module }),
		textColumn("members", func(f row) string { return trace.Ranges(f.Members) }),
		textColumn("alt", func(f row) string { return trace.Ranges(f.Alt) }),
		textColumn("evidence", func(f row) string { return english.sentence(f.Evidence) }),
		textColumn("spread_ranks", func(f row) string { return trace.Ranges(spreadOf(f).Ranks) }),
		textColumn("spread_steps", func(f row) string { return strings.Join(spreadOf(f).Steps, " ") }),
		numberColumn("spread_tensors", func(f row) int { return spreadOf(f).Tensors }),
		textColumn("script", func(f row) string { return f.Script }),
	}
}

// spreadOf returns the spread of a finding, never nil.
func spreadOf(f *ranks.Finding) *ranks.Spread {
	if f.Spread == nil {
		return new(ranks.Spread)
	}
	return f.Spread
}

// WriteRanksCSV writes a line for each finding between ranks.
func WriteRanksCSV(w io.Writer, r *ranks.Report) error {
	return Table[*ranks.Finding]{rankColumns(), r.Findings}.CSV(w)
}

// The tables of findings between ranks, beside the tables of rows.
const (
	checkRanksFile   = "check_ranks.csv"
	compareRanksFile = "compare_ranks.csv"
)

// writeRanksBeside writes the findings between ranks as a separate table, if ranks were judged.
func writeRanksBeside(folder *Folder, name string, r *ranks.Report) error {
	if r == nil {
		return nil
	}
	return folder.Write(name, func(w io.Writer) error { return WriteRanksCSV(w, r) })
}

// rankCases returns the findings between ranks as failing test cases, or skipped ones at low
// confidence, and counts them in the suite.
func rankCases(r *ranks.Report, suite *junitCounts) (all []junitCase) {
	if r == nil {
		return nil
	}
	for _, f := range r.Findings {
		c := junitCase{Class: "ranks", Name: escapeLines("step " + f.Step + " rank " + trace.Ranges([]int{f.Rank}) + ": " + f.Op)}
		why := &junitOutcome{Message: escapeLines(english.sentence(lang.Say("%s: %s", f.Headline(), f.Evidence))), Type: string(f.Kind)}
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

// weakFinding is the weight of findings with low confidence.
const weakFinding = "weak"

// concatenate yields the cases first, then the rest.
func concatenate(first []junitCase, rest iter.Seq[junitCase]) iter.Seq[junitCase] {
	return func(yield func(junitCase) bool) {
		for _, c := range first {
			if !yield(c) {
				return
			}
		}
		rest(yield)
	}
}

// rankPlaces returns the findings between ranks whose call has a script line. The first is an
// error, the others are errors unless they are weak.
func rankPlaces(r *ranks.Report) (all []fileFinding) {
	if r == nil {
		return nil
	}
	for _, f := range r.Findings {
		if f.Script == "" {
			continue
		}
		p := fileFinding{rule: string(f.Kind), about: ranks.MeaningOf(f.Kind).Short.String(), level: levelError, title: f.Op, key: f.Op + " step " + f.Step + " rank " + trace.Ranges([]int{f.Rank})}
		if f.Weight() == weakFinding {
			p.level = levelWarning
		}
		p.setFile(f.Script, "")
		p.text = english.sentence(lang.Say("%s: %s", f.Headline(), f.Evidence))
		all = append(all, p)
	}
	return all
}

// placesOfCheck returns the findings between ranks, then the wrong operators.
func placesOfCheck(r *check.Report) []fileFinding {
	all := rankPlaces(r.Ranks)
	for i := range r.Operators {
		o := &r.Operators[i]
		p := fileFinding{rule: string(o.Status), about: "operator " + strings.ToLower(string(o.Status)), title: o.Op, key: o.Op + " " + o.At.String()}
		switch o.Status {
		case recompute.Wrong, recompute.Crashed:
			p.level = levelError
		case recompute.Misfit:
			p.level = levelWarning
		default:
			continue
		}
		p.setFile(o.Script, o.File)
		p.text = o.Op + ": " + string(o.Status) + "; " + english.sentence(o.Explain())
		all = append(all, p)
	}
	return all
}

// placesOfCompare returns an unproven pass, the findings between ranks, then the rows that did not
// pass.
func placesOfCompare(r *record.Report) []fileFinding {
	return slices.Concat(unprovenPlace(r), rankPlaces(ranksOf(r)), comparePlaces(r))
}
