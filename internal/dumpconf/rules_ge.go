package dumpconf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

// geRules check what the graph engine alone has.
func geRules() []rule {
	return []rule{
		{"GE002", Error, "E10001", stageLint, "enableDump and enableDumpDebug both on",
			"enableDump and enableDumpDebug exclude each other; switch one of them off",
			func(c *check, r *reporter) { r.bothOn() }},
		{"GE003", Error, "E10058", stageLint, "a dump is on without usable dumpPath",
			"dumpPath %s",
			func(c *check, r *reporter) { r.enginePath("is required when a dump is on") }},
		{"GE004", Error, "E10001", stageLint, "dumpStep is malformed, or has ranges whose start is not before their end",
			"dumpStep: %s %s", func(c *check, r *reporter) { r.engineSteps(true) }},
		{"GE008", Warning, "", stageLint, "an option that looks like a misspelled dump option",
			"%s is no dump option%s",
			func(c *check, r *reporter) {
				for _, s := range c.read.strays {
					if best := nearest(s.member.Key, geOptions.names()); best != "" && !r.full() {
						r.unknownKey(s, geOptions.names())
					}
				}
			}},
	}
}

// engineRules check what graph engine and TensorFlow adapter share.
func engineRules() []rule {
	return []rule{
		{"GE001", Error, "E10001", stageLint, "a switch has another value than on and off",
			"%s",
			func(c *check, r *reporter) {
				r.mistyped()
				for _, s := range []Setting[string]{c.engine.Enable, c.engine.EnableDebug} {
					if s.OK && s.Value != "0" && s.Value != "1" {
						r.at(s.valueSpot(), fmt.Sprintf("%s must be \"0\" or \"1\", found %s", s.Key.Key, show(s.Value)))
					}
				}
			}},
		{"GE005", Error, "E10001", stageLint, "the mode or data of the dump is not known", "%s",
			func(_ *check, r *reporter) { r.mistyped(); r.enums() }},
		{"GE006", Error, "E10001", stageLint, "the debug mode is not known, not for the product or has no effect", "%s",
			func(c *check, r *reporter) {
				r.mistyped()
				r.enums()
				r.debugMode()
			}},
		{"GE007", Warning, "", stageLint, "operator names of dumpLayer are not separated by spaces",
			"separate operator names by spaces: %s is taken as part of a name",
			func(c *check, r *reporter) {
				s := c.engine.Layer
				if i := strings.IndexAny(s.Value, ",|;"); i >= 0 {
					f := r.at(part(s, i, 1), show(s.Value[i:i+1]))
					f.Suggestion = strings.Join(strings.FieldsFunc(s.Value, func(c rune) bool { return strings.ContainsRune(",|; ", c) }), " ")
					f.Edits = quoteEdit(s, f.Suggestion)
				}
			}},
		{"GE010", Error, "E10056", stageLint, "NPU_COLLECT_PATH is set beside a dump",
			"the environment variable NPU_COLLECT_PATH=%s makes this dump fail; unset it",
			func(c *check, r *reporter) {
				value, ok := c.opt.env("NPU_COLLECT_PATH")
				if e := c.engine; ok && e.on() {
					at := e.Enable
					if at.Value != "1" {
						at = e.EnableDebug
					}
					r.at(at.keySpot(), shorten(value))
				}
			}},
		{"GE011", Warning, "", stageLint, "a file without any dump option",
			"there is no dump option in this file",
			func(c *check, r *reporter) {
				if c.engine.Root.Present() && len(c.read.used) == 0 {
					r.at(c.top())
				}
			}},
		{"GE012", Warning, "", stageLint, "the path has a variable, blanks at its ends or a host",
			"%s in the path of the dump %s",
			func(c *check, r *reporter) { r.enginePathForm() }},
		{"GE009", Error, "E10001", stageLint, "an option is no string, or its value is not known", "%s",
			func(_ *check, r *reporter) { r.mistyped(); r.enums() }},
	}
}

