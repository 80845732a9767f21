package recompute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// A large product is checked whole without computing it: columns are added up with random
// signs, in blocks. For each row and block the sum of the output's elements has to be the row
// times the sum of the columns; what rounding leaves of it is known. A wrong element shows
// in its cell, a wrong column in all rows, and what is hit is computed in full.

const (
	mostBlocks               = 32
	matrixBlock, filterBlock = 128, 16
	cellHit, rowHit          = 8, 4
	chiHit, blockHit         = 1.25, 1.5
	mostHits, rowsAtOnce     = 24, 2048
	seedStep                 = 0x9e3779b97f4a7c15
)

// projection is the sums of columns with signs, of one part.
type projection struct {
	width, blocks int64
	signs         []float64
	// sums are those of the right factor by k and block, squares the means of its squares by
	// k, and share how much more a block has of them than all.
	sums, squares, share []float64
	offset               []float64 // of the bias, by block
}

// projected is what the cells of a product show.
type projected struct {
	cells, maxZ, sum, strict float64
	byBlock                  []float64
	hits                     []hit
}

// hit is a row that shows more than rounding.
type hit struct {
	rowOf
	z float64
}

// chi is the root of the mean of the squares of all cells, 1 for rounding alone.
func (p *projected) chi() float64 { return math.Sqrt(p.sum / max(1, p.cells)) }

