package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
)

// decoded draws a picture and decodes it.
func decoded(t testing.TB, name string, p *metrics.Pictures) map[string]*image.Paletted {
	t.Helper()
	files, err := Draw(name, p)
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]*image.Paletted{}
	for i, f := range files {
		if f.Suffix != Suffixes()[i] {
			t.Errorf("file %d is %s", i, f.Suffix)
		}
		m, err := png.Decode(bytes.NewReader(f.PNG))
		if err != nil {
			t.Fatal(err)
		}
		images[f.Suffix] = m.(*image.Paletted)
	}
	return images
}

// bins returns counts in a grid.
func bins(g metrics.Grid, counts ...int64) metrics.Bins {
	b := metrics.NewBins(g)
	b.Counts = counts
	return b
}

// sides returns counts of both sides in a grid.
func sides(g metrics.Grid, ref, npu []int64) metrics.SideBins {
	s := metrics.NewSideBins(g)
	s.Ref, s.NPU = ref, npu
	return s
}

// between returns the edges of bins.
func between(low, high float64) metrics.Edges {
	g := metrics.Grid{Low: low, High: high, Count: 1}
	return g.Edges()
}

// uniform returns pictures of n errors of random sizes.
func uniform(n int) *metrics.Pictures {
	random := rand.New(rand.NewPCG(1, 2))
	p := &metrics.Pictures{
		Total: int64(4 * n), Errors: int64(n), Sample: &metrics.ErrorSample{Every: 1, NonFinite: make([]byte, metrics.Marks/8), RunLength: int64(n/256 + 1)},
		Diff:   metrics.ErrorBins{Abs: bins(metrics.Grid{Low: 1, High: 2, Count: 4}, 1, 10, 100, 0), Rel: bins(metrics.Grid{Low: 1e-3, High: 1e3, Count: 2, Log: true}, 5, 5)},
		Values: sides(metrics.Grid{Low: -1, High: 1, Count: 2}, []int64{9, 99}, []int64{99, 0}),
	}
	for i := range n {
		p.Sample.Errors = append(p.Sample.Errors, metrics.SampledError{Offset: int64(4 * i), Abs: 1 + random.Float64(), Rel: math.Pow(10, 6*random.Float64()-3)})
	}
	return p
}

// columnHeight counts the pixels of a colour in a column.
func columnHeight(m *image.Paletted, x int, c color.Color) (n int) {
	for y := range m.Rect.Max.Y {
		if m.At(x, y) == c {
			n++
		}
	}
	return n
}

// TestBars compares the heights of bars with log10(count+1).
func TestBars(t *testing.T) {
	m := decoded(t, "conv", uniform(3))[ErrorBinsSuffix]
	bar := color.Color(red.shade(10))
	upper := m.SubImage(image.Rect(0, 0, width, tall/2)).(*image.Paletted)
	left, right := width, 0
	for x := range width {
		if columnHeight(upper, x, bar) > 0 {
			left, right = min(left, x), x
		}
	}
	each := float64(right-left+2) / 3 // the fourth bin is empty
	var heights []int
	for i := range 3 {
		heights = append(heights, columnHeight(upper, left+int((float64(i)+0.5)*each), bar))
	}
	for i, n := range []float64{1, 10, 100} {
		want := float64(heights[2]) * math.Log10(n+1) / math.Log10(101)
		if heights[2] < 100 || math.Abs(float64(heights[i])-want) > 2 {
			t.Errorf("%g errors are %d high of %v, want %.1f", n, heights[i], heights, want)
		}
	}
}

// TestDots finds each of a few errors as a dot at its place.
func TestDots(t *testing.T) {
	p := uniform(2)
	p.Total, p.Sample.RunLength = 100, 1
	p.Diff.Abs.Edges = between(1, 1000)
	p.Sample.Errors = []metrics.SampledError{{Offset: 0, Abs: 1000, Rel: math.NaN()}, {Offset: 50, Abs: 1, Rel: 1}}
	p.Sample.NonFinite[75/8] |= 1 << (75 % 8)
	m := decoded(t, "conv", p)[ErrorsSuffix]
	upper := image.Rect(0, 60, width, tall/2-20)
	dots := map[image.Point]bool{}
	left, right := width, 0
	for y := upper.Min.Y; y < upper.Max.Y; y++ {
		for x := range width {
			if m.At(x, y) == color.Color(red.full()) {
				dots[image.Pt(x, y)] = true
				left, right = min(left, x), max(right, x)
			}
		}
	}
	// The second dot is half way to the right, on the axis; the first dot is at the top.
	if len(dots) < 20 || right-left < 400 || right-left > 460 {
		t.Errorf("%d red pixels from %d to %d", len(dots), left, right)
	}
	marked := 0
	for x := left + 600; x < left+700; x++ {
		if m.At(x, 75) == color.Color(ink.full()) {
			marked++
		}
	}
	if marked != 1 {
		t.Errorf("%d marks of what is not finite", marked)
	}
}

