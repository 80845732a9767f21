package dumpconf

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// mindSporeShapeRules check presence and type of keys.
var mindSporeShapeRules = []rule{
	{id: "MS001", severity: Error, checks: "the file is not strict JSON, or has no common_dump_settings", guess: true, message: asSaid,
		run: func(r *reporter) {
			r.syntax()
			switch {
			case r.root == nil || r.root.Kind == jsonpos.Invalid:
			case r.root.Kind != jsonpos.Object:
				r.at(r.top(), lang.Sayf("the top level must be an object {...}, found %s", "顶层必须是对象 {...}，实际为%s", r.root.Kind))
			case r.root.Get("common_dump_settings") == nil:
				r.at(r.top(), Text{EN: "common_dump_settings not found", ZH: "没有 common_dump_settings"})
			}
			r.mistyped()
		}},
	{id: "MS002", severity: Error, checks: "the file's name does not end with .json, or MINDSPORE_DUMP_CONFIG is not absolute", message: asSaid,
		run: func(r *reporter) {
			if r.name != "" && r.name != "-" && filepath.Ext(r.name) != ".json" {
				r.at(span{}, lang.Sayf("MindSpore wants a file whose name ends with .json, found %s", "MindSpore 要求文件名以 .json 结尾，实际为 %s", show(store.Base(r.name))))
			}
			if p, ok := r.opt.env("MINDSPORE_DUMP_CONFIG"); ok && !strings.HasPrefix(p, "/") {
				r.as(Warning, span{}, lang.Sayf("the environment variable MINDSPORE_DUMP_CONFIG must hold an absolute path, found %s", "环境变量 MINDSPORE_DUMP_CONFIG 必须是绝对路径，实际为 %s", show(p)))
			}
		}},
	{id: "MS003", severity: Warning, checks: "a key that is unknown or in the wrong block, where MindSpore ignores it",
		guess: true, message: Text{EN: "key %s is ignored here%s", ZH: "键 %s 在此处会被忽略%s"},
		ignored: Text{EN: "unknown here, MindSpore ignores it", ZH: "此处不支持的键，MindSpore 忽略"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if home := r.home(s); home != nil {
					r.at(s.span(), show(s.member.Key), lang.Sayf(": it belongs into %s", "：应位于%s", home.where))
				} else {
					r.unknownKey(s, s.in.table.names())
				}
			}
		}},
	{id: "MS010", severity: Error, checks: "a required key is missing",
		guess: true, message: Text{EN: "%s is required in common_dump_settings", ZH: "common_dump_settings 中缺少必填的 %s"},
		ms: func(m *MindSpore, r *reporter) {
			r.lacking(m.Common)
		}},
	{id: "MS011", severity: Error, checks: "op_debug_mode is missing and there is no e2e_dump_settings",
		guess: true, message: Text{EN: "op_debug_mode is required where e2e_dump_settings is missing; write 0 for an ordinary dump", ZH: "没有 e2e_dump_settings 时 op_debug_mode 必填；普通 dump 写 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.Common.Present() && !m.at("op_debug_mode").Present() && !m.hasE2E() && !r.opt.noNPU() && !r.opt.TargetVersion.Before(sinceMS12),
				m.Common.keySpan()).suggest(`"op_debug_mode": 0`)
		}},
	{id: "MS018", severity: Error, checks: "a number that is quoted, negative, fractional or none", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS019", severity: Error, checks: "an array is none, or has a member of the wrong type", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS050", severity: Error, checks: "a boolean is none", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS055", severity: Warning, checks: "async_dump_settings for version 1.2 or later",
		guess: true, message: Text{EN: "async_dump_settings is ignored since version 1.2; leave e2e_dump_settings out for an asynchronous dump", ZH: "从版本 1.2 起 async_dump_settings 会被忽略；异步 dump 请去掉 e2e_dump_settings"},
		ignored: Text{EN: "not used since version 1.2", ZH: "1.2 版本起不再使用"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.Async.Present() && !r.opt.TargetVersion.Before(sinceMS12), m.Async.keySpan())
		}},
	{id: "MS056", severity: Warning, checks: "synchronous and asynchronous dump both on, for version 1.0 or 1.1",
		message: Text{EN: "synchronous and asynchronous dump are both on; only the synchronous one is effective", ZH: "同步与异步 dump 同时开启，只有同步 dump 生效"},
		ignored: Text{EN: "only the synchronous dump is effective", ZH: "只有同步 dump 生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("enable").isTrue() && m.Async.at("enable").isTrue() && r.opt.TargetVersion.Before(sinceMS12), m.Async.at("enable").keySpan())
		}},
	{id: "MS057", severity: Error, checks: "enable or trans_flag is missing, for versions before 2.0",
		guess: true, message: Text{EN: "%s is required in e2e_dump_settings before version 2.0", ZH: "版本 2.0 之前 e2e_dump_settings 中 %s 必填"},
		ms: func(m *MindSpore, r *reporter) {
			if r.opt.TargetVersion.Before(sinceMS20) {
				r.lacking(m.E2E)
			}
		}},
}

