package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumptest"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// axes has the lengths of the axes of a tensor.
type axes struct{ n, c, d, h, w int }

func (a axes) count() int { return a.n * a.c * a.d * a.h * a.w }

// each calls f for all coordinates.
func (a axes) each(f func(n, c, d, h, w int)) {
	for n := range a.n {
		for c := range a.c {
			for d := range a.d {
				for h := range a.h {
					for w := range a.w {
						f(n, c, d, h, w)
					}
				}
			}
		}
	}
}

// hostArray returns the logical tensor in an axis order, element by element.
func hostArray(order string, a axes) (shape tensor.Shape, values []float64) {
	sizes := map[rune]int{'N': a.n, 'C': a.c, 'D': a.d, 'H': a.h, 'W': a.w}
	for _, axis := range order {
		shape = append(shape, int64(sizes[axis]))
	}
	values = make([]float64, a.count())
	a.each(func(n, c, d, h, w int) {
		at := map[rune]int{'N': n, 'C': c, 'D': d, 'H': h, 'W': w}
		offset := 0
		for _, axis := range order {
			offset = offset*sizes[axis] + at[axis]
		}
		values[offset] = a.value(n, c, d, h, w)
	})
	return shape, values
}

// value returns the element at coordinates, a different number for each.
func (a axes) value(n, c, d, h, w int) float64 {
	return float64((((n*a.c+c)*a.d+d)*a.h+h)*a.w + w + 1)
}

func up(n, to int) int { return (n + to - 1) / to }

// deviceArray returns the tensor in a device layout by the formula of the layout, with -7 in its padding.
func deviceArray(f tensor.Format, a axes) (shape tensor.Shape, values []float64) {
	const c0 = 16
	c1 := up(a.c, c0)
	dims := []int{}
	var at func(n, c, d, h, w int) []int
	switch f {
	case tensor.NC1HWC0:
		dims = []int{a.n, c1, a.h, a.w, c0}
		at = func(n, c, _, h, w int) []int { return []int{n, c / c0, h, w, c % c0} }
	case tensor.NDC1HWC0:
		dims = []int{a.n, a.d, c1, a.h, a.w, c0}
		at = func(n, c, d, h, w int) []int { return []int{n, d, c / c0, h, w, c % c0} }
	case tensor.FractalZ:
		dims = []int{c1 * a.h * a.w, up(a.n, 16), 16, c0}
		at = func(n, c, _, h, w int) []int { return []int{(c/c0*a.h+h)*a.w + w, n / 16, n % 16, c % c0} }
	case tensor.FractalNZ: // matrices H x W
		dims = []int{a.n, a.c, up(a.w, 16), up(a.h, 16), 16, 16}
		at = func(n, c, _, h, w int) []int { return []int{n, c, w / 16, h / 16, h % 16, w % 16} }
	}
	total := 1
	for _, d := range dims {
		shape = append(shape, int64(d))
		total *= d
	}
	values = slices.Repeat([]float64{-7}, total)
	a.each(func(n, c, d, h, w int) {
		offset := 0
		for i, x := range at(n, c, d, h, w) {
			offset = offset*dims[i] + x
		}
		values[offset] = a.value(n, c, d, h, w)
	})
	return shape, values
}

// pairOf compares two files, each alone in its folder.
func pairOf(t *testing.T, refName string, ref []byte, npuName string, npu []byte, change func(*conclude.Options)) *record.Row {
	t.Helper()
	dir := t.TempDir()
	opt := exactly(write(t, filepath.Join(dir, "ref", refName), ref), write(t, filepath.Join(dir, "npu", npuName), npu))
	opt.Keep = true
	if change != nil {
		change(&opt)
	}
	rep := runAll(t, opt)
	if len(rep.Rows) != 1 {
		t.Fatalf("rows %v, want one", lines(rep))
	}
	return &rep.Rows[0]
}

const dumpName = "Conv2D.conv.1.2.1600000000000000"

