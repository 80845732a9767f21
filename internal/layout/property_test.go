package layout

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// drawSizes draws the bounds of a transfer: any of them must give the same
// bytes.
func drawSizes(t *rapid.T) *Buffers {
	if rapid.Bool().Draw(t, "default sizes") {
		return &Buffers{}
	}
	most := rapid.Int64Range(64, 4096).Draw(t, "max tile")
	return &Buffers{sizes: sizes{
		minTile: rapid.Int64Range(1, most).Draw(t, "min tile"),
		maxTile: most,
		goodRun: rapid.Int64Range(1, 512).Draw(t, "good run"),
		gap:     rapid.Int64Range(0, 64).Draw(t, "gap"),
	}}
}

var units = []int{1, 2, 4, 8, 16}

// dtypeOf is a type of the unit's width, for the default C0.
var dtypeOf = map[int]tensor.DType{1: tensor.Int8, 2: tensor.Float16, 4: tensor.Float32, 8: tensor.Float64, 16: tensor.Complex128}

// check runs a plan on a source and compares.
func execRapid(t *rapid.T, p *Plan, src *memory, buf *Buffers) *memory {
	if p.Copies() {
		return src
	}
	dst := newMemory(count(p.Shape), src.unit)
	scratch := func(n int64) (Store, error) { return newMemory(n, src.unit), nil }
	if err := p.Run(t.Context(), dst, src, src.unit, buf, scratch); err != nil {
		t.Fatalf("run: %v", err)
	}
	for i, w := range dst.written {
		if !w {
			t.Fatalf("element %d was not written", i)
		}
	}
	return dst
}

func TestNamedLayoutsMatchTheFormulas(t *testing.T) {
	for _, r := range rules {
		t.Run(r.format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := rapid.SampledFrom(r.orders()).Draw(t, "order")
				unit := rapid.SampledFrom(units).Draw(t, "unit")
				dim := func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
				z := at{n: dim("N", 36), c: dim("C", 36), d: 1, h: dim("H", 4), w: dim("W", 4)}
				if r.axes3D {
					z.d = dim("D", 3)
				}
				g := int64(1)
				switch r.format {
				case tensor.FractalZ, tensor.FractalZ3D:
					if g = dim("groups", 9); g > 1 {
						z.n = g * dim("Cout", 9)
					}
				case tensor.C1HWC0:
					z.c = 1
				case tensor.FractalZNLSTM:
					z.n = 4 * dim("hidden", 20)
					z.c = z.n/4 + dim("input", 20)
				}
				c0 := rapid.SampledFrom([]int64{8, 16, 32}).Draw(t, "C0")
				order := f.String()
				host := dims5{z.n, z.c, z.d, z.h, z.w}.shape(order)
				req := Request{DType: dtypeOf[unit], Source: f, Shape: host, Groups: g, Target: r.format, TargetC0: c0}
				there, err := NewPlan(req)
				if err != nil {
					t.Fatal(err)
				}
				src := numbers(count(host), unit)
				dev := execRapid(t, there, src, drawSizes(t))

				want := newMemory(count(there.Shape), unit)
				strides := host.Strides()
				index := func(i at) int64 {
					pos := dims5{i.n, i.c, i.d, i.h, i.w}.shape(order)
					o := int64(0)
					for k := range pos {
						o += pos[k] * strides[k]
					}
					return o
				}
				var i at
				for i.n = 0; i.n < z.n; i.n++ {
					for i.c = 0; i.c < z.c; i.c++ {
						for i.d = 0; i.d < z.d; i.d++ {
							for i.h = 0; i.h < z.h; i.h++ {
								for i.w = 0; i.w < z.w; i.w++ {
									to := slowOffset(r.format, z, i, there.Shape, g) * int64(unit)
									from := index(i) * int64(unit)
									copy(want.data[to:to+int64(unit)], src.data[from:])
								}
							}
						}
					}
				}
				if !bytes.Equal(dev.data, want.data) {
					t.Fatalf("%v -> %v differs from the formula", host, there.Shape)
				}

				// Back, with rubbish in the padding, in the same and in another order.
				dirty := soiled(t, dev, src)
				back := rapid.SampledFrom(r.orders()).Draw(t, "order back")
				home, err := NewPlan(Request{DType: dtypeOf[unit], Source: r.format, Shape: there.Shape, Original: host,
					Order: &f, Groups: g, Target: back})
				if err != nil {
					t.Fatal(err)
				}
				got := execRapid(t, home, dirty, drawSizes(t))
				permuted, err := NewPlan(Request{Source: f, Shape: host, Target: back})
				if err != nil {
					t.Fatal(err)
				}
				if !home.Shape.Equal(permuted.Shape) {
					t.Fatalf("shape %v, want %v", home.Shape, permuted.Shape)
				}
				if !bytes.Equal(got.data, slowPermute(src, host, order, back.String())) {
					t.Fatalf("%v -> %v in %s does not come back", there.Shape, home.Shape, back)
				}
			})
		})
	}
}

// soiled copies a device buffer and fills what is zero with rubbish. Host
// elements are numbered from 1; a zero byte pattern among them (256 as int8)
// is not padding, so those values are left out by comparing with the source.
func soiled(t *rapid.T, dev, src *memory) *memory {
	dirty := newMemory(int64(len(dev.data)/dev.unit), dev.unit)
	copy(dirty.data, dev.data)
	for i := range int64(len(src.data) / src.unit) {
		if get(src.data[i*int64(src.unit):], src.unit) == 0 {
			return dirty
		}
	}
	noise := rapid.Uint64Range(1, 255).Draw(t, "padding")
	for i := range int64(len(dirty.data) / dirty.unit) {
		if cell := dirty.data[i*int64(dirty.unit):]; get(cell, dirty.unit) == 0 {
			put(cell, dirty.unit, noise)
		}
	}
	return dirty
}

