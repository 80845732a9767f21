package dumpconf

import (
	"fmt"

	"dumptool/internal/dumpconf/jsonpos"
)

// aclShapeRules check which keys there are, where they are and of what type.
func aclShapeRules() []rule {
	return []rule{
		{"ACL004", Warning, "", stageLint, `there is no "dump", or it is empty`,
			"nothing will be dumped: %s",
			func(c *check, r *reporter) {
				switch dump := c.acl.Root.Node.Get("dump"); {
				case c.root == nil && len(c.doc.Source()) == 0:
					r.at(c.top(), "the file is empty")
				case dump == nil && c.acl.Root.Present():
					r.at(c.top(), `there is no "dump" object`)
				case c.acl.Dump.Present() && len(c.acl.Dump.Node.Members) == 0:
					r.at(c.acl.Dump.keySpot(), `"dump" is empty`)
				}
			}},
		{"ACL005", Error, "EP0001", stageDump, `"dump" is not an object`, "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
		{"ACL006", Warning, "", stageLint, "an unknown key, which the runtime ignores",
			"unknown key %s is ignored%s",
			func(c *check, r *reporter) {
				for _, s := range c.read.strays {
					if c.home(s) == nil && !r.full() && (!s.in.table.open || nearest(s.member.Key, s.in.table.names()) != "") {
						r.unknownKey(s, s.in.table.names())
					}
				}
			}},
		{"ACL007", Warning, "", stageLint, "a key at the wrong level, where the runtime ignores it",
			"%s is ignored here: it must be %s",
			func(c *check, r *reporter) {
				for _, s := range c.read.strays {
					if home := c.home(s); home != nil && !r.full() {
						in := "inside "
						if home == &aclRoot {
							in = "at "
						}
						r.at(s.spot(), show(s.member.Key), in+home.where)
					}
				}
			}},
		{"ACL010", Error, "EP0001", stageTypes, "a value must be a string", "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
		{"ACL011", Error, "EP0001", stageListTypes, "a value or member of an array has the wrong type", "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
	}
}

// spot is the place of the key.
func (s stray) spot() spot {
	return spot{join(s.in.Path, s.member.Key), s.member.KeyStart, s.member.KeyEnd}
}

// home returns the objects where a stray key belongs, nil when nowhere.
func (c *check) home(s stray) *keyTable {
	for _, t := range tables(c.schema) {
		if t == &aclBlacklist || t == &aclRange {
			if s.in.table == &aclRoot {
				continue // words as common as "name" may be anything there
			}
		}
		if t != s.in.table && t.find(s.member.Key) != nil {
			return t
		}
	}
	return nil
}

// unknownKey reports a key that is none, and which one it may be.
func (r *reporter) unknownKey(s stray, names []string) {
	best, hint := nearest(s.member.Key, names), ""
	if best != "" {
		hint = fmt.Sprintf("; did you mean %s?", jsonpos.Quote(best))
	}
	f := r.at(s.spot(), show(s.member.Key), hint)
	f.Suggestion = best
	if best != "" && sameButForm(best, s.member.Key) && s.in.Node.Get(best) == nil {
		f.Edits = replace(s.spot(), jsonpos.Quote(best))
	}
}
