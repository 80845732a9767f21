package checkpoint

import (
	"context"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
)

// Options are the inputs of Compare.
type Options struct {
	A, B string
	// Adapter is the folder of an adapter (LoRA) for A. If it is empty, an adapter beside the weights of A or B counts.
	Adapter string
	Workers int
	// Allowed are statuses that are accepted besides equal ones: SCALED, LORA.
	Allowed []Status
	Observe func(batch.Event)
}

// Compare compares two sets of weights. Errors are about a side as a whole; an unreadable file or tensor is a problem
// of the report.
func Compare(ctx context.Context, opt Options) (*Report, error) {
	a, err := open(opt.A)
	if err != nil {
		return nil, err
	}
	defer a.close()
	b, err := open(opt.B)
	if err != nil {
		return nil, err
	}
	defer b.close()
	c := &comparison{a: a, b: b, opt: opt, matcher: matcher{b: b.tensors, named: map[string]int32{}}}
	for i := range a.tensors {
		c.indexes = append(c.indexes, i)
	}
	for i, w := range b.tensors {
		c.named[withoutWrappers(w.name)] = int32(i)
	}
	if c.adapter, err = a.adapterBeside(b, opt.Adapter); err != nil {
		return nil, err
	}
	if c.grid, err = gridOf(a, b); err != nil {
		return nil, err
	}
	if err := c.match(ctx); err != nil {
		return nil, err
	}
	r := &Report{Schema: Schema, Paths: [2]string{opt.A, opt.B}, Rows: make([]Row, len(a.tensors)), Problems: append(a.problems, b.problems...), allowed: opt.Allowed}
	if c.adapter != nil {
		defer c.adapter.close()
		r.Adapter = c.adapter.path
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, c.indexes, func(i int) int64 { return a.tensors[i].shape.Elements() },
		func(ctx context.Context, i int) Row { return c.compareRow(ctx, i) }, func(i int, row Row) { r.Rows[i] = row })
	if err != nil {
		return nil, err
	}
	only, err := c.rowsOfB()
	if err != nil {
		return nil, err
	}
	if c.adapter != nil {
		r.Problems = append(r.Problems, c.adapter.unusedChanges(r.Rows)...)
	}
	r.conclude(only)
	return r, nil
}

// comparison is the state of Compare.
type comparison struct {
	matcher
	a, b    *side
	opt     Options
	adapter *adapter     // nil for none
	indexes []int        // indexes of A's weights
	found   []*lineMatch // for each weight of A its match by contents, nil for none
	// paired has, for each weight of A without equal contents, the weight of B with its name; -1 for none.
	paired []int32
}

// digest computes the digests of weights for which isWanted is true. An unreadable weight becomes one problem of its
// side, whatever the number of kinds.
func (c *comparison) digest(ctx context.Context, s *side, k kind, isWanted func(i int) bool) error {
	var all []*weight
	for i, w := range s.tensors {
		if isWanted(i) && w.err == nil && w.digests[k] == nil {
			all = append(all, w)
		}
	}
	return batch.Run(ctx, batch.Options{Workers: c.opt.Workers}, all, func(w *weight) int64 { return w.shape.Elements() },
		func(ctx context.Context, w *weight) error { return w.digest(ctx, k, c.grid) }, func(i int, err error) {
			if err != nil && ctx.Err() == nil {
				all[i].err = err
				s.fail(all[i].file, all[i].name, err)
			}
		})
}

// match pairs weights by contents, then by name.
func (c *comparison) match(ctx context.Context) error {
	every := func(int) bool { return true }
	c.found = make([]*lineMatch, len(c.a.tensors))
	for _, s := range []*side{c.a, c.b} {
		if err := c.digest(ctx, s, rows, every); err != nil {
			return err
		}
	}
	byRows := newIndex(c.b.tensors, rows, every)
	c.matchAll(rows, rows, byRows)
	isOpen := func(i int) bool {
		return c.found[i] == nil && c.a.tensors[i].rows > 1 && c.adaptedPartner(c.a.tensors[i]) < 0
	}
	isFree := func(i int) bool { return c.b.tensors[i].rows > 1 && claimedShare(c.b.tensors[i]) < minKnown }
	if err := c.matchPieces(ctx, byRows, isOpen, isFree); err != nil {
		return err
	}
	if slices.ContainsFunc(c.indexes, isOpen) {
		if err := c.digest(ctx, c.a, columns, isOpen); err != nil {
			return err
		}
		if err := c.digest(ctx, c.b, columns, isFree); err != nil {
			return err
		}
		byColumns := newIndex(c.b.tensors, columns, isFree)
		c.matchAll(columns, columns, byColumns)
		c.matchAll(rows, columns, byColumns)
		c.matchAll(columns, rows, byRows)
	}
	for i, f := range c.found {
		if f != nil {
			c.pairRemainingLines(i, f)
		}
	}
	for i, f := range c.found {
		if f != nil {
			c.pairByPosition(i, f)
		}
	}
	c.paired = make([]int32, len(c.a.tensors))
	for i, w := range c.a.tensors {
		c.paired[i] = c.adaptedPartner(w)
		if j, ok := c.named[withoutWrappers(w.name)]; ok && c.found[i] == nil && claimedShare(c.b.tensors[j]) < 1 {
			c.paired[i] = j
		}
	}
	c.pairBiases()
	return nil
}

