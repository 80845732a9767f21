package tensorfile

import (
	"fmt"

	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// syncContainer is a raw file of a synchronous dump of MindSpore, of which the
// name says all that there is to know. A hint adds what a device layout needs:
// the original shape.
var syncContainer = Container{
	Name:     "bin",
	Lone:     true,
	Headless: true,
	is: func(_ []byte, src *source) bool {
		info := filename.Parse(src.name)
		return isSync(&info)
	},
	read: readRaw,
}

func isSync(info *filename.Info) bool { return info.Grammar == filename.Sync && info.Ext == binExt }

// resolveScalar changes the dimension 0 that MindSpore writes for no dimensions
// into none, for a file of one element. A file without a byte is empty indeed.
func resolveScalar(info *filename.Info, size int64) {
	one, ok := info.DType.Bytes(1)
	if ok && size == one && info.Shape.Equal(tensor.Shape{0}) {
		info.Shape = tensor.Shape{}
	}
}

// warnFormat warns of a format in the file's name that is not known.
func (f *File) warnFormat(info *filename.Info) {
	if info.UnknownFormat != "" {
		f.Warnings = append(f.Warnings, fmt.Sprintf("the format %q in the name is not known: the elements are taken as they lie", info.UnknownFormat))
	}
}
