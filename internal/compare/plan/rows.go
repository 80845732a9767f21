package plan

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// This file finds which rows of both sides belong to the same token.

// matchRows sets the tokens of each round, from the file of rows or from the ids that enter an embedding.
func (p *Planner) matchRows(ctx context.Context) error {
	from := p.options.SideFiles.Rows
	if from == nil {
		return nil
	}
	for _, round := range p.rounds {
		m := matcher{aligner: align.Aligner{Options: p.options.Shape, Version: p.options.Version}}
		for i := range p.Pairs {
			if x := &p.Pairs[i]; x.Round == round && x.Ref != nil && x.NPU != nil && x.Row.Pair.Status == "" && !x.Ref.Table && !x.NPU.Table {
				m.pairs = append(m.pairs, x)
			}
		}
		find := m.matchByIDs
		if from.Path != "" {
			find = func(ctx context.Context) (*align.Tokens, error) { return m.matchByFile(ctx, from) }
		}
		t, err := find(ctx)
		if err != nil {
			return err
		}
		if m.isGuess {
			p.listed.Warnings = append(p.listed.Warnings, lang.Say("no token ids on both sides: the rows of %s count the leading axes of most tensors, %d x %d of the reference and %d x %d of the NPU", from.Path, t.Ref.Sequences, t.Ref.Positions, t.NPU.Sequences, t.NPU.Positions))
		}
		round.Tokens = t
		round.Pairing.Common = &record.CommonPart{Ref: t.Ref.Rows(), NPU: t.NPU.Rows(), Matched: int64(len(t.Rows)), Counts: true}
	}
	return nil
}

// matcher matches the rows of a round.
type matcher struct {
	aligner align.Aligner
	pairs   []*Pair // with elements on both sides, in execution order
	isGuess bool    // rows of a file count the leading axes of most tensors
}

// integerTensor are the integers of a tensor in host order.
type integerTensor struct {
	shape tensor.Shape
	ids   []int64
}

// grid reads a shape as sequences and positions.
func (v *integerTensor) grid() align.Grid {
	if len(v.shape) < 2 {
		return align.Grid{Sequences: 1, Positions: int64(len(v.ids))}
	}
	last := v.shape[len(v.shape)-1]
	return align.Grid{Sequences: int64(len(v.ids)) / max(last, 1), Positions: last}
}

// read reads a tensor of integers; nil if it has other elements.
func (m *matcher) read(ctx context.Context, op string, t *Tensor) (*integerTensor, error) {
	a, err := m.aligner.Align(align.Pair{Op: op, Ref: &t.Ref, NPU: &t.Ref})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if d := a.NPU.DType; d.Host() == tensor.HostBool || !d.Host().Integer() {
		return nil, nil
	}
	var buffers align.Buffers
	r, err := a.Readers(&buffers)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	v := &integerTensor{shape: a.Shape}
	for block, err := range a.Blocks(ctx, r) {
		if err != nil {
			return nil, err
		}
		numbers, err := metrics.Decode(a.NPU.DType, block)
		if err != nil {
			return nil, err
		}
		for _, id := range numbers {
			v.ids = append(v.ids, int64(id))
		}
	}
	return v, nil
}

// readPair reads both sides of a pair of integers.
func (m *matcher) readPair(ctx context.Context, x *Pair) (sides [2]*integerTensor, err error) {
	for side, t := range []*Tensor{x.Ref, x.NPU} {
		if sides[side], err = m.read(ctx, x.Row.Op, t); err != nil || sides[side] == nil || len(sides[side].ids) == 0 {
			return [2]*integerTensor{}, err
		}
	}
	return sides, nil
}

// readIDs returns the token ids of both sides: the first integers that an embedding reads, or a tensor with a name of
// token ids.
func (m *matcher) readIDs(ctx context.Context) (ids [2]*integerTensor, at *Pair, err error) {
	for _, x := range m.pairs {
		typ := recompute.TypeOfOperator(x.Row.OpType, x.Row.Op)
		named := strings.Contains(strings.ToLower(x.Row.Op), "input_ids")
		if !named && !(typ.Gathers && tensor.Kind(x.Row.Kind).IsInput()) {
			continue
		}
		if ids, err = m.readPair(ctx, x); err != nil || ids[0] != nil {
			return ids, x, err
		}
	}
	return ids, nil, nil
}

