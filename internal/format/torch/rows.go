package torch

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// file is what tensors need of the file that they are in.
type file struct {
	size      int64
	bigEndian bool
	// record returns the bytes of a storage, as many as there are.
	record func(*storage) (*io.SectionReader, error)
}

// What a file may make: so many tensors, of so many bytes each besides names, for which
// maxMemory has room. A pickle may mention one tensor in two bytes, and a key stands in
// the names of all that is below it.
const (
	maxTensors = 1 << 20
	rowMemory  = 1 << 10
	// maxValues is how many values that are no tensors are listed, maxValueBytes how
	// many bytes their names and texts have.
	maxValues     = 1 << 16
	maxValueBytes = 8 << 20
)

// walker lists what is in a value.
type walker struct {
	file
	contents *format.Contents
	path     []string
	// seen are the containers that have been walked: each is walked once.
	seen map[any]bool
	// records are the storages that have been looked for, by key.
	records map[string]record
	// memory is how many bytes rows may still take, values how many those of values
	// may.
	memory, values int64
	unlisted       int // values beyond the limits
}

// record is a storage in the file.
type record struct {
	data *io.SectionReader
	err  error
}

// contents lists the tensors in the value of a pickle by depth first, in the order of
// the file.
func contents(v any, f file) (*format.Contents, error) {
	w := &walker{file: f, contents: &format.Contents{}, seen: make(map[any]bool), records: make(map[string]record),
		memory: maxMemory(f.size), values: maxValueBytes}
	if err := w.walk(v); err != nil {
		return nil, err
	}
	if w.unlisted > 0 {
		w.contents.Warnings = append(w.contents.Warnings, fmt.Sprintf("%d values that are no tensors are not listed", w.unlisted))
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
			if err := w.within(keyText(item.Key), item.Value); err != nil {
				return err
			}
		}
	case *pickle.Sequence:
		if w.seen[v] {
			return nil
		}
		w.seen[v] = true
		for i, item := range v.Items {
			if err := w.within(strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case *object:
		return w.addTensor(v)
	case *storage:
		return w.addTensor(&object{storage: v, elementType: v.elementType, shape: tensor.Shape{v.length}, strides: []int64{1},
			Details: format.Details{Device: v.device}})
	default:
		w.addValue(v)
	}
	return nil
}

// within walks what stands at a place of a container.
func (w *walker) within(place string, v any) error {
	w.path = append(w.path, place)
	err := w.walk(v)
	w.path = w.path[:len(w.path)-1]
	return err
}

// keyText is a key of a dict as a component of a name.
func keyText(key any) string {
	if s, ok := key.(string); ok {
		return s
	}
	return repr(key)
}

// name is the path as messages have it; nothing for what the file holds alone.
func (w *walker) name() string { return strings.Join(w.path, ".") }

// nameLength is how long name is.
func (w *walker) nameLength() (n int64) {
	for _, p := range w.path {
		n += int64(len(p)) + 1
	}
	return n
}

func (w *walker) addTensor(t *object) error {
	w.memory -= rowMemory + w.nameLength() + 16*int64(len(w.path)+len(t.shape)+len(t.strides))
	switch {
	case len(w.contents.Tensors) == maxTensors:
		return unsupported("the file has more than %d tensors", maxTensors)
	case w.memory < 0:
		return unsupported("the names of the first %d tensors take more memory than a file of %d bytes may", len(w.contents.Tensors), w.size)
	}
	row := format.Tensor{Path: slices.Clone(w.path), Name: w.name(), Details: t.Details}
	row.TorchDType = t.scalar
	offset := t.offset // and not a pointer to all of t
	row.Strides, row.Offset = t.strides, &offset
	if t.storage == nil {
		row.Strides, row.Offset = nil, nil
	}
	row.DType, row.Format, row.Shape = t.dtype, tensor.ND, t.shape
	if row.Err = t.check(); row.Err == nil {
		row.Data, row.Err = w.data(t)
	}
	if row.Err == nil {
		row.Size = row.Data.Size()
	}
	w.contents.Tensors = append(w.contents.Tensors, row)
	return nil
}

// addValue lists a value that is no tensor.
func (w *walker) addValue(v any) {
	kind, text := describe(v)
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

// describe returns Python's type and the text of a value, an empty type for one that
// says nothing.
func describe(v any) (kind, text string) {
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
