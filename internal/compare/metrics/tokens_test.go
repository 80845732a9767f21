package metrics

import (
	"math"
	"testing"

	"dumptool/internal/tensor"
)

// TestTokenCounter counts tokens in blocks, against sums over all tokens.
func TestTokenCounter(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(-1)
	for _, tt := range []struct {
		name     string
		shape    tensor.Shape
		ref, npu []float64
		kept     []bool
		// want has the numbers of the finite tokens with these differences.
		want      []float64
		nonFinite int64
		worst     *Token
		cells     int // of the map with a difference
	}{
		{"two sequences", tensor.Shape{2, 3}, []float64{-1, -2, -9, -1, -1, -1}, []float64{-1.5, -1, -1, -1, -3, -1}, []bool{true, true, false, true, true, false}, []float64{-0.5, 1, 0, -2}, 0, &Token{1, 1, NumberOf(-1), NumberOf(-3)}, 3},
		{"one axis", tensor.Shape{3}, []float64{-1, -1, -1}, []float64{-1, -1, -2}, []bool{true, false, true}, []float64{0, -1}, 0, &Token{0, 2, NumberOf(-1), NumberOf(-2)}, 1},
		{"an axis of length 1 at the end", tensor.Shape{1, 2, 1}, []float64{-1, -1}, []float64{-1, -1.25}, []bool{true, true}, []float64{0, -0.25}, 0, &Token{0, 1, NumberOf(-1), NumberOf(-1.25)}, 1},
		{"NaN and infinities", tensor.Shape{2, 2}, []float64{nan, inf, -1, inf}, []float64{-1, inf, -1.125, -1}, []bool{true, true, true, true}, []float64{-0.125}, 3, &Token{1, 0, NumberOf(-1), NumberOf(-1.125)}, 1},
		{"none finite", tensor.Shape{1, 2}, []float64{nan, -1}, []float64{nan, -1}, []bool{true, false}, nil, 1, nil, 0},
		{"a single token", tensor.Shape{1, 1}, []float64{-1}, []float64{-2}, []bool{true}, []float64{-1}, 0, &Token{0, 0, NumberOf(-1), NumberOf(-2)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewTokenCounter(tt.shape, tt.kept)
			for i := range tt.ref {
				c.Add(int64(i), tt.ref[i:i+1], tt.npu[i:i+1])
			}
			got := c.Finish()
			var want tokenSums
			for _, d := range tt.want {
				want.add(d, math.Exp(d)-1-d)
			}
			want.Counted, want.NonFinite = want.Counted+tt.nonFinite, tt.nonFinite
			n := want.numbers()
			if got.Counted != n.Counted || got.NonFinite != n.NonFinite || got.Beyond != n.Beyond {
				t.Errorf("counts %+v, want %+v", got.TokenNumbers, n)
			}
			for _, pair := range [][2]Metric{{got.MeanAbs, n.MeanAbs}, {got.K1, n.K1}, {got.K3, n.K3}, {got.Ratio, n.Ratio}} {
				if pair[0].IsDefined() != pair[1].IsDefined() || pair[0].IsDefined() && math.Abs(pair[0].Value()-pair[1].Value()) > 1e-15 {
					t.Errorf("%v, want %v", pair[0], pair[1])
				}
			}
			if (got.Worst == nil) != (tt.worst == nil) || got.Worst != nil && *got.Worst != *tt.worst {
				t.Errorf("worst %+v, want %+v", got.Worst, tt.worst)
			}
			cells := 0
			if got.Map != nil {
				for _, mean := range got.Map.Mean {
					if mean > 0 {
						cells++
					}
				}
			}
			if cells != tt.cells {
				t.Errorf("%d cells of the map differ, want %d", cells, tt.cells)
			}
		})
	}
}

// TestTokenFold folds many sequences, whose means are then of the tokens that count alone.
func TestTokenFold(t *testing.T) {
	t.Parallel()
	const rows, columns = 600, 100 // 3 sequences an entry, 19 sequences and 3 positions a cell of the map
	kept, ref, npu := make([]bool, rows*columns), make([]float64, rows*columns), make([]float64, rows*columns)
	for i := range kept {
		npu[i] = 7
		if kept[i] = i%columns == 0 || i/columns == 300; kept[i] {
			npu[i] = 0.5
		}
	}
	c := NewTokenCounter(tensor.Shape{rows, columns}, kept)
	c.Add(0, ref, npu)
	got := c.Finish()
	if got.SequenceFold != 3 || len(got.Sequences) != rows/3 || got.PlaceFold != 1 || len(got.Places) != columns {
		t.Fatalf("%d sequences by %d, %d positions by %d", len(got.Sequences), got.SequenceFold, len(got.Places), got.PlaceFold)
	}
	if n := got.Sequences[100]; n.Counted != columns+2 || n.MeanAbs.Value() != 0.5 {
		t.Errorf("sequences 300 to 302: %+v, want %d tokens with |d| 0.5", n, columns+2)
	}
	if m := got.Map; m.LogLow != m.LogHigh || math.Abs(m.LogLow-math.Log10(0.5)) > 1e-15 {
		t.Errorf("means of the map from 10^%v to 10^%v, want 0.5", m.LogLow, m.LogHigh)
	}
}
