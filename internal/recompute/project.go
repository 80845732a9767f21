package recompute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// A large product is checked without computing all of it, in the manner of Freivalds. The columns of the right factor
// are multiplied by random signs and added up in blocks. For each row and block, the same signed sum of output
// elements must equal the left row times the summed columns, up to a rounding error of known variance. A wrong
// element shows in one cell (row and block), a wrong column in the cells of all rows. Rows with a large deviation are
// computed in full.

// maxBlocks is the largest number of blocks of columns. matrixBlock and filterBlock are the least widths of a block
// of matrices and convolutions. cellHit and rowHit are the deviations, in standard deviations, from which a cell or
// the root mean square of a row is a hit: rounding exceeds 8 sigma with probability 1e-15. chiHit is the root mean
// square of all cells, about 1 for healthy rounding, from which the narrow bound is exceeded. maxHits is the number
// of hit rows that are computed, rowsAtOnce the number of rows that are read at a time. seedStep is the constant of
// splitmix64.
const (
	maxBlocks                = 32
	matrixBlock, filterBlock = 128, 16
	cellHit, rowHit          = 8, 4
	chiHit                   = 1.25
	maxHits, rowsAtOnce      = 24, 2048
	seedStep                 = 0x9e3779b97f4a7c15
)

// projection is the right factor of one part, summed with signs.
type projection struct {
	width, blocks int64
	signs         []float64
	// sums are the signed sums of columns by row k and block, squares the mean squares of row k, share the mean
	// square of a block relative to the mean of all blocks.
	sums, squares, share []float64
	offset               []float64 // signed sum of the bias, by block
}

// projectionResult is the result of a projection. sum and strict add up the squared deviations of all cells, in
// standard deviations of the wide and of the narrow rounding.
type projectionResult struct {
	cells, maxZ, sum, strict float64
	hits                     []deviatingRow
}

// deviatingRow is a row with a larger deviation than rounding explains; z is its largest deviation.
type deviatingRow struct {
	rowIndex
	z float64
}

// chi is the root mean square deviation of all cells, about 1 if only rounding differs.
func (p *projectionResult) chi() float64 { return math.Sqrt(p.sum / max(1, p.cells)) }

// project reads the right factor of a part and sums it.
func (l *linear) project(ctx context.Context, part int64, seed uint64) (*projection, error) {
	p := &projection{width: matrixBlock}
	if l.edgeRows != nil {
		p.width = filterBlock
	}
	p.width = max(p.width, (l.n+maxBlocks-1)/maxBlocks)
	p.blocks = (l.n + p.width - 1) / p.width
	p.signs = make([]float64, l.n)
	state := seed*seedStep + uint64(part)
	for i := range p.signs {
		p.signs[i] = float64(int64(nextRandom(&state)>>63)*2 - 1)
	}
	p.sums, p.squares, p.share = make([]float64, l.k*p.blocks), make([]float64, l.k), make([]float64, p.blocks)
	lineLength, lines := l.n, l.k
	if l.byColumn {
		lineLength, lines = l.k, l.n
	}
	step := max(1, chunkElements/max(1, lineLength))
	for from := int64(0); from < lines; from += step {
		right, err := l.right(part, from, min(lines, from+step))
		if err != nil {
			return nil, &TensorError{tensor.Input, 1, err}
		}
		for i := range int64(len(right)) / lineLength {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			line := right[i*lineLength:][:lineLength]
			if l.byColumn {
				p.addColumn(from+i, line)
			} else {
				p.addRow(from+i, line)
			}
		}
	}
	total := 0.0
	for _, s := range p.squares {
		total += s
	}
	for b := range p.share {
		if total > 0 {
			p.share[b] *= float64(p.blocks) / total
		}
	}
	p.offset = make([]float64, p.blocks)
	if l.columns != nil {
		bias, err := l.columns(part)
		if err != nil {
			return nil, &TensorError{tensor.Input, 2, err}
		}
		for i, v := range bias {
			p.offset[int64(i)/p.width] += float64(p.signs[i] * v)
		}
	}
	return p, nil
}

// addRow adds row k of the right factor.
func (p *projection) addRow(k int64, line []float64) {
	for b := range p.blocks {
		from, to := b*p.width, min(int64(len(line)), (b+1)*p.width)
		signs := p.signs[from:to]
		sum, square := 0.0, 0.0
		for i, y := range line[from:to] {
			sum += float64(signs[i] * y)
			square += float64(y * y)
		}
		p.sums[k*p.blocks+b] = sum
		p.squares[k] += square / float64(len(line))
		p.share[b] += square / float64(len(line))
	}
}

// addColumn adds column c of the right factor.
func (p *projection) addColumn(c int64, line []float64) {
	b, sign, n := c/p.width, p.signs[c], float64(len(p.signs))
	for k, y := range line {
		p.sums[int64(k)*p.blocks+b] += float64(sign * y)
		square := float64(y*y) / n
		p.squares[k] += square
		p.share[b] += square
	}
}

