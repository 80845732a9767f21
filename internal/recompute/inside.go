package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/exact"
	"dumptool/internal/lang"
)

// insideClass is a class of intermediate values of operators.
type insideClass uint8

const (
	squareSums insideClass = iota
	scoresOfHeads
	powersOfE
	productSums
	insideClasses
)

// insides is the table of the classes. Every kernel of the listed formulas computes the values of a class, unless the
// class IsBound: then a kernel may avoid them.
var insides = [insideClasses]insideRow{
	squareSums:    {"sum_of_squares", "LayerNorm LayerNormV3 RmsNorm AddRmsNorm AddLayerNorm L2Normalize LpNorm LpNormalize", InsideText{Text: lang.Text{EN: "sum of squares"}}},
	scoresOfHeads: {"scores", "Attention", InsideText{Text: lang.Text{EN: "|q k'| before the scale"}}},
	// Softmaxes and losses subtract the largest element first: without this, exp(89) is beyond float32 too.
	powersOfE: {"exp", "", InsideText{Text: lang.Text{EN: "exp without the maximum"}, IsBound: true}},
	// The sum of the sizes: a sum on the way may be as large, and most are much smaller.
	productSums: {"products", "", InsideText{Text: lang.Text{EN: "sum of |a||b|"}, IsBound: true}},
}

type insideRow struct {
	key, formulas string
	InsideText
}

// InsideText describes a class of intermediate values. The values of a class that is a bound need not occur.
type InsideText struct {
	Text    lang.Text
	IsBound bool
}

// InsideOf describes the class with a key.
func InsideOf(key string) InsideText {
	for i := range insides {
		if insides[i].key == key {
			return insides[i].InsideText
		}
	}
	return InsideText{}
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

// largestInside has the largest value of each class (the exponent for powersOfE), NaN if there is no value.
type largestInside [insideClasses]float64

func noInside() (l largestInside) {
	for i := range l {
		l[i] = math.NaN()
	}
	return l
}

// keepLarger keeps a value if it is larger than the largest value so far.
func (l *largestInside) keepLarger(class insideClass, v float64) {
	if v-v == 0 && !(v <= l[class]) {
		l[class] = v
	}
}

// recordIntermediate records elements of an array, times a factor, as intermediate values.
func (m *machine) recordIntermediate(class insideClass, x *Array, factor float64) {
	for _, v := range x.v {
		if class != powersOfE {
			v = math.Abs(v)
		}
		m.inside.keepLarger(class, float64(v*factor))
	}
}

// recordSquareSums records the sums of squares of the lines of x, computed from the means of the squares.
func (x *Array) recordSquareSums(squares *Array) {
	x.m.recordIntermediate(squareSums, squares, float64(len(x.v)/max(1, len(squares.v))))
}

// largestIntermediates lists the largest values for a verdict.
func (r *result) largestIntermediates() (all []LargestIntermediate) {
	for i, v := range r.inside {
		log := exact.Log2(v)
		if insideClass(i) == powersOfE {
			log = float64(v * math.Log2E)
		}
		if log-log == 0 {
			all = append(all, LargestIntermediate{insides[i].key, log, r.how != ""})
		}
	}
	return all
}

// HasInside reports whether operators of a type, or calls by the name that msprobe gives them, have intermediate
// values that are measured, not bounds. These are unknown without the inputs.
func HasInside(opType, api string) bool {
	names := []string{FormulaOf(opType).Name}
	_, calls := CallsOf(api, "")
	for i := range calls {
		names = append(names, calls[i].Formula)
	}
	return slices.ContainsFunc(insides[:], func(row insideRow) bool {
		return slices.ContainsFunc(strings.Fields(row.formulas), func(name string) bool { return slices.Contains(names, name) })
	})
}
