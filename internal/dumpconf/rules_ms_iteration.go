package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

var notInIteration = lang.Pattern(`[^0-9|-]`)

// mindSporeIterationRules check the steps.
var mindSporeIterationRules = []rule{
	{id: "MS020", severity: Error, checks: "iteration is no string", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			n := m.Iteration.Node
			if n != nil && n.Kind == jsonpos.Number && isDigits(n.Text) && r.opt.TargetVersion.Before(sinceMS12) {
				return // documented for these versions
			}
			r.mistyped()
		}},
	{id: "MS021", severity: Error, checks: "iteration has characters that are not allowed",
		message: Text{EN: `iteration %s: %s is not allowed; use digits, "-" and "|", or "all"`, ZH: `iteration %s：不允许 %s；请使用数字、"-" 和 "|"，或 "all"`},
		ms: func(m *MindSpore, r *reporter) {
			s := m.Iteration
			at := notInIteration().FindStringIndex(s.Value)
			if s.Value == "all" || at == nil {
				return
			}
			f := r.at(part(s, at[0], at[1]-at[0]), show(s.Value), show(s.Value[at[0]:at[1]]))
			if meant := repairedIteration(s.Value); meant != "" {
				f.repair(s, meant)
			}
		}},
	{id: "MS022", severity: Warning, checks: "a piece of iteration that matches nothing",
		guess: true, message: Text{EN: "%s in iteration matches no step: it %s", ZH: "iteration 中的 %s 不匹配任何 step：%s"},
		ignored: Text{EN: "a piece matches no step", ZH: "其中一段不匹配任何迭代"},
		ms: func(m *MindSpore, r *reporter) {
			legal := !notInIteration().MatchString(m.Iteration.Value)
			for _, p := range m.Steps {
				r.when(legal && !p.Valid() && p.Fault != lang.StepRest, stepSpan(p, m.Iteration), show(p.Text), stepFaults[p.Fault])
			}
		}},
	{id: "MS023", severity: Warning, checks: "initial_iteration is behind all steps",
		message: Text{EN: "initial_iteration %d is behind all steps of iteration; nothing will match", ZH: "initial_iteration %d 在 iteration 的所有 step 之后，不会匹配"},
		ms: func(m *MindSpore, r *reporter) {
			start := m.InitialIteration
			later := func(p lang.Step) bool { return p.Fault == lang.StepRest || p.Valid() && p.To >= start.Value }
			r.when(start.OK && len(m.Steps) > 0 && !slices.ContainsFunc(m.Steps, later), start.valueSpan(), start.Value)
		}},
}

// repairedIteration returns an iteration as it is surely meant, or nothing.
func repairedIteration(text string) string {
	if strings.EqualFold(strings.Trim(text, " "), "all") {
		return "all"
	}
	return repairedSteps(text)
}
