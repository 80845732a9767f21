package record

import (
	"dumptool/internal/lang"
)

// Power says how small a fault would have been seen: in a Share of the rows an error of
// Size beside the reference.
type Power struct {
	Share float64 `json:"share"`
	Size  float64 `json:"size"`
	// Judged are the rows of which the evidence says something, Of those that no origin
	// damaged. Deepest is the last of the former in execution order.
	Judged  int    `json:"judged"`
	Of      int    `json:"of"`
	Deepest string `json:"deepest"`
}

// Inputs counts the tensors that nobody made: those of which both sides are equal, differ by
// rounding, and are others.
type Inputs struct {
	Equal    int `json:"equal"`
	Rounding int `json:"rounding"`
	Differ   int `json:"differ"`
}

// Operators counts those of either side, and those of which a tensor was compared.
type Operators struct {
	Reference int `json:"reference"`
	NPU       int `json:"npu"`
	Compared  int `json:"compared"`
}

// Share is how many of the operators of the smaller side were compared, 1 where there are
// none.
func (o Operators) Share() float64 {
	if smaller := min(o.Reference, o.NPU); smaller > 0 {
		return float64(min(o.Compared, smaller)) / float64(smaller)
	}
	return 1
}

// Meaning is what there is to know about a verdict by evidence.
type Meaning struct {
	Inputs    *Inputs
	Power     *Power
	Notes     []lang.Sentence
	Operators *Operators
	// StartedAlike is nil where elements were compared; Start are the tensors that nobody
	// made and that differ. NoVerdict says why nothing can be said.
	StartedAlike *bool
	Start        []Start
	NoVerdict    lang.Sentence
}

// Start is a tensor that nobody made and that is not the same in both runs.
type Start struct {
	Op        string        `json:"op"`
	Tensor    string        `json:"tensor"`
	Parameter bool          `json:"parameter"`
	Why       lang.Sentence `json:"why"`
}

// leastCompared is the share of the operators below which a verdict says little.
const leastCompared = 0.5

// LowCoverage reports whether fewer than half of the operators of the smaller side were
// compared, though some were.
func (r *Report) LowCoverage() bool {
	o := r.Meaning.Operators
	return o != nil && o.Compared > 0 && o.Share() < leastCompared
}
