package recompute

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// poolByLoop computes a pool of images with one row axis and one column axis by loops: window size k, stride s,
// padding p, dilation d. A mean is divided by divisor unless it is 0, by the number of elements in the image if
// exclusive, else by the number of elements in the image and its padding.
func poolByLoop(in []float64, planes, height, width int, k, s, p, d [2]int, mean, exclusive bool, divisor float64) (out []float64, shape tensor.Shape) {
	rows, columns := (height+2*p[0]-d[0]*(k[0]-1)-1)/s[0]+1, (width+2*p[1]-d[1]*(k[1]-1)-1)/s[1]+1
	for plane := range planes {
		for i := range rows {
			for j := range columns {
				sum, largest, n := 0.0, math.Inf(-1), 0
				for a := range k[0] {
					for b := range k[1] {
						y, x := i*s[0]-p[0]+a*d[0], j*s[1]-p[1]+b*d[1]
						inside := y >= 0 && y < height && x >= 0 && x < width
						if inside {
							v := in[(plane*height+y)*width+x]
							sum, largest = sum+v, max(largest, v)
						}
						if inside || !exclusive && y < height+p[0] && x < width+p[1] {
							n++
						}
					}
				}
				switch {
				case !mean:
					out = append(out, largest)
				case divisor != 0:
					out = append(out, sum/divisor)
				default:
					out = append(out, sum/float64(n))
				}
			}
		}
	}
	return out, tensor.Shape{1, int64(planes), int64(rows), int64(columns)}
}

// TestPoolsByLoops compares pools with loops over the elements of each window.
func TestPoolsByLoops(t *testing.T) {
	t.Parallel()
	const planes, height, width = 2, 9, 7
	x := randomTensor(rand.New(rand.NewPCG(31, 1)), 1, 1, planes, height, width)
	for _, g := range []struct{ k, s, p, d [2]int }{
		{[2]int{2, 2}, [2]int{2, 2}, [2]int{0, 0}, [2]int{1, 1}},
		{[2]int{3, 2}, [2]int{2, 1}, [2]int{1, 1}, [2]int{1, 1}},
		{[2]int{3, 3}, [2]int{1, 2}, [2]int{1, 0}, [2]int{2, 1}},
		{[2]int{5, 3}, [2]int{3, 3}, [2]int{2, 1}, [2]int{1, 2}},
		{[2]int{9, 7}, [2]int{1, 1}, [2]int{0, 0}, [2]int{1, 1}},
	} {
		for _, exclusive := range []bool{false, true} {
			for _, divisor := range []float64{0, 5} {
				for _, formula := range []string{"MaxPool", "AvgPool"} {
					want, shape := poolByLoop(x.Source.(numbers).v, planes, height, width, g.k, g.s, g.p, g.d, formula == "AvgPool", exclusive, divisor)
					attrs := fmt.Sprintf("ksize=%d,%d strides=%d,%d pads=%d,%d dilations=%d,%d exclusive=%v divisor=%v", g.k[0], g.k[1], g.s[0], g.s[1], g.p[0], g.p[1], g.d[0], g.d[1], boolToFloat(exclusive), divisor)
					got := computedBy(t, formula, attrs, shape, x).Source.(numbers).v
					for i := range want {
						if math.Abs(got[i]-want[i]) > 1e-6 {
							t.Errorf("%s %s: element %d is %v, want %v", formula, attrs, i, got[i], want[i])
							break
						}
					}
				}
			}
		}
	}
}

// TestAdaptiveByLoop compares adaptive means with PyTorch's definition: output o of n is the mean of the elements of
// m from floor(o m / n) up to ceil((o+1) m / n).
func TestAdaptiveByLoop(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(32, 1))
	for _, c := range [][4]int64{{7, 5, 3, 2}, {4, 9, 4, 4}, {6, 6, 1, 1}, {3, 5, 7, 9}, {10, 8, 4, 8}} {
		in, out := tensor.Shape{1, 1, c[0], c[1]}, tensor.Shape{1, 1, c[2], c[3]}
		x := randomTensor(r, 1, in...)
		got := computedBy(t, "AdaptiveAvgPool", "", out, x).Source.(numbers).v
		bounds := func(o, m, n int64) (from, end int64) {
			return int64(math.Floor(float64(o*m) / float64(n))), int64(math.Ceil(float64((o+1)*m) / float64(n)))
		}
		for i := range c[2] {
			for j := range c[3] {
				top, bottom := bounds(i, c[0], c[2])
				left, right := bounds(j, c[1], c[3])
				sum := 0.0
				for y := top; y < bottom; y++ {
					for z := left; z < right; z++ {
						sum += x.Source.(numbers).v[y*c[1]+z]
					}
				}
				if want := sum / float64((bottom-top)*(right-left)); math.Abs(got[i*c[3]+j]-want) > 1e-6 {
					t.Errorf("%v to %v: (%d, %d) is %v, want %v", in, out, i, j, got[i*c[3]+j], want)
				}
			}
		}
	}
}

