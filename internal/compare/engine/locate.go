package engine

import "math"

// locate takes in what is told with its place: errors, the worst elements, the
// profiles of axes.
func (l *leaf) locate() {
	abs, rel := l.spreadOut()
	flags := l.flags[:l.all]
	if l.failed {
		l.findErrors(flags, abs, rel)
	}
	l.rank()
	if l.first == 0 {
		start := l.placeAt(0, abs[0], rel[0])
		l.part.start = &start
	}
	if !l.failed {
		flags = nil
	}
	if l.failed || l.extent.maxAbs > 0 {
		l.part.axes.add(l.e.axes, l.first, abs, rel, l.subtracted.abs, l.node.relative.value, flags)
	}
	clear(l.flags[:l.all])
}

// spreadOut returns |d| and |d|/|r| at their places, 0 where a side is not
// finite.
func (l *leaf) spreadOut() (abs, rel []float64) {
	if !l.compact {
		return l.abs, l.rel
	}
	abs, rel = l.spread[0][:l.all], l.spread[1][:l.all]
	clear(abs)
	clear(rel)
	for i, a := range l.abs {
		abs[l.positions[i]], rel[l.positions[i]] = a, l.rel[i]
	}
	return abs, rel
}

// placeAt returns the place of an element of the leaf.
func (l *leaf) placeAt(i int, abs, rel float64) place {
	p := place{offset: l.first + int64(i), abs: abs, rel: rel}
	copy(p.ref[:], l.ref[i*l.e.ref.size:(i+1)*l.e.ref.size])
	copy(p.npu[:], l.npu[i*l.e.npu.size:(i+1)*l.e.npu.size])
	return p
}

// findErrors takes in the elements with flags.
func (l *leaf) findErrors(flags []uint8, abs, rel []float64) {
	p, request := l.part, &l.e.request
	var found failures
	l.node.errors = l.fail(&found, beyondError, flags, abs, rel)
	p.beyond.merge(found)
	if len(l.specials) == 0 {
		l.node.cellErrors = l.node.errors
		p.cells.merge(found)
	} else {
		l.fail(&p.mismatch, mismatchError, flags, abs, rel)
		cellAbs, cellRel := l.other[:l.all], l.scaled[0][:l.all]
		copy(cellAbs, abs)
		copy(cellRel, rel)
		for _, s := range l.specials {
			cellAbs[s.position], cellRel[s.position] = s.abs, s.rel
		}
		l.node.cellErrors = l.fail(&p.cells, cellError, flags, cellAbs, cellRel)
		l.markReplaced(&p.cells)
	}
	l.explain(flags)
	if len(p.errorOffsets) < maxErrorOffsets || len(p.listed) < request.List || len(p.mismatched) < request.Top {
		l.list(flags, abs, rel)
	}
}

// fail takes in the errors with a flag and returns the sum of their |d|.
func (l *leaf) fail(f *failures, flag uint8, flags []uint8, abs, rel []float64) (total sum) {
	first, last, count := -1, -1, int64(0)
	var part, high float64
	abs, rel = abs[:len(flags)], rel[:len(flags)]
	for i, have := range flags {
		if have&flag == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		count++
		a := abs[i]
		part += a
		if a > high {
			high = a
		}
		if count%128 == 0 {
			total = total.plus(part)
			part = 0
		}
	}
	if count == 0 {
		return total
	}
	f.count += count
	f.maxAbs = max(f.maxAbs, high)
	if f.first == nil {
		p := l.placeAt(first, abs[first], rel[first])
		f.first = &p
	}
	p := l.placeAt(last, abs[last], rel[last])
	f.last = &p
	return total.plus(part)
}

// markReplaced marks the places of errors that are pairs with a replacement.
func (l *leaf) markReplaced(f *failures) {
	for _, s := range l.specials {
		for _, p := range []*place{f.first, f.last} {
			if p != nil && p.offset == l.first+int64(s.position) {
				p.replaced = true
			}
		}
	}
}

// list takes in the first errors.
func (l *leaf) list(flags []uint8, abs, rel []float64) {
	p, request := l.part, &l.e.request
	for i, f := range flags {
		if f == 0 {
			continue
		}
		if f&strictError != 0 && len(p.errorOffsets) < maxErrorOffsets {
			p.errorOffsets = append(p.errorOffsets, l.first+int64(i))
		}
		if f&mismatchError != 0 && len(p.mismatched) < request.Top {
			p.mismatched = append(p.mismatched, l.placeAt(i, abs[i], rel[i]))
		}
		if len(p.listed) < request.List {
			p.listed = append(p.listed, l.placeAt(i, abs[i], rel[i]))
		}
	}
}

// explain counts the errors that saturation or wrapping around accounts for.
func (l *leaf) explain(flags []uint8) {
	npu, ref := l.e.npu, l.e.ref
	limited := l.count > 0 && (l.nSpan.max >= npu.high || l.nSpan.min <= npu.low)
	wraps := npu.integer && !npu.bool
	if l.e.complex || !limited && !wraps {
		return
	}
	counts := &l.part.counts
	for i, n := range l.n {
		if flags[l.position(i)]&beyondError == 0 {
			continue
		}
		r := l.r[i]
		if n >= npu.high && r >= n || n <= npu.low && r <= n {
			counts[saturatedErrors]++
		}
		if !wraps || !ref.integer && (!(math.Abs(r) < 1<<63) || r != math.Trunc(r)) {
			continue
		}
		a, b := uint64(int64(n)), uint64(int64(r))
		if l.e.wide && npu.integer {
			a = l.nExact[i]
		}
		if l.e.wide && ref.integer {
			b = l.rExact[i]
		}
		if (a^b)<<(64-npu.bits) == 0 {
			counts[wrappedErrors]++
		}
	}
}

// rank takes in the worst elements.
func (l *leaf) rank() {
	if l.e.request.Top == 0 || l.count == 0 {
		return
	}
	l.rankBy(&l.part.worst, l.abs, l.extent.maxAbs)
	l.rankBy(&l.part.worstRel, l.rel, l.extent.maxRel)
}

func (l *leaf) rankBy(r *ranking, scores []float64, largest float64) {
	if largest == 0 || largest < r.floor {
		return
	}
	for i := 0; i < len(scores); i++ {
		i += indexFrom(scores[i:], max(r.floor, math.SmallestNonzeroFloat64))
		if i < len(scores) {
			r.add(scores[i], l.placeAt(l.position(i), l.abs[i], l.rel[i]))
		}
	}
}
