package recompute

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// linear is a matrix product, in parts: for each part, rows of the left factor, which are computed on demand, times
// the right factor, which is read in its stored order. A convolution has a row for each output pixel and a part for
// each group.
type linear struct {
	parts, rows, k, n int64
	// left sets dst to a row of the left factor.
	left func(part, row int64, dst []float64) error
	// right reads a range of the right factor of a part: columns from..to, of k elements each, if byColumn, else rows
	// from..to, of n elements each.
	right    func(part, from, to int64) ([]float64, error)
	byColumn bool
	// offset returns the offset of an element in the output.
	offset func(part, row, column int64) int64
	// columns returns the numbers that are added to the columns of a part, nil for none. addends are tensors of the
	// output's shape that are added to the product.
	columns func(part int64) ([]float64, error)
	addends []*feed
	// After these additions scales multiply the columns and rowScales the rows of all parts, and shifts are added to
	// the columns; nil for none. An integer output is rounded at the end.
	scales, rowScales, shifts []float64
	// factors is the relative rounding of the right factor before the product, 0 for none.
	factors float64
	// alpha multiplies the product and beta the addends; with beta 0 nothing is added, not even NaN. If both are 0
	// they count as 1.
	alpha, beta float64
	// block sets dst to n consecutive rows of the left factor. It is nil if calling left for each row is as fast.
	block func(part, row, n int64, dst []float64) error
	// adjacentRows is the number of rows that are contiguous in the output if its columns are not, such as the pixels
	// of an image; 0 otherwise.
	adjacentRows int64
	// winograd: a Winograd transform may have been used, which has larger errors.
	winograd bool
	// edgeRows are rows that are always in a sample: the corners of images.
	edgeRows []int64
}

const (
	// maxWholeProduct limits the multiplications of a product for which all rows are computed. Of a larger product
	// fullRows rows are computed, of a larger convolution fullPixels pixels.
	maxWholeProduct      = 2e7
	fullRows, fullPixels = 16, 64
	// Projections cannot check a large product that is followed by an activation. Of such a product rowsOfActivation
	// rows are computed, or as many as costOfActivation multiplications allow.
	rowsOfActivation, costOfActivation = int64(256), 1e9
	// chunkElements is the number of elements of the right factor that are read at a time, rowElements the number of
	// output elements that are computed at a time.
	chunkElements, rowElements = 1 << 18, 1 << 17
	// orderedProduct is the largest number of multiplications for which partial sums are tracked.
	orderedProduct = 3e7
	// cube is the number of products that the matrix unit adds exactly before it rounds.
	cube = 16
)

// setFactors sets alpha and beta from the attributes. adds is false if beta is 0, so that nothing is added.
func (l *linear) setFactors(h Attributes) (adds bool) {
	alpha, hasAlpha := h["alpha"].Value.Number()
	beta, hasBeta := h["beta"].Value.Number()
	if hasAlpha && hasBeta && (alpha != 1 || beta != 1) {
		l.alpha, l.beta = alpha, beta
	}
	return !hasBeta || beta != 0
}

// cost is the number of multiplications and additions of the whole product.
func (l *linear) cost() float64 {
	return float64(l.parts) * float64(l.rows) * float64(l.k) * float64(l.n)
}

// product is the sum of the variances of the rounding errors of count elements, as float16 sums, HF32 and Winograd
// transforms explain them.
type product struct {
	variance float64
	count    int64
}

// rowIndex is a row of a part.
type rowIndex struct{ part, row int64 }

// sums are the results of rows of a product, one number for each output element: the sums of the products, of their
// absolute values and of their squares; and the sums of the squared partial sums at each rounding of the matrix unit,
// nil if not tracked.
type sums struct{ v, size, square, partial []float64 }

// multiply computes rows of one part. ordered tracks partial sums.
func (l *linear) multiply(m *machine, rows []rowIndex, ordered bool) (*sums, error) {
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
		if m.isStopped() {
			return nil, m.err
		}
		if err := l.left(r.part, r.row, left[int64(i)*l.k:][:l.k]); err != nil {
			return nil, &TensorError{tensor.Input, 0, err}
		}
	}
	lineLength, lines := l.n, l.k
	if l.byColumn {
		lineLength, lines = l.k, l.n
	}
	step := max(1, chunkElements/max(1, lineLength))
	if !l.byColumn && step > cube {
		step -= step % cube
	}
	for from := int64(0); from < lines; from += step {
		to := min(lines, from+step)
		right, err := l.right(rows[0].part, from, to)
		if err != nil {
			return nil, &TensorError{tensor.Input, 1, err}
		}
		for i := range rows {
			if m.isStopped() {
				return nil, m.err
			}
			row := left[int64(i)*l.k:][:l.k]
			if l.byColumn {
				s.setColumns(row, right, i*int(l.n)+int(from), ordered)
			} else {
				s.addRows(row[from:to], right, i*int(l.n), int(l.n), ordered)
			}
		}
	}
	return s, nil
}

