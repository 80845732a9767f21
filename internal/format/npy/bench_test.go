package npy

import (
	"bytes"
	"io"
	"testing"

	"dumptool/internal/tensor"
)

func BenchmarkData(b *testing.B) {
	for _, bm := range []struct {
		name string
		head Header
	}{
		{"plain", Header{Host: tensor.HostFloat32, Shape: tensor.Shape{4096, 4096}}},
		{"big-endian", Header{Host: tensor.HostFloat32, Shape: tensor.Shape{4096, 4096}, BigEndian: true}},
		{"fortran", Header{Host: tensor.HostFloat32, Shape: tensor.Shape{4096, 4096}, Fortran: true}},
		{"fortran-tall", Header{Host: tensor.HostFloat32, Shape: tensor.Shape{1 << 21, 8}, Fortran: true}},
		{"fortran-wide", Header{Host: tensor.HostFloat32, Shape: tensor.Shape{8, 1 << 21}, Fortran: true}},
		{"fortran-4d", Header{Host: tensor.HostFloat16, Shape: tensor.Shape{32, 256, 56, 56}, Fortran: true}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			count, _ := bm.head.Shape.Count()
			size := count * int64(bm.head.Host.Size())
			f := &File{Header: bm.head, Size: size, r: bytes.NewReader(make([]byte, size))}
			b.SetBytes(size)
			buf := make([]byte, 1<<20)
			for b.Loop() {
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f.Data()}, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
