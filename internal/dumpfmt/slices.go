package dumpfmt

import (
	"encoding/json"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Dumps of operators that were cut into slices, one file a thread ("FFTS+").
// A note in the header holds a JSON text with the mode and, for each thread
// and each tensor, the part of every dimension that the thread worked on; the
// fields are those that the comparison tool of the Ascend toolkit reads.

// sliceNote is the JSON text, as far as it matters here.
type sliceNote struct {
	ThreadMode looseBool       `json:"threadMode"`
	Inputs     [][][]dimension `json:"input_tensor_slice"`
	Outputs    [][][]dimension `json:"output_tensor_slice"`
}

// dimension is the part of one dimension, Higher excluded.
type dimension struct {
	Higher *looseInt `json:"higher"`
	Lower  *looseInt `json:"lower"`
}

// ThreadSlices returns the shapes that the inputs and outputs of a dump have
// in the thread in its file name; they take the place of the stored
// ones. ok is false for the dump of an operator that was not sliced by
// thread, which is every ordinary one.
func ThreadSlices(d *Dump, name filename.Dump) (inputs, outputs []tensor.Shape, ok bool, err error) {
	note, ok, err := findSliceNote(d.Attrs)
	if !ok || err != nil {
		return nil, nil, false, err
	}
	if !name.HasThread {
		return nil, nil, false, lang.Errorf("dumpfmt: the dump of a thread, but the name %q has no thread id", name)
	}
	if inputs, err = threadShapes("input", note.Inputs, name.ThreadID, len(d.Inputs)); err != nil {
		return nil, nil, false, err
	}
	if outputs, err = threadShapes("output", note.Outputs, name.ThreadID, len(d.Outputs)); err != nil {
		return nil, nil, false, err
	}
	return inputs, outputs, true, nil
}

// findSliceNote returns the first note that is a JSON text with a thread mode
// that is on. Such a text must be complete.
func findSliceNote(attrs []Attr) (note sliceNote, ok bool, err error) {
	for _, a := range attrs {
		var mode struct {
			ThreadMode looseBool `json:"threadMode"`
		}
		if json.Unmarshal([]byte(a.Value), &mode) != nil || !bool(mode.ThreadMode) {
			continue
		}
		if err := json.Unmarshal([]byte(a.Value), &note); err != nil {
			return sliceNote{}, false, lang.Errorf("dumpfmt: slices in attribute %q: %w", a.Name, err)
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
		return nil, lang.Errorf("dumpfmt: %s slices of %d threads, none of thread %d", kind, len(slices), thread)
	}
	list := slices[thread]
	if len(list) != tensors {
		return nil, lang.Errorf("dumpfmt: thread %d has slices of %d %ss, the dump has %d", thread, len(list), kind, tensors)
	}
	shapes := make([]tensor.Shape, tensors)
	for i, dims := range list {
		shapes[i] = make(tensor.Shape, len(dims))
		for j, d := range dims {
			if d.Higher == nil || d.Lower == nil {
				return nil, lang.Errorf("dumpfmt: slice of %s %d dimension %d lacks an end", kind, i, j)
			}
			if *d.Lower < 0 || *d.Higher < *d.Lower {
				return nil, lang.Errorf("dumpfmt: slice of %s %d dimension %d goes from %d to %d", kind, i, j, *d.Lower, *d.Higher)
			}
			shapes[i][j] = int64(*d.Higher - *d.Lower)
		}
	}
	return shapes, nil
}

// looseBool is a truth value that writers give as a bool, a number or a text.
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

// looseInt is an integer that writers give as a number or a text.
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
