package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/exact"
	"dumptool/internal/lang"
)

// minTail returns the minimum length of a run at the end.
func (p *pair) minTail() int64 {
	return max(16, int64(math.Ceil(0.005*float64(p.result.Total))))
}

func testZeroTail(p *pair) lang.Sentence {
	r, first := p.result, p.firstError()
	start := r.Total - r.ZeroTail
	// The reference may also end in zeros: some zeros must be wrong.
	if p.errors < 4 || r.ZeroTail < p.minTail() || first < start || p.errors*50 < r.ZeroTail {
		return lang.Sentence{}
	}
	p.facts = p.facts.Int("first", start).Int("count", r.ZeroTail)
	return lang.Say("the last %d of %d NPU elements are 0, %d of them are errors; every element before offset %d passes",
		r.ZeroTail, r.Total, p.errors, first)
}

func testTail(p *pair) lang.Sentence {
	r, first := p.result, p.firstError()
	if p.errors == 0 || first < p.minTail() || r.Total-first < 16 {
		return lang.Sentence{}
	}
	ratio := float64(p.errors) / float64(r.Total-first)
	if ratio < 0.5 {
		return lang.Sentence{}
	}
	// Zeros at the start prove nothing, since a 0 would pass there.
	n, s := 0, p.sample()
	for i, offset := range s.offsets {
		if offset < first && !p.isNear(0, s.r[i]) {
			n++
		}
	}
	if n < 4 || float64(n)*exact.Log(1-ratio) > exact.Log(maxChance) {
		return lang.Sentence{}
	}
	p.facts = p.facts.Int("first", first).Int("count", p.errors)
	return lang.Say("every element before offset %d of %d passes, %s %% of the elements behind it are errors (>= 50 %%), p < 1e-6", first, r.Total, number(100*ratio))
}

// testStrided tests whether all listed errors are at offsets with a common step.
func testStrided(p *pair) lang.Sentence {
	errors := p.knownErrors()
	if len(errors) < 16 {
		return lang.Sentence{}
	}
	var step int64
	for i, offset := range errors[1:] {
		step = gcd(step, offset-errors[i])
	}
	if step <= 1 {
		return lang.Sentence{}
	}
	p.facts = p.facts.Int("by", step)
	return lang.Say("all %d inspected errors, of %d, are at offset %d + multiples of %d elements%s",
		len(errors), p.errors, errors[0], step, p.stepName(step, errors[0]))
}

// stepName describes a step in bytes, and the index on the last axis if the step is a multiple of
// its length.
func (p *pair) stepName(step, first int64) lang.Sentence {
	var bytes, axis lang.Sentence
	size := step * int64(p.request.NPUDType.UnitSize())
	if unit := gcd(size, 32); unit >= 16 {
		bytes = lang.Say(" (%d bytes, a multiple of %d)", size, unit)
	}
	shape := p.request.Shape
	if last := len(shape) - 1; last >= 0 && shape[last] > 1 && step%shape[last] == 0 {
		axis = lang.Say(", index %d of axis %d (length %d)", first%shape[last], last, shape[last])
	}
	return lang.Say("%s%s", bytes, axis)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// maxShift is the largest shift tried, in elements; a shift by a whole row may be longer.
const maxShift = 64

// window is a run of the sample, and the run of the reference that shifts may reach.
type window struct {
	first          int64
	n, r           []complex128 // the pairs from first on
	refFrom, refTo int64        // of the reference
	ref            []complex128 // the reference from there, read on first use
}

// testShifted tests for a k with NPU[i] = reference[i+k].
func testShifted(p *pair) lang.Sentence {
	if p.errors < 4 || p.result.Total < 8 {
		return lang.Sentence{}
	}
	if !p.sample().hasErrors {
		return lang.Sentence{}
	}
	var row int64
	if shape := p.request.Shape; len(shape) > 1 {
		row = shape[len(shape)-1]
	}
	var near []int64
	for k := int64(1); k <= maxShift; k++ {
		near = append(near, k, -k)
	}
	best, shift := p.findBestShift(p.listWindows(-maxShift, maxShift), near)
	for _, k := range []int64{row, -row} {
		if row > maxShift && shift == 0 {
			best, shift = p.findBestShift(p.listWindows(k, k), []int64{k})
		}
	}
	if shift == 0 {
		return lang.Sentence{}
	}
	var name lang.Sentence
	if shift == row || shift == -row {
		name = lang.Say(" (one row: axis %d has length %d)", len(p.request.Shape)-1, row)
	}
	before, after := best.meanDifferences()
	p.facts = p.facts.Int("by", shift)
	return lang.Say("NPU[i] = reference[i%+d]%s: %s, mean |d| %s instead of %s",
		shift, name, best.passText(), number(after), number(before))
}

// findBestShift returns the shift that holds with the smallest error, 0 for none; among equal ones the
// first.
func (p *pair) findBestShift(windows []window, shifts []int64) (best hypothesisFit, shift int64) {
	size, none := 0, hypothesisFit{}
	for _, w := range windows {
		size += len(w.n)
		none.maxAfter += maxRemaining(w.n, w.r)
	}
	least := math.Inf(1)
	for _, k := range shifts {
		f := p.tryShift(windows, k, size, none)
		_, after := f.meanDifferences()
		// Most of the tensor must be inside the shifted range.
		if f.tried*2 >= size && f.isExplained() && after < least {
			best, shift, least = f, k, after
		}
	}
	return best, shift
}

func (p *pair) tryShift(windows []window, k int64, size int, f hypothesisFit) hypothesisFit {
	for i := range windows {
		w := &windows[i]
		if w.ref == nil {
			w.ref = p.ref.readRun(w.refFrom, w.refTo-w.refFrom)
		}
		for i, n := range w.n {
			if at := w.first + int64(i) + k - w.refFrom; at >= 0 && at < int64(len(w.ref)) {
				f.add(p, n, w.r[i], n, w.ref[at])
			}
			if f.isRefuted(size) {
				return f
			}
		}
	}
	return f
}

// listWindows returns the runs of the sample, with the range that shifts from low to high reach.
func (p *pair) listWindows(low, high int64) (all []window) {
	s := p.sample()
	for _, first := range s.runs {
		at, _ := slices.BinarySearch(s.offsets, first)
		end := at + int(s.length)
		all = append(all, window{
			first: first, n: s.n[at:end], r: s.r[at:end],
			refFrom: max(0, first+low), refTo: min(p.ref.count, first+s.length+high),
		})
	}
	return all
}
