package trace

import (
	"bytes"

	"dumptool/internal/lang"
)

// HaveSameElements reports whether ranges of elements are equal bit by bit.
func (f *Files) HaveSameElements(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (bool, error) {
	if equal, known := HaveSameDigests(a, firstA, b, firstB, n); known {
		return equal, nil
	}
	differ, err := f.Differences(a, firstA, b, firstB, n, 1)
	return differ.Count == 0, err
}

// HaveSameDigests compares ranges that are one whole tensor each by their digests, if both have digests of the same kind.
func HaveSameDigests(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (equal, known bool) {
	s, t := wholeTensor(a, firstA, n), wholeTensor(b, firstB, n)
	if s == nil || t == nil || s.Digest == "" || len(s.Digest) != len(t.Digest) || s.DType != t.DType {
		return false, false
	}
	return s.Digest == t.Digest, true
}

// wholeTensor returns the tensor that the range covers exactly, nil for none.
func wholeTensor(list []*Tensor, first, n int64) *Tensor {
	for _, t := range list {
		if first == 0 && t.Elements() == n && n > 0 {
			return t
		}
		if first -= t.Elements(); first < 0 {
			break
		}
	}
	return nil
}

// Difference counts the differences of two ranges of elements.
type Difference struct {
	Total, Count int64
	First, Last  int64
	Size         int    // of an element, in bytes
	Xor          uint64 // of the first differing element
}

// Differences compares ranges of elements bit by bit. It stops at limit differences; 0 is no limit.
func (f *Files) Differences(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64, limit int64) (Difference, error) {
	d := Difference{Total: n}
	x, y := f.bufferA, f.bufferB
	defer func() { f.bufferA, f.bufferB = x, y }()
	for from := int64(0); from < n; from += Window {
		some := min(Window, n-from)
		var size, other int
		var err error
		if x, size, err = f.Bytes(x, a, firstA+from, some); err != nil {
			return d, err
		}
		if y, other, err = f.Bytes(y, b, firstB+from, some); err != nil {
			return d, err
		}
		if size != other {
			return d, lang.Errorf("%s and %s: elements of %d and of %d bytes", a[0].Name, b[0].Name, size, other)
		}
		d.Size = size
		d.add(x, y, from)
		if limit > 0 && d.Count >= limit {
			break
		}
	}
	return d, nil
}

// add compares elements; from is the number of the first.
func (d *Difference) add(x, y []byte, from int64) {
	if bytes.Equal(x, y) {
		return
	}
	for k := 0; k < len(x); k += d.Size {
		p, q := x[k:k+d.Size], y[k:k+d.Size]
		if string(p) == string(q) {
			continue
		}
		at := from + int64(k/d.Size)
		if d.Count == 0 {
			d.First = at
			for i := range p {
				d.Xor |= uint64(p[i]^q[i]) << (8 * (i % 8))
			}
		}
		d.Last = at
		d.Count++
	}
}

// SurelySame reports whether ranges of elements are known to be equal.
func (f *Files) SurelySame(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) bool {
	if _, known := HaveSameDigests(a, firstA, b, firstB, n); !known && !AllStored(a, b) {
		return false
	}
	equal, err := f.HaveSameElements(a, firstA, b, firstB, n)
	return err == nil && equal && n > 0
}

// AllStored reports whether the elements of all tensors are stored.
func AllStored(lists ...[]*Tensor) bool {
	for _, list := range lists {
		for _, t := range list {
			if !t.IsStored() {
				return false
			}
		}
	}
	return true
}
