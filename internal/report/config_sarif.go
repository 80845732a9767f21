package report

import (
	"cmp"
	"slices"

	"dumptool/internal/dumpconf"
)

// ConfigSARIF collects reports for a file in SARIF 2.1.0 (OASIS), which
// services that show findings beside the source can read.
type ConfigSARIF struct {
	// Version is that of the program.
	Version string

	results []sarifResult
	failed  []sarifNotification
}

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
	Tool        sarifTool         `json:"tool"`
	ColumnKind  string            `json:"columnKind"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Default sarifLevel   `json:"defaultConfiguration"`
}

type sarifLevel struct {
	Level string `json:"level"`
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
	RuleID     string           `json:"ruleId"`
	RuleIndex  int              `json:"ruleIndex"`
	Level      string           `json:"level"`
	Message    sarifMessage     `json:"message"`
	Locations  []sarifLocation  `json:"locations"`
	Related    []sarifLocation  `json:"relatedLocations,omitempty"`
	Properties *sarifProperties `json:"properties,omitempty"`
}

type sarifProperties struct {
	Path       string `json:"path,omitempty"`
	Code       string `json:"code,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

type sarifLocation struct {
	ID       *int          `json:"id,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifMessage `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

// sarifRegion is a place; the end column is that behind it.
type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine,omitempty"` // where it is another line
	EndColumn   int `json:"endColumn"`
}

// Add adds the findings in the file that uri, relative to the folder of the
// sources, names.
func (s *ConfigSARIF) Add(uri string, r *dumpconf.Report) {
	places := newConfigPlaces(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		result := sarifResult{
			RuleID: f.Rule, Level: sarifLevelOf(f.Severity), Message: sarifMessage{f.Message},
			Locations: []sarifLocation{sarifLocationOf(uri, places, f.Place)},
		}
		if p := (sarifProperties{f.Path, f.Code, f.Suggestion}); p != (sarifProperties{}) {
			result.Properties = &p
		}
		for id, other := range f.Related {
			location := sarifLocationOf(uri, places, other.Place)
			location.ID, location.Message = &id, &sarifMessage{other.Message}
			result.Related = append(result.Related, location)
		}
		s.results = append(s.results, result)
	}
}

// Fail adds that an input could not be read.
func (s *ConfigSARIF) Fail(message string) {
	s.failed = append(s.failed, sarifNotification{"error", sarifMessage{message}})
}

func sarifLocationOf(uri string, places *configPlaces, at dumpconf.Place) sarifLocation {
	region := sarifRegion{StartLine: at.Line, StartColumn: at.Column}
	line, column := places.end(at)
	if line != at.Line {
		region.EndLine = line
	}
	region.EndColumn = column
	return sarifLocation{Physical: sarifPhysical{sarifArtifact{uri}, region}}
}

// sarifLevelOf translates a severity; SARIF calls a hint a note.
func sarifLevelOf(s dumpconf.Severity) string {
	if s == dumpconf.Info {
		return "note"
	}
	return s.String()
}

// JSON returns the file, without a newline at its end. It lists the rules that
// have findings.
func (s *ConfigSARIF) JSON() []byte {
	used := map[string]bool{}
	for i := range s.results {
		used[s.results[i].RuleID] = true
	}
	rules, index := []sarifRule{}, map[string]int{}
	for _, r := range dumpconf.Rules() {
		if _, known := index[r.ID]; used[r.ID] && !known {
			index[r.ID] = len(rules)
			rules = append(rules, sarifRule{r.ID, sarifMessage{r.Checks}, sarifLevel{sarifLevelOf(r.Severity)}})
		}
	}
	results := slices.Clone(s.results)
	for i := range results {
		results[i].RuleIndex = index[results[i].RuleID]
	}
	if results == nil {
		results = []sarifResult{}
	}
	return marshal(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{{
		Tool:        sarifTool{sarifDriver{"dumptool", cmp.Or(s.Version, "devel"), rules}},
		ColumnKind:  "unicodeCodePoints",
		Invocations: []sarifInvocation{{Successful: len(s.failed) == 0, Notifications: s.failed}},
		Results:     results,
	}}}, "  ")
}
