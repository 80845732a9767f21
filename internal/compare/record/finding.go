package record

import (
	"encoding/json"
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

// findings are the reasons of a row in compare.json.
type findings []Finding

// MarshalJSON implements json.Marshaler.
func (all findings) MarshalJSON() ([]byte, error) {
	list := make([]findingJSON, len(all))
	for i, f := range all {
		list[i] = findingJSON{f.Code, f.Confidence, f.Evidence, "", f.Facts}
		if t := f.Evidence.Text(); t.ZH != t.EN {
			list[i].Chinese = t.ZH
		}
	}
	return marshal(list, "")
}

// UnmarshalJSON implements json.Unmarshaler.
func (all *findings) UnmarshalJSON(data []byte) error {
	var list []findingJSON
	err := json.Unmarshal(data, &list)
	*all = nil
	for _, j := range list {
		if j.Chinese != "" {
			j.Evidence = lang.Sayf(j.Evidence.String(), j.Chinese)
		}
		*all = append(*all, Finding{j.Code, j.Confidence, j.Evidence, j.Facts})
	}
	return err
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
