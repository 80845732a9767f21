package record

import (
	"strings"
	"testing"
)

// TestCompleteness: a ? behind a name says that no dumped operator produced what the operator reads.
func TestCompleteness(t *testing.T) {
	for _, c := range []struct {
		name, ops string
		want      bool
	}{
		{"complete", "Functional.conv2d.0.forward? Functional.relu.0.forward Functional.conv2d.1.forward Functional.relu.1.forward", false},
		{"another number of digits", "Functional.relu.10.forward Functional.relu.9.forward Functional.relu.0.forward", false},
		{"a scope begins behind two calls", "Functional.relu.2.forward? Functional.linear.0.forward Functional.relu.3.forward", true},
		{"a list of one function", "Functional.relu.0.forward? Functional.relu.1.forward? Functional.relu.2.forward? Functional.relu.3.forward? Functional.relu.4.forward? Functional.relu.5.forward?", true},
		{"a small network of two inputs", "Functional.relu.0.forward? Torch.add.0.forward? Torch.add.1.forward", false},
		{"two inputs of nine operators", "Torch.cat.0.forward? Torch.cat.1.forward? Torch.cat.2.forward Torch.cat.3.forward Torch.cat.4.forward Torch.cat.5.forward Torch.cat.6.forward Torch.cat.7.forward Torch.cat.8.forward", false},
		{"modules count anew", "Module.layers.3.Linear.forward.0? Module.layers.4.Linear.forward.0?", false},
		{"operators of a graph", "Conv2D_1? Relu_7? Relu_8? Relu_9 MatMul_3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all Completeness
			for op := range strings.FieldsSeq(c.ops) {
				name, isOpen := strings.CutSuffix(op, "?")
				all.Add(name, isOpen)
			}
			if got := all.IsPartial(); got != c.want {
				t.Errorf("partial: %t, want %t", got, c.want)
			}
		})
	}
}
