package metrics

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"

	gocmp "github.com/google/go-cmp/cmp"
)

// sameBits compares floats by their bits: NaN equals NaN, 0 differs from -0.
var sameBits = gocmp.Options{
	gocmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	gocmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	gocmp.AllowUnexported(Metric{}),
}

// equalBlock returns a block of elements of a type, all of one kind of number or of all kinds.
func equalBlock(random *rand.Rand, d tensor.DType, count int) (block []byte) {
	kind := random.IntN(5)
	if kind == 4 {
		return make([]byte, count*d.UnitSize())
	}
	f, _ := tensor.FloatOf(d)
	least := [...]float32{0.5, 1, 1, 1 + 0x1p-20}[random.IntN(4)]
	small := func() float32 { // at the end of the normal numbers, and zeros
		return float32(f.Normal()) * float32(random.IntN(3)-1) * max(least, float32(random.IntN(3)))
	}
	for range count {
		switch {
		case kind == 0:
			block = append(block, hardElement(random, d)...)
		case kind == 1 && d == tensor.Float32:
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(small()))
		case kind == 1 && d == tensor.Float16:
			block = binary.LittleEndian.AppendUint16(block, [...]uint16{0, 0x8000, 0x400, 0x8400, 0x3ff, 0x401}[random.IntN(6)])
		case kind == 1 && d == tensor.Float64:
			block = binary.LittleEndian.AppendUint64(block, math.Float64bits(0x1p-1022*float64(random.IntN(3)-1)))
		case kind == 2 && d == tensor.Float32:
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(float32(random.NormFloat64())))
		default:
			block = randomElement(random, block, d)
		}
	}
	return block
}

// generally is like Engine.Compare, but without the fast path of equal blocks.
func generally(t *testing.T, e *Engine, ref, npu memory) *Result {
	t.Helper()
	m := e.NewMerger()
	for segment := range e.Segments() {
		b, p := e.pool.get(e), e.newPartial(segment)
		l := block{buffers: b, e: e, part: p}
		first := segment * e.segmentElements
		for at := first; at < first+p.elements; at += blockElements {
			count := int(min(blockElements, first+p.elements-at))
			r, n := ref.data[int(at)*ref.size:][:count*ref.size], npu.data[int(at)*npu.size:][:count*npu.size]
			l.reset(at, count, r, n)
			l.equal, l.abs, l.rel = false, b.abs[:count], b.rel[:count]
			l.compute()
			p.tree.add(&l.sums, 1)
			p.blocks++
			p.refCRC = crc32.Update(p.refCRC, crc32.MakeTable(crc32.Castagnoli), r)
			p.npuCRC = crc32.Update(p.npuCRC, crc32.MakeTable(crc32.Castagnoli), n)
		}
		p.sums = p.tree.root()
		b.histograms.drainInto(p)
		if p.axesFrom > first {
			p.withoutAxes = []Range{{first, p.axesFrom}}
		}
		if err := m.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return m.Finish()
}

// equalPair returns a pair of a type: the two blocks are equal, or differ in one bit or in
// all bits.
func equalPair(random *rand.Rand, d tensor.DType, count int) (ref, npu memory) {
	ref, npu = memory{nil, d.UnitSize()}, memory{nil, d.UnitSize()}
	for at := 0; at < count; at += blockElements {
		k := min(blockElements, count-at)
		r := equalBlock(random, d, k)
		n := bytes.Clone(r)
		switch random.IntN(4) {
		case 0:
			n[random.IntN(len(n))] ^= 1 << random.IntN(8)
		case 1:
			n = equalBlock(random, d, k)
		}
		ref.data, npu.data = append(ref.data, r...), append(npu.data, n...)
	}
	return ref, npu
}

// TestEqualPictures compares results and pictures of tensors with some equal blocks with
// the slow references.
func TestEqualPictures(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 22))
	for _, d := range decodable() {
		t.Run(d.String(), func(t *testing.T) {
			ref, npu := equalPair(random, d, 3*blockElements)
			req := Request{Shape: tensor.Shape{3, blockElements}, RefDType: d, NPUDType: d, Limits: Limits{0.25, 0.5, Mode(random.IntN(3))}}
			pictures, got := picturesOf(t, req, BinLimits{1, 40}, ref, npu)
			checkPictures(t, checkSlowly(t, req, ref, npu, got), pictures, got)
		})
	}
}

// TestEqualBlocks compares results of tensors with some equal blocks with the results without
// the fast path of equal blocks.
func TestEqualBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 21))
	for _, d := range decodable() {
		t.Run(d.String(), func(t *testing.T) {
			for range 5 {
				count := 6*blockElements + random.IntN(2)*random.IntN(blockElements)
				ref, npu := equalPair(random, d, count)
				req := Request{
					Shape: tensor.Shape{int64(count)}, RefDType: d, NPUDType: d, Top: random.IntN(4), List: random.IntN(4), Points: random.IntN(9),
					Limits: Limits{[...]float64{0, 1e-3}[random.IntN(2)], [...]float64{0, 1e-3, math.MaxFloat64}[random.IntN(3)], Mode(random.IntN(3))}, LateAxes: random.IntN(2) == 0,
				}
				if rows := int64([...]int{32, 1024, 1536}[random.IntN(3)]); int64(count)%rows == 0 {
					req.Shape = tensor.Shape{int64(count) / rows, rows}
				}
				if typ, ok := noise.TypeOf(d); ok && !d.Host().Complex() {
					req.Noise = &noise.Request{Shape: req.Shape, Type: typ, Mask: [...]float64{math.Inf(-1), -2}[random.IntN(2)], Groups: 16, Atol: req.Limits.Atol, Rtol: req.Limits.Rtol}
				}
				e, err := New(req)
				if err != nil {
					t.Fatal(err)
				}
				e.readElements, e.segmentElements = blockElements<<random.IntN(2), 2*blockElements
				got, err := e.Compare(t.Context(), ref, npu)
				if err != nil {
					t.Fatal(err)
				}
				want := generally(t, e, ref, npu)
				if diff := gocmp.Diff(want, got, sameBits); diff != "" {
					t.Fatalf("%+v: %s", req, diff)
				}
			}
		})
	}
}
