package torch

import (
	"archive/zip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Writer writes a file with one tensor for torch.load: a zip file with the entries data.pkl,
// byteorder, data/0 with the elements, and version, in a folder archive. Equal tensors give equal
// bytes.
type Writer struct {
	zip  *zip.Writer
	data io.Writer // receives the elements
	lead int64     // bytes before the elements, counted in elements
	unit int       // bytes of an element passed to Write
	left int64     // bytes of elements that are still missing
	// widen converts elements to the written type, in the memory of wide; nil if the types are
	// equal.
	widen func(dst, src []byte)
	wide  []byte
}

// alignment of the elements in the file, as in PyTorch, in bytes.
const alignment = 64

// localHeader is the length of a local header without the name.
const localHeader = 30

// NewWriter starts a file with a tensor in C order. Unsigned integers that older versions of
// PyTorch lack are written in a wider type; 64-bit unsigned integers are an error.
func NewWriter(w io.Writer, host tensor.Host, shape tensor.Shape) (*Writer, error) {
	written, widen := host, (func(dst, src []byte))(nil)
	switch host {
	case tensor.HostUint16:
		written, widen = tensor.HostInt32, widen16
	case tensor.HostUint32:
		written, widen = tensor.HostInt64, widen32
	case tensor.HostUint64, tensor.HostNone:
		return nil, unsupported("files of PyTorch have no elements of %s", host)
	}
	if len(shape) > maxRank {
		return nil, unsupported("shape %v has more than %d axes", shape, maxRank)
	}
	room := math.MaxInt64 / int64(written.Size())
	for _, n := range shape { // strides must fit even without elements
		if n < 0 {
			return nil, formatError("shape %v has a negative number", shape)
		}
		room /= max(1, n)
	}
	if room == 0 {
		return nil, unsupported("shape %v has more than 63 bits of data", shape)
	}
	count := shape.Elements()
	counted := &countWriter{w: w}
	f := &Writer{zip: zip.NewWriter(counted), widen: widen, unit: host.Size(), left: count * int64(host.Size())}
	if err := f.writeEntry(pickleEntry, appendPickle(nil, written, shape, count)); err != nil {
		return nil, err
	}
	if err := f.writeEntry("byteorder", []byte("little")); err != nil {
		return nil, err
	}
	if err := f.zip.Flush(); err != nil {
		return nil, err
	}
	header := zip.FileHeader{Name: folder + "data/0", Method: zip.Store}
	begin := counted.n + localHeader + int64(len(header.Name))
	header.Extra = paddingField(begin)
	f.lead = (begin + int64(len(header.Extra))) / int64(written.Size())
	var err error
	f.data, err = f.zip.CreateHeader(&header)
	return f, err
}

// folder is the folder of all entries.
const folder = "archive/"

// writeEntry writes an entry.
func (f *Writer) writeEntry(name string, content []byte) error {
	const version = 20 // of zip files with folders
	size := uint64(len(content))
	w, err := f.zip.CreateRaw(&zip.FileHeader{Name: folder + name, Method: zip.Store, CreatorVersion: version, ReaderVersion: version,
		CRC32: crc32.ChecksumIEEE(content), CompressedSize64: size, UncompressedSize64: size})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// paddingField returns an extra field, of PyTorch's own kind FB, that aligns data which would begin at
// an offset.
func paddingField(begin int64) []byte {
	const head = 4
	n := (alignment - (begin+head)%alignment) % alignment
	extra := append([]byte("FB"), byte(n), 0)
	for range n {
		extra = append(extra, 'Z')
	}
	return extra
}

// PrefixLength returns the bytes before the elements in the file, counted in elements.
func (f *Writer) PrefixLength() int64 { return f.lead }

// Write writes the next whole, little-endian elements.
func (f *Writer) Write(elements []byte) (int, error) {
	if int64(len(elements)) > f.left || len(elements)%f.unit != 0 {
		return 0, lang.Errorf("write of %d bytes, %d bytes of elements are left", len(elements), f.left)
	}
	out := elements
	if f.widen != nil {
		if len(f.wide) < 2*len(elements) {
			f.wide = make([]byte, 2*len(elements))
		}
		out = f.wide[:2*len(elements)]
		f.widen(out, elements)
	}
	if _, err := f.data.Write(out); err != nil {
		return 0, err
	}
	f.left -= int64(len(elements))
	return len(elements), nil
}

// Close writes the rest of the zip file. It does not close the underlying writer.
func (f *Writer) Close() error {
	if f.left > 0 {
		return lang.Errorf("%d bytes of elements were not written", f.left)
	}
	if err := f.writeEntry("version", []byte("3\n")); err != nil {
		return err
	}
	return f.zip.Close()
}

func widen16(dst, src []byte) {
	for ; len(src) >= 2; dst, src = dst[4:], src[2:] {
		binary.LittleEndian.PutUint32(dst, uint32(binary.LittleEndian.Uint16(src)))
	}
}

func widen32(dst, src []byte) {
	for ; len(src) >= 4; dst, src = dst[8:], src[4:] {
		binary.LittleEndian.PutUint64(dst, uint64(binary.LittleEndian.Uint32(src)))
	}
}

// countWriter counts written bytes.
type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// appendPickle appends the pickle of a tensor as torch.save writes it: protocol 2, memo entries
// numbered in order.
func appendPickle(b []byte, host tensor.Host, shape tensor.Shape, count int64) []byte {
	var scalar string
	for _, e := range elementTypes {
		if e.dtype == host.DType() {
			scalar = e.scalar
		}
	}
	memo := byte(0)
	put := func(parts ...string) {
		for _, p := range parts {
			b = append(b, p...)
		}
		b = append(b, 'q', memo)
		memo++
	}
	global := func(module, name string) { put("c", module, "\n", name, "\n") }
	text := func(s string) {
		put("X", string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))), s)
	}
	tuple := func(list []int64) {
		if len(list) == 0 {
			b = append(b, ')')
			return
		}
		if len(list) > 3 {
			b = append(b, '(')
		}
		for _, n := range list {
			b = appendInt(b, n)
		}
		put([]string{1: "\x85", 2: "\x86", 3: "\x87", 4: "t"}[min(len(list), 4)])
	}
	b = append(b, "\x80\x02"...)
	global("torch._utils", "_rebuild_tensor_v2")
	b = append(b, "(("...)
	text("storage")
	global("torch", scalar+"Storage")
	text("0")
	text("cpu")
	b = appendInt(b, count)
	put("t")
	b = appendInt(append(b, 'Q'), 0) // storage
	tuple(shape)
	tuple(torchStrides(shape))
	b = append(b, '\x89') // requires_grad
	global("collections", "OrderedDict")
	put(")R")
	put("t")
	put("R")
	return append(b, '.')
}

// torchStrides returns the strides of PyTorch: an axis of length 0 counts as length 1.
func torchStrides(shape tensor.Shape) []int64 {
	strides := make([]int64, len(shape))
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(1, shape[i])
	}
	return strides
}

// appendInt appends a non-negative integer as Python's pickler does.
func appendInt(b []byte, n int64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(b, 'K', byte(n))
	case n <= math.MaxUint16:
		return binary.LittleEndian.AppendUint16(append(b, 'M'), uint16(n))
	case n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(n))
	}
	var digits []byte
	for rest := n; rest > 0; rest >>= 8 {
		digits = append(digits, byte(rest))
	}
	if digits[len(digits)-1] >= 0x80 { // the top bit is the sign
		digits = append(digits, 0)
	}
	return append(append(b, 0x8a, byte(len(digits))), digits...)
}
