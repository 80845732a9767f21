// Package hdf5 reads HDF5 files with tensors: files of torch.utils.dumper of Ascend's PyTorch, and
// files that h5py and the HDF5 library write with ordinary settings. Tensors are listed without
// reading their data; contiguous data is a section of the file, chunks are decoded on demand.
//
// Supported are object headers of both versions; groups as symbol tables, link messages or fractal
// heaps; attributes in headers and heaps; all chunk indexes; deflate, shuffle and fletcher32. Other
// filters, virtual and external storage, and other types of numbers are errors of their tensor
// alone. Links to other files are never followed.
//
// Files are untrusted. Every length is checked before use, checksums are verified where the format
// has them, and the bytes read and held are bounded by the size of the file.
//
// The format is the HDF5 File Format Specification, version 3.0,
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.
package hdf5

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Open lists the datasets of a file of the given size. Datasets of torch.utils.dumper are in
// execution order and have an Operator; its recorded values other than tensors are Values, and so
// are datasets of texts, records and opaque bytes. Other datasets are in the order of groups and
// names.
//
// The error is a *FormatError for a file with broken structures, an *UnsupportedError, or an error
// of r. A dataset that cannot be read has its own error. Only the first megabytes of data in chunks
// are decoded: later damage is an error of reading.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	f, warnings, err := openFile(r, size)
	if err != nil {
		return nil, err
	}
	w := newWalker(f)
	w.warnings = warnings
	if err := w.walk(); err != nil {
		return nil, err
	}
	found := w.found
	sortByExecution(found)
	c := &format.Contents{Tensors: make([]format.Tensor, 0, len(found)), Warnings: w.warnings}
	for i := range found {
		m := found[i]
		found[i] = member{} // release the memory: there may be many datasets
		if kind, ok := m.plainValueType(); ok {
			c.Values = append(c.Values, format.Value{Name: nameOf(m.path), Type: kind, Text: m.text()})
		} else {
			c.Tensors = append(c.Tensors, m.newTensor())
		}
	}
	return c, nil
}

// member is a dataset with its place in the file.
type member struct {
	path []string
	*dataset
	err error
	op  *format.Operator
}

// newTensor returns the dataset as a tensor.
func (m *member) newTensor() format.Tensor {
	t := format.Tensor{Path: m.path, Name: nameOf(m.path), Operator: m.op, Err: m.err}
	t.Attrs = m.shownAttrs()
	if m.err != nil {
		return t
	}
	v := format.View{Stored: m.stored, DType: m.dtype, BigEndian: m.bigEndian, Shape: m.space.shape, Strides: m.space.shape.Strides()}
	t.Format, t.Shape, t.Size = tensor.ND, m.space.shape, m.size
	if m.op != nil {
		m.applyRecorded(&t, &v)
	}
	t.DType, t.Data = v.DType, v.Data()
	if m.unwritten > 0 {
		t.Warnings = append(t.Warnings, lang.Say("%d of %d elements were never written: they have the fill value %s", m.unwritten, m.space.shape.Elements(), m.fillText(&v)))
	}
	return t
}

// fillText formats the fill value, decoded like the elements of v.
func (m *member) fillText(v *format.View) string {
	if m.fill == nil {
		return "0"
	}
	one := format.View{Stored: bytes.NewReader(m.fill), DType: v.DType, BigEndian: v.BigEndian}
	raw := make([]byte, len(m.fill))
	decoder, err := tensor.NewDecoder(v.DType)
	if err == nil {
		err = format.ReadFull(one.Data(), raw, 0)
	}
	if err != nil {
		return fmt.Sprintf("%x", m.fill)
	}
	host := make([]byte, decoder.Host().Size())
	decoder.Decode(host, raw)
	if decoder.Host().Complex() {
		var value [1]complex128
		tensor.Complex128s(value[:], host, decoder.Host())
		return fmt.Sprint(value[0])
	}
	var value [1]float64
	tensor.Float64s(value[:], host, decoder.Host())
	return fmt.Sprint(value[0])
}

// maxText is the number of elements of a value that are shown.
const maxText = 16

// text formats the elements of a value.
func (m *member) text() string {
	if m.notNumbers {
		return format.NotRead
	}
	if m.err != nil {
		return m.err.Error()
	}
	n := min(m.size, maxText*int64(m.elementType.size))
	data := make([]byte, n)
	if err := format.ReadFull(m.stored, data, 0); err != nil {
		return err.Error()
	}
	list := len(m.space.shape) > 0
	text := fmt.Sprint(m.decodeValues(data, list))
	if list {
		text = strings.ReplaceAll(text, " ", ", ")
	}
	if n < m.size {
		text = strings.TrimSuffix(text, "]") + ", ...]"
	}
	return text
}

// separators escapes the characters that names in HDF5 must not have; names in a file may have
// them.
var separators = strings.NewReplacer("/", `\x2f`, "\x00", `\x00`)

// nameOf formats a path as in HDF5.
func nameOf(path []string) string {
	if len(path) == 0 {
		return "/"
	}
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.ToValidUTF8(separators.Replace(name), "\ufffd"))
	}
	return b.String()
}

// maxTensors bounds the datasets of a file, maxDepth the nesting of groups, maxSoft the length of a
// chain of soft links.
const (
	maxTensors = 1 << 20
	maxDepth   = 64
	maxSoft    = 16
)

// walker walks the groups of a file.
type walker struct {
	f        *file
	path     []string
	groups   map[int64][]link   // links of groups, by address
	listed   map[int64][]string // paths of the groups already walked, by address
	datasets map[int64]int      // indexes in found, by address
	found    []member
	warnings []lang.Sentence
}

