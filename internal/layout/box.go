package layout

import "slices"

// box is a set of elements with plain strides on both sides, in elements:
// what a copy kernel works on.
type box struct {
	host, dev int64 // offsets of the first element
	dims      []dim
}

// dim is one loop of a box.
type dim struct {
	n, host, dev int64
}

// boxes calls f with every box of the block. hostStride gives the host stride
// of each axis, in elements. The box is only valid during the call.
func (b block) boxes(hostStride []int64, f func(box) error) error {
	axes := make([][]run, len(b.spans))
	for i, s := range b.spans {
		axes[i] = s.runs()
	}
	return cross(axes, hostStride, box{dev: b.base}, f)
}

// cross combines the runs of the axes: one box for each choice of a run per axis.
func cross(axes [][]run, hostStride []int64, done box, f func(box) error) error {
	if len(axes) == 0 {
		return f(done.coalesced())
	}
	for _, r := range axes[0] {
		next := box{
			host: done.host + r.pos*hostStride[0],
			dev:  done.dev + r.off,
			dims: slices.Clone(done.dims),
		}
		for _, l := range r.loops {
			next.dims = append(next.dims, dim{l.n, l.step * hostStride[0], l.stride})
		}
		if err := cross(axes[1:], hostStride[1:], next, f); err != nil {
			return err
		}
	}
	return nil
}

// coalesced drops loops of one step, sorts the others by host stride and joins
// loops that continue each other on both sides.
func (b box) coalesced() box {
	dims := slices.DeleteFunc(b.dims, func(d dim) bool { return d.n == 1 })
	slices.SortFunc(dims, func(x, y dim) int {
		if x.host != y.host {
			return int(min(1, max(-1, x.host-y.host)))
		}
		return int(min(1, max(-1, x.dev-y.dev)))
	})
	joined := dims[:0]
	for _, d := range dims {
		if k := len(joined) - 1; k >= 0 &&
			d.host == joined[k].n*joined[k].host && d.dev == joined[k].n*joined[k].dev {
			joined[k].n *= d.n
			continue
		}
		joined = append(joined, d)
	}
	b.dims = joined
	return b
}

// swapped exchanges the roles of host and device.
func (b box) swapped() box {
	s := box{host: b.dev, dev: b.host, dims: slices.Clone(b.dims)}
	for i, d := range s.dims {
		s.dims[i] = dim{d.n, d.dev, d.host}
	}
	return s.coalesced()
}

// within calls f with the parts of the box whose host offsets lie in [lo, hi).
// Loops must not overlap on the host side: each is wider than all that are
// nested in it, which holds for any box of a layout.
func (b box) within(lo, hi int64, f func(box) error) error {
	extent := int64(1)
	for _, d := range b.dims {
		extent += (d.n - 1) * d.host
	}
	if b.host >= hi || b.host+extent <= lo {
		return nil
	}
	if b.host >= lo && b.host+extent <= hi {
		return f(b)
	}
	outer := b.dims[len(b.dims)-1]
	inner := box{dims: b.dims[:len(b.dims)-1]}
	reach := extent - (outer.n-1)*outer.host
	// Steps [from, to) touch the range, steps [whole, end) lie in it entirely.
	from := max(0, ceilDiv(lo-b.host-reach+1, outer.host))
	to := min(outer.n, ceilDiv(hi-b.host, outer.host))
	whole := min(to, max(from, ceilDiv(lo-b.host, outer.host)))
	end := max(whole, min(to, floorDiv(hi-b.host-reach, outer.host)+1))
	at := func(i int64) box {
		return box{host: b.host + i*outer.host, dev: b.dev + i*outer.dev, dims: inner.dims}
	}
	for i := from; i < whole; i++ {
		if err := at(i).within(lo, hi, f); err != nil {
			return err
		}
	}
	if end > whole {
		part := at(whole)
		part.dims = append(slices.Clone(inner.dims), dim{end - whole, outer.host, outer.dev})
		if err := f(part.coalesced()); err != nil {
			return err
		}
	}
	for i := end; i < to; i++ {
		if err := at(i).within(lo, hi, f); err != nil {
			return err
		}
	}
	return nil
}

// ceilDiv and floorDiv divide towards plus and minus infinity; b > 0.
func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
