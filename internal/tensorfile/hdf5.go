package tensorfile

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/format/hdf5"
)

// hdf5Container is an HDF5 file. Where something else stands before it, its name says
// that it is one.
var hdf5Container = Container{
	Name:       "hdf5",
	Extensions: hdf5Extensions,
	Named:      true,
	is: func(head []byte, src *source) bool {
		return bytes.HasPrefix(head, []byte(hdf5.Magic)) || slices.Contains(hdf5Extensions, strings.ToLower(filepath.Ext(src.name)))
	},
	read: named(hdf5.Open),
}

var hdf5Extensions = []string{".h5", ".hdf5"}
