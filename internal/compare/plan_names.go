package compare

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// namedTensor is what pairing knows of a tensor, of which info is what the name of its
// file says. hasDump is set for one whose file is named like a dump.
func namedTensor(op *dumpdir.Op, t *dumpdir.Tensor, info *filename.Info) (named pair.Tensor, hasDump bool) {
	n := pair.NewTensor(info)
	if n.FileOp != op.Name && !filename.IsShortened(n.Stem) { // the folders name the operator
		n = pair.Tensor{Timestamp: n.Timestamp}
	}
	n.FileOp, n.OpType, n.Op = op.Name, op.Type, op.Header
	if t.Operator != nil {
		n.Path = t.Path
	}
	n.Kind, n.Index, n.Slice = cmp.Or(t.Kind, n.Kind, tensor.Output), t.Index, t.Slice
	n.Timestamp = cmp.Or(n.Timestamp, op.Timestamp)
	if i := slices.IndexFunc(op.Origins, func(o dumpdir.Origin) bool { return o.Index == t.Index }); i >= 0 {
		n.Origin = &op.Origins[i]
	}
	return n, info.IsDump()
}

// shapes are the shapes that the file of a tensor has, nil for none.
func (p *Plan) shapes(id int, npu bool) []tensor.Shape {
	side := p.ref
	if npu {
		side = p.npu
	}
	it := side.Tensors[id]
	if it.Err != nil || it.Raw {
		return nil
	}
	t, err := it.Open(p.opt.Version, tensorfile.RawHint{})
	if err != nil {
		return nil // the error is found again when the tensor is compared
	}
	defer t.Close()
	var known []tensor.Shape
	for _, s := range []tensor.Shape{t.Shape, t.OriginalShape} {
		if len(s) > 0 { // a scalar's is in no name
			known = append(known, s)
		}
	}
	if len(known) == 0 && !it.Dump {
		known = append(known, tensor.Shape{})
	}
	return known
}

// sameName is what names a row in reports.
type sameName struct {
	op, kind, round string
	output          int
	npuOp           string
}

// distinguish makes the names of rows unique. Several results of the NPU can
// stand for one result of the model: their rows have the NPU's operator in
// NPUOp even where it is the model's name, and as much more of the tensor as it
// takes: NAME, NAME:output:1, TYPE.NAME:output:1:THREAD, or the file.
func (p *Plan) distinguish() {
	// Rows that differ without the NPU's operator differ whatever its name becomes.
	alike := map[sameName]int{}
	for i := range p.Pairs {
		alike[nameOf(p.Pairs[i].Row)]++
	}
	var shared []*Pair
	for i := range p.Pairs {
		if x := &p.Pairs[i]; alike[nameOf(x.Row)] > 1 {
			shared = append(shared, x)
		}
	}
	texts := []func(*Pair) string{
		func(x *Pair) string { return p.npu.named[x.NPU.ID].Name() },
		func(x *Pair) string { return p.tensorOf(x) },
		func(x *Pair) string {
			t := &p.npu.named[x.NPU.ID]
			return strings.TrimSuffix(t.OpType+"."+p.tensorOf(x)+":"+t.Slice, ":")
		},
		func(x *Pair) string { return path.Base(x.Row.NPUFile) },
	}
	for i := range texts {
		rows := map[sameName][]*Pair{}
		for _, x := range shared {
			at := nameOf(x.Row)
			if i > 0 { // in most reports the NPU's operator does not show
				at.npuOp = x.Row.NPUOp
			}
			rows[at] = append(rows[at], x)
		}
		for _, same := range rows {
			for _, x := range same {
				if len(same) > 1 && x.NPU != nil {
					x.Row.NPUOp = texts[i](x)
				}
			}
		}
	}
}

// nameOf is the name of a row without the NPU's operator.
func nameOf(r *record.Row) sameName {
	return sameName{op: r.Op, kind: r.Kind, round: r.Round, output: r.Output}
}

// tensorOf names the NPU's tensor.
func (p *Plan) tensorOf(x *Pair) string {
	t := &p.npu.named[x.NPU.ID]
	return t.Name() + ":" + string(t.Kind) + ":" + strconv.Itoa(t.Index)
}
