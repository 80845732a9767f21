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
	{id: "MS001", severity: Error, checks: "the file is not strict JSON, or has no common_dump_settings", guess: true, message: sentenceMessage,
		run: func(r *reporter) {
			r.reportSyntax()
			switch {
			case r.root == nil || r.root.Kind == jsonpos.Invalid:
			case r.root.Kind != jsonpos.Object:
				r.report(r.wholeText(), lang.Say("the top level must be an object {...}, found %s", r.root.Kind))
			case r.root.Get("common_dump_settings") == nil:
				r.report(r.wholeText(), Text{EN: "common_dump_settings not found"})
			}
			r.reportTypes()
		}},
	{id: "MS002", severity: Error, checks: "the file's name does not end with .json, or MINDSPORE_DUMP_CONFIG is not absolute", message: sentenceMessage,
		run: func(r *reporter) {
			if r.Name != "" && r.Name != "-" && filepath.Ext(r.Name) != ".json" {
				r.report(span{}, lang.Say("MindSpore wants a file whose name ends with .json, found %s", quoteShort(store.Base(r.Name))))
			}
			if p, ok := r.opt.lookupEnv("MINDSPORE_DUMP_CONFIG"); ok && !strings.HasPrefix(p, "/") {
				r.reportAs(Warning, span{}, lang.Say("the environment variable MINDSPORE_DUMP_CONFIG must hold an absolute path, found %s", quoteShort(p)))
			}
		}},
	{id: "MS003", severity: Warning, checks: "a key that is unknown or in the wrong block, where MindSpore ignores it",
		guess: true, message: Text{EN: "key %s is ignored here%s"},
		ignored: Text{EN: "unknown here, MindSpore ignores it"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if table := r.tableOfKey(s); table != nil {
					r.report(s.span(), quoteShort(s.member.Key), lang.Say(": it belongs in %s", table.description))
				} else {
					r.reportUnknownKey(s, s.object.table.names())
				}
			}
		}},
	{id: "MS010", severity: Error, checks: "a required key is missing",
		guess: true, message: Text{EN: "%s is required in common_dump_settings"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportMissing(m.Common)
		}},
	{id: "MS011", severity: Error, checks: "op_debug_mode is missing and there is no e2e_dump_settings",
		guess: true, message: Text{EN: "op_debug_mode is required where e2e_dump_settings is missing; write 0 for an ordinary dump"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.Common.Present() && !m.setting("op_debug_mode").Present() && !m.hasE2E() && !r.opt.hasNoNPU() && !r.opt.TargetVersion.IsBefore(sinceMS12),
				m.Common.keySpan()).suggest(`"op_debug_mode": 0`)
		}},
	{id: "MS018", severity: Error, checks: "a number that is quoted, negative, fractional or none", message: sentenceMessage,
		run: (*reporter).reportTypes},
	{id: "MS019", severity: Error, checks: "an array is none, or has a member of the wrong type", message: sentenceMessage,
		run: (*reporter).reportTypes},
	{id: "MS050", severity: Error, checks: "a boolean is none", message: sentenceMessage,
		run: (*reporter).reportTypes},
	{id: "MS055", severity: Warning, checks: "async_dump_settings for version 1.2 or later",
		guess: true, message: Text{EN: "async_dump_settings is ignored since version 1.2; leave e2e_dump_settings out for an asynchronous dump"},
		ignored: Text{EN: "not used since version 1.2"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.Async.Present() && !r.opt.TargetVersion.IsBefore(sinceMS12), m.Async.keySpan())
		}},
	{id: "MS056", severity: Warning, checks: "synchronous and asynchronous dump both on, for version 1.0 or 1.1",
		message: Text{EN: "synchronous and asynchronous dump are both on; only the synchronous one is effective"},
		ignored: Text{EN: "only the synchronous dump is effective"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("enable").isTrue() && m.Async.setting("enable").isTrue() && r.opt.TargetVersion.IsBefore(sinceMS12), m.Async.setting("enable").keySpan())
		}},
	{id: "MS057", severity: Error, checks: "enable or trans_flag is missing, for versions before 2.0",
		guess: true, message: Text{EN: "%s is required in e2e_dump_settings before version 2.0"},
		ms: func(m *MindSpore, r *reporter) {
			if r.opt.TargetVersion.IsBefore(sinceMS20) {
				r.reportMissing(m.E2E)
			}
		}},
}

