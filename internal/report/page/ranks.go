package page

import (
	"encoding/json"

	"dumptool/internal/lang"
	"dumptool/internal/ranks"
)

// rankFindings holds the findings between ranks, of a comparison or a check.
type rankFindings struct {
	*ranks.Report
	// Descriptions and Advice describe each finding and its remedy; Meant explains the notes.
	Descriptions []text `json:"said"`
	Advice       []text `json:"advice"`
	NoteMeanings []text `json:"meant"`
	// Axes describes the groups.
	Axes text `json:"axes"`
	// Omitted counts the omitted findings, LeftMaps the omitted maps.
	Omitted  int `json:"left"`
	LeftMaps int `json:"left_maps"`
}

// readRankFindings reads the key ranks of a document, nil if there is none.
func readRankFindings(document json.RawMessage) (*rankFindings, error) {
	if document == nil || string(document) == "null" {
		return nil, nil
	}
	r, err := ranks.Read(document)
	if err != nil {
		return nil, lang.Errorf("ranks: %w", err)
	}
	return newRankFindings(r), nil
}

// newRankFindings limits the findings of a report, and adds their texts.
func newRankFindings(r *ranks.Report) *rankFindings {
	b := &rankFindings{Report: r, Descriptions: []text{}, Advice: []text{}, NoteMeanings: []text{}, Axes: text(ranks.AxesText(r.Mesh))}
	if b.Omitted = max(0, len(r.Findings)-maxOthers); b.Omitted > 0 {
		r.Findings = r.Findings[:maxOthers]
	}
	if b.LeftMaps = max(0, len(r.Maps)-maxOthers); b.LeftMaps > 0 {
		r.Maps = r.Maps[:maxOthers]
	}
	for _, f := range r.Findings {
		b.Descriptions = append(b.Descriptions, textOf(f.Headline()))
		b.Advice = append(b.Advice, text(f.Advice()))
	}
	for _, n := range r.Notes {
		b.NoteMeanings = append(b.NoteMeanings, text(ranks.MeaningOf(n.Kind).Short))
	}
	return b
}
