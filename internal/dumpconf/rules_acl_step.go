package dumpconf

import (
	"fmt"
	"regexp"
	"strings"
)

// aclStepRules check dump_step.
func aclStepRules() []rule {
	return []rule{
		{"ACL030", Error, "EP0003", stageStep, "dump_step is malformed",
			`%s in dump_step %s; use N or A-B joined by "|", without spaces`,
			func(c *check, r *reporter) {
				text := ""
				if len(c.acl.Steps) <= MaxSteps {
					text = repairedSteps(c.acl.DumpStep.Value)
				}
				for _, s := range c.acl.usableSteps() {
					if !s.Valid() && s.Fault != StepReversed {
						f := r.at(part(c.acl.DumpStep, s.Offset, len(s.Text)), show(s.Text), stepFaults[s.Fault])
						if text != "" {
							f.Suggestion, f.Edits = text, quoteEdit(c.acl.DumpStep, text)
						}
					}
				}
			}},
		{"ACL031", Error, "EP0003", stageStep, "dump_step has more than 100 pieces",
			"dump_step has more than %d pieces",
			func(c *check, r *reporter) {
				if len(c.acl.Steps) > MaxSteps {
					r.at(c.acl.DumpStep.valueSpot(), MaxSteps)
				}
			}},
		{"ACL032", Error, "EP0003", stageStep, "a range of dump_step starts after its end",
			"range %s of dump_step starts after its end",
			func(c *check, r *reporter) {
				for _, s := range c.acl.usableSteps() {
					if s.Fault == StepReversed {
						f := r.at(part(c.acl.DumpStep, s.Offset, len(s.Text)), show(s.Text))
						f.Suggestion = fmt.Sprintf("%d-%d", s.To, s.From)
					}
				}
			}},
		{"ACL033", Info, "", stageLint, "a range of dump_step has equal ends",
			"range %s of dump_step is one step; write %q (the graph engine's own option rejects equal ends)",
			func(c *check, r *reporter) {
				for _, s := range c.acl.usableSteps() {
					if s.Valid() && s.Range && s.From == s.To {
						f := r.at(part(c.acl.DumpStep, s.Offset, len(s.Text)), show(s.Text), fmt.Sprint(s.From))
						f.Suggestion = fmt.Sprint(s.From)
					}
				}
			}},
		{"ACL034", Info, "", stageLint, "pieces of dump_step overlap",
			"%s in dump_step overlaps %s before it",
			func(c *check, r *reporter) {
				steps := c.acl.usableSteps()
				for i, s := range steps {
					for _, t := range steps[:i] {
						if s.Overlaps(t) {
							r.at(part(c.acl.DumpStep, s.Offset, len(s.Text)), show(s.Text), show(t.Text))
							break
						}
					}
				}
			}},
	}
}

// usableSteps returns the pieces the runtime would look at.
func (a *ACL) usableSteps() []Step { return a.Steps[:min(len(a.Steps), MaxSteps)] }

// stepFaults describes faults of a piece.
var stepFaults = map[StepFault]string{
	StepEmpty:    "is an empty piece",
	StepBadChar:  "has other characters than digits and a dash",
	StepOpen:     "lacks a start or an end",
	StepDashes:   "has more than one dash",
	StepReversed: "starts after its end",
	StepTooLarge: "is too large",
	StepRest:     "is not read any more",
}

// joint is a bar or dash of a list of steps with the spaces around it.
var joint = regexp.MustCompile(` *([|-]) *`)

// repairedSteps returns a list of steps without the spaces beside its bars and
// dashes and at its ends. It returns nothing when that leaves faults: a space
// between two numbers may stand for anything.
func repairedSteps(text string) string {
	text = strings.Trim(joint.ReplaceAllString(text, "$1"), " ")
	for _, s := range ParseSteps(text) {
		if !s.Valid() {
			return ""
		}
	}
	return text
}
