package metrics

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// measureULP adds the distances in ulps of the NPU's type. The distance of a complex
// element is the larger distance of its two parts.
func (b *block) measureULP() {
	if b.e.shortCodes && !b.gathered {
		b.addULP(b.digests.MaxDistance, float64(b.digests.SumDistance), func() int {
			b.ensureCodes()
			for i, c := range b.n.codes {
				if distance(c, b.r.codes[i]) == b.digests.MaxDistance {
					return i
				}
			}
			return -1
		})
		return
	}
	if b.e.npu.integer {
		b.measureIntegers()
		return
	}
	ulps := b.codeDistances()
	high, total := maxAndSum(ulps)
	b.addULP(high, total, func() int { return slices.Index(ulps, high) })
}

// codeDistances returns the distances of the codes of the pairs.
func (b *block) codeDistances() []uint64 {
	ulps := b.ulps[:b.count]
	if !b.e.complex {
		distances(ulps, b.n.codes, b.r.codes)
		return ulps
	}
	for i := range ulps {
		var pair [2]uint64
		distances(pair[:], b.n.codes[2*i:], b.r.codes[2*i:])
		ulps[i] = max(pair[0], pair[1])
	}
	return ulps
}

// addULP adds the largest distance high and the sum of all; index returns the first
// place of high.
func (b *block) addULP(high uint64, total float64, index func() int) {
	b.sums.ulps.Value = total
	if e := &b.part.maxULP; !e.set || float64(high) > e.value {
		e.add(float64(high), b.offset(index()))
	}
}

// measureIntegers is measureULP for integer types.
func (b *block) measureIntegers() {
	ulps := b.integerDistances()
	high := slices.Max(ulps)
	b.sums.ulps.Value = kernel.Sum(ulps)
	if e := &b.part.maxULP; !e.set || high > e.value {
		e.add(high, b.offset(slices.Index(ulps, high)))
	}
}

// integerDistances returns |n - round(r)| for an integer NPU type.
func (b *block) integerDistances() []float64 {
	ulps := b.scratch[0][:b.count]
	copy(ulps, b.abs)
	if b.e.complex {
		for i := range ulps {
			ulps[i] = max(math.Abs(b.n.parts[2*i]-math.RoundToEven(b.r.parts[2*i])), math.Abs(math.RoundToEven(b.r.parts[2*i+1])))
		}
	} else if !b.e.ref.integer {
		for i, r := range b.r.values {
			ulps[i] = math.Abs(cmp.Or(b.n.values[i]-math.RoundToEven(r), b.n.float64Rest(i)))
		}
	}
	return ulps
}

// distance returns the distance of two codes.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// distances sets dst to the distances of codes.
func distances(dst []uint64, a, b []int64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = distance(a[i], b[i])
	}
}

// maxAndSum returns the largest value and the sum in float64.
func maxAndSum(values []uint64) (high uint64, total float64) {
	var low, upper uint64
	for _, v := range values {
		low += v & 0xffffffff
		upper += v >> 32
		high = max(high, v)
	}
	return high, float64(low) + float64(float64(upper)*(1<<32))
}
