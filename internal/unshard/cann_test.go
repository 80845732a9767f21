package unshard

import (
	"fmt"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestNamesOfProducers: a pipeline stage numbers its layers, and a rank its experts, from 0. The weights determine
// their numbers in the reference, whatever separates the parts of a name, and whether weights are parameters or
// inputs.
func TestNamesOfProducers(t *testing.T) {
	for _, test := range []struct {
		name, norm, expert string // with the numbers of layer and expert
		isInput            bool   // weights are inputs
	}{
		{"msprobe", "Module.layers.%d.norm.RMSNorm.forward.0", "Module.layers.%d.mlp.experts.local_experts.%d.fc.Linear.forward.0", false},
		{"calls of functions", "Functional.layers.%d.norm", "Functional.layers.%d.mlp.experts.%d.linear", true},
		{"CANN", "decoder_layers_%d_norm_RmsNorm", "decoder_layers_%d_mlp_experts_local_experts_%d_fc_MatMulV2", true},
		{"TensorFlow", "net/layer_%d/norm", "net/layer_%d/expert_%d/MatMul", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			// add adds the norm of a layer and some experts, with the weights of the reference.
			add := func(b *ranktest.Built, rank, local, layer int, experts ...int) {
				call := func(name string, weight *trace.Tensor) {
					seed := uint64(1000*rank + len(b.Step(0).Calls[rank]) + 100)
					c := &trace.Call{In: []*trace.Tensor{drawn(seed, 4, 8).tensor()}, Out: []*trace.Tensor{drawn(seed+500, 4, 8).tensor()}}
					if test.isInput {
						c.In = append(c.In, weight)
					} else {
						c.Params = []*trace.Tensor{weight}
					}
					b.Call(0, rank, name, c)
				}
				call(fmt.Sprintf(test.norm, local), ranktest.Of(tensor.Float32, ranktest.Normals(tensor.Float32, uint64(layer), 8)...))
				for i, e := range experts {
					call(fmt.Sprintf(test.expert, local, i), drawn(uint64(10*layer+e+20), 8, 8).tensor())
				}
			}
			ref, run := new(ranktest.Built), new(ranktest.Built)
			for layer := range 4 {
				add(ref, 0, layer, layer, 0, 1, 2, 3)
			}
			for rank, experts := range [][]int{{0, 1}, {3, 2}} { // the second stage: layers 2 and 3
				add(run, rank, 0, 2, experts...)
				add(run, rank, 1, 3, experts...)
			}
			l := located(t, run, ref)
			for rank, experts := range [][]int{{0, 1}, {3, 2}} {
				var want []string
				for _, layer := range []int{2, 3} {
					want = append(want, fmt.Sprintf(test.norm, layer))
					for _, e := range experts {
						want = append(want, fmt.Sprintf(test.expert, layer, e))
					}
				}
				for i, c := range run.Steps[0].Calls[rank] {
					at := l.At[c.Params[0]]
					if at.Ref == nil || at.Ref.Call.Name != want[i] || at.Map == nil {
						t.Errorf("rank %d, %s: the weight lies in %+v, want %s", rank, c.Name, at.Ref, want[i])
					}
				}
			}
			for _, x := range l.Given.Experts {
				if x.Count != 4 {
					t.Errorf("%s: %d experts in the reference, want 4", x.Layer, x.Count)
				}
			}
			if n := len(l.Given.Experts); n != 8 {
				t.Errorf("%d experts of the ranks, want 8", n)
			}
		})
	}
}