// lacking reports missing required keys of an object.
func (r *reporter) lacking(o *Object) {
	for _, k := range o.table.keys {
		r.when(k.required && o.Present() && o.Node.Get(k.Name) == nil, o.keySpan(), k.Name)
	}
}

var (
	notInPath = lang.Pattern(`[^A-Za-z0-9/_-]`)
	notInName = lang.Pattern(`[^A-Za-z0-9_-]`)
)

// mindSporeCommonRules check path, names, modes and devices.
var mindSporeCommonRules = []rule{
	{id: "MS012", severity: Error, checks: "path is missing or empty",
		guess: true, message: Text{EN: "path is missing or empty; %s", ZH: "缺少 path 或为空；%s"},
		ms: func(m *MindSpore, r *reporter) {
			if !m.Common.Present() || !m.at("path").lacks() {
				return
			}
			at := m.at("path").spanIn(m.Common)
			switch _, known := r.opt.env("MS_DIAGNOSTIC_DATA_PATH"); {
			case r.opt.TargetVersion.Before(sinceMS16):
				r.at(at, Text{EN: "it is required before version 1.6", ZH: "版本 1.6 之前必填"})
			case known:
			case r.opt.Env != nil:
				r.at(at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then, and is not set", ZH: "此时须由环境变量 MS_DIAGNOSTIC_DATA_PATH 指定目录，而该变量未设置"})
			default:
				r.as(Warning, at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then", ZH: "此时须由环境变量 MS_DIAGNOSTIC_DATA_PATH 指定目录"})
			}
		}},
	{id: "MS013", severity: Error, checks: "path is relative",
		message: Text{EN: `path must start with "/", found %s`, ZH: `path 必须以 "/" 开头，实际为 %s`},
		ms: func(m *MindSpore, r *reporter) {
			p := m.at("path")
			r.when(p.Value != "" && !strings.HasPrefix(p.Value, "/"), p.valueSpan(), show(p.Value))
		}},
	{id: "MS014", severity: Error, checks: "path is no string or has characters that are not allowed", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.badChar(m.at("path"), notInPath(), Text{EN: `letters, digits, "/", "-" and "_"`, ZH: `字母、数字、"/"、"-" 和 "_"`})
		}},
	{id: "MS015", severity: Error, checks: "net_name is no string, empty or has characters that are not allowed", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.when(m.at("net_name").isEmpty(), m.at("net_name").valueSpan(), Text{EN: "net_name must not be empty", ZH: "net_name 不能为空"})
			r.badChar(m.at("net_name"), notInName(), Text{EN: `letters, digits, "-" and "_"`, ZH: `字母、数字、"-" 和 "_"`})
		}},
	{id: "MS016", severity: Error, checks: "dump_mode is not 0, 1 or 2, or not for the target",
		message: Text{EN: "dump_mode must be 0 (all operators), 1 (those in kernels) or 2 (those marked by set_dump)%s", ZH: "dump_mode 必须为 0(全部算子)、1(kernels 中的算子)或 2(set_dump 标记的算子)%s"},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.at("dump_mode"); {
			case s.OK && s.Uint > 2:
				r.at(s.valueSpan(), lang.Sayf(", found %s", "，实际为 %s", s.Node.Text))
			case s.Uint == 2 && r.opt.TargetVersion.Before(sinceMS15):
				r.at(s.valueSpan(), Text{EN: "; 2 is known since version 1.5 only", ZH: "；2 从版本 1.5 起才支持"})
			case s.Uint == 2 && r.opt.noNPU():
				r.as(Warning, s.valueSpan(), Text{EN: "; 2 is rejected on CPU and GPU", ZH: "；CPU 和 GPU 上不支持 2"})
			}
		}},
	{id: "MS017", severity: Error, checks: "input_output is not 0, 1 or 2",
		message: Text{EN: "input_output must be 0 (both), 1 (inputs) or 2 (outputs), found %s", ZH: "input_output 必须为 0(输入和输出)、1(输入)或 2(输出)，实际为 %s"},
		ms: func(m *MindSpore, r *reporter) {
			if s := m.at("input_output"); s.OK && s.Uint > 2 {
				r.at(s.valueSpan(), s.Node.Text)
			}
		}},
	{id: "MS045", severity: Warning, checks: "support_device is empty or lacks a device that is used",
		guess: true, message: Text{EN: "the dump is off for %s: support_device does not list it", ZH: "不会 dump 的设备：%s，support_device 中没有列出"},
		mind: Text{EN: "a device in use is not in the list and does not dump", ZH: "使用中的设备不在列表中，不会 dump"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.at("support_device")
			if !s.OK || r.opt.isCPU() {
				return
			}
			r.when(s.isEmpty(), s.valueSpan(), Text{EN: "every device", ZH: "所有设备"})
			listed := func(id uint64) bool {
				return slices.ContainsFunc(s.Elems, func(d Setting) bool { return d.OK && d.Uint == id })
			}
			for _, d := range r.opt.Devices {
				r.when(s.isFilled() && !listed(d), s.valueSpan(), deviceName(d))
			}
		}},
}

