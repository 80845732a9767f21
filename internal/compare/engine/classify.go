package engine

import "math"

// special is a pair with a side that is not finite. abs and rel are those after
// HPAA's replacement, rel NaN where it has none.
type special struct {
	position int
	abs, rel float64
}

// classify counts the pairs by classes and leaves those that are finite on both
// sides.
func (l *leaf) classify() {
	p := l.part
	l.specials = l.specials[:0]
	if !l.nSpan.special && !l.rSpan.special {
		l.hash()
		p.classes[Finite][Finite] += int64(l.count)
	} else {
		l.separate()
	}
	if l.count > 0 {
		p.npuBounds.add(l.nSpan.min, l.nSpan.max)
		p.refBounds.add(l.rSpan.min, l.rSpan.max)
	}
}

// classes returns the classes of a pair.
func (l *leaf) classes(i int) (n, r Class) {
	if !l.e.complex {
		return classOf(l.n[i]), classOf(l.r[i])
	}
	return complexClass(l.nParts[2*i], l.nParts[2*i+1]), complexClass(l.rParts[2*i], l.rParts[2*i+1])
}

// separate takes out the pairs that are not finite.
func (l *leaf) separate() {
	l.nameNaN()
	l.hash()
	l.compact = true
	var refOnly, npuOnly, replaced []float64
	kept := 0
	for i := range l.count {
		cn, cr := l.classes(i)
		l.part.classes[cn][cr]++
		if cn == Finite && cr == Finite {
			l.move(kept, i)
			kept++
			continue
		}
		switch {
		case cr == Finite:
			refOnly = append(refOnly, l.r[i])
			l.countRefOnly(i)
		case cn == Finite:
			npuOnly = append(npuOnly, l.n[i])
			l.countNPUOnly(i)
		}
		if cn != cr {
			l.flags[i] |= mismatchError
			l.failed = true
		}
		s := special{position: i, abs: math.NaN(), rel: math.NaN()}
		if !l.e.complex {
			replaced = append(replaced, l.replace(&s, l.n[i], l.r[i]))
		}
		l.specials = append(l.specials, s)
	}
	l.node.refOnly = l.e.moment(refOnly)
	l.node.npuOnly = l.e.moment(npuOnly)
	l.node.replaced = l.e.moment(replaced)
	l.count = kept
	l.n, l.r, l.abs, l.rel = l.n[:kept], l.r[:kept], l.abs[:kept], l.rel[:kept]
	if kept > 0 {
		l.nSpan, l.rSpan = spanOf(l.n), spanOf(l.r)
	}
}

// nameNaN gives all NaN the same code.
func (l *leaf) nameNaN() {
	for i := range l.count {
		cn, cr := l.classes(i)
		if cn == NaN {
			l.setCode(l.nCodes, i)
		}
		if cr == NaN {
			l.setCode(l.rCodes, i)
		}
	}
}

func (l *leaf) setCode(codes []int64, i int) {
	if l.e.complex {
		codes[2*i], codes[2*i+1] = nanCode, nanCode
		return
	}
	codes[i] = nanCode
}

// move puts pair i at place k, which is not behind it.
func (l *leaf) move(k, i int) {
	l.positions[k] = int32(i)
	l.n[k], l.r[k] = l.n[i], l.r[i]
	if l.e.wide {
		l.nExact[k], l.rExact[k] = l.nExact[i], l.rExact[i]
	}
	if !l.e.complex {
		l.nCodes[k], l.rCodes[k] = l.nCodes[i], l.rCodes[i]
		return
	}
	for part := range 2 {
		l.nCodes[2*k+part], l.rCodes[2*k+part] = l.nCodes[2*i+part], l.rCodes[2*i+part]
		l.nParts[2*k+part], l.rParts[2*k+part] = l.nParts[2*i+part], l.rParts[2*i+part]
	}
}

// countRefOnly takes in a finite reference whose partner is not finite.
func (l *leaf) countRefOnly(i int) {
	p, x := l.part, l.r[i]
	p.refBounds.add(x, x)
	if x == 0 {
		p.counts[refZeros]++
	} else if math.Abs(x) < l.e.ref.normal {
		p.counts[refSubnormal]++
	}
	if l.saturation(l.rCodes, i) != 0 {
		p.counts[refSaturated]++
	} else {
		p.counts[overflowed]++
	}
}

// countNPUOnly takes in a finite NPU element whose partner is not finite.
func (l *leaf) countNPUOnly(i int) {
	p, x := l.part, l.n[i]
	p.npuBounds.add(x, x)
	if x == 0 {
		p.counts[npuZeros]++
	} else if math.Abs(x) < l.e.npu.normal {
		p.counts[npuSubnormal]++
	}
	if l.saturation(l.nCodes, i) != 0 {
		p.counts[npuSaturated]++
	}
	if !l.e.complex && (x >= l.e.npu.high && l.r[i] > x || x <= l.e.npu.low && l.r[i] < x) {
		p.counts[saturatedErrors]++
	}
}

// replace takes in a pair as HPAA counts it: NaN as 0, an infinity as the limit
// of the NPU's type. It returns the reference.
func (l *leaf) replace(s *special, n, r float64) float64 {
	n, r = l.e.replacement(n), l.e.replacement(r)
	s.abs = math.Abs(n - r)
	if r != 0 {
		s.rel = s.abs / math.Abs(r)
		l.part.counts[replacedRatios]++
		l.node.replacedRelative = l.node.replacedRelative.plus(s.rel)
		l.part.cellMaxRel.add(s.rel, l.first+int64(s.position))
	}
	if !l.e.request.Limits.passes(s.abs, math.Abs(r)) {
		l.flags[s.position] |= cellError
		l.failed = true
	}
	return r
}

// replacement returns what HPAA puts in the place of a value.
func (e *Engine) replacement(x float64) float64 {
	switch classOf(x) {
	case NaN:
		return 0
	case PosInf:
		return e.cellHigh
	case NegInf:
		return e.cellLow
	}
	return x
}