// TestDeviceLayouts compares device layouts with arrays in every host order.
func TestDeviceLayouts(t *testing.T) {
	flat, deep := axes{2, 19, 1, 3, 5}, axes{2, 19, 2, 3, 5}
	tests := []struct {
		format tensor.Format
		axes   axes
		orders []string
	}{
		{tensor.NC1HWC0, flat, []string{"NCHW", "NHWC"}},
		{tensor.FractalZ, flat, []string{"NCHW", "NHWC", "HWCN"}},
		{tensor.FractalNZ, flat, []string{"NCHW"}},
		{tensor.NDC1HWC0, deep, []string{"NCDHW", "NDHWC"}},
	}
	for _, tt := range tests {
		device, data := deviceArray(tt.format, tt.axes)
		for _, recorded := range append([]string{""}, tt.orders...) {
			var original tensor.Shape
			order := recorded
			if recorded != "" {
				original, _ = hostArray(recorded, tt.axes)
			} else {
				order = tt.orders[0]
			}
			npu := dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.Float16, tt.format, device, original, stored(tensor.Float16, data...))})
			for _, golden := range tt.orders {
				t.Run(strings.Join([]string{tt.format.String(), "recorded " + recorded, golden}, "/"), func(t *testing.T) {
					shape, values := hostArray(golden, tt.axes)
					ref := array(tensor.Float16, shape, values...)
					f, _ := tensor.ParseFormat(order)
					row := pairOf(t, "conv.npy", ref, dumpName, npu, func(o *conclude.Options) {
						if recorded != "" {
							o.Shape.OriginalFormat = &f
						}
						if golden, ok := tensor.ParseFormat(golden); ok && tt.format != tensor.FractalNZ {
							o.Shape.RefFormat = &golden
						}
					})
					if row.Status != record.Pass || !row.Shape.Equal(shape) {
						t.Fatalf("%s %v of shape %v, want PASS of %v: %v", row.Status, row.Reasons, row.Shape, shape, row.Notes)
					}
					// Again with a wrong element in the middle.
					values[len(values)/2]++
					row = pairOf(t, "conv.npy", array(tensor.Float16, shape, values...), dumpName, npu, func(o *conclude.Options) {
						if recorded != "" {
							o.Shape.OriginalFormat = &f
						}
						if golden, ok := tensor.ParseFormat(golden); ok && tt.format != tensor.FractalNZ {
							o.Shape.RefFormat = &golden
						}
					})
					if row.Status != record.Fail || row.Errors != 1 || row.First.Offset != int64(len(values)/2) {
						t.Fatalf("%s with %d errors at %+v, want one at %d", row.Status, row.Errors, row.First, len(values)/2)
					}
				})
			}
		}
	}
}

// TestOrderIsFound gives no axis order: the shapes determine it.
func TestOrderIsFound(t *testing.T) {
	a := axes{2, 19, 1, 3, 5}
	device, data := deviceArray(tensor.NC1HWC0, a)
	for _, golden := range []string{"NCHW", "NHWC"} {
		for _, original := range []tensor.Shape{nil, {2, 19, 3, 5}} {
			shape, values := hostArray(golden, a)
			npu := dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.Float16, tensor.NC1HWC0, device, original, stored(tensor.Float16, data...))})
			row := pairOf(t, "conv.npy", array(tensor.Float16, shape, values...), dumpName, npu, nil)
			if row.Status != record.Pass {
				t.Errorf("%s, original %v: %s %v %v, want PASS", golden, original, row.Status, row.Reasons, row.Notes)
			}
		}
	}
}