// TestDrawEverything draws unusual inputs: the output is a PNG in the palette, and the same bytes
// each time.
func TestDrawEverything(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	odd := func(change func(p *metrics.Pictures)) *metrics.Pictures {
		p := uniform(5)
		change(p)
		return p
	}
	cases := map[string]*metrics.Pictures{
		"empty": {Sample: &metrics.ErrorSample{Every: 1, RunLength: 1, NonFinite: make([]byte, metrics.Marks/8)}},
		"one":   odd(func(p *metrics.Pictures) { p.Sample.Errors, p.Total = p.Sample.Errors[:1], 1 }),
		"many":  uniform(16128),
		"all":   odd(func(p *metrics.Pictures) { p.Total = math.MaxInt64; p.Sample.RunLength = math.MaxInt64/1024 + 1 }),
		"one value": odd(func(p *metrics.Pictures) {
			p.Values = sides(metrics.Grid{Low: 3, High: 3, Count: 1}, []int64{5}, []int64{5})
			p.Diff.Abs = bins(p.Values.Grid(), math.MaxInt64)
		}),
		"infinite": odd(func(p *metrics.Pictures) {
			for i := range p.Sample.Errors {
				p.Sample.Errors[i].Abs, p.Sample.Errors[i].Rel = inf, inf
			}
			p.Diff.Abs = bins(metrics.Grid{Low: math.MaxFloat64, High: math.MaxFloat64, Count: 1}, 5)
		}),
		"undefined": odd(func(p *metrics.Pictures) {
			for i := range p.Sample.Errors {
				p.Sample.Errors[i].Rel = nan
			}
			p.Diff.Rel = metrics.Bins{}
		}),
		"zero ratios": odd(func(p *metrics.Pictures) {
			p.Sample.Errors[0].Rel = 0
			p.Diff.Rel = bins(metrics.Grid{Count: 1}, 5)
		}),
		"largest": odd(func(p *metrics.Pictures) {
			p.Values.Edges = between(-math.MaxFloat64, math.MaxFloat64)
			p.Diff.Abs.Edges, p.Diff.Abs.Log = between(5e-324, math.MaxFloat64), true
			p.Sample.Errors[0].Abs, p.Sample.Errors[1].Abs = 5e-324, math.MaxFloat64
		}),
		"subnormal": odd(func(p *metrics.Pictures) { p.Values.Edges = between(0, 1e-322) }),
		"close":     odd(func(p *metrics.Pictures) { p.Values.Edges = between(1, math.Nextafter(1, 2)) }),
		"narrow":    odd(func(p *metrics.Pictures) { p.Values.Edges = between(1e6, 1e6+1e-3) }),
		"many bins": odd(func(p *metrics.Pictures) {
			p.Values.Ref, p.Values.NPU = make([]int64, 1000), make([]int64, 1000)
		}),
		strings.Repeat("very/long name, ", 40):               uniform(3),
		"卷积 \x1b[31m\u202e\xff<script>\n\U0001f600" + "\"'&": uniform(3),
	}
	for name, p := range cases {
		t.Run(name, func(t *testing.T) {
			first, err := Draw(name, p)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Draw(name, p)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range first {
				if !bytes.Equal(f.PNG, again[i].PNG) {
					t.Errorf("%s: other bytes the second time", f.Suffix)
				}
			}
			for suffix, m := range decoded(t, name, p) {
				want := image.Rect(0, 0, width, tall)
				if suffix == ValuesSuffix {
					want.Max.Y = low
				}
				if m.Rect != want || len(m.Palette) != int(ramps)*shades {
					t.Errorf("%s: %v, %d colours", suffix, m.Rect, len(m.Palette))
				}
				for x := range width { // nothing is outside the plot
					for _, y := range []int{0, 1, m.Rect.Max.Y - 1} {
						if m.At(x, y) != color.Color(ink.shade(0)) {
							t.Fatalf("%s: something at %d, %d", suffix, x, y)
						}
					}
				}
			}
		})
	}
}

func TestTexts(t *testing.T) {
	for _, c := range [][2]string{
		{escape("conv1/a b~"), "conv1/a b~"},
		{escape("卷积\n\u202e\U0001f600\xff"), `\u5377\u79EF\u000A\u202E\U0001F600\uFFFD`},
		{shortenLabel("abcdefghij", 10), "abcdefghij"},
		{shortenLabel("abcdefghijk", 10), "abcd...ijk"},
		{ordinal(2), "2nd"}, {ordinal(3), "3rd"}, {ordinal(11), "11th"}, {ordinal(21), "21st"}, {ordinal(113), "113th"},
		{axisNumber(0, 3), "0"}, {axisNumber(-0.25, 2), "-0.25"}, {axisNumber(5000, 2), "5000"}, {axisNumber(1e7, 2), "1e+07"}, {axisNumber(2e-5, 2), "2e-05"},
		{panelCaption("a", "", "b", countText(0, "%d c"), countText(3, "%d d")), "a   b   3 d"},
		{errorsText(&metrics.Pictures{Total: 300, Errors: 1}), "1 of 300 elements are errors (0.333 %)"},
		{errorsText(new(metrics.Pictures)), "0 of 0 elements are errors (0 %)"},
		{fmt.Sprint(linear(0, 3000)), "[{0 0} {0.16666666666666666 500} {0.3333333333333333 1000} {0.5 1500} {0.6666666666666666 2000} {0.8333333333333334 2500} {1 3000}]"},
		{fmt.Sprint(linear(2, 2)), "[{0.5 2}]"},
		{fmt.Sprint(decades(-3, 1)), "[{0 1e-3} {0.25 1e-2} {0.5 1e-1} {0.75 1e0} {1 1e1}]"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

func TestDecades(t *testing.T) {
	for _, c := range []struct{ smallest, largest, bottom, top float64 }{
		{0.02, 30, -2, 2}, {1, 1, -1, 0}, {100, 1000, 2, 3}, {1e-20, 5, -8, 1}, {0, 5, -8, 1}, {5e-324, 5e-324, -324, -323}, {1, math.MaxFloat64, 300, 309},
	} {
		if bottom, top := decadesOf(c.smallest, c.largest); bottom != c.bottom || top != c.top {
			t.Errorf("%g to %g: 1e%g to 1e%g, want 1e%g to 1e%g", c.smallest, c.largest, bottom, top, c.bottom, c.top)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{10, 5000, 16000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := uniform(n)
			for b.Loop() {
				if _, err := Draw("conv", p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
