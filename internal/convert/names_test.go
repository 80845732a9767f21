package convert

import (
	"testing"

	"dumptool/internal/tensor"
)

func TestOutputName(t *testing.T) {
	const base = "Conv2D.conv1.3.1.1700000000000000"
	stored := product{kind: "output", index: 0, shape: tensor.Shape{2, 2, 3, 3, 16}, format: tensor.NC1HWC0, dtype: "float16"}
	converted := product{kind: "input", index: 1, shape: tensor.Shape{128, 64, 32, 32}, format: tensor.NCHW, converted: true, dtype: "float16"}
	tests := []struct {
		t      Type
		base   string
		opName string
		p      product
		want   string
	}{
		{Npy, base, "a/b", stored, base + ".output.0.npy"},
		{Npy, base, "a/b", converted, base + ".input.1.128x64x32x32.npy"},
		{Bin, base, "a/b", stored, base + ".output.0.576.float16.NC1HWC0.bin"},
		{Bin, base, "a/b", converted, base + ".input.1.128_64_32_32.float16.NCHW.bin"},
		{MSNpy, base, "a/b", stored, "Conv2D.b.3.1.1700000000000000.output.0.NC1HWC0.npy"},
		{MSNpy, base, "a/b", converted, "Conv2D.b.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, base, "", converted, base + ".input.1.NCHW.npy"},
		{MSNpy, base, "a/..", converted, "Conv2D.__.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, base, `a/b\c`, converted, "Conv2D.b_c.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, "Conv2D.conv1.3.1700000000000000", "a/b", converted, "Conv2D.conv1.3.1700000000000000.input.1.NCHW.npy"},
		{Txt, base, "a/b", stored, base + ".output.0.txt"},
		{Txt, base, "a/b", converted, base + ".input.1.128x64x32x32.txt"},
	}
	for _, tt := range tests {
		if got := outputName(tt.t, tt.base, tt.opName, tt.p); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.t, got, tt.want)
		}
	}
}
