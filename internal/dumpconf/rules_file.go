package dumpconf

import (
	"fmt"

	"dumptool/internal/dumpconf/jsonpos"
)

func msprobeRules() []rule {
	return []rule{
		{"CFG001", Error, "", stageLint, "the configuration of another tool",
			"this is a config.json of msprobe (task, level, dump_path), not a dump configuration: msprobe reads it itself, and writes the acl.json it needs; nothing else was checked",
			func(c *check, r *reporter) { r.at(c.top()) }},
	}
}

func syntaxRules() []rule {
	return []rule{
		{"ACL001", Error, "EP0004", stageParse, "the file is not strict JSON", "%s",
			func(c *check, r *reporter) {
				if len(c.doc.Source()) == 0 && c.schema == SchemaACL {
					return // an empty file is an acl.json without dump
				}
				r.syntax()
			}},
		{"ACL003", Error, "EP0004", stageParse, "the top level is not an object",
			"the top level must be an object {...}, found %s",
			func(c *check, r *reporter) {
				if c.root != nil && c.root.Kind != jsonpos.Object && c.root.Kind != jsonpos.Invalid {
					r.at(c.top(), c.root.Kind)
				}
			}},
	}
}

// syntax reports what the parser found.
func (r *reporter) syntax() {
	for _, p := range r.c.doc.Problems {
		at := spot{"", p.Offset, p.Offset + p.Length}
		if p.Cause == jsonpos.TooMany {
			r.as(Warning, at, p.Message).syntax = true // the runtime may well read it
			continue
		}
		if p.Cause == jsonpos.ByteOrderMark {
			f := r.as(Warning, at, p.Message+"; the runtimes skip it, other programs may not")
			f.Edits, f.syntax = p.Edits, true
			continue
		}
		f := r.at(at, "not valid JSON: "+p.Message)
		f.Edits, f.syntax = p.Edits, true
		f.wholeFile = p.Cause == jsonpos.UTF16
		if len(p.Edits) == 1 && p.Edits[0].Text != "" && !f.wholeFile {
			f.Suggestion = shorten(p.Edits[0].Text)
		}
	}
}

// sizeRule is the only rule for files that are too large to be read.
const sizeRule = "ACL002"

const tooLargeMessage = "the file is larger than 10 MiB, which the runtime does not read; nothing else was checked"

// maxBrackets is how many levels of either bracket the ACL runtime accepts.
const maxBrackets = 10

func fileRules() []rule {
	return []rule{
		{sizeRule, Error, "ACL_ERROR_PARSE_FILE", stageLimits, "the file is larger or nested more deeply than the runtime accepts", "%s",
			func(c *check, r *reporter) {
				if c.schema != SchemaACL {
					return
				}
				for _, b := range []string{"{}", "[]"} {
					if at := tooDeep(c.doc.Source(), b[0], b[1]); at >= 0 {
						r.at(spot{"", at, at + 1}, fmt.Sprintf("more than %d levels of \"%c\"; the runtime counts them in the text, also inside strings", maxBrackets, b[0]))
					}
				}
			}},
		{"ACL008", Warning, "", stageLint, "a key occurs twice in one object",
			"the key %s is given twice; only this last one counts, that of line %d, column %d does not",
			func(c *check, r *reporter) { r.duplicates(c.root, "") }},
		{"ACL091", Warning, "", stageLint, "a key or value is newer than the target version",
			"%s is known since version %v only; version %v %s it",
			func(c *check, r *reporter) {
				target := c.opt.TargetVersion
				for _, u := range c.read.used {
					if !u.key.Since.IsNewest() && target.lacks(u.key.Since) && !r.full() {
						r.at(u.at, u.key.Name, u.key.Since, target, "ignores")
					}
				}
				if c.acl == nil || target.Before(sinceCANN81) {
					return
				}
				if since, ok := sceneSince[c.acl.DumpScene.Value]; ok && target.lacks(since) {
					r.at(c.acl.DumpScene.valueSpot(), "dump_scene "+jsonpos.Quote(c.acl.DumpScene.Value), since, target, "rejects")
				}
			}},
	}
}

// sceneSince says when the later values of dump_scene came.
var sceneSince = map[string]Version{
	watcherScene:          sinceCANN83,
	"aic_err_brief_dump":  sinceCANN82,
	"aic_err_norm_dump":   sinceCANN82,
	"aic_err_detail_dump": sinceCANN82,
}

// tooDeep returns where the first bracket stands that is nested too deeply,
// or -1. Like the runtime it knows nothing of strings.
func tooDeep(src []byte, opening, closing byte) int {
	depth := 0
	for i, b := range src {
		switch {
		case b == opening:
			if depth++; depth > maxBrackets {
				return i
			}
		case b == closing && depth > 0:
			depth--
		}
	}
	return -1
}

// duplicates reports repeated keys in a value and all that is in it.
func (r *reporter) duplicates(v *jsonpos.Value, path string) {
	if v == nil || r.full() {
		return
	}
	for i, e := range v.Elems {
		if len(e.Members)+len(e.Elems) > 0 {
			r.duplicates(e, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	seen := make(map[string]*jsonpos.Member, min(len(v.Members), 16))
	for i := range v.Members {
		m := &v.Members[i]
		if first := seen[m.Key]; first != nil && !r.full() {
			line, column := r.c.doc.Position(first.KeyStart)
			f := r.at(spot{join(path, m.Key), m.KeyStart, m.KeyEnd}, show(m.Key), line, column)
			f.Related = r.c.related(first.KeyStart, first.KeyEnd, "this one does not count")
		}
		seen[m.Key] = m
		r.duplicates(m.Value, join(path, m.Key))
	}
}
