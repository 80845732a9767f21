package recompute

import (
	"testing"

	"dumptool/internal/optype"
)

// TestTypeOfFile: names of .npy files that contain a call of PyTorch, or end with the type of a node.
func TestTypeOfFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]optype.Type{
		"012_Functional_layer_norm_3":  TypeOf("Functional.layer_norm"),
		"Functional_linear_0_forward":  TypeOf("Functional.linear"),
		"Tensor_add__2":                TypeOf("Tensor.add_"),
		"Torch_sigmoid_0":              TypeOf("Torch.sigmoid"),
		"encoder/layer.0/MatMul_1":     TypeOf("MatMul"),
		"/head/Softmax":                TypeOf("Softmax"),
		"Functional_linear_0_backward": {},
		"decoder_relu":                 {},
		"model.layers.0.softmax":       {},
		"Output":                       {},
		"12":                           {},
	} {
		if got := TypeOfOperator("", name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
