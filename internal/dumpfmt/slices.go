package dumpfmt

import (
	"encoding/json"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Dumps of operators that were sliced by thread, one file per thread ("FFTS+"). An attribute in the
// header is a JSON text with the mode and, for each thread and tensor, the range of every dimension
// that the thread processed; the fields are the same as in the comparison tool of the Ascend
// toolkit.

// sliceNote lists the members of the JSON text that are used.
type sliceNote struct {
	ThreadMode looseBool       `json:"threadMode"`
	Inputs     [][][]dimension `json:"input_tensor_slice"`
	Outputs    [][][]dimension `json:"output_tensor_slice"`
}

// dimension is a range of one dimension, Higher excluded.
type dimension struct {
	Higher *looseInt `json:"higher"`
	Lower  *looseInt `json:"lower"`
}

// ThreadSlices returns the shapes of the inputs and outputs of a dump in the thread of its file
// name; they replace the stored shapes. ok is false for ordinary operators, which are not sliced by
// thread.
func ThreadSlices(d *Dump, name filename.Dump) (inputs, outputs []tensor.Shape, ok bool, err error) {
	note, ok, err := findSliceNote(d.Attrs)
	if !ok || err != nil {
		return nil, nil, false, err
	}
	if !name.HasThread {
		return nil, nil, false, lang.Errorf("the dump of a thread, but the name %q has no thread id", name)
	}
	if inputs, err = threadShapes("input", note.Inputs, name.ThreadID, len(d.Inputs)); err != nil {
		return nil, nil, false, err
	}
	if outputs, err = threadShapes("output", note.Outputs, name.ThreadID, len(d.Outputs)); err != nil {
		return nil, nil, false, err
	}
	return inputs, outputs, true, nil
}

// findSliceNote returns the first attribute that is a JSON text with thread mode on. The rest of
// such a text must be valid.
func findSliceNote(attrs []Attr) (note sliceNote, ok bool, err error) {
	for _, a := range attrs {
		var mode struct {
			ThreadMode looseBool `json:"threadMode"`
		}
		if json.Unmarshal([]byte(a.Value), &mode) != nil || !bool(mode.ThreadMode) {
			continue
		}
		if err := json.Unmarshal([]byte(a.Value), &note); err != nil {
			return sliceNote{}, false, lang.Errorf("slices in attribute %q: %w", a.Name, err)
		}
		return note, true, nil
	}
	return sliceNote{}, false, nil
}

func threadShapes(kind string, slices [][][]dimension, thread uint64, tensors int) ([]tensor.Shape, error) {
	if len(slices) == 0 && tensors == 0 {
		return nil, nil
	}
	if thread >= uint64(len(slices)) {
		return nil, lang.Errorf("%s slices of %d threads, none of thread %d", kind, len(slices), thread)
	}
	list := slices[thread]
	if len(list) != tensors {
		return nil, lang.Errorf("thread %d has slices of %d %ss, the dump has %d", thread, len(list), kind, tensors)
	}
	shapes := make([]tensor.Shape, tensors)
	for i, dims := range list {
		shapes[i] = make(tensor.Shape, len(dims))
		for j, d := range dims {
			if d.Higher == nil || d.Lower == nil {
				return nil, lang.Errorf("slice of %s %d dimension %d lacks an end", kind, i, j)
			}
			if *d.Lower < 0 || *d.Higher < *d.Lower {
				return nil, lang.Errorf("slice of %s %d dimension %d goes from %d to %d", kind, i, j, *d.Lower, *d.Higher)
			}
			shapes[i][j] = int64(*d.Higher - *d.Lower)
		}
	}
	return shapes, nil
}

// looseBool is a truth value, written as a bool, a number or a text.
type looseBool bool

// UnmarshalJSON decodes the value.
func (v *looseBool) UnmarshalJSON(b []byte) error {
	switch s := strings.ToLower(strings.Trim(string(b), `"`)); s {
	case "true":
		*v = true
	case "false", "null", "":
		*v = false
	default:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return lang.Errorf("%s is no truth value", b)
		}
		*v = f != 0
	}
	return nil
}

// looseInt is an integer, written as a number or a text.
type looseInt int64

// UnmarshalJSON decodes the value.
func (v *looseInt) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return lang.Errorf("%s is no 64-bit integer", b)
	}
	*v = looseInt(n)
	return nil
}
