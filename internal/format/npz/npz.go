// Package npz reads .npz files, the archives of numpy: zip files with one entry in .npy form for
// each array, stored or deflated, from numpy.savez and numpy.savez_compressed. Arrays of Python
// objects are pickles and never read.
//
// The format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.savez.html.
package npz

import (
	"errors"
	"io"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// extension is the extension of entries that are arrays.
const extension = ".npy"

// Open reads the directory of an archive and the header of every array. Tensors are named like
// their entries without .npy; / separates the parts of a path. The error is from package archive,
// or from r; an array that cannot be read has its own error.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	zip, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	c := &format.Contents{}
	entries, replaced := zip.Current()
	var others []string
	for _, entry := range entries {
		name, isArray := strings.CutSuffix(entry.Name, extension)
		if !isArray {
			if _, err := entry.Data(); err != nil { // the name may be damaged
				return nil, lang.Errorf("%q: %w", entry.Name, err)
			}
			others = append(others, entry.Name)
			continue
		}
		t := format.Tensor{Path: strings.Split(name, "/"), Name: name}
		var spare int64
		spare, t.Err = read(&t.Tensor, entry)
		if spare > 0 {
			t.Warnings = append(t.Warnings, lang.Say("%d bytes after the data", spare))
		}
		c.Tensors = append(c.Tensors, t)
	}
	if len(c.Tensors) == 0 && len(others) > 0 {
		return nil, lang.Errorf("none of the %d entries of the archive, such as %q, is an array of numpy", len(others), others[0])
	}
	c.Warnings = slices.Concat(archive.Replaced(replaced), c.Warnings, warnings(others))
	return c, nil
}

// maxWarnings bounds the entries named in warnings.
const maxWarnings = 10

// warnings returns the warnings about entries that are not arrays.
func warnings(others []string) []lang.Sentence {
	var all []lang.Sentence
	for i, name := range others {
		if i == maxWarnings {
			return append(all, lang.Say("%d more entries are not arrays of numpy", len(others)-i))
		}
		all = append(all, lang.Say("the entry %q is not an array of numpy", name))
	}
	return all
}

// read sets t to the array of an entry. spare is the number of bytes after the array.
func read(t *tensor.Tensor, entry *archive.Entry) (spare int64, err error) {
	data, err := entry.Data()
	if err != nil {
		return 0, err
	}
	array, err := npy.Open(data, data.Size())
	if unsupported, ok := errors.AsType[*npy.UnsupportedError](err); ok && isObject(unsupported.Value) {
		return 0, lang.Errorf("an array of Python objects")
	}
	if err != nil {
		return 0, err
	}
	t.DType, t.Format, t.Shape, t.Size = array.DType(), tensor.ND, array.Shape, array.Size
	t.Data = format.Checked(array.Data(), array.Size, entry.Verify)
	if t.Shape == nil {
		t.Shape = tensor.Shape{}
	}
	return array.Spare, nil
}

// isObject reports whether a type string means Python objects.
func isObject(descr any) bool {
	text, _ := descr.(string)
	return strings.Trim(text, `'"<>=|`) == "O"
}
