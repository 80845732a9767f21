// Package finding describes a fault by a code, the confidence in it, and its evidence as a sentence and as numbers.
// Rows of a comparison, operators of a check and ranks of a run have findings. cause.go lists the codes with their
// words.
package finding

import (
	"encoding/json"
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Finding is the reason of a status, or a cause found by the diagnosis, with measured and expected values.
type Finding struct {
	Code       Code          `json:"code"`
	Confidence Confidence    `json:"confidence"`
	Evidence   lang.Sentence `json:"evidence"`
	// Facts holds the numbers of the evidence.
	Facts Facts `json:"facts"`
}

// List is a list of findings in compare.json. If the Chinese evidence differs from the English, it
// is included, so that pages made from the document have both languages.
type List []Finding

// listEntry is a finding in a List.
type listEntry struct {
	Finding
	Chinese string `json:"evidence_zh,omitempty"`
}

// MarshalJSON implements json.Marshaler. A nil list is written as an empty one.
func (l List) MarshalJSON() ([]byte, error) {
	all := make([]listEntry, len(l))
	for i, f := range l {
		all[i].Finding = f
		if text := f.Evidence.Text(); text.Chinese() != text.String() {
			all[i].Chinese = text.Chinese()
		}
	}
	return jsonpos.Marshal(all, ""), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(data []byte) error {
	var all []listEntry
	err := json.Unmarshal(data, &all)
	*l = nil
	for _, x := range all {
		if x.Chinese != "" {
			x.Evidence = lang.Say("%s", lang.Text{EN: x.Evidence.String(), ZH: x.Chinese})
		}
		*l = append(*l, x.Finding)
	}
	return err
}

// Equal reports whether two findings are equal, ignoring their facts.
func (f Finding) Equal(g Finding) bool {
	return f.Code == g.Code && f.Confidence == g.Confidence && f.Evidence.Equal(g.Evidence)
}

// Confidence is High for a fact or a documented rule, Medium or Low for dumptool's own rules.
type Confidence string

// Levels of confidence.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Has reports whether one of the findings has the code.
func Has(findings []Finding, code Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == code })
}

// WithoutCode returns the findings with other codes.
func WithoutCode(findings []Finding, code Code) []Finding {
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
