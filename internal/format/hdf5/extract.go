package hdf5

import (
	"encoding/binary"
	"io"
	"slices"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// ExtractResult is the result of Extract.
type ExtractResult struct {
	// Datasets is the number of copied datasets.
	Datasets int
	// Left lists the datasets and attributes that could not be copied, with the reasons.
	Left []lang.Sentence
}

// Extract writes an HDF5 file with datasets of another HDF5 file: all for whose paths keep returns
// true, in their groups. Like h5copy it copies elements and attributes uninterpreted. Chunks become
// contiguous, filters are undone, and links become their targets. Attributes of groups are left
// out, and also types whose elements lie elsewhere in the file, such as text of variable length.
// Without datasets to copy nothing is written.
//
// The file is written from front to back, in the form of HDF5 1.8 and later. The error is from
// Open, reading or writing.
func Extract(w io.Writer, r io.ReaderAt, size int64, keep func(path []string) bool) (*ExtractResult, error) {
	f, _, err := openFile(r, size)
	if err != nil {
		return nil, err
	}
	f.keep = keep
	walk := newWalker(f)
	if err := walk.walk(); err != nil {
		return nil, err
	}
	x := &ExtractResult{}
	root := &node{}
	for i := range walk.found {
		m := &walk.found[i]
		if m.err != nil {
			x.Left = append(x.Left, lang.Say("%s: %v", nameOf(m.path), m.err))
			continue
		}
		var attrs []attribute
		for _, a := range m.attrs {
			if a.refersElsewhere() || len(a.encodeMessage()) > maxMessage {
				x.Left = append(x.Left, lang.Say("%s: attribute %s of type %s", nameOf(m.path), a.name, className(a.class)))
				continue
			}
			attrs = append(attrs, a)
		}
		d := *m.dataset
		d.attrs = attrs
		root.add(m.path, &d)
		x.Datasets++
	}
	if x.Datasets == 0 {
		return x, nil
	}
	return x, root.write(w)
}

// refersElsewhere reports whether elements may refer to other places of the file.
func (t elementType) refersElsewhere() bool {
	switch t.class {
	case classInteger, classFloat, 2, classText, 4, 5, classEnum, classComplex:
		return false
	}
	return t.problem != nil // compound types other than complex numbers
}

// node is a group or a dataset of the output file.
type node struct {
	name    string
	dataset *dataset // nil for a group
	members []*node
	addr    int64
	data    int64 // address of the data
}

// add adds a dataset at a path. Paths must come in the order of names.
func (n *node) add(path []string, d *dataset) {
	if len(path) == 0 {
		n.dataset = d
		return
	}
	last := len(n.members) - 1
	if last < 0 || n.members[last].name != path[0] || len(path) == 1 {
		n.members = append(n.members, &node{name: path[0]})
		last++
	}
	n.members[last].add(path[1:], d)
}

const superblockSize = 48

// write writes the file with n as its root.
func (n *node) write(w io.Writer) error {
	n.addr = superblockSize
	end := n.assignAddresses(n.addr)
	b := append([]byte(Magic), 2, 8, 8, 0)
	b = appendUint64(b, 0, noAddress, uint64(end), uint64(n.addr))
	if err := writeAll(w, appendSum(b)); err != nil {
		return err
	}
	return n.writeAll(w)
}

// assignAddresses assigns addresses from addr on to the object and all objects below it. It returns the
// address after them.
func (n *node) assignAddresses(addr int64) int64 {
	n.addr = addr
	addr += int64(len(n.encodeHeader()))
	if n.dataset != nil {
		n.data = alignAddress(addr)
		return alignAddress(n.data + n.dataset.size)
	}
	addr = alignAddress(addr)
	for _, m := range n.members {
		addr = m.assignAddresses(addr)
	}
	return addr
}

// alignAddress returns the next address that is a multiple of 8.
func alignAddress(addr int64) int64 { return (addr + 7) &^ 7 }

// writeAll writes the object and all objects below it.
func (n *node) writeAll(w io.Writer) error {
	head := n.encodeHeader()
	pad := make([]byte, alignAddress(n.addr+int64(len(head)))-n.addr-int64(len(head)))
	if err := writeAll(w, append(head, pad...)); err != nil {
		return err
	}
	if d := n.dataset; d != nil {
		if _, err := io.Copy(w, io.NewSectionReader(d.stored, 0, d.size)); err != nil {
			return err
		}
		return writeAll(w, make([]byte, alignAddress(d.size)-d.size))
	}
	for _, m := range n.members {
		if err := m.writeAll(w); err != nil {
			return err
		}
	}
	return nil
}

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

const (
	noAddress    = 1<<64 - 1
	msgGroupInfo = 0x0a
	maxMessage   = 1<<16 - 1 // bytes
)

// encodeHeader returns the object header, version 2.
func (n *node) encodeHeader() []byte {
	b := append([]byte("OHDR"), 2, 2) // the size has 4 bytes
	b = append(b, 0, 0, 0, 0)
	start := len(b)
	if n.dataset != nil {
		b = n.dataset.appendMessages(b, n.data)
	} else {
		b = n.appendLinks(b)
	}
	binary.LittleEndian.PutUint32(b[start-4:], uint32(len(b)-start))
	return appendSum(b)
}

// appendLinks appends the link messages of a group.
func (n *node) appendLinks(b []byte) []byte {
	b = appendMessage(b, msgLinkInfo, appendUint64([]byte{0, 0}, noAddress, noAddress))
	b = appendMessage(b, msgGroupInfo, []byte{0, 0})
	for _, m := range n.members {
		const sizeOf2, hasCharset = 1, 16
		link := []byte{1, sizeOf2 | hasCharset, charsetOf(m.name)}
		link = binary.LittleEndian.AppendUint16(link, uint16(len(m.name)))
		link = append(link, m.name...)
		b = appendMessage(b, msgLink, appendUint64(link, uint64(m.addr)))
	}
	return b
}

// charsetOf returns 1 (UTF-8) for names that are not ASCII.
func charsetOf(name string) byte {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return 1
		}
	}
	return 0
}

