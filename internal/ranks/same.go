package ranks

import (
	"bytes"

	"dumptool/internal/lang"
)

// same reports whether runs of elements are equal bit by bit.
func (f *files) same(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (bool, error) {
	if equal, known := sameDigests(a, firstA, b, firstB, n); known {
		return equal, nil
	}
	differ, err := f.differences(a, firstA, b, firstB, n, 1)
	return differ.count == 0, err
}

// sameDigests compares runs that are one whole tensor each by their digests, where both
// have one of the same kind.
func sameDigests(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (equal, known bool) {
	s, t := wholeTensor(a, firstA, n), wholeTensor(b, firstB, n)
	if s == nil || t == nil || s.Digest == "" || len(s.Digest) != len(t.Digest) || s.DType != t.DType {
		return false, false
	}
	return s.Digest == t.Digest, true
}

// wholeTensor is the tensor that a run of elements is, nil where it is none.
func wholeTensor(list []*Tensor, first, n int64) *Tensor {
	for _, t := range list {
		if first == 0 && t.elements() == n && n > 0 {
			return t
		}
		if first -= t.elements(); first < 0 {
			break
		}
	}
	return nil
}

// difference is how two runs of elements differ.
type difference struct {
	total, count int64
	first, last  int64
	size         int    // of an element, in bytes
	xor          uint64 // of the first that differs
}

// differences compares runs of elements bit by bit, until so many differ; 0 for all.
func (f *files) differences(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64, limit int64) (difference, error) {
	d := difference{total: n}
	x, y := f.one, f.other
	defer func() { f.one, f.other = x, y }()
	for from := int64(0); from < n; from += window {
		some := min(window, n-from)
		var size, other int
		var err error
		if x, size, err = f.bytes(x, a, firstA+from, some); err != nil {
			return d, err
		}
		if y, other, err = f.bytes(y, b, firstB+from, some); err != nil {
			return d, err
		}
		if size != other {
			return d, lang.Errorf("%s and %s: elements of %d and of %d bytes", a[0].Name, b[0].Name, size, other)
		}
		d.size = size
		d.add(x, y, from)
		if limit > 0 && d.count >= limit {
			break
		}
	}
	return d, nil
}

// add compares elements, the first of which has a place.
func (d *difference) add(x, y []byte, from int64) {
	if bytes.Equal(x, y) {
		return
	}
	for k := 0; k < len(x); k += d.size {
		p, q := x[k:k+d.size], y[k:k+d.size]
		if string(p) == string(q) {
			continue
		}
		at := from + int64(k/d.size)
		if d.count == 0 {
			d.first = at
			for i := range p {
				d.xor |= uint64(p[i]^q[i]) << (8 * (i % 8))
			}
		}
		d.last = at
		d.count++
	}
}
