package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// The error flags of an element.
const (
	beyondError   = 1 << iota // beyond the limits
	mismatchError             // of different classes
	hpaaError                 // beyond the limits after HPAA's replacement

	strictError = beyondError | mismatchError
)

// maxErrorOffsets is the maximum length of Result.ErrorOffsets.
const maxErrorOffsets = 64

// findErrors adds the errors of the block, and the first element of the tensor.
func (b *block) findErrors() {
	abs, rel := b.spreadByPlace()
	if b.failed {
		b.addErrors(b.flags[:b.pairCount], abs, rel)
	}
	if b.first == 0 {
		start := b.locationOf(0, abs[0], rel[0])
		b.part.start = &start
	}
}

// spreadByPlace returns |d| and |d|/|r| indexed by place in the block, 0 for pairs with a
// non-finite side.
func (b *block) spreadByPlace() (abs, rel []float64) {
	if !b.gathered {
		return b.abs, b.rel
	}
	abs, rel = b.spread[0][:b.pairCount], b.spread[1][:b.pairCount]
	clear(abs)
	clear(rel)
	for i, a := range b.abs {
		abs[b.positions[i]], rel[b.positions[i]] = a, b.rel[i]
	}
	return abs, rel
}

// addErrors adds the elements whose flags are set.
func (b *block) addErrors(flags []uint8, abs, rel []float64) {
	p, request := b.part, &b.e.request
	var found failures
	b.sums.errors.Value = b.addFlagged(&found, beyondError, flags, abs, rel)
	p.beyond.merge(found)
	if len(b.nonFinite) == 0 {
		b.sums.hpaaErrors = b.sums.errors
		p.hpaa.merge(found)
	} else {
		b.addFlagged(&p.mismatch, mismatchError, flags, abs, rel)
		hpaaAbs, hpaaRel := b.scratch[0][:b.pairCount], b.scratch[1][:b.pairCount]
		copy(hpaaAbs, abs)
		copy(hpaaRel, rel)
		for _, s := range b.nonFinite {
			hpaaAbs[s.position], hpaaRel[s.position] = s.abs, s.rel
		}
		b.sums.hpaaErrors.Value = b.addFlagged(&p.hpaa, hpaaError, flags, hpaaAbs, hpaaRel)
		b.markReplaced(&p.hpaa)
	}
	b.countCauses(flags)
	if len(p.errorOffsets) < maxErrorOffsets || len(p.listed) < request.List || len(b.nonFinite) > 0 && len(p.mismatched) < request.Top {
		b.listErrors(flags, abs, rel)
	}
}

// addFlagged adds the errors with a flag to f and returns the sum of their |d|.
func (b *block) addFlagged(f *failures, flag uint8, flags []uint8, abs, rel []float64) float64 {
	abs, rel = abs[:len(flags)], rel[:len(flags)]
	of := b.errors
	if !b.marked || flag != beyondError || of.Max > b.part.beyond.maxAbs {
		of = kernel.SumFlagged(abs, flags, flag)
	}
	if of.Count == 0 {
		return 0
	}
	first, last := 0, len(flags)-1
	for flags[first]&flag == 0 {
		first++
	}
	for flags[last]&flag == 0 {
		last--
	}
	if f.count == 0 {
		f.first = b.locationOf(first, abs[first], rel[first])
	}
	f.last = b.locationOf(last, abs[last], rel[last])
	f.count += of.Count
	f.maxAbs = max(f.maxAbs, of.Max)
	return of.Sum
}

// markReplaced sets replaced in first and last if their pair has a replacement.
func (b *block) markReplaced(f *failures) {
	for _, s := range b.nonFinite {
		for _, p := range []*location{&f.first, &f.last} {
			if f.count > 0 && p.offset == b.first+int64(s.position) {
				p.replaced = true
			}
		}
	}
}

// listErrors adds the first errors.
func (b *block) listErrors(flags []uint8, abs, rel []float64) {
	p, request := b.part, &b.e.request
	for i, f := range flags {
		if f == 0 {
			continue
		}
		if f&strictError != 0 && len(p.errorOffsets) < maxErrorOffsets {
			p.errorOffsets = append(p.errorOffsets, b.first+int64(i))
		}
		if f&mismatchError != 0 && len(p.mismatched) < request.Top {
			p.mismatched = append(p.mismatched, b.locationOf(i, abs[i], rel[i]))
		}
		if len(p.listed) < request.List {
			p.listed = append(p.listed, b.locationOf(i, abs[i], rel[i]))
		}
	}
}

// countCauses counts the errors caused by saturation or by integers that wrap around.
func (b *block) countCauses(flags []uint8) {
	npu, ref := b.e.npu, b.e.ref
	limited := b.count > 0 && (b.n.span.Max >= npu.high || b.n.span.Min <= npu.low)
	wraps := npu.integer && !npu.bool
	if b.e.complex || !limited && !wraps {
		return
	}
	counts := &b.part.counts
	for i, n := range b.n.values {
		if flags[b.position(i)]&beyondError == 0 {
			continue
		}
		r := b.r.values[i]
		if n >= npu.high && r >= n || n <= npu.low && r <= n {
			counts[saturatedErrors]++
		}
		if !wraps || !ref.integer && (!(math.Abs(r) < 1<<63) || r != math.Trunc(r)) {
			continue
		}
		x, y := uint64(int64(n)), uint64(int64(r))
		if b.e.wide && npu.integer {
			x = b.n.exact[i]
		}
		if b.e.wide && ref.integer {
			y = b.r.exact[i]
		}
		if (x^y)<<(64-npu.bits) == 0 {
			counts[wrappedErrors]++
		}
	}
}
