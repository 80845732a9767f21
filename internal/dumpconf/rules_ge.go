package dumpconf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// geRules check what the graph engine alone has.
var geRules = []rule{
	{id: "GE002", severity: Error, code: "E10001", checks: "enableDump and enableDumpDebug both on",
		message: "enableDump and enableDumpDebug exclude each other; switch one of them off",
		engine:  bothOn},
	{id: "GE003", severity: Error, code: "E10058", checks: "a dump is on without usable dumpPath",
		guess: true, message: "dumpPath %s",
		engine: func(e *EngineOptions, r *reporter) { r.enginePath(e, "is required when a dump is on") }},
	{id: "GE004", severity: Error, code: "E10001", checks: "dumpStep is malformed, or has ranges whose start is not before their end",
		message: "dumpStep: %s %s", engine: func(e *EngineOptions, r *reporter) { r.engineSteps(e, true) }},
	{id: "GE008", severity: Warning, checks: "an option that looks like a misspelled dump option",
		guess: true, message: "%s is no dump option%s",
		ignored: Text{EN: "no dump option", ZH: "不是 dump 选项"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if r.nearest(s.member.Key, geOptions.names()) != "" {
					r.unknownKey(s, geOptions.names())
				}
			}
		}},
}

// engineRules check what graph engine and TensorFlow adapter share.
var engineRules = []rule{
	{id: "GE001", severity: Error, code: "E10001", checks: "a switch has another value than on and off",
		message: "%s",
		engine: func(e *EngineOptions, r *reporter) {
			r.mistyped()
			for _, s := range []Setting[string]{e.Enable, e.EnableDebug} {
				if s.OK && s.Value != "0" && s.Value != "1" {
					r.at(s.valueSpan(), fmt.Sprintf("%s must be \"0\" or \"1\", found %s", s.Key.Key, show(s.Value)))
				}
			}
		}},
	{id: "GE005", severity: Error, code: "E10001", checks: "the mode or data of the dump is not known", message: "%s",
		run: (*reporter).values},
	{id: "GE006", severity: Error, code: "E10001", checks: "the debug mode is not known, not for the product or has no effect", guess: true, message: "%s",
		ignored: Text{EN: "no effect: enableDumpDebug and dumpDebugMode work together only", ZH: "不生效：enableDumpDebug 与 dumpDebugMode 需同时配置"},
		engine: func(e *EngineOptions, r *reporter) {
			r.values()
			r.debugMode(e)
		}},
	{id: "GE007", severity: Warning, checks: "operator names of dumpLayer are not separated by spaces",
		message: "separate operator names by spaces: %s is taken as part of a name",
		mind:    Text{EN: "separate operator names by spaces", ZH: "算子名需用空格分隔"},
		engine: func(e *EngineOptions, r *reporter) {
			s := e.Layer
			if i := strings.IndexAny(s.Value, ",|;"); i >= 0 {
				words := strings.FieldsFunc(s.Value, func(c rune) bool { return strings.ContainsRune(",|; ", c) })
				r.at(part(s, i, 1), show(s.Value[i:i+1])).repair(s, strings.Join(words, " "))
			}
		}},
	{id: "GE010", severity: Error, code: "E10056", checks: "NPU_COLLECT_PATH is set beside a dump",
		guess: true, message: "the environment variable NPU_COLLECT_PATH=%s makes this dump fail; unset it",
		engine: func(e *EngineOptions, r *reporter) {
			value, ok := r.opt.env("NPU_COLLECT_PATH")
			r.when(ok && e.on(), e.switchOn().keySpan(), shorten(value))
		}},
	{id: "GE011", severity: Warning, checks: "a file without any dump option",
		guess: true, message: "there is no dump option in this file",
		engine: func(e *EngineOptions, r *reporter) {
			r.when(e.Root.Present() && len(r.read.used) == 0, r.top())
		}},
	{id: "GE012", severity: Warning, checks: "the path has a variable, blanks at its ends or a host",
		message: "%s in the path of the dump %s",
		engine:  enginePathForm},
	{id: "GE009", severity: Error, code: "E10001", checks: "an option is no string, or its value is not known", message: "%s",
		run: (*reporter).values},
}