// TestGeometries: the geometries of an axis include each stride of up to 3, dilation of up to 2 and padding of up to
// half a window that gives the output by PyTorch's formula, floor((n + 2 p - d (k - 1) - 1) / s) + 1. They include
// none whose windows lie beyond the image, leave out a stride of it, or lie completely in the padding, except with stride 1
// and equal paddings.
func TestGeometries(t *testing.T) {
	for n := int64(1); n <= 12; n++ {
		for k := int64(1); k <= min(5, n); k++ {
			outputs := map[int64][]axisGeometry{}
			for s := int64(1); s <= 3; s++ {
				for d := int64(1); d <= 2 && (d == 1 || k > 1); d++ {
					for p := int64(0); p <= k/2; p++ {
						if rest := n + 2*p - d*(k-1) - 1; rest >= 0 {
							outputs[rest/s+1] = append(outputs[rest/s+1], axisGeometry{k, s, p, d})
						}
					}
				}
			}
			for out, wanted := range outputs {
				all := listGeometries(n, k, out, []int64{1, 2})
				for _, g := range wanted {
					if !slices.Contains(all, g) && (out > 1 || g.stride == 1) { // with one output the stride does not matter
						t.Errorf("%d elements, windows of %d, %d outputs: no steps, padding and distances %v among %v", n, k, out, g, all)
					}
				}
				for _, g := range all {
					first, last := -g.before, (out-1)*g.stride-g.before
					end := last + (k-1)*g.dilation // the last element of the last window
					isEven := g.stride == 1 && end == n-1+g.before
					if g.before > 0 && first+(k-1)*g.dilation < 0 && !isEven || !isEven && out > 1 && last >= n+g.before+g.stride || end < n-g.stride {
						t.Errorf("%d elements, windows of %d, %d outputs: %v reaches from %d to %d", n, k, out, g, first, end)
					}
				}
			}
		}
	}
}

// TestWindowFits: which numbers of outputs windows of 3 elements may give for 8 elements.
func TestWindowFits(t *testing.T) {
	for _, c := range []struct {
		stride, before, dilation, out int64
		want                          bool
	}{
		{1, 0, 1, 6, true}, {1, 1, 1, 8, true}, {2, 1, 1, 4, true}, {2, 0, 1, 4, true}, {2, 0, 1, 3, true},
		{1, 2, 1, 10, true},  // a window has at least one element in the image
		{1, 3, 1, 12, true},  // a whole window lies in the padding
		{1, -1, 1, 6, false}, // the padding is negative
		{0, 0, 1, 6, false},  // the stride is 0
		{1, 0, 0, 6, false},  // the dilation is 0
		{1, 0, 2, 4, true},   // 5 elements long
		{1, 0, 1, 5, false},  // a stride of the image is left out
		{1, 0, 1, 12, false}, // beyond the image
		{2, 0, 1, 2, false},  // the windows end at 5 of 8
		{3, 0, 1, 2, true},   // the windows end at 6 of 8: less than a stride is left
		{1, 4, 2, 12, true},  // 5 elements long
		{1, 5, 2, 14, true},  // a whole window lies in the padding
		{1, 3, 1, 14, false}, // the padding behind is longer
	} {
		w := window{stride: []int64{c.stride}, before: []int64{c.before}, dilation: []int64{c.dilation}, kernel: []int64{3}}
		if got := w.hasOutputCount(0, 8, c.out); got != c.want {
			t.Errorf("%+v: %t, want %t", c, got, c.want)
		}
	}
}

