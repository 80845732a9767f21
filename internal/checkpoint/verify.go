package checkpoint

import (
	"bytes"
	"context"
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// elements are the elements of a weight in memory, as they are stored.
type elements struct {
	*weight
	stored, host []byte
	values       []float64
	part         []byte // the stored elements of values
}

func (w *weight) read() (*elements, error) {
	unit := int64(w.decoder.UnitSize())
	e := &elements{weight: w, stored: make([]byte, w.shape.Elements()*unit)}
	return e, w.tensor.Elements().ReadElements(e.stored, 0)
}

// line returns the elements of a line; the next call overwrites them.
func (e *elements) line(k kind, at int64) []float64 {
	first, stride := e.place(k, at)
	unit, n := int64(e.decoder.UnitSize()), e.length(k)
	part := e.stored[first*unit:]
	if stride != 1 {
		part = make([]byte, 0, n*unit)
		for i := range n {
			from := (first + i*stride) * unit
			part = append(part, e.stored[from:from+unit]...)
		}
	}
	size := e.decoder.Host().Size()
	if int64(len(e.values)) < n {
		e.values, e.host = make([]float64, n), make([]byte, n*int64(size))
	}
	e.part = part[:n*unit]
	e.decoder.Decode(e.host[:n*int64(size)], e.part)
	tensor.Float64s(e.values[:n], e.host[:n*int64(size)], e.decoder.Host())
	return e.values[:n]
}

// compareLines compares the lines of a weight whose digests do not prove that they are equal, and sets status and
// numbers of its row.
func (c *comparison) compareLines(ctx context.Context, row *Row, i int, f *found) {
	w := c.a.tensors[i]
	row.Transposed = f.isTransposed()
	var isRounded bool
	read := map[int32]*elements{}
	var own *elements
	for at, l := range f.lines {
		if l.weight < 0 {
			continue
		}
		if ctx.Err() != nil {
			return // the run ends without a report
		}
		b := c.b.tensors[l.weight]
		isProven := len(w.digests[f.of]) > 0 && len(b.digests[f.on]) > 0 && w.digests[f.of][at] == b.digests[f.on][l.at] &&
			(!w.isFloat || w.fits(c.grid)) && (!b.isFloat || b.fits(c.grid)) && !isWide(w.tensor.DType) && !isWide(b.tensor.DType)
		if isProven {
			continue
		}
		var err error
		if own == nil {
			if own, err = w.read(); err != nil {
				row.fail(w, err)
				return
			}
		}
		if read[l.weight] == nil {
			if read[l.weight], err = b.read(); err != nil {
				row.fail(b, err)
				return
			}
		}
		first, stride := w.place(f.of, int64(at))
		read[l.weight].line(f.on, l.at)
		own.line(f.of, int64(at))
		for k := range w.length(f.of) {
			c.count(row, own, read[l.weight], k, first+k*stride, &isRounded)
		}
	}
	for _, j := range f.partners() {
		row.B = append(row.B, c.b.tensors[j].name)
	}
	missing, err := w.countNonZero(f.of, func(at int64) bool { return f.lines[at].weight < 0 })
	if err != nil {
		row.fail(w, err)
		return
	}
	if row.Status, row.How = c.status(i, f); missing > 0 {
		row.Status, row.How = OnlyA, lang.Say("%d of %d %s are not on the other side", missing, len(f.lines), f.of)
	}
	row.settle(isRounded)
}

// fail notes that a weight cannot be read.
func (r *Row) fail(w *weight, err error) {
	r.Status, r.problem = Unread, &Problem{File: w.file, Tensor: w.name, Reason: lang.Error(err)}
}

// isWide reports whether integers of a type may be too large for the digests, which are computed of float64.
func isWide(d tensor.DType) bool { return d == tensor.Int64 || d == tensor.Uint64 }

// count counts element k of the lines that were read last, at a place of A.
func (c *comparison) count(row *Row, a, b *elements, k, at int64, isRounded *bool) {
	x, y := a.values[k], b.values[k]
	isSame := isEqual(x, y, a.weight, b.weight, c.grid)
	if isWide(a.tensor.DType) && a.tensor.DType == b.tensor.DType { // the values may be rounded
		isSame = bytes.Equal(a.part[8*k:8*k+8], b.part[8*k:8*k+8])
	}
	if !isSame {
		if row.Differing++; row.Differing == 1 {
			row.First = &Element{Index: a.shape.Coordinates(at), A: tensor.Number(x), B: tensor.Number(y)}
		}
	}
	*isRounded = *isRounded || x != y && x == x
}

// settle sets the status by the elements that differ.
func (r *Row) settle(isRounded bool) {
	r.Rounded = isRounded && r.Differing == 0
	switch {
	case r.Differing > 0:
		r.Layout, r.Status = r.Status, Different
	case r.Rounded && r.Status == Equal:
		r.Status = Rounded
	}
}

// comparePaired compares two weights that have one name and not the same lines.
func (c *comparison) comparePaired(ctx context.Context, row *Row, a, b *weight) {
	row.B = []string{b.name}
	if !a.shape.Equal(b.shape) {
		row.Status, row.How, row.Differing = Different, lang.Say("of shape %s", b.shape), a.shape.Elements()
		return
	}
	x, err := a.read()
	if err != nil {
		row.fail(a, err)
		return
	}
	y, err := b.read()
	if err != nil {
		row.fail(b, err)
		return
	}
	var isRounded bool
	var products, squares float64
	for at := range a.lines(rows) {
		if ctx.Err() != nil {
			return // the run ends without a report
		}
		u, v := x.line(rows, at), y.line(rows, at)
		for k := range u {
			c.count(row, x, y, int64(k), at*a.columns+int64(k), &isRounded)
			products += float64(u[k] * v[k])
			squares += float64(u[k] * u[k])
		}
	}
	row.Status = Equal
	row.settle(isRounded)
	if factor := products / squares; row.Status == Different && a.isFloat && isFactor(x, y, factor) {
		number := tensor.Number(factor)
		row.Status, row.Factor, row.Layout = Scaled, &number, ""
		row.How = lang.Say("%.6g times A", factor)
	}
}

// isFactor reports whether all elements of y are a factor times the elements of x, within the rounding of both and
// of the factor.
func isFactor(x, y *elements, factor float64) bool {
	if factor == 0 || factor-factor != 0 {
		return false
	}
	some := false
	for at := range x.lines(rows) {
		u, v := x.line(rows, at), y.line(rows, at)
		for k := range u {
			want := float64(u[k] * factor)
			if limit := float64(math.Abs(factor)*x.float.Ulp(u[k])) + y.float.Ulp(v[k]); !(math.Abs(v[k]-want) <= limit) {
				return false
			}
			some = some || u[k] != 0
		}
	}
	return some
}
