package dumpconf

import (
	"fmt"
	"strings"

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
		f.Suggestion = p.Repaired
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
				r.when(u.key.newerThan(target), u.keySpan(), u.key.Name, u.key.Since, target, Text{EN: "ignores", ZH: "忽略它"})
			}
			if r.acl == nil {
				return
			}
			scene := r.acl.at("dump_scene")
			if since, later := scene.key.since[scene.Value]; later && target.lacks(since) && !scene.key.newerThan(target) {
				r.at(scene.valueSpan(), "dump_scene "+jsonpos.Quote(scene.Value), since, target, Text{EN: "rejects", ZH: "拒绝它"})
			}
		}},
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

// knownProducts are examples of the products that can be named.
var knownProducts = []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"}

// productName matches the names of products without their brand.
var productName = lang.Pattern(`^(a[235]|cpu|gpu|[2-9][0-9]{2}.*)$`)

// targetRules check what was said about the target of the file.
var targetRules = []rule{
	{id: "CFG002", severity: Warning, checks: "a product that is not known",
		message: Text{EN: "%s is no known product, so nothing is checked for it; known are " + strings.Join(knownProducts, ", "), ZH: "%s 不是已知产品，不做相关检查；已知的有 " + strings.Join(knownProducts, ", ")},
		run: func(r *reporter) {
			r.when(r.opt.SoC != "" && !productName().MatchString(r.opt.soc()), r.top(), show(r.opt.SoC))
		}},
	{id: "CFG003", severity: Info, checks: "a backend or product that means nothing for the schema",
		message: Text{EN: "%s means something for MindSpore only, and this is a file for %s", ZH: "%s 仅对 MindSpore 有意义，而该文件用于 %s"},
		run: func(r *reporter) {
			other := r.schema != SchemaMindSpore
			r.when(other && r.opt.Backend != "", r.top(), lang.Sayf("the backend %s", "backend %s", show(r.opt.Backend)), r.schema)
			r.when(other && r.opt.noNPU(), r.top(), lang.Sayf("the product %s", "产品 %s", show(r.opt.SoC)), r.schema)
		}},
	{id: "CFG004", severity: Warning, checks: "an acl.json with settings of MindSpore",
		message: Text{EN: "the ACL runtime does not read common_dump_settings, and MindSpore not \"dump\": make two files", ZH: `ACL 运行时不读取 common_dump_settings，MindSpore 不读取 "dump"：请分成两个文件`},
		run: func(r *reporter) {
			if m := r.root.Get("common_dump_settings"); m != nil && r.schema == SchemaACL {
				r.at(span{m.Key, m.KeyStart, m.KeyEnd})
			}
		}},
}
