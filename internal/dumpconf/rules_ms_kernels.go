package dumpconf

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

var opSuffix = regexp.MustCompile(`-op[0-9]+$`)

// mindSporeKernelRules check kernels and device ids.
var mindSporeKernelRules = []rule{
	{id: "MS040", severity: Warning, checks: "kernels without dump_mode 1",
		guess: true, message: "kernels is used with dump_mode 1 only, found %d; it is ignored",
		ignored: Text{EN: "used with dump_mode 1 only", ZH: "仅 dump_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DumpMode.OK && m.DumpMode.Value != 1 && len(m.KernelNames.Value) > 0, m.KernelNames.keySpan(), m.DumpMode.Value)
		}},
	{id: "MS041", severity: Warning, checks: "dump_mode 1 with empty kernels",
		guess: true, message: "kernels is empty and so matches all operators, although dump_mode is 1",
		ms: func(m *MindSpore, r *reporter) {
			matches := slices.ContainsFunc(m.Kernels, func(k Kernel) bool { return k.Pattern != "" || k.Kind == KernelRegex })
			r.when(m.DumpMode.Value == 1 && m.KernelNames.OK && !matches, m.KernelNames.valueSpan())
		}},
	{id: "MS042", severity: Warning, checks: "an entry of kernels that may not match as meant",
		message: "kernels entry %s %s",
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.KernelNames.Value {
				if s.OK {
					r.kernel(s, m.Kernels[i])
				}
			}
		}},
	{id: "MS043", severity: Warning, checks: "a regular expression of kernels that is malformed",
		message: "kernels entry %s: %s; use name-regex(<pattern for the whole name>) without backslashes",
		mind:    Text{EN: "the regular expression does not work as meant", ZH: "正则表达式不会按预期匹配"},
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.KernelNames.Value {
				if !s.OK || r.full() {
					continue
				}
				fault := regexFault(m.Kernels[i], r.opt.TargetVersion)
				r.when(fault != "", s.valueSpan(), show(s.Value), fault)
			}
		}},
	{id: "MS044", severity: Warning, checks: "a kernel or device that is listed twice",
		message: "%s is listed twice",
		ms: func(m *MindSpore, r *reporter) {
			names, ids := make(map[string]bool), make(map[uint64]bool)
			for i, s := range m.KernelNames.Value {
				pattern := fmt.Sprint(m.Kernels[i].Kind, m.Kernels[i].Pattern)
				r.when(s.OK && names[pattern], s.valueSpan(), show(s.Value))
				names[pattern] = names[pattern] || s.OK
			}
			for _, s := range m.SupportDevice.Value {
				r.when(s.OK && ids[s.Value], s.valueSpan(), deviceName(s.Value))
				ids[s.Value] = ids[s.Value] || s.OK
			}
		}},
}

func deviceName(id uint64) string { return fmt.Sprintf("device %d", id) }

// kernel gives hints on one entry.
func (r *reporter) kernel(s Setting[string], k Kernel) {
	switch {
	case strings.Contains(s.Value, " "):
		r.at(s.valueSpan(), show(s.Value), "contains spaces, which are removed: it means "+show(k.Pattern))
	case k.Kind == KernelName && !k.Unclosed && !opSuffix.MatchString(k.Pattern):
		r.as(Info, s.valueSpan(), show(s.Value), "is taken as the exact full name of an operator, but lacks the suffix such as -op12")
	case k.Kind == KernelType && !k.Unclosed && k.Pattern != "" && len(k.Pattern) <= 2:
		r.as(Info, s.valueSpan(), show(s.Value), "is taken as a part of an operator type and may match more than is meant")
	}
}

// longestRegex bounds what is parsed; no operator has such a name.
const longestRegex = 4096 // bytes

// regexFault says what is wrong with an entry that is meant as a regular
// expression. Constructs that only ECMAScript knows pass.
func regexFault(k Kernel, target Version) string {
	switch {
	case k.Unclosed:
		return "the closing bracket is missing, so it is taken as " + k.Kind.String()
	case k.Kind != KernelRegex:
		return ""
	case target.Before(sinceMS23):
		return "name-regex is known since version 2.3 only"
	case strings.Contains(k.Pattern, `\`):
		return "backslashes do not work, write [0-9] for digits"
	case len(k.Pattern) > longestRegex:
		return ""
	}
	_, err := syntax.Parse(k.Pattern, syntax.Perl)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return ""
	}
	switch bad.Code {
	case syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen,
		syntax.ErrMissingRepeatArgument, syntax.ErrInvalidCharRange:
		return bad.Code.String()
	default:
		return ""
	}
}
