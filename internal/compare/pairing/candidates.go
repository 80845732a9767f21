package pairing

import "slices"

// maxCandidates is how many candidates of an ambiguity are named.
const maxCandidates = 16

// refIndex finds the reference's tensors by the keys that the NPU's have.
type refIndex struct {
	at      map[key]int // positions in buckets
	buckets []bucket
}

// bucket holds the tensors with a key, and where they are many, by round too.
type bucket struct {
	whole  []int
	cut    []cutName
	rounds map[string]*bucket
}

// cutName is a tensor with what was cut from its name for the bucket's key.
type cutName struct {
	at  int
	cut cut
}

// manyTensors is the number of tensors from which a bucket knows its rounds.
const manyTensors = 32

func newRefIndex(refs []*Tensor, keysOf func(*Tensor) keys, wanted []keys) *refIndex {
	x := &refIndex{at: make(map[key]int, len(wanted))}
	want := func(k key) {
		if _, found := x.at[k]; !found {
			x.at[k] = len(x.at)
		}
	}
	for _, ks := range wanted {
		for _, k := range ks.whole {
			want(k)
		}
		for _, c := range ks.cut {
			want(c.key)
		}
	}
	if len(x.at) == 0 {
		return x
	}
	x.buckets = make([]bucket, len(x.at))
	for i, t := range refs {
		if t == nil {
			continue
		}
		ks := keysOf(t)
		for _, k := range ks.whole {
			if b := x.bucket(k); b != nil {
				b.whole = append(b.whole, i)
			}
		}
		for _, c := range ks.cut {
			if b := x.bucket(c.key); b != nil {
				b.cut = append(b.cut, cutName{i, c})
			}
		}
	}
	for i := range x.buckets {
		x.buckets[i].split(refs)
	}
	return x
}

func (x *refIndex) bucket(k key) *bucket {
	if i, ok := x.at[k]; ok {
		return &x.buckets[i]
	}
	return nil
}

// split sorts the tensors of a large bucket by round.
func (b *bucket) split(refs []*Tensor) {
	if len(b.whole)+len(b.cut) < manyTensors {
		return
	}
	b.rounds = make(map[string]*bucket)
	in := func(i int) *bucket {
		round := refs[i].Round
		if b.rounds[round] == nil {
			b.rounds[round] = new(bucket)
		}
		return b.rounds[round]
	}
	for _, i := range b.whole {
		in(i).whole = append(in(i).whole, i)
	}
	for _, c := range b.cut {
		in(c.at).cut = append(in(c.at).cut, c)
	}
}

// search is what find looks for: partners of the NPU's tensor at a position.
type search struct {
	refs  []*Tensor
	npu   int
	round string
	// free tells whether the reference's tensor at a position has no partner.
	free func(int) bool
	// hasShape tells whether what was cut from a name is the tensor's shape. It
	// may have to read a file, and is asked last.
	hasShape func(at int, npu bool, c *cut) bool
}

// find returns the tensors that share a key with ks, each once, and no more
// than there may be candidates: those in the round if it has any, whether they
// are free or not, else all. Of these it returns the free ones.
func (x *refIndex) find(ks keys, s *search) []int {
	for _, all := range []bool{false, true} {
		if found, some := x.findIn(ks, s, all); some || all {
			return found
		}
	}
	return nil
}

// findIn finds in the round, or in all. some tells whether there was any
// partner, free or not; a shape that is not asked for counts as one.
func (x *refIndex) findIn(ks keys, s *search, all bool) (found []int, some bool) {
	// take takes one of the reference's tensors; c is what was cut from the
	// name of one of the two, nil for nothing. It returns false when there are
	// enough.
	take := func(r int, c *cut, cutAt int, cutNPU bool) bool {
		if !all && s.refs[r].Round != s.round {
			return true
		}
		free := s.free(r)
		if free && c != nil && !s.hasShape(cutAt, cutNPU, c) {
			return true
		}
		some = true
		if free && !slices.Contains(found, r) {
			found = append(found, r)
		}
		return len(found) < maxCandidates
	}
	for _, k := range ks.whole {
		b := x.bucket(k).in(s.round, all)
		if b == nil {
			continue
		}
		for _, r := range b.whole {
			if !take(r, nil, 0, false) {
				return found, some
			}
		}
		for i := range b.cut {
			if c := &b.cut[i]; !take(c.at, &c.cut, c.at, false) {
				return found, some
			}
		}
	}
	for i := range ks.cut {
		c := &ks.cut[i]
		b := x.bucket(c.key).in(s.round, all)
		if b == nil {
			continue
		}
		for _, r := range b.whole {
			if !take(r, c, s.npu, true) {
				return found, some
			}
		}
	}
	return found, some
}

// in returns the part of b to be searched for a round, or all of it.
func (b *bucket) in(round string, all bool) *bucket {
	if b == nil || all || b.rounds == nil {
		return b
	}
	return b.rounds[round]
}
