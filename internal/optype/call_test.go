package optype

import (
	"strings"
	"testing"
)

// TestCallRows checks that each row of the tables of calls reads as it is written, and that a
// name with several rows tells them apart.
func TestCallRows(t *testing.T) {
	t.Parallel()
	if n := len(functionRows()) + len(moduleRows()); n < 90 {
		t.Errorf("%d names of PyTorch, want at least 90", n)
	}
	for _, rows := range []callRows{functionRows(), moduleRows()} {
		for name, all := range rows {
			for _, row := range all {
				seen := map[string]bool{}
				for _, a := range row.Arguments {
					if a.Name == "" || strings.ContainsAny(a.Name+a.Keyword, "=!*:") || a.Keyword == "" && a.Default == "" || a.Keyword != "" && seen[a.Keyword] {
						t.Errorf("%s: argument %+v", name, a)
					}
					seen[a.Keyword] = true
				}
			}
		}
	}
	for api, want := range map[string]string{
		"Functional.relu_.0.forward": "relu_ Relu", "Tensor.__add__.3.forward": "__add__ Add", "Module.a.0.Conv2d.forward.1": "Conv2d Conv2D",
		"Torch.embedding.0.forward": "embedding Gather", "Tensor.__getitem__.0.forward": "__getitem__ Index", "Module.embed.VocabParallelEmbedding.forward.0": "VocabParallelEmbedding Gather", "Functional.relu.0.backward": " ", "Functional.nobody.0.forward": "nobody ", "x": " ",
	} {
		function, rows := CallsOf(api, "")
		got := function + " "
		if len(rows) > 0 {
			got += rows[0].Formula
		}
		if got != want {
			t.Errorf("%s: %q, want %q", api, got, want)
		}
	}
}
