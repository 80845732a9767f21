// Package npz reads .npz files, the archives of numpy: zip files with one entry in .npy form for
// each array, stored or deflated, from numpy.savez and numpy.savez_compressed. Arrays of Python
// objects are pickles and never read; texts, dates and records are values beside the tensors.
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
		spare, t.Err = readArray(&t.Tensor, entry)
		if kind, ok := isNotNumbers(t.Err); ok {
			c.Values = append(c.Values, format.Value{Name: name, Type: kind, Text: format.NotRead})
			continue
		}
		if spare > 0 {
			t.Warnings = append(t.Warnings, lang.Say("%d bytes after the data", spare))
		}
		c.Tensors = append(c.Tensors, t)
	}
	if len(c.Tensors) == 0 && len(others) > 0 {
		return nil, lang.Errorf("none of the %d entries of the archive, such as %q, is an array of numpy", len(others), others[0])
	}
	c.Warnings = slices.Concat(archive.WarnOfReplaced(replaced), c.Warnings, warnOfOthers(others))
	return c, nil
}

// maxWarnings bounds the entries named in warnings.
const maxWarnings = 10

// warnOfOthers returns the warnings about entries that are not arrays.
func warnOfOthers(others []string) []lang.Sentence {
	var all []lang.Sentence
	for i, name := range others {
		if i == maxWarnings {
			return append(all, lang.Say("%d more entries are not arrays of numpy", len(others)-i))
		}
		all = append(all, lang.Say("the entry %q is not an array of numpy", name))
	}
	return all
}

// readArray sets t to the array of an entry. spare is the number of bytes after the array.
func readArray(t *tensor.Tensor, entry *archive.Entry) (spare int64, err error) {
	data, err := entry.Data()
	if err != nil {
		return 0, err
	}
	array, err := npy.Open(data, data.Size())
	if typeLetter(err) == 'O' {
		return 0, lang.Errorf("an array of Python objects")
	}
	if err != nil {
		return 0, err
	}
	t.DType, t.Format, t.Shape, t.Size = array.DType(), tensor.ND, array.Shape, array.Size
	t.Data = format.NewCheckedReader(array.Data(), array.Size, entry.Verify)
	if t.Shape == nil {
		t.Shape = tensor.Shape{}
	}
	return array.Spare, nil
}

// isNotNumbers reports whether the error of an array means texts, dates or records, and their type.
func isNotNumbers(err error) (kind string, ok bool) {
	kind, ok = map[byte]string{'U': "str", 'S': "bytes", 'M': "datetime64", 'm': "timedelta64", '[': "record"}[typeLetter(err)]
	return kind, ok
}

// typeLetter returns the letter of numpy's unsupported type that an error is about, [ for records; 0
// for other errors.
func typeLetter(err error) byte {
	unsupported, ok := errors.AsType[*npy.UnsupportedError](err)
	if !ok {
		return 0
	}
	descr, _ := unsupported.Value.(string)
	if descr = strings.TrimLeft(descr, `'"<>=|`); descr == "" {
		return 0
	}
	return descr[0]
}
