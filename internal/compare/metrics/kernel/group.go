package kernel

import "math"

// exponentBits are the bits of the exponent of a float64.
const exponentBits = 0x7ff << 52

// Quad holds sums over pairs with d = n-r by four lanes: those of one group, or one
// of each of four groups.
type Quad struct {
	Shift  [4]float64 // a value of r
	R, RR  [4]float64 // the sums of r-Shift and of its square
	D, DD  [4]float64 // of d and its square
	DR     [4]float64 // of d*r
	UU     [4]float64 // of the squares of 2^e, the exponents of r, or of what is more
	MaxD   [4]float64 // the largest |d|
	MaxR   [4]float64 // the largest |r|
	Counts [4]float64 // of pairs; not set here
}

// GroupSums are what a Quad holds of one group.
type GroupSums struct {
	Shift, R, RR, D, DD, DR, UU, MaxD, MaxR, Count float64
}

// addEvery adds the first of each stride pairs to a lane. The bits of magnitudes rise as
// they do, and are compared without jumps.
func (q *Quad) addEvery(k, stride int, n, r []float64, floor float64) {
	k &= 3
	shift, sumR, sumRR, sumD, sumDD := q.Shift[k], q.R[k], q.RR[k], q.D[k], q.DD[k]
	sumDR, sumUU := q.DR[k], q.UU[k]
	maxD, maxR, least := math.Float64bits(q.MaxD[k]), math.Float64bits(q.MaxR[k]), math.Float64bits(floor)
	r = r[:len(n)]
	for i := 0; i < len(n); i += stride {
		x := r[i]
		d := n[i] - x
		bits := math.Float64bits(x)
		maxD = max(maxD, math.Float64bits(d)&^SignBit)
		maxR = max(maxR, bits&^SignBit)
		u := math.Float64frombits(max(bits&exponentBits, least))
		sumUU += float64(u * u)
		sumD += d
		sumDD += float64(d * d)
		sumDR += float64(d * x)
		x -= shift
		sumR += x
		sumRR += float64(x * x)
	}
	q.R[k], q.RR[k], q.D[k], q.DD[k] = sumR, sumRR, sumD, sumDD
	q.DR[k], q.UU[k] = sumDR, sumUU
	q.MaxD[k], q.MaxR[k] = math.Float64frombits(maxD), math.Float64frombits(maxR)
}

// AddColumns adds pairs to the columns of rows of a width: the first pair to the one
// at first, each other one to the next, after the last column to the first.
func AddColumns(columns []Quad, first, width int, n, r []float64, floor float64) {
	head := min(width-first, len(n))
	addColumns(columns, first, head, width, n, r, floor)
	if head < len(n) && first > 0 {
		addColumns(columns, 0, min(first, len(n)-head), width, n[head:], r[head:], floor)
	}
}

// AddRows adds rows of a width to their columns, of which there may be more; each row
// begins a stride after the one before.
func AddRows(columns []Quad, width, stride int, n, r []float64, floor float64) {
	addColumns(columns, 0, width, stride, n, r, floor)
}

// addColumns adds the pairs of count columns from first on, and those a stride after
// each.
func addColumns(columns []Quad, first, count, stride int, n, r []float64, floor float64) {
	count = min(count, len(n))
	for i := 0; i < count; i++ {
		at, q := first+i, &columns[(first+i)/4]
		if at&3 == 0 && i+4 <= count {
			rows := (len(n) - i - 4 + stride) / stride // of all four columns
			if done := rows * stride; columnsHead(q, n[i:], r[i:], rows, stride, floor) {
				for k := 0; i+k+done < len(n) && k < 4; k++ {
					q.addEvery(k, stride, n[i+k+done:], r[i+k+done:], floor)
				}
				i += 3
				continue
			}
		}
		q.addEvery(at, stride, n[i:], r[i:], floor)
	}
}

// Squares returns the sum of the squares of r.
func (q *Quad) Squares() (sum float64) {
	for k := range 4 {
		sum += q.RR[k] + float64(q.Shift[k]*(2*q.R[k]+float64(q.Counts[k]*q.Shift[k])))
	}
	return sum
}

// At returns the sums of a lane.
func (q *Quad) At(k int) GroupSums {
	k &= 3
	return GroupSums{
		Shift: q.Shift[k], R: q.R[k], RR: q.RR[k], D: q.D[k], DD: q.DD[k],
		DR: q.DR[k], UU: q.UU[k], MaxD: q.MaxD[k], MaxR: q.MaxR[k], Count: q.Counts[k],
	}
}

// Set sets the sums of a lane.
func (q *Quad) Set(k int, s *GroupSums) {
	k &= 3
	q.Shift[k], q.R[k], q.RR[k], q.D[k], q.DD[k] = s.Shift, s.R, s.RR, s.D, s.DD
	q.DR[k], q.UU[k], q.MaxD[k], q.MaxR[k], q.Counts[k] = s.DR, s.UU, s.MaxD, s.MaxR, s.Count
}

// MergeAll adds the pairs of each of the sums to the group at its place, which has the
// Shift of the first of them where it has no pairs yet.
func MergeAll(groups []GroupSums, places []int32, sums []GroupSums) {
	for i := range sums {
		groups[places[i]].add(&sums[i])
	}
}

// Merge adds the sums of other pairs of the group. Their distances from another
// value of r become those from the first one.
func (s *GroupSums) Merge(t *GroupSums) {
	if s.Count == 0 || t.Count == 0 {
		if t.Count > 0 {
			*s = *t
		}
		return
	}
	s.add(t)
}

func (s *GroupSums) add(t *GroupSums) {
	shift := t.Shift - s.Shift
	s.R += t.R + float64(t.Count*shift)
	s.RR += t.RR + float64(shift*(2*t.R+float64(t.Count*shift)))
	s.D += t.D
	s.DD += t.DD
	s.DR += t.DR
	s.UU += t.UU
	s.MaxD, s.MaxR = larger(s.MaxD, t.MaxD), larger(s.MaxR, t.MaxR)
	s.Count += t.Count
}
