package dumpfmt

import (
	"fmt"
	"io"
	"math"

	"dumptool/internal/dumpfmt/dumppb"
)

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
func (p *part) useInline() (warnings []string) {
	if p.size != 0 && p.size != uint64(p.n) {
		warnings = append(warnings, fmt.Sprintf("%s holds %d bytes, its size says %s", p, p.n, count(p.size)))
	}
	return warnings
}

// place puts the bytes at off in a file that ends at end, and returns where they
// end. Where the file is cut off before, that is an error of this part alone.
func (p *part) place(off, end int64) (next int64) {
	rest := max(0, end-off)
	p.off, p.n, p.inline = min(off, end), int64(min(p.size, uint64(rest))), false
	if p.size > uint64(rest) {
		p.err = broken(off, p.String()+" data length", count(p.size), exceeds(rest))
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
