package recompute

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// linear is a product of matrices as a formula sees it: for each part the rows of the left
// factor, which are made when they are wanted, times the right factor, which is read in its
// own order. A convolution has a row for each pixel, and a part for each group.
type linear struct {
	parts, rows, k, n int64
	// left sets dst to a row of the left factor.
	left func(part, row int64, dst []float64) error
	// right reads a part of the right factor: columns are those from..to of n if it lies
	// by columns, else rows of k; n, or k, elements each.
	right    func(part, from, to int64) ([]float64, error)
	byColumn bool
	// offset is where an element lies in the output.
	offset func(part, row, column int64) int64
	// columns are what is added to each column of a part, nil for nothing; same are tensors in
	// the order of the output that are added to it.
	columns func(part int64) ([]float64, error)
	same    []*whole
	// scales are what each column is multiplied by after that, rowScales each row of a part, and shifts are added
	// to each column then; nil for nothing. Integers that come of it are rounded.
	scales, rowScales, shifts []float64
	// factors is the rounding of the right factors before the product, 0 for none.
	factors float64
	// alpha multiplies the product, beta what is added to it; with a beta of 0 nothing is added, not even
	// NaN. 0 in both stands for 1.
	alpha, beta float64
	// block sets dst to rows of the left factor that follow each other; nil where left is as
	// good.
	block func(part, row, n int64, dst []float64) error
	// run is how many rows lie beside each other in the output, where columns do not.
	run int64
	// winograd is set where its transforms may have been used.
	winograd bool
	// places are rows that are worth a look: corners and edges.
	places []int64
}

const (
	// wholeProduct is the most multiplications and additions of a product that is computed in
	// full, rowsInFull how many rows of a larger one are, and pixelsInFull those of a
	// convolution.
	wholeProduct             = 2e7
	rowsInFull, pixelsInFull = 16, 64
	// rowsOfActivation is how many rows of a large product with an activation are computed, fewer where
	// they cost more than costOfActivation.
	rowsOfActivation, costOfActivation = int64(256), 1e9
	// chunkElements is how much of the right factor is read at a time, rowElements how many
	// elements of the output are computed at a time.
	chunkElements, rowElements = 1 << 18, 1 << 17
	// orderedProduct is the most for which the sums are followed in their order.
	orderedProduct = 3e7
	// cube is how many products a cube adds up before it rounds.
	cube = 16
)

// scale takes alpha and beta from the attributes and reports whether anything is added: beta is not 0.
func (l *linear) scale(h Attributes) (adds bool) {
	alpha, hasAlpha := h["alpha"].Value.Number()
	beta, hasBeta := h["beta"].Value.Number()
	if hasAlpha && hasBeta && (alpha != 1 || beta != 1) {
		l.alpha, l.beta = alpha, beta
	}
	return !hasBeta || beta != 0
}

// cost is how many multiplications and additions all elements take.
func (l *linear) cost() float64 {
	return float64(l.parts) * float64(l.rows) * float64(l.k) * float64(l.n)
}

// product is what is known of the rounding of some elements of a product: the sum of the
// variances that float16 sums, HF32 and Winograd's transforms explain.
type product struct {
	variance float64
	count    int64
}

// rowOf is a row of a part.
type rowOf struct{ part, row int64 }

// sums are what rows of a product add up: products, their sizes and squares, and the squares
// of the sums on the way.
type sums struct{ v, size, square, partial []float64 }

