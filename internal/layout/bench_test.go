package layout

import (
	"fmt"
	"testing"

	"dumptool/internal/tensor"
)

// BenchmarkToHost measures common conversions of a few MB in memory, in bytes
// of the host array.
func BenchmarkToHost(b *testing.B) {
	tests := []struct {
		name             string
		layout, host     tensor.Format
		device, original tensor.Shape
		dtype            tensor.DType
	}{
		{"NC1HWC0-NCHW-fp16", tensor.NC1HWC0, tensor.NCHW, s(8, 16, 28, 28, 16), s(8, 256, 28, 28), tensor.Float16},
		{"NC1HWC0-NCHW-fp16-7x7", tensor.NC1HWC0, tensor.NCHW, s(8, 128, 7, 7, 16), s(8, 2048, 7, 7), tensor.Float16},
		{"NC1HWC0-NHWC-fp16", tensor.NC1HWC0, tensor.NHWC, s(8, 16, 28, 28, 16), s(8, 28, 28, 256), tensor.Float16},
		{"NC1HWC0-NCHW-fp32", tensor.NC1HWC0, tensor.NCHW, s(4, 16, 28, 28, 16), s(4, 256, 28, 28), tensor.Float32},
		{"NC1HWC0-NCHW-int8", tensor.NC1HWC0, tensor.NCHW, s(8, 8, 28, 28, 32), s(8, 256, 28, 28), tensor.Int8},
		{"FRACTAL_Z-NCHW-fp16-3x3", tensor.FractalZ, tensor.NCHW, s(144, 16, 16, 16), s(256, 256, 3, 3), tensor.Float16},
		{"FRACTAL_Z-NCHW-fp16-1x1", tensor.FractalZ, tensor.NCHW, s(64, 32, 16, 16), s(512, 1024, 1, 1), tensor.Float16},
		{"FRACTAL_NZ-ND-fp16", tensor.FractalNZ, tensor.ND, s(64, 64, 16, 16), s(1024, 1024), tensor.Float16},
		{"NCHW-NHWC-fp16", tensor.NCHW, tensor.NHWC, s(8, 256, 28, 28), nil, tensor.Float16},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			unit := tt.dtype.UnitSize()
			p, err := NewPlan(Request{DType: tt.dtype, Source: tt.layout, Shape: tt.device, Original: tt.original, Target: tt.host})
			if err != nil {
				b.Fatal(err)
			}
			src := newMemory(tt.device.Elements(), unit)
			var buf Buffers
			var block []byte
			b.SetBytes(p.Shape.Elements() * int64(unit))
			b.ReportAllocs()
			for b.Loop() {
				r, err := p.Reader(src, unit, &buf)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range Blocks(b.Context(), r, p.Shape.Elements(), unit, &block) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkReader measures reading a whole result in order, in blocks of
// several sizes. It reports how often every byte of the source is read.
func BenchmarkReader(b *testing.B) {
	tests := []struct {
		name             string
		layout, host     tensor.Format
		device, original tensor.Shape
		dtype            tensor.DType
	}{
		{"NC1HWC0-112x112", tensor.NC1HWC0, tensor.NCHW, s(32, 4, 112, 112, 16), s(32, 64, 112, 112), tensor.Float16},
		{"NC1HWC0-7x7", tensor.NC1HWC0, tensor.NCHW, s(32, 128, 7, 7, 16), s(32, 2048, 7, 7), tensor.Float16},
		{"NC1HWC0-image", tensor.NC1HWC0, tensor.NCHW, s(32, 1, 224, 224, 16), s(32, 3, 224, 224), tensor.Float16},
		{"NC1HWC0-large-image", tensor.NC1HWC0, tensor.NCHW, s(1, 1, 1080, 1920, 16), s(1, 3, 1080, 1920), tensor.Float16},
		{"NC1HWC0-512x512", tensor.NC1HWC0, tensor.NCHW, s(1, 2, 512, 512, 16), s(1, 32, 512, 512), tensor.Float16},
		{"NC1HWC0-NHWC", tensor.NC1HWC0, tensor.NHWC, s(32, 4, 112, 112, 16), s(32, 112, 112, 64), tensor.Float16},
		{"NC1HWC0-HWCN", tensor.NC1HWC0, tensor.HWCN, s(6, 16, 56, 56, 16), s(56, 56, 256, 6), tensor.Float16},
		{"NC1HWC0-HWCN-batch", tensor.NC1HWC0, tensor.HWCN, s(64, 16, 28, 28, 16), s(28, 28, 256, 64), tensor.Float16},
		{"NDC1HWC0", tensor.NDC1HWC0, tensor.NCDHW, s(4, 8, 4, 56, 56, 16), s(4, 64, 8, 56, 56), tensor.Float16},
		{"FRACTAL_Z-3x3", tensor.FractalZ, tensor.NCHW, s(288, 32, 16, 16), s(512, 512, 3, 3), tensor.Float16},
		{"FRACTAL_Z-1x1", tensor.FractalZ, tensor.NCHW, s(128, 128, 16, 16), s(2048, 2048, 1, 1), tensor.Float16},
		{"FRACTAL_NZ", tensor.FractalNZ, tensor.ND, s(256, 256, 16, 16), s(4096, 4096), tensor.Float16},
		{"FRACTAL_NZ-wide", tensor.FractalNZ, tensor.ND, s(9504, 16, 16, 16), s(256, 152064), tensor.Float16},
		{"FRACTAL_NZ-batch", tensor.FractalNZ, tensor.ND, s(32, 12, 24, 24, 16, 16), s(32, 12, 384, 384), tensor.Float16},
		{"NCHW-NHWC", tensor.NCHW, tensor.NHWC, s(32, 64, 112, 112), nil, tensor.Float16},
	}
	for _, tt := range tests {
		unit := tt.dtype.UnitSize()
		p, err := NewPlan(Request{DType: tt.dtype, Source: tt.layout, Shape: tt.device, Original: tt.original, Target: tt.host})
		if err != nil {
			b.Fatal(err)
		}
		n := p.Shape.Elements()
		src := &counting{data: make([]byte, tt.device.Elements()*int64(unit)), unit: int64(unit)}
		for i := range src.data {
			src.data[i] = byte(i)
		}
		report := func(b *testing.B) {
			b.Helper()
			b.ReportMetric(float64(src.read)/float64(b.N)/float64(len(src.data)), "reads/byte")
			b.ReportMetric(float64(src.calls)/float64(b.N), "calls")
			src.read, src.calls = 0, 0
		}
		for _, block := range []int64{64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, block), func(b *testing.B) {
				b.SetBytes(n * int64(unit))
				dst := make([]byte, block*int64(unit))
				r, err := p.Reader(src, unit, &Buffers{})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					r.Expect(0, n)
					for at := int64(0); at < n; at += block {
						if err := r.ReadElements(dst[:min(block, n-at)*int64(unit)], at); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(max(1, r.windows.step*r.windows.stride)), "window")
				report(b)
			})
		}
	}
}

// counting is a Source that counts the elements read.
type counting struct {
	data              []byte
	unit, read, calls int64
}

func (c *counting) ReadElements(dst []byte, first int64) error {
	c.read += int64(len(dst))
	c.calls++
	copy(dst, c.data[first*c.unit:])
	return nil
}
