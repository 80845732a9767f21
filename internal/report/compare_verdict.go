package report

import (
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
)

// verdictOf returns the verdict of a run with doubts: compared steps that differ, and sides that
// are identical.
func verdictOf(r *record.Report) lang.Sentence {
	text := runVerdict(r)
	if f := firstOfRanks(r); f != nil {
		text = verdictOfRanks(f, text)
	}
	if differ := stepMismatch(r); !differ.IsZero() {
		text = lang.Say("%s; %s", text, differ)
	}
	if matched, of := matchedRows(r); of > 0 {
		text = lang.Say("%s; on %d of %d rows", text, matched, of)
	}
	if haveSameBits(r) {
		text = lang.Say("%s; both sides hold the same bits in every compared tensor", text)
	}
	return text
}

// ranksOf returns the findings between ranks, nil for none.
func ranksOf(r *record.Report) *ranks.Report {
	if r.Ranks == nil {
		return nil
	}
	all, err := ranks.Read(r.Ranks)
	if err != nil {
		return nil // a document of another version
	}
	return all
}

// firstOfRanks returns the first finding between ranks, nil for none.
func firstOfRanks(r *record.Report) *ranks.Finding {
	all := ranksOf(r)
	if all == nil || all.CountFindings() == 0 || r.Interrupted {
		return nil
	}
	return all.Findings[0]
}

// verdictOfRanks returns a verdict that begins with a finding between ranks.
func verdictOfRanks(f *ranks.Finding, rest lang.Sentence) lang.Sentence {
	t := rest.Text()
	en, fails := strings.CutPrefix(t.String(), "FAIL: ")
	if zh, ok := strings.CutPrefix(t.Chinese(), "FAIL："); ok && fails {
		return lang.Say("FAIL: %s; %s", f.Sentence(), lang.Text{EN: en, ZH: zh})
	}
	return lang.Say("FAIL: %s; beside the reference: %s", f.Sentence(), rest)
}

// stepMismatch says that rounds of different steps are compared.
func stepMismatch(r *record.Report) lang.Sentence {
	n := 0
	var text lang.Sentence
	for i := range r.Rounds {
		ref, npu := r.Rounds[i].RefAt.Step, r.Rounds[i].RoundCoordinates.Step
		if ref == "" || npu == "" || ref == npu {
			continue
		}
		if n++; n == 1 {
			text = lang.Say("step %s of the NPU is compared with step %s of the reference", npu, ref)
		}
	}
	if n > 1 {
		text = lang.Say("%s, and %d more rounds of different steps", text, n-1)
	}
	return text
}

// haveSameBits reports whether all compared tensors, at least two, have equal digests, and there is
// nothing else to report. If limits decide, such as limits of an exact profile, equal bits are the
// expected result.
func haveSameBits(r *record.Report) bool {
	n := 0
	if r.Verdict != evidenceMethod || r.Counts[record.Fail]+r.Counts[record.Warn] > 0 {
		return false
	}
	for _, row := range r.AllRows() {
		switch {
		case !row.IsJudged() && (row.RefFile == "" || row.NPUFile == ""):
		case !row.IsJudged() || !row.HasSameBits() || row.Common != nil:
			return false
		default:
			n++
		}
	}
	return n > 1
}

