package align

import (
	"math"
	"slices"
	"sort"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// AutoLayout is the condition for permuting the axes of an NPU tensor.
type AutoLayout string

// The zero value is LayoutOff.
const (
	LayoutOff AutoLayout = "" // never
	// LayoutByShape: exactly one known permutation has the shape of the reference.
	LayoutByShape AutoLayout = "shape"
	// LayoutByValues: samples of the values agree in one permutation and in no other.
	LayoutByValues AutoLayout = "auto"
)

// applyAutoLayout permutes the axes of the NPU tensor if the condition of the options holds, and
// reports whether it did.
func (g *Aligner) applyAutoLayout(a *Alignment) bool {
	if a.NPU.second != nil {
		return false
	}
	var perm []int
	var why lang.Sentence
	switch g.AutoLayout {
	case LayoutByShape:
		if perms := permutations(a.Ref.Shape, a.NPU.Shape); len(perms) == 1 {
			perm, why = perms[0], lang.Say("NPU %v transposed %v", a.NPU.Shape, perms[0])
		}
	case LayoutByValues:
		if p, agree, of := permutationByValues(a); p != nil {
			perm, why = p, lang.Say("NPU %v transposed %v: %.1f %% of %d samples agree, and at most half as many in any other order", a.NPU.Shape, p, 100*float64(agree)/float64(of), of)
		}
	}
	plan, err := layout.Transpose(a.NPU.Shape, perm)
	if perm == nil || err != nil {
		return false
	}
	a.note(why)
	a.NPU.second, a.NPU.Shape = plan, plan.Shape
	return true
}

// knownPermutations are the permutations between NCHW, NHWC and HWCN, between NCDHW, NDHWC and
// DHWCN, and of transposed matrices. Axis i of the result is axis perm[i] of the tensor.
var knownPermutations = [][]int{
	{1, 0},
	{0, 2, 1}, {1, 0, 2}, {2, 0, 1}, {1, 2, 0},
	{0, 3, 1, 2}, {0, 2, 3, 1}, {3, 2, 0, 1}, {2, 3, 1, 0}, {3, 0, 1, 2}, {1, 2, 3, 0}, {0, 1, 3, 2},
	{0, 4, 1, 2, 3}, {0, 2, 3, 4, 1}, {4, 3, 0, 1, 2}, {2, 3, 4, 1, 0}, {0, 1, 2, 4, 3},
}

// permutations lists the known permutations of got that have the shape want.
func permutations(want, got tensor.Shape) [][]int {
	var all [][]int
	for _, perm := range knownPermutations {
		if len(perm) == len(got) && len(perm) == len(want) && fitsShape(perm, want, got) {
			all = append(all, perm)
		}
	}
	return all
}

func fitsShape(perm []int, want, got tensor.Shape) bool {
	for i, p := range perm {
		if got[p] != want[i] {
			return false
		}
	}
	return true
}

// maxPermutedRank is the highest rank for which all permutations are tried.
const maxPermutedRank = 6

// allPermutations lists all permutations of got with the shape want, known ones first. Of
// permutations that differ in axes of length 1 only, it lists the first.
func allPermutations(want, got tensor.Shape) [][]int {
	if len(want) != len(got) || len(got) > maxPermutedRank {
		return nil
	}
	all := permutations(want, got)
	var extend func(perm []int)
	extend = func(perm []int) {
		if len(perm) == len(got) {
			all = append(all, slices.Clone(perm))
			return
		}
		for axis := range got {
			if got[axis] == want[len(perm)] && !slices.Contains(perm, axis) {
				extend(append(perm, axis))
			}
		}
	}
	extend(make([]int, 0, len(got)))
	long := func(perm []int) []int {
		return slices.DeleteFunc(slices.Clone(perm), func(axis int) bool { return got[axis] == 1 })
	}
	var different [][]int
	for _, perm := range all {
		if !slices.ContainsFunc(different, func(other []int) bool { return slices.Equal(long(other), long(perm)) }) {
			different = append(different, perm)
		}
	}
	return different
}

// Values prove an axis order if the share agreeing of the samples agree in it, and at most half as many in any other
// order.
const (
	minElements  = 64   // least number of elements of a tensor
	maxSamples   = 4096 // largest number of samples of a tensor
	minAgreement = 0.9  // share of the samples, 0 to 1
	// Two values agree if they differ by at most accuracy times the larger of the magnitude of the reference's value
	// and the root mean square of the reference / smallest.
	accuracy   = 1.0 / 64
	rmsDivisor = 16
)

// permutationByValues returns the permutation that gives the NPU tensor the shape and the values of the reference,
// with the numbers of agreeing samples and of all samples; nil without such a permutation. It must win against the
// stored order, too: a tensor of equal values proves nothing.
func permutationByValues(a *Alignment) (perm []int, agree, of int) {
	n := elementCount(a.Ref.Shape)
	perms := allPermutations(a.Ref.Shape, a.NPU.Shape)
	if n < minElements || len(perms) == 0 {
		return nil, 0, 0
	}
	lying := sampleOffsets(n)
	of = len(lying)
	places := [][]int64{lying}
	for _, p := range perms {
		places = append(places, permuteOffsets(lying, a.Ref.Shape, a.NPU.Shape, p))
	}
	ref, err := a.Ref.samples(lying)
	if err != nil || ref == nil {
		return nil, 0, 0 // the comparison reports the error
	}
	wanted := slices.Concat(places...)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	values, err := a.NPU.samples(wanted)
	if err != nil || values == nil {
		return nil, 0, 0
	}
	counts := make([]int, len(places))
	for i := range places {
		npu := make([]float64, of)
		for k, at := range places[i] {
			j, _ := slices.BinarySearch(wanted, at)
			npu[k] = values[j]
		}
		counts[i] = countAgreeing(ref, npu)
	}
	best := 0
	for i := range counts {
		if counts[i] > counts[best] {
			best = i
		}
	}
	for i := range counts {
		if i != best && 2*counts[i] > counts[best] {
			return nil, 0, 0
		}
	}
	if best == 0 || float64(counts[best]) < minAgreement*float64(of) {
		return nil, 0, 0
	}
	return perms[best-1], counts[best], of
}

// sampleOffsets returns the offsets of samples of n elements.
func sampleOffsets(n int64) []int64 {
	of := min(n, maxSamples)
	places := make([]int64, of)
	for k := range places {
		places[k] = int64(k) * (n / of)
		places[k] += int64(k) * (n % of) / of
	}
	return places
}

// permuteOffsets returns the offsets in the NPU tensor of elements of the reference.
func permuteOffsets(lying []int64, want, got tensor.Shape, perm []int) []int64 {
	all := make([]int64, len(lying))
	strides := got.Strides()
	for k, at := range lying {
		for i := len(want) - 1; i >= 0; i-- {
			all[k] += at % want[i] * strides[perm[i]]
			at /= want[i]
		}
	}
	return all
}

// countAgreeing counts the samples that agree.
func countAgreeing(ref, npu []float64) (agree int) {
	var sum float64
	finite := 0
	for _, r := range ref {
		if !math.IsNaN(r) && !math.IsInf(r, 0) {
			sum += float64(r * r)
			finite++
		}
	}
	least := math.Sqrt(sum/float64(max(1, finite))) / rmsDivisor
	for k, r := range ref {
		d := math.Abs(npu[k] - r) // NaN or infinite if a value is not finite
		if !math.IsInf(r, 0) && d <= float64(accuracy*max(math.Abs(r), least)) {
			agree++
		}
	}
	return agree
}

// maxReadGap is the largest distance, in elements, of two samples that are read at once.
const maxReadGap = 256

// samples returns the elements at ascending offsets; nil for a complex type.
func (v *View) samples(places []int64) ([]float64, error) {
	dec, err := tensor.NewDecoder(v.DType)
	if err != nil || dec.Host().Complex() {
		return nil, err
	}
	reader, err := v.reader(make([]layout.Buffers, 2))
	if err != nil {
		return nil, err
	}
	var block, host []byte
	var reals []float64
	all := make([]float64, len(places))
	for i := 0; i < len(places); {
		first := places[i]
		end := i + sort.Search(len(places)-i, func(k int) bool { return places[i+k]-first >= layout.BlockElements })
		for k := i + 1; k < end; k++ {
			if places[k]-places[k-1] > maxReadGap {
				end = k
			}
		}
		n := int(places[end-1] - first + 1)
		block, host, reals = resizeBuffer(block, n*dec.UnitSize()), resizeBuffer(host, n*dec.Host().Size()), resizeBuffer(reals, n)
		if err := reader.ReadElements(block, first); err != nil {
			return nil, err
		}
		dec.Decode(host, block)
		tensor.Float64s(reals, host, dec.Host())
		for ; i < end; i++ {
			all[i] = reals[places[i]-first]
		}
	}
	return all, nil
}

// resizeBuffer returns n elements, in the memory of b if it is large enough.
func resizeBuffer[T any](b []T, n int) []T { return slices.Grow(b[:0], n)[:n] }
