package dumpdir

import (
	"math"
	"strconv"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
)

// flowOfCalls says who feeds whom among calls: the producer of an input is the last
// earlier call with an output of the same elements, by its digest, or by its type,
// shape and statistics. A module counts only where no function inside of it has made
// that output. Calls of which no input is found are left out: nobody knows.
func flowOfCalls(calls []*Call) *graph.Graph {
	made := make(map[string]graph.Producer)
	byModule := make(map[string]graph.Producer)
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
			mark := elements(l.Tensor)
			from, ok := made[mark]
			if !ok {
				from, ok = byModule[mark]
			}
			if ok && mark != "" {
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
			if mark := elements(l.Tensor); mark != "" {
				to[mark] = graph.Producer{Op: c.API, Output: l.Index}
			}
		}
	}
	if !found {
		return nil
	}
	return graph.New(ops)
}

// elements stands for the elements of a tensor, empty where nothing is known of them
// or too little: many tensors are all zero.
func elements(t *msprobe.Tensor) string {
	if t.Digest != "" {
		return t.Digest + t.Shape.String()
	}
	if n := &t.Norm; n.Kind != jsonpos.Number || n.Value == 0 || math.IsInf(n.Value, 0) || math.IsNaN(n.Value) || t.Mean.Kind != jsonpos.Number {
		return ""
	}
	var b strings.Builder
	b.WriteString(t.DType)
	b.WriteString(t.Shape.String())
	for _, n := range []*msprobe.Number{&t.Max, &t.Min, &t.Mean, &t.Norm} {
		b.WriteString(strconv.FormatUint(math.Float64bits(n.Value), 36))
		b.WriteByte(' ')
	}
	return b.String()
}
