package report

import "dumptool/internal/dumpconf"

// configJSON is the JSON form of a checked configuration.
type configJSON struct {
	File     string          `json:"file"`
	Schema   string          `json:"schema"`
	Findings []configFinding `json:"findings"`
}

// configFinding is a finding. Lines and columns count from 1, columns are
// characters.
type configFinding struct {
	Rule       string          `json:"rule"`
	Severity   string          `json:"severity"`
	Path       string          `json:"path"`
	Line       int             `json:"line"`
	Column     int             `json:"column"`
	Message    string          `json:"message"`
	Code       string          `json:"code"`
	Suggestion string          `json:"suggestion,omitempty"`
	Ignored    string          `json:"ignored,omitempty"`
	Related    []configRelated `json:"related,omitempty"`
}

type configRelated struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// AppendConfigJSON appends a report as a JSON object on one line, without a
// newline.
func AppendConfigJSON(dst []byte, name string, r *dumpconf.Report) []byte {
	form := configJSON{File: name, Schema: r.Schema.String(), Findings: make([]configFinding, len(r.Findings))}
	for i := range r.Findings {
		form.Findings[i] = configFindingJSON(&r.Findings[i])
	}
	return append(dst, marshal(form, "")...)
}

func configFindingJSON(f *dumpconf.Finding) configFinding {
	form := configFinding{
		Rule: f.Rule, Severity: f.Severity.String(), Path: f.Path, Line: f.Line, Column: f.Column,
		Message: f.Message, Code: f.Code, Suggestion: f.Suggestion, Ignored: f.Ignored,
	}
	for _, other := range f.Related {
		form.Related = append(form.Related, configRelated{other.Line, other.Column, other.Message})
	}
	return form
}