// reportMissing reports missing required keys of an object.
func (r *reporter) reportMissing(o *Object) {
	for _, k := range o.table.keys {
		r.reportIf(k.isRequired && o.Present() && o.Node.Get(k.Name) == nil, o.keySpan(), k.Name)
	}
}

var (
	notInPath = lang.Pattern(`[^A-Za-z0-9/_-]`)
	notInName = lang.Pattern(`[^A-Za-z0-9_-]`)
)

// mindSporeCommonRules check path, names, modes and devices.
var mindSporeCommonRules = []rule{
	{id: "MS012", severity: Error, checks: "path is missing or empty",
		guess: true, message: Text{EN: "path is missing or empty; %s"},
		ms: func(m *MindSpore, r *reporter) {
			if !m.Common.Present() || !m.setting("path").isAbsentOrEmpty() {
				return
			}
			at := m.setting("path").spanIn(m.Common)
			switch _, known := r.opt.lookupEnv("MS_DIAGNOSTIC_DATA_PATH"); {
			case r.opt.TargetVersion.IsBefore(sinceMS16):
				r.report(at, Text{EN: "it is required before version 1.6"})
			case known:
			case r.opt.Env != nil:
				r.report(at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then, and is not set"})
			default:
				r.reportAs(Warning, at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then"})
			}
		}},
	{id: "MS013", severity: Error, checks: "path is relative",
		message: Text{EN: `path must start with "/", found %s`},
		ms: func(m *MindSpore, r *reporter) {
			p := m.setting("path")
			r.reportIf(p.Value != "" && !strings.HasPrefix(p.Value, "/"), p.valueSpan(), quoteShort(p.Value))
		}},
	{id: "MS014", severity: Error, checks: "path is no string or has characters that are not allowed", message: sentenceMessage,
		ms: func(m *MindSpore, r *reporter) {
			r.reportTypes()
			r.reportBadChar(m.setting("path"), notInPath(), Text{EN: `letters, digits, "/", "-" and "_"`})
		}},
	{id: "MS015", severity: Error, checks: "net_name is no string, empty or has characters that are not allowed", message: sentenceMessage,
		ms: func(m *MindSpore, r *reporter) {
			r.reportTypes()
			r.reportIf(m.setting("net_name").isEmpty(), m.setting("net_name").valueSpan(), Text{EN: "net_name must not be empty"})
			r.reportBadChar(m.setting("net_name"), notInName(), Text{EN: `letters, digits, "-" and "_"`})
		}},
	{id: "MS016", severity: Error, checks: "dump_mode is not 0, 1 or 2, or not for the target",
		message: Text{EN: "dump_mode must be 0 (all operators), 1 (operators in kernels) or 2 (operators marked by set_dump)%s"},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.setting("dump_mode"); {
			case s.OK && s.Uint > 2:
				r.report(s.valueSpan(), lang.Say(", found %s", s.Node.Text))
			case s.Uint == 2 && r.opt.TargetVersion.IsBefore(sinceMS15):
				r.report(s.valueSpan(), Text{EN: "; 2 needs version 1.5 or later"})
			case s.Uint == 2 && r.opt.hasNoNPU():
				r.reportAs(Warning, s.valueSpan(), Text{EN: "; 2 is rejected on CPU and GPU"})
			}
		}},
	{id: "MS017", severity: Error, checks: "input_output is not 0, 1 or 2",
		message: Text{EN: "input_output must be 0 (both), 1 (inputs) or 2 (outputs), found %s"},
		ms: func(m *MindSpore, r *reporter) {
			if s := m.setting("input_output"); s.OK && s.Uint > 2 {
				r.report(s.valueSpan(), s.Node.Text)
			}
		}},
	{id: "MS045", severity: Warning, checks: "support_device is empty or lacks a device that is used",
		guess: true, message: Text{EN: "the dump is off for %s: support_device does not list it"},
		caution: Text{EN: "a device in use is not in the list and does not dump"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.setting("support_device")
			if !s.OK || r.opt.isCPU() {
				return
			}
			r.reportIf(s.isEmpty(), s.valueSpan(), Text{EN: "every device"})
			listed := func(id uint64) bool {
				return slices.ContainsFunc(s.Elems, func(d Setting) bool { return d.OK && d.Uint == id })
			}
			for _, d := range r.opt.Devices {
				r.reportIf(s.isFilled() && !listed(d), s.valueSpan(), deviceName(d))
			}
		}},
}

// reportBadChar reports the first character of a string that matches bad.
func (r *reporter) reportBadChar(s Setting, bad *regexp.Regexp, allowed Text) {
	at := bad.FindStringIndex(s.Value)
	if at == nil {
		return
	}
	_, size := utf8.DecodeRuneInString(s.Value[at[0]:])
	r.report(partSpan(s, at[0], size), lang.Say("%s is not allowed in %s; allowed are %s", quoteShort(s.Value[at[0]:at[0]+size]), lastPart(s.Path), allowed))
}

var iterationForbidden = lang.Pattern(`[^0-9|-]`)

// mindSporeIterationRules check the steps.
var mindSporeIterationRules = []rule{
	{id: "MS020", severity: Error, checks: "iteration is no string", message: sentenceMessage,
		ms: func(m *MindSpore, r *reporter) {
			n := m.setting("iteration").Node
			if n != nil && n.Kind == jsonpos.Number && isDigits(n.Text) && r.opt.TargetVersion.IsBefore(sinceMS12) {
				return // documented for these versions
			}
			r.reportTypes()
		}},
	{id: "MS021", severity: Error, checks: "iteration has characters that are not allowed",
		message: Text{EN: `iteration %s: %s is not allowed; use digits, "-" and "|", or "all"`},
		ms: func(m *MindSpore, r *reporter) {
			s := m.setting("iteration")
			at := iterationForbidden().FindStringIndex(s.Value)
			if s.Value == "all" || at == nil {
				return
			}
			f := r.report(partSpan(s, at[0], at[1]-at[0]), quoteShort(s.Value), quoteShort(s.Value[at[0]:at[1]]))
			if repaired := repairedIteration(s.Value); repaired != "" {
				f.repair(s, repaired)
			}
		}},
	{id: "MS022", severity: Warning, checks: "a piece of iteration that matches nothing",
		guess: true, message: Text{EN: "%s in iteration matches no step: it %s"},
		ignored: Text{EN: "a piece matches no step"},
		ms: func(m *MindSpore, r *reporter) {
			legal := !iterationForbidden().MatchString(m.setting("iteration").Value)
			for _, p := range m.Steps {
				r.reportIf(legal && !p.Valid() && p.Fault != lang.StepRest, stepSpan(p, m.setting("iteration")), quoteShort(p.Text), stepFaults[p.Fault])
			}
		}},
	{id: "MS023", severity: Warning, checks: "initial_iteration is behind all steps",
		message: Text{EN: "initial_iteration %d is after all steps of iteration: no step matches"},
		ms: func(m *MindSpore, r *reporter) {
			start := m.setting("initial_iteration")
			isLater := func(p lang.Step) bool { return p.Fault == lang.StepRest || p.Valid() && p.To >= start.Uint }
			r.reportIf(start.OK && len(m.Steps) > 0 && !slices.ContainsFunc(m.Steps, isLater), start.valueSpan(), start.Uint)
		}},
}

// repairedIteration returns the obviously intended iteration, or empty.
func repairedIteration(text string) string {
	if strings.EqualFold(strings.Trim(text, " "), "all") {
		return "all"
	}
	return repairSteps(text)
}

// mindSporeOldRules apply to releases before 2.1 only.
var mindSporeOldRules = []rule{
	{id: "MS062", severity: Warning, checks: "neither dump is on, for version 1.0 or 1.1",
		guess: true, message: Text{EN: "this dumps nothing in version %v: set enable in e2e_dump_settings or async_dump_settings to true"},
		ms: func(m *MindSpore, r *reporter) {
			isEnabled := m.setting("enable").isTrue() || m.Async.setting("enable").isTrue() || m.setting("enable").isWrongType() || m.Async.setting("enable").isWrongType()
			r.reportIf(m.Common.Present() && r.opt.TargetVersion.IsBefore(sinceMS12) && !isEnabled, m.setting("enable").spanIn(m.Common), r.opt.TargetVersion)
		}},
	{id: "MS063", severity: Error, checks: "op_debug_mode of async_dump_settings is not 0 to 3, for version 1.0 or 1.1",
		message: Text{EN: "async_dump_settings does not support op_debug_mode %d; use 0 (off) or 1 to 3 (overflow)"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.Async.setting("op_debug_mode")
			r.reportIf(s.OK && s.Uint > 3 && r.opt.TargetVersion.IsBefore(sinceMS12), s.valueSpan(), s.Uint)
		}},
	{id: "MS064", severity: Error, checks: "statistics with e2e_dump_settings on Ascend, for version 2.0",
		message: Text{EN: "saved_data %s cannot be used with e2e_dump_settings on Ascend in version 2.0; use tensor, or remove the block"},
		ms: func(m *MindSpore, r *reporter) {
			v := r.opt.TargetVersion
			r.reportIf(v.Major == 2 && v.Minor == 0 && m.E2E.Present() && m.savesStatistics() && !r.opt.hasNoNPU() && !r.opt.isKernelByKernel(),
				m.setting("saved_data").valueSpan(), quoteShort(m.setting("saved_data").Value)).suggest("tensor")
		}},
}

var opSuffix = lang.Pattern(`-op[0-9]+$`)

// mindSporeKernelRules check kernels and device ids.
var mindSporeKernelRules = []rule{
	{id: "MS040", severity: Warning, checks: "kernels without dump_mode 1",
		guess: true, message: Text{EN: "kernels is used with dump_mode 1 only, found %d; it is ignored"},
		ignored: Text{EN: "used with dump_mode 1 only"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("dump_mode").OK && m.setting("dump_mode").Uint != 1 && len(m.setting("kernels").Elems) > 0, m.setting("kernels").keySpan(), m.setting("dump_mode").Uint)
		}},
	{id: "MS041", severity: Warning, checks: "dump_mode 1 with empty kernels",
		guess: true, message: Text{EN: "kernels is empty and so matches all operators, although dump_mode is 1"},
		ms: func(m *MindSpore, r *reporter) {
			matches := slices.ContainsFunc(m.Kernels, func(k Kernel) bool { return k.Pattern != "" || k.Kind == KernelRegex })
			r.reportIf(m.setting("dump_mode").Uint == 1 && m.setting("kernels").OK && !matches, m.setting("kernels").valueSpan())
		}},
	{id: "MS042", severity: Warning, checks: "an entry of kernels that may not match as meant",
		message: Text{EN: "kernels entry %s %s"},
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.setting("kernels").Elems {
				if s.OK {
					r.reportKernel(s, m.Kernels[i])
				}
			}
		}},
	{id: "MS043", severity: Warning, checks: "a regular expression of kernels that is malformed",
		message: Text{EN: "kernels entry %s: %s; use name-regex(<pattern for the whole name>) without backslashes"},
		caution: Text{EN: "the regular expression does not work as meant"},
		ms: func(m *MindSpore, r *reporter) {
			for i, s := range m.setting("kernels").Elems {
				if !s.OK || r.isFull() {
					continue
				}
				fault := regexFault(m.Kernels[i], r.opt.TargetVersion)
				r.reportIf(!fault.IsZero(), s.valueSpan(), quoteShort(s.Value), fault)
			}
		}},
	{id: "MS044", severity: Warning, checks: "a kernel or device that is listed twice",
		message: Text{EN: "%s is listed twice"},
		ms: func(m *MindSpore, r *reporter) {
			names, ids := make(map[string]bool), make(map[uint64]bool)
			for i, s := range m.setting("kernels").Elems {
				pattern := fmt.Sprint(m.Kernels[i].Kind, m.Kernels[i].Pattern)
				r.reportIf(s.OK && names[pattern], s.valueSpan(), quoteShort(s.Value))
				names[pattern] = names[pattern] || s.OK
			}
			for _, s := range m.setting("support_device").Elems {
				r.reportIf(s.OK && ids[s.Uint], s.valueSpan(), deviceName(s.Uint))
				ids[s.Uint] = ids[s.Uint] || s.OK
			}
		}},
}

