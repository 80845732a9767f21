package dumpconf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// The dump options of the graph engine, from its documentation, and the same options of the
// TensorFlow adapter under other names.
var (
	geOptions = keyTable{description: Text{EN: "the options"}, allowsUnknown: true, keys: engineKeys(false)}
	tfOptions = keyTable{description: Text{EN: "the options"}, allowsUnknown: true, nulls: true, keys: engineKeys(true)}
)

var dumpDebugModes = []string{"aicore_overflow", "atomic_overflow", "all"}

// engineRows lists the options by their name in the graph engine, without its prefix, and their
// name in the adapter, empty if the adapter lacks the option.
var engineRows = []struct {
	ge, tf string
	key    Key
}{
	{"enableDump", "enable_dump", Key{rule: "GE001"}},
	{"enableDumpDebug", "enable_dump_debug", Key{rule: "GE001"}},
	{"dumpPath", "dump_path", Key{rule: "GE009"}},
	{"dumpStep", "dump_step", Key{rule: "GE009"}},
	{"dumpMode", "dump_mode", Key{Values: dumpModes, rule: "GE005"}},
	{"dumpData", "dump_data", Key{Values: dumpDatas, rule: "GE005"}},
	{"dumpLayer", "dump_layer", Key{rule: "GE009"}},
	{"dumpDebugMode", "dump_debug_mode", Key{Values: dumpDebugModes, rule: "GE006"}},
	{"enable_exception_dump", "", Key{Values: []string{"0", "1", "2"}, Default: "0", rule: "GE009"}},
}

func engineKeys(tf bool) []Key {
	var keys []Key
	for _, r := range engineRows {
		k := r.key
		switch k.Name = "ge.exec." + r.ge; {
		case tf && r.tf == "":
			continue
		case tf && k.rule == "GE001":
			k.Type = TypeBool
			fallthrough
		case tf:
			k.Name = r.tf
		}
		keys = append(keys, k)
	}
	return keys
}

// EngineOptions holds the dump options of the graph engine or the TensorFlow adapter.
type EngineOptions struct {
	TF   bool // names and types of the TensorFlow adapter
	Root *Object

	Steps []lang.Step // parsed dumpStep; nil for all steps
}

func readEngine(d *decoder, root *jsonpos.Value, tf bool) *EngineOptions {
	table := &geOptions
	if tf {
		table = &tfOptions
	}
	e := &EngineOptions{TF: tf, Root: d.readDocument(root, table)}
	if v := e.setting("dumpStep").Value; v != "" && !strings.EqualFold(v, "none") {
		e.Steps = lang.ParseSteps(v)
	}
	return e
}

// setting returns a setting by its name in the graph engine.
func (e *EngineOptions) setting(name string) Setting {
	if !e.TF {
		return e.Root.setting("ge.exec." + name)
	}
	for _, r := range engineRows {
		if r.ge == name && r.tf != "" {
			return e.Root.setting(r.tf)
		}
	}
	return Setting{key: &Key{Name: name}}
}

// isOn reports whether a switch is on: "1" in the graph engine, true in the adapter.
func (e *EngineOptions) isOn(name string) bool {
	s := e.setting(name)
	return s.Value == "1" || e.TF && s.isTrue()
}

// hasDump reports whether the ordinary or the overflow dump is on.
func (e *EngineOptions) hasDump() bool { return e.isOn("enableDump") || e.isOn("enableDumpDebug") }

// activeSwitch returns the switch of the active dump, the ordinary dump first.
func (e *EngineOptions) activeSwitch() Setting {
	if e.isOn("enableDump") {
		return e.setting("enableDump")
	}
	return e.setting("enableDumpDebug")
}

// hasOverflowDump reports whether the overflow dump is on and effective: the graph engine needs a mode,
// the TensorFlow adapter has a default.
func (e *EngineOptions) hasOverflowDump() bool {
	return e.isOn("enableDumpDebug") && (e.TF || e.setting("dumpDebugMode").Value != "")
}

// scene returns the ACL runtime's name of the exception dump, empty for none.
func (e *EngineOptions) scene() string {
	switch e.setting("enable_exception_dump").Value {
	case "1":
		return "aic_err_norm_dump"
	case "2":
		return "aic_err_brief_dump"
	default:
		return ""
	}
}

// dumpMode returns the dump mode or its default.
func (e *EngineOptions) dumpMode() string { return cmp.Or(e.setting("dumpMode").Value, "output") }

