package tensorfile

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/hdf5"
)

// hdf5Container is an HDF5 file. Where something else stands before it, its name says
// that it is one.
var hdf5Container = Container{
	Name:       "hdf5",
	Extensions: hdf5Extensions,
	Named:      true,
	is: func(head []byte, src *source) bool {
		return bytes.HasPrefix(head, []byte(hdf5.Magic)) || claimsHDF5(src.name)
	},
	read: named(hdf5.Open),
}

var hdf5Extensions = []string{".h5", ".hdf5"}

func claimsHDF5(name string) bool {
	return slices.Contains(hdf5Extensions, strings.ToLower(filepath.Ext(name)))
}

// IsHDF5 reports whether a file is HDF5 by what it begins with, or by its name.
func IsHDF5(file io.ReaderAt, name string) bool {
	head := make([]byte, len(hdf5.Magic))
	err := format.ReadFull(file, head, 0)
	return err == nil && string(head) == hdf5.Magic || claimsHDF5(name)
}
