package npy

import (
	"io"
	"slices"

	"dumptool/internal/format"
)

// Data returns the elements as little-endian bytes in C order, whatever their
// order in the file; see format.View. Booleans are the stored bytes. Readers from
// several calls are independent, and each may be used by several goroutines
// through its ReadAt.
func (f *File) Data() *io.SectionReader { return f.view().Data() }

func (f *File) view() format.View {
	strides := f.Shape.Strides()
	if f.Fortran {
		reversed := slices.Clone(f.Shape)
		slices.Reverse(reversed)
		strides = reversed.Strides()
		slices.Reverse(strides)
	}
	stored := io.NewSectionReader(f.r, f.Offset, f.Size)
	return format.View{Stored: stored, DType: f.Host.DType(), BigEndian: f.BigEndian, Shape: f.Shape, Strides: strides}
}
