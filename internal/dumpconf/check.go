// Package dumpconf reads and checks the dump configurations of Ascend software: acl.json of the ACL
// runtime, the dump settings of MindSpore, config.json of msprobe, and the dump options of the
// graph engine and the TensorFlow adapter as flat JSON. Checks read neither files nor the environment.
//
// Check detects the schema of a text, reads it into settings with their places, and applies a table
// of rules. The runtimes ignore unknown keys and report one mistake at a time; the rules report all
// mistakes, with the runtime's error code and, if there is one right answer, an edit. New makes a
// configuration without errors for a purpose, Explain describes a configuration in words.
//
// Every key is a row of the tables in acl.go, mindspore.go, engine.go and msprobe.go. A new key
// needs a row, and a rule if its value depends on other keys. The rules follow public sources: the
// documentation and sources of the CANN runtime and graph engine (codes EP0001 to EP0005 and E10001
// to E10058) and of MindSpore (dump_json_parser). The version of a key is the first version whose
// documentation shows it.
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

// MaxSize is the largest file that the ACL runtime reads, in bytes.
const MaxSize = 10 << 20

// check is one check of one text.
type check struct {
	*Report
	opt      *Options
	root     *jsonpos.Value
	read     decoder
	findings []*Finding
}

// Check reads a configuration and applies all rules of its schema. name is the name of the file,
// which is not opened; "" and "-" stand for a text without a file. Text that is not JSON is read as
// well as possible, so that the report also has the other errors.
func Check(name string, src []byte, opt Options) *Report {
	if len(src) > MaxSize {
		return tooLarge(name, opt.Schema)
	}
	text, isUTF16 := jsonpos.FromUTF16(src)
	doc := jsonpos.Parse(src)
	if isUTF16 {
		inner := jsonpos.Parse(text)
		doc = mergeEncodingProblem(doc, inner)
	}
	c := &check{Report: &Report{Name: name, Schema: opt.Schema, Doc: doc, More: doc.More}, opt: &opt, root: doc.Root}
	if c.Schema == SchemaUnknown {
		c.Schema = Detect(c.root)
	}
	switch c.Schema {
	case SchemaACL:
		c.ACL = readACL(&c.read, c.root)
	case SchemaMindSpore:
		c.MindSpore = readMindSpore(&c.read, c.root)
	case SchemaGE, SchemaTF:
		c.Engine = readEngine(&c.read, c.root, c.Schema == SchemaTF)
	case SchemaMsprobe:
		c.msprobe = c.read.readDocument(c.root, &msprobeRoot)
	}
	for order, rule := range eachRule(c.Schema) {
		(&reporter{check: c, rule: rule, order: order}).apply()
	}
	c.dropGuesses()
	c.Findings = c.sortFindings()
	for i := range c.Findings {
		if f := &c.Findings[i]; isUTF16 && !f.wholeFile {
			f.Edits = nil // edits of UTF-8 do not fit the file
		}
	}
	return c.Report
}

// unreachedReason explains why the runtime never reaches a validation stage; it returns an empty sentence
// if it does.
func (c *check) unreachedReason(s validationStep) lang.Sentence {
	switch {
	case c.ACL == nil || s <= stageScene:
		return lang.Sentence{}
	case c.ACL.dumpsFailures():
		return lang.Say("the runtime does not check this in an exception scene")
	case c.ACL.dumpsOverflow() && s > stageDebug:
		return lang.Say(`the runtime does not check this when dump_debug is "on"`)
	default:
		return lang.Sentence{}
	}
}

// mergeEncodingProblem returns the document decoded from UTF-16 with one more problem: its
// encoding. The repair of the encoding includes the repairs of the other problems.
func mergeEncodingProblem(outer, inner *jsonpos.Document) *jsonpos.Document {
	encoding := outer.Problems[0]
	if !inner.Valid() {
		var edits []jsonpos.Edit
		for i := range inner.Problems {
			edits = append(edits, inner.Problems[i].Edits...)
		}
		if len(edits) == 0 {
			encoding.Edits = nil // the other problems need manual repair
		} else {
			encoding.Edits[0].Text = string(jsonpos.Apply(inner.Source(), edits))
		}
	}
	encoding.Length = len(inner.Source())
	inner.Problems = append([]jsonpos.Problem{encoding}, inner.Problems...)
	return inner
}

