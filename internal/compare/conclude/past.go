package conclude

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// history has the rows of the first and of the last judged step of each rank. damaged are the ranks with an origin. If
// the ranks communicate (inputs), an error of one rank reaches the parameters of all.
type history struct {
	inputs      *commInputs
	first, last map[record.RoundCoordinates]map[record.RowKey]*record.Row
	contents    map[record.RoundCoordinates]map[[2]record.Content]bool     // of the last step
	outputs     map[record.RoundCoordinates]map[record.Content]*record.Row // of the last step, by the contents of the reference
	damaged     map[record.RoundCoordinates]bool
}

// newHistory returns an empty history for a report, nil if no rank has several steps.
func newHistory(rep *record.Report, inputs *commInputs) *history {
	ranks, steps := make(map[record.RoundCoordinates]bool), make(map[record.RoundCoordinates]bool)
	for i := range rep.Rounds {
		at := rep.Rounds[i].RoundCoordinates
		steps[at] = true
		at.Step = ""
		ranks[at] = true
	}
	if len(ranks) == len(steps) {
		return nil
	}
	return &history{inputs: inputs, first: make(map[record.RoundCoordinates]map[record.RowKey]*record.Row), last: make(map[record.RoundCoordinates]map[record.RowKey]*record.Row), contents: make(map[record.RoundCoordinates]map[[2]record.Content]bool), outputs: make(map[record.RoundCoordinates]map[record.Content]*record.Row), damaged: make(map[record.RoundCoordinates]bool)}
}

// add adds the judged rows of a step.
func (h *history) add(rows []record.Row) {
	if h == nil {
		return
	}
	step := make(map[record.RoundCoordinates]map[record.RowKey]*record.Row)
	for i, key := range keysInRank(rows) {
		row := &rows[i]
		rank := rankOf(row)
		if row.IsOrigin() {
			h.damaged[rank] = true
		}
		if step[rank] == nil {
			step[rank], h.contents[rank], h.outputs[rank] = make(map[record.RowKey]*record.Row), make(map[[2]record.Content]bool), make(map[record.Content]*record.Row)
		}
		if c, ok := row.Contents(); ok {
			h.contents[rank][c] = true
			if row.Kind == string(tensor.Output) {
				h.outputs[rank][c[0]] = row
			}
		}
		step[rank][key] = row
	}
	for rank, byKey := range step {
		h.last[rank] = byKey
		if h.first[rank] == nil {
			h.first[rank] = byKey
		}
	}
}

// factsOf returns the facts that the steps so far show about the rows of a step.
func (h *history) factsOf(rows []record.Row) (p record.Past) {
	if h == nil {
		return p
	}
	var trained []float64
	for i, key := range keysInRank(rows) {
		row := &rows[i]
		rank := rankOf(row)
		if h.last[rank] == nil {
			continue
		}
		if !p.Known {
			p = record.Past{Known: true, Trained: make([]float64, len(rows)), Unchanged: make([]bool, len(rows)), Carried: make([]bool, len(rows)), Before: make([]*record.Row, len(rows))}
		}
		p.Damaged = p.Damaged || h.damaged[rank] || h.inputs.isBehindOrigin(row)
		if c, ok := row.Contents(); ok {
			if p.Carried[i] = h.contents[rank][c]; !p.Carried[i] && row.Kind == string(tensor.Input) {
				p.Before[i] = h.outputs[rank][c[0]]
			}
		}
		if first, last := h.first[rank][key], h.last[rank][key]; first != nil && last != nil {
			p.SetTrained(i, first, last, row)
		}
		typ := recompute.TypeOfOperator(row.OpType, row.Op)
		if p.Trained[i] > 0 && (row.Kind == string(tensor.Parameter) || typ.IsParameter(row.Output)) {
			trained = append(trained, p.Trained[i])
		}
	}
	if len(trained) > 0 {
		slices.Sort(trained)
		p.Typical = trained[len(trained)/2]
	}
	return p
}

// rankOf returns the coordinates of the row without the step.
func rankOf(row *record.Row) record.RoundCoordinates {
	at := row.RoundCoordinates
	at.Step = ""
	return at
}

// keysInRank returns the keys that identify the tensor of each row in all steps of its rank.
func keysInRank(rows []record.Row) []record.RowKey {
	type place struct {
		rank record.RoundCoordinates
		key  record.RowKey
	}
	keys, counts := make([]record.RowKey, len(rows)), make(map[place]int)
	for i := range rows {
		at := place{rankOf(&rows[i]), rows[i].RowKey()}
		at.key.Round = ""
		keys[i] = at.key
		keys[i].Nth = counts[at]
		counts[at]++
	}
	return keys
}
