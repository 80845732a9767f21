package dumpconf

import (
	"regexp"
	"strings"
)

const maxBlacklist = 100 // entries

// aclFilterRules check blacklists and ranges.
func aclFilterRules() []rule {
	return []rule{
		{"ACL070", Error, "EP0003", stageList, "a blacklist with more than 100 entries",
			"%s has %d entries; at most %d are allowed",
			func(c *check, r *reporter) {
				c.acl.eachBlacklist(func(_ ACLItem, b Setting[[]ACLBlacklistEntry]) {
					if n := len(b.Node.Elems); n > maxBlacklist && !r.full() {
						r.at(b.keySpot(), lastOf(b.Path), n, maxBlacklist)
					}
				})
			}},
		{"ACL071", Error, "EP0005", stageList, `a blacklist without dump_level "op"`,
			`%s needs "dump_level": "op"%s`,
			func(c *check, r *reporter) {
				c.acl.eachBlacklist(func(_ ACLItem, b Setting[[]ACLBlacklistEntry]) {
					r.needsLevelOp(b.keySpot())
				})
			}},
		{"ACL072", Warning, "", stageLint, "a blacklist entry without name",
			"a blacklist entry without name has no effect",
			func(c *check, r *reporter) {
				c.acl.eachBlacklistEntry(func(e ACLBlacklistEntry) {
					switch n := e.Name; {
					case r.full():
					case !n.Present():
						r.at(e.keySpot())
					case n.OK && n.Value == "":
						r.at(n.valueSpot())
					}
				})
			}},
		{"ACL073", Warning, "", stageLint, "a position of a blacklist that is not inputN or outputN",
			`position %s is ignored; write "input" or "output" and a number, such as "input0"`,
			func(c *check, r *reporter) {
				c.acl.eachBlacklistEntry(func(e ACLBlacklistEntry) {
					for _, p := range e.Pos.Value {
						if p.OK && !position.MatchString(p.Value) && !r.full() {
							r.position(p)
						}
					}
				})
			}},
		{"ACL074", Error, "EP0005", stageList, `opname_range without dump_level "op"`,
			`%s needs "dump_level": "op"%s`,
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					if it.OpnameRange.OK && len(it.OpnameRange.Node.Elems) > 0 {
						r.needsLevelOp(it.OpnameRange.keySpot())
					}
				}
			}},
		{"ACL075", Error, "EP0001", stageList, "opname_range without model_name",
			"opname_range needs a model_name: a range belongs to a model",
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					m := it.ModelName
					if it.OpnameRange.OK && len(it.OpnameRange.Node.Elems) > 0 && (!m.Present() || m.OK && m.Value == "") && !r.full() {
						r.at(it.OpnameRange.keySpot())
					}
				}
			}},
		{"ACL076", Error, "EP0003", stageList, "a range without begin or end",
			"%s of the range is %s; both ends are needed",
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					for _, rg := range it.OpnameRange.Value {
						r.rangeEnd(rg, rg.Begin, "begin")
						r.rangeEnd(rg, rg.End, "end")
					}
				}
			}},
		{"ACL077", Info, "", stageLint, "a blacklist beside layer or opname_range in one item",
			"%s acts together with %s in this item; check that this is meant",
			func(c *check, r *reporter) {
				c.acl.eachBlacklist(func(it ACLItem, b Setting[[]ACLBlacklistEntry]) {
					switch {
					case r.full():
					case it.OpnameRange.Present():
						r.at(b.keySpot(), lastOf(b.Path), "opname_range")
					case it.Layer.Present():
						r.at(b.keySpot(), lastOf(b.Path), "layer")
					}
				})
			}},
	}
}

var (
	position      = regexp.MustCompile(`^(input|output)[0-9]+$`)
	loosePosition = regexp.MustCompile(`^(input|output)[ _-]*([0-9]+)$`)
)

// eachBlacklist calls do with the blacklists that have entries.
func (a *ACL) eachBlacklist(do func(ACLItem, Setting[[]ACLBlacklistEntry])) {
	for _, it := range a.DumpList.Value {
		for _, b := range []Setting[[]ACLBlacklistEntry]{it.OptypeBlacklist, it.OpnameBlacklist} {
			if b.OK && len(b.Node.Elems) > 0 {
				do(it, b)
			}
		}
	}
}

func (a *ACL) eachBlacklistEntry(do func(ACLBlacklistEntry)) {
	a.eachBlacklist(func(_ ACLItem, b Setting[[]ACLBlacklistEntry]) {
		for _, e := range b.Value {
			do(e)
		}
	})
}

// needsLevelOp reports a filter when dump_level is not "op".
func (r *reporter) needsLevelOp(filter spot) {
	level := r.c.acl.DumpLevel
	if level.Value == "op" || level.Present() && !level.OK || r.full() {
		return
	}
	found := ", which is missing"
	if level.Present() {
		found = ", found " + show(level.Value)
	}
	f := r.at(filter, lastOf(filter.path), found)
	f.Suggestion = `"dump_level": "op"`
	f.Edits = r.c.acl.Dump.insertion(r.c.doc.Source(), "dump_level", "op")
}

// position reports a position that the graph engine does not understand.
func (r *reporter) position(p Setting[string]) {
	f := r.at(p.valueSpot(), show(p.Value))
	if m := loosePosition.FindStringSubmatch(strings.ToLower(p.Value)); m != nil {
		f.Suggestion = m[1] + m[2]
		f.Edits = quoteEdit(p, f.Suggestion)
	}
}

func (r *reporter) rangeEnd(rg ACLRange, end Setting[string], name string) {
	switch {
	case r.full():
	case !end.Present():
		r.at(rg.keySpot(), name, "missing")
	case end.OK && end.Value == "":
		r.at(end.valueSpot(), name, "empty")
	}
}
