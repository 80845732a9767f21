package layout

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// drawSizes draws the bounds of a reader: any of them must give the same
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

// TestNamedLayoutsMatchTheFormulas moves elements to every layout and back, in
// the same and in another order.
func TestNamedLayoutsMatchTheFormulas(t *testing.T) {
	for _, r := range rules {
		t.Run(r.format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				unit := rapid.SampledFrom(units).Draw(t, "unit")
				dim := func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
				z := at{n: dim("N", 36), c: dim("C", 36), d: 1, h: dim("H", 3), w: dim("W", 3)}
				if r.axes3D {
					z.d = dim("D", 2)
				}
				g := int64(1)
				switch r.format {
				case tensor.FractalZ, tensor.FractalZ3D:
					if g = dim("groups", 6); g > 1 {
						z.n, z.c = g*dim("Cout", 9), dim("Cin", 20)
					}
				case tensor.C1HWC0:
					z.c = 1
				case tensor.FractalZNLSTM:
					z.n = 4 * dim("hidden", 20)
					z.c = z.n/4 + dim("input", 20)
				}
				f := rapid.SampledFrom(r.hostFormats()).Draw(t, "order")
				back := rapid.SampledFrom(r.hostFormats()).Draw(t, "order back")
				host := axisSizes{z.n, z.c, z.d, z.h, z.w}.shape(f.String())
				there := plan(t, Request{DType: dtypeOf[unit], Source: f, Shape: host, Groups: g, Target: r.format,
					TargetC0: rapid.SampledFrom([]int64{8, 16, 32}).Draw(t, "C0")})
				home := plan(t, Request{DType: dtypeOf[unit], Source: r.format, Shape: there.Shape, Original: host,
					Order: &f, Groups: g, Target: back})
				permuted := plan(t, Request{Source: f, Shape: host, Target: back})
				if !home.Shape.Equal(permuted.Shape) {
					t.Fatalf("shape %v, want %v", home.Shape, permuted.Shape)
				}
				offset := func(o int64) int64 {
					d := nameAxes(f.String(), host.Coordinates(o))
					if !r.axes3D {
						d[axD] = 0
					}
					return slowOffset(r.format, z, at{d[axN], d[axC], d[axD], d[axH], d[axW]}, there.Shape, g)
				}
				array := checkBothWays(t, there, host, unit, offset)
				checkReads(t, home, numbers(there.Shape.Elements(), unit), unit, slowPermute(array, host, f.String(), back.String()).data)
			})
		})
	}
}

// checkBothWays checks a plan from a host array to a device layout, where element
// o of the array lies at offset(o). It returns the host array of a device buffer of
// 1, 2, 3, ..., in which no padding is like another.
func checkBothWays(t *rapid.T, there *Plan, host tensor.Shape, unit int, offset func(o int64) int64) *memory {
	t.Helper()
	u, n := int64(unit), host.Elements()
	src, array := numbers(n, unit), newMemory(n, unit)
	device, want := numbers(there.Shape.Elements(), unit), newMemory(there.Shape.Elements(), unit)
	for o := range n {
		at := offset(o)
		copy(want.data[at*u:][:u], src.data[o*u:])
		copy(array.data[o*u:][:u], device.data[at*u:])
	}
	checkReads(t, there, src, unit, want.data)
	return array
}

// slowPermute changes the order of axes element by element.
func slowPermute(src *memory, shape tensor.Shape, from, to string) *memory {
	target := nameAxes(from, shape).shape(to)
	out := newMemory(shape.Elements(), src.unit)
	strides := target.Strides()
	for o := range shape.Elements() {
		pos := shape.Coordinates(o)
		at := int64(0)
		for k, letter := range to {
			for j, l := range from {
				if l == letter {
					at += pos[j] * strides[k]
				}
			}
		}
		copy(out.data[at*int64(src.unit):][:src.unit], src.data[o*int64(src.unit):])
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
						src := numbers(shape.Elements(), unit)
						p := plan(t, Request{Source: from, Shape: shape, Target: to})
						checkReads(t, p, src, unit, slowPermute(src, shape, from.String(), to.String()).data)
					})
				})
			}
		}
	}
}

func TestMatrixLayoutsMatchTheFormulas(t *testing.T) {
	for _, r := range ndRules {
		if !r.matrix {
			continue // TestVectorsToDevice has the layout of the bias
		}
		f := r.format
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
				host := append(append(tensor.Shape{}, batch...), rows, cols)
				there := plan(t, Request{DType: dtypeOf[unit], Source: tensor.ND, Shape: host, Target: f,
					TargetC0: rapid.SampledFrom([]int64{8, 16, 32}).Draw(t, "C0"), HiddenSize: hidden, InputSize: input})
				back := Request{DType: dtypeOf[unit], Source: f, Shape: there.Shape, Original: host, HiddenSize: hidden, InputSize: input,
					Target: rapid.SampledFrom([]tensor.Format{tensor.ND, tensor.NCHW, tensor.HWCN, tensor.NDHWC}).Draw(t, "target")}
				home := plan(t, back)
				if !home.Shape.Equal(host) || home.AnyOrder != (f != tensor.FractalZ) {
					t.Fatalf("shape %v, want %v; in any order: %t", home.Shape, host, home.AnyOrder)
				}
				nchw := tensor.NCHW
				if back.OriginalFormat = &nchw; plan(t, back).AnyOrder && len(host) == 4 {
					t.Fatal("axes of a known order come out the same in any order")
				}
				array := checkBothWays(t, there, host, unit, func(o int64) int64 {
					return slowMatrixOffset(f, rows, cols, o/cols/rows, o/cols%rows, o%cols, there.Shape, hidden, input)
				})
				checkReads(t, home, numbers(there.Shape.Elements(), unit), unit, array.data)
			})
		})
	}
}

// TestDeviceToDevice converts one device layout into another.
func TestDeviceToDevice(t *testing.T) {
	var four []*rule
	for _, r := range rules {
		if !r.axes3D && r.format != tensor.C1HWC0 && r.format != tensor.FractalZNLSTM {
			four = append(four, r)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(four).Draw(t, "from").format
		to := rapid.SampledFrom(four).Draw(t, "to").format
		order := rapid.SampledFrom(hostOrders[:4]).Draw(t, "order")
		dim := func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
		shape := axisSizes{dim("N", 20), dim("C", 20), 1, dim("H", 4), dim("W", 4)}.shape(order.String())
		src := numbers(shape.Elements(), 4)
		first := plan(t, Request{DType: tensor.Float32, Source: order, Shape: shape, Target: from})
		direct := plan(t, Request{DType: tensor.Float32, Source: order, Shape: shape, Target: to})
		second := plan(t, Request{DType: tensor.Float32, Source: from, Shape: first.Shape, Original: shape, Order: &order, Target: to})
		if from == to {
			if !second.Copies() {
				t.Fatal("the same layout is not copied")
			}
			return
		}
		if !second.Shape.Equal(direct.Shape) {
			t.Fatalf("shape %v, want %v", second.Shape, direct.Shape)
		}
		want := execute(t, direct, src, &Buffers{})
		checkReads(t, second, execute(t, first, src, &Buffers{}), 4, want.data)
	})
}
