package dumpconf

import (
	"fmt"

	"dumptool/internal/dumpconf/jsonpos"
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
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severityNames) {
		return fmt.Sprintf("severity(%d)", int(s))
	}
	return severityNames[s]
}

// Place is a stretch of the text. Line and column count from 1, columns are
// characters, offset and length are bytes.
type Place struct {
	Line, Column   int
	Offset, Length int
}

// Related is a second place a finding speaks of.
type Related struct {
	Place
	Message string
}

// Finding is one thing to say about a configuration.
type Finding struct {
	Rule     string
	Severity Severity
	Code     string // the runtime's own error code, or empty
	Path     string // like dump.dump_list[0].layer; empty for the whole file
	Place
	Message    string
	Suggestion string // what to write instead, or empty
	Ignored    string // why the runtime does not look at this, or empty
	Related    []Related
	Edits      []jsonpos.Edit // the repair, when there is one right answer

	syntax    bool // about the text, not what it says
	stage     stage
	order     int  // of the rule in the table
	wholeFile bool // the place is the file as it is, not the text read from it
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
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}

// RuntimeError returns the error at which the ACL runtime itself stops: the
// first in the order in which it validates. It returns nil when the runtime
// accepts the file.
func (r *Report) RuntimeError() *Finding {
	var first *Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.stage == stageLint || f.Severity != Error {
			continue
		}
		if first == nil || f.stage < first.stage {
			first = f
		}
	}
	return first
}
