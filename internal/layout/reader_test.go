package layout

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// checkReads reads all of want from a reader of p in ranges of drawn lengths,
// and some ranges out of order in between.
func checkReads(t *rapid.T, p *Plan, src Source, unit int, want []byte) {
	t.Helper()
	r, err := p.Reader(src, unit, drawSizes(t))
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(want) / unit)
	if n != p.Shape.Elements() {
		t.Fatalf("shape %v, want %d elements", p.Shape, n)
	}
	read := func(first, end int64) {
		got := bytes.Repeat([]byte{0xa5}, int(end-first)*unit)
		if rapid.Bool().Draw(t, "held") {
			if got, err = r.Elements(got, first); err != nil {
				t.Fatalf("elements %d to %d: %v", first, end, err)
			}
		} else if err := r.ReadElements(got, first); err != nil {
			t.Fatalf("elements %d to %d: %v", first, end, err)
		}
		if !bytes.Equal(got, want[first*int64(unit):end*int64(unit)]) {
			t.Fatalf("elements %d to %d of %v differ", first, end, p.Shape)
		}
	}
	jumps := rapid.IntRange(0, 2).Draw(t, "jumps")
	for range jumps + 1 {
		first := rapid.Int64Range(0, n).Draw(t, "first")
		end := rapid.Int64Range(first, n).Draw(t, "end")
		if rapid.Bool().Draw(t, "expected") {
			r.Expect(first, rapid.Int64Range(first, end).Draw(t, "expected end"))
		}
		length := rapid.Int64Range(max(1, (end-first)/20), max(1, end-first)).Draw(t, "length")
		for at := first; at < end; at += length {
			read(at, min(at+length, end))
		}
	}
	r.Expect(0, n)
	for at := int64(0); at < n; {
		end := min(n, at+rapid.Int64Range(max(1, n/40), max(1, n/3)).Draw(t, "length"))
		read(at, end)
		at = end
	}
}

func TestReaderOfVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.String(), func(t *testing.T) {
			host := v.host
			p := plan(t, Request{DType: tensor.Float32, Source: v.layout, Shape: v.device, Original: v.shape,
				Order: &host, Groups: v.groups, Target: v.host, HiddenSize: v.hidden, InputSize: v.input})
			dev := v.toDevice(t, 4, &Buffers{})
			want := numbers(v.shape.Elements(), 4).data
			for _, limits := range []sizes{{}, {minTile: 300, maxTile: 700, goodRun: 64, gap: 16}} {
				r, err := p.Reader(dev, 4, &Buffers{sizes: limits})
				if err != nil {
					t.Fatal(err)
				}
				for _, block := range []int{7 * 4, 1000 * 4} {
					r.Expect(0, v.shape.Elements())
					var got []byte
					for at := 0; at < len(want); at += block {
						got = append(got, make([]byte, min(block, len(want)-at))...)
						if err := r.ReadElements(got[at:], int64(at/4)); err != nil {
							t.Fatal(err)
						}
					}
					if !bytes.Equal(got, want) {
						t.Errorf("reads of %d bytes within %+v differ", block, limits)
					}
				}
			}
		})
	}
}

func TestReaderOfCrop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(units).Draw(t, "unit")
		got := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 6), 0, 4).Draw(t, "stored"))
		wanted := make(tensor.Shape, len(got))
		for i, n := range got {
			wanted[i] = rapid.Int64Range(0, n).Draw(t, "wanted")
		}
		p, err := Crop(got, wanted)
		if err != nil {
			t.Fatal(err)
		}
		src := numbers(got.Elements(), unit)
		var want []byte
		for o := range wanted.Elements() {
			at := int64(0)
			for i, x := range wanted.Coordinates(o) {
				at += x * got.Strides()[i]
			}
			want = append(want, src.data[at*int64(unit):][:unit]...)
		}
		checkReads(t, p, src, unit, want)
	})
}

