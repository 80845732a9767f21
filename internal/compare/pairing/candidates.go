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
	whole, cut []int
	rounds     map[string]*bucket
}

// manyTensors is the number of tensors from which a bucket knows its rounds.
const manyTensors = 32

func newRefIndex(refs []*Tensor, keysOf func(*Tensor) keys, wanted []keys) *refIndex {
	x := &refIndex{at: make(map[key]int, len(wanted))}
	want := func(list []key) {
		for _, k := range list {
			if _, found := x.at[k]; !found {
				x.at[k] = len(x.at)
			}
		}
	}
	for _, ks := range wanted {
		want(ks.whole)
		want(ks.cut)
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
		for _, k := range ks.cut {
			if b := x.bucket(k); b != nil {
				b.cut = append(b.cut, i)
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
	for _, i := range b.cut {
		in(i).cut = append(in(i).cut, i)
	}
}

// find returns the tensors that share a key with ks, each once, and no more
// than there may be candidates: those in the round if it has any, whether they
// are free or not, else all. Of these it returns the free ones.
func (x *refIndex) find(refs []*Tensor, ks keys, round string, free func(int) bool) []int {
	var found []int
	some := false
	// collect takes the tensors of a list, of all rounds or of one.
	collect := func(list []int, all bool) {
		for _, r := range list {
			if !all && refs[r].Round != round {
				continue
			}
			some = true
			if len(found) == maxCandidates {
				return
			}
			if free(r) && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	each := func(all bool) {
		for _, k := range ks.whole {
			if b := x.bucket(k).in(round, all); b != nil {
				collect(b.whole, all)
				collect(b.cut, all)
			}
		}
		for _, k := range ks.cut {
			if b := x.bucket(k).in(round, all); b != nil {
				collect(b.whole, all)
			}
		}
	}
	if each(false); !some {
		each(true)
	}
	return found
}

// in returns the part of b to be searched for a round, or all of it.
func (b *bucket) in(round string, all bool) *bucket {
	if b == nil || all || b.rounds == nil {
		return b
	}
	return b.rounds[round]
}
