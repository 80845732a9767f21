package dumpconf

import (
	"iter"
	"strings"

	"dumptool/internal/lang"
)

const maxBlacklist = 100 // entries

// aclFilterRules check blacklists and ranges.
var aclFilterRules = []rule{
	{id: "ACL070", severity: Error, code: "EP0003", stage: stageList, checks: "a blacklist with more than 100 entries",
		message: Text{EN: "%s has %d entries; at most %d are allowed", ZH: "%s 有 %d 项，最多允许 %d 项"},
		acl: func(a *ACL, r *reporter) {
			for _, b := range a.blacklists() {
				n := len(b.Node.Elems)
				r.when(n > maxBlacklist, b.keySpan(), lastOf(b.Path), n, maxBlacklist)
			}
		}},
	{id: "ACL071", severity: Error, code: "EP0005", stage: stageList, checks: `a blacklist without dump_level "op"`,
		guess: true, message: Text{EN: `%s needs "dump_level": "op"%s`, ZH: `%s 需要 "dump_level": "op"%s`},
		acl: func(a *ACL, r *reporter) {
			for _, b := range a.blacklists() {
				r.needsLevelOp(b.keySpan())
			}
		}},
	{id: "ACL072", severity: Warning, checks: "a blacklist entry without name",
		guess: true, message: Text{EN: "a blacklist entry without name has no effect", ZH: "没有 name 的黑名单项不生效"},
		ignored: Text{EN: "a blacklist entry without name has no effect", ZH: "没有 name 的黑名单项不生效"},
		acl: func(a *ACL, r *reporter) {
			for e := range a.blacklisted() {
				r.when(e.Name.lacks(), e.Name.spanIn(e.Object))
			}
		}},
	{id: "ACL073", severity: Warning, checks: "a position of a blacklist that is not inputN or outputN",
		message: Text{EN: `position %s is ignored; write "input" or "output" and a number, such as "input0"`, ZH: `位置 %s 会被忽略；应写 "input" 或 "output" 加编号，如 "input0"`},
		ignored: Text{EN: "the graph engine does not understand this position and ignores it", ZH: "图引擎不识别该位置，忽略"},
		acl: func(a *ACL, r *reporter) {
			for e := range a.blacklisted() {
				for _, p := range e.Pos.Value {
					if p.OK && !position().MatchString(p.Value) {
						r.position(p)
					}
				}
			}
		}},
	{id: "ACL074", severity: Error, code: "EP0005", stage: stageList, checks: `opname_range without dump_level "op"`,
		guess: true, message: Text{EN: `%s needs "dump_level": "op"%s`, ZH: `%s 需要 "dump_level": "op"%s`},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				if it.OpnameRange.isFilled() {
					r.needsLevelOp(it.OpnameRange.keySpan())
				}
			}
		}},
	{id: "ACL075", severity: Error, code: "EP0001", stage: stageList, checks: "opname_range without model_name",
		guess: true, message: Text{EN: "opname_range needs a model_name: a range belongs to a model", ZH: "opname_range 需要 model_name：范围属于某个模型"},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				r.when(it.OpnameRange.isFilled() && it.ModelName.lacks(), it.OpnameRange.keySpan())
			}
		}},
	{id: "ACL076", severity: Error, code: "EP0003", stage: stageList, checks: "a range without begin or end",
		guess: true, message: Text{EN: "%s of the range is %s; both ends are needed", ZH: "范围的 %s %s，两端都必须填写"},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				for _, rg := range it.OpnameRange.Value {
					for _, end := range []Setting[string]{rg.Begin, rg.End} {
						fault := Text{EN: "missing", ZH: "缺失"}
						if end.Present() {
							fault = Text{EN: "empty", ZH: "为空"}
						}
						r.when(end.lacks(), end.spanIn(rg.Object), lastOf(end.Path), fault)
					}
				}
			}
		}},
	{id: "ACL077", severity: Info, checks: "a blacklist beside layer or opname_range in one item",
		message: Text{EN: "%s acts together with %s in this item; check that this is meant", ZH: "%s 与该项的 %s 共同生效，请确认符合预期"},
		mind:    Text{EN: "acts together with the other filters of the item", ZH: "与该项的其他过滤条件共同生效"},
		acl: func(a *ACL, r *reporter) {
			for it, b := range a.blacklists() {
				switch {
				case it.OpnameRange.Present():
					r.at(b.keySpan(), lastOf(b.Path), "opname_range")
				case it.Layer.Present():
					r.at(b.keySpan(), lastOf(b.Path), "layer")
				}
			}
		}},
}

var (
	position      = lang.Pattern(`^(input|output)[0-9]+$`)
	loosePosition = lang.Pattern(`^(input|output)[ _-]*([0-9]+)$`)
)

// blacklists are the blacklists that have entries, with their items.
func (a *ACL) blacklists() iter.Seq2[ACLItem, Setting[[]ACLBlacklistEntry]] {
	return func(yield func(ACLItem, Setting[[]ACLBlacklistEntry]) bool) {
		for _, it := range a.DumpList.Value {
			for _, b := range []Setting[[]ACLBlacklistEntry]{it.OptypeBlacklist, it.OpnameBlacklist} {
				if b.isFilled() && !yield(it, b) {
					return
				}
			}
		}
	}
}

// blacklisted are the entries of all blacklists.
func (a *ACL) blacklisted() iter.Seq[ACLBlacklistEntry] {
	return func(yield func(ACLBlacklistEntry) bool) {
		for _, b := range a.blacklists() {
			for _, e := range b.Value {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// needsLevelOp reports a filter when dump_level is not "op".
func (r *reporter) needsLevelOp(filter span) {
	if level := r.check.acl.DumpLevel; level.Value != "op" && !level.misread() {
		r.insert(r.at(filter, lastOf(filter.path), foundOr(level)), r.check.acl.Dump, "dump_level", "op")
	}
}

// foundOr says what was found in place of a needed value.
func foundOr(s Setting[string]) lang.Sentence {
	if !s.Present() {
		return lang.Sayf(", which is missing", "，而该键缺失")
	}
	return lang.Sayf(", found %s", "，实际为 %s", show(s.Value))
}

// position reports a position that the graph engine does not understand.
func (r *reporter) position(p Setting[string]) {
	f := r.at(p.valueSpan(), show(p.Value))
	if m := loosePosition().FindStringSubmatch(strings.ToLower(p.Value)); m != nil {
		f.repair(p, m[1]+m[2])
	}
}
