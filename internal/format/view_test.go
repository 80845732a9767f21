package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"dumptool/internal/tensor"

	"pgregory.net/rapid"
)

// slowData is Data element by element.
func slowData(stored []byte, v View) []byte {
	size := int64(v.DType.UnitSize())
	out := make([]byte, 0, v.Shape.Elements()*size)
	var pick func(axis int, at int64)
	pick = func(axis int, at int64) {
		if axis < len(v.Shape) {
			for i := range v.Shape[axis] {
				pick(axis+1, at+i*v.Strides[axis])
			}
			return
		}
		out = append(out, stored[at*size:][:size]...)
		element := out[int64(len(out))-size:]
		half := len(element)
		if v.DType == tensor.Complex64 || v.DType == tensor.Complex128 || v.DType == tensor.Complex32 {
			half /= 2
		}
		for i := 0; i < len(element); i += half {
			part := element[i : i+half]
			if v.BigEndian {
				slices.Reverse(part)
			}
			if v.Negate {
				part[half-1] ^= 0x80
			}
			if v.Conjugate && i > 0 {
				part[half-1] ^= 0x80
			}
		}
	}
	pick(0, v.Offset)
	return out
}

var viewTypes = []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Int16, tensor.Float16, tensor.BFloat16, tensor.Float32,
	tensor.Int64, tensor.Float64, tensor.Complex32, tensor.Complex64, tensor.Complex128, tensor.Float8E5M2}

func drawView(t *rapid.T) (stored []byte, v View) {
	v.DType = rapid.SampledFrom(viewTypes).Draw(t, "type")
	v.BigEndian = rapid.Bool().Draw(t, "big-endian")
	v.Negate = rapid.IntRange(0, 3).Draw(t, "negate") == 0
	v.Conjugate = v.isComplex() && rapid.Bool().Draw(t, "conjugate")
	v.Shape = rapid.SliceOfN(rapid.Int64Range(0, 8), 0, 4).Draw(t, "shape")
	v.Strides = v.Shape.Strides()
	if rapid.Bool().Draw(t, "strided") {
		for i := range v.Strides {
			v.Strides[i] = rapid.Int64Range(0, 50).Draw(t, "stride")
		}
	}
	v.Offset = rapid.Int64Range(0, 5).Draw(t, "offset")
	count := v.Offset + 1
	for i, n := range v.Shape {
		count += max(0, n-1) * v.Strides[i]
	}
	stored = noise(rapid.Uint64().Draw(t, "seed"), count*v.unit())
	if before := rapid.IntRange(0, 3).Draw(t, "before"); before > 0 {
		file := bytes.NewReader(append(make([]byte, before), stored...))
		v.Stored = io.NewSectionReader(file, int64(before), int64(len(stored)))
	} else {
		v.Stored = bytes.NewReader(stored)
	}
	return stored, v
}

func noise(seed uint64, n int64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func TestViewMatchesSlowVersion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stored, v := drawView(rt)
		want := slowData(stored, v)
		data := v.Data()
		for range 6 {
			off := rapid.IntRange(0, len(want)).Draw(rt, "offset of the read")
			n := rapid.IntRange(0, len(want)-off).Draw(rt, "length")
			got := make([]byte, n)
			if _, err := data.ReadAt(got, int64(off)); err != nil && (err != io.EOF || n > 0) {
				rt.Fatalf("%d bytes at %d: %v", n, off, err)
			}
			if !bytes.Equal(got, want[off:off+n]) {
				rt.Fatalf("%d bytes at %d of %+v differ", n, off, v)
			}
		}
		if got, err := io.ReadAll(data); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("data of %+v differs, %v", v, err)
		}
	})
}

