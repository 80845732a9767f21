package tensorfile

import (
	"bytes"
	"cmp"
	"fmt"

	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// npyContainer is the array file of numpy. Its name may say which tensor of an
// operator it is, in which layout, and of which element type where numpy has none
// like it.
var npyContainer = Container{
	Name:       "npy",
	Extensions: []string{".npy"},
	Lone:       true,
	is:         func(head []byte, _ *source) bool { return bytes.HasPrefix(head, []byte(npy.Magic)) },
	read:       readArray,
}

func readArray(f *File, src *source) error {
	array, err := npy.Open(src.file, src.size)
	if err != nil {
		return err
	}
	if array.Spare > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d bytes after the data at 0x%x", array.Spare, array.Offset+array.Size))
	}
	info := filename.Parse(src.name)
	f.warnFormat(&info)
	t := Tensor{Kind: cmp.Or(info.Kind, tensor.Output), Index: info.Index,
		Tensor: tensor.Tensor{DType: array.Host.DType(), Format: tensor.ND, Shape: array.Shape, Size: array.Size, Data: array.Data()}}
	if t.Shape == nil {
		t.Shape = tensor.Shape{}
	}
	if info.Format != nil {
		t.Format = *info.Format
	}
	if info.DType != t.DType {
		t.Origin = info.DType
	}
	f.IsArray, f.Tensors = true, []Tensor{t}
	return nil
}
