// Package dumpconf reads and checks the files that say what Ascend software
// dumps: acl.json of the ACL runtime, the dump settings of MindSpore, and
// the dump options of the graph engine and the TensorFlow adapter written as
// flat JSON.
//
// All that is known about a key is a row of the tables in acl.go, mindspore.go,
// engine.go and msprobe.go: a new key is a row, and a rule where its value has to fit
// others.
//
// Check finds out which of them a text is, reads it into settings that know their
// row and their place in the text, and applies a table of rules. The runtimes
// ignore unknown keys and report one mistake at a time; the rules find all of
// them, with line and column, the runtime's own error code and, where there
// is one right answer, the edit that repairs it.
//
// New makes a configuration for a purpose, Explain says in plain words what one
// does, and Translate writes it for another runtime. What New and Translate
// write has no errors by these rules.
//
// The rules follow public sources: the documentation and sources of the CANN
// runtime and graph engine (codes EP0001 to EP0005 and E10001 to E10058) and
// of MindSpore (dump_json_parser). Versions are those whose documentation
// first shows a key.
//
// Checks touch neither files nor environment: what they need to know of them
// comes through Options. Printing is left to others.
package dumpconf

import (
	"bytes"
	"cmp"
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"

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

// maxRounds bounds Repair. A round fixes what the list of problems has room
// for; each but the last makes the text better.
const maxRounds = 64

// maxRepaired bounds the bytes that the rounds of Repair read together: what
// takes more has faults in the hundred thousands, and another run goes on.
const maxRepaired = 32 << 20

// Fix applies the edits of findings to the text they were found in. Where
// edits overlap the larger one counts, and the first of equals.
func Fix(src []byte, findings []Finding) []byte {
	var edits []jsonpos.Edit
	for i := range findings {
		for _, e := range findings[i].Edits {
			if e.Offset >= 0 && e.Length >= 0 && e.Length <= len(src)-e.Offset {
				edits = append(edits, e)
			}
		}
	}
	return jsonpos.Apply(src, edits)
}

// Repair checks and fixes a text until nothing is left that can be fixed, and
// returns the text and its last report. It never makes errors more, and text
// that it changed is JSON.
func Repair(name string, src []byte, opt Options) ([]byte, *Report) {
	report := Check(name, src, opt)
	for done := 0; done < maxRounds && done*len(src) < maxRepaired; done++ {
		// A misspelled key that gets its right name may reveal what is wrong
		// with its value: then the warning stays, for the user to decide.
		fixed, after := tryFix(src, report, opt, Info)
		if after.Count(Error) > report.Count(Error) {
			fixed, after = tryFix(src, report, opt, Error)
		}
		if bytes.Equal(fixed, src) || after.Count(Error) > report.Count(Error) || !after.Doc.Valid() {
			break
		}
		src, report = fixed, after
	}
	return src, report
}

// tryFix applies the edits of findings that are at least so severe.
func tryFix(src []byte, report *Report, opt Options, least Severity) ([]byte, *Report) {
	fixed := Fix(src, report.findings(func(f *Finding) bool { return f.Severity >= least }))
	if bytes.Equal(fixed, src) {
		return src, report
	}
	return fixed, Check(report.Name, fixed, opt)
}

// Stdin is the name of a text without a file.
const Stdin = "-"

// Checks are the checks of several files.
type Checks struct {
	Files  []FileCheck
	Failed []string // files that could not be read or written, and why
}

// FileCheck is a file that was checked, and perhaps repaired.
type FileCheck struct {
	Name   string
	Before *Report
	// After is the report of the repaired text, nil when no repair was asked for.
	After         *Report
	Source, Fixed []byte // the texts; without repair nil
	Written       bool   // the file has the repaired text
}

// RepairFile checks and repairs a text, and keeps both.
func RepairFile(name string, src []byte, opt Options) FileCheck {
	f := FileCheck{Name: name, Before: Check(name, src, opt), Source: src}
	f.Fixed, f.After = Repair(name, src, opt)
	return f
}

// Report returns the report of the file as it is now.
func (f *FileCheck) Report() *Report {
	if f.Written {
		return f.After
	}
	return f.Before
}

// Changed reports whether a repair changes the text.
func (f *FileCheck) Changed() bool { return f.After != nil && !bytes.Equal(f.Source, f.Fixed) }

// Count returns the number of findings of a severity in all files.
func (c *Checks) Count(s Severity) int {
	n := 0
	for i := range c.Files {
		n += c.Files[i].Report().Count(s)
	}
	return n
}

// Bad returns the number of files with errors or warnings.
func (c *Checks) Bad() int {
	n := 0
	for i := range c.Files {
		if worst, found := c.Files[i].Report().Worst(); found && worst >= Warning {
			n++
		}
	}
	return n
}

// Fixable returns the number of findings that a repair would change.
func (c *Checks) Fixable() int {
	n := 0
	for i := range c.Files {
		n += len(c.Files[i].Report().findings(func(f *Finding) bool { return len(f.Edits) > 0 }))
	}
	return n
}

// Severity says how bad a finding is.
type Severity int

// The severities, from the mildest.
const (
	Info    Severity = iota // a hint
	Warning                 // accepted, but not what the user wants
	Error                   // rejected by the runtime or documented as illegal
)

var severityNames = [...]string{"info", "warning", "error"}

// String returns info, warning or error.
func (s Severity) String() string { return severityNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Place is a stretch of the text. Line and column count from 1, columns are
// characters, offset and length are bytes of the text as UTF-8, as the document has it.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"-"`
	Length int `json:"-"`
}

// Related is a second place a finding speaks of.
type Related struct {
	Place
	Message lang.Sentence `json:"message"`
}

// Finding is one thing to say about a configuration.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Path     string   `json:"path"` // like dump.dump_list[0].layer; empty for the whole file
	Place
	Message    lang.Sentence  `json:"message"`
	Code       string         `json:"code"`                 // the runtime's own error code, or empty
	Suggestion string         `json:"suggestion,omitempty"` // what to write instead, or empty
	Ignored    lang.Sentence  `json:"ignored,omitzero"`     // why the runtime does not look at this, or empty
	Related    []Related      `json:"related,omitempty"`
	Edits      []jsonpos.Edit `json:"-"` // the repair, when there is one right answer

	rule      *rule
	syntax    bool // about the text, not what it says
	stage     stage
	order     int  // of the rule in the table
	wholeFile bool // the edit is one of the file as it is, not of the text read from it
}