// runVerdict returns the verdict of a run: by evidence of a fault, or by limits.
func runVerdict(r *record.Report) lang.Sentence {
	n, compared := r.Counts, comparedRows(r)
	missed, misses := notComparedTexts(r)
	var tail lang.Sentence
	if misses > 0 {
		tail = lang.Say("; %s", missed)
	}
	evidence := r.Verdict == evidenceMethod
	switch left := len(standardRows(r, record.Skip)); {
	case r.Standard != "" && compared > 0:
		return lang.Say("%s%s", standardVerdict(r, compared, misses), tail)
	case r.Standard != "" && misses == 0 && left > 0:
		return lang.Say("NOTHING COMPARED: the standard %s could not be applied to %s", r.Standard, tensors(left))
	case n[record.Fail] > 0 && evidence && !r.Interrupted: // an interrupted run is not judged
		return lang.Say("%s%s%s", faultsVerdict(r), firstRoundText(r), tail)
	case r.Verdict == statisticsMethod && compared > 0 && !r.Interrupted:
		return lang.Say("%s%s%s", statisticsVerdict(r, compared), firstRoundText(r), tail)
	case n[record.Fail] > 0:
		return lang.Say("%s%s%s%s", failuresVerdict(r, compared), firstRoundText(r), evidenceBesideLimits(r), tail)
	case misses > 0 && misses == n[record.Error]:
		return lang.Say("ERROR: %s", missed)
	case misses > 0 && misses == n[record.Ambiguous] && compared == 0:
		return lang.Say("NOTHING COMPARED: %s", missed)
	case misses > 0:
		return lang.Say("FAIL: %s", missed)
	case r.Len() == 0:
		return lang.Say("NOTHING COMPARED: no tensor was chosen")
	case compared == 0:
		return lang.Say("NOTHING COMPARED: none of %s has a partner that could be compared", tensors(r.Len()))
	case !r.Meaning.NoVerdict.IsZero():
		return noVerdictText(r)
	case n[record.Partial] > 0:
		return lang.Say("PARTIAL: only a part of %d of %s was compared", n[record.Partial], tensors(compared))
	case r.LowCoverage() && evidence:
		return lowCoverageVerdict(r)
	case evidence && r.Meaning.CannotShowFault():
		return unprovenVerdict(r, compared)
	case evidence:
		return healthyVerdict(r, compared)
	case n[record.Warn] > 0:
		return lang.Say("PASS with warnings: %s within the limits, %d of them with a warning%s%s", allTensorsText(compared), n[record.Warn], numberlessText(r), evidenceBesideLimits(r))
	}
	return lang.Say("PASS: %s within the limits%s%s", allTensorsText(compared), numberlessText(r), evidenceBesideLimits(r))
}

// The verdict modes of reports.
const (
	evidenceMethod = "evidence"
	limitsMethod   = "limits"
	// statisticsMethod is the mode of dumps without elements.
	statisticsMethod = "statistics"
)

// notComparedTexts describes how many tensors could not be compared, and why.
func notComparedTexts(r *record.Report) (text lang.Sentence, misses int) {
	var missed []lang.Sentence
	for _, status := range []record.Status{record.ShapeMismatch, record.DTypeMismatch, record.Ambiguous, record.Error} {
		if n := r.Counts[status]; n > 0 {
			misses += n
			missed = append(missed, lang.Say("compare_verdict¦%d %s", n, status))
		}
	}
	return lang.Say("%s could not be compared (%s)", tensors(misses), lang.Join(missed, comma)), misses
}

// evidenceBesideLimits describes the evidence beside a verdict by limits.
func evidenceBesideLimits(r *record.Report) lang.Sentence {
	if r.Verdict != limitsMethod {
		return lang.Sentence{}
	}
	origins := operatorsOf(r)
	if len(origins) == 0 {
		return lang.Say("; by evidence no operator looks wrong")
	}
	if len(origins) > 1 && r.Findings.FirstBad < 0 {
		return lang.Say("; by evidence %d operators differ by more than rounding: %s", len(origins), originNames(r, origins))
	}
	return lang.Say("; by evidence the error begins at %s", originNames(r, origins))
}

// originsOf returns the origins of all rounds, beginning with the findings' round.
func originsOf(r *record.Report) []int {
	type operator struct{ op, round string }
	var rows []int
	first, named := map[int]bool{}, map[operator]bool{} // outputs of one operator are one origin
	add := func(i int) {
		row := r.Row(i)
		rows, first[i] = append(rows, i), true
		if row.Kind == string(tensor.Output) {
			named[operator{row.Op, row.Round}] = true
		}
	}
	for _, i := range r.Origins {
		if i >= 0 && i < r.Len() {
			add(i)
		}
	}
	for i, row := range r.AllRows() {
		if row.IsOrigin() && !first[i] && !(row.Kind == string(tensor.Output) && named[operator{row.Op, row.Round}]) {
			add(i)
		}
	}
	return rows
}

// operatorsOf groups the origins of all rounds by operator, inputs by their names.
func operatorsOf(r *record.Report) []operatorRows {
	rows := lists.Map(originsOf(r), r.Row)
	return groupBy(rows, func(row *record.Row) string {
		if row.Kind == string(tensor.Output) {
			return row.Op
		}
		return rowLabel(row)
	})
}

// maxOrigins is the number of origins that a line names.
const maxOrigins = 3

