package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
)

const (
	// sampleSize is the number of elements that are sampled all over a tensor;
	// the known errors are added.
	sampleSize = 4096
	// firstSample are samples that are enough to give up a hypothesis.
	firstSample = 64
)

// sample is some pairs of elements, by rising offset.
type sample struct {
	offsets []int64
	n, r    []complex128
}

// sample reads the sample of the pair once.
func (p *pair) sample() *sample {
	if p.sampled == nil {
		offsets := append(spread(p.npu.count, sampleSize), p.knownErrors()...)
		slices.Sort(offsets)
		offsets = slices.Compact(offsets)
		p.sampled = &sample{offsets, p.npu.at(offsets), p.ref.at(offsets)}
	}
	return p.sampled
}

// spread returns at most size offsets below count, one in each of equal parts,
// at places in them that do not follow the axes of the tensor.
func spread(count, size int64) []int64 {
	if count <= size {
		return numbers(count)
	}
	offsets := make([]int64, size)
	part := count / size
	for i := range offsets {
		at := int64(float64(count) * float64(i) / float64(size))
		offsets[i] = at + int64(mix(uint64(i))%uint64(part))
	}
	return offsets
}

// mix scrambles a number (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// knownErrors are the offsets of errors that the result lists, rising.
func (p *pair) knownErrors() []int64 {
	if p.result == nil {
		return nil
	}
	offsets := slices.Clone(p.result.ErrorOffsets)
	for _, last := range []*metrics.Element{p.result.Beyond.Last, p.result.Mismatch.Last} {
		if last != nil {
			offsets = append(offsets, last.Offset)
		}
	}
	slices.Sort(offsets)
	return slices.Compact(offsets)
}

// minDistinct is the number of values below which a match may be one
// coincidence, repeated.
const minDistinct = 3

// fit says how well a hypothesis explains a sample: that value is to be compared
// with want, instead of n with r.
type fit struct {
	tried, passed int
	wrong, fixed  int     // samples whose n does not pass, and those of them that pass now
	better, worse int     // samples that come closer, and that go away
	before, after float64 // sums of |n - r| and |value - want|
	// Of the samples where a 0 would not pass, how many there are, pass, and pass now: beside
	// a reference of zeros nearly every small number passes, however it is read. values and
	// wants are distinct ones of those that pass, the first few.
	telling, tellingPassed, tellingFixed int
	values, wants                        []complex128
}

func (f *fit) add(p *pair, n, r, value, want complex128) {
	f.tried++
	good, wrong := p.near(value, want), !p.near(n, r)
	if good {
		f.passed++
	}
	if wrong {
		f.wrong++
		if good {
			f.fixed++
		}
	}
	if !p.near(0, want) {
		f.telling++
		if good {
			f.tellingPassed++
			f.values, f.wants = distinctWith(f.values, value), distinctWith(f.wants, want)
		}
		if good && wrong {
			f.tellingFixed++
		}
	}
	before, after := magnitude(n-r), magnitude(value-want)
	switch {
	case finite(before) && finite(after):
		f.before += before
		f.after += after
		if after < before {
			f.better++
		} else if after > before {
			f.worse++
		}
	case finite(after):
		f.better++
	case finite(before):
		f.worse++
	}
}

// hopeless reports whether so many samples fail that the hypothesis cannot hold
// on a sample of that size.
func (f *fit) hopeless(size int) bool { return (f.tried-f.passed)*100 > size }

// distinctWith adds a value to the first few distinct ones.
func distinctWith(values []complex128, v complex128) []complex128 {
	if len(values) >= minDistinct || slices.Contains(values, v) {
		return values
	}
	return append(values, v)
}

// varied reports whether there are several values on both sides.
func (f *fit) varied() bool { return len(f.values) >= minDistinct && len(f.wants) >= minDistinct }

// holds reports whether the hypothesis explains the pair: 99 % of the samples
// pass, 95 % of the wrong ones and of the telling ones do, and it is not that anything
// would: the samples come closer by a factor of 10, not by a few outliers alone but nine in
// ten of those that change, and are not one value over and over.
func (f *fit) holds() bool {
	return f.tried >= 4 && f.passed*100 >= f.tried*99 && f.wrong > 0 && f.fixed*100 >= f.wrong*95 && f.better > 9*f.worse && f.after <= 0.1*f.before &&
		f.tellingPassed*100 >= f.telling*95 && f.tellingFixed >= minDistinct && f.varied()
}

// passText is the share of samples that pass.
func (f *fit) passText() lang.Sentence {
	return lang.Sayf("%d of %d samples pass (>= 99 %%)", "%d/%d 个抽样点通过(>= 99 %%)", f.passed, f.tried)
}

// means returns the mean |d| without and with the hypothesis.
func (f *fit) means() (before, after float64) {
	return f.before / float64(f.tried), f.after / float64(f.tried)
}