// TestTwoDumps compares dumps with each other.
func TestTwoDumps(t *testing.T) {
	a := axes{2, 19, 1, 3, 5}
	device, data := deviceArray(tensor.NC1HWC0, a)
	other, otherData := deviceArray(tensor.FractalZ, a)
	nchw, host := hostArray("NCHW", a)
	nhwc, last := hostArray("NHWC", a)
	in := func(f tensor.Format, shape, original tensor.Shape, values []float64) []byte {
		return dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.Float16, f, shape, original, stored(tensor.Float16, values...))})
	}
	garbage := slices.Clone(data)
	for i, v := range garbage {
		if v == -7 {
			garbage[i] = -8
		}
	}
	tests := []struct {
		name     string
		ref, npu []byte
		want     record.Status
	}{
		{"same layout", in(tensor.NC1HWC0, device, nchw, data), in(tensor.NC1HWC0, device, nchw, data), record.Pass},
		{"other padding", in(tensor.NC1HWC0, device, nchw, data), in(tensor.NC1HWC0, device, nchw, garbage), record.Pass},
		{"other padding that nobody knows of", in(tensor.NC1HWC0, device, nil, data), in(tensor.NC1HWC0, device, nil, garbage), record.Fail},
		{"same layout, no shapes", in(tensor.NC1HWC0, device, nil, data), in(tensor.NC1HWC0, device, nil, data), record.Pass},
		{"shape of the reference", in(tensor.NC1HWC0, device, nchw, data), in(tensor.NC1HWC0, device, nil, data), record.Pass},
		{"two layouts", in(tensor.FractalZ, other, nchw, otherData), in(tensor.NC1HWC0, device, nchw, data), record.Pass},
		{"NCHW and NC1HWC0", in(tensor.NCHW, nchw, nil, host), in(tensor.NC1HWC0, device, nchw, data), record.Pass},
		{"NHWC and NC1HWC0", in(tensor.NHWC, nhwc, nil, last), in(tensor.NC1HWC0, device, nil, data), record.Pass},
		{"NCHW and NHWC", in(tensor.NCHW, nchw, nil, host), in(tensor.NHWC, nhwc, nil, last), record.Pass},
		{"NC1HWC0 and NHWC", in(tensor.NC1HWC0, device, nchw, data), in(tensor.NHWC, nhwc, nil, last), record.Pass},
	}
	for _, tt := range tests {
		row := pairOf(t, dumpName, tt.ref, dumpName, tt.npu, nil)
		if row.Status != tt.want {
			t.Errorf("%s: %s %v %v %v, want %s", tt.name, row.Status, row.Reasons, row.Notes, row.Err, tt.want)
		}
	}
}

// TestHostOrderStays has axes of equal length: only the dump names an order, and its elements are compared as stored.
func TestHostOrderStays(t *testing.T) {
	npu := dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.Float32, tensor.NHWC, tensor.Shape{1, 3, 3, 3}, nil, stored(tensor.Float32, ramp(27)...))})
	for _, shape := range []tensor.Shape{{1, 3, 3, 3}, {3, 3, 3}} {
		if row := pairOf(t, "conv.npy", array(tensor.Float32, shape, ramp(27)...), dumpName, npu, nil); row.Status != record.Pass {
			t.Errorf("%v: %s %v %v, want PASS", shape, row.Status, row.Reasons, row.Notes)
		}
	}
	force := func(o *conclude.Options) { o.Shape.Force = true }
	if row := pairOf(t, "conv.npy", array(tensor.Float32, tensor.Shape{3, 9}, ramp(27)...), dumpName, npu, force); row.Status != record.Warn {
		t.Errorf("forced: %s %v %v, want WARN", row.Status, row.Reasons, row.Notes)
	}
}