// dropGuesses removes guesses about a text with damaged quotes or brackets: findings about missing
// parts, and all findings behind the damage.
func (c *check) dropGuesses() {
	at, damaged := c.Doc.Damage()
	if !damaged {
		return
	}
	line := bytes.LastIndexByte(c.Doc.Source()[:at], '\n') + 1
	c.findings = slices.DeleteFunc(c.findings, func(f *Finding) bool {
		if f.syntax || f.stage == stageLimits {
			return false
		}
		return f.Offset >= line || f.rule.guess
	})
}

// sortFindings sorts the findings by position and sets their lines and columns.
func (c *check) sortFindings() []Finding {
	slices.SortStableFunc(c.findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.order, b.order))
	})
	hasUnfixable := slices.ContainsFunc(c.Doc.Problems, func(p jsonpos.Problem) bool { return len(p.Edits) == 0 })
	cursor := c.Doc.Cursor()
	out := make([]Finding, len(c.findings))
	for i, f := range c.findings {
		out[i] = *f
		out[i].Line, out[i].Column = cursor.Position(f.Offset)
		if !f.Ignored.IsZero() {
			out[i].Message = lang.Say("%s; %s", f.Message, f.Ignored)
		}
		if !f.Ignored.IsZero() || hasUnfixable {
			out[i].Edits = nil
		}
	}
	return out
}

// relatedRange returns a second place for a finding.
func (c *check) relatedRange(start, end int, message Text) []RelatedPlace {
	line, column := c.Doc.Position(start)
	return []RelatedPlace{{TextRange{line, column, start, end - start}, lang.Say("%s", message)}}
}

// wholeText returns the place of findings about the whole text.
func (c *check) wholeText() span {
	if c.root == nil {
		return span{}
	}
	return span{"", c.root.Start, min(c.root.Start+1, c.root.End)}
}

func tooLarge(name string, s Schema) *Report {
	if s == SchemaUnknown {
		s = SchemaACL
	}
	c := &check{Report: &Report{Name: name, Schema: s, Doc: jsonpos.Parse(nil)}}
	(&reporter{check: c, rule: ruleOf(sizeRule)}).report(span{}, tooLargeMessage)
	f := *c.findings[0]
	f.Line, f.Column = 1, 1
	c.Findings = []Finding{f}
	return c.Report
}

// maxRounds bounds the rounds of Repair. A round fixes the listed problems; all rounds but the last
// improve the text.
const maxRounds = 64

// maxRepaired bounds the bytes that all rounds of Repair read. Larger texts have hundreds of
// thousands of faults; another run continues.
const maxRepaired = 32 << 20

// Fix applies the edits of findings to the checked text. Of overlapping edits the largest is
// applied, of equally large edits the first.
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

