package engine

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// leaf is a short run of pairs at work. First all of its elements are decoded,
// then those pairs where a side is not finite are taken out; the others move
// together, and count becomes their number.
type leaf struct {
	*worker
	first    int64
	count    int // of the pairs that are left
	all      int // of all pairs
	ref, npu []byte
	compact  bool // pairs were taken out; their places are in positions
	failed   bool // there are errors, in flags
	node     node
	n, r     []float64
	abs, rel []float64
	nSpan    span
	rSpan    span
	extent   extent
	digests  digests // of all elements
	// differences of parts
	subtracted subtracted
}

// compute gathers all about the leaf, its sums in its node.
func (l *leaf) compute() {
	l.all = l.count
	l.decode()
	l.sample()
	l.code()
	l.classify()
	if l.count > 0 {
		l.subtract()
		l.sum()
		l.relate()
		l.bound()
		l.census()
		l.measureULP()
	}
	l.locate()
}

// position returns the place in the leaf of one of the pairs that are left.
func (l *leaf) position(i int) int {
	if l.compact {
		return int(l.positions[i])
	}
	return i
}

// decode sets the values of both sides and their spans.
func (l *leaf) decode() {
	e, k := l.e, l.count
	l.n, l.r = l.worker.n[:k], l.worker.r[:k]
	l.abs, l.rel = l.worker.abs[:k], l.worker.rel[:k]
	if e.complex {
		e.npu.parts(l.nParts[:2*k], l.npu, l.host)
		e.ref.parts(l.rParts[:2*k], l.ref, l.host)
		moduli(l.n, l.nParts)
		moduli(l.r, l.rParts)
		l.nSpan, l.rSpan = spanOf(l.n), spanOf(l.r)
		return
	}
	l.nSpan = e.npu.measured(l.n, l.npu, l.host)
	l.rSpan = e.ref.measured(l.r, l.ref, l.host)
	if l.e.wide {
		e.npu.integers(l.nExact[:k], l.npu, l.n)
		e.ref.integers(l.rExact[:k], l.ref, l.r)
	}
}

// sample looks at what depends on the place of elements alone.
func (l *leaf) sample() {
	p := l.part
	zeros := 0
	for zeros < l.count && l.n[l.count-1-zeros] == 0 {
		zeros++
	}
	if zeros < l.count {
		p.zeroTail = 0
	}
	p.zeroTail += int64(zeros)
	every := l.e.every
	if every == 0 {
		return
	}
	for at := (l.first + every - 1) / every * every; at < l.first+int64(l.count); at += every {
		i := at - l.first
		p.points = append(p.points, Point{Offset: at, Ref: l.r[i], NPU: l.n[i]})
	}
}

// code sets the codes of both sides in the NPU's type, those of both parts of
// complex elements.
func (l *leaf) code() {
	n, r, count := l.n, l.r, l.count
	if l.e.complex {
		count *= 2
		n, r = l.nParts[:count], l.rParts[:count]
	}
	nCodes, rCodes := l.nCodes[:count], l.rCodes[:count]
	npu, ref := l.e.npu, l.e.ref
	if npu.integer {
		npu.integerCodes(nCodes, npu, n, l.exactOf(npu, l.nExact))
		npu.integerCodes(rCodes, ref, r, l.exactOf(ref, l.rExact))
		return
	}
	if l.e.complex || !npu.storedCodes(nCodes, l.npu) {
		npu.codes.round(nCodes, n)
	}
	switch {
	case !l.e.complex && ref.dtype == tensor.Float32 && npu.dtype == tensor.Float16:
		done := halvesHead(rCodes, l.ref)
		npu.codes.round(rCodes[done:], r[done:])
	case l.e.complex || ref.dtype != npu.dtype || !ref.storedCodes(rCodes, l.ref):
		npu.codes.round(rCodes, r)
	}
}

// exactOf returns the integers of a side that has them.
func (l *leaf) exactOf(side *number, exact []uint64) []uint64 {
	if l.e.complex || !l.e.wide || !side.integer {
		return nil
	}
	return exact
}

// hash adds the codes of all elements to the digests.
func (l *leaf) hash() {
	p := l.part
	if l.e.complex {
		p.npuSum += hashPairs(l.nCodes[:2*l.all])
		p.refSum += hashPairs(l.rCodes[:2*l.all])
		return
	}
	l.digests = digest(l.nCodes[:l.all], l.rCodes[:l.all])
	p.npuSum += l.digests.n
	p.refSum += l.digests.r
}

// subtract sets the differences and their magnitudes.
func (l *leaf) subtract() {
	e, k := l.e, l.count
	d := l.d[:k]
	switch {
	case e.complex:
		parts := l.dParts[:2*k]
		nParts, rParts := l.nParts[:2*k], l.rParts[:2*k]
		for i := range parts {
			parts[i] = nParts[i] - rParts[i]
		}
		moduli(l.abs, parts)
	case e.exact:
		integerDifferences(d, l.abs, l.nExact[:k], l.rExact[:k], e.npu.signed, e.ref.signed)
	case e.npu.wide():
		wideDifferences(d, l.abs, l.n, l.r, l.nExact[:k], l.n, 1)
	case e.ref.wide():
		wideDifferences(d, l.abs, l.n, l.r, l.rExact[:k], l.r, -1)
	default:
		if !e.huge && !e.npu.integer {
			d = l.abs // nobody asks for the differences themselves
		}
		l.subtracted = differences(d, l.abs, l.n, l.r)
		return
	}
	if e.complex {
		d = l.dParts[:2*k]
	}
	l.subtracted = subtracted{moment: momentOf(d), abs: sumOf(l.abs), negative: negatives(d)}
}