// originNames names origins with their first reasons.
func originNames(r *record.Report, origins []operatorRows) lang.Sentence {
	var names []lang.Sentence
	places := english.roundLister(r)
	for _, o := range origins[:min(maxOrigins, len(origins))] {
		row := places.mergeRows(o)
		names = append(names, lang.Say("%s%s", rowTitle(row), reasonInBrackets(row)))
	}
	list := lang.Join(names, comma)
	if more := len(origins) - maxOrigins; more > 0 {
		list = lang.Say("%s and %d more", list, more)
	}
	return list
}

// reasonInBrackets returns the first reason of an origin in brackets.
func reasonInBrackets(row *record.Row) lang.Sentence {
	if len(row.Reasons) == 0 {
		return lang.Sentence{}
	}
	reason := row.Reasons[0]
	return lang.Say(" [%s, %s]", reason.Code, confidenceText(reason.Confidence))
}

// faultsVerdict returns the verdict by evidence on a run with failing rows.
func faultsVerdict(r *record.Report) lang.Sentence {
	origins := operatorsOf(r)
	if b := r.Baseline; b != nil && (b.Updated || len(b.Known) > 0) && (b.Updated || len(b.New)+len(b.Worse) == 0) {
		return lang.Say("KNOWN FAILURES: %s, all of them in the baseline", originCount(len(origins)))
	}
	damaged, gates := 0, 0 // by all origins together
	for _, row := range r.AllRows() {
		if row.Downstream {
			damaged++
		}
		if finding.Has(row.Reasons, finding.Gate) {
			gates++
		}
	}
	var text lang.Sentence
	switch {
	case len(origins) == 0:
		text = lang.Say("FAIL: %d of %s break a gate", r.Counts[record.Fail], tensors(comparedRows(r)))
	case len(origins) == 1 && len(origins[0].rounds) > 1:
		o := origins[0]
		text = lang.Say("FAIL: %s (%s)", oneOrigin(english.roundLister(r).mergeRows(o)), o.Round)
	case len(r.Rounds) > 1 && len(origins) > 1:
		bad := map[string]bool{}
		for _, o := range origins {
			for _, round := range o.rounds {
				bad[round] = true
			}
		}
		if r.Findings.FirstBad < 0 {
			text = lang.Say("FAIL: %d operators differ by more than rounding in %d of %s, which is the first is unknown", len(origins), len(bad), rounds(len(r.Rounds)))
		} else {
			text = lang.Say("FAIL: %s in %d of %s", originCount(len(origins)), len(bad), rounds(len(r.Rounds)))
		}
	case len(origins) == 1:
		row := origins[0].Row
		text = lang.Say("FAIL: %s", oneOrigin(row))
		if a := row.Argument; a != nil && row.FirstCode() != finding.ArgumentsDiffer {
			text = lang.Say("%s; also differs: %s is %.100s, %.100s in the reference", text, a.Name, a.NPU, a.Ref)
		}
	case r.Findings.FirstBad < 0: // neither the order nor the data flow is known
		text = lang.Say("FAIL: %d operators differ by more than rounding, which is the first is unknown: %s", len(origins), originNames(r, origins))
	default:
		text = lang.Say("FAIL: %s: %s", originCount(len(origins)), originNames(r, origins))
	}
	switch {
	case damaged > 0 && len(origins) == 1:
		text = lang.Say("%s; %s damaged by it", text, tensors(damaged))
	case damaged > 0:
		text = lang.Say("%s; %s damaged by them", text, tensors(damaged))
	}
	if gates > 0 && len(origins) > 0 {
		text = lang.Say("%s; %d of %s break a gate", text, gates, tensors(comparedRows(r)))
	}
	if b := r.Baseline; b != nil && len(b.Known) > 0 {
		text = lang.Say("%s; %d known to the baseline", text, len(b.Known))
	}
	return text
}

// originCount formats a number of origins.
func originCount(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "1 origin"}
	}
	return lang.Say("%d independent origins", n).Text()
}

