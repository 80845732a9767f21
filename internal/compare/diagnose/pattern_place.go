package diagnose

import (
	"fmt"
	"math"
	"slices"
)

// minTail is the length from which a run at the end is told.
func (p *pair) minTail() int64 {
	return max(16, int64(math.Ceil(0.005*float64(p.result.Total))))
}

func zeroTail(p *pair) (found, error) {
	r, first := p.result, p.firstError()
	start := r.Total - r.ZeroTail
	// Zeros may end the reference as well: some of them have to be wrong.
	if p.errors < 4 || r.ZeroTail < p.minTail() || first < start || p.errors*50 < r.ZeroTail {
		return found{}, nil
	}
	return foundf(Medium, "the last %d of %d NPU elements are 0, %d of them are wrong, and everything before offset %d passes",
		r.ZeroTail, r.Total, p.errors, first), nil
}

func tail(p *pair) (found, error) {
	r, first := p.result, p.firstError()
	if p.errors == 0 || first < p.minTail() || r.Total-first < 16 {
		return found{}, nil
	}
	ratio := float64(p.errors) / float64(r.Total-first)
	if ratio < 0.5 {
		return found{}, nil
	}
	telling, err := p.telling(first)
	if err != nil || telling < 4 || math.Pow(1-ratio, float64(telling)) > maxChance {
		return found{}, err
	}
	return foundf(Medium, "everything before offset %d of %d passes, after it %.1f %% >= 50 %% are wrong",
		first, r.Total, 100*ratio), nil
}

// telling counts the samples before an offset that would have failed as a 0: a
// start of zeros says nothing, and a few others may pass by chance.
func (p *pair) telling(before int64) (n int, err error) {
	s, err := p.sample()
	if err != nil {
		return 0, err
	}
	for i, offset := range s.offsets {
		if offset < before && !p.near(0, s.r[i]) {
			n++
		}
	}
	return n, nil
}

// strided holds if all known errors are at places with a common step.
func strided(p *pair) (found, error) {
	errors := p.knownErrors()
	if len(errors) < 16 {
		return found{}, nil
	}
	var step int64
	for i, offset := range errors[1:] {
		step = gcd(step, offset-errors[i])
	}
	if step <= 1 {
		return found{}, nil
	}
	return foundf(Medium, "the errors are %d elements apart or multiples of it, %d of %d looked at, from offset %d on%s",
		step, len(errors), p.errors, errors[0], p.stepName(step)), nil
}

// stepName says what a step may be.
func (p *pair) stepName(step int64) string {
	name := ""
	size := step * int64(p.request.NPUDType.UnitSize())
	for _, unit := range []int64{32, 16} {
		if size%unit == 0 {
			name = fmt.Sprintf(" (%d bytes, a multiple of %d)", size, unit)
			break
		}
	}
	shape := p.request.Shape
	if len(shape) > 0 && shape[len(shape)-1] > 1 && step%shape[len(shape)-1] == 0 {
		name += fmt.Sprintf(", all at one index of the last axis (%d)", shape[len(shape)-1])
	}
	return name
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

const (
	maxShift     = 64 // elements
	windowCount  = 64
	windowLength = 64
	errorWindows = 8 // windows at known errors
)

// window is a run of pairs, and a run of the reference that shifts may reach.
type window struct {
	first    int64
	n, same  []complex128 // the pairs from first on
	reached  []complex128 // of the reference, from refFirst on
	refFirst int64
}

// shifted looks for a k with n[i] = r[i+k].
func shifted(p *pair) (found, error) {
	if p.errors < 4 || p.result.Total < 8 {
		return found{}, nil
	}
	var row int64
	if shape := p.request.Shape; len(shape) > 1 {
		row = shape[len(shape)-1]
	}
	near, err := p.windows(-maxShift, maxShift)
	if err != nil {
		return found{}, err
	}
	best, shift := p.bestShift(near, slices.Collect(nearShifts))
	for _, k := range []int64{row, -row} {
		if row <= maxShift || shift != 0 {
			break
		}
		far, err := p.windows(k, k)
		if err != nil {
			return found{}, err
		}
		best, shift = p.bestShift(far, []int64{k})
	}
	if shift == 0 {
		return found{}, nil
	}
	name := ""
	if shift == row || shift == -row {
		name = fmt.Sprintf(" (one row, the length %d of the last axis)", row)
	}
	before, after := best.means()
	return foundf(Medium, "n[i] = r[i%+d]%s on %d of %d samples >= 99 %%, mean |d| %.3g instead of %.3g",
		shift, name, best.passed, best.tried, after, before), nil
}

// nearShifts yields 1, -1, 2, -2, ...
func nearShifts(yield func(int64) bool) {
	for k := int64(1); k <= maxShift; k++ {
		if !yield(k) || !yield(-k) {
			return
		}
	}
}

// bestShift returns the shift that holds and leaves the smallest error, 0 for
// none; of equal ones the first.
func (p *pair) bestShift(windows []window, shifts []int64) (best fit, shift int64) {
	size := 0
	for _, w := range windows {
		size += len(w.n)
	}
	least := math.Inf(1)
	for _, k := range shifts {
		f := p.tryShift(windows, k, size)
		_, after := f.means()
		// Most of the tensor has to be where the shift says.
		if f.tried*2 >= size && f.holds() && after < least {
			best, shift, least = f, k, after
		}
	}
	return best, shift
}

func (p *pair) tryShift(windows []window, k int64, size int) (f fit) {
	for _, w := range windows {
		for i, n := range w.n {
			if at := w.first + int64(i) + k - w.refFirst; at >= 0 && at < int64(len(w.reached)) {
				f.add(p, n, w.same[i], n, w.reached[at])
			}
			if f.hopeless(size) {
				return f
			}
		}
	}
	return f
}

// windows reads runs all over the tensor and at the first errors, and what
// shifts from low to high reach from there.
func (p *pair) windows(low, high int64) ([]window, error) {
	total := p.npu.count
	length := int64(windowLength)
	if total <= windowCount*windowLength {
		length = total
	}
	var all []window
	for _, first := range p.windowStarts() {
		from, to := max(0, first+low), min(total, first+length+high)
		w := window{
			first: first, n: make([]complex128, length), same: make([]complex128, length),
			refFirst: from, reached: make([]complex128, max(0, to-from)),
		}
		if err := p.npu.values(w.n, first); err != nil {
			return nil, err
		}
		if err := p.ref.values(w.same, first); err != nil {
			return nil, err
		}
		if len(w.reached) > 0 {
			if err := p.ref.values(w.reached, from); err != nil {
				return nil, err
			}
		}
		all = append(all, w)
	}
	return all, nil
}

// windowStarts are the first offsets of the windows; one window holds all of a
// small tensor.
func (p *pair) windowStarts() []int64 {
	total := p.npu.count
	if total <= windowCount*windowLength {
		return []int64{0}
	}
	var starts []int64
	for i, offset := range p.knownErrors() {
		if i < errorWindows {
			starts = append(starts, max(0, min(offset-windowLength/2, total-windowLength)))
		}
	}
	return append(starts, spread(total-windowLength, windowCount)...)
}
