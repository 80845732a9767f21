package dumpfmt

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"dumptool/internal/dumpfmt/dumppb"
	"dumptool/internal/lang"
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
	t.Shape, stored = newShape(dims, p, "%s shape")
	t.OriginalShape, host = newShape(original, p, "%s original shape")
	detail.Err = cmp.Or(p.err, stored, host)
}

func newShape(dims []uint64, p *part, what string) (tensor.Shape, error) {
	if len(dims) == 0 {
		return nil, nil
	}
	shape := make(tensor.Shape, len(dims))
	for i, d := range dims {
		if d > math.MaxInt64 {
			return nil, broken(p.at, lang.Say("%s dimension %d", lang.Say(what, p), i), lang.Plain(fmt.Sprint(d)), lang.Say("exceeds 63 bits"))
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

// The protobuf dump, "version 1" of the Ascend toolkit, which older runtimes
// wrote: the whole file is one DumpData message with the tensor bytes in the
// data fields of its outputs, inputs and buffers. No writer of it is alive, so
// unlike in version 2 an unknown field means that the file is something else.
// Where the file is cut off, the tensors before are kept; a file that ends
// exactly behind one looks whole.

func readV1(s *scanner) (d *Dump, sure bool, err error) {
	sure, err = s.versionAt(0)
	if err != nil {
		return nil, false, err
	}
	s.seek(0)
	sk, err := walk(s, s.size, walkOptions{strict: true, cut: sure})
	if err != nil {
		return nil, sure, err
	}
	msg := sk.msg
	parts := listParts(msg, sk)
	if !holdsData(parts, sure) {
		return nil, sure, broken(0, lang.Say("message"), lang.Sentence{}, lang.Say("holds no tensor bytes"))
	}
	warnings := sk.warnings
	for i := range parts {
		warnings = append(warnings, parts[i].useInline()...)
	}
	d = newDump(s.r, msg, parts)
	d.Warnings = append(d.Warnings, warnings...)
	return d, true, nil
}

// holdsData reports whether the parts have bytes. Where the message has a
// version, parts without bytes that claim none pass too.
func holdsData(parts []part, versioned bool) bool {
	claimed := false
	for i := range parts {
		if parts[i].inline && parts[i].n > 0 {
			return true
		}
		claimed = claimed || parts[i].size > 0
	}
	return versioned && len(parts) > 0 && !claimed
}

// The binary dump, "version 2" of the Ascend toolkit, which every current
// runtime writes: u64 length of the header, the header (one DumpData message),
// then the bytes of every input, output, buffer and space back to back.

// lengthSize is the size of the header length at the start of a file.
const lengthSize = 8

// headerLength reads the u64 that a version 2 or TLV file starts with, and
// checks it against the file size.
func headerLength(s *scanner) (int64, error) {
	s.seek(0)
	if s.size <= lengthSize {
		return 0, broken(0, lang.Say("file"), lang.Say("of %d bytes", s.size), lang.Say("is too short for a header"))
	}
	b, err := s.peek(lengthSize, s.size)
	if err != nil {
		return 0, err
	}
	n, rest := binary.LittleEndian.Uint64(b), s.size-lengthSize
	if n > uint64(rest) {
		return 0, broken(0, lang.Say("header length"), lang.Plain(count(n)), exceeds(rest))
	}
	return int64(n), nil
}

func readV2(s *scanner) (d *Dump, sure bool, err error) {
	n, err := headerLength(s)
	sure, ioErr := s.versionAt(lengthSize)
	if err = cmp.Or(ioErr, err); err != nil {
		return nil, sure, err
	}
	s.seek(lengthSize)
	sk, err := walk(s, lengthSize+n, walkOptions{})
	if err != nil {
		return nil, sure, err
	}
	msg := sk.msg
	parts := listParts(msg, sk)
	if len(parts) == 0 && msg.GetVersion() == "" && msg.GetOpName() == "" {
		return nil, false, broken(lengthSize, lang.Say("header"), lang.Say("of %d bytes", n), lang.Say("names neither operator nor tensor"))
	}
	warnings := locate(parts, lengthSize+n, s.size)
	d = newDump(s.r, msg, parts)
	d.HeaderSize = n
	d.Warnings = append(d.Warnings, warnings...)
	return d, true, nil
}

// locate places the parts one after another from off to end, the file size.
// Bytes inside a descriptor are used where the descriptor claims no others,
// or where that makes the file whole: it is cut off otherwise, and the parts
// beyond its end have an error each.
func locate(parts []part, off, end int64) (warnings []lang.Sentence) {
	inline := func(p *part) bool { return p.inline && p.size == 0 }
	anyInline := func(p *part) bool { return p.inline }
	if !fit(parts, off, end, inline) && fit(parts, off, end, anyInline) {
		inline = anyInline
	}
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			warnings = append(warnings, p.useInline()...)
			continue
		}
		off = p.place(off, end)
	}
	if spare := end - off; spare > 0 {
		warnings = append(warnings, lang.Say("%d spare bytes after the last tensor, at 0x%x", spare, off))
	}
	return warnings
}

// fit reports whether the parts that are not inline have room from off to end.
func fit(parts []part, off, end int64, inline func(*part) bool) bool {
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			continue
		}
		if p.size > uint64(end-off) {
			return false
		}
		off += int64(p.size)
	}
	return true
}

