package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// memory is a Source over a byte slice.
type memory struct {
	data []byte
	unit int
}

func newMemory(n int64, unit int) *memory { return &memory{make([]byte, n*int64(unit)), unit} }

func (m *memory) ReadElements(dst []byte, first int64) error {
	at := first * int64(m.unit)
	if at < 0 || at+int64(len(dst)) > int64(len(m.data)) {
		return io.ErrUnexpectedEOF
	}
	copy(dst, m.data[at:])
	return nil
}

// numbers is a host array of 1, 2, 3, ... in elements of unit bytes.
func numbers(n int64, unit int) *memory {
	m := newMemory(n, unit)
	for i := range n {
		put(m.data[i*int64(unit):], unit, uint64(i+1))
	}
	return m
}

func put(b []byte, unit int, v uint64) {
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(b[:unit], word[:])
}

func get(b []byte, unit int) uint64 {
	var word [16]byte
	copy(word[:], b[:unit])
	return binary.LittleEndian.Uint64(word[:])
}

// execute makes the whole result of a plan in memory.
func execute(t fataler, p *Plan, src *memory, buf *Buffers) *memory {
	t.Helper()
	if p.Copies() {
		return src
	}
	r, err := p.Reader(src, src.unit, buf)
	if err != nil {
		t.Fatalf("reader: %v", err)
	}
	return collect(t, r, src.unit)
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// collect reads all of r from front to back.
func collect(t fataler, r *Reader, unit int) *memory {
	t.Helper()
	dst := newMemory(r.count, unit)
	const block = 1000
	for first := int64(0); first < r.count; first += block {
		part := dst.data[first*int64(unit) : min(first+block, r.count)*int64(unit)]
		for i := range part {
			part[i] = 0xa5
		}
		if err := r.ReadElements(part, first); err != nil {
			t.Fatalf("elements from %d on: %v", first, err)
		}
	}
	return dst
}

func plan(t fataler, r Request) *Plan {
	t.Helper()
	p, err := NewPlan(r)
	if err != nil {
		t.Fatalf("plan %+v: %v", r, err)
	}
	return p
}

type probe struct {
	index  []int64
	offset int64
}

// vector holds check values of one layout and one host order. They were computed from the
// published offset formula, element by element, by a program that shares nothing with this
// package. The host array holds 1, 2, 3, ...; fingerprint is the sum of (p+1)*dev[p] mod
// 2^31-1 over the padded buffer.
type vector struct {
	layout, host  tensor.Format
	shape, device tensor.Shape
	groups        int64
	hidden, input int64
	probes        []probe
	fingerprint   int64
}

var vectors = []vector{
	{tensor.NC1HWC0, tensor.NCHW, s(2, 20, 3, 2), s(2, 2, 3, 2, 16), 0, 0, 0, []probe{{s(1, 10, 1, 1), 250}, {s(1, 19, 2, 1), 371}}, 6325300},
	{tensor.NC1HWC0, tensor.NHWC, s(2, 3, 2, 20), s(2, 2, 3, 2, 16), 0, 0, 0, []probe{{s(1, 1, 1, 10), 250}, {s(1, 2, 1, 19), 371}}, 6344600},
	{tensor.NC1HWC0, tensor.NCHW, s(1, 40, 2, 3), s(1, 2, 2, 3, 32), 0, 0, 0, []probe{{s(0, 20, 1, 1), 148}, {s(0, 39, 1, 2), 359}}, 4783460},
	{tensor.NC1HWC0, tensor.NCHW, s(2, 20, 3, 2), s(2, 3, 3, 2, 8), 0, 0, 0, []probe{{s(1, 10, 1, 1), 218}, {s(1, 19, 2, 1), 283}}, 5210420},
	{tensor.NC1HWC0, tensor.HWCN, s(3, 2, 20, 2), s(2, 2, 3, 2, 16), 0, 0, 0, []probe{{s(1, 1, 10, 1), 250}, {s(2, 1, 19, 1), 371}}, 5236420},
	{tensor.NC1HWC0, tensor.CHWN, s(20, 3, 2, 2), s(2, 2, 3, 2, 16), 0, 0, 0, []probe{{s(10, 1, 1, 1), 250}, {s(19, 2, 1, 1), 371}}, 5197820},
	{tensor.NC1HWC0C04, tensor.NCHW, s(2, 7, 3, 2), s(2, 2, 3, 2, 4), 0, 0, 0, []probe{{s(1, 3, 1, 1), 63}, {s(1, 6, 2, 1), 94}}, 220232},
	{tensor.NC1HWC0C04, tensor.HWCN, s(3, 2, 7, 2), s(2, 2, 3, 2, 4), 0, 0, 0, []probe{{s(1, 1, 3, 1), 63}, {s(2, 1, 6, 1), 94}}, 184540},
	{tensor.NC1HWC0C04, tensor.NHWC, s(2, 3, 2, 7), s(2, 2, 3, 2, 4), 0, 0, 0, []probe{{s(1, 1, 1, 3), 63}, {s(1, 2, 1, 6), 94}}, 217232},
	{tensor.NC1HWC0C04, tensor.CHWN, s(7, 3, 2, 2), s(2, 2, 3, 2, 4), 0, 0, 0, []probe{{s(3, 1, 1, 1), 63}, {s(6, 2, 1, 1), 94}}, 190540},
	{tensor.NDC1HWC0, tensor.NCDHW, s(2, 20, 3, 2, 3), s(2, 3, 2, 2, 3, 16), 0, 0, 0, []probe{{s(1, 10, 1, 1, 1), 842}, {s(1, 19, 2, 1, 2), 1139}}, 181850700},
	{tensor.NDC1HWC0, tensor.NDHWC, s(2, 3, 2, 3, 20), s(2, 3, 2, 2, 3, 16), 0, 0, 0, []probe{{s(1, 1, 1, 1, 10), 842}, {s(1, 2, 1, 2, 19), 1139}}, 191021640},
	{tensor.NDC1HWC0, tensor.DHWCN, s(3, 2, 3, 20, 2), s(2, 3, 2, 2, 3, 16), 0, 0, 0, []probe{{s(1, 1, 1, 10, 1), 842}, {s(2, 1, 2, 19, 1), 1139}}, 165647820},
	{tensor.NDC1HWC0, tensor.DHWNC, s(3, 2, 3, 2, 20), s(2, 3, 2, 2, 3, 16), 0, 0, 0, []probe{{s(1, 1, 1, 1, 10), 842}, {s(2, 1, 2, 1, 19), 1139}}, 167501640},
	{tensor.FractalZ, tensor.NCHW, s(20, 18, 2, 3), s(12, 2, 16, 16), 1, 0, 0, []probe{{s(10, 9, 1, 1), 2217}, {s(19, 17, 1, 2), 5937}}, 24687166},
	{tensor.FractalZ, tensor.HWCN, s(2, 3, 18, 20), s(12, 2, 16, 16), 1, 0, 0, []probe{{s(1, 1, 9, 10), 2217}, {s(1, 2, 17, 19), 5937}}, 1142680966},
	{tensor.FractalZ, tensor.NHWC, s(20, 1, 2, 40), s(4, 2, 16, 32), 1, 0, 0, []probe{{s(10, 0, 1, 20), 1364}, {s(19, 0, 1, 39), 3687}}, 1750918880},
	{tensor.FractalZ, tensor.NCHW, s(20, 18, 2, 3), s(18, 2, 16, 8), 1, 0, 0, []probe{{s(10, 9, 1, 1), 2641}, {s(19, 17, 1, 2), 4505}}, 2048815133},
	{tensor.FractalZ, tensor.NCHW, s(32, 4, 2, 2), s(8, 1, 16, 16), 8, 0, 0, []probe{{s(16, 2, 1, 1), 1794}, {s(31, 3, 1, 1), 2047}}, 171215488},
	{tensor.FractalZ, tensor.HWCN, s(2, 2, 4, 32), s(8, 1, 16, 16), 8, 0, 0, []probe{{s(1, 1, 2, 16), 1794}, {s(1, 1, 3, 31), 2047}}, 157819008},
	{tensor.FractalZ, tensor.NCHW, s(40, 1, 3, 3), s(27, 1, 16, 16), 40, 0, 0, []probe{{s(20, 0, 1, 1), 3396}, {s(39, 0, 2, 2), 6775}}, 254400108},
	{tensor.FractalZ, tensor.NCHW, s(48, 3, 1, 2), s(2, 3, 16, 16), 2, 0, 0, []probe{{s(24, 1, 0, 1), 1156}, {s(47, 2, 0, 1), 1525}}, 37166712},
	{tensor.FractalZ, tensor.NCHW, s(48, 16, 1, 1), s(3, 1, 16, 16), 3, 0, 0, []probe{{s(24, 8, 0, 0), 392}, {s(47, 15, 0, 0), 767}}, 151289984},
	{tensor.FractalZ, tensor.NCHW, s(10, 4, 1, 1), s(1, 1, 16, 32), 5, 0, 0, []probe{{s(5, 2, 0, 0), 170}, {s(9, 3, 0, 0), 307}}, 171540},
	{tensor.FractalZ3D, tensor.NCDHW, s(20, 18, 3, 2, 2), s(24, 2, 16, 16), 1, 0, 0, []probe{{s(10, 9, 1, 1, 1), 5801}, {s(19, 17, 2, 1, 1), 12081}}, 261342559},
	{tensor.FractalZ3D, tensor.DHWCN, s(2, 1, 2, 4, 32), s(8, 1, 16, 16), 8, 0, 0, []probe{{s(1, 0, 1, 2, 16), 1794}, {s(1, 0, 1, 3, 31), 2047}}, 157819008},
	{tensor.FractalZ3D, tensor.NDHWC, s(20, 3, 2, 2, 18), s(24, 2, 16, 16), 1, 0, 0, []probe{{s(10, 1, 1, 1, 9), 5801}, {s(19, 2, 1, 1, 17), 12081}}, 1023394039},
	{tensor.FractalZ3D, tensor.DHWNC, s(3, 2, 2, 20, 18), s(24, 2, 16, 16), 1, 0, 0, []probe{{s(1, 1, 1, 10, 9), 5801}, {s(2, 1, 1, 19, 17), 12081}}, 471619583},
	{tensor.FractalZC04, tensor.NCHW, s(18, 3, 3, 3), s(3, 2, 16, 16), 0, 0, 0, []probe{{s(9, 1, 1, 1), 657}, {s(17, 2, 2, 2), 1298}}, 63397998},
	{tensor.FractalZC04, tensor.HWCN, s(3, 3, 3, 18), s(3, 2, 16, 16), 0, 0, 0, []probe{{s(1, 1, 1, 9), 657}, {s(2, 2, 2, 17), 1298}}, 78519618},
	{tensor.FractalZC04, tensor.NHWC, s(18, 3, 3, 3), s(3, 2, 16, 16), 0, 0, 0, []probe{{s(9, 1, 1, 1), 657}, {s(17, 2, 2, 2), 1298}}, 64171278},
	{tensor.FractalZC04, tensor.CHWN, s(3, 3, 3, 18), s(3, 2, 16, 16), 0, 0, 0, []probe{{s(1, 1, 1, 9), 657}, {s(2, 2, 2, 17), 1298}}, 64600578},
	{tensor.FractalZ, tensor.CHWN, s(18, 2, 3, 20), s(12, 2, 16, 16), 1, 0, 0, []probe{{s(9, 1, 1, 10), 2217}, {s(17, 1, 2, 19), 5937}}, 638542966},
	{tensor.FractalNZ, tensor.ND, s(20, 28), s(2, 2, 16, 16), 0, 0, 0, []probe{{s(10, 14), 174}, {s(19, 27), 827}}, 68875160},
	{tensor.FractalNZ, tensor.ND, s(2, 3, 10, 20), s(2, 3, 2, 1, 16, 16), 0, 0, 0, []probe{{s(1, 1, 5, 10), 2138}, {s(1, 2, 9, 19), 2963}}, 1378475000},
	{tensor.FractalNZ, tensor.ND, s(20, 40), s(2, 2, 16, 32), 0, 0, 0, []probe{{s(10, 20), 340}, {s(19, 39), 1639}}, 204231280},
	{tensor.FractalNZ, tensor.ND, s(20, 12), s(2, 2, 16, 8), 0, 0, 0, []probe{{s(10, 6), 86}, {s(19, 11), 411}}, 5624920},
	{tensor.FractalNZ, tensor.ND, s(1, 40), s(3, 1, 16, 16), 0, 0, 0, []probe{{s(0, 20), 260}, {s(0, 39), 519}}, 256380},
	{tensor.FractalNZ, tensor.ND, s(2, 5, 40), s(2, 3, 5, 1, 16), 0, 0, 0, []probe{{s(1, 2, 20), 356}, {s(1, 4, 39), 471}}, 23510840},
	{tensor.FractalNZC02, tensor.ND, s(20, 28), s(14, 2, 16, 2), 0, 0, 0, []probe{{s(10, 14), 468}, {s(19, 27), 871}}, 70773080},
	{tensor.FractalNZC04, tensor.ND, s(20, 28), s(7, 2, 16, 4), 0, 0, 0, []probe{{s(10, 14), 426}, {s(19, 27), 847}}, 69913480},
	{tensor.FractalNZC08, tensor.ND, s(20, 28), s(4, 2, 16, 8), 0, 0, 0, []probe{{s(10, 14), 342}, {s(19, 27), 923}}, 69620280},
	{tensor.FractalNZC016, tensor.ND, s(20, 28), s(2, 2, 16, 16), 0, 0, 0, []probe{{s(10, 14), 174}, {s(19, 27), 827}}, 68875160},
	{tensor.FractalNZC032, tensor.ND, s(20, 28), s(1, 2, 16, 32), 0, 0, 0, []probe{{s(10, 14), 334}, {s(19, 27), 635}}, 66750040},
	{tensor.FractalZZ, tensor.ND, s(2, 20, 40), s(2, 2, 3, 16, 16), 0, 0, 0, []probe{{s(1, 10, 20), 1956}, {s(1, 19, 39), 2871}}, 15458273},
	{tensor.FractalZZ, tensor.ND, s(20, 40), s(2, 2, 16, 32), 0, 0, 0, []probe{{s(10, 20), 340}, {s(19, 39), 1639}}, 229134960},
	{tensor.FractalZ, tensor.ND, s(20, 28), s(2, 2, 16, 16), 0, 0, 0, []probe{{s(10, 14), 234}, {s(19, 27), 947}}, 64710604},
	{tensor.C1HWNCoC0, tensor.HWCN, s(2, 2, 18, 5), s(2, 2, 2, 5, 16, 16), 0, 0, 0, []probe{{s(1, 1, 9, 2), 4505}, {s(1, 1, 17, 4), 10001}}, 263093280},
	{tensor.C1HWNCoC0, tensor.NCHW, s(5, 18, 2, 2), s(2, 2, 2, 5, 16, 16), 0, 0, 0, []probe{{s(2, 9, 1, 1), 4505}, {s(4, 17, 1, 1), 10001}}, 223199910},
	{tensor.C1HWNCoC0, tensor.NHWC, s(5, 2, 2, 18), s(2, 2, 2, 5, 16, 16), 0, 0, 0, []probe{{s(2, 1, 1, 9), 4505}, {s(4, 1, 1, 17), 10001}}, 227843640},
	{tensor.C1HWNCoC0, tensor.CHWN, s(18, 2, 2, 5), s(2, 2, 2, 5, 16, 16), 0, 0, 0, []probe{{s(9, 1, 1, 2), 4505}, {s(17, 1, 1, 4), 10001}}, 239874630},
	{tensor.FractalZ3DTranspose, tensor.DHWNC, s(2, 1, 2, 18, 20), s(8, 2, 16, 16), 0, 0, 0, []probe{{s(1, 0, 1, 9, 10), 2729}, {s(1, 0, 1, 17, 19), 3889}}, 88846553},
	{tensor.FractalZ3DTranspose, tensor.NCDHW, s(18, 20, 2, 1, 2), s(8, 2, 16, 16), 0, 0, 0, []probe{{s(9, 10, 1, 0, 1), 2729}, {s(17, 19, 1, 0, 1), 3889}}, 1722830520},
	{tensor.FractalZ3DTranspose, tensor.NDHWC, s(18, 2, 1, 2, 20), s(8, 2, 16, 16), 0, 0, 0, []probe{{s(9, 1, 0, 1, 10), 2729}, {s(17, 1, 0, 1, 19), 3889}}, 1752051000},
	{tensor.FractalZ3DTranspose, tensor.DHWCN, s(2, 1, 2, 20, 18), s(8, 2, 16, 16), 0, 0, 0, []probe{{s(1, 0, 1, 10, 9), 2729}, {s(1, 0, 1, 19, 17), 3889}}, 76618913},
	{tensor.FractalZNLSTM, tensor.HWCN, s(1, 1, 12, 12), s(2, 4, 16, 16), 0, 0, 0, []probe{{s(0, 0, 6, 6), 518}, {s(0, 0, 11, 11), 1826}}, 9026538},
	{tensor.FractalZNLSTM, tensor.NCHW, s(12, 12, 1, 1), s(2, 4, 16, 16), 0, 0, 0, []probe{{s(6, 6, 0, 0), 518}, {s(11, 11, 0, 0), 1826}}, 8736468},
	{tensor.FractalZNLSTM, tensor.NHWC, s(12, 1, 1, 12), s(2, 4, 16, 16), 0, 0, 0, []probe{{s(6, 0, 0, 6), 518}, {s(11, 0, 0, 11), 1826}}, 8736468},
	{tensor.FractalZNLSTM, tensor.CHWN, s(12, 1, 1, 12), s(2, 4, 16, 16), 0, 0, 0, []probe{{s(6, 0, 0, 6), 518}, {s(11, 0, 0, 11), 1826}}, 9026538},
	{tensor.FractalZNRNN, tensor.ND, s(43, 120), s(3, 8, 16, 16), 0, 30, 13, []probe{{s(21, 60), 3080}, {s(42, 119), 6109}}, 1637497832},
	{tensor.NDRNNBias, tensor.ND, s(120), s(128), 0, 30, 0, []probe{{s(60), 64}, {s(119), 125}}, 614000},
	{tensor.FractalZWino, tensor.NCHW, s(18, 20, 1, 2), s(2, 2, 2, 2, 8, 16), 0, 0, 0, []probe{{s(9, 10, 0, 1), 410}, {s(17, 19, 0, 1), 1683}}, 155379148},
	{tensor.FractalZWino, tensor.HWCN, s(1, 2, 20, 18), s(2, 2, 2, 2, 8, 16), 0, 0, 0, []probe{{s(0, 1, 10, 9), 410}, {s(0, 1, 19, 17), 1683}}, 159337804},
	{tensor.FractalZWino, tensor.NHWC, s(18, 1, 2, 20), s(2, 2, 2, 2, 8, 16), 0, 0, 0, []probe{{s(9, 0, 1, 10), 410}, {s(17, 0, 1, 19), 1683}}, 154631752},
	{tensor.FractalZWino, tensor.CHWN, s(20, 1, 2, 18), s(2, 2, 2, 2, 8, 16), 0, 0, 0, []probe{{s(10, 0, 1, 9), 410}, {s(19, 0, 1, 17), 1683}}, 172790932},
	{tensor.C1HWC0, tensor.NCHW, s(20, 1, 2, 3), s(2, 2, 3, 16), 0, 0, 0, []probe{{s(10, 0, 1, 1), 74}, {s(19, 0, 1, 2), 179}}, 604490},
	{tensor.C1HWC0, tensor.HWCN, s(2, 3, 1, 20), s(2, 2, 3, 16), 0, 0, 0, []probe{{s(1, 1, 0, 10), 74}, {s(1, 2, 0, 19), 179}}, 614140},
	{tensor.C1HWC0, tensor.NHWC, s(20, 2, 3, 1), s(2, 2, 3, 16), 0, 0, 0, []probe{{s(10, 1, 1, 0), 74}, {s(19, 1, 2, 0), 179}}, 604490},
	{tensor.C1HWC0, tensor.CHWN, s(1, 2, 3, 20), s(2, 2, 3, 16), 0, 0, 0, []probe{{s(0, 1, 1, 10), 74}, {s(0, 1, 2, 19), 179}}, 614140},
}

func s(dims ...int64) tensor.Shape { return dims }

func (v vector) String() string {
	return fmt.Sprintf("%s from %s%v g=%d", v.layout, v.host, []int64(v.shape), v.groups)
}

// toDevice makes the device buffer of a vector. The block sizes come from its
// device shape, as the file would give them, so the map is made directly.
func (v vector) toDevice(t *testing.T, unit int, buf *Buffers) *memory {
	t.Helper()
	host := numbers(v.shape.Elements(), unit)
	return collect(t, newStepReader(v.mapping(t), true, host, unit, buf), unit)
}

func (v vector) mapping(t *testing.T) *Map {
	t.Helper()
	r := ruleOf(v.layout)
	if r == nil || v.host == tensor.ND {
		nd := ndRuleOf(v.layout)
		p := params{c0: 16, n0: 16, cout: 16, hidden: v.hidden, input: v.input}
		nd.blocks(v.device[len(v.device)-nd.tail:], v.shape[len(v.shape)-1], &p)
		if err := nd.checkHostShape(v.layout, v.shape, v.device, p); err != nil {
			t.Fatal(err)
		}
		return nd.mapTo(v.shape, v.device, p, denseAxes(v.shape))
	}
	p, err := r.inferBlocks(v.device, params{cout: 16, groups: max(1, v.groups)})
	if err != nil {
		t.Fatal(err)
	}
	d := nameAxes(v.host.String(), v.shape)
	if err := r.checkSizes(d, v.device, p); err != nil {
		t.Fatal(err)
	}
	return r.mapTo(d, v.device, p, v.host.String())
}

// TestEveryLayoutHasVectors asks for a vector of each layout from each host order that its
// rule converts.
func TestEveryLayoutHasVectors(t *testing.T) {
	type pair struct{ layout, host tensor.Format }
	known := map[pair]bool{}
	for _, v := range vectors {
		known[pair{v.layout, v.host}] = true
	}
	want := func(layout, host tensor.Format) {
		if !known[pair{layout, host}] {
			t.Errorf("%s from %s: no vector in vectors_test.go", layout, host)
		}
	}
	for _, r := range rules {
		for _, host := range r.hostFormats() {
			want(r.format, host)
		}
	}
	for _, r := range ndRules {
		want(r.format, tensor.ND)
		for variant := range r.variants {
			want(variant, tensor.ND)
		}
	}
}

func TestVectorsToDevice(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.String(), func(t *testing.T) {
			dev := v.toDevice(t, 4, &Buffers{})
			const mod = 1<<31 - 1
			sum := int64(0)
			for p := range v.device.Elements() {
				sum = (sum + (p+1)%mod*int64(get(dev.data[p*4:], 4))) % mod
			}
			if sum != v.fingerprint {
				t.Errorf("fingerprint %d, want %d", sum, v.fingerprint)
			}
			strides := v.shape.Strides()
			for _, p := range v.probes {
				at := int64(0)
				for i, x := range p.index {
					at += x * strides[i]
				}
				if got := int64(get(dev.data[p.offset*4:], 4)); got != at+1 {
					t.Errorf("device[%d] holds element %d, want %d", p.offset, got-1, at)
				}
			}
		})
	}
}

