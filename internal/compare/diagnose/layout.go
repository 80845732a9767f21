package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/combin"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// testPermuted tests for another order of axes.
func testPermuted(p *pair) lang.Sentence {
	if p.result != nil && (p.errors < 4 || !p.mayBePermuted()) {
		return lang.Sentence{}
	}
	best, evidence := p.findPermutation(p.listOrders())
	if best != nil && best.axes != nil {
		p.facts = p.facts.List("perm", best.axes)
	}
	return evidence
}

// mayBePermuted reports whether both sides may hold the same elements in
// another order.
func (p *pair) mayBePermuted() bool {
	r := p.result
	if r.RefSum == r.NPUSum {
		return true
	}
	a, b := &r.Ref, &r.NPU
	if !a.Mean.IsDefined() || !b.Mean.IsDefined() {
		return false
	}
	near := func(x, y, scale float64) bool { return math.Abs(x-y) <= float64(0.05*scale)+p.request.Limits.Atol }
	span := a.Max.Value() - a.Min.Value()
	return near(a.Mean.Value(), b.Mean.Value(), a.Std.Value()) && near(a.Std.Value(), b.Std.Value(), a.Std.Value()) &&
		near(a.Min.Value(), b.Min.Value(), span) && near(a.Max.Value(), b.Max.Value(), span)
}

// findPermutation returns the order in which the NPU tensor agrees with the reference: the best candidate,
// among equal ones the first.
func (p *pair) findPermutation(candidates []order) (best *order, evidence lang.Sentence) {
	s := p.sample()
	if p.result != nil && !s.hasErrors {
		return nil, evidence
	}
	seen, others, least := make(map[string]bool), 0, math.Inf(1)
	for _, c := range candidates {
		key := c.key()
		if seen[key] || p.result != nil && c.isIdentity() {
			continue
		}
		seen[key] = true
		f := p.tryOrder(s, &c)
		if p.err() != nil || !p.explainsOrder(&f) {
			continue
		}
		if best != nil {
			others++
		}
		if _, after := f.meanDifferences(); after < least {
			best, least = &c, after
			evidence = lang.Say("%s; %s%s, mean |d| %s", c.text, c.transpose(), f.passText(), number(after))
		}
	}
	if others > 0 {
		evidence = lang.Say("%s; %d other axis orders pass too", evidence, others)
	}
	if best != nil && p.result != nil && p.result.RefSum == p.result.NPUSum {
		evidence = lang.Say("%s; both tensors hold the same elements", evidence)
	}
	return best, evidence
}

// explainsOrder reports whether an order explains the pair. If the shapes differ, there is no other way
// to compare the elements, and it suffices that they pass.
func (p *pair) explainsOrder(f *hypothesisFit) bool {
	if p.result == nil {
		return f.tried > 0 && f.passed*100 >= f.tried*99 && f.tellingPassed*100 >= f.telling*95 && f.isVaried()
	}
	return f.isExplained()
}

func (p *pair) npuShape() tensor.Shape {
	if len(p.tensors.NPUShape) > 0 {
		return p.tensors.NPUShape
	}
	return p.request.Shape
}

// order is a candidate: the NPU data have this shape, and its axis axes[j] is axis j of the
// reference. numpy.transpose(npu.reshape(shape), axes) restores the reference.
type order struct {
	shape tensor.Shape
	// axes is nil if the shape has other axes than the tensors.
	axes []int
	text lang.Sentence
	// weights[a] is the stride of axis a in the reference.
	weights []int64
}

// newOrder returns the candidate for a reference shape.
func newOrder(ref tensor.Shape, axes []int, text lang.Sentence) order {
	o := order{shape: make(tensor.Shape, len(ref)), axes: axes, text: text, weights: make([]int64, len(ref))}
	for j, stride := range ref.Strides() {
		o.shape[axes[j]] = ref[j]
		o.weights[axes[j]] = stride
	}
	return o
}

// newMovedOrder returns the candidate for data that had the axis order of the reference, but were converted as if they
// had another order: the NPU tensor has the shape of the reference, and permuting its axes gives the reference.
func newMovedOrder(shape tensor.Shape, axes []int, text lang.Sentence) order {
	o := order{shape: shape, axes: axes, text: text, weights: make([]int64, len(shape))}
	permuted := make(tensor.Shape, len(shape))
	for j, a := range axes {
		permuted[j] = shape[a]
	}
	for j, stride := range permuted.Strides() {
		o.weights[axes[j]] = stride
	}
	return o
}

