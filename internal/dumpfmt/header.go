package dumpfmt

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// buildDump makes the tensors and blobs of a Dump from the placed parts.
func (s *scanner) buildDump(d *Dump) {
	d.Inputs, d.InputDetails = s.newTensors("input")
	d.Outputs, d.OutputDetails = s.newTensors("output")
	for _, p := range s.parts {
		switch p.kind {
		case "buffer":
			d.Buffers = append(d.Buffers, p.newBlob(s.r))
		case "space":
			d.Spaces = append(d.Spaces, p.newBlob(s.r))
		}
	}
}

// newTensors makes tensors from the parts of a kind; nil for none.
func (s *scanner) newTensors(kind string) ([]tensor.Tensor, []Detail) {
	of := s.parts
	for len(of) > 0 && of[0].kind != kind {
		of = of[1:]
	}
	for len(of) > 0 && of[len(of)-1].kind != kind {
		of = of[:len(of)-1]
	}
	if len(of) == 0 {
		return nil, nil
	}
	tensors, details := make([]tensor.Tensor, len(of)), make([]Detail, len(of))
	for i := range of {
		tensors[i] = of[i].newTensor(s.r)
		details[i] = of[i].detail
	}
	return tensors, details
}

func (p *part) newBlob(r io.ReaderAt) Blob { return Blob{p.blobType, p.n, p.section(r), p.err} }

// newTensor makes the tensor of an input or output and completes its detail. An impossible dimension,
// or missing bytes, are an error of this tensor only.
func (p *part) newTensor(r io.ReaderAt) tensor.Tensor {
	d := &p.detail
	word := d.StoredFormat
	t := tensor.Tensor{
		DType:  tensor.DType(d.StoredDType),
		Format: word.Format(),
		C0:     word.C0(),
		Groups: word.Groups(),
		Size:   p.n,
		Data:   p.section(r),
	}
	if d.SubFormat > 0 {
		t.Groups = int64(d.SubFormat)
	}
	if d.OriginalOp != nil {
		t.OriginalFormat = &d.OriginalOp.Format
	}
	var stored, host error
	t.Shape, stored = newShape(p.dims, p, "%s shape")
	t.OriginalShape, host = newShape(p.original, p, "%s original shape")
	d.Err = cmp.Or(p.err, stored, host)
	return t
}

func newShape(dims []uint64, p *part, what string) (tensor.Shape, error) {
	if len(dims) == 0 {
		return nil, nil
	}
	shape := make(tensor.Shape, len(dims))
	for i, d := range dims {
		if d > math.MaxInt64 {
			return nil, formatError(p.descriptorAt, lang.Say("%s dimension %d", lang.Say(what, p.name()), i), lang.Plain(fmt.Sprint(d)), lang.Say("exceeds 63 bits"))
		}
		shape[i] = int64(d)
	}
	return shape, nil
}

// The protobuf dump, "version 1" of the Ascend toolkit, from older runtimes: the whole file is one
// DumpData message, with tensor bytes in the data fields of its outputs, inputs and buffers.
// Current software does not write it, so unlike in version 2 an unknown field means another kind of
// file. In a truncated file the tensors before the end are kept; a file truncated exactly after a
// tensor looks complete.

func readV1(s *scanner) (d *Dump, sure bool, err error) {
	sure, err = s.hasVersionAt(0)
	if err != nil {
		return nil, false, err
	}
	s.seek(0)
	if d, err = walk(s, s.size, walkOptions{isStrict: true, mayBeCut: sure}); err != nil {
		return nil, sure, err
	}
	if !holdsData(s.parts, sure) {
		return nil, sure, formatError(0, lang.Say("message"), lang.Sentence{}, lang.Say("holds no tensor bytes"))
	}
	for _, p := range s.parts {
		d.Warnings = append(d.Warnings, p.useInline()...)
	}
	s.buildDump(d)
	return d, true, nil
}

// holdsData reports whether the parts have bytes. If the message has a version, parts without bytes
// are accepted if their size is 0.
func holdsData(parts []*part, versioned bool) bool {
	claimed := false
	for _, p := range parts {
		if p.isInline && p.n > 0 {
			return true
		}
		claimed = claimed || p.size > 0
	}
	return versioned && len(parts) > 0 && !claimed
}

// The binary dump, "version 2" of the Ascend toolkit, from all current runtimes: u64 length of the
// header, the header (one DumpData message), then the bytes of all inputs, outputs, buffers and
// spaces without gaps.

// lengthSize is the size of the header length at the start of a file.
const lengthSize = 8

// headerLength reads the u64 at the start of a version-2 or TLV file and checks it against the file
// size.
func headerLength(s *scanner) (int64, error) {
	s.seek(0)
	if s.size <= lengthSize {
		return 0, formatError(0, lang.Say("file"), lang.Say("of %d bytes", s.size), lang.Say("is too short for a header"))
	}
	b, err := s.peek(lengthSize, s.size)
	if err != nil {
		return 0, err
	}
	n, rest := binary.LittleEndian.Uint64(b), s.size-lengthSize
	if n > uint64(rest) {
		return 0, formatError(0, lang.Say("header length"), lang.Plain(formatLength(n)), exceeds(rest))
	}
	return int64(n), nil
}

