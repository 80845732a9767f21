package kernel

// relateLanes holds what Relate finds by lanes.
type relateLanes struct {
	ratios      ratioLanes
	sides       [20]float64
	differences [12]float64
	negative    [4]int64
}

// Relation is what Relate finds.
type Relation struct {
	Sides       PairSums
	Differences DifferenceSums
	Ratios      Ratios
}

// Relate sets what SumPairs, Subtract into one slice and Relatives find, in one pass over
// as many pairs as come in groups where the processor can.
func (t *Tables) Relate(to *Relation, rel, abs, n, r []float64) {
	out := &t.lanes
	if !relateHead(t, rel, abs, n, r, out) {
		to.Sides, to.Differences = SumPairs(n, r), Subtract(abs, abs, n, r)
		to.Ratios = t.Relatives(rel, abs, r)
		return
	}
	var others bool
	if to.Ratios, others = out.ratios.ratios(); others {
		t.countOthers(abs, r)
	}
	to.Sides, to.Differences = sidesOf(n[0], r[0], &out.sides), differencesOf(n[0]-r[0], &out.differences, &out.negative)
}