// refOffset returns the offset in the reference of the NPU element at an offset.
func (o *order) refOffset(offset int64) (at int64) {
	for a := len(o.shape) - 1; a >= 0; a-- {
		at += offset % o.shape[a] * o.weights[a]
		offset /= o.shape[a]
	}
	return at
}

// key returns equal strings for orders that move all elements to the same places.
func (o *order) key() string {
	var b strings.Builder
	for a, n := range o.shape {
		if n > 1 {
			fmt.Fprintf(&b, "%d*%d ", n, o.weights[a])
		}
	}
	return b.String()
}

// isIdentity reports whether the order moves nothing.
func (o *order) isIdentity() bool {
	for a, stride := range o.shape.Strides() {
		if o.shape[a] > 1 && o.weights[a] != stride {
			return false
		}
	}
	return true
}

// tryOrder compares the NPU sample with the reference in this order. Most orders are rejected
// after a few elements.
func (p *pair) tryOrder(s *sample, o *order) (f hypothesisFit) {
	if p.result != nil {
		f.maxAfter = s.maxAfter
	}
	var want [1]complex128
	step := max(1, len(s.offsets)/firstSample)
	for start := range step {
		for i := start; i < len(s.offsets); i += step {
			p.ref.readValues(want[:], o.refOffset(s.offsets[i]))
			f.add(p, s.n[i], s.r[i], s.n[i], want[0])
			if f.isRefuted(len(s.offsets)) {
				return f
			}
		}
	}
	return f
}

// listOrders returns the orders to try, known layouts first.
func (p *pair) listOrders() []order {
	ref, npu := p.request.Shape, p.npuShape()
	same := npu.Equal(ref)
	var all []order
	orders := axisOrders(len(ref))
	for _, known := range orders {
		o := newOrder(ref, known.axes, lang.Sentence{})
		switch {
		case same && known.from != "":
			o.text = lang.Say("the NPU data are %s under a shape of %s", known.from, known.to)
		case same && len(ref) == 2:
			o.text = lang.Say("the NPU tensor is transposed")
		case same && isReversed(known.axes):
			o.text = lang.Say("the NPU data are in the axis order of %s, as with a wrong fortran_order", o.shape)
		case same:
			o.text = lang.Say("the NPU data are in the axis order of %s", o.shape)
		case !o.shape.Equal(npu):
			continue
		case known.from != "":
			o.text = lang.Say("the NPU tensor is %s %s, the reference %s %s", known.from, npu, known.to, ref)
		default:
			o.text = lang.Say("the NPU tensor %s is the reference %s with its axes permuted", npu, ref)
		}
		all = append(all, o)
	}
	for _, known := range orders {
		if same {
			all = append(all, newMovedOrder(ref, known.axes, movedText(known)))
		}
	}
	all = append(all, blockedOrders(ref)...)
	if sorted := slices.Sorted(slices.Values(npu)); !same && slices.Equal(sorted, slices.Sorted(slices.Values(ref))) {
		all = append(all, newOrder(ref, firstIntegers(len(ref)), lang.Say(
			"the NPU data are in the axis order of the reference %s, only their shape %s is wrong", ref, npu)))
	}
	return all
}

// isReversed reports whether a permutation reverses the axes.
func isReversed(axes []int) bool {
	reversed := firstIntegers(len(axes))
	slices.Reverse(reversed)
	return slices.Equal(axes, reversed)
}

// movedText describes data in the order of the reference that were taken for another order.
func movedText(known axisOrder) lang.Sentence {
	switch {
	case known.from != "":
		return lang.Say("the NPU data were read as %s but are %s", known.to, known.from)
	case isReversed(known.axes):
		return lang.Say("the NPU data are in the order of the reference and were read in the reverse order of axes, as with a wrong fortran_order")
	}
	return lang.Say("the NPU data are in the order of the reference and were read in another order of axes")
}

// blockedLayout is a device layout without padding for a shape: the axes in host order are cut into
// pieces, and the data store the pieces in another order.
type blockedLayout struct {
	name, host string
	pieces     tensor.Shape
	device     []int // indexes of pieces in data order
}

// blockSizes are the possible lengths of the last axis of a device layout, which depend on the
// element size; 16 is the most frequent.
var blockSizes = [...]int64{16, 32, 8}