// matchPieces matches weights whose columns were divided evenly: pieces of the rows of one side are rows of the other.
func (c *comparison) matchPieces(ctx context.Context, byRows index, isOpen, isFree func(int) bool) error {
	for _, length := range rowLengths(c.b.tensors, isFree) {
		isWider := func(i int) bool { return isOpen(i) && c.a.tensors[i].setPiece(length) }
		if err := c.digest(ctx, c.a, pieces, isWider); err != nil {
			return err
		}
		c.matchAll(pieces, rows, byRows)
		for _, w := range c.a.tensors {
			w.digests[pieces] = nil
		}
	}
	for _, length := range rowLengths(c.a.tensors, isOpen) {
		isWider := func(i int) bool {
			return isFree(i) && c.b.tensors[i].owners[pieces] == nil && c.b.tensors[i].setPiece(length)
		}
		if err := c.digest(ctx, c.b, pieces, isWider); err != nil {
			return err
		}
		c.matchAll(rows, pieces, newIndex(c.b.tensors, pieces, isWider))
		for _, w := range c.b.tensors {
			w.digests[pieces] = nil
		}
	}
	return nil
}

// setPiece sets the length of pieces, if the columns are a multiple of it.
func (w *weight) setPiece(length int64) bool {
	if length >= w.columns || w.columns%length != 0 {
		return false
	}
	w.pieceLength = length
	return true
}

// rowLengths are the lengths of the rows of matrices.
func rowLengths(all []*weight, isWanted func(i int) bool) (list []int64) {
	for i, w := range all {
		if isWanted(i) && w.columns > 1 && !slices.Contains(list, w.columns) {
			list = append(list, w.columns)
		}
	}
	return list
}

// matchAll matches all weights without partners by lines of these kinds.
func (c *comparison) matchAll(of, on kind, x index) {
	for i, w := range c.a.tensors {
		if c.found[i] != nil || w.err != nil || c.adaptedPartner(w) >= 0 {
			continue
		}
		if f := c.matcher.match(w, of, on, x); f != nil {
			c.found[i] = f
			c.recordClaim(i, f)
		}
	}
}

// claimedShare is the share of the lines of a weight of B that have been found on A.
func claimedShare(w *weight) (share float64) {
	for _, owners := range w.owners {
		share = max(share, claimedOf(owners))
	}
	return share
}

func claimedOf(owners []int32) float64 {
	return float64(lists.Count(owners, func(owner int32) bool { return owner != 0 })) / float64(max(1, len(owners)))
}

// pairBiases finds vectors that were concatenated or divided as the rows of the matrix beside them: the names differ
// in the last part only.
func (c *comparison) pairBiases() {
	matrices := map[string]int{}
	for i, f := range c.found {
		if f != nil && c.a.tensors[i].rows > 1 {
			matrices[moduleOf(c.a.tensors[i].name)] = i
		}
	}
	vectors := map[string][]int32{}
	for j, w := range c.b.tensors {
		if w.rows == 1 && w.batch == 1 {
			vectors[moduleOf(w.name)] = append(vectors[moduleOf(w.name)], int32(j))
		}
	}
	for i, w := range c.a.tensors {
		m, ok := matrices[moduleOf(w.name)]
		if c.found[i] != nil || !ok || w.rows != 1 || w.columns != int64(len(c.found[m].lines)) {
			continue
		}
		as := c.found[m]
		f := &lineMatch{of: columns, on: columns, lines: make([]line, len(as.lines))}
		for k, l := range as.lines {
			f.lines[k] = noLine
			if l.weight < 0 {
				continue
			}
			for _, j := range vectors[moduleOf(c.b.tensors[l.weight].name)] {
				if lastPart(c.b.tensors[j].name) == lastPart(w.name) && c.b.tensors[j].columns == c.b.tensors[l.weight].lineCount(as.on) {
					f.lines[k] = line{j, l.at}
				}
			}
		}
		if float64(f.countFound()) < minKnown*float64(len(f.lines)) || c.paired[i] >= 0 && f.isOrdered() && f.lines[0].weight == c.paired[i] {
			continue
		}
		c.found[i], c.paired[i] = f, -1
		c.recordClaim(i, f)
	}
}

