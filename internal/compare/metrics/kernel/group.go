package kernel

import "math"

// exponentBits masks the exponent of a float64.
const exponentBits = 0x7ff << 52

// Quad has sums over pairs, d = n-r, in four lanes: the lanes of one group, or four groups
// with a lane each.
type Quad struct {
	Shift  [4]float64 // a value of r
	R, RR  [4]float64 // sums of r-Shift and of its square
	D, DD  [4]float64 // of d and of its square
	DR     [4]float64 // of d*r
	UU     [4]float64 // of squares of 2^e, e the exponent of r; of the floor if 2^e is smaller
	MaxD   [4]float64 // the largest |d|
	MaxR   [4]float64 // the largest |r|
	Counts [4]float64 // number of pairs; set by the caller
}

// GroupSums has the sums of one group: see Quad.
type GroupSums struct {
	Shift, R, RR, D, DD, DR, UU, MaxD, MaxR, Count float64
}

// addEvery adds every stride-th pair to lane k. Magnitudes order like their bits, so maxima
// are integer comparisons without jumps.
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

// AddColumns adds pairs to columns, in rows of width columns: the first pair to column first,
// the next one to the next column, and after the last column to column 0.
func AddColumns(columns []Quad, first, width int, n, r []float64, floor float64) {
	head := min(width-first, len(n))
	addColumns(columns, first, head, width, n, r, floor)
	if head < len(n) && first > 0 {
		addColumns(columns, 0, min(first, len(n)-head), width, n[head:], r[head:], floor)
	}
}

// AddRows adds rows of width pairs to the first width columns; rows start stride pairs
// apart.
func AddRows(columns []Quad, width, stride int, n, r []float64, floor float64) {
	addColumns(columns, 0, width, stride, n, r, floor)
}

// addColumns adds pairs to count columns from first on; pairs of a column are stride apart.
func addColumns(columns []Quad, first, count, stride int, n, r []float64, floor float64) {
	count = min(count, len(n))
	for i := 0; i < count; i++ {
		at, q := first+i, &columns[(first+i)/4]
		if at&3 == 0 && i+4 <= count {
			rows := (len(n) - i - 4 + stride) / stride // complete rows of all four columns
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

// At returns lane k as the sums of a group.
func (q *Quad) At(k int) GroupSums {
	k &= 3
	return GroupSums{
		Shift: q.Shift[k], R: q.R[k], RR: q.RR[k], D: q.D[k], DD: q.DD[k],
		DR: q.DR[k], UU: q.UU[k], MaxD: q.MaxD[k], MaxR: q.MaxR[k], Count: q.Counts[k],
	}
}

// Set sets lane k to the sums of a group.
func (q *Quad) Set(k int, s *GroupSums) {
	k &= 3
	q.Shift[k], q.R[k], q.RR[k], q.D[k], q.DD[k] = s.Shift, s.R, s.RR, s.D, s.DD
	q.DR[k], q.UU[k], q.MaxD[k], q.MaxR[k], q.Counts[k] = s.DR, s.UU, s.MaxD, s.MaxR, s.Count
}

// MergeAll merges sums[i] into groups[places[i]]. An empty group must already have the
// Shift of its first sums.
func MergeAll(groups []GroupSums, places []int32, sums []GroupSums) {
	for i := range sums {
		groups[places[i]].add(&sums[i])
	}
}

// Merge adds the sums of other pairs of the group; sums relative to t.Shift are converted
// to s.Shift.
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
	s.MaxD, s.MaxR = keepLarger(s.MaxD, t.MaxD), keepLarger(s.MaxR, t.MaxR)
	s.Count += t.Count
}
