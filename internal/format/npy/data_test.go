package npy

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// drawHeader draws an array of at most a few thousand elements.
func drawHeader(t *rapid.T) Header {
	h := Header{
		Host:    rapid.SampledFrom(tensor.Hosts()).Draw(t, "host"),
		Fortran: rapid.Bool().Draw(t, "fortran"),
	}
	h.BigEndian = h.Host.Size() > 1 && rapid.Bool().Draw(t, "big-endian")
	room := int64(4000)
	for range rapid.IntRange(0, 5).Draw(t, "rank") {
		longest := min(room, 60)
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			longest = room
		}
		d := rapid.Int64Range(0, longest).Draw(t, "dimension")
		h.Shape = append(h.Shape, d)
		room /= max(1, d)
	}
	return h
}

func drawData(t *rapid.T, h Header) []byte {
	count, _ := h.Shape.Count()
	return randomBytes(rapid.Uint64().Draw(t, "seed"), count*int64(h.Host.Size()))
}

// TestRoundTrip writes arrays and reads them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHeader(rt)
		h.Fortran, h.BigEndian = false, false
		data := drawData(rt, h)
		file, err := AppendHeader(nil, h.Host, h.Shape)
		if err != nil {
			rt.Fatal(err)
		}
		spare := rapid.IntRange(0, 3).Draw(rt, "spare")
		f, err := openBytes(t, append(append(file, data...), make([]byte, spare)...))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(h, f.Header); diff != "" {
			rt.Errorf("header (-want +got):\n%s", diff)
		}
		if f.Spare != int64(spare) || f.Offset != int64(len(file)) || f.Offset%64 != 0 {
			rt.Errorf("offset %d, spare %d, want %d, %d", f.Offset, f.Spare, len(file), spare)
		}
		v := f.view()
		section, ok := v.Section()
		if !ok || !bytes.Equal(readAll(t, section), data) || !bytes.Equal(readAll(t, f.Data()), data) {
			rt.Errorf("other data comes back (%v)", ok)
		}
	})
}

// TestDataMatchesSlowVersion reads at random offsets.
func TestDataMatchesSlowVersion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHeader(rt)
		stored := drawData(rt, h)
		want := slowCOrder(stored, h)
		f := &File{Header: h, Size: int64(len(stored)), r: bounded{t, stored}}
		data := f.Data()
		for range 8 {
			off := rapid.IntRange(0, len(want)).Draw(rt, "offset")
			n := rapid.IntRange(0, len(want)-off).Draw(rt, "length")
			got := make([]byte, n)
			if _, err := data.ReadAt(got, int64(off)); err != nil && (err != io.EOF || n > 0) {
				rt.Fatalf("%d bytes at %d: %v", n, off, err)
			}
			if !bytes.Equal(got, want[off:off+n]) {
				rt.Fatalf("%d bytes at %d of %+v differ", n, off, h)
			}
		}
		if !bytes.Equal(readAll(t, data), want) {
			rt.Fatalf("data of %+v differs", h)
		}
	})
}

// TestSmallReads reads through buffers that hold parts of elements.
func TestSmallReads(t *testing.T) {
	h := Header{Host: tensor.HostComplex64, Shape: tensor.Shape{7, 5, 3}, Fortran: true, BigEndian: true}
	stored := randomBytes(1, 7*5*3*8)
	f := &File{Header: h, Size: int64(len(stored)), r: bytes.NewReader(stored)}
	if err := iotest.TestReader(f.Data(), slowCOrder(stored, h)); err != nil {
		t.Error(err)
	}
}

func TestConcurrentReads(t *testing.T) {
	h := Header{Host: tensor.HostInt16, Shape: tensor.Shape{50, 40, 30}, Fortran: true, BigEndian: true}
	stored := randomBytes(2, 50*40*30*2)
	want := slowCOrder(stored, h)
	f := &File{Header: h, Size: int64(len(stored)), r: bytes.NewReader(stored)}
	data := f.Data()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got := make([]byte, len(want)/8)
			off := i * len(got)
			if _, err := data.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, want[off:off+len(got)]) {
				t.Errorf("part %d differs (%v)", i, err)
			}
		})
	}
	wg.Wait()
}

// TestSameOrder lists Fortran-order shapes whose C order is the same.
func TestSameOrder(t *testing.T) {
	for _, shape := range []tensor.Shape{nil, {5}, {1, 5}, {5, 1, 1}, {1, 1}, {0, 3}, {3, 0, 3}} {
		count, _ := shape.Count()
		f := &File{Header: Header{Host: tensor.HostInt8, Shape: shape, Fortran: true}, Size: count}
		v := f.view()
		if _, ok := v.Section(); !ok {
			t.Errorf("%v is gathered", shape)
		}
	}
}

// failing fails on reads that touch the byte at the given offset.
type failing struct {
	*bytes.Reader
	at int64
}

var errDisk = errors.New("disk failed")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(p)) {
		return 0, errDisk
	}
	return f.Reader.ReadAt(p, off)
}

func TestReadErrors(t *testing.T) {
	for _, h := range []Header{
		{Host: tensor.HostInt32, Shape: tensor.Shape{6, 5}, Fortran: true},
		{Host: tensor.HostInt32, Shape: tensor.Shape{6000, 5}, Fortran: true}, // long lines are read one by one
		{Host: tensor.HostInt32, Shape: tensor.Shape{6, 5}, BigEndian: true},
		{Host: tensor.HostInt32, Shape: tensor.Shape{6, 5}, Fortran: true, BigEndian: true},
	} {
		count, _ := h.Shape.Count()
		size := count * 4
		stored := randomBytes(3, size)
		f := &File{Header: h, Size: size, r: failing{bytes.NewReader(stored), size - 1}}
		data := f.Data()
		for range 2 {
			if _, err := data.ReadAt(make([]byte, size), 0); !errors.Is(err, errDisk) {
				t.Errorf("%+v: error %v", h, err)
			}
			if _, err := data.ReadAt(make([]byte, 3), size-3); !errors.Is(err, errDisk) {
				t.Errorf("%+v: error %v", h, err)
			}
		}
		f.r = bytes.NewReader(stored[:size-1]) // truncated after Open
		if _, err := io.ReadAll(f.Data()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%+v: error %v for a cut file", h, err)
		}
	}
}

// TestDataEnd reads past the end, which SectionReader.Outer allows.
func TestDataEnd(t *testing.T) {
	f := &File{Header: Header{Host: tensor.HostInt16, Shape: tensor.Shape{2, 3}, Fortran: true}, Size: 12, r: bytes.NewReader(make([]byte, 12))}
	r, _, _ := f.Data().Outer()
	if n, err := r.ReadAt(make([]byte, 8), 8); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt = %d, %v, want 4, EOF", n, err)
	}
}

// TestDataMemory bounds the memory to read a large Fortran-order array: a window of 8 MiB and the
// overhead of the race detector, less than the arrays.
func TestDataMemory(t *testing.T) {
	for _, shape := range []tensor.Shape{{3000, 5000}, {3, 5000000}, {5000000, 3}, {2, 2, 2, 2, 1000000}} {
		count, _ := shape.Count()
		f := &File{Header: Header{Host: tensor.HostInt8, Shape: shape, Fortran: true}, Size: count, r: zeros{}}
		data, block := f.Data(), make([]byte, 64<<10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if _, err := data.Read(block); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
			t.Errorf("%v: %d bytes", shape, used)
		}
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

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
