package overflow

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/tensor"
)

// Producer is an output that the operator of a record reads, by the graph of the run.
type Producer struct {
	// Type and Op are the operator.
	Type string `json:"op_type"`
	Op   string `json:"op_name"`
	// Script is the line of the user's script that the operator comes from, as
	// FILE:LINE; empty when unknown.
	Script string `json:"script,omitempty"`
	// Output is the number of the output, nil if it is not known.
	Output *int `json:"output"`
	// Through are the operators without a dump between the output and its reader.
	Through []string `json:"through"`
	// Tensors are those of the output, of all outputs where the number is not known;
	// empty for an operator without a dump.
	Tensors []Tensor `json:"tensors"`

	dumped []dumpdir.Tensor
}

// Bad reports whether the output holds what an overflow leaves behind.
func (p *Producer) Bad() bool {
	return slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.Bad })
}

// known reports whether all of the output could be read.
func (p *Producer) known() bool {
	return len(p.Tensors) > 0 && !slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.err != nil && !t.NotNumeric() })
}

// Limits of the search for producers.
const (
	levelsUp     = 8  // how far operators without a dump are looked through
	maxProducers = 16 // listed of a record
)

// findProducers finds what feeds the operators of the first record of each rank.
func findProducers(records []*Record) {
	seen := make(map[string]bool)
	rounds := make(map[*dumpdir.Round]map[string][]*dumpdir.Op)
	for _, r := range records {
		if seen[r.Rank] || r.Op == nil {
			continue
		}
		seen[r.Rank] = true
		round := r.Op.dump.round
		if round.Flow.Graph == nil {
			continue
		}
		ops := rounds[round]
		if ops == nil {
			ops = make(map[string][]*dumpdir.Op)
			for _, op := range round.Ops {
				norm := filename.Normalise(op.Name)
				ops[norm] = append(ops[norm], op)
			}
			rounds[round] = ops
		}
		r.Producers = producersOf(r.Op.op, round.Flow.Graph, ops)
	}
}

// producersOf walks upwards from an operator to those that were dumped, among ops by
// their names as files have them.
func producersOf(op *dumpdir.Op, g *graph.Graph, ops map[string][]*dumpdir.Op) []Producer {
	var found []Producer
	seen := make(map[string]bool)
	type step struct {
		node    *graph.Op
		through []string
	}
	for level := []step{{node: g.Find(op.Names()...)}}; len(level) > 0; {
		var next []step
		for _, s := range level {
			if s.node == nil {
				continue
			}
			for _, from := range s.node.Producers() {
				p := Producer{Op: from.Op, Through: append([]string{}, s.through...), Tensors: []Tensor{}}
				if from.Output >= 0 {
					p.Output = &from.Output
				}
				node := g.Find(from.Op)
				if node != nil {
					p.Type = node.Type
				}
				if of := ops[filename.Normalise(from.Op)]; len(of) > 0 {
					p.take(executionFor(of, op))
				} else if node != nil && len(node.Producers()) > 0 && len(s.through) < levelsUp {
					if !seen[from.Op] {
						seen[from.Op] = true
						next = append(next, step{node, append(slices.Clip(s.through), from.Op)})
					}
					continue
				}
				if len(found) < maxProducers {
					found = append(found, p)
				}
			}
		}
		level = next
	}
	return found
}

// executionFor returns the execution of an operator that an execution of another one
// reads: the last one that is not after it.
func executionFor(of []*dumpdir.Op, reader *dumpdir.Op) *dumpdir.Op {
	best := of[0]
	for _, op := range of[1:] {
		if op.Timestamp <= reader.Timestamp && (best.Timestamp > reader.Timestamp || op.Timestamp >= best.Timestamp) {
			best = op
		}
	}
	return best
}

// take notes the operator that was dumped.
func (p *Producer) take(op *dumpdir.Op) {
	p.Op, p.Type, p.Script = op.Names()[0], op.Type, op.Script()
	for _, t := range op.Tensors {
		if t.Kind == tensor.Output && (p.Output == nil || t.Index == *p.Output) {
			p.dumped = append(p.dumped, t)
		}
	}
}

// read reads the outputs.
func (p *Producer) read(ctx context.Context) {
	tensors, _ := readTensors(ctx, p.dumped)
	p.Tensors = slices.DeleteFunc(append(p.Tensors, tensors...), func(t Tensor) bool { return t.Kind.IsInput() })
}