// TestReaderOfStrides draws strides of any order, with gaps, of 0, and such that
// elements are met several times.
func TestReaderOfStrides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(units).Draw(t, "unit")
		shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(0, 7), 0, 4).Draw(t, "shape"))
		strides := make([]int64, len(shape))
		for i := range shape {
			strides[i] = rapid.Int64Range(0, 60).Draw(t, "stride")
		}
		offset := func(position []int64) (at int64) {
			for i, x := range position {
				at += x * strides[i]
			}
			return at
		}
		p, err := PlanStrided(shape, strides)
		if err != nil {
			t.Fatal(err)
		}
		n := shape.Elements()
		var want []byte
		src := newMemory(0, unit)
		if n > 0 {
			src = numbers(1+offset(shape.Coordinates(n-1)), unit)
		}
		for o := range n {
			want = append(want, src.data[offset(shape.Coordinates(o))*int64(unit):][:unit]...)
		}
		checkReads(t, p, src, unit, want)
	})
}

// TestReaderOfAmbiguousVector: the data is read as a row or a column when the reader is made, and
// not decided again.
func TestReaderOfAmbiguousVector(t *testing.T) {
	p := plan(t, Request{DType: tensor.Float16, Source: tensor.FractalNZ, Shape: s(1, 1, 16, 16), Original: s(7), Target: tensor.ND})
	for _, stride := range []int64{1, 16} {
		dev := newMemory(256, 2)
		for i := range int64(7) {
			put(dev.data[i*stride*2:], 2, uint64(i+1))
		}
		r, err := p.Reader(dev, 2, &Buffers{})
		if err != nil {
			t.Fatal(err)
		}
		if stride == 16 {
			put(dev.data[2:], 2, 99) // rubbish that would make it a row
		}
		got := make([]byte, 6)
		for i := range int64(5) {
			if err := r.ReadElements(got, i); err != nil || !bytes.Equal(got, numbers(7, 2).data[i*2:i*2+6]) {
				t.Errorf("stride %d: elements from %d are %v, error %v", stride, i, got, err)
			}
		}
	}
	broken := errors.New("broken")
	if r, err := p.Reader(failing{broken}, 2, &Buffers{}); r != nil || !errors.Is(err, broken) {
		t.Errorf("reader %v, error %v", r, err)
	}
}

// failing is a Source that cannot be read.
type failing struct{ err error }

func (f failing) ReadElements([]byte, int64) error { return f.err }

func TestReaderOfCopies(t *testing.T) {
	p := plan(t, Request{DType: tensor.Float16, Source: tensor.ND, Shape: s(4, 6), Target: tensor.ND, TargetShape: s(24)})
	r, err := p.Reader(numbers(30, 2), 2, &Buffers{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 20)
	if err := r.ReadElements(got, 14); err != nil || !bytes.Equal(got, numbers(24, 2).data[28:]) {
		t.Errorf("%v, error %v", got, err)
	}
	if err := r.ReadElements(got, 15); err == nil {
		t.Error("read beyond the result")
	}
	if max(1, r.windows.step*r.windows.stride) != 1 {
		t.Errorf("window %d", max(1, r.windows.step*r.windows.stride))
	}
}

func TestReaderErrors(t *testing.T) {
	p := plan(t, Request{DType: tensor.Float16, Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3, 16), Original: s(2, 20, 3, 3), Target: tensor.NCHW})
	if r, err := p.Reader(numbers(576, 2), 0, &Buffers{}); err == nil || r != nil {
		t.Error("elements of no bytes are read")
	}
	r, err := p.Reader(numbers(576, 2), 2, &Buffers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ size, first int64 }{{2, -1}, {2, 360}, {4, 359}, {722, 0}, {3, 0}, {2, 1 << 62}} {
		if err := r.ReadElements(make([]byte, tt.size), tt.first); err == nil {
			t.Errorf("%d bytes from element %d on are read", tt.size, tt.first)
		}
	}
	if err := r.ReadElements(nil, 360); err != nil {
		t.Errorf("no elements at the end: %v", err)
	}
}

// flaky is a Source that fails while down is set.
type flaky struct {
	*memory
	down bool
}

func (f *flaky) ReadElements(dst []byte, first int64) error {
	if f.down {
		clear(dst)
		return errors.New("down")
	}
	return f.memory.ReadElements(dst, first)
}