// oneOrigin describes the only origin.
func oneOrigin(row *record.Row) lang.Sentence {
	e, code := row.Evidence, row.FirstCode()
	switch {
	case code == finding.OverflowFP16:
		return lang.Say("overflow of %s begins at %s", row.NPUDType, rowTitle(row))
	case code == finding.NPUNaN:
		return lang.Say("NaN or infinities begin at %s", rowTitle(row))
	case row.Kind == string(tensor.Gradient):
		return lang.Say("the gradient %s%s is wrong, and no dumped operator computes it", rowTitle(row), reasonInBrackets(row))
	case code == finding.StartedApart && e != nil && !e.Start:
		return lang.Say("the runs did not read the same input, or %s is wrong: its inputs were not dumped", rowTitle(row))
	case code == finding.StartedApart:
		return lang.Say("the runs did not read the same input (or weights): %s differs", rowTitle(row))
	case code == finding.CameIn:
		return cameInText(row)
	case row.Self.IsWrong() && row.Self.Bad > 0:
		return lang.Say("%s%s is wrong: %d of %d elements differ from the result computed again from its own inputs",
			rowTitle(row), reasonInBrackets(row), row.Self.Bad, row.Self.Elements)
	case row.Self.IsWrong():
		return lang.Say("%s%s is wrong: it differs by more than rounding from the result computed again from its own inputs", rowTitle(row), reasonInBrackets(row))
	case code == finding.Unwritten:
		return lang.Say("%s%s: %s", rowTitle(row), reasonInBrackets(row), row.Reasons[0].Evidence)
	case code == finding.ArgumentsDiffer && row.Argument != nil:
		a := row.Argument
		return lang.Say("%s%s was called with %s=%.100s, in the reference with %.100s, and computes the right result from its own inputs",
			rowTitle(row), reasonInBrackets(row), a.Name, a.NPU, a.Ref)
	case code == finding.ReferenceDiffers || code == finding.InputDiffers:
		return lang.Say("%s%s computes the right result from its own inputs, but differs from the reference: compare inputs, weights and attributes", rowTitle(row), reasonInBrackets(row))
	case row.Kind == string(tensor.Input) && e != nil && e.Score >= 1.5:
		return lang.Say("%s%s is wrong: an operator before it, which was not dumped, adds an error, %s x the error that rounding explains",
			rowTitle(row), reasonInBrackets(row), significantDigits(roundFewDigits)(float64(e.Score)))
	case e == nil || e.Score == 0:
		return lang.Say("1 operator is wrong: %s%s", rowTitle(row), reasonInBrackets(row))
	case e.Score < 1.5:
		return lang.Say("1 operator adds an error of its own: %s%s", rowTitle(row), reasonInBrackets(row))
	}
	return lang.Say("1 operator adds an error of its own: %s%s, %s x the error that rounding explains",
		rowTitle(row), reasonInBrackets(row), significantDigits(roundFewDigits)(float64(e.Score)))
}

// cameInText names the place where an error entered that no dumped operator produced.
func cameInText(row *record.Row) lang.Sentence {
	if row.Kind != string(tensor.Output) {
		return lang.Say("%s differs, and its producer was not compared", rowTitle(row))
	}
	return lang.Say("the fault is inside %s, in an operator that was not dumped", rowTitle(row))
}

// noVerdictText returns the verdict on a run that cannot be judged.
func noVerdictText(r *record.Report) lang.Sentence {
	return lang.Say("NO VERDICT: %s", r.Meaning.NoVerdict)
}

// numberlessText says how many of the compared tensors have no number.
func numberlessText(r *record.Report) lang.Sentence {
	if r.Meaning.NoNumbers == 0 {
		return lang.Sentence{}
	}
	return lang.Say(", %d of them empty or NaN everywhere on both sides", r.Meaning.NoNumbers)
}

// unprovenVerdict returns the verdict by evidence on a run in which no operator looks wrong, but in which a fault of
// most operators would not have been noticed.
func unprovenVerdict(r *record.Report, compared int) lang.Sentence {
	if p := r.Meaning.Power; p != nil && p.Judged > 0 {
		return lang.Say("PASS WITHOUT PROOF: no operator looks wrong, but only %d of %s would have shown a fault below %d %%%s", p.Judged, tensors(p.Of), int(100*record.MostPower), dumpAdvice(r))
	}
	return lang.Say("PASS WITHOUT PROOF: no operator looks wrong, but none of %s%s would have shown a fault below %d %%%s", tensors(compared), numberlessText(r), int(100*record.MostPower), dumpAdvice(r))
}

// dumpAdvice advises how more operators can be judged. It does not ask for inputs if some were dumped.
func dumpAdvice(r *record.Report) lang.Sentence {
	for _, row := range r.AllRows() {
		if row.Kind == string(tensor.Input) || row.Self != nil {
			return lang.Say("; dumptool check tells which operators are right")
		}
	}
	return lang.Say("; give --graph-file, or dump inputs")
}

