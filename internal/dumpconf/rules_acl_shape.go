package dumpconf

import (
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// aclShapeRules check which keys there are, where they are and of what type.
var aclShapeRules = []rule{
	{id: "ACL004", severity: Warning, checks: `there is no "dump", or it is empty`,
		guess: true, message: Text{EN: "nothing will be dumped: %s", ZH: "不会 dump 任何数据：%s"},
		acl: func(a *ACL, r *reporter) {
			r.when(r.root == nil && len(r.doc.Source()) == 0, r.top(), Text{EN: "the file is empty", ZH: "文件为空"})
			r.when(a.Root.Present() && a.Root.Node.Get("dump") == nil, r.top(), Text{EN: `there is no "dump" object`, ZH: `没有 "dump" 对象`})
			r.when(a.Dump.Present() && !a.Dump.isFilled(), a.Dump.keySpan(), Text{EN: `"dump" is empty`, ZH: `"dump" 为空`})
		}},
	{id: "ACL005", severity: Error, code: "EP0001", stage: stageDump, checks: `"dump" is not an object`, message: asSaid,
		run: (*reporter).mistyped},
	{id: "ACL006", severity: Warning, checks: "an unknown key, which the runtime ignores",
		guess: true, message: Text{EN: "unknown key %s is ignored%s", ZH: "未知的键 %s 会被忽略%s"},
		ignored: Text{EN: "unknown key, which the runtime ignores", ZH: "未知的键，运行时忽略"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if r.home(s) == nil && (!s.in.table.open || r.nearest(s.member.Key, s.in.table.names()) != "") {
					r.unknownKey(s, s.in.table.names())
				}
			}
		}},
	{id: "ACL007", severity: Warning, checks: "a key at the wrong level, where the runtime ignores it",
		guess: true, message: Text{EN: "%s is ignored here: it must be %s", ZH: "%s 在此处会被忽略：必须%s"},
		ignored: Text{EN: "the key is at the wrong level and ignored there", ZH: "键的层级错误，被忽略"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if home := r.home(s); home != nil {
					place := lang.Sayf("inside %s", "位于%s中", home.where)
					if home == &aclRoot {
						place = lang.Sayf("at %s", "位于%s", home.where)
					}
					r.at(s.span(), show(s.member.Key), place)
				}
			}
		}},
	{id: "ACL010", severity: Error, code: "EP0001", stage: stageTypes, checks: "a value must be a string", message: asSaid,
		run: (*reporter).mistyped},
	{id: "ACL011", severity: Error, code: "EP0001", stage: stageListTypes, checks: "a value or member of an array has the wrong type", message: asSaid,
		run: (*reporter).mistyped},
}

// span is the place of the key.
func (s unknownKey) span() span {
	return span{jsonpos.JoinPath(s.in.Path, s.member.Key), s.member.KeyStart, s.member.KeyEnd}
}

// home returns the objects where an unknown key belongs, nil when nowhere.
func (c *check) home(s unknownKey) *keyTable {
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
func (r *reporter) unknownKey(s unknownKey, names []string) {
	best, hint := r.nearest(s.member.Key, names), lang.Sentence{}
	if best != "" {
		hint = didYouMean(best)
	}
	f := r.at(s.span(), show(s.member.Key), hint).suggest(best)
	if best != "" && lang.SameButForm(best, s.member.Key) && s.in.Node.Get(best) == nil {
		f.Edits = replace(s.span(), jsonpos.Quote(best))
	}
}
