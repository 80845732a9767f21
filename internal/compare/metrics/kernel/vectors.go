//go:build (amd64 || arm64) && !purego

package kernel

// The heads of the loops in assembly: they process the elements in groups of four if the processor has the vector
// instructions, and return how many elements they processed. The results have the same bits as the results of the
// plain loops.

//go:noescape
func relativesVector(rel, abs, n, s, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, w *RelativeOptions, out *ratioLanes)

//go:noescape
func groupsVector(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes, columns *Quad, stride int)

func relativesHead(t *Tables, rel, abs, n, s, r []float64, w *RelativeOptions, out *ratioLanes) int {
	k := len(r) &^ 3
	if !vectors || k == 0 {
		return 0
	}
	var relCounts *uint32
	if w.Quotients {
		relCounts = &t.Rel[0]
	}
	if w.Flags != nil {
		_ = w.Flags[k-1]
	}
	relativesVector(&rel[:k][0], &abs[:k][0], &n[:k][0], &s[:k][0], &r[0], k, &t.marks[:k][0], &t.Abs[0], relCounts, w, out)
	return k
}

// runsHead processes all runs, or nothing and returns false.
func runsHead(octaves *[octaveCount][4]Octave, out []GroupSums, runs []int, n, r []float64, floor float64, signs *signLanes) bool {
	if !vectors {
		return false
	}
	total := 0
	for _, run := range runs {
		total += run
	}
	_, _, _ = n[total-1], r[total-1], out[len(runs)-1]
	groupsVector(octaves, &n[0], &r[0], &runs[0], len(runs), floor, &out[0], signs, nil, 0)
	return true
}

// columnsHead adds rows pairs to each of four columns, or nothing and returns false.
func columnsHead(q *Quad, n, r []float64, rows, stride int, floor float64) bool {
	if !vectors {
		return false
	}
	_, _ = n[(rows-1)*stride+3], r[(rows-1)*stride+3]
	groupsVector(nil, &n[0], &r[0], nil, rows, floor, nil, nil, q, stride)
	return true
}
