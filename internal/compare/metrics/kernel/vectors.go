//go:build (amd64 || arm64) && !purego

package kernel

// The heads of the loops of this package: they do as many elements as come in
// groups of four, with the processor's vectors where it has them, and return how
// many these are. What they compute is what the loops compute, bit by bit.

// groups returns how many of count elements come in groups.
func groups(count int) int {
	if !vectors {
		return 0
	}
	return count &^ 3
}

//go:noescape
func sidesVector(n, r *float64, count int, n0, r0 float64, out *[20]float64)

//go:noescape
func differencesVector(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)

//go:noescape
func spanVector(values *float64, count int, out *spanLanes) (special uint32)

//go:noescape
func relativesVector(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)

//go:noescape
func smallVector(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)

//go:noescape
func roundVector(dst *int64, values *float64, count int, form *Form)

//go:noescape
func digestVector(n, r *int64, count int, out *[16]uint64)

//go:noescape
func addVector(dst, values *float64, count int)

//go:noescape
func sumVector(values *float64, count int, out *[4]float64)

//go:noescape
func fromVector(values *float64, count int, limit float64) int

//go:noescape
func float32sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func float16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func bfloat16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)

//go:noescape
func codes16Vector(dst *int64, src *byte, count int)

//go:noescape
func exceedsVector(abs, r *float64, count int, atol, rtol float64) uint32

//go:noescape
func halvesVector(dst *int64, src *byte, count int)

//go:noescape
func codes32Vector(dst *int64, src *byte, count int)

//go:noescape
func runsVector(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes)

//go:noescape
func smallestVector(values *float64, count int, out *[4]float64)

//go:noescape
func columnsVector(q *Quad, n, r *float64, quads, rows, stride int, floor float64)

//go:noescape
func numbersVector(n *Numbers, q *Quad, epsilon float64)

//go:noescape
func mergeVector(groups *GroupSums, places *int32, sums *GroupSums, count int)

//go:noescape
func gatherVector(q *Quad, groups *[4]GroupSums)

//go:noescape
func foldVector(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64)

//go:noescape
func stepsVector(n, r *float64, count int, out *[8]float64)

//go:noescape
func keptStepsVector(n, r *float64, keep *uint64, count int, out *[8]float64)

func sidesHead(n, r []float64, n0, r0 float64, out *[20]float64) int {
	k := groups(len(n))
	if k > 0 {
		sidesVector(&n[0], &r[:k][0], k, n0, r0, out)
	}
	return k
}

func differencesHead(n, r, d, abs []float64, d0 float64, out *[12]float64, negative *[4]int64) int {
	k := groups(len(n))
	if k > 0 {
		differencesVector(&n[0], &r[:k][0], &d[:k][0], &abs[:k][0], k, d0, out, negative)
	}
	return k
}

func spanHead(values []float64, out *spanLanes) (k int, special bool) {
	if k = groups(len(values)); k > 0 {
		special = spanVector(&values[0], k, out) != 0
	}
	return k, special
}

// countLag is the number of pairs that relativesVector leaves for counting, or all
// if they are less.
const countLag = 64

// relativesHead also returns how many of the pairs are counted.
func relativesHead(t *Tables, rel, abs, r []float64, out *ratioLanes) (k, counted int) {
	if k = relativesWide(t, rel, abs, r, out); k > 0 {
		return k, k
	}
	if k = groups(len(r)); k > 0 {
		relativesVector(&rel[:k][0], &abs[:k][0], &r[0], k, &t.marks[:k][0], &t.abs[0], &t.Rel[0], out)
	}
	return k, max(k-countLag, 0)
}

func smallHead(n, r []float64, nNormal, rNormal float64, out *[20]int64) int {
	k := groups(len(n))
	if k > 0 {
		smallVector(&n[0], &r[:k][0], k, nNormal, rNormal, out)
	}
	return k
}

func roundHead(dst []int64, values []float64, form *Form) int {
	k := groups(len(values))
	if k > 0 {
		roundVector(&dst[:k][0], &values[0], k, form)
	}
	return k
}

func digestHead(n, r []int64, out *[16]uint64) int {
	k := groups(len(n))
	if k > 0 {
		digestVector(&n[0], &r[:k][0], k, out)
	}
	return k
}

func addHead(dst, values []float64) int {
	k := groups(len(values))
	if k > 0 {
		addVector(&dst[:k][0], &values[0], k)
	}
	return k
}

func sumHead(values []float64, out *[4]float64) int {
	k := groups(len(values))
	if k > 0 {
		sumVector(&values[0], k, out)
	}
	return k
}

// fromHead returns the number of elements before the first group that has one of
// limit or more.
func fromHead(values []float64, limit float64) int {
	k := groups(len(values))
	if k > 0 {
		k = fromVector(&values[0], k, limit)
	}
	return k
}

func float32sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = float32sVector(&dst[0], &src[:4*k][0], k, out) != 0
	}
	return k, special
}

func float16sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = float16sVector(&dst[0], &src[:2*k][0], k, out) != 0
	}
	return k, special
}

func bfloat16sHead(dst []float64, src []byte, out *spanLanes) (k int, special bool) {
	if k = groups(len(dst)); k > 0 {
		special = bfloat16sVector(&dst[0], &src[:2*k][0], k, out) != 0
	}
	return k, special
}

func codes16Head(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		codes16Vector(&dst[0], &src[:2*k][0], k)
	}
	return k
}

// halvesHead sets dst to the codes of float32 elements in float16.
func halvesHead(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		halvesVector(&dst[0], &src[:4*k][0], k)
	}
	return k
}

func codes32Head(dst []int64, src []byte) int {
	k := groups(len(dst))
	if k > 0 {
		codes32Vector(&dst[0], &src[:4*k][0], k)
	}
	return k
}

func exceedsHead(abs, r []float64, atol, rtol float64) (k int, exceeds bool) {
	if k = groups(len(abs)); k > 0 {
		exceeds = exceedsVector(&abs[0], &r[:k][0], k, atol, rtol) != 0
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
	if !runsWide(octaves, out, runs, n, r, floor, signs) {
		runsVector(octaves, &n[0], &r[0], &runs[0], len(runs), floor, &out[0], signs)
	}
	return true
}

func smallestHead(values []float64, out *[4]float64) int {
	k := groups(len(values))
	if k > 0 {
		smallestVector(&values[0], k, out)
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
	columnsVector(&quads[0], &n[0], &r[0], len(quads), rows, 8*stride, floor)
	return true
}

func numbersHead(n *Numbers, q *Quad, epsilon float64) bool {
	if !vectors {
		return false
	}
	numbersVector(n, q, epsilon)
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
	mergeVector(&groups[0], &places[0], &sums[0], len(sums))
	return true
}

func gatherHead(q *Quad, groups *[4]GroupSums) bool {
	if !vectors {
		return false
	}
	gatherVector(q, groups)
	return true
}

func foldHead(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64) bool {
	if !vectors {
		return false
	}
	foldVector(f, t, n, q, weight)
	return true
}

func stepsHead(n, r []float64, keep []uint64, out *[8]float64) int {
	k := groups(len(n) - 1)
	switch {
	case k == 0:
	case keep == nil:
		stepsVector(&n[0], &r[:k+1][0], k, out)
	default:
		keptStepsVector(&n[0], &r[:k+1][0], &keep[:k][0], k, out)
	}
	return k
}