// project reads the right factor of a part once.
func (l *linear) project(ctx context.Context, part int64, seed uint64) (*projection, error) {
	p := &projection{width: matrixBlock}
	if l.places != nil {
		p.width = filterBlock
	}
	p.width = max(p.width, (l.n+mostBlocks-1)/mostBlocks)
	p.blocks = (l.n + p.width - 1) / p.width
	p.signs = make([]float64, l.n)
	state := seed*seedStep + uint64(part)
	for i := range p.signs {
		p.signs[i] = float64(int64(random(&state)>>63)*2 - 1)
	}
	p.sums, p.squares, p.share = make([]float64, l.k*p.blocks), make([]float64, l.k), make([]float64, p.blocks)
	each, all := l.n, l.k
	if l.byColumn {
		each, all = l.k, l.n
	}
	step := max(1, chunkElements/max(1, each))
	for from := int64(0); from < all; from += step {
		right, err := l.right(part, from, min(all, from+step))
		if err != nil {
			return nil, &TensorError{tensor.Input, 1, err}
		}
		for i := range int64(len(right)) / each {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			line := right[i*each:][:each]
			if l.byColumn {
				p.column(from+i, line)
			} else {
				p.row(from+i, line)
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

// row adds a row of the right factor.
func (p *projection) row(k int64, line []float64) {
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

// column adds a column of the right factor.
func (p *projection) column(c int64, line []float64) {
	b, sign, n := c/p.width, p.signs[c], float64(len(p.signs))
	for k, y := range line {
		p.sums[int64(k)*p.blocks+b] += float64(sign * y)
		square := float64(y*y) / n
		p.squares[k] += square
		p.share[b] += square
	}
}

// outputs adds the elements of some rows of a tensor in the order of the output up with
// their signs, and the squares of their steps.
func (l *linear) outputs(f *feed, o rowOf, rows int64, p *projection, scale float64, sums, steps []float64, format *tensor.Float) error {
	add := func(row, column int64, v float64) {
		at := row*p.blocks + column/p.width
		sums[at] += float64(scale * float64(p.signs[column]*v))
		if steps != nil {
			s := stepOf(format, v)
			steps[at] += float64(s * s)
		}
	}
	if l.n == 1 || l.offset(o.part, o.row, 1) == l.offset(o.part, o.row, 0)+1 {
		for r := range rows {
			v, err := f.values64(l.offset(o.part, o.row+r, 0), l.n)
			if err != nil {
				return err
			}
			for c, y := range v {
				add(r, int64(c), y)
			}
		}
		return nil
	}
	for c := range l.n {
		v, err := f.values64(l.offset(o.part, o.row, c), rows)
		if err != nil {
			return err
		}
		for r, y := range v {
			add(int64(r), c, y)
		}
	}
	return nil
}

// scan projects all rows and returns what the cells show. beside are the bounds of the sums.
func (j *judge) scan(l *linear, seed uint64) (*projected, error) {
	all := &projected{}
	out := j.op.Outputs[0]
	f, err := newFeed(out, view{shape: out.Shape})
	if err != nil {
		return nil, err
	}
	together := int64(rowsAtOnce)
	if l.run > 0 {
		together = min(together, l.run)
	}
	left := make([]float64, together*l.k)
	for part := range l.parts {
		p, err := l.project(j.ctx, part, seed)
		if err != nil {
			return nil, err
		}
		if all.byBlock == nil {
			all.byBlock = make([]float64, p.blocks)
		}
		for row := int64(0); row < l.rows; {
			n := min(together, l.rows-row)
			if l.run > 0 {
				n = min(n, l.run-row%l.run)
			}
			if err := j.ctx.Err(); err != nil {
				return nil, err
			}
			if err := l.lefts(j.ctx, part, row, n, left); err != nil {
				return nil, &TensorError{tensor.Input, 0, err}
			}
			if err := j.cells(l, rowOf{part, row}, n, p, f, left, all); err != nil {
				return nil, err
			}
			row += n
		}
	}
	return all, nil
}

// lefts sets dst to rows of the left factor.
func (l *linear) lefts(ctx context.Context, part, row, n int64, dst []float64) error {
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

// cells compares rows with their projections.
func (j *judge) cells(l *linear, o rowOf, rows int64, p *projection, f *feed, left []float64, all *projected) error {
	out := j.op.Outputs[0]
	format := formatOf(out.DType)
	sums, steps := make([]float64, rows*p.blocks), make([]float64, rows*p.blocks)
	if err := l.outputs(f, o, rows, p, 1, sums, steps, &format); err != nil {
		return &TensorError{tensor.Output, 0, err}
	}
	for _, w := range l.same {
		if err := l.outputs(w.feed, o, rows, p, -1, sums, nil, &format); err != nil {
			return &TensorError{tensor.Input, 2, err}
		}
	}
	w := &j.machine.wide
	chain := float64(float64(w.acc*w.acc)*max(1, float64(l.k)/cube)) + float64(w.inp*w.inp)
	if l.winograd {
		chain += 0x1p-18
	}
	const inOrder = 6 // sums one after the other have a sixth of their number as variance
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
		rowSum, most := 0.0, 0.0
		for b := range expected {
			at := r*p.blocks + int64(b)
			width := float64(min(p.width, l.n-int64(b)*p.width))
			noise := steps[at] / 12
			d := sums[at] - p.offset[b] - expected[b]
			z := d / math.Sqrt(noise+float64(width*chain*spread*p.share[b]))
			if z != z {
				continue // beside NaN and infinities, which rows in full show
			}
			strict := d / math.Sqrt(noise+float64(width*narrow*spread*p.share[b]))
			z = math.Abs(z)
			all.cells++
			all.sum += float64(z * z)
			all.strict += float64(strict * strict)
			all.byBlock[b] += float64(z * z)
			rowSum += float64(z * z)
			most = max(most, z)
		}
		all.maxZ = max(all.maxZ, most)
		if most > cellHit || math.Sqrt(rowSum/float64(p.blocks)) > rowHit {
			all.hits = append(all.hits, hit{rowOf{o.part, o.row + r}, most})
		}
	}
	return nil
}

// worstRows are the rows that are computed in full: those that show most.
func (p *projected) worstRows() (rows []rowOf) {
	slices.SortStableFunc(p.hits, func(a, b hit) int {
		switch {
		case a.z > b.z:
			return -1
		case a.z < b.z:
			return 1
		}
		return 0
	})
	for _, h := range p.hits[:min(len(p.hits), mostHits)] {
		rows = append(rows, h.rowOf)
	}
	slices.SortFunc(rows, func(a, b rowOf) int {
		if a.part != b.part {
			return int(a.part - b.part)
		}
		return int(a.row - b.row)
	})
	return rows
}