// badChar reports the first character of a string that matches bad.
func (r *reporter) badChar(s Setting, bad *regexp.Regexp, allowed Text) {
	at := bad.FindStringIndex(s.Value)
	if at == nil {
		return
	}
	_, size := utf8.DecodeRuneInString(s.Value[at[0]:])
	r.at(part(s, at[0], size), lang.Sayf("%s is not allowed in %s; allowed are %s", "%[2]s 中不允许 %[1]s，可用%[3]s", show(s.Value[at[0]:at[0]+size]), lastOf(s.Path), allowed))
}

var notInIteration = lang.Pattern(`[^0-9|-]`)

// mindSporeIterationRules check the steps.
var mindSporeIterationRules = []rule{
	{id: "MS020", severity: Error, checks: "iteration is no string", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			n := m.at("iteration").Node
			if n != nil && n.Kind == jsonpos.Number && isDigits(n.Text) && r.opt.TargetVersion.Before(sinceMS12) {
				return // documented for these versions
			}
			r.mistyped()
		}},
	{id: "MS021", severity: Error, checks: "iteration has characters that are not allowed",
		message: Text{EN: `iteration %s: %s is not allowed; use digits, "-" and "|", or "all"`, ZH: `iteration %s：不允许 %s；请使用数字、"-" 和 "|"，或 "all"`},
		ms: func(m *MindSpore, r *reporter) {
			s := m.at("iteration")
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
			legal := !notInIteration().MatchString(m.at("iteration").Value)
			for _, p := range m.Steps {
				r.when(legal && !p.Valid() && p.Fault != lang.StepRest, stepSpan(p, m.at("iteration")), show(p.Text), stepFaults[p.Fault])
			}
		}},
	{id: "MS023", severity: Warning, checks: "initial_iteration is behind all steps",
		message: Text{EN: "initial_iteration %d is behind all steps of iteration; nothing will match", ZH: "initial_iteration %d 在 iteration 的所有 step 之后，不会匹配"},
		ms: func(m *MindSpore, r *reporter) {
			start := m.at("initial_iteration")
			later := func(p lang.Step) bool { return p.Fault == lang.StepRest || p.Valid() && p.To >= start.Uint }
			r.when(start.OK && len(m.Steps) > 0 && !slices.ContainsFunc(m.Steps, later), start.valueSpan(), start.Uint)
		}},
}