// matchByIDs matches the sequences of both sides by their ids.
func (m *matcher) matchByIDs(ctx context.Context) (*align.Tokens, error) {
	ids, at, err := m.readIDs(ctx)
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return nil, Nothingf("no tensor of token ids on both sides: --match-rows needs the input of an embedding, or FILE with lines REF,NPU")
	}
	var found [2][]segment
	positions, err := m.readPositions(ctx, at, ids)
	if err != nil {
		return nil, err
	}
	for side := range found {
		found[side] = splitSegments(ids[side], positions[side])
	}
	t := &align.Tokens{Ref: ids[0].grid(), NPU: ids[1].grid(), Rows: matchSegments(found[0], found[1])}
	if len(t.Rows) == 0 {
		return nil, Nothingf("no sequence of token ids is on both sides: %s, %d rows in the reference and %d on the NPU", at.Row.TensorName(), t.Ref.Rows(), t.NPU.Rows())
	}
	return t, nil
}

// readPositions returns the positions of the tokens: integers of the ids' shape that count up in each sequence. They are
// nil if none are dumped.
func (m *matcher) readPositions(ctx context.Context, ids *Pair, like [2]*integerTensor) (found [2]*integerTensor, err error) {
	const header = 4096 // bytes, of a file beside its elements
	for _, x := range m.pairs {
		if x == ids || x.Ref.Size > 2*ids.Ref.Size+header || x.NPU.Size > 2*ids.NPU.Size+header {
			continue
		}
		sides, err := m.readPair(ctx, x)
		if err != nil {
			return found, err
		}
		if sides[0] != nil && sides[0].shape.Equal(like[0].shape) && sides[1].shape.Equal(like[1].shape) && sides[0].countsUp() && sides[1].countsUp() {
			return sides, nil
		}
	}
	return found, nil
}

// countsUp reports whether most numbers are the previous number plus 1.
func (v *integerTensor) countsUp() bool {
	n := 0
	for i := 1; i < len(v.ids); i++ {
		if v.ids[i] == v.ids[i-1]+1 {
			n++
		}
	}
	return 2*n > len(v.ids)
}

// segment is a sequence of tokens without padding. first is its flat row, used marks the tokens that are matched.
type segment struct {
	ids    []int64
	first  int64
	isUsed []bool
}

// splitSegments returns the sequences of a side: lines without the padding at their ends, split where positions begin
// again.
func splitSegments(ids, positions *integerTensor) (all []segment) {
	line := ids.grid().Positions
	pad, padded := ids.paddingID(line)
	for start := int64(0); start < int64(len(ids.ids)); start += line {
		first, end := start, start+line
		for padded && first < end && ids.ids[first] == pad {
			first++
		}
		for padded && first < end && ids.ids[end-1] == pad {
			end--
		}
		for at := first + 1; first < end; at++ {
			if at == end || positions != nil && positions.ids[at] <= positions.ids[at-1] {
				all = append(all, segment{ids.ids[first:at], first, make([]bool, at-first)})
				first = at
			}
		}
	}
	slices.SortStableFunc(all, func(a, b segment) int { return len(b.ids) - len(a.ids) })
	return all
}

// paddingID returns the id that fills the ends of most lines. A single line needs a longer end, since its own tokens may
// repeat.
func (v *integerTensor) paddingID(line int64) (pad int64, ok bool) {
	const least, leastAlone = 2, 3 // equal ids
	fills, need := map[int64]int{}, least
	if int64(len(v.ids)) == line {
		need = leastAlone
	}
	for ids := range slices.Chunk(v.ids, int(line)) {
		backward := slices.Clone(ids)
		slices.Reverse(backward)
		for _, from := range [][]int64{ids, backward} {
			n := slices.IndexFunc(from, func(id int64) bool { return id != from[0] })
			if n < 0 {
				n = len(from)
			}
			if n >= need {
				fills[from[0]] += n
			}
		}
	}
	for id, n := range fills {
		if most := fills[pad]; !ok || n > most || n == most && id < pad {
			pad, ok = id, true
		}
	}
	return pad, ok
}