func readV2(s *scanner) (d *Dump, sure bool, err error) {
	n, err := headerLength(s)
	sure, ioErr := s.hasVersionAt(lengthSize)
	if err = cmp.Or(ioErr, err); err != nil {
		return nil, sure, err
	}
	s.seek(lengthSize)
	if d, err = walk(s, lengthSize+n, walkOptions{}); err != nil {
		return nil, sure, err
	}
	if len(s.parts) == 0 && d.Version == "" && d.OpName == "" {
		return nil, false, formatError(lengthSize, lang.Say("header"), lang.Say("of %d bytes", n), lang.Say("names neither operator nor tensor"))
	}
	d.Warnings = append(d.Warnings, placeParts(s.parts, lengthSize+n, s.size)...)
	s.buildDump(d)
	return d, true, nil
}

// placeParts places the parts one after another from off to end, the file size. Bytes inside a
// descriptor are used if the descriptor has size 0, or if that makes the file complete. Otherwise
// the file is truncated, and each part beyond its end has an error.
func placeParts(parts []*part, off, end int64) (warnings []lang.Sentence) {
	inline := func(p *part) bool { return p.isInline && p.size == 0 }
	anyInline := func(p *part) bool { return p.isInline }
	if !fitsInFile(parts, off, end, inline) && fitsInFile(parts, off, end, anyInline) {
		inline = anyInline
	}
	for _, p := range parts {
		if inline(p) {
			warnings = append(warnings, p.useInline()...)
			continue
		}
		off = p.setPlace(off, end)
	}
	if spare := end - off; spare > 0 {
		warnings = append(warnings, lang.Say("%d spare bytes after the last tensor, at 0x%x", spare, off))
	}
	return warnings
}

// fitsInFile reports whether the parts that are not inline have room from off to end.
func fitsInFile(parts []*part, off, end int64, inline func(*part) bool) bool {
	for _, p := range parts {
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

// part is the tensor bytes of an input, output, buffer or space, with the descriptor.
type part struct {
	kind           string
	index          int    // index among the parts of its kind
	size           uint64 // size in the descriptor
	span                  // bytes inside the descriptor at first, later the bytes to read, or an error
	dims, original []uint64
	detail         Detail
	blobType       int32 // type of a buffer or space
}

// span is the position in the file of a descriptor and of the bytes that it describes.
type span struct {
	descriptorAt int64 // offset of the descriptor
	off, n       int64 // offset and number of bytes
	isInline     bool  // the descriptor contains bytes, possibly none
	err          error // the file is truncated inside the descriptor
}

// partKinds are the kinds of parts, in the order of their bytes.
var partKinds = []string{"input", "output", "buffer", "space"}

// add adds a part, reusing memory of earlier files.
func (s *scanner) add(kind string) *part {
	index := 0
	for i := len(s.parts) - 1; i >= 0 && index == 0; i-- {
		if s.parts[i].kind == kind {
			index = s.parts[i].index + 1
		}
	}
	if s.parts = slices.Grow(s.parts, 1)[:len(s.parts)+1]; s.parts[len(s.parts)-1] == nil {
		s.parts[len(s.parts)-1] = new(part)
	}
	p := s.parts[len(s.parts)-1]
	*p = part{kind: kind, index: index, dims: p.dims[:0], original: p.original[:0]}
	return p
}

// sortParts sorts the parts in the order of their bytes.
func (s *scanner) sortParts() {
	slices.SortStableFunc(s.parts, func(a, b *part) int {
		return cmp.Compare(slices.Index(partKinds, a.kind), slices.Index(partKinds, b.kind))
	})
}

// name returns the name of the part, such as output 0. Errors and warnings use the name instead of
// the part, whose memory is reused for the next file.
func (p *part) name() string { return fmt.Sprintf("%s %d", p.kind, p.index) }

// dropUnnamed drops an original operator without a name: its element type and format have no
// meaning.
func (p *part) dropUnnamed() {
	if op := p.detail.OriginalOp; op != nil && op.Name == "" {
		p.detail.OriginalOp = nil
	}
}

// useInline uses all bytes inside the descriptor. It warns if the descriptor has another size,
// other than 0.
func (p *part) useInline() (warnings []lang.Sentence) {
	if p.size != 0 && p.size != uint64(p.n) {
		warnings = append(warnings, lang.Say("%s has %d bytes, its recorded size is %s", p.name(), p.n, formatLength(p.size)))
	}
	return warnings
}

// setPlace places the bytes at off in a file that ends at end, and returns the offset after them. If
// the file ends earlier, only this part has an error.
func (p *part) setPlace(off, end int64) (next int64) {
	rest := max(0, end-off)
	p.off, p.n, p.isInline = min(off, end), int64(min(p.size, uint64(rest))), false
	if p.size > uint64(rest) {
		p.err = formatError(off, lang.Say("%s data length", p.name()), lang.Plain(formatLength(p.size)), exceeds(rest))
	}
	if p.size > uint64(math.MaxInt64-off) {
		return math.MaxInt64
	}
	return off + int64(p.size)
}

func (p *part) section(r io.ReaderAt) *io.SectionReader {
	return io.NewSectionReader(r, p.off, p.n)
}