// rowsOfB returns a row for each weight of B that has no counterpart on A, or has lines without one.
func (c *comparison) rowsOfB() (all []Row, err error) {
	isPaired := map[int32]bool{}
	for _, j := range c.paired {
		isPaired[j] = true
	}
	own := map[uint64]bool{}
	for _, w := range c.a.tensors {
		for _, digest := range w.digests[rows] {
			own[digest] = true
		}
	}
	for j, w := range c.b.tensors {
		if w.err != nil || isPaired[int32(j)] {
			continue
		}
		row := Row{Status: OnlyB, B: []string{w.name}, Shape: w.shape, DType: w.tensor.DType, Elements: w.shape.Elements()}
		k, isFound := w.mainKind()
		if !isFound {
			if len(w.digests[rows]) == 0 || slices.ContainsFunc(w.digests[rows], func(d uint64) bool { return !own[d] }) {
				all = append(all, row)
			}
			continue
		}
		n, err := w.countNonZero(k, func(at int64) bool { return w.owners[k][at] == 0 && !(k == rows && own[w.digests[rows][at]]) }) // copies are no news
		if err != nil {
			return nil, safefile.WithPath(w.file, err)
		}
		if n > 0 {
			row.How = lang.Say("%d of %d %s are not on the other side", n, w.lineCount(k), k)
			all = append(all, row)
		}
	}
	return all, nil
}

// mainKind returns the kind of lines, rows or columns, that has the largest share of lines found on A.
func (w *weight) mainKind() (k kind, isFound bool) {
	most := 0.0
	for i, owners := range w.owners {
		if share := claimedOf(owners); share > most {
			k, most, isFound = kind(i), share, true
		}
	}
	return k, isFound
}

// countNonZero counts the lines for which isWanted is true, without lines of zeros, which are padding.
func (w *weight) countNonZero(k kind, isWanted func(at int64) bool) (n int64, err error) {
	e := w.read()
	for at := range w.lineCount(k) {
		if isWanted(at) && slices.ContainsFunc(e.line(k, at), func(v float64) bool { return v != 0 }) {
			n++
		}
	}
	return n, e.err
}

// compareRow compares a weight of A with its partners on B.
func (c *comparison) compareRow(ctx context.Context, i int) Row {
	w := c.a.tensors[i]
	row := Row{A: w.name, Shape: w.shape, DType: w.tensor.DType, Elements: w.shape.Elements(), B: []string{}}
	switch f := c.found[i]; {
	case w.err != nil: // which is a problem of its side
		row.Status = Unread
	case f != nil:
		c.compareLines(ctx, &row, i, f)
	case c.paired[i] >= 0:
		c.comparePaired(ctx, &row, w, c.b.tensors[c.paired[i]])
	default:
		row.Status = OnlyA
	}
	if j := c.adaptedPartner(w); j >= 0 && row.Status != Unread {
		c.judgeAdapted(ctx, &row, w, c.b.tensors[j])
	}
	return row
}

// statusOf returns the status of a weight with equal elements, and describes its place on side B.
func (c *comparison) statusOf(i int, f *lineMatch) (Status, lang.Sentence) {
	w, partners := c.a.tensors[i], f.partners()
	first := c.b.tensors[partners[0]]
	how := f.describe()
	missing := len(f.lines) - f.countFound()
	switch {
	case f.identical > 0:
		return Unknown, lang.Say("%d tensors have equal contents", f.identical)
	case f.of == pieces && len(partners) > 1:
		return Split, lang.Say("%d columns each", w.pieceLength)
	case f.on == pieces:
		return Fused, lang.Say("%d columns from %d on", first.pieceLength, f.lines[0].at*first.pieceLength%first.columns)
	case len(partners) > 1:
		return Split, how
	case missing > 0:
		return Padded, lang.Say("%d of %d %s are not on the other side", missing, len(f.lines), f.of)
	case first.lineCount(f.on) > int64(len(f.lines)):
		for _, owner := range first.owners[f.on] {
			if owner != 0 && owner != int32(i+1) {
				return Fused, how
			}
		}
		return Padded, lang.Say("%d of %d %s are not on the other side", first.lineCount(f.on)-int64(len(f.lines)), first.lineCount(f.on), f.on)
	case !f.isOrdered():
		return Reordered, how
	case f.isTransposed():
		return Transposed, lang.Sentence{}
	case !first.shape.Equal(w.shape):
		return Equal, lang.Say("of shape %s", first.shape)
	}
	return Equal, lang.Sentence{}
}
