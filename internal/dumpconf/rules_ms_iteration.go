package dumpconf

import (
	"regexp"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

var notInIteration = regexp.MustCompile(`[^0-9|-]`)

// mindSporeIterationRules check the steps.
func mindSporeIterationRules() []rule {
	return []rule{
		{"MS020", Error, "", stageLint, "iteration is no string", "%s",
			func(c *check, r *reporter) {
				n := c.ms.Iteration.Node
				if n != nil && n.Kind == jsonpos.Number && isDigits(n.Text) && c.opt.TargetVersion.Before(sinceMS12) {
					return // documented for these versions
				}
				r.mistyped()
			}},
		{"MS021", Error, "", stageLint, "iteration has characters that are not allowed",
			`iteration %s: %s is not allowed; use digits, "-" and "|", or "all"`,
			func(c *check, r *reporter) {
				s := c.ms.Iteration
				at := notInIteration.FindStringIndex(s.Value)
				if s.Value == "all" || at == nil {
					return
				}
				f := r.at(part(s, at[0], at[1]-at[0]), show(s.Value), show(s.Value[at[0]:at[1]]))
				f.Suggestion = repairedIteration(s.Value)
				if f.Suggestion != "" {
					f.Edits = quoteEdit(s, f.Suggestion)
				}
			}},
		{"MS022", Warning, "", stageLint, "a piece of iteration that matches nothing",
			"%s in iteration matches no step: it %s",
			func(c *check, r *reporter) {
				s := c.ms.Iteration
				if notInIteration.MatchString(s.Value) {
					return
				}
				for _, p := range c.ms.Steps {
					if !p.Valid() && p.Fault != StepRest && !r.full() {
						r.at(part(s, p.Offset, len(p.Text)), show(p.Text), stepFaults[p.Fault])
					}
				}
			}},
		{"MS023", Warning, "", stageLint, "initial_iteration is behind all steps",
			"initial_iteration %d is behind all steps of iteration; nothing will match",
			func(c *check, r *reporter) {
				start := c.ms.InitialIteration
				if !start.OK || len(c.ms.Steps) == 0 {
					return
				}
				for _, p := range c.ms.Steps {
					if p.Fault == StepRest || p.Valid() && p.To >= start.Value {
						return
					}
				}
				r.at(start.valueSpot(), start.Value)
			}},
	}
}

// repairedIteration returns an iteration as it is surely meant, or nothing.
func repairedIteration(text string) string {
	if strings.EqualFold(strings.Trim(text, " "), "all") {
		return "all"
	}
	return repairedSteps(text)
}
