package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// walkWindows calls share for each window of each plane of the gradients dy: at is the offset of the window's
// gradient, below the offsets of the input elements in the window.
func (c *call) walkWindows(dy *Array, kernel []int64, under func(axis int, o, q int64) int64, share func(at int, below []int)) {
	in, out := c.shapes[0][2:], dy.shape[2:]
	size, _ := tensor.Shape(kernel).Count()
	if n, ok := slices.Concat(out, tensor.Shape(kernel)).Count(); !ok || n > maxPatchElements || size > maxElements {
		c.fail("%s windows of %s: want at most %d elements below them", out, tensor.Shape(kernel), maxPatchElements)
		return
	}
	planes, strides := int(dy.shape[:2].Elements()), in.Strides()
	plane, windows := int(in.Elements()), int(out.Elements())
	var below []int
	for o := range windows {
		if c.isStopped() {
			return
		}
		coord := out.Coordinates(int64(o))
		below = below[:0]
		for q := range size {
			offset := int64(0)
			for k, i := range tensor.Shape(kernel).Coordinates(q) {
				place := under(k, coord[k], i)
				if place < 0 || place >= in[k] {
					offset = -1
					break
				}
				offset += place * strides[k]
			}
			if offset >= 0 {
				below = append(below, int(offset))
			}
		}
		for p := range planes {
			share(p*windows+o, below)
			for i := range below {
				below[i] += plane
			}
		}
	}
}

// shareSums accumulates the shares of gradients, in the shape of the output.
type shareSums struct {
	*call
	sum, size, count []float64
}

func (c *call) newShareSums() *shareSums {
	n := int(c.shapes[0].Elements())
	s := &shareSums{c, c.alloc(n), c.alloc(n), c.alloc(n)}
	clear(s.sum)
	clear(s.size)
	clear(s.count)
	return s
}

func (s *shareSums) add(k int, v float64) {
	s.sum[k] += v
	s.size[k] += math.Abs(v)
	s.count[k]++
}

// array returns the sums, with bounds for adding rounded shares one after the other.
func (s *shareSums) array() *Array {
	z := s.call.array(s.shapes[0])
	for i, v := range s.sum {
		n := float64(s.size[i] * (s.count[i] + 1))
		z.set(i, v, float64(s.narrow.u*n)+float64(s.narrow.td*s.size[i]), float64(s.wide.u*n)+float64(s.wide.td*s.size[i]))
	}
	return z
}

// poolWindow returns the geometry of a pool from its attributes, after checking that it fits the shapes.
func (c *call) poolWindow(dy *Array) (w window, under func(axis int, o, q int64) int64) {
	kernel := c.attrs["ksize"]
	k, _ := kernel.Value.Integers()
	w, ok := windowOf(c.attrs, k)
	if c.err != nil || !ok || len(k) != len(dy.shape)-2 {
		c.fail("ksize %s, %s for images of shape %s", kernel.Value, c.attrs.geometry(), dy.shape)
		return w, nil
	}
	in, out := c.shapes[0][2:], dy.shape[2:]
	for i := range k {
		if k[i] < 1 || w.extent(i) > in[i]+2*w.before[i]+1 || !w.hasOutputCount(i, in[i], out[i]) {
			c.fail("ksize %s, %s do not make images of %s of %s", kernel.Value, c.attrs.geometry(), out, in)
			return w, nil
		}
	}
	return w, func(axis int, o, q int64) int64 { return o*w.stride[axis] - w.before[axis] + q*w.dilation[axis] }
}

// maxPoolGrad passes each gradient to the largest element of its window, or to any of several equal ones.
func (c *call) maxPoolGrad() *Array {
	x, dy := c.input(0), c.input(1)
	w, under := c.poolWindow(dy)
	if c.err != nil {
		return dy
	}
	c.selects = true
	s, low, high := c.newShareSums(), make([]float64, len(x.v)), make([]float64, len(x.v))
	c.walkWindows(dy, w.kernel, under, func(at int, below []int) {
		if len(below) == 0 {
			return
		}
		largest, ties := below[0], 1
		for _, k := range below[1:] {
			switch {
			case x.v[k] > x.v[largest] || x.v[k] != x.v[k]:
				largest, ties = k, 1
			case x.v[k] == x.v[largest]:
				ties++
			}
		}
		if ties == 1 {
			s.add(largest, dy.v[at])
			return
		}
		for _, k := range below {
			if x.v[k] == x.v[largest] {
				if dy.v[at] != dy.v[at] { // each may receive it
					s.sum[k] = dy.v[at]
				}
				low[k], high[k] = low[k]+min(0, dy.v[at]), high[k]+max(0, dy.v[at])
				s.size[k] += math.Abs(dy.v[at])
				s.count[k]++
			}
		}
	})
	for k := range s.sum {
		if low[k] < high[k] && len(c.got) > 0 && len(c.got[0].v) == len(s.sum) {
			s.sum[k] += min(max(c.got[0].v[k]-s.sum[k], low[k]), high[k])
		}
	}
	return s.array()
}

// avgPoolGrad passes an equal share of each gradient to all elements of its window.
func (c *call) avgPoolGrad() *Array {
	dy := c.input(0)
	w, under := c.poolWindow(dy)
	if c.err != nil {
		return dy
	}
	in, out, s := c.shapes[0][2:], dy.shape[2:], c.newShareSums()
	windows := int(out.Elements())
	c.walkWindows(dy, w.kernel, under, func(at int, below []int) {
		n := float64(len(below))
		if !c.isAttributeTrue("exclusive") {
			n = 1
			for axis, o := range out.Coordinates(int64(at % windows)) {
				inside := 0
				for q := range w.kernel[axis] {
					if place := under(axis, o, q); place >= -w.before[axis] && place < in[axis]+w.before[axis] {
						inside++
					}
				}
				n *= float64(inside)
			}
		}
		if d := c.numberAttribute("divisor"); d != 0 {
			n = d
		}
		for _, k := range below {
			s.add(k, dy.v[at]/n)
		}
	})
	return s.array()
}

// adaptivePoolGrad is the gradient of adaptive.
func (c *call) adaptivePoolGrad() *Array {
	dy := c.input(0)
	if c.err != nil {
		return dy
	}
	out, s := dy.shape[2:], c.newShareSums()
	begin, end := adaptiveWindows(c.shapes[0][2:], out)
	kernel, under := adaptiveKernel(out, begin, end)
	c.walkWindows(dy, kernel, under, func(at int, below []int) {
		for _, k := range below {
			s.add(k, dy.v[at]/float64(len(below)))
		}
	})
	return s.array()
}
