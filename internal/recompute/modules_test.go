package recompute

import (
	"context"
	"math"
	"testing"
)

// TestUnitOffset: modules such as GemmaRMSNorm and the zero-centred norms of Megatron multiply by the weight plus 1,
// others by the weight. Both are right for a module, and nothing else; a function multiplies by the weight.
func TestUnitOffset(t *testing.T) {
	t.Parallel()
	r := 1 / math.Sqrt(12.5) // of 3 and 4
	for _, c := range []struct {
		name, attrs string
		isOpen      bool
		out         []float64
		isRight     bool
	}{
		{"weight", "epsilon=0 axes=-1", true, []float64{.5 * 3 * r, -.25 * 4 * r, .5 * -4 * r, -.25 * 3 * r}, true},
		{"one more", "epsilon=0 axes=-1", true, []float64{1.5 * 3 * r, .75 * 4 * r, 1.5 * -4 * r, .75 * 3 * r}, true},
		{"two more", "epsilon=0 axes=-1", true, []float64{2.5 * 3 * r, 1.75 * 4 * r, 2.5 * -4 * r, 1.75 * 3 * r}, false},
		{"function, weight", "epsilon=0 axes=-1", false, []float64{.5 * 3 * r, -.25 * 4 * r, .5 * -4 * r, -.25 * 3 * r}, true},
		{"function, one more", "epsilon=0 axes=-1", false, []float64{1.5 * 3 * r, .75 * 4 * r, 1.5 * -4 * r, .75 * 3 * r}, false},
	} {
		named := map[string][]*Tensor{"x": {tensorOf(t, "2x2", 3, 4, -4, 3)}, "gamma": {tensorOf(t, "2", .5, -.25)}}
		op, warnings := BindCall("RmsNorm", named, []*Tensor{tensorOf(t, "2x2", c.out...)}, attributesOf(c.attrs), nil)
		op.Open = c.isOpen
		v, err := Judge(context.Background(), op)
		if err != nil || len(warnings) > 0 {
			t.Fatal(c.name, err, warnings)
		}
		if isRight := v.Status == OK || v.Status == Low; isRight != c.isRight {
			t.Errorf("%s: %s with %v", c.name, v.Status, v.Attributes)
		}
	}
}

// TestClassEndings: a class of modules is found by its name, else by its longest known ending. A class that contains
// a known word elsewhere is unknown.
func TestClassEndings(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{
		"LayerNorm": "LayerNorm", "FusedLayerNorm": "LayerNorm", "T5LayerNorm": "RmsNorm", "GemmaRMSNorm": "RmsNorm", "LlamaRMSNorm": "RmsNorm",
		"Linear": "MatMul", "QKVParallelLinear": "MatMul", "NonDynamicallyQuantizableLinear": "MatMul", "Bilinear": "", "LinearLayer": "",
		"Embedding": "Gather", "VocabParallelEmbedding": "Gather", "LlamaRotaryEmbedding": "", "Embeddings": "",
		"Softsign": "Softsign", "SELU": "Selu", "CELU": "CeluV2", "SiluAndMul": "SwiGlu", "RMSNormGated": "",
	} {
		_, rows := CallsOf("Module.a."+class+".forward.0", "pytorch")
		got := ""
		if len(rows) > 0 {
			got = rows[0].Formula
		}
		if got != want {
			t.Errorf("%s computes %q, want %q", class, got, want)
		}
	}
}