// healthyVerdict returns the verdict by evidence on a run without a fault.
func healthyVerdict(r *record.Report, compared int) lang.Sentence {
	warned := r.Counts[record.Warn]
	text := lang.Say("no operator looks wrong: %s compared", tensors(compared))
	if n, worst := beyondLimits(r, true); n > 0 {
		text = lang.Say("no operator looks wrong: %d of %s are beyond the limits by rounding only (%s)", n, tensors(compared), worst)
	}
	text = lang.Say("%s%s%s%s", text, numberlessText(r), comparedShare(r), powerText(r))
	if n, worst := beyondLimits(r, false); n > 0 {
		text = lang.Say("%s; %d beyond the limits and not judged (%s)", text, n, worst)
	}
	if warned == 0 {
		return lang.Say("PASS: %s", text)
	}
	return lang.Say("PASS with warnings: %s; WARN %d: %s", text, warned, warningCounts(r))
}

// lowCoverageVerdict returns the verdict if few operators have a partner.
func lowCoverageVerdict(r *record.Report) lang.Sentence {
	of := r.Meaning.Operators
	return lang.Say("LOW COVERAGE: only %d of %d operators have a partner; none of them looks wrong", of.Compared, min(of.Reference, of.NPU))
}

// comparedShare returns the share of compared operators, if it is low.
func comparedShare(r *record.Report) lang.Sentence {
	of := r.Meaning.Operators
	switch {
	case of == nil || min(of.Reference, of.NPU) == 0:
	case of.Share() < minCoveredShare:
		return lang.Say(" (%d %% of the operators)", int(100*of.Share()))
	case float64(of.Compared) < 0.5*float64(max(of.Reference, of.NPU)):
		side := lang.Text{EN: "NPU"}
		if of.Reference > of.NPU {
			side = lang.Text{EN: "reference"}
		}
		return lang.Say(" (%d of the %d operators of the %s)", of.Compared, max(of.Reference, of.NPU), side)
	}
	return lang.Sentence{}
}

// minCoveredShare is the minimum share (0 to 1) of compared operators at which the text leaves out their number.
const minCoveredShare = 0.9

// powerText gives the size of the smallest fault that would have been seen.
func powerText(r *record.Report) lang.Sentence {
	p, which := r.Meaning.Power, lang.Text{EN: "them"}
	if r.Meaning.NoNumbers > 0 {
		which = lang.Text{EN: "the others"}
	}
	switch {
	case p == nil:
		return lang.Sentence{}
	case p.Share < 0.9:
		return lang.Say("; in %d %% of %s faults above %s %% would have been seen", int(100*p.Share), which, significantDigits(roundFewDigits)(100*p.Size))
	}
	return lang.Say("; faults above %s %% would have been seen in %d %% of %s", significantDigits(roundFewDigits)(100*p.Size), int(100*p.Share), which)
}

// beyondLimits counts the rows with status ROUNDING: with judged, the rows in which the evidence or recomputation would
// have shown a fault, else the other rows. It returns their number, their largest share of elements beyond the limits
// and their lowest cosine.
func beyondLimits(r *record.Report, judged bool) (n int, worst lang.Sentence) {
	share, least := 0.0, metrics.Metric{}
	for _, row := range r.AllRows() {
		e := row.Evidence
		if row.Status != record.Rounding || judged != (e != nil && e.Judged || row.Self.IsRight()) {
			continue
		}
		n++
		share = max(share, record.Share(row.Errors, row.Result.Total))
		if c := row.Result.Cosine; c.IsDefined() && (!least.IsDefined() || c.Value() < least.Value()) {
			least = c
		}
	}
	return n, lang.Say("worst %s %% of the elements, cosine %s", significantDigits(roundFewDigits)(100*share), metricOr(least, noValue, formatCosine))
}

// warningCounts counts warnings by their first code.
func warningCounts(r *record.Report) lang.Sentence {
	counts := map[finding.Code]int{}
	var codes []finding.Code
	for _, row := range r.AllRows() {
		if row.Status != record.Warn {
			continue
		}
		if len(row.Reasons) == 0 {
			continue
		}
		code := row.Reasons[0].Code
		if counts[code]++; counts[code] == 1 {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return lang.Join(lists.Map(codes, func(code finding.Code) lang.Sentence { return lang.Say("%s %d", code, counts[code]) }), comma)
}

// writeCompareJSON writes compare.json with the verdict in a line.
func writeCompareJSON(w io.Writer, r *record.Report) error {
	r.Headline = english.CompareVerdict(r)
	return r.Write(w)
}
