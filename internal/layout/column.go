package layout

import "slices"

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
