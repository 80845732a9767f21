package pair

import "iter"

// refIndex finds the reference's tensors by those keys that the NPU's have. Those
// that have a key as a whole come first.
type refIndex map[key][]entry

// entry is a tensor of the reference, by its position. It has the key if the end
// of its name, which was cut off, is a shape; cut is nil for a whole name.
type entry struct {
	ref int
	cut *shortened
}

// newRefIndex makes an index of the keys that are wanted.
func newRefIndex(refs []*Tensor, keysOf func(*Tensor) keys, wanted []keys) refIndex {
	x := make(refIndex, len(wanted))
	for _, ks := range wanted {
		for k := range ks.every {
			x[k] = nil
		}
	}
	add := func(k key, e entry) {
		if _, ok := x[k]; ok {
			x[k] = append(x[k], e)
		}
	}
	var cut []entry
	for i, t := range refs {
		if t == nil || len(x) == 0 {
			continue
		}
		ks := keysOf(t)
		for _, k := range ks.whole {
			add(k, entry{ref: i})
		}
		for k := range ks.shortened {
			cut = append(cut, entry{i, &ks.shortened[k]})
		}
	}
	for _, e := range cut {
		add(e.cut.key, e)
	}
	return x
}

// candidate is a tensor of the reference that shares a key with one of the NPU.
type candidate struct {
	entry
	cutNPU bool // the NPU's name was cut, not the reference's
}

// find yields the tensors that share a key with ks. One that shares several comes
// several times.
func (x refIndex) find(ks keys) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, k := range ks.whole {
			for _, e := range x[k] {
				if !yield(candidate{e, false}) {
					return
				}
			}
		}
		for _, s := range ks.shortened {
			for _, e := range x[s.key] {
				if e.cut == nil && !yield(candidate{entry{e.ref, &s}, true}) {
					return
				}
			}
		}
	}
}
