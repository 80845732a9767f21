package conclude

import (
	"math"
	"strconv"

	"dumptool/internal/compare/record"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// commInputs has the inputs of the communications of all ranks, and the gradients of parameters, which are sums over
// ranks if they are equal in several ranks of the reference.
type commInputs struct {
	byCall      map[commCall][]*record.Row
	damaged     map[*record.Row]bool // see findDamaged
	firstOrigin int                  // the first step with an origin
}

// commCall is a communication: a call of the same name in all ranks of a step; or a gradient that is equal in several
// ranks of the reference, where each is the sum over the ranks.
type commCall struct {
	step     record.RoundCoordinates // without a rank
	name     string
	gradient record.Content
}

// newCommInputs returns the inputs of the communications of a report, empty for a run of one rank. Ranks that are in
// different groups count as members of one: the expected error of a result is then too large, never too small.
func newCommInputs(rep *record.Report) *commInputs {
	all := &commInputs{byCall: make(map[commCall][]*record.Row), firstOrigin: math.MaxInt}
	ranks := make(map[string]bool)
	for i := range rep.Rounds {
		ranks[rep.Rounds[i].RoundCoordinates.Rank] = true
	}
	if len(ranks) < 2 {
		return all
	}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		call, known := callOf(row)
		if known && (row.Kind == string(tensor.Gradient) || row.Kind == string(tensor.Input) && isCommunication(row)) {
			all.byCall[call] = append(all.byCall[call], row)
		}
	}
	return all
}

func isCommunication(row *record.Row) bool {
	typ := recompute.TypeOfCall(row.Op)
	if row.OpType != "" {
		typ = recompute.TypeOf(row.OpType)
	}
	return typ.Noise == optype.NoiseRanks
}

// callOf returns the communication of a row, false for a gradient whose contents the row does not identify.
func callOf(row *record.Row) (call commCall, known bool) {
	call = commCall{step: row.RoundCoordinates, name: row.NPUName()}
	call.step.Rank = ""
	if row.Kind != string(tensor.Gradient) {
		return call, true
	}
	call.gradient, known = row.RefContent()
	return call, known
}

// peers returns the inputs of all ranks from which each row was computed, and the replicas of a gradient. The rows of a
// call share a list.
func (c *commInputs) peers(rows []record.Row) record.Peers {
	p := record.Peers{Damaged: c.damaged}
	if len(c.byCall) == 0 {
		return p
	}
	p.Inputs = make(map[*record.Row][]*record.Row)
	for i := range rows {
		row := &rows[i]
		if row.Kind != string(tensor.Gradient) && row.Kind != string(tensor.Output) {
			continue
		}
		call, _ := callOf(row)
		if inputs := c.byCall[call]; len(inputs) > 0 {
			p.Inputs[row] = inputs
		}
	}
	return p
}

// findDamaged finds the inputs in which an error begins or that depend on one, after all rows were judged. It reports
// whether there are any. A gradient that is equal in several ranks depends on the origins of all of them.
func (c *commInputs) findDamaged(rows []record.Row) bool {
	c.damaged, c.firstOrigin = make(map[*record.Row]bool), math.MaxInt
	ranks := make(map[record.RoundCoordinates]bool) // with an origin other than a gradient
	for i := range rows {
		if row := &rows[i]; row.IsOrigin() && row.Kind != string(tensor.Gradient) {
			ranks[row.RoundCoordinates] = true
			if n, err := strconv.Atoi(row.RoundCoordinates.Step); err == nil {
				c.firstOrigin = min(c.firstOrigin, n)
			}
		}
	}
	for _, inputs := range c.byCall {
		for _, in := range inputs {
			isDamaged := in.Downstream || in.IsOrigin()
			if in.Kind == string(tensor.Gradient) {
				isDamaged = in.Downstream || ranks[in.RoundCoordinates]
			}
			if isDamaged {
				c.damaged[in] = true
			}
		}
	}
	return len(c.damaged) > 0
}

// isBehindOrigin reports whether an origin is in an earlier step of any rank, see findDamaged.
func (c *commInputs) isBehindOrigin(row *record.Row) bool {
	n, err := strconv.Atoi(row.RoundCoordinates.Step)
	return err == nil && len(c.byCall) > 0 && n > c.firstOrigin
}
