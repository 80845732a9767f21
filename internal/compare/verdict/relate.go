package verdict

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/optype"
)

// Relate infers what an operator computes from the values of the references: in a healthy run the output follows from
// the inputs, and the operator uses each of the inputs. The result is false if no known operator computes all
// elements of the probe.
func Relate(out *noise.Noise, inputs ...*noise.Noise) (optype.Type, bool) {
	o, ok := NewOutput(out)
	switch {
	case ok && len(inputs) == 1:
		return o.RelateToOne(&Source{Noise: inputs[0]})
	case ok && len(inputs) == 2:
		half := o.CombinedWith(inputs[0])
		return half.RelateTo(inputs[1])
	}
	return optype.Type{}, false
}

// Output is a tensor that one or two of many other tensors may have produced.
type Output struct {
	*noise.Noise
	// The channels of its probe: their number, the elements in each, and how many of these elements are adjacent.
	channels, channelSize, adjacent int
	x, y                            []float64 // buffers for the elements of a channel
}

// NewOutput prepares a tensor as an output of Relate; ok reports whether the tensor is informative.
func NewOutput(n *noise.Noise) (out *Output, ok bool) {
	out = &Output{Noise: n, adjacent: 1}
	if grid, axes := noise.Grid(n.Shape); len(n.Shape) >= 2 && len(n.Shape) == axes {
		axis := channelAxis(n)
		for _, length := range grid[axis+1 : axes] {
			out.adjacent *= int(length)
		}
		out.channels = int(grid[axis])
		out.channelSize = len(n.Probe.Values) / max(out.channels, 1)
	}
	return out, isInformative(n)
}

// Source is a tensor that may be the input of many operators. It caches the function values of its first element,
// which rule out most outputs.
type Source struct {
	*noise.Noise
	first []functionValue // by the functions of unaryRelations, nil before the first use
}

// functionValue is the value of a function for an element, and its uncertainty.
type functionValue struct{ value, apart float64 }

// RelateToOne is Relate for one input.
func (out *Output) RelateToOne(in *Source) (optype.Type, bool) {
	if len(in.Probe.Values) == 0 {
		return optype.Type{}, false
	}
	same, first := sameShape(out.Noise, in.Noise), []functionValue(nil)
	if same {
		first = in.functionValues()
	}
	y := float64(out.Probe.Values[0])
	near, beside := tolerances(y, out.RefRMS)
	for i := range unaryRelations {
		r := &unaryRelations[i]
		if !r.reshapes && !same {
			continue
		}
		may := true
		if r.function != nil {
			may, first = first[0].equals(y, near, beside), first[1:]
		}
		if may && r.holds(out, in.Noise) {
			return r.Type, true
		}
	}
	return optype.Type{}, false
}

// functionValues returns the values that the functions of unaryRelations have for the first element.
func (s *Source) functionValues() []functionValue {
	if s.first == nil {
		s.first = make([]functionValue, 0, len(unaryRelations)/2+1) // about half of the rows have a function
		for i := range unaryRelations {
			if f := unaryRelations[i].function; f != nil {
				s.first = append(s.first, valueOf(f, s.Probe.Values[0]))
			}
		}
	}
	return s.first
}

// PartialRelation is an output with one of the two tensors that may have produced it.
type PartialRelation struct {
	out *Output
	in  *noise.Noise
	// An operator of binaryRelations may produce the first element of the output only if acceptsAny is set, or the first
	// element of the other tensor is near the value of a candidate. off is the square of the largest distance.
	candidates [7]struct{ value, off float64 }
	acceptsAny bool
}

// CombinedWith combines the output with one of two tensors. Its test of the first elements allows 16 units of the
// precision, the operators allow 9; it excludes most tensors.
func (out *Output) CombinedWith(in *noise.Noise) (h PartialRelation) {
	h.out, h.in = out, in
	if len(in.Probe.Values) == 0 {
		return h
	}
	const precision = 16 * refPrecision
	x, y := float64(in.Probe.Values[0]), float64(out.Probe.Values[0])
	size := math.Abs(x) + math.Abs(y)
	h.acceptsAny = !(math.Abs(x-y) > precision*size) // the maximum or the minimum, NaN, infinities
	for i, value := range [...]float64{y - x, x - y, x + y, y, y / x, x / y, float64(x * y)} {
		off := precision * value
		if i < 3 {
			off = precision * size
		}
		if !math.IsInf(value, 0) { // infinite: of a division by 0, which produces no number
			h.candidates[i].value, h.candidates[i].off = value, float64(off*off)
		}
	}
	return h
}