// repairedIteration returns the obviously intended iteration, or empty.
func repairedIteration(text string) string {
	if strings.EqualFold(strings.Trim(text, " "), "all") {
		return "all"
	}
	return repairedSteps(text)
}

// mindSporeOldRules apply to releases before 2.1 only.
var mindSporeOldRules = []rule{
	{id: "MS062", severity: Warning, checks: "neither dump is on, for version 1.0 or 1.1",
		guess: true, message: Text{EN: "this dumps nothing in version %v: set enable in e2e_dump_settings or async_dump_settings to true", ZH: "在版本 %v 中不会 dump 任何数据：请把 e2e_dump_settings 或 async_dump_settings 的 enable 设为 true"},
		ms: func(m *MindSpore, r *reporter) {
			on := m.at("enable").isTrue() || m.Async.at("enable").isTrue() || m.at("enable").misread() || m.Async.at("enable").misread()
			r.when(m.Common.Present() && r.opt.TargetVersion.Before(sinceMS12) && !on, m.at("enable").spanIn(m.Common), r.opt.TargetVersion)
		}},
	{id: "MS063", severity: Error, checks: "op_debug_mode of async_dump_settings is not 0 to 3, for version 1.0 or 1.1",
		message: Text{EN: "op_debug_mode %d is not known in async_dump_settings; use 0 (off) or 1 to 3 (overflow)", ZH: "async_dump_settings 中不支持 op_debug_mode %d；应为 0(关闭)或 1 到 3(溢出)"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.Async.at("op_debug_mode")
			r.when(s.OK && s.Uint > 3 && r.opt.TargetVersion.Before(sinceMS12), s.valueSpan(), s.Uint)
		}},
	{id: "MS064", severity: Error, checks: "statistics with e2e_dump_settings on Ascend, for version 2.0",
		message: Text{EN: "saved_data %s does not go with e2e_dump_settings on Ascend in version 2.0; use tensor, or leave the block out", ZH: "版本 2.0 的 Ascend 上 saved_data %s 不能与 e2e_dump_settings 同时使用；请用 tensor，或去掉该块"},
		ms: func(m *MindSpore, r *reporter) {
			v := r.opt.TargetVersion
			r.when(v.Major == 2 && v.Minor == 0 && m.E2E.Present() && m.savesStatistics() && !r.opt.noNPU() && !r.opt.kernelByKernel(),
				m.at("saved_data").valueSpan(), show(m.at("saved_data").Value)).suggest("tensor")
		}},
}

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

// kernel gives hints on an entry of kernels.
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

// longestRegex bounds the expressions that are parsed; no operator has such a long name.
const longestRegex = 4096 // bytes

// regexFault returns the fault of an entry meant as a regular expression. Syntax that only
// ECMAScript has is accepted.
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

