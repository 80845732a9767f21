package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// Permutation is an order of axes in which the NPU tensor agrees with the
// reference: numpy.transpose(npu.reshape(Shape), Axes) is the reference.
type Permutation struct {
	Shape    tensor.Shape
	Axes     []int
	Evidence string
}

// FindPermutation looks for the order of axes in which the pair agrees; nil when
// there is none among those it knows: all up to four axes, the common ones of
// more. The shapes may be equal or a permutation of each other.
func FindPermutation(ctx context.Context, in Input) (*Permutation, error) {
	p, err := newPair(ctx, &in)
	if err != nil {
		return nil, err
	}
	return p.permutation()
}

// permuted is the test of the axis order.
func permuted(p *pair) (found, error) {
	if p.result != nil && (p.errors < 4 || !p.sameStatistics()) {
		return found{}, nil
	}
	perm, err := p.permutation()
	if err != nil || perm == nil {
		return found{}, err
	}
	return found{Medium, perm.Evidence}, nil
}

// sameStatistics reports whether both sides may hold the same elements in
// another order.
func (p *pair) sameStatistics() bool {
	r := p.result
	if r.RefSum == r.NPUSum {
		return true
	}
	a, b := &r.Ref, &r.NPU
	if !a.Mean.Defined || !b.Mean.Defined {
		return false
	}
	near := func(x, y, scale float64) bool { return math.Abs(x-y) <= 0.05*scale+p.request.Limits.Atol }
	span := a.Max.Value - a.Min.Value
	return near(a.Mean.Value, b.Mean.Value, a.Std.Value) && near(a.Std.Value, b.Std.Value, a.Std.Value) &&
		near(a.Min.Value, b.Min.Value, span) && near(a.Max.Value, b.Max.Value, span)
}

// permutation tries the candidates and takes the one that fits best, of equal
// ones the first.
func (p *pair) permutation() (*Permutation, error) {
	s, err := p.layoutSample()
	if err != nil {
		return nil, err
	}
	var best *Permutation
	seen, others, least := make(map[string]bool), 0, math.Inf(1)
	for _, c := range p.candidates() {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		key := c.key()
		if seen[key] || p.result != nil && c.identity() {
			continue
		}
		seen[key] = true
		f, err := p.tryOrder(s, &c)
		if err != nil {
			return nil, err
		}
		if !p.fits(&f) {
			continue
		}
		if best != nil {
			others++
		}
		if _, after := f.means(); after < least {
			evidence := fmt.Sprintf("%s on %d of %d samples >= 99 %%, mean |d| %.3g", c.text, f.passed, f.tried, after)
			best, least = &Permutation{c.shape, c.axes, evidence}, after
		}
	}
	if best == nil {
		return nil, nil
	}
	if others > 0 {
		best.Evidence += fmt.Sprintf("; %d other orders pass as well", others)
	}
	if p.result != nil && p.result.RefSum == p.result.NPUSum {
		best.Evidence += "; both hold the same elements"
	}
	return best, nil
}

// fits reports whether an order explains the pair. Where the shapes differ there
// is no other way to hold the elements against each other, and it is enough that
// they pass.
func (p *pair) fits(f *fit) bool {
	if p.result == nil {
		return f.tried > 0 && f.passed*100 >= f.tried*99 && f.good*100 >= f.count*95 && f.varied()
	}
	return f.holds()
}

// layoutSample is the sample; where the shapes differ there are no known errors
// in it and n is compared with r at the same offset.
func (p *pair) layoutSample() (*sample, error) {
	if n, ok := p.npuShape().Count(); !ok || n != p.npu.count {
		return nil, fmt.Errorf("NPU shape %s of another number of elements than %s", p.npuShape(), p.request.Shape)
	}
	return p.sample()
}

func (p *pair) npuShape() tensor.Shape {
	if len(p.input.NPUShape) > 0 {
		return p.input.NPUShape
	}
	return p.request.Shape
}