// matchSegments pairs equal sequences, then sequences that are part of a longer one of the other side. It returns
// pairs of flat rows by reference.
func matchSegments(refs, npus []segment) (rows [][2]int64) {
	for _, whole := range []bool{true, false} {
		for side, of := range [][]segment{refs, npus} {
			in := [][]segment{npus, refs}[side]
			for i := range of {
				for k := range in {
					at := in[k].find(&of[i], whole)
					if at < 0 {
						continue
					}
					for n := range of[i].ids {
						pair := [2]int64{of[i].first + int64(n), in[k].first + int64(at+n)}
						if side == 1 {
							pair[0], pair[1] = pair[1], pair[0]
						}
						of[i].isUsed[n], in[k].isUsed[at+n], rows = true, true, append(rows, pair)
					}
					break
				}
			}
		}
	}
	slices.SortFunc(rows, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	return rows
}

// find returns the offset of another sequence in s, -1 for none. Sequences with matched tokens are not found, nor
// sequences of few tokens, which may occur inside of s by chance.
func (s *segment) find(o *segment, whole bool) int {
	const few = 4
	if slices.Contains(o.isUsed, true) || len(o.ids) > len(s.ids) || whole && len(o.ids) < len(s.ids) {
		return -1
	}
	for at := 0; at+len(o.ids) <= len(s.ids) && (at == 0 || len(o.ids) >= few); at++ {
		if end := at + len(o.ids); slices.Equal(s.ids[at:end], o.ids) && !slices.Contains(s.isUsed[at:end], true) {
			return at
		}
	}
	return -1
}

// matchByFile returns the pairs of rows in a file. Without ids, the most frequent leading axes are the axes of tokens.
func (m *matcher) matchByFile(ctx context.Context, from *sidefile.RowMap) (*align.Tokens, error) {
	ids, at, err := m.readIDs(ctx)
	if err != nil {
		return nil, err
	}
	t := &align.Tokens{}
	if at != nil {
		t.Ref, t.NPU = ids[0].grid(), ids[1].grid()
	} else if t.Ref, t.NPU, err = m.frequentSizes(); err != nil {
		return nil, err
	} else {
		m.isGuess = true
	}
	for _, rows := range from.Pairs {
		for _, side := range []struct {
			name lang.Text
			row  int64
			grid align.Grid
		}{{lang.Text{EN: "reference"}, rows.Ref, t.Ref}, {lang.Text{EN: "NPU"}, rows.NPU, t.NPU}} {
			if side.row >= side.grid.Rows() {
				return nil, from.Error(rows.Line, lang.Errorf("row %d of the %s, want one of 0 to %d (%d sequences of %d positions)", side.row, side.name, side.grid.Rows()-1, side.grid.Sequences, side.grid.Positions))
			}
		}
		t.Rows = append(t.Rows, [2]int64{rows.Ref, rows.NPU})
	}
	slices.SortFunc(t.Rows, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	if len(t.Rows) == 0 {
		return nil, Nothingf("%s has no row", from.Path)
	}
	return t, nil
}

// frequentSizes returns the most frequent sizes of the axes before the last axis (at most two), over pairs whose last
// axes are equal.
func (m *matcher) frequentSizes() (ref, npu align.Grid, err error) {
	const looked = 64 // pairs
	type grids [2]align.Grid
	found, best := map[grids]int{}, grids{}
	for _, x := range m.pairs[:min(looked, len(m.pairs))] {
		a, err := m.aligner.Align(align.Pair{Op: x.Row.Op, Ref: &x.Ref.Ref, NPU: &x.NPU.Ref, Format: x.Format})
		if err != nil {
			continue // the comparison reports the error
		}
		a.Close()
		var g grids
		for side, s := range []tensor.Shape{a.Ref.Shape, a.NPU.Shape} {
			switch {
			case len(s) == 2:
				g[side] = align.Grid{Sequences: 1, Positions: s[0]}
			case len(s) > 2:
				g[side] = align.Grid{Sequences: s[0], Positions: s[1]}
			}
		}
		if r, n := a.Ref.Shape, a.NPU.Shape; g[0].Rows() > 0 && g[1].Rows() > 0 && r[len(r)-1] == n[len(n)-1] {
			if found[g]++; found[g] > found[best] {
				best = g
			}
		}
	}
	if found[best] == 0 {
		return ref, npu, Nothingf("no tensor on both sides has an axis of rows")
	}
	return best[0], best[1], nil
}