// Repair alternates checks and fixes until nothing fixable is left, and returns the text and its
// last report. The number of errors never grows, and a changed text is valid JSON.
func Repair(name string, src []byte, opt Options) ([]byte, *Report) {
	report := Check(name, src, opt)
	for done := 0; done < maxRounds && done*len(src) < maxRepaired; done++ {
		// Fixing a misspelled key may reveal an error in its value: then keep the warning for the
		// user to decide.
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

// tryFix applies the edits of findings with at least this severity.
func tryFix(src []byte, report *Report, opt Options, minSeverity Severity) ([]byte, *Report) {
	fixed := Fix(src, report.findings(func(f *Finding) bool { return f.Severity >= minSeverity }))
	if bytes.Equal(fixed, src) {
		return src, report
	}
	return fixed, Check(report.Name, fixed, opt)
}

// Stdin is the name of a text without a file.
const Stdin = "-"

// Checks holds the checks of several files.
type Checks struct {
	Files  []FileCheck
	Failed []string // files that could not be read or written, and why
}

// FileCheck is the check of a file, with its repair if requested.
type FileCheck struct {
	Name   string
	Before *Report
	// After is the report of the repaired text, nil without repair.
	After         *Report
	Source, Fixed []byte // the texts; nil without repair
	Written       bool   // the repaired text was written to the file
}

// RepairFile checks and repairs a text, and keeps both texts.
func RepairFile(name string, src []byte, opt Options) FileCheck {
	f := FileCheck{Name: name, Before: Check(name, src, opt), Source: src}
	f.Fixed, f.After = Repair(name, src, opt)
	return f
}

// Report returns the report of the file's current text.
func (f *FileCheck) Report() *Report {
	if f.Written {
		return f.After
	}
	return f.Before
}

// IsChanged reports whether a repair changes the text.
func (f *FileCheck) IsChanged() bool { return f.After != nil && !bytes.Equal(f.Source, f.Fixed) }

// Count returns the number of findings of a severity in all files.
func (c *Checks) Count(s Severity) int {
	n := 0
	for i := range c.Files {
		n += c.Files[i].Report().Count(s)
	}
	return n
}

// FaultyFiles returns the number of files with errors or warnings.
func (c *Checks) FaultyFiles() int {
	n := 0
	for i := range c.Files {
		if worst, found := c.Files[i].Report().WorstSeverity(); found && worst >= Warning {
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

// Severity is the severity of a finding.
type Severity int

// The severities, lowest first.
const (
	Info    Severity = iota // a hint
	Warning                 // accepted, but hardly intended
	Error                   // rejected by the runtime or documented as illegal
)

var severityNames = [...]string{"info", "warning", "error"}

// String returns info, warning or error.
func (s Severity) String() string { return severityNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// TextRange is a range of the text. Line and Column count from 1, columns in characters; Offset and
// Length are bytes of the document's UTF-8 text.
type TextRange struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"-"`
	Length int `json:"-"`
}

// RelatedPlace is a second place of a finding.
type RelatedPlace struct {
	TextRange
	Message lang.Sentence `json:"message"`
}

// Finding is a fault or a hint of a configuration.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Path     string   `json:"path"` // like dump.dump_list[0].layer; empty for the whole file
	TextRange
	Message    lang.Sentence  `json:"message"`
	Code       string         `json:"code"`                 // the runtime's own error code, or empty
	Suggestion string         `json:"suggestion,omitempty"` // what to write instead, or empty
	Ignored    lang.Sentence  `json:"ignored,omitzero"`     // why the runtime does not read this, or empty
	Related    []RelatedPlace `json:"related,omitempty"`
	Edits      []jsonpos.Edit `json:"-"` // the repair, if there is one right answer

	rule      *rule
	syntax    bool // about the JSON syntax, not about settings
	stage     validationStep
	order     int  // position of the rule in the table
	wholeFile bool // the edit applies to the file, not to the text decoded from it
}

// Report is the result of a check.
type Report struct {
	Name     string
	Schema   Schema
	Findings []Finding // by position
	More     bool      // the rule found more faults than the report lists
	Doc      *jsonpos.Document

	// The decoded settings; nil for other schemas.
	ACL       *ACL
	MindSpore *MindSpore
	Engine    *EngineOptions
	msprobe   *Object
}

// WorstSeverity returns the highest severity; false without findings.
func (r *Report) WorstSeverity() (Severity, bool) {
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

// findings returns the findings for which matches returns true.
func (r *Report) findings(matches func(f *Finding) bool) []Finding {
	var out []Finding
	for i := range r.Findings {
		if matches(&r.Findings[i]) {
			out = append(out, r.Findings[i])
		}
	}
	return out
}

// errors returns the findings of severity Error.
func (r *Report) errors() []Finding {
	return r.findings(func(f *Finding) bool { return f.Severity == Error })
}

// RuntimeError returns the error at which the ACL runtime stops: the first in its order of
// validation. It returns nil if the runtime accepts the file.
func (r *Report) RuntimeError() *Finding {
	var first *Finding
	for _, f := range r.errors() {
		if f.stage != stageLint && (first == nil || f.stage < first.stage) {
			first = &f
		}
	}
	return first
}

// FirstError returns RuntimeError, else the first error, else nil.
func (r *Report) FirstError() *Finding {
	first := r.RuntimeError()
	if errors := r.errors(); first == nil && len(errors) > 0 {
		first = &errors[0]
	}
	return first
}

// Text is a text in English and Chinese.
type Text = lang.Text

// textFiles holds the texts about configurations: a key on a line, then a tab-indented line with the
// text, with verbs of fmt for arguments.
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
		if !indented {
			key = line
			continue
		}
		table[key] = Text{EN: text}
	}
}

// text returns the text of a key with its arguments. Arguments of type Text contribute the same
// language to each language.
func text(key string, args ...any) Text {
	t, known := textTable()[key]
	if !known {
		panic("no text " + key)
	}
	return lang.Say(t.EN, args...).Text()
}
