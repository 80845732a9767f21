package check

import (
	"maps"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
)

// conclude fills the summary from the rows.
func (r *Report) conclude() {
	s := &r.Summary
	s.Counts, s.Undecided = map[string]int{}, map[recompute.Reason]int{}
	for _, status := range Statuses {
		s.Counts[status.Key()] = 0
	}
	s.Operators = len(r.Operators)
	var judged, all int64
	for i := range r.Operators {
		o := &r.Operators[i]
		s.Counts[o.Status.Key()]++
		all += o.size
		switch o.Status {
		case recompute.Undecided:
			s.Undecided[o.Reason]++
			continue
		case recompute.Crashed:
			continue
		}
		s.Judged++
		judged += o.size
		if o.Status == recompute.Wrong && s.First == nil {
			s.First = &i
		}
	}
	if all > 0 {
		s.Share = float64(judged) / float64(all)
	}
	headline := lang.Join(slices.DeleteFunc([]lang.Sentence{r.headline(), r.operandBits}, lang.Sentence.IsZero), lang.Text{EN: "; "})
	if s.Headline = r.addCrashes(headline); r.Interrupted {
		s.Headline = lang.Say("INTERRUPTED, so far: %v", s.Headline)
	}
	s.HeadlineZH = s.Headline.Text().Chinese()
}

// addCrashes adds internal errors to a headline: in front, unless something is wrong.
func (r *Report) addCrashes(headline lang.Sentence) lang.Sentence {
	n := r.Summary.Count(recompute.Crashed)
	if n == 0 {
		return headline
	}
	crashes := lang.Say("internal error in %s (please report)", lang.CountText(n, "operator"))
	all := []lang.Sentence{crashes, headline}
	if r.Summary.First != nil || !r.ranksHeadline().IsZero() {
		slices.Reverse(all)
	}
	return lang.Join(all, lang.Text{EN: "; "})
}

// headline states the most important result.
func (r *Report) headline() lang.Sentence {
	s := &r.Summary
	wrong, misfit := s.Count(recompute.Wrong), s.Count(recompute.Misfit)
	fine := s.Count(recompute.OK) + s.Count(recompute.Low)
	if h := r.ranksHeadline(); !h.IsZero() {
		return h
	}
	switch {
	case s.Operators == 0 && r.Ranks != nil:
		return r.Ranks.CleanText()
	case wrong > 0 && r.Operators[*s.First].Reason == recompute.ByUnwritten:
		return lang.Say("UNWRITTEN: %v", r.Operators[*s.First].Evidence)
	case wrong == 1:
		o := &r.Operators[*s.First]
		return lang.Say("WRONG: %s (%s) computes a wrong result from its inputs: %s", o.Op, o.Type, o.wrongElements())
	case wrong > 1:
		o := &r.Operators[*s.First]
		return lang.Say("WRONG: %d operators compute a wrong result from their inputs, first %s (%s)", wrong, o.Op, o.Type)
	case 2*s.Judged < s.Operators && r.hasRankChecks():
		return lang.Say("%s; only %d of %d operators could be judged", r.Ranks.CleanText().Text(), s.Judged, s.Operators)
	case s.Judged == 0 && s.Operators > 0 && s.Count(recompute.Crashed) == 0 && !r.Interrupted:
		why, todo := r.explainNothingJudged()
		if todo.IsZero() {
			todo = why
		} else {
			todo = lang.Join([]lang.Sentence{why, todo}, lang.Text{EN: "; "})
		}
		return lang.Say("NOT JUDGED: %v", todo)
	case 2*s.Judged < s.Operators:
		return lang.Say("NOT JUDGED: only %d of %d operators could be judged%v", s.Judged, s.Operators, r.mostFrequentReason())
	case misfit > 0:
		i := slices.IndexFunc(r.Operators, func(o Operator) bool { return o.Status == recompute.Misfit })
		o := &r.Operators[i]
		return lang.Say("OK so far: %d of %d operators compute the right result from their inputs, %s: %s (no usual attribute values fit; give the graph, -f GRAPH)",
			fine, s.Operators, lang.CountText(misfit, "suspect"), o.Op)
	}
	return lang.Say("OK: %d of %d operators compute the right result from their inputs, %d undecided", fine, s.Operators, s.Count(recompute.Undecided))
}

// mostFrequentReason returns the most frequent reason of UNDECIDED operators.
func (r *Report) mostFrequentReason() lang.Text {
	var top recompute.Reason
	for _, reason := range slices.Sorted(maps.Keys(r.Summary.Undecided)) {
		if r.Summary.Undecided[reason] > r.Summary.Undecided[top] {
			top = reason
		}
	}
	why, known := reasonTexts[top]
	if top == "" || !known {
		return lang.Text{}
	}
	n := r.Summary.Undecided[top]
	return lang.Say("; most frequent reason (%d): %s", n, why).Text()
}

// wrongElements says how many elements of an operator are wrong.
func (o *Operator) wrongElements() lang.Text {
	var bad, all int64
	for _, t := range o.Outputs {
		bad, all = bad+t.Bad, all+t.Elements
	}
	if bad == 0 {
		return lang.Text{EN: string(o.Reason), ZH: string(o.Reason)}
	}
	return lang.Say("%d of %d elements", bad, all).Text()
}