// multiply computes rows of one part in full.
func (l *linear) multiply(m *machine, rows []rowOf, ordered bool) (*sums, error) {
	count := len(rows) * int(l.n)
	s := &sums{m.alloc(count), m.alloc(count), m.alloc(count), nil}
	clear(s.v)
	clear(s.size)
	clear(s.square)
	if ordered {
		s.partial = m.alloc(count)
		clear(s.partial)
	}
	left := m.alloc(len(rows) * int(l.k))
	for i, r := range rows {
		if m.stopped() {
			return nil, m.err
		}
		if err := l.left(r.part, r.row, left[int64(i)*l.k:][:l.k]); err != nil {
			return nil, &TensorError{tensor.Input, 0, err}
		}
	}
	each, all := l.n, l.k
	if l.byColumn {
		each, all = l.k, l.n
	}
	step := max(1, chunkElements/max(1, each))
	if !l.byColumn && step > cube {
		step -= step % cube
	}
	for from := int64(0); from < all; from += step {
		to := min(all, from+step)
		right, err := l.right(rows[0].part, from, to)
		if err != nil {
			return nil, &TensorError{tensor.Input, 1, err}
		}
		for i := range rows {
			if m.stopped() {
				return nil, m.err
			}
			row := left[int64(i)*l.k:][:l.k]
			if l.byColumn {
				s.columns(row, right, i*int(l.n)+int(from), ordered)
			} else {
				s.rows(row[from:to], right, i*int(l.n), int(l.n), ordered)
			}
		}
	}
	return s, nil
}

// rows adds rows of the right factor, each times its number of the left one: four at a time, in their
// order.
func (s *sums) rows(left, right []float64, at, n int, ordered bool) {
	v, size, square := s.v[at:at+n], s.size[at:at+n], s.square[at:at+n]
	for k := 0; k < len(left); k++ {
		if k%4 == 0 && k+4 <= len(left) {
			addFour(v, size, square, left[k:][:4], right[k*n:])
			k += 3
			s.order(v, at, k, len(left), ordered)
			continue
		}
		x, row := left[k], right[k*n:][:n]
		for i, y := range row {
			p := float64(x * y)
			v[i] += p
			size[i] += math.Abs(p)
			square[i] += float64(p * p)
		}
		s.order(v, at, k, len(left), ordered)
	}
}

// order adds the squares of sums on the way, where a cube rounds.
func (s *sums) order(v []float64, at, k, all int, ordered bool) {
	if ordered && (k%cube == cube-1 || k == all-1) {
		for i, t := range v {
			s.partial[at+i] += float64(t * t)
		}
	}
}

// addFour adds four rows, each times its number: sums are loaded and stored once.
func addFour(v, size, square, left, right []float64) {
	n := len(v)
	a, b, c, d := left[0], left[1], left[2], left[3]
	r0, r1, r2, r3 := right[:n], right[n:2*n], right[2*n:3*n], right[3*n:4*n]
	size, square = size[:n], square[:n]
	for i := range v {
		p, q, r, s := float64(a*r0[i]), float64(b*r1[i]), float64(c*r2[i]), float64(d*r3[i])
		v[i] = v[i] + p + q + r + s
		size[i] = size[i] + math.Abs(p) + math.Abs(q) + math.Abs(r) + math.Abs(s)
		square[i] = square[i] + float64(p*p) + float64(q*q) + float64(r*r) + float64(s*s)
	}
}

// columns sets elements from their columns of the right factor.
func (s *sums) columns(left, right []float64, at int, ordered bool) {
	for c := range len(right) / len(left) {
		var v, size, square, partial float64
		for k, y := range right[c*len(left):][:len(left)] {
			p := float64(left[k] * y)
			v += p
			size += math.Abs(p)
			square += float64(p * p)
			if ordered && (k%cube == cube-1 || k == len(left)-1) {
				partial += float64(v * v)
			}
		}
		s.v[at+c], s.size[at+c], s.square[at+c] = v, size, square
		if ordered {
			s.partial[at+c] = partial
		}
	}
}