// tfRules check what the TensorFlow adapter alone has.
func tfRules() []rule {
	return []rule{
		{"TF001", Error, "", stageLint, "enable_dump and enable_dump_debug both true",
			"enable_dump and enable_dump_debug exclude each other; switch one of them off",
			func(c *check, r *reporter) { r.bothOn() }},
		{"TF002", Error, "", stageLint, "a dump is on without usable dump_path",
			"dump_path %s",
			func(c *check, r *reporter) {
				r.enginePath("is required when a dump is on, and the folder must exist")
			}},
		{"TF003", Error, "", stageLint, "dump_step is malformed, or has ranges whose start is not before their end",
			"dump_step: %s %s", func(c *check, r *reporter) { r.engineSteps(false) }},
	}
}

func (r *reporter) bothOn() {
	if e := r.c.engine; e.Enable.Value == "1" && e.EnableDebug.Value == "1" {
		r.at(e.EnableDebug.keySpot())
	}
}

// enginePath checks the folder of a dump that is on.
func (r *reporter) enginePath(required string) {
	e := r.c.engine
	switch p := e.Path; {
	case !e.on() || p.Present() && !p.OK:
	case !p.Present():
		at := e.Enable
		if at.Value != "1" {
			at = e.EnableDebug
		}
		r.at(at.keySpot(), required)
	case p.Value == "":
		r.at(p.valueSpot(), required)
	case r.c.opt.Stat != nil && r.c.opt.Stat(p.Value) != PathUsable:
		r.at(p.valueSpot(), show(p.Value)+" is not an existing folder that can be read and written; create it first")
	}
}

// enginePathForm reports what a path has that is taken as it stands.
func (r *reporter) enginePathForm() {
	p := r.c.engine.Path
	host, _, colon := strings.Cut(p.Value, ":")
	at := placeholder.FindStringIndex(p.Value)
	switch {
	case colon && isIPv4(host):
		r.at(part(p, 0, len(host)+1), show(host+":"), "names another host, which this option does not know")
	case at != nil:
		r.at(part(p, at[0], at[1]-at[0]), show(p.Value[at[0]:at[1]]), "is not expanded; write the full path")
	case strings.TrimSpace(p.Value) != p.Value:
		r.at(p.valueSpot(), show(p.Value), "has blanks around it, which are taken as part of the name")
	}
}

// engineSteps checks a list of steps. The graph engine takes 32-bit numbers.
func (r *reporter) engineSteps(int32Only bool) {
	e := r.c.engine
	for _, s := range e.Steps[:min(len(e.Steps), MaxSteps)] {
		fault := stepFaults[s.Fault]
		switch {
		case s.Valid() && s.Range && s.From == s.To:
			fault = "has equal ends; the start must be before the end"
		case s.Valid() && int32Only && s.To > math.MaxInt32:
			fault = "is beyond 32 bits"
		}
		if fault != "" {
			r.at(part(e.Step, s.Offset, len(s.Text)), show(s.Text), fault)
		}
	}
	if len(e.Steps) > MaxSteps {
		r.at(e.Step.valueSpot(), fmt.Sprint(MaxSteps), "pieces are allowed at most")
	}
}

func (r *reporter) debugMode() {
	e := r.c.engine
	switch m := e.DebugMode; {
	case m.Present() && m.OK && r.c.opt.isA2A3() && m.Value != "all" && slices.Contains(dumpDebugModes, m.Value):
		f := r.at(m.valueSpot(), fmt.Sprintf("%s is %s; Atlas A2 and A3 accept only \"all\"", m.Key.Key, show(m.Value)))
		f.Suggestion, f.Edits = "all", replace(m.valueSpot(), jsonpos.Quote("all"))
	case m.Present() && !e.on() && m.OK && slices.Contains(dumpDebugModes, m.Value): // defaults written out
	case m.Present() && e.EnableDebug.Value != "1" && (e.EnableDebug.OK || !e.EnableDebug.Present()):
		r.as(Warning, m.keySpot(), m.Key.Key+" has no effect without overflow dump switched on")
	case !m.Present() && e.EnableDebug.Value == "1" && !e.TF:
		r.as(Warning, e.EnableDebug.keySpot(), "ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode")
	}
}
