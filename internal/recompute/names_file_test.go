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

// TestCallOfFile: names of files that are calls of PyTorch, with the number of the call.
func TestCallOfFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"012_Functional_layer_norm_3":  "Functional.layer_norm.3.forward",
		"Functional_linear_0_forward":  "Functional.linear.0.forward",
		"Tensor_add__2":                "Tensor.add_.2.forward",
		"NPU_npu_rms_norm":             "NPU.npu_rms_norm.0.forward",
		"Functional_linear_0_backward": "",
		"my_tensor_add_1":              "",
		"encoder/layer.0/MatMul_1":     "",
		"12":                           "",
	} {
		if got := CallOfFile(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