// bounded makes an array of sums, with what a cube may be off, and notes the variance.
func (m *machine) bounded(s *sums, l *linear, rows int) *Array {
	x := m.array(tensor.Shape{int64(rows), l.n})
	k := float64(l.k)
	chain := math.Sqrt(float64(k/cube) + 1)
	n := float64(l.k/cube + 1)
	total, count := 0.0, 0.0
	for _, q := range s.square {
		if q-q == 0 {
			total, count = total+q, count+1
		}
	}
	transforms := 0.0
	if l.winograd && m.wide.wide {
		transforms = 6 * 0x1p-9 * math.Sqrt(total/max(1, count))
	}
	w, variance := &m.wide, product{}
	factors := float64(w.inp*w.inp) + float64(l.factors*l.factors)
	if l.winograd && m.wide.wide {
		factors += 0x1p-18
	}
	for i, v := range s.v {
		q := s.square[i]
		root := math.Sqrt(q)
		e := func(c *bounds) float64 { return float64(2*c.acc*chain*s.size[i]) + float64(6*(c.inp+l.factors)*root) }
		m.note(s.size[i])
		m.inside.take(productSums, s.size[i])
		x.set(i, v, e(&m.narrow), e(w)+transforms)
		spread := float64(n * (float64(float64(v*v)/3) + float64(q/2)))
		if s.partial != nil {
			spread = max(spread, s.partial[i])
		}
		if one := float64(w.acc*w.acc*spread)/3 + float64(factors*q); one-one == 0 {
			variance.variance += one
			variance.count++
		}
	}
	m.products = append(m.products, variance)
	return x
}

// lost reports whether sums of products have more error than any healthy unit makes.
func (r *result) lost(d tensor.DType) bool {
	const half, others = 2.2, 3
	if len(r.products) == 0 || !isFloat(d) || r.tallies[0].used == 0 {
		return false
	}
	variance, count := 0.0, 0.0
	for _, p := range r.products {
		variance, count = variance+p.variance, count+float64(p.count)
	}
	t := r.tallies[0]
	q := t.root(t.squares) / math.Sqrt(variance/max(1, count)+t.steps/t.used/12)
	if d == tensor.Float16 {
		return q > half
	}
	return q > others
}

// linearRun compares the output of a product with what it should be: in all rows, or in few.
func (j *judge) linearRun(r *result, few bool) error {
	p := &problem{Operator: j.op.cast(r.attrs)}
	l, why := j.formula.linear(p, r.attrs)
	if r.why = why; !why.IsZero() {
		return nil
	}
	out, err := newFeed(j.op.Outputs[0], view{shape: j.op.Outputs[0].Shape})
	if err != nil {
		return err
	}
	t := newTally(j.op.Outputs[0].DType, j.formula.class)
	r.tallies = append(r.tallies, t)
	r.of, r.few = l.parts*l.rows, few
	rows := l.choose(few, j.op.Full)
	if !few && int64(len(rows)) < r.of {
		more, err := j.large(r, l)
		if err != nil {
			return err
		}
		rows = union(rows, more)
	}
	if r.cells = int64(len(rows)); !few {
		r.cells = r.of // all that there will be
	}
	if !few && int64(len(rows)) < r.of && j.expected == nil && j.damage == nil {
		r.damage = newDamage(0, j.op.Outputs[0].Shape)
		j.damage = r.damage
		defer func() { j.damage = nil }()
	}
	return j.inFull(r, l, rows, out, t, !few && l.k >= 2*cube && l.cost() < orderedProduct)
}

// large checks all of a large product by projections, and returns the rows that are worth to
// be computed in full: those that are hit, or more of them where an activation forbids it.
func (j *judge) large(r *result, l *linear) ([]rowOf, error) {
	linearWay := r.attrs["activation"].Value.Text == "none" || r.attrs["activation"].Source == ""
	rowCost := float64(l.k) * float64(l.n)
	scanCost := float64(l.parts) * float64(l.rows) * float64(l.k) * float64(min(mostBlocks, l.n))
	budget := float64(j.op.Budget)
	if !linearWay || l.scales != nil || l.factors != 0 || l.alpha != 0 || l.beta != 0 || budget > 0 && scanCost > budget || !isFloat(j.op.Outputs[0].DType) {
		want := min(rowsOfActivation, max(pixelsInFull, int64(costOfActivation/rowCost)))
		if budget > 0 {
			want = min(want, int64(budget/rowCost))
		}
		r.how = "sampled"
		return union(l.sampled(want), j.hits), nil
	}
	p, err := j.scan(l, uint64(j.op.Seed))
	if err != nil {
		return nil, err
	}
	r.how, r.scanned = "projected", p
	j.hits = p.worstRows()
	return j.hits, nil
}

