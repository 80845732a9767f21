package page

import "testing"

// TestCallStart checks the last part of msprobe's names: the called function, with its class.
func TestCallStart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Distributed.all_reduce.0.forward": "all_reduce.0.forward",
		"Functional.conv2d.3.backward":     "conv2d.3.backward",
		"Module.bn1.BatchNorm2d.forward.0": "bn1.BatchNorm2d.forward.0",
		"Cell.layer.0.ReLU.forward.0":      "layer.0.ReLU.forward.0",
		"Module.module.module.decoder.layers.0.mlp.linear_fc2.RowParallelLinear.forward.0": "linear_fc2.RowParallelLinear.forward.0",
		"Module.module.embedding.word_embeddings.VocabParallelEmbedding.parameters_grad":   "word_embeddings.VocabParallelEmbedding.parameters_grad",
		"conv1": "conv1",
	} {
		if got := name[wholeCall(name, callStart(name)):]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