// mayProduce reports whether an operator may produce the first element of the output from z, the first element of the
// other tensor.
func (h *PartialRelation) mayProduce(z float64) bool {
	for i := range h.candidates {
		at := &h.candidates[i]
		if off := z - at.value; float64(off*off) <= at.off {
			return true
		}
	}
	return h.acceptsAny || z-z != 0
}

// RelateTo is Relate for both inputs.
func (h *PartialRelation) RelateTo(in *noise.Noise) (optype.Type, bool) {
	out := h.out.Noise
	if len(in.Probe.Values) == 0 || len(h.in.Probe.Values) == 0 {
		return optype.Type{}, false
	}
	if h.mayProduce(float64(in.Probe.Values[0])) && isBroadcastable(out, h.in) && isBroadcastable(out, in) {
		a, b := broadcastTo(out, h.in), broadcastTo(out, in)
		for i := range binaryRelations {
			if o := &binaryRelations[i]; o.holds(out.Probe.Values, &a, &b) {
				return o.Type, true
			}
		}
	}
	if out.Count == h.in.Count+in.Count && hasSameElements(out, h.in, in) {
		return optype.Type{Class: optype.Move}, true
	}
	return optype.Type{}, false
}

// relation is an operator that can be recognised by comparing its output with its input.
type relation struct {
	optype.Type
	holds    func(out *Output, in *noise.Noise) bool
	reshapes bool                  // the input may be of another shape
	function func(float64) float64 // of elementwise operators
}

// leastProbe is the least number of different elements that identify an operator.
const leastProbe = 6

// isInformative reports whether a tensor has enough different elements.
func isInformative(n *noise.Noise) bool {
	seen := make([]float32, 0, leastProbe)
	for _, x := range n.Probe.Values {
		if x-x == 0 && !slices.Contains(seen, x) {
			if seen = append(seen, x); len(seen) == leastProbe {
				return true
			}
		}
	}
	return false
}

// The relative precision of references: of their elements, which are float32 or wider, and of function values.
const (
	refPrecision      = 0x1p-23
	functionPrecision = 1e-5
)

// unaryRelations are the operators with one known input.
var unaryRelations = []relation{
	{optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}, isSelection, false, nil},
	{optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}, isLeaky, false, nil},
	{optype.Type{Class: optype.Move}, isReordered, true, nil},
	{optype.Type{Class: optype.Multiply, Fitted: true}, scaledFloat, false, nil},
	{optype.Type{Class: optype.Dequantise}, scaledInteger, false, nil},
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1}, math.Abs),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}, tanh),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}, sigmoid),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}, softplus),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}, geluByTanh),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}, geluByErf),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}, func(x float64) float64 { return float64(x * sigmoid(1.702*x)) }),
	elementwise(optype.Type{Class: optype.Lipschitz, Factor: 1.1, Transcendental: true}, func(x float64) float64 { return float64(x * sigmoid(x)) }),
	elementwise(optype.Type{Class: optype.Multiply, Form: optype.Square}, func(x float64) float64 { return float64(x * x) }),
	elementwise(optype.Type{Class: optype.Divide}, math.Sqrt),
	elementwise(optype.Type{Class: optype.Divide}, func(x float64) float64 { return 1 / x }),
	elementwise(optype.Type{Class: optype.Divide, Form: optype.Logarithm}, exact.Log),
	elementwise(optype.Type{Class: optype.Exponential, Transcendental: true}, exact.Exp),
	{optype.Type{Class: optype.Divide}, isInverseRoot, false, nil},
	{optype.Type{Class: optype.Lipschitz, Factor: 1, Fitted: true}, addsToChannels, false, nil},
	{optype.Type{Class: optype.BatchNormalise, Fitted: true}, func(out *Output, in *noise.Noise) bool { return channelsOfProbe(out, in, isLine) }, false, nil},
	{optype.Type{Class: optype.Normalise}, func(out *Output, in *noise.Noise) bool { return isNormalised(out, in, true) }, false, nil},
	{optype.Type{Class: optype.Normalise, Form: optype.RootMeanNorm}, func(out *Output, in *noise.Noise) bool { return isNormalised(out, in, false) }, false, nil},
	{optype.Type{Class: optype.Exponential, Transcendental: true}, isSoftmax, false, nil},
	{optype.Type{Class: optype.Lipschitz, Factor: 2, Transcendental: true, Form: optype.LogSoftmax}, isLogSoftmax, false, nil},
	{optype.Type{Class: optype.Reduce}, func(out *Output, in *noise.Noise) bool { return isRowMean(out, in, 1) }, true, nil},
	{optype.Type{Class: optype.Reduce, Form: optype.Sum}, func(out *Output, in *noise.Noise) bool { return isRowMean(out, in, float64(in.Rows.Size)) }, true, nil},
}

