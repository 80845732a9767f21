package kernel

// relateLanes holds what Relate finds by lanes.
type relateLanes struct {
	ratios      ratioLanes
	sides       [20]float64
	differences [12]float64
	negative    [4]int64
}

// Relate does what SumPairs, Subtract into one slice and Relatives do, in one pass over
// as many pairs as come in groups where the processor can.
func (t *Tables) Relate(rel, abs, n, r []float64) (PairSums, DifferenceSums, Ratios) {
	var out relateLanes
	if !relateHead(t, rel, abs, n, r, &out) {
		sides, differences := SumPairs(n, r), Subtract(abs, abs, n, r)
		return sides, differences, t.Relatives(rel, abs, r)
	}
	c, others := out.ratios.ratios()
	if others {
		t.countOthers(abs, r)
	}
	return sidesOf(n[0], r[0], &out.sides), differencesOf(n[0]-r[0], &out.differences, &out.negative), c
}
