package dumpfmt

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"dumptool/internal/dumpfmt/dumppb"
	"dumptool/internal/tensor"
)

// newDump makes a Dump of a header whose parts have been located in r.
func newDump(r io.ReaderAt, msg *dumppb.DumpData, parts []part) *Dump {
	d := &Dump{
		Version:  msg.GetVersion(),
		DumpTime: msg.GetDumpTime(),
		OpName:   msg.GetOpName(),
		DFX:      msg.GetDfxMessage(),
	}
	next := func() *part {
		p := &parts[0]
		parts = parts[1:]
		return p
	}
	d.Inputs, d.InputDetails = room(len(msg.GetInput()))
	for _, in := range msg.GetInput() {
		p := next()
		t, detail := newTensor(r, in, p)
		detail.ArgIndex, detail.InputType = in.GetArgIndex(), in.GetInputType()
		d.Inputs = append(d.Inputs, t)
		d.InputDetails = append(d.InputDetails, detail)
	}
	d.Outputs, d.OutputDetails = room(len(msg.GetOutput()))
	for _, out := range msg.GetOutput() {
		p := next()
		t, detail := newTensor(r, out, p)
		addOriginalOp(&t, &detail, out.GetOriginalOp())
		for _, dr := range out.GetDimRange() {
			detail.DimRanges = append(detail.DimRanges, DimRange{dr.GetDimStart(), dr.GetDimEnd()})
		}
		d.Outputs = append(d.Outputs, t)
		d.OutputDetails = append(d.OutputDetails, detail)
	}
	for _, b := range msg.GetBuffer() {
		p := next()
		d.Buffers = append(d.Buffers, Blob{b.GetBufferType(), p.n, p.section(r), p.err})
	}
	for _, w := range msg.GetSpace() {
		p := next()
		d.Spaces = append(d.Spaces, Blob{w.GetType(), p.n, p.section(r), p.err})
	}
	for _, a := range msg.GetAttr() {
		d.Attrs = append(d.Attrs, Attr{a.GetName(), a.GetValue()})
	}
	return d
}

// room returns empty lists with room for n tensors, nil for none.
func room(n int) ([]tensor.Tensor, []Detail) {
	if n == 0 {
		return nil, nil
	}
	return make([]tensor.Tensor, 0, n), make([]Detail, 0, n)
}

// descriptor is what OpInput and OpOutput have in common.
type descriptor interface {
	GetDataType() int32
	GetFormat() uint32
	GetShape() *dumppb.Shape
	GetOriginalShape() *dumppb.Shape
	GetSubFormat() int32
	GetAddress() uint64
	GetOffset() uint64
}

func newTensor(r io.ReaderAt, desc descriptor, p *part) (tensor.Tensor, Detail) {
	word := tensor.FormatWord(desc.GetFormat())
	t := tensor.Tensor{
		DType:  tensor.DType(desc.GetDataType()),
		Format: word.Format(),
		C0:     word.C0(),
		Groups: word.Groups(),
		Size:   p.n,
		Data:   p.section(r),
	}
	if sub := desc.GetSubFormat(); sub > 0 {
		t.Groups = int64(sub)
	}
	detail := Detail{
		StoredDType:  desc.GetDataType(),
		StoredFormat: word,
		SubFormat:    desc.GetSubFormat(),
		Address:      desc.GetAddress(),
		Offset:       desc.GetOffset(),
		Inline:       p.inline,
	}
	setShapes(&t, &detail, p, desc.GetShape().GetDim(), desc.GetOriginalShape().GetDim())
	return t, detail
}

// setShapes sets both shapes of a tensor. A dimension that no tensor can have
// is an error of this tensor alone, and so are bytes that the file lacks.
func setShapes(t *tensor.Tensor, detail *Detail, p *part, dims, original []uint64) {
	var stored, host error
	t.Shape, stored = newShape(dims, p.at, p.String()+" shape")
	t.OriginalShape, host = newShape(original, p.at, p.String()+" original shape")
	detail.Err = cmp.Or(p.err, stored, host)
}

func newShape(dims []uint64, at int64, what string) (tensor.Shape, error) {
	if len(dims) == 0 {
		return nil, nil
	}
	shape := make(tensor.Shape, len(dims))
	for i, d := range dims {
		if d > math.MaxInt64 {
			return nil, broken(at, fmt.Sprintf("%s dimension %d", what, i), fmt.Sprint(d), "exceeds 63 bits")
		}
		shape[i] = int64(d)
	}
	return shape, nil
}

// addOriginalOp notes the original operator of an output. Its element type and
// format mean something only where it has a name.
func addOriginalOp(t *tensor.Tensor, detail *Detail, op *dumppb.OriginalOp) {
	if op.GetName() == "" {
		return
	}
	format := tensor.FormatWord(op.GetFormat()).Format()
	t.OriginalFormat = &format
	detail.OriginalOp = &OriginalOp{
		Name:   op.GetName(),
		Index:  op.GetOutputIndex(),
		DType:  tensor.DType(op.GetDataType()),
		Format: format,
	}
}
