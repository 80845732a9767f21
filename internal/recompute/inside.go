package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/exact"
	"dumptool/internal/lang"
)

// intermediateClass is a class of intermediate values of operators.
type intermediateClass uint8

const (
	squareSums intermediateClass = iota
	scoresOfHeads
	powersOfE
	productSums
	intermediateClasses
)

// intermediates is the table of the classes. Every kernel of the listed formulas computes the values of a class, unless the
// class IsBound: then a kernel may avoid them.
var intermediates = [intermediateClasses]intermediateRow{
	squareSums:    {"sum_of_squares", "LayerNorm LayerNormV3 RmsNorm AddRmsNorm AddLayerNorm L2Normalize LpNorm LpNormalize", IntermediateText{Text: lang.Text{EN: "sum of squares"}}},
	scoresOfHeads: {"scores", "Attention", IntermediateText{Text: lang.Text{EN: "|q k'| before the scale"}}},
	// Softmaxes and losses subtract the largest element first: without this, exp(89) is beyond float32 too.
	powersOfE: {"exp", "", IntermediateText{Text: lang.Text{EN: "exp without the maximum"}, IsBound: true}},
	// The sum of the sizes: a sum on the way may be as large, and most are much smaller.
	productSums: {"products", "", IntermediateText{Text: lang.Text{EN: "sum of |a||b|"}, IsBound: true}},
}

type intermediateRow struct {
	key, formulas string
	IntermediateText
}

// IntermediateText describes a class of intermediate values. The values of a class that is a bound need not occur.
type IntermediateText struct {
	Text    lang.Text
	IsBound bool
}

// IntermediateOf describes the class with a key.
func IntermediateOf(key string) IntermediateText {
	for i := range intermediates {
		if intermediates[i].key == key {
			return intermediates[i].IntermediateText
		}
	}
	return IntermediateText{}
}

// LargestIntermediate is the largest intermediate value of a class.
type LargestIntermediate struct {
	// Class is sum_of_squares (norms), scores (attention), exp (softmax and losses) or products.
	Class string `json:"class"`
	// Log2 is the binary logarithm of the largest size.
	Log2 float64 `json:"log2"`
	// IsPart: only some elements of the outputs were computed, other values may be larger.
	IsPart bool `json:"part,omitempty"`
}

// largestValues has the largest value of each class (the exponent for powersOfE), NaN if there is no value.
type largestValues [intermediateClasses]float64

func newLargestValues() (l largestValues) {
	for i := range l {
		l[i] = math.NaN()
	}
	return l
}

// keepLarger keeps a value if it is larger than the largest value so far.
func (l *largestValues) keepLarger(class intermediateClass, v float64) {
	if v-v == 0 && !(v <= l[class]) {
		l[class] = v
	}
}

// recordIntermediate records elements of an array, times a factor, as intermediate values.
func (m *machine) recordIntermediate(class intermediateClass, x *Array, factor float64) {
	for _, v := range x.v {
		if class != powersOfE {
			v = math.Abs(v)
		}
		m.largest.keepLarger(class, float64(v*factor))
	}
}

// recordSquareSums records the sums of squares of the lines of x, computed from the means of the squares.
func (x *Array) recordSquareSums(squares *Array) {
	x.m.recordIntermediate(squareSums, squares, float64(len(x.v)/max(1, len(squares.v))))
}

// largestIntermediates lists the largest values for a verdict.
func (r *result) largestIntermediates() (all []LargestIntermediate) {
	for i, v := range r.largest {
		log := exact.Log2(v)
		if intermediateClass(i) == powersOfE {
			log = float64(v * math.Log2E)
		}
		if log-log == 0 {
			all = append(all, LargestIntermediate{intermediates[i].key, log, r.how != ""})
		}
	}
	return all
}

// HasIntermediates reports whether operators of a type, or calls by the name that msprobe gives them, have intermediate
// values that are measured, not bounds. These are unknown without the inputs.
func HasIntermediates(opType, api string) bool {
	names := []string{FormulaOf(opType).Name}
	_, calls := CallsOf(api, "")
	for i := range calls {
		names = append(names, calls[i].Formula)
	}
	return slices.ContainsFunc(intermediates[:], func(row intermediateRow) bool {
		return slices.ContainsFunc(strings.Fields(row.formulas), func(name string) bool { return slices.Contains(names, name) })
	})
}
