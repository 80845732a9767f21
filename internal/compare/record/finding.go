package record

import (
	"slices"

	"dumptool/internal/lang"
)

// Finding is a reason of a status or a cause that the diagnosis found: what was
// measured, and against what.
type Finding struct {
	Code       Code          `json:"code"`
	Confidence Confidence    `json:"confidence"`
	Evidence   lang.Sentence `json:"evidence"`
	// Facts are the numbers of the evidence.
	Facts Facts `json:"facts"`
}

// findingJSON is a reason in compare.json. The evidence is in Chinese too where that is
// another text, so that pages made of the document have both languages.
type findingJSON struct {
	Code       Code          `json:"code"`
	Confidence Confidence    `json:"confidence"`
	Evidence   lang.Sentence `json:"evidence"`
	Chinese    string        `json:"evidence_zh,omitempty"`
	Facts      Facts         `json:"facts"`
}

func findingsJSON(findings []Finding) []findingJSON {
	all := make([]findingJSON, len(findings))
	for i, f := range findings {
		all[i] = findingJSON{Code: f.Code, Confidence: f.Confidence, Evidence: f.Evidence, Facts: f.Facts}
		if t := f.Evidence.Text(); t.ZH != t.EN {
			all[i].Chinese = t.ZH
		}
	}
	return all
}

func findingsOf(all []findingJSON) []Finding {
	var findings []Finding
	for _, j := range all {
		f := Finding{j.Code, j.Confidence, j.Evidence, j.Facts}
		if j.Chinese != "" {
			f.Evidence = lang.Sayf(j.Evidence.String(), j.Chinese)
		}
		findings = append(findings, f)
	}
	return findings
}

// equal reports whether two findings say the same, whatever their facts are.
func (f Finding) equal(g Finding) bool {
	return f.Code == g.Code && f.Confidence == g.Confidence && f.Evidence.Equal(g.Evidence)
}

// Confidence is High for a fact or a documented rule, Medium or Low for a rule
// of dumptool's own.
type Confidence string

// The confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Has reports whether one of the findings has the code.
func Has(findings []Finding, code Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == code })
}

// Without returns the findings of other codes.
func Without(findings []Finding, code Code) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Code == code })
}

// Merge joins two lists and keeps the first finding of each code.
func Merge(findings, more []Finding) []Finding {
	var merged []Finding
	for _, f := range slices.Concat(findings, more) {
		if !Has(merged, f.Code) {
			merged = append(merged, f)
		}
	}
	return merged
}
