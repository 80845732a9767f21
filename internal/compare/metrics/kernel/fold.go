package kernel

// Fold has the combined sums and maxima of the groups of one bin, in four lanes.
type Fold struct {
	// Weighted sums over groups: squares of RefRMS, RefStd, RMS and Rounding, and Mean of d,
	// all from Numbers.
	Ref, Std, RMS, Rounding, Mean [4]float64
	// Maxima over groups: Relative and Inverse of Numbers, |r| and |d|.
	Relative, Inverse, MaxR, MaxD [4]float64
}

// Totals are sums over all pairs of the groups, in four lanes.
type Totals struct {
	R, D, DR, DD [4]float64
	// Scale and Mean are the parts of DD that a scale and a mean of each group explain.
	Scale, Mean [4]float64
}

// Gather sets lane k of q to group k.
func (q *Quad) Gather(groups *[4]GroupSums) {
	for k := range groups {
		q.Set(k, &groups[k])
	}
}

// AddFour adds four groups of equal weight, with their numbers.
func (f *Fold) AddFour(t *Totals, n *Numbers, q *Quad, weight float64) {
	for k := range 4 {
		f.Add(k, t, n, q, weight)
	}
}

// Add adds the group in lane k.
func (f *Fold) Add(k int, t *Totals, n *Numbers, q *Quad, weight float64) {
	k &= 3
	f.Ref[k] += float64(weight * float64(n.RefRMS[k]*n.RefRMS[k]))
	f.Std[k] += float64(weight * float64(n.RefStd[k]*n.RefStd[k]))
	f.RMS[k] += float64(weight * float64(n.RMS[k]*n.RMS[k]))
	f.Rounding[k] += float64(weight * float64(n.Rounding[k]*n.Rounding[k]))
	f.Mean[k] += float64(weight * n.Mean[k])
	f.Relative[k] = keepLarger(f.Relative[k], n.Relative[k])
	f.Inverse[k] = keepLarger(f.Inverse[k], n.Inverse[k])
	f.MaxR[k] = keepLarger(f.MaxR[k], q.MaxR[k])
	f.MaxD[k] = keepLarger(f.MaxD[k], q.MaxD[k])
	t.R[k] += float64(q.Counts[k] * n.RefMean[k])
	t.D[k] += q.D[k]
	t.DR[k] += q.DR[k]
	t.DD[k] += q.DD[k]
	t.Scale[k] += n.Scale[k]
	t.Mean[k] += float64(q.D[k] * n.Mean[k])
}

// keepLarger returns y if it is larger than x, else x.
func keepLarger(x, y float64) float64 {
	if y > x {
		return y
	}
	return x
}

// LaneSum returns the sum of the lanes.
func LaneSum(x *[4]float64) float64 { return sumLanes(x[:]) }

// LaneMax returns the largest of the lanes.
func LaneMax(x *[4]float64) float64 { return max(max(x[0], x[1]), max(x[2], x[3])) }
