package dumpconf

import (
	"iter"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

const maxBlacklist = 100 // entries

// aclListRules check the items of dump_list.
var aclListRules = []rule{
	{id: "ACL062", severity: Error, code: "EP0001", stage: stageList, checks: "an empty model_name or layer with dump_op_switch off",
		guess: true, message: Text{EN: "%s is empty; fill it, or remove the key to mean all"},
		item: func(it *Object, r *reporter) {
			for _, s := range it.presentSettings("model_name", "layer") {
				r.reportIf(!r.ACL.dumpsSingleOps() && s.isEmpty(), s.valueSpan(), s.key.Name)
			}
		}},
	{id: "ACL063", severity: Warning, checks: "a model_name with folder or suffix",
		message: Text{EN: "model_name %s matches no model: give the name without folder and suffix"},
		caution: Text{EN: "matches no model: the name has a folder or suffix"},
		item: func(it *Object, r *reporter) {
			m := it.setting("model_name")
			modelName := strings.TrimSuffix(m.Value[strings.LastIndexByte(m.Value, '/')+1:], ".om")
			r.reportIf(modelName != m.Value, m.valueSpan(), quoteShort(m.Value)).suggest(modelName)
		}},
	{id: "ACL064", severity: Warning, checks: "a model_name that occurs twice",
		message: Text{EN: "model_name %s must be unique; it is already used in line %d"},
		acl: func(a *ACL, r *reporter) {
			seen := make(map[string]Setting)
			for _, it := range a.items() {
				m := it.setting("model_name")
				first, isRepeated := seen[m.Value]
				switch {
				case m.Value == "" || isRepeated && r.isFull():
				case !isRepeated:
					seen[m.Value] = m
				default:
					line, _ := r.Doc.Position(first.Node.Start)
					r.report(m.valueSpan(), quoteShort(m.Value), line).Related = r.relatedRange(first.Node.Start, first.Node.End, Text{EN: "the first"})
				}
			}
		}},
	{id: "ACL065", severity: Warning, checks: "items with and without model_name",
		guess: true, message: Text{EN: "an item without model_name applies to all models, also to those that are named in other items"},
		caution: Text{EN: "the item has no model_name and so applies to all models, also to models of other items"},
		acl: func(a *ACL, r *reporter) {
			named := slices.ContainsFunc(a.items(), func(it *Object) bool { return it.setting("model_name").Present() })
			for _, it := range a.items() {
				r.reportIf(named && !it.setting("model_name").Present(), it.keySpan())
			}
		}},
	{id: "ACL066", severity: Warning, checks: "an empty name in layer or watcher_nodes",
		message: Text{EN: "an empty name matches nothing; remove it"},
		ignored: Text{EN: "an empty name matches nothing"},
		item: func(it *Object, r *reporter) {
			for s := range eachOperatorName(it) {
				r.reportIf(s.Value == "", s.valueSpan())
			}
		}},
	{id: "ACL068", severity: Warning, checks: "a name with blanks around it, or given twice, in layer or watcher_nodes",
		message: Text{EN: "name %s %s"},
		caution: Text{EN: "the name has blanks around it, or is listed twice"},
		item: func(it *Object, r *reporter) {
			for s, isRepeated := range eachOperatorName(it) {
				switch trimmed := strings.TrimSpace(s.Value); {
				case s.Value == "":
				case trimmed != s.Value:
					r.report(s.valueSpan(), quoteShort(s.Value), Text{EN: "has blanks around it and never matches"}).suggest(trimmed)
				case isRepeated:
					r.report(s.valueSpan(), quoteShort(s.Value), Text{EN: "is listed twice"})
				}
			}
		}},
	{id: "ACL069", severity: Warning, checks: "blanks around a model_name or a name of a blacklist",
		message: Text{EN: "name %s has blanks around it and never matches"},
		item: func(it *Object, r *reporter) {
			r.reportBlanks(it.setting("model_name"))
			for _, e := range blacklistEntries(it) {
				r.reportBlanks(e.setting("name"))
			}
		}},
	{id: "ACL083", severity: Warning, checks: "inputs and outputs of all operators of all models at all steps, as tensors",
		guess: true, message: Text{EN: `this dumps all tensors of all models at every step, which is very large; consider dump_data "stats", layer or dump_step`},
		acl: func(a *ACL, r *reporter) {
			i := slices.IndexFunc(a.items(), func(it *Object) bool { return len(it.presentSettings("model_name", "layer", "opname_range")) == 0 })
			if i >= 0 && a.dumpMode() == "all" && !a.dumpsStatistics() && a.setting("dump_step").Value == "" && !a.dumpsSingleOps() && !a.dumpsOverflow() && a.scene() == "" {
				r.report(a.items()[i].keySpan())
			}
		}},
	{id: "ACL070", severity: Error, code: "EP0003", stage: stageList, checks: "a blacklist with more than 100 entries",
		message: Text{EN: "%s has %d entries; at most %d are allowed"},
		item: func(it *Object, r *reporter) {
			for _, b := range nonEmptyBlacklists(it) {
				n := len(b.Node.Elems)
				r.reportIf(n > maxBlacklist, b.keySpan(), b.key.Name, n, maxBlacklist)
			}
		}},
	{id: "ACL071", severity: Error, code: "EP0005", stage: stageList, checks: `a blacklist without dump_level "op"`,
		guess: true, message: Text{EN: `%s needs "dump_level": "op"%s`},
		item: func(it *Object, r *reporter) {
			for _, b := range nonEmptyBlacklists(it) {
				r.requireValue(b, "dump_level", "op")
			}
		}},
	{id: "ACL072", severity: Warning, checks: "a blacklist entry without name",
		guess: true, message: Text{EN: "a blacklist entry without name has no effect"},
		ignored: Text{EN: "a blacklist entry without name has no effect"},
		item: func(it *Object, r *reporter) {
			for _, e := range blacklistEntries(it) {
				r.reportIf(e.setting("name").isAbsentOrEmpty(), e.setting("name").spanIn(e))
			}
		}},
	{id: "ACL073", severity: Warning, checks: "a position of a blacklist that is not inputN or outputN",
		message: Text{EN: `position %s is ignored; write "input" or "output" and a number, such as "input0"`},
		ignored: Text{EN: "the graph engine does not understand this position and ignores it"},
		item: func(it *Object, r *reporter) {
			for _, e := range blacklistEntries(it) {
				for _, p := range e.setting("pos").Elems {
					if p.OK && !position().MatchString(p.Value) {
						f := r.report(p.valueSpan(), quoteShort(p.Value))
						if m := loosePosition().FindStringSubmatch(strings.ToLower(p.Value)); m != nil {
							f.repair(p, m[1]+m[2])
						}
					}
				}
			}
		}},
	{id: "ACL074", severity: Error, code: "EP0005", stage: stageList, checks: `opname_range without dump_level "op"`,
		guess: true, message: Text{EN: `%s needs "dump_level": "op"%s`},
		item: func(it *Object, r *reporter) { r.requireValue(it.setting("opname_range"), "dump_level", "op") }},
	{id: "ACL075", severity: Error, code: "EP0001", stage: stageList, checks: "opname_range without model_name",
		guess: true, message: Text{EN: "opname_range needs a model_name: a range belongs to a model"},
		item: func(it *Object, r *reporter) {
			r.reportIf(it.setting("opname_range").isFilled() && it.setting("model_name").isAbsentOrEmpty(), it.setting("opname_range").keySpan())
		}},
	{id: "ACL076", severity: Error, code: "EP0003", stage: stageList, checks: "a range without begin or end",
		guess: true, message: Text{EN: "%s of the range is %s; both ends are needed"},
		item: func(it *Object, r *reporter) {
			for _, rg := range it.setting("opname_range").Objects {
				for _, end := range []Setting{rg.setting("begin"), rg.setting("end")} {
					fault := Text{EN: "missing"}
					if end.Present() {
						fault = Text{EN: "empty"}
					}
					r.reportIf(end.isAbsentOrEmpty(), end.spanIn(rg), end.key.Name, fault)
				}
			}
		}},
	{id: "ACL077", severity: Info, checks: "a blacklist beside layer or opname_range in one item",
		message: Text{EN: "%s acts together with %s in this item; check that this is meant"},
		caution: Text{EN: "acts together with the other filters of the item"},
		item: func(it *Object, r *reporter) {
			for _, b := range nonEmptyBlacklists(it) {
				if others := it.presentSettings("opname_range", "layer"); len(others) > 0 {
					r.report(b.keySpan(), b.key.Name, others[0].key.Name)
				}
			}
		}},
}

var (
	position      = lang.Pattern(`^(input|output)[0-9]+$`)
	loosePosition = lang.Pattern(`^(input|output)[ _-]*([0-9]+)$`)
)

// eachOperatorName yields the names in layer and watcher_nodes of an item, and whether a name occurred
// earlier in the same array.
func eachOperatorName(it *Object) iter.Seq2[Setting, bool] {
	return func(yield func(Setting, bool) bool) {
		for _, list := range it.presentSettings("layer", "watcher_nodes") {
			seen := make(map[string]bool)
			for _, s := range list.Elems {
				if s.OK && !yield(s, seen[s.Value]) {
					return
				}
				seen[s.Value] = seen[s.Value] || s.OK
			}
		}
	}
}

// nonEmptyBlacklists returns the non-empty blacklists of an item.
func nonEmptyBlacklists(it *Object) []Setting {
	return slices.DeleteFunc(it.presentSettings("optype_blacklist", "opname_blacklist"), func(b Setting) bool { return !b.isFilled() })
}

// blacklistEntries returns the entries of all blacklists of an item.
func blacklistEntries(it *Object) []*Object {
	return slices.Concat(it.setting("optype_blacklist").Objects, it.setting("opname_blacklist").Objects)
}

// reportBlanks reports a string with blanks around it.
func (r *reporter) reportBlanks(s Setting) {
	if trimmed := strings.TrimSpace(s.Value); trimmed != s.Value {
		r.report(s.valueSpan(), quoteShort(s.Value)).suggest(trimmed)
	}
}

// requireValue reports an array that requires a value of another key of dump, unless that key is already
// reported as mistyped.
func (r *reporter) requireValue(s Setting, key, value string) {
	if other := r.ACL.setting(key); s.isFilled() && other.Value != value && !other.isWrongType() {
		r.suggestMember(r.report(s.keySpan(), s.key.Name, describeFound(other)), r.ACL.Dump, key, value)
	}
}

// describeFound describes the found value in place of a required one.
func describeFound(s Setting) lang.Sentence {
	if !s.Present() {
		return lang.Say(", which is missing")
	}
	return lang.Say(", found %s", quoteShort(s.Value))
}

// aclStatsRules check dump_stats.
var aclStatsRules = []rule{
	{id: "ACL080", severity: Error, code: "EP0005", stage: stageStats, checks: `dump_stats without dump_data "stats"`,
		guess: true, message: Text{EN: `%s needs "dump_data": "stats"%s`},
		acl: func(a *ACL, r *reporter) { r.requireValue(a.setting("dump_stats"), "dump_data", "stats") }},
	{id: "ACL081", severity: Error, code: "EP0001", stage: stageStats, checks: "an empty dump_stats",
		guess: true, message: Text{EN: "dump_stats is empty; fill it, or remove the key to get all but L2norm"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.setting("dump_stats").isEmpty(), a.setting("dump_stats").valueSpan())
		}},
	{id: "ACL082", severity: Info, checks: "dump_stats on another product than Atlas A2",
		message: Text{EN: "dump_stats works on Atlas A2 products only, according to the documentation"},
		caution: Text{EN: "works on Atlas A2 only"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.setting("dump_stats").Present() && !r.opt.isA2(), a.setting("dump_stats").keySpan())
		}},
}