// Outcome returns how the check ended. reported: the report with the headline is already printed for people.
func (r *Report) Outcome(reported bool) batch.Outcome {
	var o batch.Outcome
	found := 0
	for status, n := range r.Summary.Counts {
		if slices.Contains(r.failOn, status) {
			found += n
		}
	}
	found += r.countRankFindings()
	unread, crashed := len(r.Problems), r.Summary.Count(recompute.Crashed)
	switch {
	case crashed > 0:
		o = batch.Outcome{Kind: batch.Incomplete, Text: r.Summary.Headline}
	case found > 0 && unread == 0:
		o = batch.Outcome{Kind: batch.Found, Text: r.Summary.Headline}
	case unread > 0:
		o = batch.Outcomef(batch.Incomplete, "%s could not be read", lang.CountText(unread, "file"))
	case !r.isJudgeable() && !r.hasRankChecks():
		why, todo := r.explainNothingJudged()
		if o = batch.Outcomef(batch.Nothing, "%v", why); !todo.IsZero() {
			o = o.WithHint("%v", todo)
		}
		if len(r.Operators) == 0 {
			o.Messages = r.otherFiles
		}
	case r.require > 0 && float64(r.Summary.Judged) < r.require*float64(r.Summary.Operators):
		o = batch.Outcomef(batch.NotCovered, "%d of %d operators were judged, --require-coverage wants %v", r.Summary.Judged, r.Summary.Operators, r.require)
	}
	for i := range r.Operators {
		if one := &r.Operators[i]; one.Status == recompute.Crashed {
			o.Messages = append(o.Messages, batch.Errorf("%s: %s: %v", one.File, one.Op, one.Evidence))
		}
	}
	for _, p := range r.Problems {
		o.Messages = append(o.Messages, batch.Errorf("%s: %v", p.File, p.Err))
	}
	for _, w := range r.Warnings {
		o.Messages = append(o.Messages, batch.Warnf("%v", w))
	}
	if reported && o.Kind == batch.Found {
		o = o.AsShown()
	}
	return o
}

// isJudgeable reports whether some operator has a known type, inputs and outputs.
func (r *Report) isJudgeable() bool {
	return slices.ContainsFunc(r.Operators, func(o Operator) bool {
		return o.Status != recompute.Undecided || !slices.Contains([]recompute.Reason{recompute.NoType, recompute.NoInputs, recompute.NoOutputs}, o.Reason)
	})
}

// explainNothingJudged says why no operator could be judged, and what to do; todo is zero if nothing helps.
func (r *Report) explainNothingJudged() (why, todo lang.Sentence) {
	undecided := r.Summary.Undecided
	switch {
	case len(r.Operators) == 0 && r.excludedCount > 0:
		return lang.Say("no operator is left: the selected names exclude %s", lang.CountText(r.excludedCount, "operator")), todo
	case r.Ranks == nil && len(r.Operators) == 0 && len(r.Rounds) > 0:
		return lang.Say("there is one rank only: nothing to compare it with"), todo
	case r.Ranks != nil && len(r.Operators) == 0:
		return lang.Say("no communication and no replica of %d ranks could be checked", r.Ranks.World),
			lang.Say("this check needs tensors, or digests (md5) in dump.json")
	case len(r.Operators) == 0:
		return lang.Say("there are no dumps of operators"),
			lang.Say("to list the files there: %s", lang.CommandLine(append([]string{"inspect"}, lang.PathArguments(r.Paths)...)...))
	case r.onlyStatistics:
		return lang.Say("there are statistics only: check needs tensors"), todo
	case undecided[recompute.NoInputs] == len(r.Operators) && !slices.ContainsFunc(r.Operators, func(o Operator) bool { return len(o.Inputs) > 0 }):
		return lang.Say("the dumps have outputs only (dump_mode output)"),
			lang.Say(`set "dump_mode": "all"; 'dumptool config explain' says what a configuration dumps`)
	case undecided[recompute.NoType] > 0:
		todo = lang.Say("dumptool check --types lists the types whose formula is known")
	}
	return lang.Say("none of %s could be judged%v", lang.CountText(len(r.Operators), "operator"), r.mostFrequentReason()), todo
}

// Statuses lists all statuses, the best first.
var Statuses = []recompute.Status{recompute.OK, recompute.Low, recompute.Wrong, recompute.Misfit, recompute.Undecided, recompute.Crashed}

// Count returns the number of operators with a status.
func (s *Summary) Count(status recompute.Status) int { return s.Counts[status.Key()] }

// reasonTexts explains why operators are UNDECIDED.
var reasonTexts = map[recompute.Reason]lang.Sentence{
	recompute.NoType:         lang.Say("no formula is known for the type"),
	recompute.NoInputs:       lang.Say("inputs were not dumped"),
	recompute.NoOutputs:      lang.Say("outputs were not dumped"),
	recompute.NoDType:        lang.Say("an element type cannot be computed with"),
	recompute.NoAttributes:   lang.Say("no attribute values fit the shapes"),
	recompute.InPlace:        lang.Say("the output was written over an input"),
	recompute.IllConditioned: lang.Say("rounding alone could change the result too much"),
	recompute.InputChanged:   lang.Say("an input changed after it was read"),
	recompute.InputDiffers:   lang.Say("a file differs from its entry in dump.json"),
	recompute.NotCompared:    lang.Say("no formula is known for an output"),
	recompute.OverBudget:     lang.Say("it is too large to be computed in parts"),
	recompute.NoReason:       lang.Say("no attribute values explain the output; give the graph (-f)"),
}

// Explain explains a reason in words.
func Explain(reason recompute.Reason) lang.Sentence { return reasonTexts[reason] }

// Explain explains the status in words.
func (o *Operator) Explain() lang.Sentence {
	if !o.Evidence.IsZero() {
		return o.Evidence
	}
	return reasonTexts[o.Reason]
}

// Findings lists the statuses that --fail-on accepts.
var Findings = []string{"wrong", "misfit", "low", "undecided", "weak"}

// Types returns the table of checkable types, or the rows with any of the names.
func Types(names ...string) []recompute.FormListing { return recompute.List(names...) }
