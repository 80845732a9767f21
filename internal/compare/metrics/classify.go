package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// nonFinite is a pair with a non-finite side. abs and rel are values after HPAA's replacement; rel is NaN if the
// reference is replaced by 0.
type nonFinite struct {
	position int
	abs, rel float64
}

// classify counts the pairs by class and removes pairs with a non-finite side.
func (b *block) classify() {
	p := b.part
	b.nonFinite = b.nonFinite[:0]
	if !b.n.span.Special && !b.r.span.Special {
		b.hash()
		p.classes[Finite][Finite] += int64(b.count)
	} else {
		b.removeNonFinite()
	}
	if b.count > 0 {
		p.npuBounds.add(b.n.span.Min, b.n.span.Max)
		p.refBounds.add(b.r.span.Min, b.r.span.Max)
	}
}

// classes returns the classes of a pair.
func (b *block) classes(i int) (n, r Class) {
	if !b.e.complex {
		return ClassOf(b.n.values[i]), ClassOf(b.r.values[i])
	}
	return complexClass(b.n.parts[2*i], b.n.parts[2*i+1]), complexClass(b.r.parts[2*i], b.r.parts[2*i+1])
}

// removeNonFinite counts and removes the pairs with a non-finite side.
func (b *block) removeNonFinite() {
	b.codeNaN()
	b.hash()
	b.gathered = true
	var refOnly, npuOnly, replaced []float64
	kept := 0
	for i := range b.count {
		cn, cr := b.classes(i)
		b.part.classes[cn][cr]++
		if cn == Finite && cr == Finite {
			b.copyPair(kept, i)
			kept++
			continue
		}
		switch {
		case cr == Finite:
			refOnly = append(refOnly, b.r.values[i])
			b.addRefOnly(i)
		case cn == Finite:
			npuOnly = append(npuOnly, b.n.values[i])
			b.addNPUOnly(i)
		}
		if cn != cr {
			b.flags[i] |= mismatchError
			b.failed = true
		}
		s := nonFinite{position: i, abs: math.NaN(), rel: math.NaN()}
		if !b.e.complex {
			replaced = append(replaced, b.replace(&s, b.n.values[i], b.r.values[i]))
		}
		b.nonFinite = append(b.nonFinite, s)
	}
	b.sums.refOnly = momentOf(refOnly)
	b.sums.npuOnly = momentOf(npuOnly)
	b.sums.replaced = momentOf(replaced)
	b.count = kept
	b.n.truncate(kept)
	b.r.truncate(kept)
	b.abs, b.rel = b.abs[:kept], b.rel[:kept]
}

// truncate shortens a side to its first elements.
func (s *side) truncate(count int) {
	s.values = s.values[:count]
	s.parts, s.exact = s.parts[:min(len(s.parts), 2*count)], s.exact[:min(len(s.exact), count)]
	if count > 0 {
		s.span = kernel.SpanOf(s.values)
	}
}

// codeNaN gives every NaN the code nanCode, so that all NaN hash alike.
func (b *block) codeNaN() {
	for i := range b.count {
		cn, cr := b.classes(i)
		if cn == NaN {
			b.setCode(b.n.codes, i)
		}
		if cr == NaN {
			b.setCode(b.r.codes, i)
		}
	}
}

func (b *block) setCode(codes []int64, i int) {
	if b.e.complex {
		codes[2*i], codes[2*i+1] = nanCode, nanCode
		return
	}
	codes[i] = nanCode
}

// copyPair copies pair i to place k, k <= i.
func (b *block) copyPair(k, i int) {
	b.positions[k] = int32(i)
	b.n.values[k], b.r.values[k] = b.n.values[i], b.r.values[i]
	if b.e.wide {
		b.n.exact[k], b.r.exact[k] = b.n.exact[i], b.r.exact[i]
	}
	if !b.e.complex {
		b.n.codes[k], b.r.codes[k] = b.n.codes[i], b.r.codes[i]
		return
	}
	for part := range 2 {
		b.n.codes[2*k+part], b.r.codes[2*k+part] = b.n.codes[2*i+part], b.r.codes[2*i+part]
		b.n.parts[2*k+part], b.r.parts[2*k+part] = b.n.parts[2*i+part], b.r.parts[2*i+part]
	}
}