func TestShapePolicy(t *testing.T) {
	const f = tensor.Float32
	shape := func(d ...int64) tensor.Shape { return d }
	npu := func(s tensor.Shape, values ...float64) []byte { return array(f, s, values...) }
	padded := []float64{1, 2, 0, 3, 4, 0} // (2, 2) in (2, 3)
	tests := []struct {
		name   string
		ref    []byte
		npu    []byte
		change func(*conclude.Options)
		want   record.Status
		note   string
		code   finding.Code
	}{
		{"squeezed", array(f, shape(1, 6), ramp(6)...), npu(shape(6, 1, 1), ramp(6)...), nil, record.Pass, "axes of length 1", ""},
		{"other shape", array(f, shape(3, 2), ramp(6)...), npu(shape(6), ramp(6)...), nil, record.ShapeMismatch, "", finding.ShapeDiffers},
		{"forced", array(f, shape(3, 2), ramp(6)...), npu(shape(6), ramp(6)...), func(o *conclude.Options) { o.Shape.Force = true }, record.Warn, "storage order", finding.ShapeDiffers},
		{"forced, wrong", array(f, shape(3, 2), ramp(6)...), npu(shape(6), 1, 2, 3, 4, 5, 7), func(o *conclude.Options) { o.Shape.Force = true }, record.Fail, "storage order", ""},
		{"other size", array(f, shape(6), ramp(6)...), npu(shape(5), ramp(5)...), func(o *conclude.Options) { o.Shape.Force = true }, record.ShapeMismatch, "", finding.SizeMismatch},
		{"padding", array(f, shape(2, 2), ramp(4)...), npu(shape(2, 3), padded...), nil, record.ShapeMismatch, "", finding.SizeMismatch},
		{"crop", array(f, shape(2, 2), ramp(4)...), npu(shape(2, 3), padded...), func(o *conclude.Options) { o.Shape.CropPadding = true }, record.Pass, "without padding", ""},
		{"crop, not zero", array(f, shape(2, 2), ramp(4)...), npu(shape(2, 3), 1, 2, 9, 3, 4, 0), func(o *conclude.Options) { o.Shape.CropPadding = true }, record.ShapeMismatch, "without padding", finding.SizeMismatch},
		{"crop of the first axis", array(f, shape(1, 3), ramp(3)...), npu(shape(2, 3), 1, 2, 3, 0, 0, 0), func(o *conclude.Options) { o.Shape.CropPadding = true }, record.Pass, "without padding", ""},
		{"crop of two axes", array(f, shape(1, 2), ramp(2)...), npu(shape(2, 3), padded...), func(o *conclude.Options) { o.Shape.CropPadding = true }, record.ShapeMismatch, "", finding.SizeMismatch},
		{"crop and a part", array(f, shape(2, 2), ramp(4)...), npu(shape(2, 3), padded...), func(o *conclude.Options) { o.Shape.CropPadding, o.Shape.MaxElements = true, 3 }, record.Partial, "only the first 3", ""},
		{"transposed", array(f, shape(2, 3), 1, 2, 3, 4, 5, 6), npu(shape(3, 2), 1, 4, 2, 5, 3, 6), nil, record.ShapeMismatch, "", finding.Layout},
		{"auto layout", array(f, shape(2, 3), 1, 2, 3, 4, 5, 6), npu(shape(3, 2), 1, 4, 2, 5, 3, 6), func(o *conclude.Options) { o.Shape.AutoLayout = align.LayoutByShape }, record.Pass, "transposed", ""},
		{"transpose", array(f, shape(2, 2), 1, 2, 3, 4), npu(shape(2, 2), 1, 3, 2, 4), func(o *conclude.Options) { o.Shape.Transpose = map[string][]int{"x": {1, 0}} }, record.Pass, "transposed", ""},
		{"transpose of another", array(f, shape(2, 2), 1, 2, 3, 4), npu(shape(2, 2), 1, 3, 2, 4), func(o *conclude.Options) { o.Shape.Transpose = map[string][]int{"y": {1, 0}} }, record.Fail, "", ""},
		{"bad transpose", array(f, shape(2, 2), 1, 2, 3, 4), npu(shape(2, 2), 1, 3, 2, 4), func(o *conclude.Options) { o.Shape.Transpose = map[string][]int{"x": {0, 0}} }, record.Error, "", finding.ReadError},
		{"a part", array(f, shape(4), ramp(4)...), npu(shape(4), 1, 2, 3, 9), func(o *conclude.Options) { o.Shape.MaxElements = 3 }, record.Partial, "only the first 3 of 4", ""},
		{"a bad part", array(f, shape(4), ramp(4)...), npu(shape(4), 1, 9, 3, 4), func(o *conclude.Options) { o.Shape.MaxElements = 3 }, record.Fail, "only the first 3 of 4", ""},
		{"a part that is all", array(f, shape(4), ramp(4)...), npu(shape(4), ramp(4)...), func(o *conclude.Options) { o.Shape.MaxElements = 4 }, record.Pass, "", ""},
		{"scalars", array(f, nil, 3), npu(nil, 3), nil, record.Pass, "", ""},
		{"a scalar and one element", array(f, nil, 3), npu(shape(1), 3), nil, record.Pass, "axes of length 1", ""},
		{"empty", array(f, shape(0, 3)), npu(shape(0, 3)), nil, record.Pass, "empty", ""},
		{"empty and not", array(f, shape(0, 3)), npu(shape(1, 3), 1, 2, 3), nil, record.ShapeMismatch, "", finding.SizeMismatch},
		{"two types", array(f, shape(3), ramp(3)...), array(tensor.Int32, shape(3), ramp(3)...), nil, record.Pass, "", ""},
		{"two types, strictly", array(f, shape(3), ramp(3)...), array(tensor.Int32, shape(3), ramp(3)...), func(o *conclude.Options) { o.Shape.StrictDType = true }, record.DTypeMismatch, "", finding.DTypeDiffers},
		{"cut off", array(f, shape(3), ramp(3)...), npu(shape(3), ramp(2)...), nil, record.Error, "", finding.ReadError},
		{"no header", array(f, shape(3), ramp(3)...), []byte("\x93NUMPY"), nil, record.Error, "", finding.ReadError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := pairOf(t, "x.npy", tt.ref, "x.npy", tt.npu, tt.change)
			if row.Status != tt.want {
				t.Fatalf("%s %v %v %v, want %s", row.Status, row.Reasons, row.Notes, row.Err, tt.want)
			}
			if tt.note != "" && !strings.Contains(fmt.Sprint(row.Notes), tt.note) {
				t.Errorf("notes %v, want %q", row.Notes, tt.note)
			}
			if tt.code != "" && !hasCode(row.Reasons, tt.code) {
				t.Errorf("reasons %v, want %s", row.Reasons, tt.code)
			}
			if (row.Status == record.Error) != (row.Err != nil) {
				t.Errorf("error %v in a row of status %s", row.Err, row.Status)
			}
		})
	}
}