// addOutputs adds the signed elements of rows of a tensor of the output's shape, times scale, to the cells, and the
// squares of their rounding steps to steps unless steps is nil.
func (l *linear) addOutputs(ctx context.Context, f *feed, o rowIndex, rows int64, p *projection, scale float64, sums, steps []float64, format *tensor.Float) error {
	batch := max(1, rowElements/max(1, l.n))
	values := make([]float64, min(batch, rows)*l.n)
	for from := int64(0); from < rows; from += batch {
		list := make([]rowIndex, min(batch, rows-from))
		for i := range list {
			list[i] = rowIndex{o.part, o.row + from + int64(i)}
		}
		if err := l.gather(ctx, f, values[:int64(len(list))*l.n], list); err != nil {
			return err
		}
		for i := range list {
			cells := (from + int64(i)) * p.blocks
			for column, v := range values[int64(i)*l.n:][:l.n] {
				at := cells + int64(column)/p.width
				sums[at] += float64(scale * float64(p.signs[column]*v))
				if steps != nil {
					s := stepOf(format, v)
					steps[at] += float64(s * s)
				}
			}
		}
	}
	return nil
}

// projectRows projects all rows of the product.
func (j *judge) projectRows(l *linear, seed uint64) (*projectionResult, error) {
	total := &projectionResult{}
	out := j.op.Outputs[0]
	f, err := newFeed(out, view{shape: out.Shape})
	if err != nil {
		return nil, err
	}
	batch := int64(rowsAtOnce)
	if l.adjacentRows > 0 {
		batch = min(batch, l.adjacentRows)
	}
	left := make([]float64, batch*l.k)
	for part := range l.parts {
		p, err := l.project(j.ctx, part, seed)
		if err != nil {
			return nil, err
		}
		for row := int64(0); row < l.rows; {
			n := min(batch, l.rows-row)
			if l.adjacentRows > 0 {
				n = min(n, l.adjacentRows-row%l.adjacentRows)
			}
			if err := j.ctx.Err(); err != nil {
				return nil, err
			}
			if err := l.readLeftRows(j.ctx, part, row, n, left); err != nil {
				return nil, &TensorError{tensor.Input, 0, err}
			}
			if err := j.compareCells(l, rowIndex{part, row}, n, p, f, left, total); err != nil {
				return nil, err
			}
			row += n
		}
	}
	return total, nil
}

// readLeftRows sets dst to rows of the left factor.
func (l *linear) readLeftRows(ctx context.Context, part, row, n int64, dst []float64) error {
	if l.block != nil {
		return l.block(part, row, n, dst)
	}
	for r := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.left(part, row+r, dst[r*l.k:][:l.k]); err != nil {
			return err
		}
	}
	return nil
}

// compareCells compares rows of the output with their projection.
func (j *judge) compareCells(l *linear, o rowIndex, rows int64, p *projection, f *feed, left []float64, total *projectionResult) error {
	out := j.op.Outputs[0]
	format := formatOf(out.DType)
	sums, steps := make([]float64, rows*p.blocks), make([]float64, rows*p.blocks)
	if err := l.addOutputs(j.ctx, f, o, rows, p, 1, sums, steps, &format); err != nil {
		return &TensorError{tensor.Output, 0, err}
	}
	for _, added := range l.addends {
		if err := l.addOutputs(j.ctx, added, o, rows, p, -1, sums, nil, &format); err != nil {
			return &TensorError{tensor.Input, 2, err}
		}
	}
	w := &j.machine.wide
	chain := float64(float64(w.acc*w.acc)*max(1, float64(l.k)/cube)) + float64(w.inp*w.inp)
	if l.winograd {
		chain += 0x1p-18
	}
	const inOrder = 6 // a sequential sum of k terms has k/6 times the variance of one rounding
	narrow := float64(j.machine.narrow.acc*j.machine.narrow.acc) * max(1, float64(l.k)/inOrder)
	expected := make([]float64, p.blocks)
	for r := range rows {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		row := left[r*l.k:][:l.k]
		clear(expected)
		spread := 0.0
		for k, a := range row {
			spread += float64(float64(a*a) * p.squares[k])
			for b, s := range p.sums[int64(k)*p.blocks:][:p.blocks] {
				expected[b] += float64(a * s)
			}
		}
		rowSum, maxZ := 0.0, 0.0
		for b := range expected {
			at := r*p.blocks + int64(b)
			width := float64(min(p.width, l.n-int64(b)*p.width))
			noise := steps[at] / 12
			d := sums[at] - p.offset[b] - expected[b]
			z := d / math.Sqrt(noise+float64(width*chain*spread*p.share[b]))
			if z != z {
				continue // the comparison of rows in full finds NaN and infinities
			}
			strict := d / math.Sqrt(noise+float64(width*narrow*spread*p.share[b]))
			z = math.Abs(z)
			total.cells++
			total.sum += float64(z * z)
			total.strict += float64(strict * strict)
			rowSum += float64(z * z)
			maxZ = max(maxZ, z)
		}
		total.maxZ = max(total.maxZ, maxZ)
		if maxZ > cellHit || math.Sqrt(rowSum/float64(p.blocks)) > rowHit {
			total.hits = append(total.hits, deviatingRow{rowIndex{o.part, o.row + r}, maxZ})
		}
	}
	return nil
}

// worstRows returns the rows to compute in full: the maxHits rows with the largest deviations, in order.
func (p *projectionResult) worstRows() (rows []rowIndex) {
	slices.SortStableFunc(p.hits, func(a, b deviatingRow) int {
		switch {
		case a.z > b.z:
			return -1
		case a.z < b.z:
			return 1
		}
		return 0
	})
	for _, h := range p.hits[:min(len(p.hits), maxHits)] {
		rows = append(rows, h.rowIndex)
	}
	slices.SortFunc(rows, func(a, b rowIndex) int {
		if a.part != b.part {
			return int(a.part - b.part)
		}
		return int(a.row - b.row)
	})
	return rows
}
