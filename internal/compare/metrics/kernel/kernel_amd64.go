//go:build !purego

package kernel

// The heads of the loops of this package: they do as many elements as come in
// groups of four, with AVX2 where the processor has it, and return how many
// these are. What they compute is what the loops compute, bit by bit.

// vectors is whether the processor has AVX2 and F16C and the system keeps their
// registers. All loops ask, so it is no function.
var vectors = hasVectors()

func hasVectors() bool {
	const osxsave, avx, f16c, avx2 = 1 << 27, 1 << 28, 1 << 29, 1 << 5
	highest, _, _, _ := cpuid(0, 0)
	if highest < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	if c&(osxsave|avx|f16c) != osxsave|avx|f16c || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

// groups returns how many of count elements come in groups.
func groups(count int) int {
	if !vectors {
		return 0
	}
	return count &^ 3
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32

//go:noescape
func sidesAVX2(n, r *float64, count int, n0, r0 float64, out *[20]float64)

//go:noescape
func differencesAVX2(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)

//go:noescape
func spanAVX2(values *float64, count int, out *spanLanes) (special uint32)

//go:noescape
func relativesAVX2(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)

//go:noescape
func smallAVX2(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)

//go:noescape
func roundAVX2(dst *int64, values *float64, count int, form *Form)

//go:noescape
func digestAVX2(n, r *int64, count int, out *[16]uint64)

//go:noescape
func addAVX2(dst, values *float64, count int)

//go:noescape
func sumAVX2(values *float64, count int, out *[4]float64)

//go:noescape
func fromAVX2(values *float64, count int, limit float64) int

//go:noescape
func float32sAVX2(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func float16sAVX2(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func bfloat16sAVX2(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func codes16AVX2(dst *int64, src *byte, count int)

//go:noescape
func exceedsAVX2(abs, r *float64, count int, atol, rtol float64) uint32

//go:noescape
func halvesAVX2(dst *int64, src *byte, count int)

//go:noescape
func codes32AVX2(dst *int64, src *byte, count int)

//go:noescape
func runsAVX2(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes)

//go:noescape
func smallestAVX2(values *float64, count int, out *[4]float64)

//go:noescape
func columnsAVX2(q *Quad, n, r *float64, quads, rows, stride int, floor float64)

//go:noescape
func numbersAVX2(n *Numbers, q *Quad, epsilon float64)

//go:noescape
func mergeAVX2(groups *GroupSums, places *int32, sums *GroupSums, count int)

//go:noescape
func gatherAVX2(q *Quad, groups *[4]GroupSums)

//go:noescape
func foldAVX2(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64)

//go:noescape
func stepsAVX2(n, r *float64, count int, out *[8]float64)

//go:noescape
func keptStepsAVX2(n, r *float64, keep *uint64, count int, out *[8]float64)

func sidesHead(n, r []float64, n0, r0 float64, out *[20]float64) int {
	k := groups(len(n))
	if k > 0 {
		sidesAVX2(&n[0], &r[:k][0], k, n0, r0, out)
	}
	return k
}

func differencesHead(n, r, d, abs []float64, d0 float64, out *[12]float64, negative *[4]int64) int {
	k := groups(len(n))
	if k > 0 {
		differencesAVX2(&n[0], &r[:k][0], &d[:k][0], &abs[:k][0], k, d0, out, negative)
	}
	return k
}

func spanHead(values []float64, out *spanLanes) (k int, special bool) {
	if k = groups(len(values)); k > 0 {
		special = spanAVX2(&values[0], k, out) != 0
	}
	return k, special
}

// countLag is the number of pairs that relativesHead leaves for counting, or all
// if they are less.
const countLag = 64

func relativesHead(t *Tables, rel, abs, r []float64, out *ratioLanes) int {
	k := groups(len(r))
	if k > 0 {
		relativesAVX2(&rel[:k][0], &abs[:k][0], &r[0], k, &t.marks[:k][0], &t.abs[0], &t.Rel[0], out)
	}
	return k
}

func smallHead(n, r []float64, nNormal, rNormal float64, out *[20]int64) int {
	k := groups(len(n))
	if k > 0 {
		smallAVX2(&n[0], &r[:k][0], k, nNormal, rNormal, out)
	}
	return k
}

func roundHead(dst []int64, values []float64, form *Form) int {
	k := groups(len(values))
	if k > 0 {
		roundAVX2(&dst[:k][0], &values[0], k, form)
	}
	return k
}

func digestHead(n, r []int64, out *[16]uint64) int {
	k := groups(len(n))
	if k > 0 {
		digestAVX2(&n[0], &r[:k][0], k, out)
	}
	return k
}

func addHead(dst, values []float64) int {
	k := groups(len(values))
	if k > 0 {
		addAVX2(&dst[:k][0], &values[0], k)
	}
	return k
}

func sumHead(values []float64, out *[4]float64) int {
	k := groups(len(values))
	if k > 0 {
		sumAVX2(&values[0], k, out)
	}
	return k
}

// fromHead returns the number of elements before the first group that has one of
// limit or more.
func fromHead(values []float64, limit float64) int {
	k := groups(len(values))
	if k > 0 {
		k = fromAVX2(&values[0], k, limit)
	}
	return k
}

func float32sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = float32sAVX2(&dst[0], &src[:4*k][0], k, out) != 0
	}
	return k, special
}

func float16sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = float16sAVX2(&dst[0], &src[:2*k][0], k, out) != 0
	}
	return k, special
}

func bfloat16sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = bfloat16sAVX2(&dst[0], &src[:2*k][0], k, out) != 0
	}
	return k, special
}