// addRows adds rows of the right factor times elements of the left row, in their order, four rows at a time.
func (s *sums) addRows(left, right []float64, at, n int, ordered bool) {
	v, size, square := s.v[at:at+n], s.size[at:at+n], s.square[at:at+n]
	for k := 0; k < len(left); k++ {
		if k%4 == 0 && k+4 <= len(left) {
			addFour(v, size, square, left[k:][:4], right[k*n:])
			k += 3
			s.addPartial(v, at, k, len(left), ordered)
			continue
		}
		x, row := left[k], right[k*n:][:n]
		for i, y := range row {
			p := float64(x * y)
			v[i] += p
			size[i] += math.Abs(p)
			square[i] += float64(p * p)
		}
		s.addPartial(v, at, k, len(left), ordered)
	}
}

// addPartial adds the squares of the partial sums where the matrix unit rounds.
func (s *sums) addPartial(v []float64, at, k, terms int, ordered bool) {
	if ordered && (k%cube == cube-1 || k == terms-1) {
		for i, t := range v {
			s.partial[at+i] += float64(t * t)
		}
	}
}

// addFour adds four rows times their factors, with one load and store of each sum.
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

// setColumns computes elements from columns of the right factor.
func (s *sums) setColumns(left, right []float64, at int, ordered bool) {
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

// boundedArray returns the sums as an array with bounds, and records the variance of their rounding.
func (m *machine) boundedArray(s *sums, l *linear, rows int) *Array {
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
		m.trackMagnitude(s.size[i])
		m.largest.keepLarger(productSums, s.size[i])
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

// losesPrecision reports whether a product has larger errors than any healthy matrix unit: the root mean square error
// is more than half (float16) or others (other types) times the expected one.
func (r *result) losesPrecision(d tensor.DType) bool {
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

// compareProduct compares the output of a product with the formula, in all rows, in sampled rows or by projection.
func (j *judge) compareProduct(r *result, few bool) error {
	p := &problem{Operator: j.op.castInputs(r.attrs)}
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
	r.total, r.isSample = l.parts*l.rows, few
	rows := l.chooseRows(few, j.op.Full)
	if !few && int64(len(rows)) < r.total {
		more, err := j.projectLarge(r, l)
		if err != nil {
			return err
		}
		rows = mergeRows(rows, more)
	}
	if r.cells = int64(len(rows)); !few {
		r.cells = r.total // the projection checked all rows
	}
	if !few && int64(len(rows)) < r.total && j.expected == nil && j.damage == nil {
		r.damage = newDamage(0, j.op.Outputs[0].Shape)
		j.damage = r.damage
		defer func() { j.damage = nil }()
	}
	return j.computeRows(r, l, rows, out, t, !few && l.k >= 2*cube && l.cost() < orderedProduct)
}

// projectLarge checks a large product by projection and returns the rows to compute: rows that the projection hits,
// or a larger sample if the product cannot be projected.
func (j *judge) projectLarge(r *result, l *linear) ([]rowIndex, error) {
	isLinear := r.attrs["activation"].Value.Text == "none" || r.attrs["activation"].Source == ""
	rowCost := float64(l.k) * float64(l.n)
	scanCost := float64(l.parts) * float64(l.rows) * float64(l.k) * float64(min(maxBlocks, l.n))
	budget := float64(j.op.Budget)
	if !isLinear || l.scales != nil || l.factors != 0 || l.alpha != 0 || l.beta != 0 || budget > 0 && scanCost > budget || !isFloat(j.op.Outputs[0].DType) {
		want := min(rowsOfActivation, max(fullPixels, int64(costOfActivation/rowCost)))
		if budget > 0 {
			want = min(want, int64(budget/rowCost))
		}
		r.how = "sampled"
		return mergeRows(l.sampleRows(want), j.hits), nil
	}
	p, err := j.projectRows(l, uint64(j.op.Seed))
	if err != nil {
		return nil, err
	}
	r.how, r.scanned = "projected", p
	j.hits = p.worstRows()
	return j.hits, nil
}

// mergeRows merges two lists of rows, in order and without duplicates.
func mergeRows(a, b []rowIndex) []rowIndex {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b rowIndex) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.row, b.row)) })
	return slices.Compact(all)
}

