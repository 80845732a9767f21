package ranks

import (
	"encoding/json"
	"errors"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/trace"
	"dumptool/internal/unshard"
)

// Report is the judgement of a run of many ranks: the key ranks of documents.
type Report struct {
	// Mesh lists the sizes and strides of the groups, Groups all groups.
	Mesh   []Axis  `json:"mesh"`
	Groups []Group `json:"groups"`
	// World is the number of ranks in the dump, Steps the number of steps.
	World int `json:"world"`
	Steps int `json:"steps"`
	// Events counts the communications, Replicas the sets of tensors that should be equal.
	Events   EventCount   `json:"events"`
	Replicas replicaCount `json:"replicas"`
	// Located counts the tensors that were found in a reference, null without a reference.
	Located *LocatedCount `json:"located,omitempty"`
	// Maps has the positions of tensors in a reference, absent without a reference.
	Maps []*unshard.Map `json:"maps,omitempty"`
	// Findings are faults in causal order, Notes are oddities that are no faults.
	Findings []*Finding `json:"findings"`
	Notes    []*Note    `json:"notes"`
	// Matrix shows the faults by rank and layer, null without faults.
	Matrix *Matrix `json:"matrix"`

	// Errs are tensors that could not be read.
	Errs []*trace.ReadError `json:"-"`
}

// LocatedCount counts tensors of ranks that have a counterpart in a reference.
type LocatedCount struct {
	// Tensors counts the tensors that were found, Of the tensors that were looked for.
	Tensors int `json:"tensors"`
	Of      int `json:"of"`
}

// Read reads a report from its JSON document.
func Read(document []byte) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal(document, r); err != nil {
		return nil, err
	}
	return r, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Report) UnmarshalJSON(document []byte) error {
	type plain Report
	if err := json.Unmarshal(document, (*plain)(r)); err != nil {
		return err
	}
	for _, f := range r.Findings {
		switch {
		case f == nil || MeaningOf(f.Kind) == nil:
			return lang.Errorf("a finding of an unknown kind")
		case f.Chinese != "":
			f.Evidence = lang.Say("%s", lang.Text{EN: f.Evidence.String(), ZH: f.Chinese})
		}
	}
	for _, n := range r.Notes {
		if n == nil || MeaningOf(n.Kind) == nil {
			return lang.Errorf("a note of an unknown kind")
		}
	}
	return nil
}

// Merge merges reports of steps or of runs, in their order. Empty documents are skipped; nil without a report.
func Merge(documents [][]byte) ([]byte, error) {
	var all *Report
	for _, text := range documents {
		if text == nil {
			continue
		}
		r, err := Read(text)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = r
		default:
			all.add(r)
		}
	}
	if all == nil {
		return nil, nil
	}
	all.Maps = unshard.FoldMaps(all.Maps)
	return json.Marshal(all)
}

// add adds another report.
func (r *Report) add(o *Report) {
	for _, a := range o.Mesh {
		if !slices.ContainsFunc(r.Mesh, func(b Axis) bool { return a.Size == b.Size && a.Stride == b.Stride }) {
			r.Mesh = append(r.Mesh, a)
		}
	}
	for _, g := range o.Groups {
		if !slices.ContainsFunc(r.Groups, func(b Group) bool { return slices.Equal(b.Ranks, g.Ranks) }) {
			r.Groups = append(r.Groups, g)
		}
	}
	r.World, r.Steps = max(r.World, o.World), r.Steps+o.Steps
	r.Events.Checked, r.Events.Wrong, r.Events.Skipped = r.Events.Checked+o.Events.Checked, r.Events.Wrong+o.Events.Wrong, r.Events.Skipped+o.Events.Skipped
	for _, x := range o.Events.Reasons {
		r.Events.addReason(x)
	}
	c, d := &r.Replicas, &o.Replicas
	c.Sets, c.Wrong, c.Drift, c.Skipped = c.Sets+d.Sets, c.Wrong+d.Wrong, c.Drift+d.Drift, c.Skipped+d.Skipped
	switch l := o.Located; {
	case l == nil:
	case r.Located == nil:
		r.Located = l
	default:
		r.Located.Tensors, r.Located.Of = r.Located.Tensors+l.Tensors, r.Located.Of+l.Of
	}
	r.Maps, r.Findings, r.Notes = append(r.Maps, o.Maps...), append(r.Findings, o.Findings...), foldNotes(append(r.Notes, o.Notes...))
	if r.Matrix == nil {
		r.Matrix = o.Matrix
	}
}

// CountFindings counts the findings with more than low confidence.
func (r *Report) CountFindings() (n int) {
	for _, f := range r.Findings {
		if f.Weight() != "weak" {
			n++
		}
	}
	return n
}

// Group is a group of ranks, with the source of the group: the dump, a file, the mesh, or values.
type Group struct {
	// Ranks are in the order of the group, Source is the source of the group.
	Ranks  []int  `json:"ranks"`
	Source string `json:"source"`
}

// EventCount counts communications.
type EventCount struct {
	// Checked counts the communications that were judged, Wrong the wrong ones among them, Skipped the others.
	Checked int `json:"checked"`
	Wrong   int `json:"wrong"`
	Skipped int `json:"skipped"`
	// Reasons says why communications were skipped.
	Reasons []Reason `json:"reasons"`
}

// Reason is a reason for skipping a communication.
type Reason struct {
	// Text is the reason, ZH in Chinese; Count is the number of skipped communications.
	Text  string `json:"text"`
	ZH    string `json:"text_zh"`
	Count int    `json:"count"`
}

// countSkipped counts a skipped event.
func (c *EventCount) countSkipped(j *judgement) {
	c.Skipped++
	t := j.skip.Text()
	c.addReason(Reason{Text: t.String(), ZH: t.Chinese(), Count: 1})
}

func (c *EventCount) addReason(x Reason) {
	i := slices.IndexFunc(c.Reasons, func(r Reason) bool { return r.Text == x.Text })
	if i < 0 {
		c.Reasons = append(c.Reasons, x)
		return
	}
	c.Reasons[i].Count += x.Count
}

// addFailure adds the error of a tensor, once for each tensor.
func (r *Report) addFailure(err error) {
	var e *trace.ReadError
	if errors.As(err, &e) && !slices.ContainsFunc(r.Errs, func(o *trace.ReadError) bool { return o.Tensor == e.Tensor }) {
		r.Errs = append(r.Errs, e)
	}
}

// CleanText says that everything that was checked is right.
func (r *Report) CleanText() lang.Sentence {
	if !r.HasChecks() {
		return lang.Say("NOTHING CHECKED: none of %s of %d ranks could be checked", lang.CountText(r.Events.Skipped, "communication"), r.World)
	}
	return lang.Say("OK: %s and %s of replicas of %d ranks are correct",
		lang.CountText(r.Events.Checked, "communication"), lang.CountText(r.Replicas.Sets, "set"), r.World)
}
