package checkpoint

import (
	"bytes"
	"context"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// elements reads the elements of a weight: a block at a time, or the whole of it for columns.
type elements struct {
	*weight
	source *tensorfile.Elements
	first  int64  // of stored
	stored []byte // the elements as they are stored
	host   []byte
	values []float64
	part   []byte // the stored elements of values
	err    error  // the first failure; elements are zeros from then on
}

func (w *weight) read() *elements { return &elements{weight: w, source: w.tensor.Elements()} }

// readStored returns stored elements. It reads a block or more at a time; the next call overwrites the elements.
func (e *elements) readStored(first, n int64) []byte {
	unit := int64(e.decoder.UnitSize())
	if from := (first - e.first) * unit; from >= 0 && from+n*unit <= int64(len(e.stored)) {
		return e.stored[from : from+n*unit]
	}
	size := int(min(e.shape.Elements()-first, max(n, blockElements)) * unit)
	e.first, e.stored = first, slices.Grow(e.stored[:0], size)[:size]
	if e.err == nil {
		e.err = e.source.ReadElements(e.stored, first)
	}
	if e.err != nil {
		clear(e.stored)
	}
	return e.stored[:n*unit]
}

// line returns the elements of a line; the next call overwrites them.
func (e *elements) line(k kind, at int64) []float64 {
	first, stride := e.lineOffset(k, at)
	unit, n := int64(e.decoder.UnitSize()), e.length(k)
	if stride == 1 {
		e.part = e.readStored(first, n)
		return e.decode(e.part)
	}
	all := e.readStored(0, e.shape.Elements())
	e.part = e.part[:0]
	for i := range n {
		from := (first + i*stride) * unit
		e.part = append(e.part, all[from:from+unit]...)
	}
	return e.decode(e.part)
}

// decode returns elements; the next call overwrites them.
func (e *elements) decode(part []byte) []float64 {
	n, size := len(part)/e.decoder.UnitSize(), e.decoder.Host().Size()
	if len(e.values) < n {
		e.values, e.host = make([]float64, n), make([]byte, n*size)
	}
	e.decoder.Decode(e.host[:n*size], part)
	tensor.Float64s(e.values[:n], e.host[:n*size], e.decoder.Host())
	return e.values[:n]
}

// compareLines compares the lines of a weight whose digests do not prove that they are equal, and sets status and
// numbers of its row.
func (c *comparison) compareLines(ctx context.Context, row *Row, i int, f *lineMatch) {
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
			!isWide(w.tensor.DType) && !isWide(b.tensor.DType) && !(w.isRounded && b.isRounded) && !(b.isRounded && b.shape.Elements() > w.shape.Elements())
		if isProven {
			isRounded = isRounded || w.isRounded || b.isRounded
			continue
		}
		if own == nil {
			own = w.read()
		}
		if read[l.weight] == nil {
			read[l.weight] = b.read()
		}
		first, stride := w.lineOffset(f.of, int64(at))
		read[l.weight].line(f.on, l.at)
		own.line(f.of, int64(at))
		for k := range w.length(f.of) {
			c.countElement(row, own, read[l.weight], k, first+k*stride, &isRounded)
		}
		if row.failOn(own) || row.failOn(read[l.weight]) {
			return
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
	if row.Status, row.How = c.statusOf(i, f); missing > 0 {
		row.Status, row.How = OnlyA, lang.Say("%d of %d %s are not on the other side", missing, len(f.lines), f.of)
	}
	row.setStatus(isRounded)
}

// fail notes that a weight cannot be read.
func (r *Row) fail(w *weight, err error) {
	r.Status, r.problem = Unread, &Problem{File: w.file, Tensor: w.name, Reason: lang.Error(err)}
}

// failOn reports whether elements could not be read, and records the error.
func (r *Row) failOn(e *elements) bool {
	if e.err != nil {
		r.fail(e.weight, e.err)
	}
	return e.err != nil
}

// isWide reports whether integers of a type may be too large for the digests, which are computed of float64.
func isWide(d tensor.DType) bool { return d == tensor.Int64 || d == tensor.Uint64 }

// countElement counts element k of the lines that were read last, at a place of A.
func (c *comparison) countElement(row *Row, a, b *elements, k, at int64, isRounded *bool) {
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

// setStatus sets the status by the elements that differ.
func (r *Row) setStatus(isRounded bool) {
	r.Rounded = isRounded && r.Differing == 0
	switch {
	case r.Differing > 0:
		r.Layout, r.Status = r.Status, Different
	case r.Rounded && r.Status == Equal:
		r.Status = Rounded
	}
}

// comparePaired compares two weights of the same name whose lines differ.
func (c *comparison) comparePaired(ctx context.Context, row *Row, a, b *weight) {
	row.B = []string{b.name}
	if !a.shape.Equal(b.shape) {
		row.Status, row.How, row.Differing = Different, lang.Say("of shape %s", b.shape), a.shape.Elements()
		return
	}
	x, y := a.read(), b.read()
	var isRounded bool
	var products, squares float64
	for at := range a.lineCount(rows) {
		if ctx.Err() != nil {
			return // the run ends without a report
		}
		u, v := x.line(rows, at), y.line(rows, at)
		for k := range u {
			c.countElement(row, x, y, int64(k), at*a.columns+int64(k), &isRounded)
			products += float64(u[k] * v[k])
			squares += float64(u[k] * u[k])
		}
		if row.failOn(x) || row.failOn(y) {
			return
		}
	}
	row.Status = Equal
	row.setStatus(isRounded)
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
	for at := range x.lineCount(rows) {
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
