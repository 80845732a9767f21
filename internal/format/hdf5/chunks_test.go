package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// someChunks is an index of chunks by place.
type someChunks map[string]chunk

func (x someChunks) find(_ *decoder, at []int64) (chunk, error) {
	if ch, ok := x[fmt.Sprint(at)]; ok {
		return ch, nil
	}
	return chunk{addr: none}, nil
}

// TestChunks stores random arrays in chunks, element by element, and reads them back with little
// and with much memory, in parts of any size.
func TestChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	for i := range 400 {
		shape := make(tensor.Shape, 1+rnd.IntN(4))
		size := make(tensor.Shape, len(shape))
		for j := range shape {
			shape[j] = 1 + rnd.Int64N(9)
			size[j] = 1 + rnd.Int64N(11)
			if rnd.IntN(3) == 0 {
				size[j] = shape[j]
			}
		}
		unit := []int{1, 2, 3, 4, 8, 16}[rnd.IntN(6)]
		want := make([]byte, int(shape.Elements())*unit)
		for k := range want {
			want[k] = byte(rnd.Uint32())
		}
		x := &chunkedDataset{shape: shape, chunk: size, unit: int64(unit), size: int64(len(want)), plainEdges: rnd.IntN(4) == 0}
		for _, f := range rnd.Perm(4)[:rnd.IntN(4)] {
			x.filters = append(x.filters, []filter{{id: filterDeflate}, {filterShuffle, unit}, {filterShuffle, 3}, {id: filterFletcher}}[f])
		}
		if rnd.IntN(2) == 0 {
			x.fill = repeatedValue{value: want[:unit]}
		}
		storeChunks(rnd, x, want)
		x.chooseWindows([]int64{1, 64, 1000, decoderMemory}[rnd.IntN(4)])
		r := io.NewSectionReader(x, 0, x.size)
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("array %d of %v in chunks of %v, %d bytes, filters %v: error %v\n% x, want\n% x", i, shape, size, unit, x.filters, err, got, want)
		}
		for range 20 {
			off := rnd.IntN(len(want))
			piece := make([]byte, rnd.IntN(len(want)-off)+1)
			if _, err := x.ReadAt(piece, int64(off)); err != nil || !bytes.Equal(piece, want[off:][:len(piece)]) {
				t.Fatalf("array %d of %v in chunks of %v: %d bytes at %d are wrong: %v", i, shape, size, len(piece), off, err)
			}
		}
	}
}

// storeChunks writes the chunks of data; in place of omitted chunks data gets the fill value.
func storeChunks(rnd *rand.Rand, x *chunkedDataset, data []byte) {
	unit := int(x.unit)
	places := make(tensor.Shape, len(x.shape))
	for j := range places {
		places[j] = (x.shape[j] + x.chunk[j] - 1) / x.chunk[j]
	}
	index := make(someChunks)
	var blob []byte
	for p := range places.Elements() {
		place := places.Coordinates(p)
		left := rnd.IntN(4) == 0
		stored := make([]byte, int(x.chunk.Elements())*unit)
		edge := false
		for e := range x.chunk.Elements() {
			at, inside := int64(0), true
			for j, k := range x.chunk.Coordinates(e) {
				i := place[j]*x.chunk[j] + k
				inside = inside && i < x.shape[j]
				at = at*x.shape[j] + i
			}
			edge = edge || !inside
			switch element := stored[int(e)*unit:][:unit]; {
			case !inside:
				element[0] = 0xee
			case left && x.fill.value == nil:
				clear(data[int(at)*unit:][:unit])
			case left:
				copy(data[int(at)*unit:], x.fill.value)
			default:
				copy(element, data[int(at)*unit:])
			}
		}
		if left {
			continue
		}
		filters := x.filters
		if edge && x.plainEdges {
			filters = nil
		}
		ch := chunk{addr: int64(len(blob))}
		for i, f := range filters {
			if rnd.IntN(5) == 0 {
				ch.mask |= 1 << i
				continue
			}
			stored = slowFilter(stored, f)
		}
		ch.size = int64(len(stored))
		blob = append(blob, stored...)
		index[fmt.Sprint(place)] = ch
	}
	x.index = index
	x.f = &file{r: bytes.NewReader(blob), size: int64(len(blob))}
}

// slowFilter applies a filter as the specification describes it.
func slowFilter(b []byte, f filter) []byte {
	switch f.id {
	case filterDeflate:
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	case filterShuffle:
		n := len(b) / f.unit
		out := slices.Clone(b)
		for i := range n {
			for k := range f.unit {
				out[k*n+i] = b[i*f.unit+k]
			}
		}
		return out
	}
	return binary.LittleEndian.AppendUint32(b, slowFletcher(b))
}

// slowFletcher keeps both sums below 65535 at every step.
func slowFletcher(b []byte) uint32 {
	if len(b)%2 == 1 {
		b = append(slices.Clone(b), 0)
	}
	sum1, sum2 := uint32(0), uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum1 = (sum1 + uint32(binary.BigEndian.Uint16(b[i:]))) % 65535
		sum2 = (sum2 + sum1) % 65535
	}
	return sum2<<16 | sum1
}

// TestFletcher compares sums modulo 65535, where 0 and 65535 are the same.
func TestFletcher(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 3000 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32()) | byte(n/1000*0x7f)
		}
		got, want := fletcher32(b), slowFletcher(b)
		if got&0xffff%65535 != want&0xffff || got>>16%65535 != want>>16 {
			t.Fatalf("%d bytes: 0x%08x, want 0x%08x", n, got, want)
		}
	}
}

// TestLookup3 uses the examples of its author.
func TestLookup3(t *testing.T) {
	for text, want := range map[string]uint32{"": 0xdeadbeef, "Four score and seven years ago": 0x17770551} {
		if got := lookup3([]byte(text)); got != want {
			t.Errorf("%q: 0x%08x, want 0x%08x", text, got, want)
		}
	}
}

func TestFilled(t *testing.T) {
	for unit := 1; unit < 6; unit++ {
		var value []byte
		for i := range unit {
			value = append(value, byte(i+1))
		}
		all := bytes.Repeat(value, 40)
		for off := range 2 * unit {
			for n := range 30 {
				got := make([]byte, n)
				if _, err := (repeatedValue{value, int64(len(all))}).ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, all[off:][:n]) {
					t.Errorf("%d bytes at %d of %v: %v, %v", n, off, value, got, err)
				}
			}
		}
	}
}
