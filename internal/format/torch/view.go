package torch

import (
	"bytes"
	"io"
	"math"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// What a tensor may have that is an expansion of fewer stored elements: so many bytes,
// or as many times those of the storage.
const (
	maxExpanded = 4 << 30
	maxTimes    = 1 << 16
)

// check reports a tensor that is not one, whatever is in the file.
func (t *object) check() error {
	switch {
	case t.err != nil:
		return t.err
	case t.dtype == tensor.Undefined:
		return unsupported("elements of torch.%s are not supported", t.name)
	case t.storage.dtype == tensor.Undefined:
		return unsupported("a storage of torch.%s is not supported", t.storage.name)
	case len(t.shape) != len(t.strides):
		return broken("shape %v has %d strides %v", t.shape, len(t.strides), t.strides)
	case len(t.shape) > maxRank:
		return unsupported("shape %v has more than %d axes", t.shape, maxRank)
	case t.offset < 0:
		return broken("the offset is %d, want at least 0", t.offset)
	}
	for i, n := range t.shape {
		if n < 0 || t.strides[i] < 0 {
			return broken("shape %v with strides %v has a negative number", t.shape, t.strides)
		}
	}
	if count, ok := t.shape.Count(); !ok || count > math.MaxInt64/int64(t.dtype.UnitSize()) {
		return broken("shape %v has more than 63 bits of data", t.shape)
	}
	if t.conjugate && !t.dtype.Host().Complex() || t.negate && !signed(t.dtype) {
		return unsupported("a conjugate or negative of torch.%s that is not computed is not supported", t.name)
	}
	return nil
}

// signed reports whether elements are floats with a sign bit, or pairs of them.
func signed(d tensor.DType) bool {
	switch d.Host() {
	case tensor.HostFloat16, tensor.HostFloat32, tensor.HostFloat64, tensor.HostComplex64, tensor.HostComplex128:
		return d != tensor.Float8E8M0
	}
	return false
}

// needs is how many elements of the storage the tensor needs, from its first one on;
// math.MaxInt64 for more than that.
func (t *object) needs() int64 {
	room := math.MaxInt64 - t.offset // behind the last element
	for i, n := range t.shape {
		if t.strides[i] > 0 && n-1 > room/t.strides[i] {
			return math.MaxInt64
		}
		room -= (n - 1) * t.strides[i]
	}
	return math.MaxInt64 - max(0, room-1)
}

// data returns the elements of a tensor that has passed the check.
func (w *walker) data(t *object) (*io.SectionReader, error) {
	view := format.View{DType: t.dtype, BigEndian: w.bigEndian, Shape: t.shape, Strides: t.strides, Negate: t.negate, Conjugate: t.conjugate}
	count := t.shape.Elements()
	if count == 0 {
		return io.NewSectionReader(bytes.NewReader(nil), 0, 0), nil
	}
	s := t.storage
	stored, err := w.part(s)
	if err != nil {
		return nil, err
	}
	unit := int64(t.dtype.UnitSize())
	has := stored.Size() / unit
	if need := t.needs(); need > has {
		return nil, broken("needs %d elements, its storage has %d", need, has)
	}
	if bytes := count * unit; bytes > maxExpanded && bytes/maxTimes > stored.Size() {
		return nil, unsupported("shape %v is an expansion of %d elements, more than %d times", t.shape, has, maxTimes)
	}
	view.Stored, view.Offset = stored, t.offset
	return view.Data(), nil
}

// part returns the bytes of a storage, all that the pickle says it has.
func (w *walker) part(s *storage) (*io.SectionReader, error) {
	r, ok := w.records[s.key]
	if !ok {
		r.data, r.err = w.record(s)
		w.records[s.key] = r
	}
	if r.err != nil {
		return nil, r.err
	}
	unit := int64(s.dtype.UnitSize())
	has := r.data.Size() / unit
	if s.count < 0 || s.count > has {
		return nil, broken("storage %.100q has %d elements, want %d", s.key, has, s.count)
	}
	if s.first < 0 || s.length < 0 || s.first > s.count || s.length > s.count-s.first {
		return nil, broken("the part of %d elements from %d on is not in storage %.100q, which has %d", s.length, s.first, s.key, s.count)
	}
	if s.first == 0 && s.length == s.count && s.length*unit == r.data.Size() {
		return r.data, nil
	}
	return io.NewSectionReader(r.data, s.first*unit, s.length*unit), nil
}
