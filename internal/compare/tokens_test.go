package compare

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// expectedTokens are the numbers of a set of tokens, as numpy computed them.
type expectedTokens struct {
	Counted int64    `json:"counted"`
	Beyond  int64    `json:"beyond_2x"`
	MeanAbs *float64 `json:"mean_abs"`
	K1      *float64 `json:"k1"`
	K3      *float64 `json:"k3"`
	Ratio   *float64 `json:"largest_ratio"`
}

// TestTokens compares log probabilities in each form of file, and finds numpy's numbers.
func TestTokens(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("..", "..", "testdata", "golden", "tokens")
	text, err := os.ReadFile(filepath.Join(golden, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		expectedTokens
		Positions int64            `json:"positions"`
		Worst     [2]int64         `json:"worst"`
		Sequences []expectedTokens `json:"sequences"`
		Places    []expectedTokens `json:"by_position"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ ref, npu, want, first string }{
		{"rollout.npz", "healthy.npz", "healthy", ""},
		{"rollout.npz", "faulty.npz", "faulty", ""},
		{"npy/rollout", "npy/faulty", "faulty", ""},
		{"pt/rollout.pt", "pt/faulty.pt", "faulty", ""},
		{"engines/rollout", "engines/trainer", "faulty", "attn_out.layer_id=1:output:0"},
	} {
		t.Run(tt.npu, func(t *testing.T) {
			t.Parallel()
			p, parts := executed(t, exactly(filepath.Join(golden, filepath.FromSlash(tt.ref)), filepath.Join(golden, filepath.FromSlash(tt.npu))))
			rep := p.Conclude(parts)
			if err := p.ComputeAgain(context.Background(), rep, parts); err != nil {
				t.Fatal(err)
			}
			var row *record.Row
			for _, r := range rep.AllRows() {
				if r.Tokens != nil && row == nil {
					row = r
				}
			}
			if row == nil {
				t.Fatal("no row has tokens")
			}
			got, want := row.Tokens, all[tt.want]
			equalTokens(t, "all", &got.TokenNumbers, &want.expectedTokens)
			if got.Positions != want.Positions || got.Worst == nil || [2]int64{got.Worst.Sequence, got.Worst.Position} != want.Worst || got.First != tt.first {
				t.Errorf("%d positions, worst %+v, first %q; want %d, %v, %q", got.Positions, got.Worst, got.First, want.Positions, want.Worst, tt.first)
			}
			if len(got.Sequences) != len(want.Sequences) || len(got.Places) != len(want.Places) {
				t.Fatalf("%d sequences, %d positions; want %d, %d", len(got.Sequences), len(got.Places), len(want.Sequences), len(want.Places))
			}
			for i := range want.Sequences {
				equalTokens(t, "a sequence", &got.Sequences[i], &want.Sequences[i])
			}
			for i := range want.Places {
				equalTokens(t, "a position", &got.Places[i], &want.Places[i])
			}
		})
	}
}

func equalTokens(t *testing.T, what string, got *metrics.TokenNumbers, want *expectedTokens) {
	t.Helper()
	if got.Counted != want.Counted || got.Beyond != want.Beyond || got.NonFinite != 0 {
		t.Errorf("%s: %d tokens, %d not finite, %d beyond 2x; want %d, 0, %d", what, got.Counted, got.NonFinite, got.Beyond, want.Counted, want.Beyond)
	}
	for name, pair := range map[string]struct {
		got  metrics.Metric
		want *float64
	}{"mean |d|": {got.MeanAbs, want.MeanAbs}, "k1": {got.K1, want.K1}, "k3": {got.K3, want.K3}, "ratio": {got.Ratio, want.Ratio}} {
		if pair.got.IsDefined() != (pair.want != nil) || pair.want != nil && math.Abs(pair.got.Value()-*pair.want) > 1e-14 {
			t.Errorf("%s: %s is %v, want %v", what, name, pair.got, pair.want)
		}
	}
}
