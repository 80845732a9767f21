package torch

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/format"
	"dumptool/internal/lang"
	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// file gives tensors access to their file.
type file struct {
	size      int64
	bigEndian bool
	// record returns the bytes of a storage, possibly fewer than it should have.
	record func(*storage) storageBytes
}

// Limits of tensors: their number, and the bytes of each besides names, within maxMemory. A pickle
// can repeat a tensor in two bytes, and a key occurs in the names of everything below it.
const (
	maxTensors = 1 << 20
	rowMemory  = 1 << 10
	// maxValues bounds the listed values other than tensors, maxValueBytes the bytes of their names
	// and texts.
	maxValues     = 1 << 16
	maxValueBytes = 8 << 20
)

// walker lists the tensors and values in a value.
type walker struct {
	file
	contents *format.Contents
	path     []string
	// seen are the containers already walked: each is walked once.
	seen map[any]bool
	// records caches storages by key.
	records map[string]storageBytes
	// memory is the number of bytes left for rows, values the number of bytes left for values other
	// than tensors.
	memory, values int64
	unlisted       int // number of values beyond the limits
}

// storageBytes is a storage in the file.
type storageBytes struct {
	data   *io.SectionReader
	verify func() error // compares it with its checksum, nil for none
	err    error
}

// listContents lists the tensors in the value of a pickle depth first, in the order of the file.
func listContents(v any, f file) (*format.Contents, error) {
	w := &walker{file: f, contents: &format.Contents{}, seen: make(map[any]bool), records: make(map[string]storageBytes),
		memory: maxMemory(f.size), values: maxValueBytes}
	if err := w.walk(v); err != nil {
		return nil, err
	}
	if w.unlisted > 0 {
		w.contents.Warnings = append(w.contents.Warnings, lang.Say("%d values that are no tensors are not listed", w.unlisted))
	}
	return w.contents, nil
}