// TestPermutedShapes: a row whose shapes are permutations of each other, with data that agrees, reports the
// permutation.
func TestPermutedShapes(t *testing.T) {
	a := axes{2, 7, 1, 3, 5}
	ref, values := hostArray("NCHW", a)
	for _, order := range []string{"NHWC", "HWCN"} {
		shape, permuted := hostArray(order, a)
		row := pairOf(t, "x.npy", array(tensor.Float32, ref, values...), "x.npy", array(tensor.Float32, shape, permuted...), nil)
		if row.Status != record.ShapeMismatch || !hasCode(row.Reasons, finding.Layout) {
			t.Errorf("%s: %s %v, want SHAPE_MISMATCH and LAYOUT", order, row.Status, row.Reasons)
		}
		row = pairOf(t, "x.npy", array(tensor.Float32, ref, values...), "x.npy", array(tensor.Float32, shape, permuted...), func(o *conclude.Options) { o.Shape.AutoLayout = align.LayoutByShape })
		if row.Status != record.Pass {
			t.Errorf("%s with --auto-layout: %s %v, want PASS", order, row.Status, row.Reasons)
		}
	}
}

// permute transposes an array: axis i of want becomes axis perm[i] of got.
func permute(values []float64, want tensor.Shape, perm []int) (got tensor.Shape, permuted []float64) {
	got = make(tensor.Shape, len(want))
	for i, p := range perm {
		got[p] = want[i]
	}
	permuted = make([]float64, len(values))
	for at, v := range values {
		place, rest := int64(0), int64(at)
		for i := len(want) - 1; i >= 0; i-- {
			stride := int64(1)
			for _, d := range got[perm[i]+1:] {
				stride *= d
			}
			place += rest % want[i] * stride
			rest /= want[i]
		}
		permuted[place] = v
	}
	return got, permuted
}

