package compare

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// lonePair is a pair of arrays, float32 and float16, that a test can change and compare again.
type lonePair struct {
	ref, npu string
	from     int64 // offset of the elements in the NPU's file
}

// newLonePair writes a pair with rounding errors only.
func newLonePair(t *testing.T, shape tensor.Shape) lonePair {
	t.Helper()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(35, 35))
	ref, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		t.Fatal(err)
	}
	npu, err := npy.AppendHeader(nil, tensor.HostFloat16, shape)
	if err != nil {
		t.Fatal(err)
	}
	p := lonePair{from: int64(len(npu))}
	for range shape.Elements() {
		x := float32(1 + 8*random.Float64())
		if random.Uint32()&1 == 0 {
			x = -x
		}
		ref = binary.LittleEndian.AppendUint32(ref, math.Float32bits(x))
		npu = binary.LittleEndian.AppendUint16(npu, halfBits(float64(x)))
	}
	p.ref, p.npu = write(t, filepath.Join(dir, "ref", "relu.npy"), ref), write(t, filepath.Join(dir, "npu", "relu.npy"), npu)
	return p
}

// set changes elements of the NPU; undo restores them.
func (p *lonePair) set(t *testing.T, value uint16, offsets func(yield func(first, count int64) bool)) (undo func()) {
	t.Helper()
	f, err := os.OpenFile(p.npu, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	type piece struct {
		at  int64
		old []byte
	}
	var pieces []piece
	for first, count := range offsets {
		at, old := p.from+2*first, make([]byte, 2*count)
		if _, err := f.ReadAt(old, at); err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece{at, old})
		changed := make([]byte, 2*count)
		for i := range count {
			binary.LittleEndian.PutUint16(changed[2*i:], value)
		}
		if _, err := f.WriteAt(changed, at); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, x := range pieces {
			if _, err := f.WriteAt(x.old, x.at); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// row compares the pair.
func (p *lonePair) row(t *testing.T) *record.Row {
	t.Helper()
	rep := runAll(t, between(filepath.Dir(p.ref), filepath.Dir(p.npu)))
	if len(rep.Rows) != 1 {
		t.Fatalf("%d rows", len(rep.Rows))
	}
	return &rep.Rows[0]
}

// TestDegenerateShapes compares tensors with one block, one row, rows of one element, no axis or no element: healthy
// tensors, tensors of NaN, and entirely wrong tensors.
func TestDegenerateShapes(t *testing.T) {
	const notANumber, wrong = 0x7e00, 0x5640 // 100
	for _, shape := range []tensor.Shape{{}, {0}, {3, 0, 5}, {1}, {1024}, {1 << 17}, {1<<17 + 1}, {1, 1_000_000}, {1_000_000, 1}, {2, 1, 300_000, 1}} {
		p := newLonePair(t, shape)
		count := shape.Elements()
		if r := p.row(t); r.Status != record.Pass {
			t.Errorf("%v: %s %v, want PASS", shape, r.Status, r.Reasons)
		}
		if count == 0 {
			continue
		}
		all := func(yield func(first, count int64) bool) { yield(0, count) }
		for _, value := range []uint16{notANumber, wrong} {
			undo := p.set(t, value, all)
			if r := p.row(t); r.Status != record.Fail || r.Errors != count {
				t.Errorf("%v of %#x: %s with %d errors, want FAIL with %d", shape, value, r.Status, r.Errors, count)
			}
			undo()
		}
	}
}

// sampledBlock returns the first element of the sampled block of 1,024 elements in a part of a tensor, by
// docs/verdict.md and package noise.
func sampledBlock(elements, part int64) int64 {
	blocks := elements / 1024
	first, end := blocks*part/128, blocks*(part+1)/128
	x := uint64(blocks)*0x9e3779b97f4a7c15 + uint64(part)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return 1024 * (first + int64((x^x>>31)%uint64(end-first)))
}

// TestFaultsOfLargeTensors finds one wrong element, row, column and tile of a tensor of 10^7 elements, inside and
// outside the sample.
func TestFaultsOfLargeTensors(t *testing.T) {
	shape := tensor.Shape{8, 64, 140, 140}
	elements, width := shape.Elements(), shape[3]
	p := newLonePair(t, shape)
	healthy := p.row(t)
	if healthy.Status != record.Pass || healthy.Noise.Sampled != 1<<17 {
		t.Fatalf("%s %v, %d elements sampled", healthy.Status, healthy.Reasons, healthy.Noise.Sampled)
	}
	const wrong = 0x5e40 // 400
	const part = 77      // of 128 parts, each of about 76 blocks
	inside := sampledBlock(elements, part)
	outside := inside + 1024
	if outside/1024 >= elements/1024*(part+1)/128 {
		outside = inside - 1024
	}
	for _, first := range []int64{inside + 300, outside + 300} {
		row := first / width * width
		plane := first / (width * width) * width * width
		for name, where := range map[string]func(yield func(first, count int64) bool){
			"element": func(yield func(int64, int64) bool) { yield(first, 1) },
			"row":     func(yield func(int64, int64) bool) { yield(row, width) },
			"column": func(yield func(int64, int64) bool) {
				for k := int64(0); k < width && yield(plane+k*width+first%width, 1); k++ {
				}
			},
			"tile": func(yield func(int64, int64) bool) {
				for k := int64(0); k < 16 && yield(plane+k*width+width/2, 16); k++ {
				}
			},
		} {
			undo := p.set(t, wrong, where)
			r := p.row(t)
			undo()
			if r.Status != record.Fail || r.Noise.Max < 390 {
				t.Errorf("a wrong %s at %d: %s, the largest difference is %v", name, first, r.Status, r.Noise.Max)
			}
			if seen := r.Noise.MaxAbsolute > 2*healthy.Noise.MaxAbsolute; name == "element" && seen != (first == inside+300) {
				t.Errorf("an element at %d: in the sample %v", first, seen)
			}
		}
	}
}