// part is one run of tensor bytes: of an input, output, buffer or space.
type part struct {
	kind  string
	index int
	size  uint64 // as the descriptor says
	span         // the bytes inside the descriptor; in the end, where to read, or why that is impossible
}

// String names the part, such as output 0.
func (p *part) String() string { return fmt.Sprintf("%s %d", p.kind, p.index) }

// useInline takes the bytes inside the descriptor, which are as many as
// there are. A descriptor without claims nothing.
func (p *part) useInline() (warnings []lang.Sentence) {
	if p.size != 0 && p.size != uint64(p.n) {
		warnings = append(warnings, lang.Say("%s holds %d bytes, its size says %s", p, p.n, count(p.size)))
	}
	return warnings
}

// place puts the bytes at off in a file that ends at end, and returns where they
// end. Where the file is cut off before, that is an error of this part alone.
func (p *part) place(off, end int64) (next int64) {
	rest := max(0, end-off)
	p.off, p.n, p.inline = min(off, end), int64(min(p.size, uint64(rest))), false
	if p.size > uint64(rest) {
		p.err = broken(off, lang.Say("%s data length", p), lang.Plain(count(p.size)), exceeds(rest))
	}
	if p.size > uint64(math.MaxInt64-off) {
		return math.MaxInt64
	}
	return off + int64(p.size)
}

func (p *part) section(r io.ReaderAt) *io.SectionReader {
	return io.NewSectionReader(r, p.off, p.n)
}

// listParts lists the parts in the order of their bytes in a version 2 file.
func listParts(msg *dumppb.DumpData, sk *skeleton) []part {
	in, out, buf, space := len(msg.GetInput()), len(msg.GetOutput()), len(msg.GetBuffer()), len(msg.GetSpace())
	parts := make([]part, 0, in+out+buf+space)
	parts = appendParts(parts, "input", msg.GetInput(), sk.spans[inputField])
	parts = appendParts(parts, "output", msg.GetOutput(), sk.spans[outputField])
	parts = appendParts(parts, "buffer", msg.GetBuffer(), sk.spans[bufferField])
	return appendParts(parts, "space", msg.GetSpace(), sk.spans[spaceField])
}

func appendParts[D interface{ GetSize() uint64 }](parts []part, kind string, descs []D, spans []span) []part {
	for i, d := range descs {
		parts = append(parts, part{kind: kind, index: i, size: d.GetSize(), span: spans[i]})
	}
	return parts
}