// mindSporeDataRules check the saved data and its format.
var mindSporeDataRules = []rule{
	{id: "MS024", severity: Error, checks: "saved_data is not tensor, statistic or full", message: asSaid,
		run: (*reporter).values},
	{id: "MS025", severity: Error, checks: "statistics on CPU",
		message: Text{EN: "saved_data %s: statistics are not available on CPU; use tensor", ZH: "saved_data %s：CPU 上不支持统计量，请用 tensor"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.savesStatistics() && r.opt.isCPU(), m.at("saved_data").valueSpan(), show(m.at("saved_data").Value)).suggest("tensor")
		}},
	{id: "MS026", severity: Error, checks: "statistics without e2e_dump_settings need file_format npy",
		guess: true, message: Text{EN: `saved_data %s needs "file_format": "npy" where e2e_dump_settings is missing`, ZH: `没有 e2e_dump_settings 时 saved_data %s 需要 "file_format": "npy"`},
		ms: func(m *MindSpore, r *reporter) {
			if !m.savesStatistics() || m.hasE2E() || r.opt.noNPU() || m.at("file_format").Value == "npy" || m.at("file_format").misread() {
				return
			}
			if r.lacksE2E() {
				return // MS051 reports the missing block
			}
			r.insert(r.at(m.at("saved_data").valueSpan(), show(m.at("saved_data").Value)), m.Common, "file_format", "npy")
		}},
	{id: "MS027", severity: Warning, checks: "statistic_category without statistics",
		guess: true, message: Text{EN: `statistic_category is ignored while saved_data is "tensor"; write "statistic" or "full"`, ZH: `saved_data 为 "tensor" 时 statistic_category 会被忽略；请写 "statistic" 或 "full"`},
		ignored: Text{EN: `not used while saved_data is "tensor"`, ZH: `saved_data 为 "tensor" 时不生效`},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("statistic_category").Present() && (!m.at("saved_data").Present() || m.at("saved_data").Value == "tensor"), m.at("statistic_category").keySpan())
		}},
	{id: "MS028", severity: Error, checks: "statistic_category is empty, or has an item that is unknown, not for the device or listed twice", message: asSaid,
		ignored: Text{EN: "not computed on the device", ZH: "设备侧不支持该统计项"},
		ms: func(m *MindSpore, r *reporter) {
			s, seen := m.at("statistic_category"), make(map[string]bool)
			if s.isEmpty() {
				r.as(Info, s.valueSpan(), Text{EN: "statistic_category is empty; the default is max, min, l2norm", ZH: "statistic_category 为空，默认为 max、min、l2norm"})
			}
			for _, item := range s.Elems {
				if item.OK {
					r.statistic(item, seen)
				}
			}
		}},
	{id: "MS029", severity: Error, checks: "file_format is not bin or npy", message: asSaid,
		run: (*reporter).values},
	{id: "MS030", severity: Warning, checks: "file_format beside e2e_dump_settings",
		guess: true, message: Text{EN: "file_format is not used beside e2e_dump_settings; the files are npy", ZH: "有 e2e_dump_settings 时 file_format 不生效，文件为 npy"},
		ignored: Text{EN: "not used beside e2e_dump_settings: the files are npy", ZH: "有 e2e_dump_settings 时不生效，文件为 npy"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("file_format").Present() && m.hasE2E(), m.at("file_format").keySpan())
		}},
}

// statistic reports an item of statistic_category. seen has one key per set of synonyms.
func (r *reporter) statistic(item Setting, seen map[string]bool) {
	name := item.Value
	switch name {
	case "hash":
		name = "hash:sha1"
	case "hash:md5":
		name = "md5"
	}
	again := seen[name]
	seen[name] = true
	m := r.check.ms
	onDevice := m.at("stat_calc_mode").Value == "device" && !r.opt.noNPU() && !m.savesTensors()
	switch {
	case !slices.Contains(hostStatistics, item.Value):
		best := r.nearest(item.Value, hostStatistics)
		f := r.at(item.valueSpan(), lang.Sayf("%s is not a statistic; allowed are %s", "%s 不是统计项，可选值为 %s", show(item.Value), list(hostStatistics))).suggest(best)
		if best != "" && strings.EqualFold(best, item.Value) {
			f.repair(item, best)
		}
	case again:
		r.as(Info, item.valueSpan(), lang.Sayf("%s is listed twice", "%s 重复", show(item.Value)))
	case onDevice && !slices.Contains(deviceStatistics, item.Value):
		r.as(Warning, item.valueSpan(), lang.Sayf("%s is computed on the host only; stat_calc_mode \"device\" leaves it out", "%s 只能在主机侧计算；stat_calc_mode 为 \"device\" 时不输出", show(item.Value)))
	}
}

