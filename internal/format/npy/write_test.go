package npy

import (
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

func TestAppendHeader(t *testing.T) {
	tests := []struct {
		host  tensor.Host
		shape tensor.Shape
		want  string
	}{
		{tensor.HostFloat16, tensor.Shape{128, 3, 32, 32}, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '<f2', 'fortran_order': False, 'shape': (128, 3, 32, 32), }" +
			strings.Repeat(" ", 18+30) + "\n"},
		{tensor.HostUint8, tensor.Shape{3}, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }" +
			strings.Repeat(" ", 20+40) + "\n"},
		{tensor.HostFloat64, nil, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '<f8', 'fortran_order': False, 'shape': (), }" +
			strings.Repeat(" ", 0+62) + "\n"},
		// One newline more would end at a multiple of 64: a whole line of spaces follows.
		{tensor.HostComplex128, tensor.Shape{5, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, "\x93NUMPY\x01\x00\xb6\x00" +
			"{'descr': '<c16', 'fortran_order': False, 'shape': (5, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10), }" +
			strings.Repeat(" ", 20+64) + "\n"},
	}
	for _, shape := range []tensor.Shape{make(tensor.Shape, 64), {1<<62 - 1}, {1 << 31, 1<<31 - 1, 0}} {
		if _, err := AppendHeader(nil, tensor.HostInt16, shape); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range tests {
		got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "before"+tt.want {
			t.Errorf("%v %v:\n got %q\nwant %q", tt.host, tt.shape, got, "before"+tt.want)
		}
	}
}

func TestAppendHeaderErrors(t *testing.T) {
	tests := []struct {
		name  string
		host  tensor.Host
		shape tensor.Shape
		want  string
	}{
		{"no type", tensor.HostNone, nil, "host element type 0 cannot be written"},
		{"unknown type", 200, nil, "host element type 200 cannot be written"},
		{"negative", tensor.HostInt8, tensor.Shape{2, -1}, "(2, -1) is not the shape of an array: dimension -1 is negative"},
		{"too many elements", tensor.HostInt8, tensor.Shape{1 << 40, 1 << 40}, "is too large for numpy"},
		{"too many bytes", tensor.HostInt16, tensor.Shape{1 << 62}, "(4611686018427387904,) is too large for numpy: its dimensions other than 0 take more than 63 bits of int16"},
		{"too large but for a 0", tensor.HostInt8, tensor.Shape{1 << 40, 0, 1 << 40}, "is too large for numpy"},
		{"too many dimensions", tensor.HostInt8, make(tensor.Shape, 65), "the shape has 65 dimensions, numpy loads at most 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}