// dumpsStatistics reports whether statistics are dumped instead of tensors.
func (e *EngineOptions) dumpsStatistics() bool { return e.setting("dumpData").Value == "stats" }

// geRules apply to the graph engine only.
var geRules = []rule{
	{id: "GE002", severity: Error, code: "E10001", checks: "enableDump and enableDumpDebug both on",
		message: Text{EN: "enableDump and enableDumpDebug exclude each other; switch one of them off"},
		engine:  checkBothOn},
	{id: "GE003", severity: Error, code: "E10058", checks: "a dump is on without usable dumpPath",
		guess: true, message: Text{EN: "dumpPath %s"},
		engine: func(e *EngineOptions, r *reporter) {
			r.checkEnginePath(e, Text{EN: "is required when a dump is on"})
		}},
	{id: "GE004", severity: Error, code: "E10001", checks: "dumpStep is malformed, or has ranges whose start is not before their end",
		message: Text{EN: "dumpStep: %s %s"}, engine: func(e *EngineOptions, r *reporter) { r.checkEngineSteps(e, true) }},
	{id: "GE008", severity: Warning, checks: "an option that looks like a misspelled dump option",
		guess: true, message: Text{EN: "%s is no dump option%s"},
		ignored: Text{EN: "no dump option"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if r.nearestWord(s.member.Key, geOptions.names()) != "" {
					r.reportUnknownKey(s, geOptions.names())
				}
			}
		}},
}

// engineRules apply to the graph engine and the TensorFlow adapter.
var engineRules = []rule{
	{id: "GE001", severity: Error, code: "E10001", checks: "a switch has another value than on and off",
		message: sentenceMessage,
		engine: func(e *EngineOptions, r *reporter) {
			r.reportTypes()
			for _, s := range []Setting{e.setting("enableDump"), e.setting("enableDumpDebug")} {
				if s.OK && !e.TF && s.Value != "0" && s.Value != "1" {
					r.report(s.valueSpan(), lang.Say("%s must be \"0\" or \"1\", found %s", s.key.Name, quoteShort(s.Value)))
				}
			}
		}},
	{id: "GE005", severity: Error, code: "E10001", checks: "the mode or data of the dump is not known", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "GE006", severity: Error, code: "E10001", checks: "the debug mode is not known, not for the product or has no effect", guess: true, message: sentenceMessage,
		ignored: Text{EN: "no effect: enableDumpDebug and dumpDebugMode work together only"},
		engine: func(e *EngineOptions, r *reporter) {
			r.reportValues()
			r.debugMode(e)
		}},
	{id: "GE007", severity: Warning, checks: "operator names of dumpLayer are not separated by spaces",
		message: Text{EN: "separate operator names by spaces: %s is read as part of a name"},
		caution: Text{EN: "separate operator names by spaces"},
		engine: func(e *EngineOptions, r *reporter) {
			s := e.setting("dumpLayer")
			if i := strings.IndexAny(s.Value, ",|;"); i >= 0 {
				words := strings.FieldsFunc(s.Value, func(c rune) bool { return strings.ContainsRune(",|; ", c) })
				r.report(partSpan(s, i, 1), quoteShort(s.Value[i:i+1])).repair(s, strings.Join(words, " "))
			}
		}},
	{id: "GE010", severity: Error, code: "E10056", checks: "NPU_COLLECT_PATH is set beside a dump",
		guess: true, message: Text{EN: "the environment variable NPU_COLLECT_PATH=%s makes this dump fail; unset it"},
		engine: func(e *EngineOptions, r *reporter) {
			value, ok := r.opt.lookupEnv("NPU_COLLECT_PATH")
			r.reportIf(ok && e.hasDump(), e.activeSwitch().keySpan(), shorten(value))
		}},
	{id: "GE011", severity: Warning, checks: "a file without any dump option",
		guess: true, message: Text{EN: "there is no dump option in this file"},
		engine: func(e *EngineOptions, r *reporter) {
			r.reportIf(e.Root.Present() && len(r.read.used) == 0, r.wholeText())
		}},
	{id: "GE012", severity: Warning, checks: "the path has a variable, blanks at its ends or a host",
		message: Text{EN: "%s in the path of the dump %s"},
		engine:  checkEnginePathForm},
	{id: "GE009", severity: Error, code: "E10001", checks: "an option is no string, or its value is not known", message: sentenceMessage,
		run: (*reporter).reportValues},
}

