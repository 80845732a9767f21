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
	for _, tt := range tests {
		got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "before"+tt.want {
			t.Errorf("%v %v:\n got %q\nwant %q", tt.host, tt.shape, got, "before"+tt.want)
		}
		size, err := HeaderSize(tt.host, tt.shape)
		if err != nil || size != int64(len(tt.want)) || size%64 != 0 {
			t.Errorf("%v %v: HeaderSize = %d, %v, want %d", tt.host, tt.shape, size, err, len(tt.want))
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
		{"negative", tensor.HostInt8, tensor.Shape{2, -1}, "(2, -1) is not the shape of an array of int8"},
		{"too many elements", tensor.HostInt8, tensor.Shape{1 << 40, 1 << 40}, "is not the shape"},
		{"too many bytes", tensor.HostInt16, tensor.Shape{1 << 62}, "is not the shape"},
		{"too many dimensions", tensor.HostInt8, make(tensor.Shape, maxHeader/3), "too long for a header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
			if n, err := HeaderSize(tt.host, tt.shape); err == nil || n != 0 {
				t.Errorf("HeaderSize = %d, %v", n, err)
			}
		})
	}
}
