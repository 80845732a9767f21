package dumpconf

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

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