// Report is the result of a check.
type Report struct {
	Name     string
	Schema   Schema
	Findings []Finding // in the order of the text
	More     bool      // a rule had more to say than is listed
	Doc      *jsonpos.Document

	// What the text was read into; nil for other schemas.
	ACL       *ACL
	MindSpore *MindSpore
	Engine    *EngineOptions
}

// Worst returns the highest severity, and false when there is no finding.
func (r *Report) Worst() (Severity, bool) {
	worst := Info
	for i := range r.Findings {
		worst = max(worst, r.Findings[i].Severity)
	}
	return worst, len(r.Findings) > 0
}

// Count returns the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	return len(r.findings(func(f *Finding) bool { return f.Severity == s }))
}

// findings returns the findings that are wanted.
func (r *Report) findings(wanted func(f *Finding) bool) []Finding {
	var out []Finding
	for i := range r.Findings {
		if wanted(&r.Findings[i]) {
			out = append(out, r.Findings[i])
		}
	}
	return out
}

// errors returns the errors of a report.
func (r *Report) errors() []Finding {
	return r.findings(func(f *Finding) bool { return f.Severity == Error })
}

// RuntimeError returns the error at which the ACL runtime itself stops: the
// first in the order in which it validates. It returns nil when the runtime
// accepts the file.
func (r *Report) RuntimeError() *Finding {
	var first *Finding
	for _, f := range r.errors() {
		if f.stage != stageLint && (first == nil || f.stage < first.stage) {
			first = &f
		}
	}
	return first
}

// Refused returns the error at which the runtime stops, or else the first one, or nil
// when there are none.
func (r *Report) Refused() *Finding {
	first := r.RuntimeError()
	if errors := r.errors(); first == nil && len(errors) > 0 {
		first = &errors[0]
	}
	return first
}

// Text is a text in English and Chinese.
type Text = lang.Text

// textFiles hold what is said about configurations: a line with a key, then one each
// in English and in Chinese behind a tab, with the verbs of fmt for arguments.
//
//go:embed texts
var textFiles embed.FS

var textTable = sync.OnceValue(func() map[string]Text {
	files, err := fs.Glob(textFiles, "texts/*.txt")
	if err != nil {
		panic(err)
	}
	table := make(map[string]Text)
	for _, name := range files {
		src, err := textFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		readTexts(table, string(src))
	}
	return table
})

func readTexts(table map[string]Text, src string) {
	key := ""
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		text, indented := strings.CutPrefix(line, "\t")
		t := table[key]
		switch {
		case !indented:
			key = line
			continue
		case t.EN == "":
			t.EN = text
		default:
			t.ZH = text
		}
		table[key] = t
	}
}

// text is the text of a key with its arguments. Of arguments that are texts
// themselves each language takes its own.
func text(key string, args ...any) Text {
	t, known := textTable()[key]
	if !known {
		panic("no text " + key)
	}
	return lang.Sayf(t.EN, t.ZH, args...).Text()
}