// binaryRelations are the operators that combine corresponding elements of two inputs.
var binaryRelations = []binaryRelation{
	{optype.Type{Class: optype.Lipschitz, Factor: 1}, func(a, b float64) float64 { return a + b }},
	{optype.Type{Class: optype.Lipschitz, Factor: 1}, func(a, b float64) float64 { return a - b }},
	{optype.Type{Class: optype.Lipschitz, Factor: 1}, func(a, b float64) float64 { return b - a }},
	{optype.Type{Class: optype.Multiply}, func(a, b float64) float64 { return float64(a * b) }},
	{optype.Type{Class: optype.Divide}, func(a, b float64) float64 { return a / b }},
	{optype.Type{Class: optype.Divide}, func(a, b float64) float64 { return b / a }},
	{optype.Type{Class: optype.Lipschitz, Factor: 1}, math.Max},
	{optype.Type{Class: optype.Lipschitz, Factor: 1}, math.Min},
}

// elementwise is an operator that applies a function to each element.
func elementwise(t optype.Type, f func(float64) float64) relation {
	return relation{t, func(out *Output, in *noise.Noise) bool {
		for i, value := range out.Probe.Values {
			y := float64(value)
			if near, beside := tolerances(y, out.RefRMS); !valueOf(f, in.Probe.Values[i]).equals(y, near, beside) {
				return false
			}
		}
		return true
	}, false, f}
}

// valueOf returns the function value of an element, and how much the value changes if the element is off by its
// precision.
func valueOf(f func(float64) float64, element float32) functionValue {
	x := float64(element)
	value := f(x)
	return functionValue{value, math.Abs(f(float64(x*(1+2*refPrecision))) - value)}
}

// tolerances returns the allowed errors of a function value: by the precision of the function, and relative to the
// root mean square of the tensor.
func tolerances(y, rms float64) (near, beside float64) {
	return float64(functionPrecision * math.Abs(y)), float64(8 * refPrecision * rms)
}

// equals reports whether an element equals the function value within the allowed errors.
func (m functionValue) equals(y, near, beside float64) bool {
	return math.Abs(m.value-y) <= m.apart+near+beside || bothInfinite(m.value, y)
}

func bothInfinite(a, b float64) bool { return a == b && math.IsInf(a, 0) }

// binaryRelation is an operator on two tensors; one tensor may be broadcast along some axes.
type binaryRelation struct {
	optype.Type
	function func(a, b float64) float64
}

// holds reports whether the operator computes the values from two tensors.
func (o *binaryRelation) holds(values []float32, a, b *broadcastView) bool {
	f := o.function
	for i, value := range values {
		x, z, y := float64(a.at(i)), float64(b.at(i)), float64(value)
		made := f(x, z)
		allowed := math.Abs(f(float64(x*(1+2*refPrecision)), z)-made) + math.Abs(f(x, float64(z*(1+2*refPrecision)))-made) + float64(4*refPrecision*math.Abs(y))
		if !(math.Abs(made-y) <= allowed) && !bothInfinite(made, y) {
			return false
		}
	}
	return true
}

// broadcastView is a tensor broadcast to the shape of a larger one.
type broadcastView struct {
	values []float32
	index  []int // nil where the shapes are the same
}

func (s *broadcastView) at(i int) float32 {
	if s.index != nil {
		i = s.index[i]
	}
	return s.values[i]
}

// isBroadcastable reports whether in can be broadcast to out: each axis is as long as in out, or 1.
func isBroadcastable(out, in *noise.Noise) bool {
	if sameShape(out, in) {
		return true
	}
	if len(out.Shape) != len(in.Shape) || len(out.Shape) > 4 {
		return false
	}
	for i, length := range in.Shape {
		if length != out.Shape[i] && length != 1 {
			return false
		}
	}
	return true
}

