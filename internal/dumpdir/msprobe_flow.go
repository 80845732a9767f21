package dumpdir

import (
	"math"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
)

// flowOfCalls says who feeds whom among calls: the producer of an input is the last
// earlier call with an output of the same elements, by its digest, or by its type,
// shape and statistics. A module counts only where no function inside of it has made
// that output. Calls of which no input is found are left out: nobody knows.
func flowOfCalls(calls []*Call) *graph.Graph {
	made := make(map[mark]graph.Producer)
	byModule := make(map[mark]graph.Producer)
	var ops []graph.Op
	found := false
	for _, c := range calls {
		op := graph.Op{Name: c.API}
		tensors := 0
		for i := range c.Leaves {
			l := &c.Leaves[i]
			if l.Tensor == nil || !l.Kind.IsInput() {
				continue
			}
			tensors++
			m := markOf(l.Tensor)
			from, ok := made[m]
			if !ok {
				from, ok = byModule[m]
			}
			if ok {
				op.Inputs = append(op.Inputs, from)
				found = true
			}
		}
		if tensors == 0 || len(op.Inputs) > 0 {
			ops = append(ops, op)
		}
		to := made
		if msprobe.IsModule(c.API) {
			to = byModule
		}
		for i := range c.Leaves {
			l := &c.Leaves[i]
			if l.Tensor == nil || l.Kind.IsInput() {
				continue
			}
			if m := markOf(l.Tensor); m != (mark{}) {
				to[m] = graph.Producer{Op: c.API, Output: l.Index}
			}
		}
	}
	if !found {
		return nil
	}
	return graph.New(ops)
}

// mark stands for the elements of a tensor: their digest, else their type and statistics.
type mark struct {
	digest, dtype string
	shape         uint64 // a hash
	statistics    [4]uint64
}

// markOf is the mark of a tensor, the zero value where nothing is known of its elements
// or too little: many tensors are all zero.
func markOf(t *msprobe.Tensor) mark {
	const prime = 1099511628211 // of FNV-1a
	m := mark{shape: 14695981039346656037}
	for _, d := range t.Shape {
		m.shape = (m.shape ^ uint64(d)) * prime
	}
	if t.Digest != "" {
		m.digest = t.Digest
		return m
	}
	if n := &t.Norm; n.Kind != jsonpos.Number || n.Value == 0 || math.IsInf(n.Value, 0) || math.IsNaN(n.Value) || t.Mean.Kind != jsonpos.Number {
		return mark{}
	}
	m.dtype = t.DType
	for i, n := range []*msprobe.Number{&t.Max, &t.Min, &t.Mean, &t.Norm} {
		m.statistics[i] = math.Float64bits(n.Value)
	}
	return m
}
