package tensorfile

import (
	"cmp"
	"io"
	"slices"

	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/guard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// named makes the read function of a container that names its tensors.
func named(open func(r io.ReaderAt, size int64) (*format.Contents, error)) func(*File, *source) error {
	return func(f *File, src *source) error {
		contents, err := open(src.file, src.size)
		if err != nil {
			return err
		}
		f.Named, f.Values, f.Warnings = true, contents.Values, contents.Warnings
		f.Tensors = make([]Tensor, len(contents.Tensors))
		for i := range contents.Tensors {
			f.Tensors[i] = namedTensor(&contents.Tensors[i])
		}
		if t := f.Tensors; len(t) == 1 && t[0].Name == "" {
			info := filename.Parse(src.name)
			t[0].Kind, t[0].Index = cmp.Or(info.Kind, tensor.Output), info.Index
		}
		return nil
	}
}

func namedTensor(t *format.Tensor) Tensor {
	named := Tensor{Tensor: t.Tensor, Kind: tensor.Output, Name: t.Name, Path: t.Path, Operator: t.Operator, Details: &t.Details, Origin: t.Origin, Err: t.Err}
	if t.Operator != nil {
		named.Kind, named.Index = t.Operator.Kind, t.Operator.Index
	}
	return named
}

// IsUnnamed reports whether the file holds one tensor that it does not name, so that
// the name of the file is all that there is.
func (f *File) IsUnnamed() bool {
	return !f.Named || len(f.Tensors) == 1 && f.Tensors[0].Name == ""
}

// IsNamed reports whether the first bytes of the file at path are those of a file that
// names its tensors, whatever its own name is: PyTorch's weights are called .bin too.
func IsNamed(path string) bool {
	file, err := openRegular(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, min(headBytes, file.Size()))
	if n, err := file.ReadAt(head, 0); n < len(head) && err != nil {
		return false
	}
	src, named := &source{file: file, size: file.Size(), name: store.Base(path)}, false
	err = guard.Do(func() error {
		named = slices.ContainsFunc(containers, func(c *Container) bool { return c.Named && c.is(head, src) })
		return nil
	})
	return err == nil && named
}
