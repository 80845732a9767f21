package dumpconf

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

var opSuffix = lang.Pattern(`-op[0-9]+$`)

// mindSporeKernelRules check kernels and device ids.
var mindSporeKernelRules = []rule{
	{id: "MS040", severity: Warning, checks: "kernels without dump_mode 1",
		guess: true, message: Text{EN: "kernels is used with dump_mode 1 only, found %d; it is ignored", ZH: "kernels 仅在 dump_mode 为 1 时生效，实际为 %d；会被忽略"},
		ignored: Text{EN: "used with dump_mode 1 only", ZH: "仅 dump_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("dump_mode").OK && m.at("dump_mode").Uint != 1 && len(m.at("kernels").Elems) > 0, m.at("kernels").keySpan(), m.at("dump_mode").Uint)
		}},
	{id: "MS041", severity: Warning, checks: "dump_mode 1 with empty kernels",
		guess: true, message: Text{EN: "kernels is empty and so matches all operators, although dump_mode is 1", ZH: "dump_mode 为 1 但 kernels 为空，会匹配所有算子"},
		ms: func(m *MindSpore, r *reporter) {
			matches := slices.ContainsFunc(m.Kernels, func(k Kernel) bool { return k.Pattern != "" || k.Kind == KernelRegex })
			r.when(m.at("dump_mode").Uint == 1 && m.at("kernels").OK && !matches, m.at("kernels").valueSpan())
		}},
	{id: "MS042", severity: Warning, checks: "an entry of kernels that may not match as meant",
		message: Text{EN: "kernels entry %s %s", ZH: "kernels 中的 %s %s"},
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.at("kernels").Elems {
				if s.OK {
					r.kernel(s, m.Kernels[i])
				}
			}
		}},
	{id: "MS043", severity: Warning, checks: "a regular expression of kernels that is malformed",
		message: Text{EN: "kernels entry %s: %s; use name-regex(<pattern for the whole name>) without backslashes", ZH: "kernels 中的 %s：%s；应写 name-regex(<匹配完整名称的表达式>)，不含反斜杠"},
		mind:    Text{EN: "the regular expression does not work as meant", ZH: "正则表达式不会按预期匹配"},
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.at("kernels").Elems {
				if !s.OK || r.full() {
					continue
				}
				fault := regexFault(m.Kernels[i], r.opt.TargetVersion)
				r.when(!fault.IsZero(), s.valueSpan(), show(s.Value), fault)
			}
		}},
	{id: "MS044", severity: Warning, checks: "a kernel or device that is listed twice",
		message: Text{EN: "%s is listed twice", ZH: "%s 重复"},
		ms: func(m *MindSpore, r *reporter) {
			names, ids := make(map[string]bool), make(map[uint64]bool)
			for i, s := range m.at("kernels").Elems {
				pattern := fmt.Sprint(m.Kernels[i].Kind, m.Kernels[i].Pattern)
				r.when(s.OK && names[pattern], s.valueSpan(), show(s.Value))
				names[pattern] = names[pattern] || s.OK
			}
			for _, s := range m.at("support_device").Elems {
				r.when(s.OK && ids[s.Uint], s.valueSpan(), deviceName(s.Uint))
				ids[s.Uint] = ids[s.Uint] || s.OK
			}
		}},
}

func deviceName(id uint64) lang.Sentence { return lang.Sayf("device %d", "设备 %d", id) }

// kernel gives hints on one entry.
func (r *reporter) kernel(s Setting, k Kernel) {
	switch {
	case strings.Contains(s.Value, " "):
		r.at(s.valueSpan(), show(s.Value), lang.Sayf("contains spaces, which are removed: it means %s", "含有空格，空格会被去除：实际为 %s", show(k.Pattern)))
	case k.Kind == KernelName && !k.Unclosed && !opSuffix().MatchString(k.Pattern):
		r.as(Info, s.valueSpan(), show(s.Value), Text{EN: "is taken as the exact full name of an operator, but lacks the suffix such as -op12", ZH: "按算子全名精确匹配，但缺少 -op12 之类的后缀"})
	case k.Kind == KernelType && !k.Unclosed && k.Pattern != "" && len(k.Pattern) <= 2:
		r.as(Info, s.valueSpan(), show(s.Value), Text{EN: "is taken as a part of an operator type and may match more than is meant", ZH: "按算子类型的一部分匹配，可能匹配过多"})
	}
}

// longestRegex bounds what is parsed; no operator has such a name.
const longestRegex = 4096 // bytes

// regexFault says what is wrong with an entry that is meant as a regular
// expression. Constructs that only ECMAScript knows pass.
func regexFault(k Kernel, target Version) lang.Sentence {
	switch {
	case k.Unclosed:
		return lang.Sayf("the closing bracket is missing, so it is taken as %s", "缺少右括号，因此按%s处理", k.Kind)
	case k.Kind != KernelRegex:
		return lang.Sentence{}
	case target.Before(sinceMS23):
		return lang.Sayf("name-regex is known since version 2.3 only", "name-regex 从版本 2.3 起才支持")
	case strings.Contains(k.Pattern, `\`):
		return lang.Sayf("backslashes do not work, write [0-9] for digits", "不支持反斜杠，数字请写 [0-9]")
	case len(k.Pattern) > longestRegex:
		return lang.Sentence{}
	}
	_, err := syntax.Parse(k.Pattern, syntax.Perl)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return lang.Sentence{}
	}
	switch bad.Code {
	case syntax.ErrMissingBracket:
		return lang.Sayf("missing closing ]", "缺少 ]")
	case syntax.ErrMissingParen:
		return lang.Sayf("missing closing )", "缺少 )")
	case syntax.ErrUnexpectedParen:
		return lang.Sayf("unexpected )", "多余的 )")
	case syntax.ErrMissingRepeatArgument:
		return lang.Sayf("missing argument to repetition operator", "重复运算符前没有内容")
	case syntax.ErrInvalidCharRange:
		return lang.Sayf("invalid character class range", "字符范围无效")
	default:
		return lang.Sentence{}
	}
}