// slowPermute changes the order of axes element by element.
func slowPermute(src *memory, shape tensor.Shape, from, to string) []byte {
	target := named(from, shape).shape(to)
	out := make([]byte, len(src.data))
	strides := target.Strides()
	for o := range count(shape) {
		pos := shape.Coordinates(o)
		at := int64(0)
		for k, letter := range to {
			for j, l := range from {
				if l == letter {
					at += pos[j] * strides[k]
				}
			}
		}
		copy(out[at*int64(src.unit):][:src.unit], src.data[o*int64(src.unit):])
	}
	return out
}

func TestHostOrdersPermute(t *testing.T) {
	for _, group := range [][]tensor.Format{hostOrders[:4], hostOrders[4:]} {
		for _, from := range group {
			for _, to := range group {
				t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
					rapid.Check(t, func(t *rapid.T) {
						shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 6), len(from.String()), len(from.String())).Draw(t, "shape"))
						unit := rapid.SampledFrom(units).Draw(t, "unit")
						src := numbers(count(shape), unit)
						p, err := NewPlan(Request{Source: from, Shape: shape, Target: to})
						if err != nil {
							t.Fatal(err)
						}
						got := execRapid(t, p, src, drawSizes(t))
						if !bytes.Equal(got.data, slowPermute(src, shape, from.String(), to.String())) {
							t.Fatal("differs from the slow permutation")
						}
					})
				})
			}
		}
	}
}

func TestMatrixLayoutsMatchTheFormulas(t *testing.T) {
	for _, f := range []tensor.Format{tensor.FractalNZ, tensor.FractalZZ, tensor.FractalZ, tensor.FractalZNRNN} {
		t.Run(f.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				unit := rapid.SampledFrom(units).Draw(t, "unit")
				batch := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 2).Draw(t, "batch"))
				rows := rapid.Int64Range(1, 50).Draw(t, "rows")
				cols := rapid.Int64Range(1, 50).Draw(t, "cols")
				hidden, input := int64(0), int64(0)
				if f == tensor.FractalZ {
					batch = nil
				}
				if f == tensor.FractalZNRNN {
					hidden = rapid.Int64Range(1, 40).Draw(t, "hidden")
					input = rapid.Int64Range(1, 40).Draw(t, "input")
					rows = rapid.SampledFrom([]int64{input, hidden, input + hidden}).Draw(t, "part")
					cols = hidden * rapid.Int64Range(1, 4).Draw(t, "count")
				}
				c0 := rapid.SampledFrom([]int64{8, 16, 32}).Draw(t, "C0")
				host := append(append(tensor.Shape{}, batch...), rows, cols)
				there, err := NewPlan(Request{DType: dtypeOf[unit], Source: tensor.ND, Shape: host, Target: f, TargetC0: c0,
					HiddenSize: hidden, InputSize: input})
				if err != nil {
					t.Fatal(err)
				}
				src := numbers(count(host), unit)
				dev := execRapid(t, there, src, drawSizes(t))
				want := newMemory(count(there.Shape), unit)
				for o := range count(host) {
					n, m, b := o%cols, o/cols%rows, o/cols/rows
					to := slowMatrixOffset(f, rows, cols, b, m, n, there.Shape, hidden, input) * int64(unit)
					copy(want.data[to:to+int64(unit)], src.data[o*int64(unit):])
				}
				if !bytes.Equal(dev.data, want.data) {
					t.Fatalf("%v -> %v differs from the formula", host, there.Shape)
				}
				home, err := NewPlan(Request{DType: dtypeOf[unit], Source: f, Shape: there.Shape, Original: host, Target: tensor.ND,
					HiddenSize: hidden, InputSize: input})
				if err != nil {
					t.Fatal(err)
				}
				got := execRapid(t, home, soiled(t, dev, src), drawSizes(t))
				if !home.Shape.Equal(host) || !bytes.Equal(got.data, src.data) {
					t.Fatalf("%v -> %v does not come back", there.Shape, home.Shape)
				}
			})
		})
	}
}

// TestResultDoesNotDependOnC0 converts the same host data through several
// channel blocks, and through one device layout into another.
func TestDeviceToDevice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var four []*rule
		for _, r := range rules {
			if !r.axes3D && r.format != tensor.C1HWC0 && r.format != tensor.FractalZNLSTM {
				four = append(four, r)
			}
		}
		from := rapid.SampledFrom(four).Draw(t, "from").format
		to := rapid.SampledFrom(four).Draw(t, "to").format
		order := rapid.SampledFrom(hostOrders[:4]).Draw(t, "order")
		shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 20), 4, 4).Draw(t, "shape"))
		plan := func(r Request) *Plan {
			p, err := NewPlan(r)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		src := numbers(count(shape), 4)
		first := plan(Request{DType: tensor.Float32, Source: order, Shape: shape, Target: from})
		direct := plan(Request{DType: tensor.Float32, Source: order, Shape: shape, Target: to})
		second := plan(Request{DType: tensor.Float32, Source: from, Shape: first.Shape, Original: shape, Order: &order, Target: to})
		if from == to {
			if !second.Copies() {
				t.Fatal("the same layout is not copied")
			}
			return
		}
		if !second.Shape.Equal(direct.Shape) {
			t.Fatalf("shape %v, want %v", second.Shape, direct.Shape)
		}
		got := execRapid(t, second, execRapid(t, first, src, &Buffers{}), drawSizes(t))
		if want := execRapid(t, direct, src, &Buffers{}); !bytes.Equal(got.data, want.data) {
			t.Fatalf("%s %v through %s differs from %s made directly", order, shape, from, to)
		}
	})
}
