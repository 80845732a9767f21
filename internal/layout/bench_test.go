package layout

import (
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
			src, dst := newMemory(count(tt.device), unit), &discard{}
			var buf Buffers
			b.SetBytes(count(p.Shape) * int64(unit))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(b.Context(), dst, src, unit, &buf, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// discard is a Sink that keeps nothing.
type discard struct{}

func (discard) WriteElements([]byte, int64) error { return nil }
