package dumpconf

import (
	"bytes"
	"cmp"
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// MaxSize is the size in bytes up to which the ACL runtime reads a file.
const MaxSize = 10 << 20

// check is one check of one text.
type check struct {
	name   string
	opt    *Options
	doc    *jsonpos.Document
	schema Schema
	root   *jsonpos.Value
	read   decoder

	acl     *ACL
	ms      *MindSpore
	engine  *EngineOptions
	msprobe *Object

	findings []*Finding
	more     bool
}

// Check reads a configuration and applies all rules of its schema. The name is
// that of the file and is not opened; "" and "-" stand for a text without one.
// Text that is not JSON is read as well as possible, so that the report holds
// what else is wrong.
func Check(name string, src []byte, opt Options) *Report {
	if len(src) > MaxSize {
		return tooLarge(name, opt.Schema)
	}
	text, isUTF16 := jsonpos.FromUTF16(src)
	doc := jsonpos.Parse(src)
	if isUTF16 {
		inner := jsonpos.Parse(text)
		doc = withUTF16(doc, inner)
	}
	c := &check{name: name, opt: &opt, doc: doc, root: doc.Root, schema: opt.Schema, more: doc.More}
	if c.schema == SchemaUnknown {
		c.schema = Detect(c.root)
	}
	switch c.schema {
	case SchemaACL:
		c.acl = readACL(&c.read, c.root)
	case SchemaMindSpore:
		c.ms = readMindSpore(&c.read, c.root)
	case SchemaGE, SchemaTF:
		c.engine = readEngine(&c.read, c.root, c.schema == SchemaTF)
	case SchemaMsprobe:
		c.msprobe = c.read.top(c.root, &msprobeRoot)
	}
	for order, rule := range rules(c.schema) {
		(&reporter{check: c, rule: rule, order: order}).apply()
	}
	c.dropGuesses()
	r := &Report{
		Name: name, Schema: c.schema, Doc: doc, More: c.more,
		ACL: c.acl, MindSpore: c.ms, Engine: c.engine,
	}
	r.Findings = c.place()
	for i := range r.Findings {
		if f := &r.Findings[i]; isUTF16 && !f.wholeFile {
			f.Edits = nil // they make sense in UTF-8 only
		}
	}
	return r
}

// ignored says why the runtime does not get to a stage, or nothing when it
// does.
func (c *check) ignored(s stage) lang.Sentence {
	switch {
	case c.acl == nil || s <= stageScene:
		return lang.Sentence{}
	case c.acl.exception():
		return lang.Sayf("the runtime does not check this in an exception scene", "异常场景下运行时不检查此项")
	case c.acl.overflow() && s > stageDebug:
		return lang.Sayf(`the runtime does not check this when dump_debug is "on"`, `dump_debug 为 "on" 时运行时不检查此项`)
	default:
		return lang.Sentence{}
	}
}

// withUTF16 returns the document that was read from UTF-16, with the problem
// of its encoding first. The repair of that one does those of the others.
func withUTF16(outer, inner *jsonpos.Document) *jsonpos.Document {
	encoding := outer.Problems[0]
	if !inner.Valid() {
		var edits []jsonpos.Edit
		for i := range inner.Problems {
			edits = append(edits, inner.Problems[i].Edits...)
		}
		if len(edits) == 0 {
			encoding.Edits = nil // the rest must be put right by hand
		} else {
			encoding.Edits[0].Text = string(jsonpos.Apply(inner.Source(), edits))
		}
	}
	encoding.Length = len(inner.Source())
	inner.Problems = append([]jsonpos.Problem{encoding}, inner.Problems...)
	return inner
}

// dropGuesses removes what cannot be known about a text whose quotes or
// brackets are damaged: what it lacks, and all that stands behind the damage.
func (c *check) dropGuesses() {
	at, damaged := c.doc.Damage()
	if !damaged {
		return
	}
	line := bytes.LastIndexByte(c.doc.Source()[:at], '\n') + 1
	c.findings = slices.DeleteFunc(c.findings, func(f *Finding) bool {
		if f.syntax || f.stage == stageLimits {
			return false
		}
		return f.Offset >= line || f.rule.guess
	})
}

// place puts the findings into the order of the text and gives them lines and
// columns.
func (c *check) place() []Finding {
	slices.SortStableFunc(c.findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.order, b.order))
	})
	stuck := slices.ContainsFunc(c.doc.Problems, func(p jsonpos.Problem) bool { return len(p.Edits) == 0 })
	cursor := c.doc.Cursor()
	out := make([]Finding, len(c.findings))
	for i, f := range c.findings {
		out[i] = *f
		out[i].Line, out[i].Column = cursor.Position(f.Offset)
		if !f.Ignored.IsZero() {
			out[i].Message = lang.Sayf("%s; %s", "%s；%s", f.Message, f.Ignored)
		}
		if !f.Ignored.IsZero() || stuck {
			out[i].Edits = nil
		}
	}
	return out
}

// related is a second place for a finding.
func (c *check) related(start, end int, message Text) []Related {
	line, column := c.doc.Position(start)
	return []Related{{Place{line, column, start, end - start}, lang.Sayf("%s", "%s", message)}}
}

// top is the place that stands for the whole text.
func (c *check) top() span {
	if c.root == nil {
		return span{}
	}
	return span{"", c.root.Start, min(c.root.Start+1, c.root.End)}
}

func tooLarge(name string, s Schema) *Report {
	if s == SchemaUnknown {
		s = SchemaACL
	}
	c := &check{name: name, schema: s}
	(&reporter{check: c, rule: ruleOf(sizeRule)}).at(span{}, tooLargeMessage)
	f := *c.findings[0]
	f.Line, f.Column = 1, 1
	return &Report{Name: name, Schema: s, Doc: jsonpos.Parse(nil), Findings: []Finding{f}}
}
