package align

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Grid is the shape of the tokens of a side. A packed run has a single sequence.
type Grid struct{ Sequences, Positions int64 }

// Rows is the number of tokens.
func (g Grid) Rows() int64 { return g.Sequences * g.Positions }

// Tokens says which rows of both sides belong to the same token.
type Tokens struct {
	Ref, NPU Grid
	// Rows are pairs of flat rows, reference and NPU: a row is sequence x Positions + position.
	Rows [][2]int64

	mu         sync.Mutex
	selections [kinds]*commonPositions
	oneSided   [2]*Tokens // of one side each
}

// TokensOfSide returns the tokens for a tensor of one side that is read alone.
func (t *Tokens) TokensOfSide(npu bool) *Tokens {
	t.mu.Lock()
	defer t.mu.Unlock()
	side, grid := 0, t.Ref
	if npu {
		side, grid = 1, t.NPU
	}
	if t.oneSided[side] == nil {
		one := &Tokens{Ref: grid, NPU: grid}
		for _, rows := range t.Rows {
			one.Rows = append(one.Rows, [2]int64{rows[side], rows[side]})
		}
		t.oneSided[side] = one
	}
	return t.oneSided[side]
}

// kind is the meaning of the joined axes of a tensor. The first kind that fits a tensor is used.
type kind int

const (
	byPair      kind = iota // queries and keys of one sequence, as in attention scores
	byRow                   // tokens
	byPositions             // pairs of positions, the same in all sequences, as in a causal mask
	byPosition
	bySequence
	kinds
)

// commonPositions lists the positions that both tensors have along the joined axes: per side as runs of neighbouring
// positions, in the order of the reference. count is the number of positions.
type commonPositions struct {
	runs  [2][]layout.Run
	count int64
}

func (p *commonPositions) add(at ...int64) {
	p.count++
	for side, first := range at {
		runs := p.runs[side]
		if last := len(runs) - 1; last >= 0 && runs[last].From+runs[last].N == first {
			runs[last].N++
			continue
		}
		p.runs[side] = append(runs, layout.Run{From: first, N: 1})
	}
}

// selection returns the common positions of a kind. There are none of the kind byPosition if a position of one side
// belongs to several positions of the other.
func (t *Tokens) selection(k kind) *commonPositions {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.selections[k] != nil {
		return t.selections[k]
	}
	p, s := new(commonPositions), [2]int64{t.Ref.Positions, t.NPU.Positions}
	switch k {
	case byPair:
		together := map[[2]int64][][2]int64{} // rows by the sequences of both sides
		of := func(rows [2]int64) [2]int64 { return [2]int64{rows[0] / s[0], rows[1] / s[1]} }
		for _, rows := range t.Rows {
			together[of(rows)] = append(together[of(rows)], rows)
		}
		for _, query := range t.Rows {
			for _, key := range together[of(query)] {
				p.add(query[0]*s[0]+key[0]%s[0], query[1]*s[1]+key[1]%s[1])
			}
		}
	case byRow:
		for _, rows := range t.Rows {
			p.add(rows[0], rows[1])
		}
	case byPositions:
		same := t.partners(func(row, positions int64) int64 { return row % positions })
		for _, query := range same {
			for _, key := range same {
				p.add(query[0]*s[0]+key[0], query[1]*s[1]+key[1])
			}
		}
	case byPosition:
		for _, at := range t.partners(func(row, positions int64) int64 { return row % positions }) {
			p.add(at[0], at[1])
		}
	case bySequence:
		for _, at := range t.partners(func(row, positions int64) int64 { return row / positions }) {
			p.add(at[0], at[1])
		}
	}
	t.selections[k] = p
	return p
}

// partners pairs the positions, or the sequences, of the rows; nil unless each has one partner.
func (t *Tokens) partners(of func(row, positions int64) int64) (all [][2]int64) {
	ref, npu := map[int64]int64{}, map[int64]int64{}
	for _, rows := range t.Rows {
		a, b := of(rows[0], t.Ref.Positions), of(rows[1], t.NPU.Positions)
		known, seen := ref[a]
		back, taken := npu[b]
		switch {
		case seen && known != b, taken && back != a:
			return nil
		case !seen:
			ref[a], npu[b] = b, a
			all = append(all, [2]int64{a, b})
		}
	}
	return all
}

// axisReading is a way to read the axes of a tensor as axes of tokens.
type axisReading struct {
	kind  kind
	split bool         // sequences and heads share an axis, or positions and sequences in this order
	shape tensor.Shape // with axes of their own for them
	axes  []int        // of shape, the axes of the kind
}

// otherAxes returns the sizes of the other axes that are longer than 1.
func (r *axisReading) otherAxes() tensor.Shape {
	s := slices.Clone(r.shape)
	for _, axis := range r.axes {
		s[axis] = 1
	}
	return squeeze(s)
}

// plan plans the selected positions of the reading, then its other axes.
func (r *axisReading) plan(runs []layout.Run) (*layout.Plan, error) {
	perm := slices.Clone(r.axes)
	for axis := range r.shape {
		if !slices.Contains(r.axes, axis) {
			perm = append(perm, axis)
		}
	}
	return layout.Select(r.shape, perm, len(r.axes), runs)
}