// broadcastTo broadcasts a tensor to the shape of a tensor that it fits.
func broadcastTo(out, in *noise.Noise) broadcastView {
	s := broadcastView{values: in.Probe.Values}
	if sameShape(out, in) {
		return s
	}
	from, _ := noise.Grid(in.Shape)
	to, axes := noise.Grid(out.Shape)
	s.index = []int{0}
	for i := range axes {
		next := make([]int, 0, len(out.Probe.Values))
		for _, before := range s.index {
			for k := range to[i] {
				next = append(next, before*int(from[i])+int(min(k, from[i]-1)))
			}
		}
		s.index = next
	}
	return s
}

// areNear reports whether two elements are equal within the precision of references.
func areNear(a, b float64) bool { return math.Abs(a-b) <= 2*refPrecision*math.Abs(a) || a == b }

// isReordered reports whether the output has the elements of the input in another order.
func isReordered(out *Output, in *noise.Noise) bool {
	return out.Count == in.Count && hasSameElements(out.Noise, in)
}

// isSelection reports whether each element equals the input, or one constant, or is masked.
func isSelection(out *Output, in *noise.Noise) bool {
	const masked = -9000
	kept := make([]float64, 0, leastProbe)
	constant := math.NaN()
	for i, value := range out.Probe.Values {
		x, y := float64(in.Probe.Values[i]), float64(value)
		switch {
		case areNear(x, y):
			if len(kept) < leastProbe && !slices.Contains(kept, y) {
				kept = append(kept, y)
			}
		case y <= masked:
		case constant != constant:
			constant = y
		case y != constant:
			return false
		}
	}
	return len(kept) == leastProbe
}

// isLeaky reports whether negative elements are multiplied by a constant, as by LeakyReLU.
func isLeaky(out *Output, in *noise.Noise) bool {
	var slope, negative, positive float64
	for i, value := range out.Probe.Values {
		x, y := float64(in.Probe.Values[i]), float64(value)
		switch {
		case x >= 0 && !areNear(x, y):
			return false
		case x >= 0:
			positive++
		case negative == 0:
			slope = y / x
			negative++
		case !(math.Abs(y-float64(slope*x)) <= 4*refPrecision*math.Abs(y)):
			return false
		default:
			negative++
		}
	}
	return positive >= 2 && negative >= 3 && slope >= 0 && slope < 1
}

// scaledFloat and scaledInteger report whether all elements are multiplied by a constant.
func scaledFloat(out *Output, in *noise.Noise) bool { return !in.Type.Integer && isScaled(out, in) }

func scaledInteger(out *Output, in *noise.Noise) bool {
	return in.Type.Integer && !out.Type.Integer && isScaled(out, in)
}

func isScaled(out *Output, in *noise.Noise) bool {
	factor := math.NaN()
	for i, value := range out.Probe.Values {
		x, y := float64(in.Probe.Values[i]), float64(value)
		if factor != factor && x != 0 {
			factor = y / x
		}
		if !(math.Abs(y-float64(factor*x)) <= 4*refPrecision*math.Abs(y)) && (x != 0 || y != 0) {
			return false
		}
	}
	return factor == factor
}

// These functions have the same results on all machines, unlike package math.

func sigmoid(x float64) float64 { return 1 / (1 + exact.Exp(-x)) }

func tanh(x float64) float64 {
	if math.Abs(x) > 20 {
		return math.Copysign(1, x)
	}
	e := exact.Expm1(2 * x)
	return e / (e + 2)
}

func softplus(x float64) float64 { return exact.Log(1 + exact.Exp(x)) }

func geluByTanh(x float64) float64 {
	cube := float64(x * x * x)
	return float64(0.5 * x * (1 + tanh(0.7978845608028654*(x+float64(0.044715*cube)))))
}

// geluByErf approximates erf to 1.5e-7: Abramowitz and Stegun, Handbook of
// Mathematical Functions, 7.1.26.
func geluByErf(x float64) float64 {
	z := math.Abs(x) / math.Sqrt2
	t := 1 / (1 + float64(0.3275911*z))
	p := 0.0
	for _, a := range []float64{1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592} {
		p = float64(t * (p + a))
	}
	tail := float64(p * exact.Exp(-float64(z*z))) // 1 - erf(z)
	if x < 0 {
		return float64(0.5 * x * tail)
	}
	return float64(0.5 * x * (2 - tail))
}