// computeRows computes rows and compares them, in groups of one part and about rowElements elements.
func (j *judge) computeRows(r *result, l *linear, rows []rowIndex, out *feed, t *tally, ordered bool) error {
	size := max(1, int(rowElements/max(1, l.n)))
	for len(rows) > 0 {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		n := slices.IndexFunc(rows, func(o rowIndex) bool { return o.part != rows[0].part })
		if n < 0 {
			n = len(rows)
		}
		n = min(n, size)
		if err := j.compareRows(r, l, rows[:n], out, t, ordered); err != nil || !r.why.IsZero() {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// chooseRows lists the rows that are computed.
func (l *linear) chooseRows(few, full bool) []rowIndex {
	var all []rowIndex
	total := l.parts * l.rows
	want := total
	switch {
	case few:
		want = min(total, max(3, (sampleElements+l.n-1)/max(1, l.n)))
	case !full && l.cost() > maxWholeProduct:
		want = fullRows
		if l.edgeRows != nil {
			want = fullPixels
		}
	}
	if want >= total {
		for i := range total {
			all = append(all, rowIndex{i / l.rows, i % l.rows})
		}
		return all
	}
	return l.sampleRows(want)
}

// sampleRows returns want rows: the first, the middle and the last one, edgeRows, and random rows.
func (l *linear) sampleRows(want int64) []rowIndex {
	total := l.parts * l.rows
	want = min(want, total)
	var all []rowIndex
	chosen := map[int64]bool{0: true, total - 1: true, total / 2: true}
	for _, row := range l.edgeRows {
		for _, at := range []int64{row, total - l.rows + row} {
			if int64(len(chosen)) < want {
				chosen[at] = true
			}
		}
	}
	state := uint64(want)
	for int64(len(chosen)) < want {
		chosen[int64(nextRandom(&state)%uint64(total))] = true
	}
	for i := range chosen {
		all = append(all, rowIndex{i / l.rows, i % l.rows})
	}
	return mergeRows(all, nil)
}

// sumsOf multiplies rows of one part. Sums of a sample are cached for hypotheses that differ only in the activation.
func (j *judge) sumsOf(r *result, l *linear, rows []rowIndex, ordered bool) (*sums, error) {
	if !r.isSample {
		return l.multiply(&j.machine, rows, ordered)
	}
	key := r.attrs.productKey() + fmt.Sprint(rows[0], len(rows))
	if s := j.cachedSums[key]; s != nil {
		return s, nil
	}
	s, err := l.multiply(&j.machine, rows, ordered)
	if err != nil {
		return nil, err
	}
	if len(j.cachedSums) >= maxCachedSums || j.cachedSums == nil {
		j.cachedSums = map[string]*sums{}
	}
	s.v, s.size, s.square = slices.Clone(s.v), slices.Clone(s.size), slices.Clone(s.square)
	j.cachedSums[key] = s
	return s, nil
}

// maxCachedSums is the number of cached sums.
const maxCachedSums = 32

// productKey returns the attributes that change a product, as text.
func (a Attributes) productKey() string { return a.textWithout("activation") }

// Arguments returns the values of all attributes but the types that operands were rounded to, in the order of their
// names.
func (a Attributes) Arguments() string { return a.textWithout(operands, scalars) }

// textWithout returns the values of the other attributes in the order of their names.
func (a Attributes) textWithout(except ...string) (text string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(except, name) {
			text += name + "=" + a[name].Value.String() + " "
		}
	}
	return text
}

// compareRows computes rows of one part and compares them.
func (j *judge) compareRows(r *result, l *linear, rows []rowIndex, out *feed, t *tally, ordered bool) error {
	m := &j.machine
	m.reset()
	m.maxMagnitude, m.largest = 0, newLargestValues()
	s, err := j.sumsOf(r, l, rows, ordered)
	if err != nil {
		return err
	}
	x, beta := m.boundedArray(s, l, len(rows)), 1.0
	if l.alpha != 0 || l.beta != 0 {
		x, beta = x.roundBetweenSteps().times(l.alpha), l.beta
	}
	if l.columns != nil {
		bias, err := l.columns(rows[0].part)
		if err != nil {
			return &TensorError{tensor.Input, 2, err}
		}
		x = x.roundBetweenSteps().add(m.exactArray(tensor.Shape{l.n}, slices.Clone(bias)).times(beta))
	}
	if l.scales != nil {
		x = l.scaleColumns(x, rows, j.op.Outputs[0].DType)
	}
	for _, f := range l.addends {
		b := m.exactArray(x.shape, m.alloc(len(x.v)))
		if err := l.gather(j.ctx, f, b.v, rows); err != nil {
			return &TensorError{tensor.Input, 2, err}
		}
		x = x.add(b.times(beta))
	}
	if a, ok := r.attrs["activation"]; ok {
		x = activate(x, a.Value.Text)
	}
	if m.err != nil {
		r.why = lang.Error(m.err)
		return nil //nolint:nilerr // the attributes do not fit the shapes
	}
	y := m.exactArray(x.shape, m.alloc(len(x.v)))
	if err := l.gather(j.ctx, out, y.v, rows); err != nil {
		return &TensorError{tensor.Output, 0, err}
	}
	nonFinite := slices.ContainsFunc(s.v, func(v float64) bool { return v-v != 0 })
	offset := func(i int) int64 { o := rows[int64(i)/l.n]; return l.offset(o.part, o.row, int64(i)%l.n) }
	t.mark, t.overflowsFloat32 = j.newCollector(0, x, y, t, offset), m.maxMagnitude > math.MaxFloat32
	t.add(x, y, nonFinite, nil, offset)
	r.merge(m)
	return nil
}

// scaleColumns multiplies integer sums by the scales, adds shifts, and rounds if the output has integers.
func (l *linear) scaleColumns(x *Array, rows []rowIndex, d tensor.DType) *Array {
	m := x.m
	x = x.mul(m.exactArray(tensor.Shape{l.n}, slices.Clone(l.scales)))
	if l.rowScales != nil {
		factors := make([]float64, len(rows))
		for i, o := range rows {
			factors[i] = l.rowScales[o.part*l.rows+o.row]
		}
		x = x.mul(m.exactArray(tensor.Shape{int64(len(rows)), 1}, factors))
	}
	if l.shifts != nil {
		x = x.add(m.exactArray(tensor.Shape{l.n}, slices.Clone(l.shifts)))
	}
	if isFloat(d) || m.err != nil {
		return x
	}
	const step = 0x1p-10 // of scales, which have 19 bits
	low, high := integerRange(d)
	z := m.array(x.shape)
	for i, v := range x.v {
		off := float64(step*math.Abs(v)) + 1e-6
		near := boolToFloat(math.RoundToEven(v-off) != math.RoundToEven(v+off))
		z.set(i, min(max(math.RoundToEven(v), low), high), near, near)
	}
	return z
}

// gather sets dst to the elements of rows of one part in a tensor of the output's shape: in one read if few elements lie
// between them, column by column if the rows are adjacent in the tensor, such as the pixels of an image, and otherwise
// in halves.
func (l *linear) gather(ctx context.Context, f *feed, dst []float64, rows []rowIndex) error {
	if err := ctx.Err(); err != nil || len(rows) == 0 || l.n == 0 {
		return err
	}
	starts := make([]int64, len(rows))
	for i, o := range rows {
		starts[i] = l.offset(o.part, o.row, 0)
	}
	columns := make([]int64, l.n)
	for c := range columns {
		columns[c] = l.offset(rows[0].part, rows[0].row, int64(c)) - starts[0]
	}
	first, height := slices.Min(starts), slices.Max(starts)-slices.Min(starts)+1
	if span := height + columns[l.n-1]; span <= 4*max(cellElements, int64(len(dst))) {
		values, err := f.readValues(first, span)
		if err != nil {
			return err
		}
		for i, start := range starts {
			for c, at := range columns {
				dst[i*len(columns)+c] = values[start-first+at]
			}
		}
		return nil
	}
	if half := len(rows) / 2; height > int64(len(rows)) {
		if err := l.gather(ctx, f, dst[:int64(half)*l.n], rows[:half]); err != nil {
			return err
		}
		return l.gather(ctx, f, dst[int64(half)*l.n:], rows[half:])
	}
	for c, at := range columns {
		values, err := f.readValues(first+at, height)
		if err != nil {
			return err
		}
		for i, start := range starts {
			dst[i*len(columns)+c] = values[start-first]
		}
	}
	return nil
}