func deviceName(id uint64) lang.Sentence { return lang.Say("device %d", id) }

// reportKernel gives hints on an entry of kernels.
func (r *reporter) reportKernel(s Setting, k Kernel) {
	switch {
	case strings.Contains(s.Value, " "):
		r.report(s.valueSpan(), quoteShort(s.Value), lang.Say("contains spaces, which are removed: it means %s", quoteShort(k.Pattern)))
	case k.Kind == KernelName && !k.Unclosed && !opSuffix().MatchString(k.Pattern):
		r.reportAs(Info, s.valueSpan(), quoteShort(s.Value), Text{EN: "must match the full name of an operator, but lacks a suffix such as -op12"})
	case k.Kind == KernelType && !k.Unclosed && k.Pattern != "" && len(k.Pattern) <= 2:
		r.reportAs(Info, s.valueSpan(), quoteShort(s.Value), Text{EN: "matches part of an operator type and may match more than intended"})
	}
}

// longestRegex bounds the expressions that are parsed; no operator has such a long name.
const longestRegex = 4096 // bytes

// regexFault returns the fault of an entry meant as a regular expression. Syntax that only
// ECMAScript has is accepted.
func regexFault(k Kernel, target Version) lang.Sentence {
	switch {
	case k.Unclosed:
		return lang.Say("the closing bracket is missing, so it is read as %s", k.Kind)
	case k.Kind != KernelRegex:
		return lang.Sentence{}
	case target.IsBefore(sinceMS23):
		return lang.Say("name-regex needs version 2.3 or later")
	case strings.Contains(k.Pattern, `\`):
		return lang.Say("backslashes do not work, write [0-9] for digits")
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
		return lang.Say("missing closing ]")
	case syntax.ErrMissingParen:
		return lang.Say("missing closing )")
	case syntax.ErrUnexpectedParen:
		return lang.Say("unexpected )")
	case syntax.ErrMissingRepeatArgument:
		return lang.Say("missing argument to repetition operator")
	case syntax.ErrInvalidCharRange:
		return lang.Say("invalid character class range")
	default:
		return lang.Sentence{}
	}
}

// mindSporeDataRules check the saved data and its format.
var mindSporeDataRules = []rule{
	{id: "MS024", severity: Error, checks: "saved_data is not tensor, statistic or full", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "MS025", severity: Error, checks: "statistics on CPU",
		message: Text{EN: "saved_data %s: statistics are not available on CPU; use tensor"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.savesStatistics() && r.opt.isCPU(), m.setting("saved_data").valueSpan(), quoteShort(m.setting("saved_data").Value)).suggest("tensor")
		}},
	{id: "MS026", severity: Error, checks: "statistics without e2e_dump_settings need file_format npy",
		guess: true, message: Text{EN: `saved_data %s needs "file_format": "npy" where e2e_dump_settings is missing`},
		ms: func(m *MindSpore, r *reporter) {
			if !m.savesStatistics() || m.hasE2E() || r.opt.hasNoNPU() || m.setting("file_format").Value == "npy" || m.setting("file_format").isWrongType() {
				return
			}
			if r.lacksE2E() {
				return // MS051 reports the missing block
			}
			r.suggestMember(r.report(m.setting("saved_data").valueSpan(), quoteShort(m.setting("saved_data").Value)), m.Common, "file_format", "npy")
		}},
	{id: "MS027", severity: Warning, checks: "statistic_category without statistics",
		guess: true, message: Text{EN: `statistic_category is ignored while saved_data is "tensor"; write "statistic" or "full"`},
		ignored: Text{EN: `not used while saved_data is "tensor"`},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("statistic_category").Present() && (!m.setting("saved_data").Present() || m.setting("saved_data").Value == "tensor"), m.setting("statistic_category").keySpan())
		}},
	{id: "MS028", severity: Error, checks: "statistic_category is empty, or has an item that is unknown, not for the device or listed twice", message: sentenceMessage,
		ignored: Text{EN: "not computed on the device"},
		ms: func(m *MindSpore, r *reporter) {
			s, seen := m.setting("statistic_category"), make(map[string]bool)
			if s.isEmpty() {
				r.reportAs(Info, s.valueSpan(), Text{EN: "statistic_category is empty; the default is max, min, l2norm"})
			}
			for _, item := range s.Elems {
				if item.OK {
					r.reportStatistic(item, seen)
				}
			}
		}},
	{id: "MS029", severity: Error, checks: "file_format is not bin or npy", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "MS030", severity: Warning, checks: "file_format beside e2e_dump_settings",
		guess: true, message: Text{EN: "file_format has no effect with e2e_dump_settings: the files are npy"},
		ignored: Text{EN: "no effect with e2e_dump_settings: the files are npy"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("file_format").Present() && m.hasE2E(), m.setting("file_format").keySpan())
		}},
}

// reportStatistic reports an item of statistic_category. seen has one key per set of synonyms.
func (r *reporter) reportStatistic(item Setting, seen map[string]bool) {
	name := item.Value
	switch name {
	case "hash":
		name = "hash:sha1"
	case "hash:md5":
		name = "md5"
	}
	isRepeated := seen[name]
	seen[name] = true
	m := r.check.MindSpore
	onDevice := m.setting("stat_calc_mode").Value == "device" && !r.opt.hasNoNPU() && !m.savesTensors()
	switch {
	case !slices.Contains(hostStatistics, item.Value):
		best := r.nearestWord(item.Value, hostStatistics)
		f := r.report(item.valueSpan(), lang.Say("%s is not a statistic; allowed are %s", quoteShort(item.Value), joinValues(hostStatistics))).suggest(best)
		if best != "" && strings.EqualFold(best, item.Value) {
			f.repair(item, best)
		}
	case isRepeated:
		r.reportAs(Info, item.valueSpan(), lang.Say("%s is listed twice", quoteShort(item.Value)))
	case onDevice && !slices.Contains(deviceStatistics, item.Value):
		r.reportAs(Warning, item.valueSpan(), lang.Say("%s is computed on the host only; stat_calc_mode \"device\" leaves it out", quoteShort(item.Value)))
	}
}

// mindSporeDebugRules check op_debug_mode and the keys that depend on it.
var mindSporeDebugRules = []rule{
	{id: "MS031", severity: Error, checks: "op_debug_mode is not known",
		message: Text{EN: "op_debug_mode %d is not supported; use 0 (off), 3 (overflow)%s"},
		ms: func(m *MindSpore, r *reporter) {
			s, old := m.setting("op_debug_mode"), r.opt.TargetVersion.IsBefore(sinceMS20)
			r.reportIf(old && s.Uint > 3, s.valueSpan(), s.Uint, Text{EN: "; 4 needs version 2 or later"})
			r.reportIf(!old && s.Uint > 4, s.valueSpan(), s.Uint, Text{EN: " or 4 (failing operators)"})
		}},
	{id: "MS032", severity: Warning, checks: "op_debug_mode 1 or 2 for version 2 or later",
		message: Text{EN: "op_debug_mode %d is treated as 3, all overflows"},
		ignored: Text{EN: "treated as 3, all overflows"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.setting("op_debug_mode")
			r.reportIf((s.Uint == 1 || s.Uint == 2) && !r.opt.TargetVersion.IsBefore(sinceMS20), s.valueSpan(), s.Uint).suggest("3")
		}},
	{id: "MS033", severity: Warning, checks: "op_debug_mode is on and filters are set, which are ignored then",
		guess: true, message: Text{EN: "%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped"},
		ignored: Text{EN: "not used while op_debug_mode is not 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.debugMode() != 0 && m.setting("dump_mode").Uint != 0, m.setting("dump_mode").valueSpan(), "dump_mode", m.debugMode())
			r.reportIf(m.debugMode() == 4 && m.setting("iteration").OK && m.setting("iteration").Value != "all", m.setting("iteration").valueSpan(), "iteration", m.debugMode())
		}},
	{id: "MS034", severity: Warning, checks: "op_debug_mode 3 with input_output other than 0",
		message: Text{EN: "input_output is forced to 0 while op_debug_mode is 3"},
		ignored: Text{EN: "forced to 0 (both) while op_debug_mode is 3"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.debugMode() == 3 && m.setting("input_output").Uint != 0, m.setting("input_output").valueSpan())
		}},
	{id: "MS035", severity: Error, checks: "overflow_number without op_debug_mode 3",
		guess: true, message: Text{EN: "overflow_number needs op_debug_mode 3, found %d; remove it otherwise"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("overflow_number").Present() && m.debugMode() != 3 && !m.setting("op_debug_mode").isWrongType(), m.setting("overflow_number").keySpan(), m.debugMode())
		}},
	{id: "MS060", severity: Warning, checks: "op_debug_mode is on for CPU or GPU",
		message: Text{EN: "op_debug_mode %d saves nothing on CPU and GPU; write 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.debugMode() != 0 && r.opt.hasNoNPU(), m.setting("op_debug_mode").valueSpan(), m.debugMode()).suggest("0")
		}},
	{id: "MS036", severity: Warning, checks: "op_debug_mode 4 with saved_data or sampling",
		message: Text{EN: "%s while op_debug_mode is 4"},
		ignored: Text{EN: "not used while op_debug_mode is 4"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.debugMode() == 4 && m.savesStatistics(), m.setting("saved_data").valueSpan(), Text{EN: `saved_data is forced to "tensor"`})
			r.reportIf(m.debugMode() == 4 && m.setting("sample_mode").Uint != 0, m.setting("sample_mode").valueSpan(), Text{EN: "sampling is off"})
		}},
}

// mindSporeE2ERules check e2e_dump_settings.
var mindSporeE2ERules = []rule{
	{id: "MS052", severity: Error, checks: "stat_calc_mode or device_stat_precision_mode is not known", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "MS053", severity: Warning, checks: "stat_calc_mode device where the host must compute",
		guess: true, message: Text{EN: `stat_calc_mode "device" is forced back to "host"%s`},
		ignored: Text{EN: `forced back to "host"`},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.setting("stat_calc_mode"); {
			case s.Value != "device":
			case r.opt.hasNoNPU():
				r.report(s.valueSpan(), Text{EN: " without an NPU"})
			case m.savesTensors() && !m.setting("saved_data").isWrongType():
				r.report(s.valueSpan(), Text{EN: `: it needs saved_data "statistic"`})
			}
		}},
	{id: "MS054", severity: Error, checks: "sample_mode or sample_num is out of range, or sample_num is not read", guess: true, message: sentenceMessage,
		ignored: Text{EN: "read only when sample_mode is 1"},
		ms: func(m *MindSpore, r *reporter) {
			mode, num := m.setting("sample_mode"), m.setting("sample_num")
			if mode.OK && mode.Uint > 1 {
				r.report(mode.valueSpan(), lang.Say("sample_mode must be 0 (off) or 1 (head and tail), found %s", mode.Node.Text))
			}
			switch {
			case num.OK && num.Uint == 0:
				r.report(num.valueSpan(), Text{EN: "sample_num must be at least 1"})
			case num.Present() && (!mode.Present() || mode.OK && mode.Uint == 0):
				r.reportAs(Warning, num.keySpan(), Text{EN: "sample_num is read only when sample_mode is 1"})
			}
		}},
	{id: "MS059", severity: Warning, checks: "sampling on CPU or GPU, or without e2e_dump_settings",
		guess: true, message: Text{EN: "sample_mode 1 is ignored %s"},
		ignored: Text{EN: "sampling does not work here"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.setting("sample_mode").Uint == 1 && r.opt.hasNoNPU(), m.setting("sample_mode").valueSpan(), Text{EN: "on CPU and GPU"})
			for _, s := range r.read.unknown {
				v := s.member.Value
				r.reportIf(!m.hasE2E() && s.member.Key == "sample_mode" && v.Kind == jsonpos.Number && v.Text == "1", s.span(), Text{EN: "without e2e_dump_settings"})
			}
		}},
}

// mindSporeBackendRules check whether the backend supports the dump.
var mindSporeBackendRules = []rule{
	{id: "MS051", severity: Warning, checks: "no e2e_dump_settings for a backend that needs it",
		guess: true, message: Text{EN: "no data will be written: backend %s needs e2e_dump_settings since version 2.4"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(r.lacksE2E(), m.Common.keySpan(), r.opt.Backend).suggest(`"e2e_dump_settings": {"enable": false}`)
		}},
	{id: "MS061", severity: Warning, checks: "e2e_dump_settings for the graph engine, from version 2.4 on",
		guess: true, message: Text{EN: "backend %s has no e2e_dump_settings since version 2.4; leave the block out"},
		ms: func(m *MindSpore, r *reporter) {
			r.reportIf(m.E2E.Present() && r.opt.isGraphEngine() && !r.opt.hasNoNPU() && !r.opt.TargetVersion.IsBefore(sinceMS24),
				m.E2E.keySpan(), r.opt.Backend)
		}},
	{id: "MS058", severity: Info, checks: "dynamic graphs, or the graph engine from version 2.6 on",
		message: Text{EN: "MindSpore itself does not dump %s; use msprobe"},
		run: func(r *reporter) {
			switch {
			case r.opt.backend() == "pynative":
				r.report(r.wholeText(), Text{EN: "in dynamic graph mode"})
			case r.opt.isGraphEngine() && !r.opt.TargetVersion.IsBefore(sinceMS26):
				r.report(r.wholeText(), Text{EN: "with the graph engine any more, since version 2.6"})
			}
		}},
}

// lacksE2E reports whether the backend writes nothing because e2e_dump_settings is missing.
func (c *check) lacksE2E() bool {
	return c.MindSpore.Common.Present() && !c.MindSpore.hasE2E() && c.opt.isKernelByKernel() && !c.opt.hasNoNPU() &&
		!c.opt.TargetVersion.IsBefore(sinceMS24)
}
