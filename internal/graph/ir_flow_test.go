package graph

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeepTuples checks that tuples inside each other take no stack: as many as a file
// has nodes would be more than there is.
func TestDeepTuples(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const depth = 100_000
	g := &IR{Nodes: make([]Node, depth+2), inputs: make([]ref, depth+1)}
	g.Nodes[0].Type = "Add"
	for i := range depth + 1 {
		n := &g.Nodes[i+1]
		n.Type, g.inputs[i] = makeTuple, ref(i)
		n.inputs.from, n.inputs.to = int32(i), int32(i+1)
	}
	last := &g.Nodes[depth+1]
	last.Type = "Print"
	if diff := cmp.Diff([]Source{{Node: 0, Param: -1}}, g.Producers(last, 0)); diff != "" {
		t.Error(diff)
	}
}
