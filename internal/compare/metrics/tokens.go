package metrics

import (
	"math"

	"dumptool/internal/exact"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Tokens compares the log probabilities of sampled tokens at the positions that a mask counts. d is the log probability
// of the NPU minus the log probability of the reference.
type Tokens struct {
	// Mask names the tensor with the mask. Positions counts its elements; Shape is the number of sequences (all axes but
	// the last) and of positions in a sequence.
	Mask      string   `json:"mask"`
	Positions int64    `json:"positions"`
	Shape     [2]int64 `json:"token_shape"`
	TokenNumbers
	// Worst is the token with the largest ratio, nil if no token is finite on both sides.
	Worst *Token `json:"worst_token"`
	// First names the first failing tensor of the round, in execution order, that is beyond its limits in the row of
	// Worst; empty if there is none, or if it is unknown.
	First string `json:"first_apart,omitempty"`
	// Sequences and Places are the numbers for each sequence and for each position in the sequences. An entry stands for
	// SequenceFold or PlaceFold successive ones.
	SequenceFold int64          `json:"sequence_fold"`
	Sequences    []TokenNumbers `json:"sequences"`
	PlaceFold    int64          `json:"position_fold"`
	Places       []TokenNumbers `json:"by_position"`
	// Map shows |d| by sequence and position; its errors are the tokens beyond 2x. It is nil for a single token.
	Map *Map `json:"token_map"`
}

// Sentence says how the tokens compare.
func (t *Tokens) Sentence() lang.Sentence {
	text := lang.Say("%d of %d tokens count; none of them is finite on both sides", t.Counted, t.Positions)
	if w := t.Worst; w != nil {
		text = lang.Say("%d of %d tokens count; mean |d| %.4g, k1 %.4g, k3 %.4g, largest ratio %.4g at sequence %d position %d; %.4g %% beyond 2x",
			t.Counted, t.Positions, t.MeanAbs.OrNaN(), t.K1.OrNaN(), t.K3.OrNaN(), t.Ratio.OrNaN(), w.Sequence, w.Position, 100*float64(t.Beyond)/float64(t.Counted-t.NonFinite))
	}
	if t.NonFinite > 0 && t.Worst != nil {
		text = lang.Say("%s; %d NaN or infinite, left out", text, t.NonFinite)
	}
	if t.First != "" {
		text = lang.Say("%s; the row of this token is beyond the limits first in %s", text, t.First)
	}
	return text
}

// Token is a token with its log probabilities.
type Token struct {
	Sequence int64  `json:"sequence"`
	Position int64  `json:"position"`
	Ref      Metric `json:"ref"`
	NPU      Metric `json:"npu"`
}

// TokenNumbers are the numbers of a set of tokens.
type TokenNumbers struct {
	// Counted is the number of tokens that the mask counts. NonFinite of these are NaN or infinite on a side; the other
	// numbers leave them out. Beyond is the number of tokens whose probabilities differ by more than a factor of 2.
	Counted   int64 `json:"counted"`
	NonFinite int64 `json:"non_finite"`
	Beyond    int64 `json:"beyond_2x"`
	// MeanAbs is the mean of |d|. K1 and K3 estimate the KL divergence of the reference, which sampled the tokens, from
	// the NPU: the means of -d and of exp(d)-1-d (J. Schulman, Approximating KL Divergence, 2020). Ratio is the largest
	// exp(|d|). All are undefined without a finite token.
	MeanAbs Metric `json:"mean_abs"`
	K1      Metric `json:"k1"`
	K3      Metric `json:"k3"`
	Ratio   Metric `json:"largest_ratio"`
}

// maxTokenBins is the largest number of entries of Tokens.Sequences and Tokens.Places.
const maxTokenBins = 256

// tokenSums are the sums of a set of tokens; largest is the largest |d|.
type tokenSums struct {
	TokenNumbers
	abs, d, k3, largest float64
}

func (s *tokenSums) add(d, k3 float64) {
	s.Counted++
	if abs := math.Abs(d); abs <= math.MaxFloat64 {
		s.abs, s.d, s.k3, s.largest = s.abs+abs, s.d+d, s.k3+k3, max(s.largest, abs)
		if abs > math.Ln2 {
			s.Beyond++
		}
	} else {
		s.NonFinite++
	}
}

func (s *tokenSums) numbers() TokenNumbers {
	n, some := float64(s.Counted-s.NonFinite), s.Counted > s.NonFinite
	s.MeanAbs, s.K1, s.K3 = NumberIf(s.abs/n, some), NumberIf((0-s.d)/n, some), NumberIf(s.k3/n, some)
	s.Ratio = NumberIf(exact.Exp(s.largest), some)
	return s.TokenNumbers
}

// TokenCounter computes Tokens, block by block.
type TokenCounter struct {
	tokens             Tokens
	kept               []bool
	total              tokenSums
	sequences, byPlace []tokenSums
	heat               *mapper
	abs                []float64
	flags              []uint8
}

// NewTokenCounter returns a counter for tensors of a shape: kept, with an element for each of theirs, is true where a
// token counts. Trailing axes of length 1 are ignored.
func NewTokenCounter(shape tensor.Shape, kept []bool) *TokenCounter {
	for len(shape) > 2 && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	c, total := &TokenCounter{kept: kept}, int64(len(kept))
	c.tokens.Shape = [2]int64{1, total}
	if len(shape) > 0 {
		c.tokens.Shape = [2]int64{shape[:len(shape)-1].Elements(), shape[len(shape)-1]}
	}
	var sequences, places int
	c.tokens.SequenceFold, sequences = equalCells(c.tokens.Shape[0], maxTokenBins)
	c.tokens.PlaceFold, places = equalCells(c.tokens.Shape[1], maxTokenBins)
	c.sequences, c.byPlace = make([]tokenSums, sequences), make([]tokenSums, places)
	if maps := newMappers(c.tokens.Shape[:], total); maps != nil {
		c.heat = maps[0]
		c.heat.leftOut = make([]int64, len(c.heat.sums))
	}
	return c
}

// Add adds the elements of both sides from first on.
func (c *TokenCounter) Add(first int64, ref, npu []float64) {
	c.abs, c.flags = append(c.abs[:0], make([]float64, len(ref))...), append(c.flags[:0], make([]uint8, len(ref))...)
	if c.heat != nil {
		c.heat.setRuns(first, len(ref))
	}
	var beyond int64
	for i, x := range ref {
		at := first + int64(i)
		if !c.kept[at] {
			c.leaveOut(i)
			continue
		}
		d, largest := npu[i]-x, c.total.largest
		k3 := exact.Expm1(d) - d
		c.total.add(d, k3)
		row, place := at/c.tokens.Shape[1], at%c.tokens.Shape[1]
		c.sequences[row/c.tokens.SequenceFold].add(d, k3)
		c.byPlace[place/c.tokens.PlaceFold].add(d, k3)
		abs := math.Abs(d)
		if !(abs <= math.MaxFloat64) {
			c.leaveOut(i)
			continue
		}
		if c.abs[i] = abs; abs > math.Ln2 {
			c.flags[i], beyond = beyondError, beyond+1
		}
		if c.tokens.Worst == nil || abs > largest {
			c.tokens.Worst = &Token{row, place, NumberOf(x), NumberOf(npu[i])}
		}
	}
	if c.heat != nil {
		c.heat.add(c.abs, c.flags, beyond)
	}
}

// leaveOut leaves an element of the block out of the map.
func (c *TokenCounter) leaveOut(i int) {
	if c.heat != nil {
		c.heat.leftOut[c.heat.cell(int32(i))]++
	}
}

// Finish returns the numbers.
func (c *TokenCounter) Finish() *Tokens {
	t := &c.tokens
	t.Positions, t.TokenNumbers = int64(len(c.kept)), c.total.numbers()
	for i := range c.sequences {
		t.Sequences = append(t.Sequences, c.sequences[i].numbers())
	}
	for i := range c.byPlace {
		t.Places = append(t.Places, c.byPlace[i].numbers())
	}
	if c.heat != nil {
		m := c.heat.buildMap()
		t.Map = &m
	}
	return t
}
