package report

import (
	"cmp"
	"io"
	"strings"

	"dumptool/internal/dumpconf"
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name    string      `json:"name"`
			Version string      `json:"version"`
			Rules   []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	ColumnKind  string            `json:"columnKind"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Fingerprints identify a result across runs.
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Properties   *sarifProperties  `json:"properties,omitempty"`
}

type sarifProperties struct {
	Path       string `json:"path,omitempty"`
	Code       string `json:"code,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

type sarifLocation struct {
	ID       *int `json:"id,omitempty"`
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"` // nil for a file without lines
	} `json:"physicalLocation"`
	Message *sarifMessage `json:"message,omitempty"`
}

// sarifRegion is a range; the end column is exclusive.
type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine,omitempty"` // if it differs from StartLine
	EndColumn   int `json:"endColumn"`
}

// WriteConfigChecksSARIF writes all findings as one log in SARIF 2.1.0 (OASIS), for services that
// show findings beside the source. It lists only rules with findings.
func WriteConfigChecksSARIF(w io.Writer, c *ConfigChecks) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Invocations: []sarifInvocation{{Successful: len(c.Failed) == 0}}}
	for i := range c.Files {
		run.Results = append(run.Results, sarifResults(c.uri(c.Files[i].Name), c.Files[i].Report())...)
	}
	for _, message := range c.Failed {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifMessage{message}})
	}
	return writeSARIF(w, c.Tool, sarifRules(run.Results), run)
}

// writeSARIF writes a run of the program; its results refer to rules by index.
func writeSARIF(w io.Writer, tool string, rules []sarifRule, run sarifRun) error {
	_, version, _ := strings.Cut(tool, " ")
	run.Tool.Driver.Name, run.Tool.Driver.Version = "dumptool", cmp.Or(version, "devel")
	run.Tool.Driver.Rules = rules
	return writeJSON(w, sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

// sarifResults returns the findings in the file at uri, which is relative to the folder of the
// sources.
func sarifResults(uri string, r *dumpconf.Report) []sarifResult {
	var results []sarifResult
	text := configTextOf(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		result := sarifResult{
			RuleID: f.Rule, Level: sarifLevel(f.Severity), Message: sarifMessage{f.Message.String()},
			Locations: []sarifLocation{sarifLocationOf(uri, text, f.TextRange)},
		}
		if p := (sarifProperties{f.Path, f.Code, f.Suggestion}); p != (sarifProperties{}) {
			result.Properties = &p
		}
		for id, other := range f.Related {
			location := sarifLocationOf(uri, text, other.TextRange)
			location.ID, location.Message = &id, &sarifMessage{other.Message.String()}
			result.Related = append(result.Related, location)
		}
		results = append(results, result)
	}
	return results
}

// sarifRules lists the rules of results, and sets the rule indexes of results.
func sarifRules(results []sarifResult) []sarifRule {
	index := map[string]int{}
	for i := range results {
		index[results[i].RuleID] = -1
	}
	rules := []sarifRule{}
	for _, r := range dumpconf.Rules() {
		if at, used := index[r.ID]; used && at < 0 {
			index[r.ID] = len(rules)
			rule := sarifRule{ID: r.ID, Short: sarifMessage{r.Checks}}
			rule.Default.Level = sarifLevel(r.Severity)
			rules = append(rules, rule)
		}
	}
	for i := range results {
		results[i].RuleIndex = max(index[results[i].RuleID], 0)
	}
	return rules
}

func sarifLocationOf(uri string, text configText, at dumpconf.TextRange) (l sarifLocation) {
	l.Physical.Artifact.URI = uri
	line, column := text.end(at)
	l.Physical.Region = &sarifRegion{StartLine: at.Line, StartColumn: at.Column, EndColumn: column}
	if line != at.Line {
		l.Physical.Region.EndLine = line
	}
	return l
}

// sarifLevel maps a severity; SARIF calls a hint a note.
func sarifLevel(s dumpconf.Severity) string {
	if s == dumpconf.Info {
		return "note"
	}
	return s.String()
}