func codes16Head(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		codes16AVX2(&dst[0], &src[:2*k][0], k)
	}
	return k
}

// halvesHead sets dst to the codes of float32 elements in float16.
func halvesHead(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		halvesAVX2(&dst[0], &src[:4*k][0], k)
	}
	return k
}

func codes32Head(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		codes32AVX2(&dst[0], &src[:4*k][0], k)
	}
	return k
}

func exceedsHead(abs, r []float64, atol, rtol float64) (k int, exceeds bool) {
	if k = groups(len(abs)); k > 0 {
		exceeds = exceedsAVX2(&abs[0], &r[:k][0], k, atol, rtol) != 0
	}
	return k, exceeds
}

// runsHead adds all pairs, which the runs are made of, or none.
func runsHead(octaves *[octaveCount][4]Octave, out []GroupSums, runs []int, n, r []float64, floor float64, signs *signLanes) bool {
	if !vectors {
		return false
	}
	total := 0
	for _, run := range runs {
		total += run
	}
	_, _, _ = n[total-1], r[total-1], out[len(runs)-1]
	runsAVX2(octaves, &n[0], &r[0], &runs[0], len(runs), floor, &out[0], signs)
	return true
}

func smallestHead(values []float64, out *[4]float64) int {
	k := groups(len(values))
	if k > 0 {
		smallestAVX2(&values[0], k, out)
	}
	return k
}

// columnsHead adds the pairs of as many quads as there are and as many rows, from
// the first of n and r on; rows begin a stride after each other.
func columnsHead(quads []Quad, rows, stride int, n, r []float64, floor float64) bool {
	if !vectors {
		return false
	}
	last := (rows-1)*stride + 4*len(quads) - 1
	_, _ = n[last], r[last]
	columnsAVX2(&quads[0], &n[0], &r[0], len(quads), rows, 8*stride, floor)
	return true
}

func numbersHead(n *Numbers, q *Quad, epsilon float64) bool {
	if !vectors {
		return false
	}
	numbersAVX2(n, q, epsilon)
	return true
}

// mergeHead merges all sums, whose places are in groups, or none.
func mergeHead(groups []GroupSums, places []int32, sums []GroupSums) bool {
	if !vectors || len(sums) == 0 {
		return false
	}
	for _, at := range places[:len(sums)] {
		_ = groups[at]
	}
	mergeAVX2(&groups[0], &places[0], &sums[0], len(sums))
	return true
}

func gatherHead(q *Quad, groups *[4]GroupSums) bool {
	if !vectors {
		return false
	}
	gatherAVX2(q, groups)
	return true
}

func foldHead(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64) bool {
	if !vectors {
		return false
	}
	foldAVX2(f, t, n, q, weight)
	return true
}

func stepsHead(n, r []float64, keep []uint64, out *[8]float64) int {
	k := groups(len(n) - 1)
	switch {
	case k == 0:
	case keep == nil:
		stepsAVX2(&n[0], &r[:k+1][0], k, out)
	default:
		keptStepsAVX2(&n[0], &r[:k+1][0], &keep[:k][0], k, out)
	}
	return k
}