// mindSporeDebugRules check op_debug_mode and the keys that depend on it.
var mindSporeDebugRules = []rule{
	{id: "MS031", severity: Error, checks: "op_debug_mode is not known",
		message: Text{EN: "op_debug_mode %d is not known; use 0 (off), 3 (overflow)%s", ZH: "不支持 op_debug_mode %d；应为 0(关闭)、3(溢出)%s"},
		ms: func(m *MindSpore, r *reporter) {
			s, old := m.at("op_debug_mode"), r.opt.TargetVersion.Before(sinceMS20)
			r.when(old && s.Uint > 3, s.valueSpan(), s.Uint, Text{EN: "; 4 is known since version 2 only", ZH: "；4 从版本 2 起才支持"})
			r.when(!old && s.Uint > 4, s.valueSpan(), s.Uint, Text{EN: " or 4 (failing operators)", ZH: "或 4(失败的算子)"})
		}},
	{id: "MS032", severity: Warning, checks: "op_debug_mode 1 or 2 for version 2 or later",
		message: Text{EN: "op_debug_mode %d is treated as 3, all overflows", ZH: "op_debug_mode %d 按 3(所有溢出)处理"},
		ignored: Text{EN: "taken as 3, all overflows", ZH: "按 3(所有溢出)处理"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.at("op_debug_mode")
			r.when((s.Uint == 1 || s.Uint == 2) && !r.opt.TargetVersion.Before(sinceMS20), s.valueSpan(), s.Uint).suggest("3")
		}},
	{id: "MS033", severity: Warning, checks: "op_debug_mode is on and filters are set, which are ignored then",
		guess: true, message: Text{EN: "%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped", ZH: "op_debug_mode 不为 0 时 %s 会被忽略(当前为 %d)：只 dump 溢出或失败的算子"},
		ignored: Text{EN: "not used while op_debug_mode is not 0", ZH: "op_debug_mode 不为 0 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() != 0 && m.at("dump_mode").Uint != 0, m.at("dump_mode").valueSpan(), "dump_mode", m.debugMode())
			r.when(m.debugMode() == 4 && m.at("iteration").OK && m.at("iteration").Value != "all", m.at("iteration").valueSpan(), "iteration", m.debugMode())
		}},
	{id: "MS034", severity: Warning, checks: "op_debug_mode 3 with input_output other than 0",
		message: Text{EN: "input_output is forced to 0 while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时 input_output 强制为 0"},
		ignored: Text{EN: "forced to 0 (both) while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时强制为 0(输入和输出)"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() == 3 && m.at("input_output").Uint != 0, m.at("input_output").valueSpan())
		}},
	{id: "MS035", severity: Error, checks: "overflow_number without op_debug_mode 3",
		guess: true, message: Text{EN: "overflow_number needs op_debug_mode 3, found %d; remove it otherwise", ZH: "overflow_number 需要 op_debug_mode 3，实际为 %d；否则请删除"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("overflow_number").Present() && m.debugMode() != 3 && !m.at("op_debug_mode").misread(), m.at("overflow_number").keySpan(), m.debugMode())
		}},
	{id: "MS060", severity: Warning, checks: "op_debug_mode is on for CPU or GPU",
		message: Text{EN: "op_debug_mode %d saves nothing on CPU and GPU; write 0", ZH: "op_debug_mode %d 在 CPU 和 GPU 上不保存数据，请写 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() != 0 && r.opt.noNPU(), m.at("op_debug_mode").valueSpan(), m.debugMode()).suggest("0")
		}},
	{id: "MS036", severity: Warning, checks: "op_debug_mode 4 with saved_data or sampling",
		message: Text{EN: "%s while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时%s"},
		ignored: Text{EN: "not used while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() == 4 && m.savesStatistics(), m.at("saved_data").valueSpan(), Text{EN: `saved_data is forced to "tensor"`, ZH: ` saved_data 强制为 "tensor"`})
			r.when(m.debugMode() == 4 && m.at("sample_mode").Uint != 0, m.at("sample_mode").valueSpan(), Text{EN: "sampling is off", ZH: "采样关闭"})
		}},
}