// TestAutoLayout: the axes are permuted if the values prove exactly one order.
func TestAutoLayout(t *testing.T) {
	random := func(seed, n int) []float64 {
		all, x := make([]float64, n), uint32(seed)
		for i := range all {
			x = x*1664525 + 1013904223
			all[i] = float64(int32(x)) / (1 << 31)
		}
		return all
	}
	each := func(values []float64, change func(i int, v float64) float64) []float64 {
		all := make([]float64, len(values))
		for i, v := range values {
			all[i] = change(i, v)
		}
		return all
	}
	plain := func(values []float64) []float64 { return values }
	toNHWC, toHWCN := []int{0, 3, 1, 2}, []int{3, 2, 0, 1}
	for _, tt := range []struct {
		name  string
		shape tensor.Shape
		perm  []int
		ref   []float64
		npu   func([]float64) []float64
		want  record.Status
		note  string
	}{
		{"NHWC and NCHW", tensor.Shape{2, 5, 6, 7}, toNHWC, random(1, 420), plain, record.Pass, "transposed [0 3 1 2]: 100.0 % of 420 samples agree"},
		{"height and width alike", tensor.Shape{2, 6, 6, 7}, toNHWC, random(2, 504), plain, record.Pass, "100.0 % of 504"},
		{"HWCN", tensor.Shape{3, 4, 5, 6}, toHWCN, random(3, 360), plain, record.Pass, "transposed [3 2 0 1]"},
		{"too few elements", tensor.Shape{3, 4, 5}, []int{2, 1, 0}, random(4, 60), plain, record.ShapeMismatch, ""},
		{"no known order", tensor.Shape{3, 4, 6}, []int{2, 1, 0}, random(4, 72), plain, record.Pass, "transposed [2 1 0]"},
		{"many elements", tensor.Shape{1, 64, 48, 32}, toNHWC, random(5, 98304), plain, record.Pass, "of 4096 samples"},
		{"rounded to float16", tensor.Shape{2, 5, 6, 7}, toNHWC, random(6, 420), func(v []float64) []float64 {
			return each(v, func(_ int, x float64) float64 {
				m, e := math.Frexp(x)
				return math.Ldexp(math.Round(m*2048)/2048, e)
			})
		}, record.Fail, "100.0 %"}, // the limits allow no difference
		{"one in twenty is wrong", tensor.Shape{2, 5, 6, 7}, toNHWC, random(7, 420), func(v []float64) []float64 {
			return each(v, func(i int, x float64) float64 {
				if i%20 == 0 {
					return x + 3
				}
				return x
			})
		}, record.Fail, "95.0 %"},
		{"one in eight is wrong", tensor.Shape{2, 5, 6, 7}, toNHWC, random(8, 420), func(v []float64) []float64 {
			return each(v, func(i int, x float64) float64 {
				if i%8 == 0 {
					return x + 3
				}
				return x
			})
		}, record.ShapeMismatch, ""},
		{"other values", tensor.Shape{2, 5, 6, 7}, toNHWC, random(9, 420), func([]float64) []float64 { return random(10, 420) }, record.ShapeMismatch, ""},
		{"equal values", tensor.Shape{2, 5, 6, 7}, toNHWC, each(make([]float64, 420), func(int, float64) float64 { return 3 }), plain, record.ShapeMismatch, ""},
		{"equal rows", tensor.Shape{8, 8, 4}, []int{1, 2, 0}, each(make([]float64, 256), func(i int, _ float64) float64 { return float64(i % 4) }), plain, record.ShapeMismatch, ""},
		{"NaN in one of seven", tensor.Shape{2, 5, 6, 7}, toNHWC, each(random(11, 420), func(i int, x float64) float64 {
			if i%7 == 0 {
				return math.NaN()
			}
			return x
		}), plain, record.ShapeMismatch, ""},
		{"a matrix", tensor.Shape{8, 9}, []int{1, 0}, random(12, 72), plain, record.Pass, "transposed [1 0]"},
		{"axes of length 1", tensor.Shape{1, 8, 1, 9}, []int{0, 3, 2, 1}, random(13, 72), plain, record.Pass, "agree"},
	} {
		got, values := permute(tt.npu(tt.ref), tt.shape, tt.perm)
		pair := func(change func(*conclude.Options)) *record.Row {
			return pairOf(t, "x.npy", array(tensor.Float32, tt.shape, tt.ref...), "x.npy", array(tensor.Float32, got, values...), change)
		}
		row := pair(func(o *conclude.Options) { o.Shape.AutoLayout = align.LayoutByValues })
		if row.Status != tt.want || tt.note != "" && !strings.Contains(fmt.Sprint(row.Notes), tt.note) {
			t.Errorf("%s: %s %v %v, want %s and %q", tt.name, row.Status, row.Notes, row.Reasons, tt.want, tt.note)
		}
		if row := pair(nil); row.Status != record.ShapeMismatch {
			t.Errorf("%s: %s without --auto-layout", tt.name, row.Status)
		}
	}
}

