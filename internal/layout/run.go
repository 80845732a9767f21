package layout

import (
	"context"
	"slices"
)

// Store keeps the elements between two steps of a plan.
type Store interface {
	Source
	Sink
}

// Run carries the plan out: it reads stored elements of unit bytes from src and
// writes Shape.Count() elements of the same size to dst. scratch makes room for
// n elements when the plan goes through a host order; it is called at most once.
func (p *Plan) Run(ctx context.Context, dst Sink, src Source, unit int, buf *Buffers, scratch func(n int64) (Store, error)) error {
	for i, s := range p.steps {
		out := dst
		var next Store
		if i+1 < len(p.steps) {
			var err error
			if next, err = scratch(s.elements()); err != nil {
				return err
			}
			out = next
		}
		if err := s.run(ctx, out, src, unit, buf); err != nil {
			return err
		}
		src = next
	}
	return nil
}

// elements is the number of elements that a step produces.
func (s step) elements() int64 {
	if s.toDevice {
		return count(s.m.Device)
	}
	n := int64(1)
	for _, a := range s.m.Axes {
		n *= a.Size
	}
	return n
}

func (s step) run(ctx context.Context, dst Sink, src Source, unit int, buf *Buffers) error {
	if s.toDevice {
		return s.m.ToDevice(ctx, dst, src, unit, buf)
	}
	m, err := s.reading(src, unit)
	if err != nil {
		return err
	}
	return m.ToHost(ctx, dst, src, unit, buf)
}

// reading is the map by which the elements in src are laid out.
func (s step) reading(src Source, unit int) (*Map, error) {
	if s.column == nil {
		return s.m, nil
	}
	isColumn, err := s.holdsColumn(src, unit)
	if err != nil {
		return nil, err
	}
	if isColumn {
		return s.column, nil
	}
	return s.m, nil
}

// holdsColumn decides between the two readings of a one-dimensional tensor in
// FRACTAL_NZ, which both fit when it is no longer than a block: it is a column
// when the row holds only zeros after its first element and the column does not.
func (s step) holdsColumn(src Source, unit int) (bool, error) {
	n, c0 := s.m.Axes[0].Size, s.m.Device[len(s.m.Device)-1]
	element := make([]byte, unit)
	nonZero := func(stride int64) (bool, error) {
		for i := int64(1); i < n; i++ {
			if err := src.ReadElements(element, i*stride); err != nil {
				return false, err
			}
			if slices.ContainsFunc(element, func(b byte) bool { return b != 0 }) {
				return true, nil
			}
		}
		return false, nil
	}
	if row, err := nonZero(1); row || err != nil {
		return false, err
	}
	return nonZero(c0)
}