// aclEnvironmentRules check conflicts with other keys of the file, the environment and the host.
var aclEnvironmentRules = []rule{
	{id: "ACL090", severity: Warning, checks: "profiler and dump in one file",
		message: Text{EN: "the profiler is on together with a dump, which distorts its times; use one of them at a time"},
		caution: Text{EN: "the profiler is on too, the dump distorts its times"},
		acl: func(a *ACL, r *reporter) {
			if m := r.root.Get("profiler"); m != nil && a.Dump.isFilled() {
				sw := m.Value.Get("switch")
				r.reportIf(sw != nil && sw.Value.Kind == jsonpos.String && sw.Value.Text == "on", span{"profiler", m.KeyStart, m.KeyEnd})
			}
		}},
	{id: "ACL092", severity: Error, code: "E10056", checks: "NPU_COLLECT_PATH is set beside a model or operator dump",
		message: Text{EN: "the environment variable NPU_COLLECT_PATH=%s switches this dump off or makes it fail; unset it"},
		acl: func(a *ACL, r *reporter) {
			value, ok := r.opt.lookupEnv("NPU_COLLECT_PATH")
			r.reportIf(ok && a.Dumps() && !a.dumpsFailures(), a.Dump.keySpan(), shorten(value))
		}},
	{id: "ACL093", severity: Info, checks: "a dump in a container",
		message: Text{EN: "dumps inside Docker are not supported, according to the documentation"},
		caution: Text{EN: "dumps in containers are not supported, according to the documentation"},
		acl:     func(a *ACL, r *reporter) { r.reportIf(r.opt.Container && a.Dump.isFilled(), a.Dump.keySpan()) }},
}