// TestReaderAfterError: a read that failed halfway is not served later.
func TestReaderAfterError(t *testing.T) {
	for _, limits := range []sizes{{}, {minTile: 256, maxTile: 256, goodRun: 1}} {
		p := plan(t, Request{DType: tensor.Float16, Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3, 16), Original: s(2, 20, 3, 3), Target: tensor.NCHW})
		src := &flaky{memory: numbers(576, 2)}
		r, err := p.Reader(src, 2, &Buffers{sizes: limits})
		if err != nil {
			t.Fatal(err)
		}
		got, again := make([]byte, 10), make([]byte, 10)
		for i := int64(0); i < 360; i += 5 {
			src.down = true
			failed := r.ReadElements(got, i) != nil
			src.down = false
			if err := r.ReadElements(again, i); err != nil {
				t.Fatal(err)
			}
			want := make([]byte, 0, 10)
			for j := i; j < i+5; j++ {
				n, c, hw := j/180, j/9%20, j%9
				from := ((n*2+c/16)*9+hw)*16 + c%16
				want = append(want, src.data[from*2:from*2+2]...)
			}
			if !bytes.Equal(again, want) || !failed && !bytes.Equal(got, want) {
				t.Fatalf("elements from %d on: %v, then %v, want %v", i, got, again, want)
			}
		}
	}
}

// TestReaderReadsOnce: short reads in order read every byte of the source once
// where its blocks fit a window, and hold little memory.
func TestReaderReadsOnce(t *testing.T) {
	tests := []struct {
		name             string
		layout           tensor.Format
		device, original tensor.Shape
		most             int64 // percent of the source
	}{
		{"feature map", tensor.NC1HWC0, s(4, 4, 56, 56, 16), s(4, 64, 56, 56), 100},
		{"image", tensor.NC1HWC0, s(3, 1, 150, 160, 16), s(3, 3, 150, 160), 100},
		{"small maps", tensor.NC1HWC0, s(16, 64, 7, 7, 16), s(16, 1024, 7, 7), 100},
		// A block that is partly padding is read by itself, and read through.
		{"padded maps", tensor.NC1HWC0, s(16, 64, 7, 7, 16), s(16, 1020, 7, 7), 102},
		{"matrix", tensor.FractalNZ, s(63, 64, 16, 16), s(1020, 1000), 100},
		// Half of the filters make a window, and the others are short gaps.
		{"weight", tensor.FractalZ, s(288, 32, 16, 16), s(512, 512, 3, 3), 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := tensor.NCHW
			if len(tt.original) == 2 {
				target = tensor.ND
			}
			p := plan(t, Request{DType: tensor.Float16, Source: tt.layout, Shape: tt.device, Original: tt.original, Target: target})
			src := &counting{data: make([]byte, tt.device.Elements()*2), unit: 2}
			r, err := p.Reader(src, 2, &Buffers{})
			if err != nil {
				t.Fatal(err)
			}
			const block = 1000
			buf := make([]byte, block*2)
			n := p.Shape.Elements()
			for at := int64(0); at < n; at += block {
				if err := r.ReadElements(buf[:min(block, n-at)*2], at); err != nil {
					t.Fatal(err)
				}
			}
			if src.read > int64(len(src.data))*tt.most/100 {
				t.Errorf("%d bytes are read of %d, want at most %d %%", src.read, len(src.data), tt.most)
			}
			if held := cap(r.buf.in) + cap(r.buf.out); held > BufferBytes*11/8 {
				t.Errorf("the reader holds %d bytes", held)
			}
		})
	}
}

// TestReaderExpect: reads in order read whole blocks but nothing beyond the announced end, other
// reads only their elements.
func TestReaderExpect(t *testing.T) {
	p := plan(t, Request{DType: tensor.Float16, Source: tensor.NC1HWC0, Shape: s(8, 4, 56, 56, 16), Original: s(8, 64, 56, 56), Target: tensor.NCHW})
	src := &counting{data: make([]byte, 8*64*56*56*2), unit: 2}
	r, err := p.Reader(src, 2, &Buffers{})
	if err != nil {
		t.Fatal(err)
	}
	// Channels 32 to 47 of image 3 are one block of the device buffer.
	const plane = 56 * 56
	first := int64(3*64+32) * plane
	r.Expect(first, first+16*plane)
	buf := make([]byte, plane/2*2)
	for at := first; at < first+16*plane; at += plane / 2 {
		if err := r.ReadElements(buf, at); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(16 * plane * 2); src.read != want {
		t.Errorf("%d bytes are read, want %d", src.read, want)
	}
	// A read out of order gathers no more than it asks for.
	src.read = 0
	if err := r.ReadElements(buf[:2], 17); err != nil {
		t.Fatal(err)
	}
	if src.read != 2 {
		t.Errorf("%d bytes are read for one element", src.read)
	}
}
