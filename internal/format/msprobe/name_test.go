package msprobe

import "testing"

// TestParseName parses names.
func TestParseName(t *testing.T) {
	for _, tt := range []struct {
		api             string
		want            Name
		class, function string
	}{
		{"Functional.relu.0.forward", Name{"Functional.relu", "0", Forward}, "", "relu"},
		{"Functional.threshold_backward.12.backward", Name{"Functional.threshold_backward", "12", Backward}, "", "threshold_backward"},
		{"Aten.add.Tensor.3.forward", Name{"Aten.add.Tensor", "3", Forward}, "", "add"},
		{"Module.layers.0.fc1.Linear.forward.2", Name{"Module.layers.0.fc1.Linear", "2", Forward}, "Linear", ""},
		{"Module.layers.0.backward.1", Name{"Module.layers.0", "1", Backward}, "layers", ""},
		{"Cell.backbone.Dense.backward.0", Name{"Cell.backbone.Dense", "0", Backward}, "Dense", ""},
		{"Module.fc1.Linear.parameters_grad", Name{"Module.fc1.Linear", "", Gradients}, "Linear", ""},
		{"Module.fc1.Linear.parameters_grad.1", Name{"Module.fc1.Linear", "1", Gradients}, "Linear", ""},
		{"hidden.0.debug", Name{"hidden", "0", Debug}, "", ""},
		{"hidden.grad.0.debug_grad", Name{"hidden.grad", "0", DebugGrad}, "", "grad"},
		{"Functional.relu.forward.0", Name{Callee: "Functional.relu.forward.0"}, "", "relu"},
		{"Functional.relu.x.forward", Name{Callee: "Functional.relu.x.forward"}, "", "relu"},
		{"relu.forward", Name{Callee: "relu.forward"}, "", "forward"},
		{"conv1", Name{Callee: "conv1"}, "", ""},
		{"Module.", Name{Callee: "Module."}, "", ""},
		{"", Name{}, "", ""},
	} {
		got := ParseName(tt.api)
		if got != tt.want || got.Class() != tt.class || got.Function() != tt.function {
			t.Errorf("%q is %+v with class %q and function %q, want %+v, %q, %q", tt.api, got, got.Class(), got.Function(), tt.want, tt.class, tt.function)
		}
	}
}

// TestNameIn finds the forward call of a backward call, and of gradients of parameters.
func TestNameIn(t *testing.T) {
	for name, want := range map[string]string{
		"Functional.relu.3.backward":               "Functional.relu.3.forward",
		"Functional.threshold_backward.0.backward": "Functional.threshold_backward.0.forward",
		"Module.fc.Linear.backward.1":              "Module.fc.Linear.forward.1",
		"Module.fc.Linear.parameters_grad":         "Module.fc.Linear.forward.0",
		"Module.fc.Linear.parameters_grad.2":       "Module.fc.Linear.forward.0",
	} {
		if got := ParseName(name).InDirection(Forward); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