// addRefOnly adds a finite reference whose partner is not finite.
func (b *block) addRefOnly(i int) {
	p, x := b.part, b.r.values[i]
	p.refBounds.add(x, x)
	if x == 0 {
		p.counts[refZeros]++
	} else if math.Abs(x) < b.e.ref.normal {
		p.counts[refSubnormal]++
	}
	if b.saturationSign(b.r.codes, i) != 0 {
		p.counts[refSaturated]++
	} else {
		p.counts[overflowed]++
	}
}

// addNPUOnly adds a finite NPU element whose partner is not finite.
func (b *block) addNPUOnly(i int) {
	p, x := b.part, b.n.values[i]
	p.npuBounds.add(x, x)
	if x == 0 {
		p.counts[npuZeros]++
	} else if math.Abs(x) < b.e.npu.normal {
		p.counts[npuSubnormal]++
	}
	if b.saturationSign(b.n.codes, i) != 0 {
		p.counts[npuSaturated]++
	}
	if !b.e.complex && (x >= b.e.npu.high && b.r.values[i] > x || x <= b.e.npu.low && b.r.values[i] < x) {
		p.counts[saturatedErrors]++
	}
}

// replace adds a pair after HPAA's replacement: NaN becomes 0, an infinity the limit
// of the NPU's type. It returns the replaced reference.
func (b *block) replace(s *nonFinite, n, r float64) float64 {
	n, r = b.e.replacement(n), b.e.replacement(r)
	s.abs = math.Abs(n - r)
	if r != 0 {
		s.rel = s.abs / math.Abs(r)
		b.part.counts[replacedRatios]++
		b.sums.replacedRelative = b.sums.replacedRelative.Plus(s.rel)
		b.part.hpaaMaxRel.add(s.rel, b.first+int64(s.position))
	}
	if !b.e.request.Limits.Passes(s.abs, math.Abs(r)) {
		b.flags[s.position] |= hpaaError
		b.failed = true
	}
	return r
}

// replacement returns the value that HPAA uses in place of x.
func (e *Engine) replacement(x float64) float64 {
	switch ClassOf(x) {
	case NaN:
		return 0
	case PosInf:
		return e.hpaaHigh
	case NegInf:
		return e.hpaaLow
	}
	return x
}

// hash adds the codes of all elements to the digests.
func (b *block) hash() {
	p := b.part
	switch {
	case b.hashed:
	case b.e.complex && b.equal:
		b.digests.N = kernel.HashPairs(b.n.codes[:2*b.pairCount])
		b.digests.R = b.digests.N
	case b.e.complex:
		b.digests.N, b.digests.R = kernel.HashPairs(b.n.codes[:2*b.pairCount]), kernel.HashPairs(b.r.codes[:2*b.pairCount])
	case b.equal:
		b.digests = kernel.DigestEqual(b.n.codes[:b.pairCount])
	default:
		b.digests = kernel.Digest(b.n.codes[:b.pairCount], b.r.codes[:b.pairCount])
	}
	p.npuSum += b.digests.N
	p.refSum += b.digests.R
}

// complexClass returns the class of a complex element.
func complexClass(re, im float64) Class {
	a, b := ClassOf(re), ClassOf(im)
	switch {
	case a == NaN || b == NaN:
		return NaN
	case a == PosInf || b == PosInf:
		return PosInf
	case a == NegInf || b == NegInf:
		return NegInf
	}
	return Finite
}

// ClassOf returns the class of a real value.
func ClassOf(x float64) Class {
	switch {
	case x > math.MaxFloat64:
		return PosInf
	case x < -math.MaxFloat64:
		return NegInf
	case x != x:
		return NaN
	}
	return Finite
}
