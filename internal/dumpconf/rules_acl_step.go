package dumpconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// maxSteps is how many pieces a list of steps may have for ACL and the graph
// engine.
const maxSteps = 100

// aclStepRules check dump_step.
var aclStepRules = []rule{
	{id: "ACL030", severity: Error, code: "EP0003", stage: stageStep, checks: "dump_step is malformed",
		message: `%s in dump_step %s; use N or A-B joined by "|", without spaces`,
		acl: func(a *ACL, r *reporter) {
			text := ""
			if len(a.Steps) <= maxSteps {
				text = repairedSteps(a.DumpStep.Value)
			}
			for _, s := range a.usableSteps() {
				f := r.when(!s.Valid() && s.Fault != lang.StepReversed, stepSpan(s, a.DumpStep), show(s.Text), stepFaults[s.Fault])
				if text != "" {
					f.repair(a.DumpStep, text)
				}
			}
		}},
	{id: "ACL031", severity: Error, code: "EP0003", stage: stageStep, checks: "dump_step has more than 100 pieces",
		message: "dump_step has more than %d pieces",
		acl:     func(a *ACL, r *reporter) { r.when(len(a.Steps) > maxSteps, a.DumpStep.valueSpan(), maxSteps) }},
	{id: "ACL032", severity: Error, code: "EP0003", stage: stageStep, checks: "a range of dump_step starts after its end",
		message: "range %s of dump_step starts after its end",
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				r.when(s.Fault == lang.StepReversed, stepSpan(s, a.DumpStep), show(s.Text)).suggest(fmt.Sprintf("%d-%d", s.To, s.From))
			}
		}},
	{id: "ACL033", severity: Info, checks: "a range of dump_step has equal ends",
		message: "range %s of dump_step is one step; write %q (the graph engine's own option rejects equal ends)",
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				one := fmt.Sprint(s.From)
				r.when(s.Valid() && s.Range && s.From == s.To, stepSpan(s, a.DumpStep), show(s.Text), one).suggest(one)
			}
		}},
	{id: "ACL034", severity: Info, checks: "pieces of dump_step overlap",
		message: "%s in dump_step overlaps %s before it",
		acl: func(a *ACL, r *reporter) {
			steps := a.usableSteps()
			for i, s := range steps {
				if j := slices.IndexFunc(steps[:i], s.Overlaps); j >= 0 {
					r.at(stepSpan(s, a.DumpStep), show(s.Text), show(steps[j].Text))
				}
			}
		}},
}

// stepSpan is the place of a piece in the value of the key that has the list.
func stepSpan(s lang.Step, list Setting[string]) span { return part(list, s.Offset, len(s.Text)) }

// usableSteps returns the pieces the runtime would look at.
func (a *ACL) usableSteps() []lang.Step { return a.Steps[:min(len(a.Steps), maxSteps)] }

// stepFaults describes faults of a piece.
var stepFaults = map[lang.StepFault]string{
	lang.StepEmpty:    "is an empty piece",
	lang.StepBadChar:  "has other characters than digits and a dash",
	lang.StepOpen:     "lacks a start or an end",
	lang.StepDashes:   "has more than one dash",
	lang.StepReversed: "starts after its end",
	lang.StepTooLarge: "is too large",
	lang.StepRest:     "is not read any more",
}

// joint is a bar or dash of a list of steps with the spaces around it.
var joint = regexp.MustCompile(` *([|-]) *`)

// repairedSteps returns a list of steps without the spaces beside its bars and
// dashes and at its ends. It returns nothing when that leaves faults: a space
// between two numbers may stand for anything.
func repairedSteps(text string) string {
	text = strings.Trim(joint.ReplaceAllString(text, "$1"), " ")
	if slices.ContainsFunc(lang.ParseSteps(text), func(s lang.Step) bool { return !s.Valid() }) {
		return ""
	}
	return text
}