// readings lists the ways to read a shape.
func (g Grid) readings(s tensor.Shape) (all []axisReading) {
	add := func(r axisReading, sequences ...int) {
		for q, size := range r.shape {
			if size != g.Positions || slices.Contains(sequences, q) {
				continue
			}
			single, pair := r, r
			single.axes = append(slices.Clone(sequences), q)
			for k := q + 1; k < len(r.shape); k++ {
				if r.shape[k] == g.Positions && !slices.Contains(sequences, k) {
					pair.axes = append(slices.Clone(single.axes), k)
					all = append(all, pair)
				}
			}
			single.kind++
			all = append(all, single)
		}
	}
	for axis, size := range s {
		switch {
		case size == g.Sequences:
			add(axisReading{shape: s}, axis)
		case size%g.Sequences == 0:
			add(axisReading{shape: slices.Concat(s[:axis], tensor.Shape{g.Sequences, size / g.Sequences}, s[axis+1:]), split: true}, axis)
		}
		if g.Sequences > 1 && size == g.Rows() {
			all = append(all, axisReading{kind: byRow, shape: s, axes: []int{axis}})
			if g.Positions > 1 {
				all = append(all, axisReading{kind: byRow, shape: slices.Concat(s[:axis], tensor.Shape{g.Positions, g.Sequences}, s[axis+1:]), axes: []int{axis + 1, axis}, split: true})
			}
		}
	}
	if g.Sequences == 1 {
		add(axisReading{shape: s})
		return all
	}
	add(axisReading{kind: byPositions, shape: s})
	if len(s) > 0 && s[0] == g.Sequences {
		all = append(all, axisReading{kind: bySequence, shape: s, axes: []int{0}})
	}
	return all
}

// selectRows restricts both sides to the rows of common tokens. It returns false if no axes of tokens are found. Equal
// tensors of one shape, such as weights, have none. Of several readings that the shapes allow it uses the reading with
// the best agreement of values.
func (a *Alignment) selectRows(t *Tokens) bool {
	if a.Ref.second != nil || a.NPU.second != nil || a.Ref.Shape.Equal(a.NPU.Shape) && a.samplesAgree() {
		return false
	}
	const clearly = 2 // a rarer reading must be better than an earlier, more common reading by this factor
	all := t.readings(a)
	best, least := -1, 0.
	for i := range all {
		if !a.applyReadings(t, all[i]) {
			continue
		}
		apart := 0.
		if len(all) > 1 {
			apart = a.distance()
		}
		if best < 0 || clearly*apart < least {
			best, least = i, apart
		}
	}
	if best < 0 {
		return false
	}
	a.applyReadings(t, all[best])
	ref := all[best][0]
	rows := t.selection(max(ref.kind, byRow))
	sizes := func(g Grid) int64 { return g.Rows() }
	switch ref.kind {
	case byPosition, byPositions:
		rows, sizes = t.selection(byPosition), func(g Grid) int64 { return g.Positions }
	case bySequence:
		sizes = func(g Grid) int64 { return g.Sequences }
	}
	a.Common = &record.CommonPart{Axis: ref.axes[0], Ref: sizes(t.Ref), NPU: sizes(t.NPU), Matched: rows.count, Counts: true}
	a.note(lang.Say("%d matched rows, of %d in the reference and %d on the NPU", a.Common.Matched, a.Common.Ref, a.Common.NPU))
	return true
}

// readings lists pairs of readings of the two sides that fit together, the most common first: axes of their own, then
// shared axes. All are of the first kind that fits; pairs and rows count as one kind.
func (t *Tokens) readings(a *Alignment) (all [][2]axisReading) {
	const most = 8
	for _, r := range t.Ref.readings(a.Ref.Shape) {
		for _, n := range t.NPU.readings(a.NPU.Shape) {
			if r.kind == n.kind && r.otherAxes().Equal(n.otherAxes()) && t.selection(r.kind).count > 0 {
				all = append(all, [2]axisReading{r, n})
			}
		}
	}
	cost := func(x [2]axisReading) (sum int) {
		for _, odd := range []bool{x[0].split, x[1].split, !slices.Equal(x[0].axes, x[1].axes)} {
			if odd {
				sum++
			}
		}
		return sum
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(x, y [2]axisReading) int {
		return cmp.Or(cmp.Compare(x[0].kind, y[0].kind), cmp.Compare(cost(x), cost(y)))
	})
	first := max(all[0][0].kind, byRow)
	all = slices.DeleteFunc(all, func(x [2]axisReading) bool { return max(x[0].kind, byRow) != first })
	return all[:min(len(all), most)]
}

// applyReadings restricts both sides to the rows of readings; false if that cannot be planned.
func (a *Alignment) applyReadings(t *Tokens, as [2]axisReading) bool {
	var plans [2]*layout.Plan
	for side, runs := range t.selection(as[0].kind).runs {
		var err error
		if plans[side], err = as[side].plan(runs); err != nil {
			return false
		}
	}
	a.Ref.second, a.NPU.second, a.Shape = plans[0], plans[1], plans[0].Shape
	return true
}

// distance returns the mean of the squared differences of finite samples, NaN if they cannot be read.
func (a *Alignment) distance() (sum float64) {
	places := sampleOffsets(elementCount(a.Shape))
	ref, err := a.Ref.samples(places)
	npu, err2 := a.NPU.samples(places)
	if err != nil || err2 != nil || ref == nil || npu == nil {
		return math.NaN()
	}
	finite := 0.
	for k, r := range ref {
		if d := npu[k] - r; d-d == 0 {
			sum += float64(d * d)
			finite++
		}
	}
	return sum / finite
}

// samplesAgree reports whether samples of both sides agree in every place.
func (a *Alignment) samplesAgree() bool {
	places := sampleOffsets(elementCount(a.Ref.Shape))
	ref, err := a.Ref.samples(places)
	if err != nil || ref == nil {
		return false // the comparison reports the error
	}
	npu, err := a.NPU.samples(places)
	return err == nil && npu != nil && countAgreeing(ref, npu) == len(places)
}