// order is a candidate: the NPU data have this shape, and axis Axes[j] of it is
// axis j of the reference.
type order struct {
	shape tensor.Shape
	axes  []int
	text  string
	// weights[a] is how far a step along axis a goes in the reference.
	weights []int64
}

// newOrder makes the candidate for a reference shape.
func newOrder(ref tensor.Shape, axes []int, text string) order {
	o := order{shape: make(tensor.Shape, len(ref)), axes: axes, text: text, weights: make([]int64, len(ref))}
	for j, stride := range ref.Strides() {
		o.shape[axes[j]] = ref[j]
		o.weights[axes[j]] = stride
	}
	return o
}

// refOffset is where the reference has the NPU element at an offset.
func (o *order) refOffset(offset int64) (at int64) {
	for a := len(o.shape) - 1; a >= 0; a-- {
		at += offset % o.shape[a] * o.weights[a]
		offset /= o.shape[a]
	}
	return at
}

// key is equal for orders that move the elements alike.
func (o *order) key() string {
	var b strings.Builder
	for a, n := range o.shape {
		if n > 1 {
			fmt.Fprintf(&b, "%d*%d ", n, o.weights[a])
		}
	}
	return b.String()
}

// identity reports whether the order moves nothing.
func (o *order) identity() bool {
	for a, stride := range o.shape.Strides() {
		if o.shape[a] > 1 && o.weights[a] != stride {
			return false
		}
	}
	return true
}

// tryOrder holds n against the reference at its place in the order; most orders
// are given up after a few elements.
func (p *pair) tryOrder(s *sample, o *order) (f fit, err error) {
	var want [1]complex128
	step := max(1, len(s.offsets)/firstSample)
	for start := range step {
		for i := start; i < len(s.offsets); i += step {
			if err := p.ref.values(want[:], o.refOffset(s.offsets[i])); err != nil {
				return f, err
			}
			f.add(p, s.n[i], s.r[i], s.n[i], want[0])
		}
		if f.hopeless(len(s.offsets)) {
			break
		}
	}
	return f, nil
}

// candidates are the orders to try: the known ones first.
func (p *pair) candidates() []order {
	ref, npu := p.request.Shape, p.npuShape()
	same := npu.Equal(ref)
	var all []order
	for _, axes := range axisOrders(len(ref)) {
		from, to := layoutNames(axes)
		o := newOrder(ref, axes, "")
		transpose := "transpose " + axesText(axes)
		switch {
		case same && from != "":
			o.text = fmt.Sprintf("the NPU tensor is %s data labelled %s: %s makes it agree", from, to, transpose)
		case same && len(axes) == 2:
			o.text = fmt.Sprintf("the NPU tensor is transposed: %s makes it agree", transpose)
		case same:
			o.text = fmt.Sprintf("the NPU data are in the order of %s: %s makes them agree", o.shape, transpose)
		case !o.shape.Equal(npu):
			continue
		case from != "":
			o.text = fmt.Sprintf("the NPU tensor is %s %s, the reference %s %s: %s makes it agree", from, npu, to, ref, transpose)
		default:
			o.text = fmt.Sprintf("the NPU tensor %s is the reference %s with its axes in another order: %s makes it agree", npu, ref, transpose)
		}
		all = append(all, o)
	}
	if sorted := slices.Sorted(slices.Values(npu)); !same && slices.Equal(sorted, slices.Sorted(slices.Values(ref))) {
		all = append(all, newOrder(ref, numbers(len(ref)), fmt.Sprintf(
			"the NPU data are in the order of the reference %s, only their shape %s is wrong", ref, npu)))
	}
	return all
}

func axesText(axes []int) string {
	parts := make([]string, len(axes))
	for i, a := range axes {
		parts[i] = fmt.Sprint(a)
	}
	return "(" + strings.Join(parts, ",") + ")"
}