// fractal is the number of rows in a fractal.
const fractal = 16

// listBlockedLayouts lists the device layouts without padding for a shape.
func listBlockedLayouts(s tensor.Shape) (all []blockedLayout) {
	add := func(name, host string, pieces tensor.Shape, device ...int) {
		for _, n := range pieces {
			if n == 0 {
				return // shorter than a block
			}
		}
		if count, _ := pieces.Count(); count == s.Elements() {
			all = append(all, blockedLayout{name, host, pieces, device})
		}
	}
	last := len(s) - 1
	for _, c0 := range blockSizes {
		if len(s) >= 2 {
			m, n := s[last-1], s[last]
			add("FRACTAL_NZ", "ND", tensor.Shape{s[:last-1].Elements(), m / fractal, fractal, n / c0, c0}, 0, 3, 1, 2, 4)
		}
		switch len(s) {
		case 4:
			add("NC1HWC0", "NCHW", tensor.Shape{s[0], s[1] / c0, c0, s[2] * s[3]}, 0, 1, 3, 2)
			add("NC1HWC0", "NHWC", tensor.Shape{s[0], s[1] * s[2], s[3] / c0, c0}, 0, 2, 1, 3)
			add("FRACTAL_Z", "NCHW", tensor.Shape{s[0] / fractal, fractal, s[1] / c0, c0, s[2] * s[3]}, 2, 4, 0, 1, 3)
		case 5:
			add("NDC1HWC0", "NCDHW", tensor.Shape{s[0], s[1] / c0, c0, s[2], s[3] * s[4]}, 0, 3, 1, 4, 2)
		}
	}
	return all
}

// blockedOrders returns the candidates for device data that were read as host data, and the reverse.
func blockedOrders(ref tensor.Shape) (all []order) {
	for _, b := range listBlockedLayouts(ref) {
		inverse := make([]int, len(b.device))
		for at, piece := range b.device {
			inverse[piece] = at
		}
		device := newOrder(b.pieces, inverse, lang.Say("the NPU data are %s and were read as %s", b.name, b.host))
		host := newMovedOrder(b.pieces, b.device, lang.Say("the NPU data are %s and were converted from %s", b.host, b.name))
		device.axes, host.axes = nil, nil
		all = append(all, device, host)
	}
	return all
}

// transpose describes the permutation; empty for the identity.
func (o *order) transpose() lang.Sentence {
	if slices.Equal(o.axes, firstIntegers(len(o.axes))) {
		return lang.Sentence{}
	}
	return lang.Say("with transpose %s ", axesText(o.axes))
}

// axesText returns a permutation in numpy's notation, "(0,3,1,2)".
func axesText(axes []int) string {
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(axes), "[]"), " ", ",") + ")"
}

// layouts lists the known axis orders of tensors.
var layouts = [...]string{"NCL", "NLC", "NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN"}

// axisOrder is a permutation of axes, and the first known layouts that it converts from and to, empty if there are none.
type axisOrder struct {
	axes     []int
	from, to string
}

// axisOrders lists the permutations to try: first the permutations between known layouts, then all other permutations of
// up to four axes, or common permutations of more axes.
func axisOrders(rank int) []axisOrder {
	var all []axisOrder
	add := func(o axisOrder) {
		same := func(other axisOrder) bool { return slices.Equal(o.axes, other.axes) }
		if !slices.Equal(o.axes, firstIntegers(rank)) && !slices.ContainsFunc(all, same) {
			all = append(all, o)
		}
	}
	for _, to := range layouts {
		for _, from := range layouts {
			if len(from) == rank && len(to) == rank {
				axes := make([]int, rank)
				for j := range to {
					axes[j] = strings.IndexByte(from, to[j])
				}
				add(axisOrder{axes, from, to})
			}
		}
	}
	if rank < 2 {
		return nil
	}
	moved := func(from, to int) []int {
		return slices.Insert(slices.Delete(firstIntegers(rank), from, from+1), to, from)
	}
	reversed := firstIntegers(rank)
	slices.Reverse(reversed)
	others := [][]int{moved(rank-1, rank-2), reversed, moved(rank-1, 1), moved(1, rank-1)}
	if rank <= 4 {
		others = append(others, combin.Permutations(rank, rank)...)
	}
	for _, axes := range others {
		add(axisOrder{axes: axes})
	}
	return all
}