func TestRawFiles(t *testing.T) {
	const f = tensor.Float32
	six := stored(f, ramp(6)...)
	a := axes{2, 19, 1, 3, 5}
	device, data := deviceArray(tensor.NC1HWC0, a)
	nchw, host := hostArray("NCHW", a)
	layered := dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.Float16, tensor.NC1HWC0, device, nchw, stored(tensor.Float16, data...))})
	tests := []struct {
		name     string
		refName  string
		ref      []byte
		npuName  string
		npu      []byte
		want     record.Status
		elements int64
	}{
		{"raw NPU", "x.npy", array(f, tensor.Shape{2, 3}, ramp(6)...), "x.bin", six, record.Pass, 6},
		{"raw reference", "x.bin", six, "x.npy", array(f, tensor.Shape{2, 3}, ramp(6)...), record.Pass, 6},
		{"raw reference of a dump", "x.bin", six, dumpName, outputDump(t, "x", f, tensor.Shape{2, 3}, ramp(6)...), record.Pass, 6},
		{"raw reference of a device layout", "x.bin", stored(tensor.Float16, host...), dumpName, layered, record.Pass, 570},
		{"text", "x.txt", []byte("1\n2\n3\n4\n5\n6\n"), "x.npy", array(f, tensor.Shape{2, 3}, ramp(6)...), record.Pass, 6},
		{"wrong size", "x.npy", array(f, tensor.Shape{2, 3}, ramp(6)...), "x.bin", six[:20], record.Error, 0},
		{"nobody tells the type", "x.bin", six, "x.bin", six, record.Error, 0},
		{"one of two tells the type", "x.bin", six, "x_output_0_shape_2_3_Float32_DefaultFormat.bin", six, record.Pass, 6},
		{"wrong text", "x.txt", []byte("1\ntwo\n"), "x.npy", array(f, tensor.Shape{2}, 1, 2), record.Error, 0},
	}
	for _, tt := range tests {
		row := pairOf(t, tt.refName, tt.ref, tt.npuName, tt.npu, nil)
		if row.Status != tt.want || row.IsCompared() && row.Result.Total != tt.elements {
			t.Errorf("%s: %s %v %v, want %s", tt.name, row.Status, row.Reasons, row.Err, tt.want)
		}
	}
}

// TestBadDumps: unreadable dumps become rows.
func TestBadDumps(t *testing.T) {
	good := outputDump(t, "conv", tensor.Float32, tensor.Shape{4}, ramp(4)...)
	ref := array(tensor.Float32, tensor.Shape{4}, ramp(4)...)
	for _, npu := range [][]byte{good[:len(good)-1], good[:20], good[:1], {}} {
		if row := pairOf(t, "conv.npy", ref, dumpName, npu, nil); row.Status != record.Error || row.Err == nil || !strings.Contains(row.Err.Error(), dumpName) {
			t.Errorf("%d of %d bytes: %s %v, want ERROR that names the file", len(npu), len(good), row.Status, row.Err)
		}
	}
	text := dumpOf(t, "conv", nil, []dumptest.TensorContent{dumped(tensor.String, tensor.ND, tensor.Shape{4}, nil, []byte("abcd"))})
	if row := pairOf(t, "conv.npy", ref, dumpName, text, nil); row.Status != record.Error || !hasCode(row.Reasons, finding.UnsupportedDType) {
		t.Errorf("string: %s %v, want ERROR and UNSUPPORTED_DTYPE", row.Status, row.Reasons)
	}
}

// TestDeviceReference has a reference array with the elements in the stored order of the device.
func TestDeviceReference(t *testing.T) {
	for _, f := range []tensor.Format{tensor.NC1HWC0, tensor.FractalZ, tensor.FractalNZ} {
		a := axes{2, 20, 1, 3, 5}
		stored0, values := deviceArray(f, a)
		original, _ := hostArray("NCHW", a)
		npu := dumpOf(t, "op", nil, []dumptest.TensorContent{dumped(tensor.Float16, f, stored0, original, stored(tensor.Float16, values...))})
		row := pairOf(t, "op.npy", array(tensor.Float16, stored0, values...), "Conv2D.op.1.2.1600000000000000", npu, nil)
		if row.Status != record.Pass || !row.Shape.Equal(stored0) || !strings.Contains(fmt.Sprint(row.Notes), "in the layout "+f.String()) {
			t.Errorf("%s: %s %v %v %v, want PASS in the layout of the dump", f, row.Status, row.Shape, row.Notes, row.Err)
		}
		values[1]++
		row = pairOf(t, "op.npy", array(tensor.Float32, stored0, values...), "Conv2D.op.1.2.1600000000000000", npu, nil)
		if row.Status != record.Fail || row.First.Offset != 1 {
			t.Errorf("%s: %s %v, want FAIL at 1", f, row.Status, row.Err)
		}
	}
}