// TestVectorsToHost plans each vector the way a dump asks for it and checks
// that padding does not matter.
func TestVectorsToHost(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.String(), func(t *testing.T) {
			dev := v.toDevice(t, 4, &Buffers{})
			for i := range v.device.Elements() {
				if get(dev.data[i*4:], 4) == 0 {
					put(dev.data[i*4:], 4, 0xdeadbeef)
				}
			}
			host := v.host
			p := plan(t, Request{DType: tensor.Float32, Source: v.layout, Shape: v.device, Original: v.shape,
				Order: &host, Groups: v.groups, Target: v.host, HiddenSize: v.hidden, InputSize: v.input})
			if !p.Shape.Equal(v.shape) {
				t.Fatalf("shape %v, want %v", p.Shape, v.shape)
			}
			got := execute(t, p, dev, &Buffers{})
			for i := range v.shape.Elements() {
				if x := get(got.data[i*4:], 4); x != uint64(i+1) {
					t.Fatalf("element %d is %d, want %d", i, x, i+1)
				}
			}
		})
	}
}

func TestErrorsAreTyped(t *testing.T) {
	tests := []struct {
		name string
		req  Request
		want any
		text string
	}{
		{"channels", Request{Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3, 16), Original: s(2, 99, 3, 3), Target: tensor.NCHW},
			new(*ShapeError), "C1 is 2, want ceil(C/C0) = 7"},
		{"rank", Request{Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3), Original: s(2, 20, 3, 3), Target: tensor.NCHW},
			new(*ShapeError), "rank is 4, want 5"},
		{"no host shape", Request{Source: tensor.FractalZ, Shape: s(4, 1, 16, 16), Target: tensor.NCHW},
			new(*MissingError), "original shape"},
		{"no definition", Request{Source: tensor.FractalDeconv, Shape: s(4, 1, 16, 16), Target: tensor.NCHW},
			new(*UnsupportedError), "no conversion from FRACTAL_DECONV to NCHW"},
		{"to no definition", Request{Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3, 16), Original: s(2, 20, 3, 3), Target: tensor.FractalDeconv},
			new(*UnsupportedError), "no conversion from NC1HWC0 to FRACTAL_DECONV"},
		{"other axes", Request{Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 3, 16), Original: s(2, 20, 3, 3), Target: tensor.NCDHW},
			new(*UnsupportedError), "different axes"},
		{"groups", Request{Source: tensor.FractalZ, Shape: s(8, 1, 16, 16), Original: s(33, 4, 2, 2), Groups: 8, Target: tensor.NCHW},
			new(*ShapeError), "multiple of groups = 8"},
		{"hidden size", Request{Source: tensor.FractalZNRNN, Shape: s(3, 8, 16, 16), Original: s(43, 120), Target: tensor.ND},
			new(*MissingError), "--hidden-size"},
		{"input size", Request{Source: tensor.FractalZNRNN, Shape: s(3, 8, 16, 16), Original: s(43, 120), Target: tensor.ND, HiddenSize: 30},
			new(*MissingError), "--input-size"},
		{"huge", Request{Source: tensor.NC1HWC0, Shape: s(1<<40, 1<<40, 3, 3, 16), Original: s(2, 99, 3, 3), Target: tensor.NCHW},
			new(*ShapeError), "too many elements"},
		{"block of zero", Request{Source: tensor.NC1HWC0, Shape: s(1, 1, 1, 1, 0), Original: s(1, 1, 1, 1), Target: tensor.NCHW},
			new(*ShapeError), "block size"},
		{"crop beyond", Request{Source: tensor.NCHW, Shape: s(1, 2, 3, 4), TargetShape: s(1, 3, 4, 5), Target: tensor.NHWC},
			new(*ShapeError), "C is 2, want at least 5"},
		{"FRACTAL_NZ rows", Request{Source: tensor.FractalNZ, Shape: s(2, 2, 16, 16), Original: s(50, 28), Target: tensor.ND},
			new(*ShapeError), "M1 is 2, want ceil(M/M0) = 4"},
		{"FRACTAL_NZ batch", Request{Source: tensor.FractalNZ, Shape: s(3, 2, 2, 16, 16), Original: s(2, 20, 28), Target: tensor.ND},
			new(*ShapeError), "3 matrices, want 2"},
		{"odd nibbles", Request{DType: tensor.Float4E2M1, Source: tensor.FractalNZ, Shape: s(3, 2, 16, 32), Original: s(20, 90), Target: tensor.ND},
			new(*ShapeError), "both even"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NewPlan(tt.req)
			if err == nil || p != nil {
				t.Fatalf("plan %v, error %v", p, err)
			}
			if !errors.As(err, tt.want) {
				t.Errorf("error is a %T", err)
			}
			if got := err.Error(); !strings.Contains(got, tt.text) {
				t.Errorf("error %q does not say %q", got, tt.text)
			}
		})
	}
}