// relate takes in the relative differences and the histograms.
func (l *leaf) relate() {
	c := l.tables.relatives(l.rel, l.abs, l.r)
	counts := &l.part.counts
	counts[relativeZeros] += c.zeros
	counts[relativeUndefined] += c.undefined
	counts[below1000] += c.below - c.undefined
	counts[below5000] += c.below5 - c.undefined
	l.extent.undefined = c.undefined > 0
	l.extent.maxAbs, l.extent.maxRel = c.maxAbs, c.maxRel
	l.node.relative = sum{value: c.rel}
	if !l.e.huge {
		l.node.pair.absR = sum{value: c.ref}
	}
	l.tables.add(&c, l.rel, l.abs, l.r, l.e.huge)
}

// bound finds the extremes of the differences, and the errors.
func (l *leaf) bound() {
	p, x := l.part, &l.extent
	p.minRef, p.maxRef = min(p.minRef, l.rSpan.minAbs), max(p.maxRef, l.rSpan.maxAbs)
	if !p.maxAbs.set || x.maxAbs > p.maxAbs.value {
		p.maxAbs.add(x.maxAbs, l.offset(indexOf(l.abs, x.maxAbs)))
	}
	if !p.maxRel.set || x.maxRel > p.maxRel.value {
		l.addMaxRel(x.maxRel)
	}
	limits := l.e.request.Limits
	quiet := limits.quiet(*x)
	if quiet && p.tightest.settled(limits, *x) {
		return
	}
	p.tightest.add(limits, *x, l.abs, l.r)
	if quiet || !limits.exceeded(l.abs, l.r) {
		return
	}
	l.failed = true
	for i, a := range l.abs {
		var flag uint8
		if !limits.passes(a, math.Abs(l.r[i])) {
			flag = beyondError | cellError
		}
		l.flags[l.position(i)] |= flag
	}
}

// addMaxRel takes in the largest |d|/|r|, which has no place where all
// references are 0.
func (l *leaf) addMaxRel(x float64) {
	for i, q := range l.rel {
		if q == x && l.r[i] != 0 {
			l.part.maxRel.add(x, l.offset(i))
			return
		}
	}
}

// offset returns the offset of one of the pairs that are left.
func (l *leaf) offset(i int) int64 { return l.first + int64(l.position(i)) }

// measureULP takes in the distances in units of the last place of the NPU's
// type; of a complex element that of the part which is farther off.
func (l *leaf) measureULP() {
	if l.e.narrow && !l.compact {
		l.addULP(l.digests.high, float64(l.digests.total), func() int {
			for i, c := range l.nCodes {
				if distance(c, l.rCodes[i]) == l.digests.high {
					return i
				}
			}
			return -1
		})
		return
	}
	if l.e.npu.integer {
		l.measureIntegers()
		return
	}
	ulps := l.ulps[:l.count]
	if l.e.complex {
		for i := range ulps {
			var pair [2]uint64
			distances(pair[:], l.nCodes[2*i:], l.rCodes[2*i:])
			ulps[i] = max(pair[0], pair[1])
		}
	} else {
		distances(ulps, l.nCodes, l.rCodes)
	}
	high, total := maxAndSum(ulps)
	l.addULP(high, total, func() int { return slices.Index(ulps, high) })
}

// addULP takes in the largest distance, the sum of all, and where the largest
// one first is.
func (l *leaf) addULP(high uint64, total float64, index func() int) {
	l.node.ulps.value = total
	if e := &l.part.maxULP; !e.set || float64(high) > e.value {
		e.add(float64(high), l.offset(index()))
	}
}

// measureIntegers is measureULP for integer types: the distances from the
// references rounded to integers.
func (l *leaf) measureIntegers() {
	ulps := l.other[:l.count]
	copy(ulps, l.abs)
	if l.e.complex {
		for i := range ulps {
			ulps[i] = max(math.Abs(l.nParts[2*i]-math.RoundToEven(l.rParts[2*i])), math.Abs(math.RoundToEven(l.rParts[2*i+1])))
		}
	} else if !l.e.ref.integer {
		for i, r := range l.r {
			// What rounding takes from the reference is exact and small.
			ulps[i] = math.RoundToEven(math.Abs(l.d[i] + (r - math.RoundToEven(r))))
		}
	}
	l.node.ulps.value = sumOf(ulps)
	high := maxOf(ulps)
	if e := &l.part.maxULP; !e.set || high > e.value {
		e.add(high, l.offset(indexOf(ulps, high)))
	}
}

func moduli(dst, parts []float64) {
	for i := range dst {
		dst[i] = math.Hypot(parts[2*i], parts[2*i+1])
	}
}