// TestRawTypes has raw files whose names have no type; the types of the two sides differ.
func TestRawTypes(t *testing.T) {
	ref, half := array(tensor.Float32, tensor.Shape{2, 3}, ramp(6)...), stored(tensor.Float16, ramp(6)...)
	row := pairOf(t, "op.npy", ref, "op.bin", half, nil)
	if row.Status != record.Error || !strings.Contains(row.Err.Error(), "float16 or bfloat16 or int16 (--bin-dtype)") {
		t.Errorf("%s %v, want an error that names the types that fit", row.Status, row.Err)
	}
	npuType := func(o *conclude.Options) { o.Shape.NPUDType = tensor.Float16 }
	if row = pairOf(t, "op.npy", ref, "op.bin", half, npuType); row.Status != record.Pass || row.NPUDType != tensor.Float16 {
		t.Errorf("%s of %s: %v, want PASS", row.Status, row.NPUDType, row.Err)
	}
	// Both raw, with both types given; then one raw side with and without its type.
	bytes := stored(tensor.Float32, ramp(6)...)
	if row = pairOf(t, "op.bin", bytes, "op.bin", half, func(o *conclude.Options) { o.Shape.NPUDType, o.Shape.RefDType = tensor.Float16, tensor.Float32 }); row.Status != record.Pass {
		t.Errorf("both raw: %s %v, want PASS", row.Status, row.Err)
	}
	if row = pairOf(t, "op.bin", bytes, "op.npy", array(tensor.Float16, tensor.Shape{6}, ramp(6)...), func(o *conclude.Options) { o.Shape.RefDType = tensor.Float32 }); row.Status != record.Pass {
		t.Errorf("raw reference: %s %v, want PASS", row.Status, row.Err)
	}
	if row = pairOf(t, "op.bin", bytes, "op.npy", array(tensor.Float16, tensor.Shape{6}, ramp(6)...), nil); row.Status != record.Error || !strings.Contains(row.Err.Error(), "--ref-dtype") {
		t.Errorf("raw reference: %s %v, want a hint at --ref-dtype", row.Status, row.Err)
	}
}

// TestMarks: failing rows keep their marks.
func TestMarks(t *testing.T) {
	ref, npu := array(tensor.Float32, tensor.Shape{2, 3}, ramp(6)...), array(tensor.Float32, tensor.Shape{6}, 1, 9, 3, 4, 5, 6)
	row := pairOf(t, "op.npy", ref, "op.npy", npu, func(o *conclude.Options) { o.Shape.Force, o.Shape.MaxElements = true, 4 })
	if row.Status != record.Fail || !row.Partial || !row.Forced {
		t.Errorf("%s, partial %v, forced %v; want a FAIL with both marks", row.Status, row.Partial, row.Forced)
	}
}

// TestGuessedOrder has a shape that fits every axis order: the comparison uses the order in which the tensors agree,
// and a note names the flag that confirms it.
func TestGuessedOrder(t *testing.T) {
	a := axes{1, 16, 1, 16, 16}
	device, data := deviceArray(tensor.NC1HWC0, a)
	shape, values := hostArray("NHWC", a)
	npu := dumpOf(t, "x", nil, []dumptest.TensorContent{dumped(tensor.Float16, tensor.NC1HWC0, device, nil, stored(tensor.Float16, data...))})
	row := pairOf(t, "x.npy", array(tensor.Float16, shape, values...), dumpName, npu, nil)
	if notes := fmt.Sprint(row.Notes); row.Status != record.Pass || !strings.Contains(notes, "--ref-format NHWC decides") {
		t.Errorf("%s %v, want PASS with a note about NHWC", row.Status, row.Notes)
	}

	// A few wrong elements do not change the order.
	values[3]++
	row = pairOf(t, "x.npy", array(tensor.Float16, shape, values...), dumpName, npu, nil)
	if notes := fmt.Sprint(row.Notes); row.Status != record.Fail || row.Errors != 1 || !strings.Contains(notes, "--ref-format NHWC decides") {
		t.Errorf("%s, %d errors, %v; want FAIL, 1 error and a note about NHWC", row.Status, row.Errors, row.Notes)
	}
}