// appendMessages appends the messages of a dataset whose data is at an address.
func (d *dataset) appendMessages(b []byte, data int64) []byte {
	kind := byte(1)
	if len(d.space.shape) == 0 {
		kind = 0
	}
	space := []byte{2, byte(len(d.space.shape)), 0, kind}
	for _, n := range d.space.shape {
		space = appendUint64(space, uint64(n))
	}
	const late, ifSet = 2, 2 << 2 // allocation time of the data, write time of the fill value
	b = appendMessage(b, msgDataspace, space)
	b = appendMessage(b, msgDatatype, d.datatype)
	b = appendMessage(b, msgFill, []byte{3, late | ifSet})
	b = appendMessage(b, msgLayout, appendUint64([]byte{3, storedInOnePiece}, uint64(data), uint64(d.size)))
	// Without this message the library does not find attributes.
	b = appendMessage(b, msgAttributeInfo, appendUint64([]byte{0, 0}, noAddress, noAddress))
	for _, a := range d.attrs {
		b = appendMessage(b, msgAttribute, a.encodeMessage())
	}
	return b
}

// encodeMessage returns the attribute as a version-3 message.
func (a *attribute) encodeMessage() []byte {
	m := []byte{3, 0}
	for _, n := range []int{len(a.name) + 1, len(a.stored.datatype), len(a.stored.dataspace)} {
		m = binary.LittleEndian.AppendUint16(m, uint16(n))
	}
	m = append(m, charsetOf(a.name))
	m = append(append(m, a.name...), 0)
	return slices.Concat(m, a.stored.datatype, a.stored.dataspace, a.stored.data)
}

func appendMessage(b []byte, kind byte, data []byte) []byte {
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	return append(append(b, 0), data...)
}

func appendUint64(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// appendSum appends the checksum of all bytes.
func appendSum(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, lookup3(b)) }
