package npy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"dumptool/internal/tensor"

	"github.com/sbinet/npyio/npy"
)

// oracleSlices allocates the slice for elements of a type in npyio, which cannot read float16.
var oracleSlices = map[tensor.Host]func() any{
	tensor.HostBool: func() any { return new([]bool) },
	tensor.HostInt8: func() any { return new([]int8) }, tensor.HostUint8: func() any { return new([]uint8) },
	tensor.HostInt16: func() any { return new([]int16) }, tensor.HostUint16: func() any { return new([]uint16) },
	tensor.HostInt32: func() any { return new([]int32) }, tensor.HostUint32: func() any { return new([]uint32) },
	tensor.HostInt64: func() any { return new([]int64) }, tensor.HostUint64: func() any { return new([]uint64) },
	tensor.HostFloat32: func() any { return new([]float32) }, tensor.HostFloat64: func() any { return new([]float64) },
	tensor.HostComplex64: func() any { return new([]complex64) }, tensor.HostComplex128: func() any { return new([]complex128) },
}

// TestNpyioReads reads files of AppendHeader with npyio.
func TestNpyioReads(t *testing.T) {
	for _, host := range tensor.Hosts() {
		for _, shape := range []tensor.Shape{nil, {4}, {2, 3}, {2, 1, 3, 2}} {
			count, _ := shape.Count()
			data := randomBytes(uint64(host), count*int64(host.Size()))
			if host == tensor.HostBool {
				for i := range data {
					data[i] &= 1
				}
			}
			file, err := AppendHeader(nil, host, shape)
			if err != nil {
				t.Fatal(err)
			}
			descr, got := oracleRead(t, append(file, data...), host)
			if descr.Type != host.Descr() || descr.Fortran || !slices.Equal(descr.Shape, ints(shape)) {
				t.Errorf("%v %v: npyio reads %+v", host, shape, descr)
			}
			if host != tensor.HostFloat16 && !bytes.Equal(got, data) {
				t.Errorf("%v %v: npyio reads other data", host, shape)
			}
		}
	}
}

// TestNpyioAgrees compares with npyio on the numpy files that npyio supports.
func TestNpyioAgrees(t *testing.T) {
	seen := 0
	for _, g := range goldenFiles(t) {
		switch g.name {
		case "version3.npy", "python2.npy", "float16.npy", "empty.npy":
			continue
		}
		seen++
		data := testdata(t, g.name)
		f, err := openBytes(t, data)
		if err != nil {
			t.Fatal(err)
		}
		descr, stored := oracleRead(t, data, g.head.Host)
		if !slices.Equal(descr.Shape, ints(f.Shape)) || descr.Fortran != f.Fortran {
			t.Errorf("%s: npyio reads %+v, Open %+v", g.name, descr, f.Header)
		}
		fileOrder := Header{Host: f.Host, Shape: f.Shape, Fortran: f.Fortran}
		if !bytes.Equal(slowCOrder(stored, fileOrder), readAll(t, f.Data())) {
			t.Errorf("%s: npyio reads other data", g.name)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files", seen)
	}
}

// TestReadNpyio opens files of npyio, which are not aligned to 64 bytes.
func TestReadNpyio(t *testing.T) {
	var file bytes.Buffer
	if err := npy.Write(&file, []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(t, file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := binary.Append(nil, binary.LittleEndian, []float32{1, 2, 3})
	if f.Host != tensor.HostFloat32 || !f.Shape.Equal(tensor.Shape{3}) || !bytes.Equal(readAll(t, f.Data()), want) {
		t.Errorf("got %+v", f.Header)
	}
}

// oracleRead reads a file with npyio and returns the header and the little-endian elements in file
// order.
func oracleRead(t *testing.T, file []byte, host tensor.Host) (descr struct {
	Type    string
	Fortran bool
	Shape   []int
}, data []byte) {
	t.Helper()
	r, err := npy.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	descr = r.Header.Descr
	if host == tensor.HostFloat16 {
		return descr, nil
	}
	elements := oracleSlices[host]()
	if err := r.Read(elements); err != nil {
		t.Fatal(err)
	}
	if data, err = binary.Append(nil, binary.LittleEndian, elements); err != nil {
		t.Fatal(err)
	}
	return descr, data
}

func ints(shape tensor.Shape) []int {
	var dims []int
	for _, d := range shape {
		dims = append(dims, int(d))
	}
	return dims
}
