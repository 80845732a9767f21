package page

import (
	"encoding/json"

	"dumptool/internal/lang"
	"dumptool/internal/ranks"
)

// between holds the findings between ranks, of a comparison or a check.
type between struct {
	*ranks.Report
	// Said and Advice describe each finding and its remedy; Meant explains the notes.
	Said   []text `json:"said"`
	Advice []text `json:"advice"`
	Meant  []text `json:"meant"`
	// Axes describes the groups.
	Axes text `json:"axes"`
	// Left counts the omitted findings, LeftMaps the omitted maps.
	Left     int `json:"left"`
	LeftMaps int `json:"left_maps"`
}

// betweenOf reads the key ranks of a document, nil if there is none.
func betweenOf(document json.RawMessage) (*between, error) {
	if document == nil || string(document) == "null" {
		return nil, nil
	}
	r, err := ranks.Read(document)
	if err != nil {
		return nil, lang.Errorf("ranks: %w", err)
	}
	return newBetween(r), nil
}

// newBetween limits the findings of a report, and adds their texts.
func newBetween(r *ranks.Report) *between {
	b := &between{Report: r, Said: []text{}, Advice: []text{}, Meant: []text{}, Axes: text(ranks.AxesText(r.Mesh))}
	if b.Left = max(0, len(r.Findings)-maxOthers); b.Left > 0 {
		r.Findings = r.Findings[:maxOthers]
	}
	if b.LeftMaps = max(0, len(r.Maps)-maxOthers); b.LeftMaps > 0 {
		r.Maps = r.Maps[:maxOthers]
	}
	for _, f := range r.Findings {
		b.Said = append(b.Said, textOf(f.Headline()))
		b.Advice = append(b.Advice, text(f.Advice()))
	}
	for _, n := range r.Notes {
		b.Meant = append(b.Meant, text(ranks.MeaningOf(n.Kind).Short))
	}
	return b
}
