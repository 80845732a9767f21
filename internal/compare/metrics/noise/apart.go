package noise

import (
	"math"

	"dumptool/internal/tensor"
)

// InputDifference tells whether both sides of an input are the same numbers, each rounded to the type of its side.
// Two numbers count as equal if they differ by at most half a unit in the last place of one side plus half a unit of
// the other. Two masks (numbers that stand for minus infinity) count as equal, too. So do a number beyond the range
// of the other side's type and the limit or infinity of this type.
type InputDifference struct {
	// Elements counts the unequal pairs by the types of the containers. Float16 and BFloat16 count them as if one
	// side had this type.
	Elements int64 `json:"elements"`
	Float16  int64 `json:"float16"`
	BFloat16 int64 `json:"bfloat16"`
	// Ref and NPU are the types of the numbers on each side: float16 or bfloat16 if a wider container holds such
	// numbers, apart from a few damaged ones.
	Ref tensor.DType `json:"ref"`
	NPU tensor.DType `json:"npu"`
}

// Count returns the number of unequal pairs for the coarser of the two number types, and this type.
func (a *InputDifference) Count() (count int64, by tensor.DType) {
	for _, d := range Coarser {
		if a.Ref == d || a.NPU == d {
			if d == tensor.BFloat16 {
				return a.BFloat16, d
			}
			return a.Float16, d
		}
	}
	return a.Elements, a.NPU
}

// damagedShare is the share of elements (0 to 1) that may be damaged in a tensor whose other elements show its type.
const damagedShare = 0.01

// inputDifferences collects each InputDifference over the pairs of a segment.
type inputDifferences struct {
	sides      [2]side // the reference, the NPU
	count      [3]int64
	fractional bool // an integer is paired with a fraction: quantised numbers, not comparable
}

// side has the numbers of one side.
type side struct {
	units
	dtype   tensor.DType
	normal  float64 // the smallest normal number, 0 for integers
	limit   float64
	integer bool
	values  tensor.ValueType
}

func newSide(d tensor.DType) (s side, ok bool) {
	t, ok := TypeOf(d)
	if !ok {
		return s, false
	}
	s = side{units: unitsOf(t), dtype: d, normal: t.Normal(), limit: t.Max, integer: t.Integer}
	if t.Integer {
		s.units, s.normal = units{}, 0
	}
	return s, true
}

// halfULP returns half an ulp of a number. A 0 may be a flushed subnormal number.
func (s *side) halfULP(x float64) float64 {
	if x == 0 {
		return s.normal
	}
	return s.unitOf(x) / 2
}

// newInputDifferences returns a collector for pairs of two types, nil if a type has no units in the last place.
func newInputDifferences(ref, npu tensor.DType) *inputDifferences {
	r, ok := newSide(ref)
	n, also := newSide(npu)
	if !ok || !also {
		return nil
	}
	return &inputDifferences{sides: [2]side{r, n}}
}

// add adds pairs of a tensor of total elements.
func (a *inputDifferences) add(n, r []float64, total int64) {
	a.sides[0].addValues(r, total)
	a.sides[1].addValues(n, total)
	ref, npu := &a.sides[0], &a.sides[1]
	mixed := ref.integer != npu.integer
	for i, x := range r {
		y := n[i]
		if y == x {
			continue
		}
		// Most pairs differ by rounding. Sums with NaN or infinity are not below the largest number.
		if half := ref.halfULP(x) + npu.halfULP(y); math.Abs(x-y) <= half && half <= math.MaxFloat64 && !mixed {
			continue
		}
		if !(x != x && y != y) && !(ref.isMask(x) && npu.isMask(y)) && !npu.isBeyond(y, x) && !ref.isBeyond(x, y) {
			a.addPair(x, y)
		}
	}
}

// isMask reports whether a number stands for minus infinity: -10000, or any number at or below the smallest of
// float16, such as -1e9 and the smallest numbers of other types. Integers have no such number.
func (s *side) isMask(x float64) bool {
	return !s.integer && (x <= -tensor.MaxFloat16 || x == -10000)
}

// isBeyond reports whether x is at the limit of the side's type, or infinite, and the other number is beyond the
// range of this type with the same sign.
func (s *side) isBeyond(x, other float64) bool {
	return math.Abs(x) >= s.limit && math.Abs(other) >= s.limit && math.Signbit(x) == math.Signbit(other) && s.limit < math.MaxFloat64
}

// addPair counts a pair of different numbers.
func (a *inputDifferences) addPair(x, y float64) {
	ref, npu := &a.sides[0], &a.sides[1]
	if ref.integer != npu.integer {
		a.fractional = a.fractional || x != math.Trunc(x) || y != math.Trunc(y)
	}
	d, half := math.Abs(x-y), ref.halfULP(x)+npu.halfULP(y)
	if d <= half && !math.IsInf(half, 0) { // half is infinite beyond the range of the type
		return
	}
	a.count[0]++
	if ref.integer || npu.integer {
		return
	}
	for k := range coarserSides {
		c := &coarserSides[k]
		more := max(c.halfULP(x), c.halfULP(y))
		if ref.dtype == c.dtype || npu.dtype == c.dtype { // its unit is already in half
			more = 0
		}
		if !(d <= half+more) || math.IsInf(half, 0) {
			a.count[k+1]++
		}
	}
}

// coarserSides are sides with the types of Coarser.
var coarserSides = func() (all []side) {
	for _, d := range Coarser {
		s, _ := newSide(d)
		all = append(all, s)
	}
	return all
}()

// addValues determines the type of the numbers in a container. It stops when too many elements are not numbers of a
// coarser type.
func (s *side) addValues(values []float64, total int64) {
	if limit := float64(total) * damagedShare; s.dtype == tensor.Float32 && float64(min(s.values.OffFloat16, s.values.OffBFloat16)) <= limit {
		s.values.Add(values)
	}
}

// valueType returns the type of the numbers.
func (s *side) valueType() tensor.DType {
	if s.dtype == tensor.Float32 && s.values.Fine == tensor.LeastFine {
		return s.values.DType()
	}
	return s.dtype
}

// minSignificant is the minimum number of elements with more than 4 significant bits from which the type of one side is
// determined: 4 such elements fit float16 by chance once in 2^52.
const minSignificant = 4

// coarsestType returns the coarsest type that has all numbers of a float32 container.
func (s *side) coarsestType() tensor.DType {
	if s.dtype != tensor.Float32 || s.values.Fine < minSignificant {
		return s.dtype
	}
	return s.values.Coarsest(0)
}

// merge adds the pairs of another segment.
func (a *inputDifferences) merge(next *inputDifferences) {
	for k := range a.count {
		a.count[k] += next.count[k]
	}
	for k := range a.sides {
		a.sides[k].values.Merge(&next.sides[k].values)
	}
	a.fractional = a.fractional || next.fractional
}

// counts returns the counts, nil if the pairs are not comparable.
func (a *inputDifferences) counts() *InputDifference {
	if a == nil || a.fractional {
		return nil
	}
	found := &InputDifference{Elements: a.count[0], BFloat16: a.count[1], Float16: a.count[2], Ref: a.sides[0].valueType(), NPU: a.sides[1].valueType()}
	// Few elements suffice to show a coarser type that the other side contradicts.
	ref, npu := a.sides[0].coarsestType(), a.sides[1].coarsestType()
	switch {
	case ref == tensor.Float32 && npu != tensor.Float32:
		found.NPU = npu
	case npu == tensor.Float32 && ref != tensor.Float32:
		found.Ref = ref
	}
	return found
}