// mixesElements reports whether the operator combines several elements of an input: no elementwise function explains the
// output.
func (o *Operator) mixesElements() bool {
	var one *noise.Noise // the input that fits
	for _, in := range o.Inputs {
		if !isBroadcastable(o.Out, in) {
			continue
		}
		if one != nil || !sameShape(o.Out, in) {
			return false
		}
		one = in
	}
	return len(o.Inputs) > 0 && (one == nil || areUnrelated(o.Out, one))
}

// leastPoints is the least number of elements that show that two tensors are unrelated.
const leastPoints = 24

// areUnrelated reports whether the elements of out, in the order of the elements of in, jump up and down over their
// whole range.
func areUnrelated(out, in *noise.Noise) bool {
	x, y := in.Probe.Values, out.Probe.Values
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
		if x[i] != x[i] || y[i] != y[i] {
			return false
		}
	}
	byValue := func(of []float32) {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(of[i], of[j]) })
	}
	byValue(y)
	rank := make([]int, len(y))
	for k, i := range order {
		rank[i] = k
		if k > 0 && y[i] == y[order[k-1]] {
			rank[i] = rank[order[k-1]]
		}
	}
	byValue(x)
	jumps := 0
	for k := 1; k < len(order); k++ {
		jumps += max(rank[order[k]]-rank[order[k-1]], rank[order[k-1]]-rank[order[k]])
	}
	// The jumps of unrelated tensors add up to about a third of the square.
	return len(order) >= leastPoints && jumps*5 > len(order)*len(order)
}

// Reclassify corrects the operator where the values of the references contradict its name: it may read only a part of
// an input, as when a compiler fused a slice into it, and it may be a steeper function. It reports whether it
// corrected anything. If a part is read, this part may have all of the error of the input.
func (o Operator) Reclassify() (Operator, bool) {
	o.Parts = slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return o.partConcentration(in) > 1 })
	steeper := o.steepen()
	return o, steeper || o.Parts
}

// steepen raises the factor of a smooth function to the slope that the references show, if that exceeds every slope
// of the named function, and reports whether it does. A fused operator has the name of one of its parts, and
// libraries choose names freely. Slopes are measured over distances of at least the error of the input.
func (o *Operator) steepen() bool {
	const (
		steeper   = 1.25
		precision = 0x1p-7 // of a bfloat16 reference
		between   = 2      // the steepest point may lie between elements of the probe
	)
	t := &o.Type
	if t.Class != optype.Lipschitz || !t.Transcendental || t.Form != optype.Plain || len(o.Inputs) != 1 || !sameShape(o.Out, o.Inputs[0]) {
		return false
	}
	x, y := o.Inputs[0].Probe.Values, o.Out.Probe.Values
	order := make([]int, min(len(x), len(y)))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	order = slices.CompactFunc(order, func(i, j int) bool { return x[i] == x[j] })
	apart := func(of []float32, i, j int) (by, rounding float64) {
		a, b := float64(of[i]), float64(of[j])
		return math.Abs(a - b), float64(precision * (math.Abs(a) + math.Abs(b)))
	}
	factor := steeper * t.Factor
	for step := 1; step < len(order); step *= 2 {
		for k, j := range order[step:] {
			run, atX := apart(x, order[k], j)
			rise, atY := apart(y, order[k], j)
			if steep := (rise - atY) / max(run+atX, o.Inputs[0].RMS, tiny); steep > factor && !math.IsInf(steep, 0) {
				factor = steep
			}
		}
	}
	if factor == steeper*t.Factor {
		return false
	}
	t.Factor = between * factor
	return true
}

// isInverseRoot reports whether y = 1/sqrt(x + a) for a constant a.
func isInverseRoot(out *Output, in *noise.Noise) bool {
	low, high := math.Inf(-1), math.Inf(1) // range of a
	for i, value := range out.Probe.Values {
		x, y := float64(in.Probe.Values[i]), float64(value)
		inverse := 1 / float64(y*y)
		off := float64(functionPrecision*inverse) + float64(2*refPrecision*math.Abs(x))
		low, high = max(low, inverse-x-off), min(high, inverse-x+off)
		if !(y > 0) || !(low <= high) {
			return false
		}
	}
	return low < high && high >= 0
}
