package dumpconf

import (
	"fmt"
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
		message: Text{EN: `%s in dump_step %s; use N or A-B joined by "|", without spaces`, ZH: `dump_step 中的 %s %s；应为 N 或 A-B，用 "|" 连接，不含空格`},
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
		message: Text{EN: "dump_step has more than %d pieces", ZH: "dump_step 超过 %d 段"},
		acl:     func(a *ACL, r *reporter) { r.when(len(a.Steps) > maxSteps, a.DumpStep.valueSpan(), maxSteps) }},
	{id: "ACL032", severity: Error, code: "EP0003", stage: stageStep, checks: "a range of dump_step starts after its end",
		message: Text{EN: "range %s of dump_step starts after its end", ZH: "dump_step 的范围 %s 起点大于终点"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				r.when(s.Fault == lang.StepReversed, stepSpan(s, a.DumpStep), show(s.Text)).suggest(fmt.Sprintf("%d-%d", s.To, s.From))
			}
		}},
	{id: "ACL033", severity: Info, checks: "a range of dump_step has equal ends",
		message: Text{EN: "range %s of dump_step is one step; write %q (the graph engine's own option rejects equal ends)", ZH: "dump_step 的范围 %s 只有一个 step，请写 %q(图引擎自身的选项不接受两端相等)"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				one := fmt.Sprint(s.From)
				r.when(s.Valid() && s.Range && s.From == s.To, stepSpan(s, a.DumpStep), show(s.Text), one).suggest(one)
			}
		}},
	{id: "ACL034", severity: Info, checks: "pieces of dump_step overlap",
		message: Text{EN: "%s in dump_step overlaps %s before it", ZH: "dump_step 中的 %s 与前面的 %s 重叠"},
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
var stepFaults = map[lang.StepFault]Text{
	lang.StepEmpty:    {EN: "is an empty piece", ZH: "是空段"},
	lang.StepBadChar:  {EN: "has other characters than digits and a dash", ZH: "含有数字和短横线以外的字符"},
	lang.StepOpen:     {EN: "lacks a start or an end", ZH: "缺少起点或终点"},
	lang.StepDashes:   {EN: "has more than one dash", ZH: "有多个短横线"},
	lang.StepReversed: {EN: "starts after its end", ZH: "起点大于终点"},
	lang.StepTooLarge: {EN: "is too large", ZH: "过大"},
	lang.StepRest:     {EN: "is not read any more", ZH: "不再读取"},
}

// joint is a bar or dash of a list of steps with the spaces around it.
var joint = lang.Pattern(` *([|-]) *`)

// repairedSteps returns a list of steps without the spaces beside its bars and
// dashes and at its ends. It returns nothing when that leaves faults: a space
// between two numbers may stand for anything.
func repairedSteps(text string) string {
	text = strings.Trim(joint().ReplaceAllString(text, "$1"), " ")
	if slices.ContainsFunc(lang.ParseSteps(text), func(s lang.Step) bool { return !s.Valid() }) {
		return ""
	}
	return text
}
