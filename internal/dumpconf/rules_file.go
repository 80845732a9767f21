package dumpconf

import (
	"fmt"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

var syntaxRules = []rule{
	{id: "ACL001", severity: Error, code: "EP0004", stage: stageParse, checks: "the file is not strict JSON", message: asSaid,
		run: (*reporter).syntax},
	{id: "ACL003", severity: Error, code: "EP0004", stage: stageParse, checks: "the top level is not an object",
		guess: true, message: Text{EN: "the top level must be an object {...}, found %s", ZH: "顶层必须是对象 {...}，实际为%s"},
		run: func(r *reporter) {
			if r.root != nil && r.root.Kind != jsonpos.Object && r.root.Kind != jsonpos.Invalid {
				r.at(r.top(), r.root.Kind)
			}
		}},
}

// syntax reports what the parser found. An empty file is an acl.json without dump.
func (r *reporter) syntax() {
	if len(r.doc.Source()) == 0 && r.schema == SchemaACL {
		return
	}
	for _, p := range r.doc.Problems {
		at := span{"", p.Offset, p.Offset + p.Length}
		if p.Cause == jsonpos.TooMany {
			r.as(Warning, at, p.Message).syntax = true // the runtime may well read it
			continue
		}
		if p.Cause == jsonpos.ByteOrderMark {
			f := r.as(Warning, at, lang.Sayf("%s; the runtimes skip it, other programs may not", "%s；运行时会跳过，其他程序未必", p.Message))
			f.Edits, f.syntax = p.Edits, true
			continue
		}
		f := r.at(at, lang.Sayf("not valid JSON: %s", "不是合法的 JSON：%s", p.Message))
		f.Edits, f.syntax = p.Edits, true
		f.wholeFile = p.Cause == jsonpos.UTF16
		if len(p.Edits) == 1 && p.Edits[0].Text != "" && !f.wholeFile {
			f.Suggestion = shorten(p.Edits[0].Text)
		}
	}
}

// sizeRule is the only rule for files that are too large to be read.
const sizeRule = "ACL002"

var tooLargeMessage = Text{EN: "the file is larger than 10 MiB, which the runtime does not read; nothing else was checked", ZH: "文件大于 10 MiB，运行时不会读取；未检查其他内容"}

// maxBrackets is how many levels of either bracket the ACL runtime accepts.
const maxBrackets = 10

var fileRules = []rule{
	{id: sizeRule, severity: Error, code: "ACL_ERROR_PARSE_FILE", stage: stageLimits, checks: "the file is larger or nested more deeply than the runtime accepts", message: asSaid,
		run: func(r *reporter) {
			for _, b := range []string{"{}", "[]"} {
				if at := tooDeep(r.doc.Source(), b[0], b[1]); at >= 0 && r.schema == SchemaACL {
					r.at(span{"", at, at + 1}, lang.Sayf("more than %d levels of \"%c\"; the runtime counts them in the text, also inside strings", "超过 %d 层 \"%c\"；运行时按文本计数，字符串内的也计入", maxBrackets, b[0]))
				}
			}
		}},
	{id: "ACL008", severity: Warning, checks: "a key occurs twice in one object",
		message: Text{EN: "the key %s is given twice; only this last one counts, that of line %d, column %d does not", ZH: "键 %s 重复；只有最后这一个生效，第 %d 行第 %d 列的不生效"},
		ignored: Text{EN: "given twice; only the last one counts", ZH: "重复的键，只有最后一个生效"},
		run:     func(r *reporter) { r.duplicates(r.root, "") }},
	{id: "ACL091", severity: Warning, checks: "a key or value is newer than the target version",
		message: Text{EN: "%s is known since version %v only; version %v %s it", ZH: "%s 从版本 %v 起才支持；版本 %v 会%s"},
		ignored: Text{EN: "newer than the target version, which does not know it", ZH: "目标版本尚不支持"},
		run: func(r *reporter) {
			target := r.opt.TargetVersion
			for _, u := range r.read.used {
				r.when(u.key.newerThan(target), u.at, u.key.Name, u.key.Since, target, Text{EN: "ignores", ZH: "忽略它"})
			}
			if r.check.acl == nil || target.Before(sinceCANN81) {
				return
			}
			if since, ok := sceneSince[r.acl.DumpScene.Value]; ok && target.lacks(since) {
				r.at(r.acl.DumpScene.valueSpan(), "dump_scene "+jsonpos.Quote(r.acl.DumpScene.Value), since, target, Text{EN: "rejects", ZH: "拒绝它"})
			}
		}},
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
	if v == nil {
		return
	}
	for i, e := range v.Elems {
		if len(e.Members)+len(e.Elems) > 0 {
			r.duplicates(e, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	for first, again := range v.Repeated() {
		if r.full() {
			return
		}
		line, column := r.doc.Position(first.KeyStart)
		f := r.at(span{jsonpos.JoinPath(path, again.Key), again.KeyStart, again.KeyEnd}, show(again.Key), line, column)
		f.Related = r.related(first.KeyStart, first.KeyEnd, Text{EN: "this one does not count", ZH: "这一个不生效"})
	}
	for i := range v.Members {
		r.duplicates(v.Members[i].Value, jsonpos.JoinPath(path, v.Members[i].Key))
	}
}
