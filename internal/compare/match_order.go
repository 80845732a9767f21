package compare

import (
	"slices"
	"strings"

	"dumptool/internal/compare/pairing"
)

// OrderError is an execution order that was asked for and does not exist.
type OrderError struct{ Err error }

// Error returns the text of the error behind it.
func (e *OrderError) Error() string { return e.Err.Error() }

// Unwrap returns the error behind it.
func (e *OrderError) Unwrap() error { return e.Err }

// appendNames adds the names of a tensor's operator that are not there yet.
func appendNames(names []string, t *pairing.Tensor) []string {
	for _, name := range []string{t.Name(), t.Op, t.FileOp} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// order gives every match its place in the execution order, and sorts them.
func (m *matcher) order() (source string, err error) {
	// Two runs have two clocks: the NPU's counts if it has one.
	clock := slices.ContainsFunc(m.npus, func(t pairing.Tensor) bool { return t.Timestamp > 0 })
	items := make([]pairing.OrderItem, len(m.matches))
	for i := range m.matches {
		x := &m.matches[i]
		it := pairing.OrderItem{Names: []string{x.row.Op}}
		if x.npu != nil {
			it.Names = appendNames(it.Names, &m.npus[x.npu.id])
		}
		if x.ref != nil {
			it.Names = appendNames(it.Names, &m.refs[x.ref.id])
		}
		switch {
		case clock && x.npu != nil:
			it.Timestamp = m.npus[x.npu.id].Timestamp
		case !clock && x.ref != nil:
			it.Timestamp = m.refs[x.ref.id].Timestamp
		}
		items[i] = it
	}
	o, err := m.opt.Order.Sources.Find(m.opt.Order.By, items)
	if err != nil {
		return "", &OrderError{err}
	}
	for i := range m.matches {
		m.matches[i].row.Order = o.Places[i]
	}
	slices.SortStableFunc(m.matches, func(a, b match) int { return compareRows(&a.row, &b.row) })
	return o.Source, nil
}

// compareRows orders rows: by place, then by name, kind, output and round.
func compareRows(a, b *Row) int {
	if a.Order != b.Order {
		return a.Order - b.Order
	}
	for _, c := range []int{
		pairing.CompareNatural(a.Op, b.Op), strings.Compare(a.Kind, b.Kind), a.Output - b.Output,
		pairing.CompareNatural(a.Round, b.Round), strings.Compare(a.NPUFile, b.NPUFile), strings.Compare(a.RefFile, b.RefFile),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}