// TestReadWindow: the spellings of graphs and calls for the geometry of a 7x8 image with a 3x3 kernel. SAME pads to
// ceil(n / stride) outputs: for 8 with stride 2 the last window begins at 6 and one element is missing, for 7 it
// begins at 6 too and two are missing.
func TestReadWindow(t *testing.T) {
	t.Parallel()
	problemOf := func(out tensor.Shape) *problem {
		return &problem{Operator: &Operator{Inputs: []*Tensor{{Shape: tensor.Shape{1, 4, 7, 8}}, {Shape: tensor.Shape{5, 4, 3, 3}}}, Outputs: []*Tensor{{Shape: out}}}}
	}
	for _, c := range []struct {
		raw  string
		out  tensor.Shape
		want string // strides, pads, dilations
	}{
		{"strides=2 padding=1 dilation=1", tensor.Shape{1, 5, 4, 4}, "2,2 1,1 1,1"},
		{"stride=2,1 padding=1,0 dilation=1,2", tensor.Shape{1, 5, 4, 4}, "2,1 1,0 1,2"},
		{"strides=1,1,2,1 pads=1,1,0,1 dilations=1,1,1,3", tensor.Shape{1, 5, 4, 4}, "2,1 1,0 1,3"}, // pairs of pads
		{"strides=1,2,1,1 dilations=1,3,2,1 pads=0,0,0,0 data_format=NHWC", tensor.Shape{1, 5, 4, 4}, "2,1 0,0 3,2"},
		{"strides=2,2 dilations=1,1 padding=SAME", tensor.Shape{1, 5, 4, 4}, "2,2 1,0 1,1"},
		{"strides=2,2 dilations=1,1 padding=SAME_LOWER", tensor.Shape{1, 5, 4, 4}, "2,2 1,1 1,1"},
		{"strides=1,1 dilations=2,2 padding=same", tensor.Shape{1, 5, 7, 8}, "1,1 2,2 2,2"},
		{"strides=2,2 dilations=1,1 pad_mode=VALID", tensor.Shape{1, 5, 3, 3}, "2,2 0,0 1,1"},
		{"strides=2,2 dilations=1,1 pads=-1,-1,-1,-1", tensor.Shape{1, 5, 4, 4}, "2,2 1,0 1,1"},
	} {
		got := readWindow(problemOf(c.out), attributesOf(c.raw))
		if text := fmt.Sprint(got["strides"].Value, got["pads"].Value, got["dilations"].Value); text != c.want {
			t.Errorf("%s: %s, want %s", c.raw, text, c.want)
		}
	}
}

// TestReadPool: the spellings of graphs and calls for a pool over 6x6 images.
func TestReadPool(t *testing.T) {
	t.Parallel()
	p := &problem{Operator: &Operator{Inputs: []*Tensor{{Shape: tensor.Shape{1, 4, 6, 6}}}, Outputs: []*Tensor{{Shape: tensor.Shape{1, 4, 3, 3}}}}}
	for _, c := range []struct {
		raw    string
		source Source
		want   string // ksize, strides, pads, dilations, exclusive, divisor
	}{
		{"kernel_size=2 padding=0 count_include_pad=1", FromCall, "2,2|2,2|0,0|1,1|0|"}, // the stride of a call defaults to the window
		{"ksize=2,2", FromGraph, "2,2|||1,1||"},
		{"kernel_size=3 stride=2 padding=1 count_include_pad=0 divisor_override=7", FromCall, "3,3|2,2|1,1|1,1|1|7"},
		{"kernel_size=3 stride=2 padding=1 dilation=2", FromCall, "3,3|2,2|1,1|2,2||"},
		{"global_pooling=1", FromGraph, "6,6|1,1|0,0|1,1||"},
	} {
		raw := Attributes{}
		for name, a := range attributesOf(c.raw) {
			raw[name] = Attribute{a.Value, c.source}
		}
		var text []string
		got := readPool(p, raw)
		for _, name := range []string{"ksize", "strides", "pads", "dilations", "exclusive", "divisor"} {
			text = append(text, got[name].Value.String())
		}
		if got := strings.Join(text, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.raw, got, c.want)
		}
	}
}

// TestQuantise: x*scale + offset rounded to the nearest integer, halves either way, within the range of int8;
// sqrt_mode squares the scale.
func TestQuantise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attrs string
		out   []float64
		want  Status
	}{
		{"scale=4 offset=1 sqrt_mode=0", []float64{5, -7, 2, 127, -128, 1}, OK},
		{"scale=2 offset=1 sqrt_mode=1", []float64{5, -7, 2, 127, -128, 1}, OK},
		{"scale=4 offset=1 sqrt_mode=0", []float64{5, -7, 3, 127, -128, 1}, OK}, // .375 x 4 + 1 is 2.5
		{"scale=4 offset=1 sqrt_mode=0 round_mode=round", []float64{6, -7, 2, 127, -128, 1}, Wrong},
		{"scale=4 offset=1 sqrt_mode=0", []float64{5, -7, 2, -128, -128, 1}, Wrong}, // no wrap-around
	} {
		x := tensorOf(t, "6", 1, -2, .375, 90, -90, .01)
		y := &Tensor{DType: tensor.Int8, Stored: tensor.Int8, Shape: tensor.Shape{6}, Source: int8s(c.out)}
		v, err := Judge(context.Background(), &Operator{Formula: "AscendQuant", Inputs: []*Tensor{x}, Outputs: []*Tensor{y}, Attributes: attributesOf(c.attrs), Fused: new(bool)})
		if err != nil || v.Status != c.want {
			t.Errorf("%s gives %v: %s %s, %v, want %s", c.attrs, c.out, v.Status, v.Reason, err, c.want)
		}
	}
}

// int8s is a source of int8 elements.
type int8s []float64

// ReadElements implements layout.Source.
func (x int8s) ReadElements(dst []byte, first int64) error {
	for i := range dst {
		dst[i] = byte(int8(x[first+int64(i)]))
	}
	return nil
}