func (w *walker) walk(v any) error {
	switch v := v.(type) {
	case *pickle.Dict:
		if w.seen[v] {
			return nil
		}
		w.seen[v] = true
		for _, item := range v.Items {
			if err := w.walkItem(keyText(item.Key), item.Value); err != nil {
				return err
			}
		}
	case *pickle.Sequence:
		if w.seen[v] {
			return nil
		}
		w.seen[v] = true
		for i, item := range v.Items {
			if err := w.walkItem(strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case *pickledTensor:
		return w.addTensor(v)
	case *storage:
		return w.addTensor(&pickledTensor{storage: v, elementType: v.elementType, shape: tensor.Shape{v.length}, strides: []int64{1},
			Details: format.Details{Device: v.device}})
	default:
		w.addValue(v)
	}
	return nil
}

// walkItem walks a value at a place in a container.
func (w *walker) walkItem(place string, v any) error {
	w.path = append(w.path, place)
	err := w.walk(v)
	w.path = w.path[:len(w.path)-1]
	return err
}

// keyText returns a key of a dict as a component of a name.
func keyText(key any) string {
	if s, ok := key.(string); ok {
		return s
	}
	return repr(key)
}

// name returns the path as in messages; empty for the outermost value.
func (w *walker) name() string { return strings.Join(w.path, ".") }

// nameLength returns an upper bound of the length of name.
func (w *walker) nameLength() (n int64) {
	for _, p := range w.path {
		n += int64(len(p)) + 1
	}
	return n
}

func (w *walker) addTensor(t *pickledTensor) error {
	w.memory -= rowMemory + w.nameLength() + 16*int64(len(w.path)+len(t.shape)+len(t.strides))
	switch {
	case len(w.contents.Tensors) == maxTensors:
		return unsupported("the file has more than %d tensors", maxTensors)
	case w.memory < 0:
		return unsupported("the names of the first %d tensors need more memory than is allowed for a file of %d bytes", len(w.contents.Tensors), w.size)
	}
	row := format.Tensor{Path: slices.Clone(w.path), Name: w.name(), Details: t.Details}
	row.TorchDType = t.scalar
	offset := t.offset // a copy, so that t can be freed
	row.Strides, row.Offset = t.strides, &offset
	if t.storage == nil {
		row.Strides, row.Offset = nil, nil
	}
	row.DType, row.Format, row.Shape = t.dtype, tensor.ND, t.shape
	if row.Err = t.check(); row.Err == nil {
		row.Data, row.Err = w.tensorData(t)
	}
	if row.Err == nil {
		row.Size = row.Data.Size()
	}
	w.contents.Tensors = append(w.contents.Tensors, row)
	return nil
}

// addValue lists a value other than a tensor.
func (w *walker) addValue(v any) {
	kind, text := describeValue(v)
	if kind == "" {
		return
	}
	w.values -= w.nameLength() + int64(len(text))
	if w.values < 0 || len(w.contents.Values) == maxValues {
		w.unlisted++
		return
	}
	w.contents.Values = append(w.contents.Values, format.Value{Name: w.name(), Type: kind, Text: text})
}

// describeValue returns Python's type and the text of a value; the type is empty for values that are not
// listed.
func describeValue(v any) (kind, text string) {
	switch v := v.(type) {
	case nil:
		return "NoneType", "None"
	case bool, int64, *big.Int, float64, []byte:
		return pickle.TypeName(v), repr(v)
	case string:
		return "str", shorten(v)
	case *constant:
		return v.kind, v.text
	case *pickle.Name:
		return kindOf(v.String()), shorten(v.String())
	}
	return "", ""
}

// A tensor with strides of 0 repeats stored elements. It may have up to maxExpanded bytes, or up to
// maxTimes the bytes of its storage.
const (
	maxExpanded = 4 << 30
	maxTimes    = 1 << 16
)

// check returns an error for a tensor that is invalid or unsupported, regardless of its data.
func (t *pickledTensor) check() error {
	switch {
	case t.err != nil:
		return t.err
	case t.dtype == tensor.Undefined:
		return unsupported("elements of torch.%s are not supported", t.name)
	case t.storage.dtype == tensor.Undefined:
		return unsupported("a storage of torch.%s is not supported", t.storage.name)
	case len(t.shape) != len(t.strides):
		return formatError("shape %v has %d strides %v", t.shape, len(t.strides), t.strides)
	case len(t.shape) > maxRank:
		return unsupported("shape %v has more than %d axes", t.shape, maxRank)
	case t.offset < 0:
		return formatError("the offset is %d, want at least 0", t.offset)
	}
	for i, n := range t.shape {
		if n < 0 || t.strides[i] < 0 {
			return formatError("shape %v with strides %v has a negative number", t.shape, t.strides)
		}
	}
	if count, ok := t.shape.Count(); !ok || count > math.MaxInt64/int64(t.dtype.UnitSize()) {
		return formatError("shape %v has more than 63 bits of data", t.shape)
	}
	if t.conjugate && !t.dtype.Host().Complex() || t.negate && !hasSignBit(t.dtype) {
		return unsupported("a conjugate or negative of torch.%s that is not computed is not supported", t.name)
	}
	return nil
}

// hasSignBit reports whether elements are floats with a sign bit, or pairs of such floats.
func hasSignBit(d tensor.DType) bool {
	switch d.Host() {
	case tensor.HostFloat16, tensor.HostFloat32, tensor.HostFloat64, tensor.HostComplex64, tensor.HostComplex128:
		return d != tensor.Float8E8M0
	}
	return false
}

// elementsNeeded returns the number of leading elements of the storage that the tensor needs;
// math.MaxInt64 if more.
func (t *pickledTensor) elementsNeeded() int64 {
	room := math.MaxInt64 - t.offset // left after the last element
	for i, n := range t.shape {
		if t.strides[i] > 0 && n-1 > room/t.strides[i] {
			return math.MaxInt64
		}
		room -= (n - 1) * t.strides[i]
	}
	return math.MaxInt64 - max(0, room-1)
}

// tensorData returns the elements of a checked tensor.
func (w *walker) tensorData(t *pickledTensor) (*io.SectionReader, error) {
	view := format.View{DType: t.dtype, BigEndian: w.bigEndian, Shape: t.shape, Strides: t.strides, Negate: t.negate, Conjugate: t.conjugate}
	count := t.shape.Elements()
	if count == 0 {
		return io.NewSectionReader(bytes.NewReader(nil), 0, 0), nil
	}
	s := t.storage
	stored, err := w.storageBytes(s)
	if err != nil {
		return nil, err
	}
	unit := int64(t.dtype.UnitSize())
	has := stored.Size() / unit
	if need := t.elementsNeeded(); need > has {
		return nil, formatError("needs %d elements, its storage has %d", need, has)
	}
	if bytes := count * unit; bytes > maxExpanded && bytes/maxTimes > stored.Size() {
		return nil, unsupported("shape %v is an expansion of %d elements, more than %d times", t.shape, has, maxTimes)
	}
	view.Stored, view.Offset = stored, t.offset
	data := view.Data()
	if verify := w.records[s.key].verify; verify != nil {
		data = format.NewCheckedReader(data, data.Size(), verify)
	}
	return data, nil
}

// storageBytes returns the bytes of a storage, all that the pickle claims.
func (w *walker) storageBytes(s *storage) (*io.SectionReader, error) {
	r, ok := w.records[s.key]
	if !ok {
		r = w.record(s)
		w.records[s.key] = r
	}
	if r.err != nil {
		return nil, r.err
	}
	unit := int64(s.dtype.UnitSize())
	has := r.data.Size() / unit
	if s.count < 0 || s.count > has {
		return nil, formatError("storage %.100q has %d elements, want %d", s.key, has, s.count)
	}
	if s.first < 0 || s.length < 0 || s.first > s.count || s.length > s.count-s.first {
		return nil, formatError("the part of %d elements from %d on is not in storage %.100q, which has %d", s.length, s.first, s.key, s.count)
	}
	if s.first == 0 && s.length == s.count && s.length*unit == r.data.Size() {
		return r.data, nil
	}
	return io.NewSectionReader(r.data, s.first*unit, s.length*unit), nil
}

// maxText is the maximum length of the text of a value, in bytes.
const maxText = 200

// shorten cuts a text after maxText bytes.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// repr prints a value like Python, shortened.
func repr(v any) string {
	var b strings.Builder
	appendRepr(&b, v)
	return shorten(b.String())
}

// appendRepr appends the text of a value. Of a long text it may append only the beginning, more
// than maxText bytes.
func appendRepr(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{false: "False", true: "True"}[v])
	case int64, *big.Int:
		fmt.Fprint(b, v)
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		b.WriteString(quoteText(v[:min(len(v), 4*maxText)], strconv.IsPrint))
	case []byte:
		b.WriteByte('b')
		latin := make([]rune, min(len(v), maxText+1))
		for i := range latin {
			latin[i] = rune(v[i])
		}
		b.WriteString(quoteText(string(latin), func(r rune) bool { return r >= ' ' && r < 0x7f }))
	case *pickle.Sequence:
		sequenceRepr(b, v)
	case *constant:
		b.WriteString(v.text)
	case *pickle.Name:
		b.WriteString(v.String())
	default:
		b.WriteString("...")
	}
}

// sequenceRepr appends a list or tuple; sets have no order and are printed as lists.
func sequenceRepr(b *strings.Builder, s *pickle.Sequence) {
	begin, end := "[", "]"
	if s.Kind == pickle.Tuple {
		begin, end = "(", ")"
		if len(s.Items) == 1 {
			end = ",)"
		}
	}
	b.WriteString(begin)
	for i, item := range s.Items {
		if b.Len() > maxText {
			return
		}
		if i > 0 {
			b.WriteString(", ")
		}
		appendRepr(b, item)
	}
	b.WriteString(end)
}

// floatRepr prints a float like Python: with a decimal point, or from 1e16 on and below 1e-4 with
// an exponent of at least two digits.
func floatRepr(v float64) string {
	switch {
	case v != v:
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quoteText quotes a text with single quotes, or with double quotes if it contains only single ones.
func quoteText(s string, printable func(rune) bool) string {
	mark := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for _, r := range s {
		switch {
		case r == mark || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(mark)
	return b.String()
}