func newWalker(f *file) *walker {
	return &walker{f: f, groups: make(map[int64][]link), listed: make(map[int64][]string), datasets: make(map[int64]int)}
}

// walk finds all datasets.
func (w *walker) walk() error {
	o, err := w.f.parseObject(w.f.root)
	if err != nil {
		return err
	}
	return w.group(o)
}

// linksOf returns the links of a group.
func (w *walker) linksOf(addr int64, o *objectHeader) ([]link, error) {
	if l, ok := w.groups[addr]; ok {
		return l, nil
	}
	if o == nil {
		var err error
		if o, err = w.f.parseObject(addr); err != nil {
			return nil, err
		}
	}
	l, err := w.f.readGroup(o)
	if err == nil {
		w.groups[addr] = l
	}
	return l, err
}

// group walks a group. A second link to it gives a warning.
func (w *walker) group(o *objectHeader) error {
	if first, ok := w.listed[o.addr]; ok {
		return w.warn("the group is listed as /%s", strings.Join(first, "/"))
	}
	if len(w.path) > maxDepth {
		return unsupported("%s: groups inside each other more than %d deep are not supported", nameOf(w.path), maxDepth)
	}
	w.listed[o.addr] = slices.Clone(w.path)
	links, err := w.linksOf(o.addr, o)
	if err != nil {
		return lang.Errorf("group %s: %w", nameOf(w.path), err)
	}
	if err := w.f.countHeld(64 + 16*int64(len(w.path))); err != nil {
		return err
	}
	for i := range links {
		w.path = append(w.path, links[i].name)
		err := w.followLink(o.addr, &links[i])
		w.path = w.path[:len(w.path)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// followLink follows a link of the group at an address. w.path is the path of the link.
func (w *walker) followLink(group int64, l *link) error {
	addr := l.addr
	switch l.kind {
	case hardLink:
	case softLink:
		var why error
		if addr, why = w.resolve(group, l.target, 1); why != nil {
			return w.warn("the link to %q %w", l.target, why)
		}
	case externalLink:
		return w.warn("link to another file is not followed")
	default:
		return w.warn("link of type %d is not followed", l.kind)
	}
	if i, ok := w.datasets[addr]; ok && (w.f.keep == nil || w.f.keep(w.path)) {
		m := w.found[i]
		return w.add(m.dataset, m.err)
	}
	o, err := w.f.parseObject(addr)
	switch {
	case err != nil:
		return w.add(&dataset{}, err)
	case !o.isDataset():
		return w.group(o)
	case w.f.keep != nil && !w.f.keep(w.path):
		return nil
	}
	d, err := w.f.readDataset(o)
	w.datasets[addr] = len(w.found)
	return w.add(d, err)
}

// add adds the dataset at w.path.
func (w *walker) add(d *dataset, err error) error {
	if len(w.found) == maxTensors {
		return unsupported("more than %d datasets are not supported", maxTensors)
	}
	w.found = append(w.found, member{path: slices.Clone(w.path), dataset: d, err: err})
	const size = 700 // bytes of a tensor and its parts without the name
	length := int64(0)
	for _, name := range w.path {
		length += 16 + int64(len(name))
	}
	return w.f.countHeld(size + length)
}

// maxWarnings bounds the warnings about links.
const maxWarnings = 1000

// warn adds a warning about the link at w.path.
func (w *walker) warn(format string, args ...any) error {
	text := lang.Say(format, args...)
	switch n := len(w.warnings); {
	case n < maxWarnings:
		text = lang.Say("%s: %s", nameOf(w.path), text)
	case n == maxWarnings:
		text = lang.Say("there are more links that are not followed")
	default:
		return nil
	}
	w.warnings = append(w.warnings, text)
	return w.f.countHeld(int64(16 + len(text.String())))
}

// resolve follows a path from a group, or from the root if it begins with a slash, to the address
// of an object. why is the reason if the path leads to no object.
func (w *walker) resolve(group int64, path string, depth int) (addr int64, why error) {
	if depth > maxSoft {
		return none, lang.Errorf("leads to more than %d others", maxSoft)
	}
	if strings.HasPrefix(path, "/") {
		group = w.f.root
	}
	for name := range strings.SplitSeq(path, "/") {
		// Count every component, empty ones included: chains of links multiply the steps of a path.
		const step = 32 // the cost of a step in bytes read
		if err := w.f.countRead(int64(len(name)) + step); err != nil {
			return none, err
		}
		if name == "" || name == "." {
			continue
		}
		links, err := w.linksOf(group, nil)
		if err != nil {
			return none, err
		}
		i, ok := slices.BinarySearchFunc(links, name, func(l link, name string) int { return strings.Compare(l.name, name) })
		if !ok {
			return none, lang.Errorf("leads nowhere")
		}
		switch l := &links[i]; l.kind {
		case hardLink:
			group = l.addr
		case softLink:
			if group, why = w.resolve(group, l.target, depth+1); why != nil {
				return none, why
			}
		default:
			return none, lang.Errorf("leads to another file")
		}
	}
	return group, nil
}

// FormatError is the error of an invalid file, or object in it.
type FormatError struct{ lang.Problem }

// UnsupportedError is the error of a possibly valid file that this package does not support.
type UnsupportedError struct{ lang.Problem }

// formatError returns an error about the bytes at an offset, -1 without an offset: the problem, found
// and wanted values.
func formatError(off int64, format string, args ...any) error {
	msg := lang.Say(format, args...)
	if off >= 0 {
		msg = lang.Say("%s at 0x%x", msg, off)
	}
	return &FormatError{lang.Problem{Sentence: msg}}
}

func unsupported(format string, args ...any) error {
	return &UnsupportedError{lang.Problem{Sentence: lang.Say(format, args...)}}
}