// tfRules check what the TensorFlow adapter alone has.
var tfRules = []rule{
	{id: "TF001", severity: Error, checks: "enable_dump and enable_dump_debug both true",
		message: "enable_dump and enable_dump_debug exclude each other; switch one of them off",
		engine:  bothOn},
	{id: "TF002", severity: Error, checks: "a dump is on without usable dump_path",
		guess: true, message: "dump_path %s",
		engine: func(e *EngineOptions, r *reporter) {
			r.enginePath(e, "is required when a dump is on, and the folder must exist")
		}},
	{id: "TF003", severity: Error, checks: "dump_step is malformed, or has ranges whose start is not before their end",
		message: "dump_step: %s %s", engine: func(e *EngineOptions, r *reporter) { r.engineSteps(e, false) }},
}

func bothOn(e *EngineOptions, r *reporter) {
	r.when(e.Enable.Value == "1" && e.EnableDebug.Value == "1", e.EnableDebug.keySpan())
}

// enginePath checks the folder of a dump that is on.
func (r *reporter) enginePath(e *EngineOptions, required string) {
	switch p := e.Path; {
	case !e.on() || p.misread():
	case !p.Present():
		r.at(e.switchOn().keySpan(), required)
	case p.Value == "":
		r.at(p.valueSpan(), required)
	case r.opt.Stat != nil && r.opt.Stat(p.Value) != PathUsable:
		r.at(p.valueSpan(), show(p.Value)+" is not an existing folder that can be read and written; create it first")
	}
}

// enginePathForm reports what a path has that is taken as it stands.
func enginePathForm(e *EngineOptions, r *reporter) {
	p := e.Path
	host, _, colon := strings.Cut(p.Value, ":")
	at := placeholder.FindStringIndex(p.Value)
	switch {
	case colon && isIPv4(host):
		r.at(part(p, 0, len(host)+1), show(host+":"), "names another host, which this option does not know")
	case at != nil:
		r.at(part(p, at[0], at[1]-at[0]), show(p.Value[at[0]:at[1]]), "is not expanded; write the full path")
	case strings.TrimSpace(p.Value) != p.Value:
		r.at(p.valueSpan(), show(p.Value), "has blanks around it, which are taken as part of the name")
	}
}

// engineSteps checks a list of steps. The graph engine takes 32-bit numbers.
func (r *reporter) engineSteps(e *EngineOptions, int32Only bool) {
	for _, s := range e.Steps[:min(len(e.Steps), maxSteps)] {
		fault := stepFaults[s.Fault]
		switch {
		case s.Valid() && s.Range && s.From == s.To:
			fault = "has equal ends; the start must be before the end"
		case s.Valid() && int32Only && s.To > math.MaxInt32:
			fault = "is beyond 32 bits"
		}
		r.when(fault != "", stepSpan(s, e.Step), show(s.Text), fault)
	}
	r.when(len(e.Steps) > maxSteps, e.Step.valueSpan(), fmt.Sprint(maxSteps), "pieces are allowed at most")
}

func (r *reporter) debugMode(e *EngineOptions) {
	known := slices.Contains(dumpDebugModes, e.DebugMode.Value)
	switch m := e.DebugMode; {
	case m.OK && known && r.opt.isA2A3() && m.Value != "all":
		r.at(m.valueSpan(), fmt.Sprintf("%s is %s; Atlas A2 and A3 accept only \"all\"", m.Key.Key, show(m.Value))).repair(m, "all")
	case m.OK && known && !e.on(): // defaults written out
	case m.Present() && e.EnableDebug.Value != "1" && !e.EnableDebug.misread():
		r.as(Warning, m.keySpan(), m.Key.Key+" has no effect without overflow dump switched on")
	case !m.Present() && e.EnableDebug.Value == "1" && !e.TF:
		r.as(Warning, e.EnableDebug.keySpan(), "ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode")
	}
}
