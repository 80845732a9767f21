package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// write writes a file in parts.
func write(t testing.TB, host tensor.Host, shape tensor.Shape, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, host, shape)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if n, err := w.Write(p); err != nil || n != len(p) {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPickleOfPyTorch compares data.pkl with the bytes of torch.save.
func TestPickleOfPyTorch(t *testing.T) {
	for _, name := range []string{"f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "b1", "c8", "c16", "scalar", "empty", "big_endian"} {
		path := "pt/" + name + ".pt"
		file := golden(t, path)
		tt := openGolden(t, path).Tensors[0]
		ours := write(t, tt.DType.Host(), tt.Shape, dumptest.Elements(t, &tt.Tensor))
		if got, want := entryOf(t, ours, "archive/data.pkl"), entryOf(t, file, "archive/data.pkl"); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, want)
		}
	}
}

// TestPickleOfShapes: ranks and integers in the encoding of Python's pickler.
func TestPickleOfShapes(t *testing.T) {
	for _, test := range []struct {
		shape tensor.Shape
		want  string // count, and the pickle after the storage
	}{
		{tensor.Shape{7}, "K\x07|K\x07\x85q\x06K\x01\x85q\x07"},
		{tensor.Shape{2, 3}, "K\x06|K\x02K\x03\x86q\x06K\x03K\x01\x86q\x07"},
		{tensor.Shape{1, 2, 3, 4}, "K\x18|(K\x01K\x02K\x03K\x04tq\x06(K\x18K\x0cK\x04K\x01tq\x07"},
		{tensor.Shape{256, 300}, "J\x00\x2c\x01\x00|M\x00\x01M\x2c\x01\x86q\x06M\x2c\x01K\x01\x86q\x07"},
		{tensor.Shape{1 << 31}, "\x8a\x05\x00\x00\x00\x80\x00|\x8a\x05\x00\x00\x00\x80\x00\x85q\x06K\x01\x85q\x07"},
		{tensor.Shape{1 << 40}, "\x8a\x06\x00\x00\x00\x00\x00\x01|\x8a\x06\x00\x00\x00\x00\x00\x01\x85q\x06K\x01\x85q\x07"},
		{tensor.Shape{2, 0}, "K\x00|K\x02K\x00\x86q\x06K\x01K\x01\x86q\x07"},
	} {
		count, rest, _ := strings.Cut(test.want, "|")
		want := "X\x03\x00\x00\x00cpuq\x04" + count + "tq\x05QK\x00" + rest + "\x89c"
		if got := appendPickle(nil, tensor.HostFloat32, test.shape, test.shape.Elements()); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%v: %q, want ...%q...", test.shape, got, want)
		}
	}
}

// entryOf reads an entry with the standard library.
func entryOf(t testing.TB, file []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWrite reads files back, also with the standard library and at the offset of the data.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		host := rapid.SampledFrom(tensor.Hosts()).Filter(func(h tensor.Host) bool { return h != tensor.HostUint64 }).Draw(rt, "host")
		shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 5).Draw(rt, "shape"))
		elements := noise(rapid.Uint64().Draw(rt, "seed"), shape.Elements()*int64(host.Size()))
		if host == tensor.HostBool {
			for i := range elements {
				elements[i] &= 1
			}
		}
		cut := rapid.Int64Range(0, shape.Elements()).Draw(rt, "cut") * int64(host.Size())
		file := write(t, host, shape, elements[:cut], elements[cut:])
		if !bytes.Equal(file, write(t, host, shape, elements)) {
			rt.Error("other bytes the second time")
		}
		wantHost, want := host, elements
		switch host {
		case tensor.HostUint16:
			wantHost, want = tensor.HostInt32, nil
			for at := range len(elements) / 2 {
				want = binary.LittleEndian.AppendUint32(want, uint32(binary.LittleEndian.Uint16(elements[2*at:])))
			}
		case tensor.HostUint32:
			wantHost, want = tensor.HostInt64, nil
			for at := range len(elements) / 4 {
				want = binary.LittleEndian.AppendUint64(want, uint64(binary.LittleEndian.Uint32(elements[4*at:])))
			}
		}
		c, err := openBytes(file)
		if err != nil {
			rt.Fatal(err)
		}
		dumptest.CheckContents(t, c)
		tt := &c.Tensors[0]
		if len(c.Tensors) != 1 || tt.Name != "" || tt.DType != wantHost.DType() || !tt.Shape.Equal(shape) || tt.Err != nil {
			rt.Fatalf("%+v", c.Tensors)
		}
		if got := dumptest.Elements(t, &tt.Tensor); !bytes.Equal(got, want) {
			rt.Errorf("% x, want % x", got, want)
		}
		if _, off, _ := tt.Data.Outer(); len(want) > 0 && off%64 != 0 {
			rt.Errorf("the data begins at %d", off)
		}
		if !bytes.Equal(entryOf(t, file, "archive/data/0"), want) {
			rt.Error("the standard library reads other data")
		}
		if string(entryOf(t, file, "archive/version")) != "3\n" || string(entryOf(t, file, "archive/byteorder")) != "little" {
			rt.Error("version or byteorder")
		}
	})
}

func TestLead(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, tensor.HostFloat64, tensor.Shape{3})
	if err != nil {
		t.Fatal(err)
	}
	elements := noise(1, 24)
	if _, err := w.Write(elements); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if begin := w.PrefixLength() * 8; !bytes.Equal(out.Bytes()[begin:][:24], elements) || begin%64 != 0 {
		t.Errorf("the data is not at %d", begin)
	}
}

func TestWriteErrors(t *testing.T) {
	for _, test := range []struct {
		host  tensor.Host
		shape tensor.Shape
		want  string
	}{
		{tensor.HostUint64, tensor.Shape{1}, "files of PyTorch have no elements of uint64"},
		{tensor.HostNone, tensor.Shape{1}, "no elements of none"},
		{tensor.HostInt8, tensor.Shape{-1}, "shape (-1,) has a negative number"},
		{tensor.HostUint16, tensor.Shape{1 << 31, 1 << 30}, "more than 63 bits"},
		{tensor.HostInt8, tensor.Shape{0, math.MaxInt64, 2}, "more than 63 bits"},
		{tensor.HostInt8, make(tensor.Shape, 33), "more than 32 axes"},
	} {
		if w, err := NewWriter(io.Discard, test.host, test.shape); w != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v%v: %v, want %s", test.host, test.shape, err, test.want)
		}
	}
	w, err := NewWriter(io.Discard, tensor.HostInt16, tensor.Shape{3})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 8} {
		if _, err := w.Write(make([]byte, n)); err == nil || err.Error() != fmt.Sprintf("write of %d bytes, 6 bytes of elements are left", n) {
			t.Error(err)
		}
	}
	if err := w.Close(); err == nil || err.Error() != "6 bytes of elements were not written" {
		t.Error(err)
	}
	whole := write(t, tensor.HostInt8, tensor.Shape{5000}, make([]byte, 5000))
	for room := 0; room < len(whole); room += 97 {
		w, err := NewWriter(&full{room}, tensor.HostInt8, tensor.Shape{5000})
		if err == nil {
			_, err = w.Write(make([]byte, 5000))
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes: %v", room, len(whole), err)
		}
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	if f.room -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}
