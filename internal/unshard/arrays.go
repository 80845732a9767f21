package unshard

import (
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// arrayKey identifies an array: a tensor, and the steps along its axes; see readingSteps.
type arrayKey struct {
	t     *trace.Tensor
	steps string
}

// readPair reads the tensor of a rank and its reference tensor. Of large tensors it skips positions along axes with
// equal lengths on both sides.
func (u *unsharder) readPair(in partPair) (p locate.Pair, ok bool) {
	a, b := in.part.Shape, in.whole.Shape
	if len(a) != len(b) || len(a) == 0 || in.whole.Loose || a.Elements() == 0 || b.Elements() == 0 {
		return p, false
	}
	steps := readingSteps(a, b)
	if steps == nil {
		return p, false
	}
	p.Part, p.Whole = u.array(in.part, steps, false), u.array(in.whole, steps, true)
	return p, p.Part != nil && p.Whole != nil
}

const (
	// maxArray limits the elements that are read of a tensor; positions are skipped along axes with equal lengths. If
	// no axis has equal lengths, maxCut is the limit.
	maxArray, maxCut = 1 << 22, 1 << 25
	// maxHeld limits the elements of reference arrays in the cache.
	maxHeld = 1 << 25
)

// readingSteps returns the step between positions that are read along each axis, nil if too many elements remain.
func readingSteps(part, whole tensor.Shape) []int64 {
	steps := make([]int64, len(part))
	for k := range steps {
		steps[k] = 1
	}
	left := func() int64 {
		n := int64(1)
		for k, size := range whole {
			n *= (size + steps[k] - 1) / steps[k]
		}
		return n
	}
	for left() > maxArray {
		most := -1
		for k, size := range whole {
			if part[k] == size && size/steps[k] > 1 && (most < 0 || size/steps[k] > whole[most]/steps[most]) {
				most = k
			}
		}
		if most < 0 {
			if left() > maxCut {
				return nil
			}
			break
		}
		steps[most] *= 2
	}
	return steps
}

// array reads a tensor, nil if it cannot be read. hold caches arrays of the reference.
func (u *unsharder) array(t *trace.Tensor, steps []int64, hold bool) *locate.Array {
	if steps == nil {
		steps = readingSteps(t.Shape, t.Shape)
	}
	key := arrayKey{t, tensor.Shape(steps).String()}
	u.lock.Lock()
	a, ok := u.arrays[key]
	u.lock.Unlock()
	if ok {
		return a
	}
	a = u.readArray(t, steps)
	if hold && a != nil {
		u.lock.Lock()
		defer u.lock.Unlock()
		if u.cached += int64(len(a.Values)); u.cached > maxHeld {
			clear(u.arrays)
			u.cached = int64(len(a.Values))
		}
		u.arrays[key] = a
	}
	return a
}

// readArray reads a tensor with a step along each axis.
func (u *unsharder) readArray(t *trace.Tensor, steps []int64) *locate.Array {
	if !t.IsStored() || t.Elements() == 0 || t.Loose {
		return nil
	}
	d, err := u.StoredType(t)
	if err != nil {
		return nil
	}
	a := &locate.Array{Exact: d.Host().Integer(), Joined: joinedAxes(t)}
	for k, size := range t.Shape {
		a.Shape = append(a.Shape, int((size+steps[k]-1)/steps[k]))
	}
	// Contiguous rows are read at once.
	inner := len(steps)
	for inner > 0 && steps[inner-1] == 1 {
		inner--
	}
	inner = max(min(inner, len(steps)-1), 0)
	run, every := int64(1), int64(1)
	for _, size := range t.Shape[inner:] {
		run *= size
	}
	if len(steps) > 0 {
		every = steps[len(steps)-1]
	}
	strides := t.Shape.Strides()
	buf := make([]float64, min(run, max(trace.Window/every, 1)*every))
	var walk func(axis int, first int64) error
	walk = func(axis int, first int64) error {
		if axis < inner {
			for i := int64(0); i < t.Shape[axis]; i += steps[axis] {
				if err := walk(axis+1, first+i*strides[axis]); err != nil {
					return err
				}
			}
			return nil
		}
		for at := int64(0); at < run; at += int64(len(buf)) {
			some := buf[:min(int64(len(buf)), run-at)]
			if err := u.Floats(some, []*trace.Tensor{t}, first+at); err != nil {
				return err
			}
			for i := int64(0); i < int64(len(some)); i += every {
				a.Values = append(a.Values, float32(some[i]))
			}
		}
		return nil
	}
	if walk(0, 0) != nil {
		return nil
	}
	return a
}