// tfRules apply to the TensorFlow adapter only.
var tfRules = []rule{
	{id: "TF001", severity: Error, checks: "enable_dump and enable_dump_debug both true",
		message: Text{EN: "enable_dump and enable_dump_debug exclude each other; switch one of them off"},
		engine:  checkBothOn},
	{id: "TF002", severity: Error, checks: "a dump is on without usable dump_path",
		guess: true, message: Text{EN: "dump_path %s"},
		engine: func(e *EngineOptions, r *reporter) {
			r.checkEnginePath(e, Text{EN: "is required when a dump is on, and the folder must exist"})
		}},
	{id: "TF003", severity: Error, checks: "dump_step is malformed, or has ranges whose start is not before their end",
		message: Text{EN: "dump_step: %s %s"}, engine: func(e *EngineOptions, r *reporter) { r.checkEngineSteps(e, false) }},
}

func checkBothOn(e *EngineOptions, r *reporter) {
	r.reportIf(e.isOn("enableDump") && e.isOn("enableDumpDebug"), e.setting("enableDumpDebug").keySpan())
}

// checkEnginePath checks the folder of a dump that is on.
func (r *reporter) checkEnginePath(e *EngineOptions, required Text) {
	switch p := e.setting("dumpPath"); {
	case !e.hasDump() || p.isWrongType():
	case !p.Present():
		r.report(e.activeSwitch().keySpan(), required)
	case p.Value == "":
		r.report(p.valueSpan(), required)
	case r.opt.Stat != nil && r.opt.Stat(p.Value) != PathUsable:
		r.report(p.valueSpan(), lang.Say("%s is not an existing folder that can be read and written; create it first", quoteShort(p.Value)))
	}
}

// checkEnginePathForm reports parts of a path that the engine takes literally.
func checkEnginePathForm(e *EngineOptions, r *reporter) {
	p := e.setting("dumpPath")
	host, _, colon := strings.Cut(p.Value, ":")
	at := placeholder().FindStringIndex(p.Value)
	switch {
	case colon && isIPv4(host):
		r.report(partSpan(p, 0, len(host)+1), quoteShort(host+":"), Text{EN: "names another host, which this option does not support"})
	case at != nil:
		r.report(partSpan(p, at[0], at[1]-at[0]), quoteShort(p.Value[at[0]:at[1]]), Text{EN: "is not expanded; write the full path"})
	case strings.TrimSpace(p.Value) != p.Value:
		r.report(p.valueSpan(), quoteShort(p.Value), Text{EN: "has blanks around it, which become part of the name"})
	}
}

// checkEngineSteps checks a list of steps. The graph engine reads 32-bit numbers.
func (r *reporter) checkEngineSteps(e *EngineOptions, int32Only bool) {
	for _, s := range e.Steps[:min(len(e.Steps), maxSteps)] {
		fault := stepFaults[s.Fault]
		switch {
		case s.Valid() && s.Range && s.From == s.To:
			fault = Text{EN: "has equal ends; the start must be before the end"}
		case s.Valid() && int32Only && s.To > math.MaxInt32:
			fault = Text{EN: "is beyond 32 bits"}
		}
		r.reportIf(fault != Text{}, stepSpan(s, e.setting("dumpStep")), quoteShort(s.Text), fault)
	}
	r.reportIf(len(e.Steps) > maxSteps, e.setting("dumpStep").valueSpan(), fmt.Sprint(maxSteps), Text{EN: "pieces are allowed at most"})
}

func (r *reporter) debugMode(e *EngineOptions) {
	m, debug := e.setting("dumpDebugMode"), e.setting("enableDumpDebug")
	known := slices.Contains(dumpDebugModes, m.Value)
	switch isDebugOn := e.isOn("enableDumpDebug"); {
	case m.OK && known && r.opt.isA2A3() && m.Value != "all":
		r.report(m.valueSpan(), lang.Say("%s is %s; Atlas A2 and A3 accept only \"all\"", m.key.Name, quoteShort(m.Value))).repair(m, "all")
	case m.OK && known && !e.hasDump(): // the file only spells out defaults
	case m.Present() && !isDebugOn && !debug.isWrongType():
		r.reportAs(Warning, m.keySpan(), lang.Say("%s has no effect without overflow dump switched on", m.key.Name))
	case !m.Present() && isDebugOn && !e.TF:
		r.reportAs(Warning, debug.keySpan(), Text{EN: "ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode"})
	}
}