// mindSporeE2ERules check e2e_dump_settings.
var mindSporeE2ERules = []rule{
	{id: "MS052", severity: Error, checks: "stat_calc_mode or device_stat_precision_mode is not known", message: asSaid,
		run: (*reporter).values},
	{id: "MS053", severity: Warning, checks: "stat_calc_mode device where the host must compute",
		guess: true, message: Text{EN: `stat_calc_mode "device" is forced back to "host"%s`, ZH: `stat_calc_mode "device" 会强制改回 "host"%s`},
		ignored: Text{EN: `forced back to "host"`, ZH: `强制改为 "host"`},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.at("stat_calc_mode"); {
			case s.Value != "device":
			case r.opt.noNPU():
				r.at(s.valueSpan(), Text{EN: " without an NPU", ZH: "：没有 NPU"})
			case m.savesTensors() && !m.at("saved_data").misread():
				r.at(s.valueSpan(), Text{EN: `: it needs saved_data "statistic"`, ZH: `：需要 saved_data "statistic"`})
			}
		}},
	{id: "MS054", severity: Error, checks: "sample_mode or sample_num is out of range, or sample_num is not read", guess: true, message: asSaid,
		ignored: Text{EN: "read only when sample_mode is 1", ZH: "仅 sample_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			mode, num := m.at("sample_mode"), m.at("sample_num")
			if mode.OK && mode.Uint > 1 {
				r.at(mode.valueSpan(), lang.Sayf("sample_mode must be 0 (off) or 1 (head and tail), found %s", "sample_mode 必须为 0(关闭)或 1(首尾采样)，实际为 %s", mode.Node.Text))
			}
			switch {
			case num.OK && num.Uint == 0:
				r.at(num.valueSpan(), Text{EN: "sample_num must be at least 1", ZH: "sample_num 至少为 1"})
			case num.Present() && (!mode.Present() || mode.OK && mode.Uint == 0):
				r.as(Warning, num.keySpan(), Text{EN: "sample_num is read only when sample_mode is 1", ZH: "仅当 sample_mode 为 1 时读取 sample_num"})
			}
		}},
	{id: "MS059", severity: Warning, checks: "sampling on CPU or GPU, or without e2e_dump_settings",
		guess: true, message: Text{EN: "sample_mode 1 is ignored %s", ZH: "sample_mode 1 会被忽略：%s"},
		ignored: Text{EN: "sampling does not work here", ZH: "此场景不支持采样"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("sample_mode").Uint == 1 && r.opt.noNPU(), m.at("sample_mode").valueSpan(), Text{EN: "on CPU and GPU", ZH: "CPU 和 GPU 上不支持"})
			for _, s := range r.read.unknown {
				v := s.member.Value
				r.when(!m.hasE2E() && s.member.Key == "sample_mode" && v.Kind == jsonpos.Number && v.Text == "1", s.span(), Text{EN: "without e2e_dump_settings", ZH: "没有 e2e_dump_settings"})
			}
		}},
}

// mindSporeBackendRules check whether the backend supports the dump.
var mindSporeBackendRules = []rule{
	{id: "MS051", severity: Warning, checks: "no e2e_dump_settings for a backend that needs it",
		guess: true, message: Text{EN: "no data will be written: backend %s needs e2e_dump_settings since version 2.4", ZH: "不会写出数据：从版本 2.4 起 backend %s 需要 e2e_dump_settings"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(r.lacksE2E(), m.Common.keySpan(), r.opt.Backend).suggest(`"e2e_dump_settings": {"enable": false}`)
		}},
	{id: "MS061", severity: Warning, checks: "e2e_dump_settings for the graph engine, from version 2.4 on",
		guess: true, message: Text{EN: "backend %s has no e2e_dump_settings since version 2.4; leave the block out", ZH: "从版本 2.4 起 backend %s 不支持 e2e_dump_settings，请去掉该块"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.E2E.Present() && r.opt.graphEngine() && !r.opt.noNPU() && !r.opt.TargetVersion.Before(sinceMS24),
				m.E2E.keySpan(), r.opt.Backend)
		}},
	{id: "MS058", severity: Info, checks: "dynamic graphs, or the graph engine from version 2.6 on",
		message: Text{EN: "MindSpore itself does not dump %s; use msprobe", ZH: "MindSpore 自身不支持 dump：%s；请使用 msprobe"},
		run: func(r *reporter) {
			switch {
			case r.opt.backend() == "pynative":
				r.at(r.top(), Text{EN: "in dynamic graph mode", ZH: "动态图模式"})
			case r.opt.graphEngine() && !r.opt.TargetVersion.Before(sinceMS26):
				r.at(r.top(), Text{EN: "with the graph engine any more, since version 2.6", ZH: "图引擎(从版本 2.6 起)"})
			}
		}},
}

// lacksE2E reports whether the backend writes nothing because e2e_dump_settings is missing.
func (c *check) lacksE2E() bool {
	return c.ms.Common.Present() && !c.ms.hasE2E() && c.opt.kernelByKernel() && !c.opt.noNPU() &&
		!c.opt.TargetVersion.Before(sinceMS24)
}
