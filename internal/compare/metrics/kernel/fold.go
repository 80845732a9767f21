package kernel

// Fold holds what groups that share a bin have together, by the lane each was in.
type Fold struct {
	// The sums of the squares of numbers of the groups, and of the means of d, each as
	// often as its weight says.
	Ref, Std, RMS, Rounding, Mean [4]float64
	// The largest of the groups: Relative and Inverse of Numbers, |r| and |d|.
	Relative, Inverse, MaxR, MaxD [4]float64
}

// Totals are sums over the pairs of groups, by the lane each was in.
type Totals struct {
	R, D, DR, DD [4]float64
	// Scale and Mean are what a scale and a mean of each group explain of DD.
	Scale, Mean [4]float64
}

// Gather puts the sums of four groups in the lanes of q.
func (q *Quad) Gather(groups *[4]GroupSums) {
	for k := range groups {
		q.Set(k, &groups[k])
	}
}

// AddFour adds four groups of a weight, with their numbers.
func (f *Fold) AddFour(t *Totals, n *Numbers, q *Quad, weight float64) {
	for k := range 4 {
		f.Add(k, t, n, q, weight)
	}
}

// Add adds the group of a lane.
func (f *Fold) Add(k int, t *Totals, n *Numbers, q *Quad, weight float64) {
	k &= 3
	f.Ref[k] += float64(weight * float64(n.RefRMS[k]*n.RefRMS[k]))
	f.Std[k] += float64(weight * float64(n.RefStd[k]*n.RefStd[k]))
	f.RMS[k] += float64(weight * float64(n.RMS[k]*n.RMS[k]))
	f.Rounding[k] += float64(weight * float64(n.Rounding[k]*n.Rounding[k]))
	f.Mean[k] += float64(weight * n.Mean[k])
	f.Relative[k] = larger(f.Relative[k], n.Relative[k])
	f.Inverse[k] = larger(f.Inverse[k], n.Inverse[k])
	f.MaxR[k] = larger(f.MaxR[k], q.MaxR[k])
	f.MaxD[k] = larger(f.MaxD[k], q.MaxD[k])
	t.R[k] += float64(q.Counts[k] * n.RefMean[k])
	t.D[k] += q.D[k]
	t.DR[k] += q.DR[k]
	t.DD[k] += q.DD[k]
	t.Scale[k] += n.Scale[k]
	t.Mean[k] += float64(q.D[k] * n.Mean[k])
}

// larger returns y if it is larger than x, else x.
func larger(x, y float64) float64 {
	if y > x {
		return y
	}
	return x
}

// LaneSum adds up the lanes.
func LaneSum(x *[4]float64) float64 { return lanes(x[:]) }

// LaneMax returns the largest of the lanes.
func LaneMax(x *[4]float64) float64 { return max(max(x[0], x[1]), max(x[2], x[3])) }