// TestLargeViews reads arrays of more than one window.
func TestLargeViews(t *testing.T) {
	for _, v := range []View{
		{DType: tensor.Float32, Shape: tensor.Shape{1500, 1000}, Strides: []int64{1, 1500}},                     // transposed
		{DType: tensor.Float16, Shape: tensor.Shape{6, 200000}, Strides: []int64{0, 1}, Offset: 5},              // expanded
		{DType: tensor.Float64, Shape: tensor.Shape{100000, 7}, Strides: []int64{1, 0}, BigEndian: true},        // expanded
		{DType: tensor.Int8, Shape: tensor.Shape{200000, 9}, Strides: []int64{3, 1}},                            // windows that overlap
		{DType: tensor.Complex64, Shape: tensor.Shape{3, 400, 300}, Strides: []int64{2, 7, 5000}, Negate: true}, // gaps
	} {
		count := v.Offset + 1
		for i, n := range v.Shape {
			count += (n - 1) * v.Strides[i]
		}
		stored := noise(1, count*v.unit())
		v.Stored = bytes.NewReader(stored)
		if got, err := io.ReadAll(v.Data()); err != nil || !bytes.Equal(got, slowData(stored, v)) {
			t.Errorf("data of %v with strides %v differs, %v", v.Shape, v.Strides, err)
		}
	}
}

func TestViewSmallReads(t *testing.T) {
	stored := noise(2, 8*100)
	v := View{Stored: bytes.NewReader(stored), DType: tensor.Complex64, BigEndian: true, Shape: tensor.Shape{7, 5}, Strides: []int64{1, 20}, Offset: 3}
	if err := iotest.TestReader(v.Data(), slowData(stored, v)); err != nil {
		t.Error(err)
	}
}

// TestSection: dense data is read from the file itself.
func TestSection(t *testing.T) {
	file := bytes.NewReader(make([]byte, 100))
	v := View{Stored: io.NewSectionReader(file, 20, 60), DType: tensor.Float32, Shape: tensor.Shape{2, 1, 3}, Strides: []int64{3, 99, 1}, Offset: 4}
	for _, stored := range []io.ReaderAt{v.Stored, file} {
		v.Stored = stored
		r, off, n := v.Data().Outer()
		want := int64(16)
		if stored != io.ReaderAt(file) {
			want += 20
		}
		if r != io.ReaderAt(file) || off != want || n != 24 {
			t.Errorf("%T at %d, %d bytes, want %d, 24", r, off, n, want)
		}
	}
	for _, change := range []func(*View){
		func(v *View) { v.BigEndian = true },
		func(v *View) { v.Negate = true },
		func(v *View) { v.Strides = []int64{1, 1, 2} },
	} {
		other := v
		change(&other)
		if _, ok := other.Section(); ok {
			t.Errorf("%+v is read as it is stored", other)
		}
	}
}

var errDisk = errors.New("disk failed")

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestViewErrors(t *testing.T) {
	v := View{Stored: failing{}, DType: tensor.Int16, Shape: tensor.Shape{2, 3}, Strides: []int64{1, 2}}
	if _, err := io.ReadAll(v.Data()); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	v.Stored = bytes.NewReader(make([]byte, 11))
	if _, err := io.ReadAll(v.Data()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	v.Strides[0] = -1
	if _, err := io.ReadAll(v.Data()); err == nil || err.Error() != "stride 0 is -1, want at least 0" {
		t.Error(err)
	}
}

// TestViewReleases: memory is released after the last byte is read.
func TestViewReleases(t *testing.T) {
	stored := bytes.NewReader(make([]byte, 4<<20))
	var all []*io.SectionReader
	for i := range 30 {
		v := View{Stored: stored, DType: tensor.Int8, Shape: tensor.Shape{2048, 2048}, Strides: []int64{1, 2048}}
		all = append(all, v.Data())
		if _, err := io.Copy(io.Discard, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 40<<20 {
		t.Errorf("%d bytes are held", m.HeapAlloc)
	}
	runtime.KeepAlive(all)
}

func BenchmarkView(b *testing.B) {
	const n = 2048
	stored := make([]byte, 4*n*n)
	binary.LittleEndian.PutUint32(stored, 1)
	for _, v := range []View{
		{Strides: []int64{n, 1}},
		{Strides: []int64{1, n}},
		{Strides: []int64{0, 1}},
		{Strides: []int64{n, 1}, BigEndian: true},
		{Strides: []int64{n, 1}, Negate: true},
	} {
		v.Stored, v.DType, v.Shape = bytes.NewReader(stored), tensor.Float32, tensor.Shape{n, n}
		b.Run(fmt.Sprintf("%v,%v,%v", v.Strides, v.BigEndian, v.Negate), func(b *testing.B) {
			b.SetBytes(int64(len(stored)))
			data, block := v.Data(), make([]byte, 256<<10)
			for b.Loop() {
				data.Seek(0, io.SeekStart)
				if _, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{data}, block); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