// union joins two lists of rows that are in order.
func union(a, b []rowOf) []rowOf {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b rowOf) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.row, b.row)) })
	return slices.Compact(all)
}

// inFull computes rows and compares them.
func (j *judge) inFull(r *result, l *linear, rows []rowOf, out *feed, t *tally, ordered bool) error {
	size := max(1, int(rowElements/max(1, l.n)))
	for len(rows) > 0 {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		n := slices.IndexFunc(rows, func(o rowOf) bool { return o.part != rows[0].part })
		if n < 0 {
			n = len(rows)
		}
		n = min(n, size)
		if err := j.rows(r, l, rows[:n], out, t, ordered); err != nil || !r.why.IsZero() {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// choose lists the rows that are computed in full.
func (l *linear) choose(few, full bool) []rowOf {
	var all []rowOf
	total := l.parts * l.rows
	want := total
	switch {
	case few:
		want = min(total, max(3, (fitElements+l.n-1)/max(1, l.n)))
	case !full && l.cost() > wholeProduct:
		want = rowsInFull
		if l.places != nil {
			want = pixelsInFull
		}
	}
	if want >= total {
		for i := range total {
			all = append(all, rowOf{i / l.rows, i % l.rows})
		}
		return all
	}
	return l.sampled(want)
}

// sampled are so many rows: the first and the last, corners, and others at random.
func (l *linear) sampled(want int64) []rowOf {
	total := l.parts * l.rows
	want = min(want, total)
	var all []rowOf
	chosen := map[int64]bool{0: true, total - 1: true, total / 2: true}
	for _, row := range l.places {
		for _, at := range []int64{row, total - l.rows + row} {
			if int64(len(chosen)) < want {
				chosen[at] = true
			}
		}
	}
	state := uint64(want)
	for int64(len(chosen)) < want {
		chosen[int64(random(&state)%uint64(total))] = true
	}
	for i := range chosen {
		all = append(all, rowOf{i / l.rows, i % l.rows})
	}
	return union(all, nil)
}

// sumsOf multiplies rows of one part. The sums of a sample are kept for hypotheses that differ
// behind the product only.
func (j *judge) sumsOf(r *result, l *linear, rows []rowOf, ordered bool) (*sums, error) {
	if !r.few {
		return l.multiply(&j.machine, rows, ordered)
	}
	key := r.attrs.product() + fmt.Sprint(rows[0], len(rows))
	if s := j.sampled[key]; s != nil {
		return s, nil
	}
	s, err := l.multiply(&j.machine, rows, ordered)
	if err != nil {
		return nil, err
	}
	if len(j.sampled) >= mostSampled || j.sampled == nil {
		j.sampled = map[string]*sums{}
	}
	s.v, s.size, s.square = slices.Clone(s.v), slices.Clone(s.size), slices.Clone(s.square)
	j.sampled[key] = s
	return s, nil
}

// mostSampled is how many samples of products are kept.
const mostSampled = 32

// product are the attributes that a product depends on, as text.
func (a Attributes) product() (text string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if name != "activation" {
			text += name + "=" + a[name].Value.String() + " "
		}
	}
	return text
}

// rows computes rows of one part and compares them.
func (j *judge) rows(r *result, l *linear, rows []rowOf, out *feed, t *tally, ordered bool) error {
	m := &j.machine
	m.reset()
	m.top, m.inside = 0, noInside()
	s, err := j.sumsOf(r, l, rows, ordered)
	if err != nil {
		return err
	}
	x, beta := m.bounded(s, l, len(rows)), 1.0
	if l.alpha != 0 || l.beta != 0 {
		x, beta = x.stepped().times(l.alpha), l.beta
	}
	if l.columns != nil {
		bias, err := l.columns(rows[0].part)
		if err != nil {
			return &TensorError{tensor.Input, 2, err}
		}
		x = x.stepped().add(m.exact(tensor.Shape{l.n}, slices.Clone(bias)).times(beta))
	}
	if l.scales != nil {
		x = l.scaled(x, rows, j.op.Outputs[0].DType)
	}
	for _, w := range l.same {
		b := m.exact(x.shape, m.alloc(len(x.v)))
		for i, o := range rows {
			if err := gather(w.feed, b.v[int64(i)*l.n:][:l.n], func(c int64) int64 { return l.offset(o.part, o.row, c) }); err != nil {
				return &TensorError{tensor.Input, 2, err}
			}
		}
		x = x.add(b.times(beta))
	}
	if a, ok := r.attrs["activation"]; ok {
		x = activate(x, a.Value.Text)
	}
	if m.err != nil {
		r.why = lang.Error(m.err)
		return nil //nolint:nilerr // the attributes do not go with the shapes
	}
	y := m.exact(x.shape, m.alloc(len(x.v)))
	for i, o := range rows {
		if m.stopped() {
			return m.err
		}
		if err := gather(out, y.v[int64(i)*l.n:][:l.n], func(c int64) int64 { return l.offset(o.part, o.row, c) }); err != nil {
			return &TensorError{tensor.Output, 0, err}
		}
	}
	wild := slices.ContainsFunc(s.v, func(v float64) bool { return v-v != 0 })
	offset := func(i int) int64 { o := rows[int64(i)/l.n]; return l.offset(o.part, o.row, int64(i)%l.n) }
	t.mark, t.above = j.collector(0, x, y, t, offset), m.top > math.MaxFloat32
	t.add(x, y, wild, nil, offset)
	r.add(m)
	return nil
}

// scaled multiplies rows of sums of integers by their scales, and rounds them where the output has integers.
func (l *linear) scaled(x *Array, rows []rowOf, d tensor.DType) *Array {
	m := x.m
	x = x.mul(m.exact(tensor.Shape{l.n}, slices.Clone(l.scales)))
	if l.rowScales != nil {
		own := make([]float64, len(rows))
		for i, o := range rows {
			own[i] = l.rowScales[o.part*l.rows+o.row]
		}
		x = x.mul(m.exact(tensor.Shape{int64(len(rows)), 1}, own))
	}
	if l.shifts != nil {
		x = x.add(m.exact(tensor.Shape{l.n}, slices.Clone(l.shifts)))
	}
	if isFloat(d) || m.err != nil {
		return x
	}
	const step = 0x1p-10 // of scales that have 19 bits
	low, high := integerRange(d)
	z := m.array(x.shape)
	for i, v := range x.v {
		off := float64(step*math.Abs(v)) + 1e-6
		near := flag(math.RoundToEven(v-off) != math.RoundToEven(v+off))
		z.set(i, min(max(math.RoundToEven(v), low), high), near, near)
	}
	return z
}

// gather reads elements at offsets: at once where they lie beside each other.
func gather(f *feed, dst []float64, offset func(i int64) int64) error {
	n := int64(len(dst))
	first, last := offset(0), offset(n-1)
	if last-first == n-1 {
		v, err := f.values64(first, n)
		copy(dst, v)
		return err
	}
	if span := last - first + 1; span > 0 && span <= 4*cellElements {
		v, err := f.values64(first, span)
		if err != nil {
			return err
		}
		for i := range dst {
			dst[i] = v[offset(int64(i))-first]
		}
		return nil
	}
	for i := range dst {
		v, err := f.values64(offset(int64(i)), 1)
		if err != nil {
			return err
		}
		dst[i] = v[0]
	}
	return nil
}
