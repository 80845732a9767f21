package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// convTranspose is a transposed convolution as a product: rows are pixels of the output, parts are groups, columns
// are filters. Weights have the shape (input channels, output channels of a group, kernel).
func convTranspose(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	axes := len(x) - 2
	if axes < 1 || axes > maxSpatial || len(w) != len(x) || len(out) != len(x) || w[1] == 0 || out[1]%w[1] != 0 || x[1] != w[0] || x[0] != out[0] {
		return nil, lang.Say("weights of shape %s for %s", w, x)
	}
	groups := out[1] / w[1]
	if g, ok := h["groups"].Value.Number(); ok && int64(g) != groups || groups == 0 || x[1]%groups != 0 {
		return nil, lang.Say("groups and shapes do not fit")
	}
	g, ok := windowOf(h, w[2:])
	if !ok {
		return nil, lang.Say("%s for weights of shape %s", h.geometry(), w)
	}
	for k := range axes {
		if extra := out[2+k] - g.transposedSize(k, x[2+k]); g.stride[k] < 1 || g.dilation[k] < 1 || g.before[k] < 0 || extra < 0 || extra >= max(g.stride[k], g.dilation[k]) {
			return nil, lang.Say("%s cannot produce %s from %s", h.geometry(), out, x)
		}
	}
	pixels, size, channels := out[2:].Elements(), w[2:].Elements(), x[1]/groups
	l := &linear{parts: groups, rows: x[0] * pixels, k: channels * size, n: w[1], byColumn: true}
	image, weights := p.cached(p.Inputs[0]), p.cached(p.Inputs[1])
	l.left = func(part, row int64, dst []float64) error {
		return g.transposedPatch(image, x, (row/pixels*x[1]+part*channels)*x[2:].Elements(), channels, out[2:].Coordinates(row%pixels), dst)
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		all := make([]float64, 0, (to-from)*l.k)
		for c := from; c < to; c++ {
			for in := part * channels; in < (part+1)*channels; in++ {
				v, err := weights.readRun((in*w[1]+c)*size, size)
				if err != nil {
					return nil, err
				}
				all = append(all, v...)
			}
		}
		return all, nil
	}
	l.offset = func(part, row, column int64) int64 {
		return (row/pixels*out[1]+part*l.n+column)*pixels + row%pixels
	}
	l.edgeRows, l.adjacentRows = cornerOffsets(out[2:]), pixels
	return l, l.addExtras(p)
}

// transposedSize is the length of an axis of the output for n input elements, without output padding.
func (w *window) transposedSize(axis int, n int64) int64 {
	return (n-1)*w.stride[axis] - 2*w.before[axis] + w.extent(axis)
}

// transposedPatch sets dst to the input elements that contribute to an output pixel, by channel and position in the
// kernel; 0 in the gaps of the stride.
func (w *window) transposedPatch(image *cachedTensor, x tensor.Shape, base, channels int64, at []int64, dst []float64) error {
	size, kernel, strides := x[2:].Elements(), tensor.Shape(w.kernel), x[2:].Strides()
	offsets := make([]int64, kernel.Elements())
	for i := range offsets {
		for k, q := range kernel.Coordinates(int64(i)) {
			place := at[k] + w.before[k] - q*w.dilation[k]
			if place < 0 || place%w.stride[k] != 0 || place/w.stride[k] >= x[2+k] {
				offsets[i] = -1
				break
			}
			offsets[i] += place / w.stride[k] * strides[k]
		}
	}
	for c := range channels {
		for i, o := range offsets {
			to := &dst[c*int64(len(offsets))+int64(i)]
			if *to = 0; o < 0 {
				continue
			}
			v, err := image.readRun(base+c*size+o, 1)
			if err != nil {
				return err
			}
			*to = v[0]
		}
	}
	return nil
}

// transposedGeometry lists the geometries that give the output's shape, the same for all axes.
var transposedGeometry = closedAttribute("strides pads dilations", func(p *problem) (all []Attributes) {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	if len(x) < 3 || len(w) != len(x) || len(out) != len(x) {
		return nil
	}
	axes := len(x) - 2
	for s := int64(1); s <= maxStride; s++ {
		for before := range w[2] {
			same := func(n int64) Attribute { return Attribute{integers(slices.Repeat([]int64{n}, axes)...), FromShape} }
			h := Attributes{"strides": same(s), "pads": same(before), "dilations": same(1)}
			if _, why := convTranspose(p, h); why.IsZero() {
				all = append(all, h)
			}
		}
	}
	return all
})

// convFilterGrad is the gradient of convolution weights as a product: rows are filters, columns are channels and
// kernel positions, and the sum runs over the pixels of all images.
func convFilterGrad(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, dy, w := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	axes := len(x) - 2
	if axes < 1 || axes > maxSpatial || len(w) != len(x) || len(dy) != len(x) || w[1] == 0 || x[1]%w[1] != 0 || dy[1] != w[0] || x[0] != dy[0] {
		return nil, lang.Say("gradients of shape %s for images of %s and weights of %s", dy, x, w)
	}
	groups := x[1] / w[1]
	g, ok := windowOf(h, w[2:])
	if !ok || w[0]%groups != 0 {
		return nil, lang.Say("%s for weights of shape %s", h.geometry(), w)
	}
	for k := range axes {
		if !g.hasOutputCount(k, x[2+k], dy[2+k]) {
			return nil, lang.Say("%s cannot produce %s from %s", h.geometry(), dy, x)
		}
	}
	pixels, size := dy[2:].Elements(), w[2:].Elements()
	l := &linear{parts: groups, rows: w[0] / groups, k: x[0] * pixels, n: w[1] * size, byColumn: true}
	image, grads := p.cached(p.Inputs[0]), p.cached(p.Inputs[1])
	l.left = func(part, row int64, dst []float64) error {
		for n := range x[0] {
			v, err := grads.readRun((n*dy[1]+part*l.rows+row)*pixels, pixels)
			if err != nil {
				return err
			}
			copy(dst[n*pixels:], v)
		}
		return nil
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		all := make([]float64, 0, (to-from)*l.k)
		one := make([]float64, size)
		for column := from; column < to; column++ {
			for n := range x[0] {
				base := (n*x[1] + part*w[1] + column/size) * x[2:].Elements()
				for i := range pixels {
					if err := g.patch(image, x, base, 1, dy[2:].Coordinates(i), one); err != nil {
						return nil, err
					}
					all = append(all, one[column%size])
				}
			}
		}
		return all, nil
	}
	l.offset = func(part, row, column int64) int64 { return (part*l.rows+row)*l.n + column }
	return l, lang.Sentence{}
}

// filterGradGeometry lists the geometries of the convolution whose weights have the gradient.
var filterGradGeometry = closedAttribute("strides pads dilations", func(p *problem) []Attributes {
	x, dy, w := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	if len(x) < 3 || len(x)-2 > maxSpatial || len(w) != len(x) || len(dy) != len(x) {
		return nil
	}
	return p.listConvWindows(x[2:], w[2:], dy[2:], []int64{1, 2})
})

// resizes are the formulas of operators that change the number of pixels, that view a tensor as overlapping windows,
// or that read or write diagonals.
var resizes = []formula{
	{name: "Interpolate", class: Plain, noise: unbounded, inputs: "x", cut: planeCut, compute: oneOutput(interpolate), attrs: []attribute{
		textAttribute("mode", "nearest linear nearest-exact cubic"),
		flagAttribute("align_corners", false), flagAttribute("half_pixel_centers", true), scales}, forms: []nameGroup{newNameGroup("ResizeBilinearV2 ResizeBilinearV2D", "x -? :mode=linear"), newNameGroup("ResizeNearestNeighborV2 ResizeNearestNeighborV2D", "x -? :mode=nearest"), newNameGroup("interpolate upsample", "size:- scale_factor:scales mode=nearest align_corners=0 recompute_scale_factor:-==0 :half_pixel_centers=1 antialias:-==0", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("interpolate", "size:- scale_factor:- mode=nearest align_corners=0 recompute_scale_factor:-==1 :half_pixel_centers=1 antialias:-==0", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("upsample_bilinear", "size:- scale_factor:scales :mode=linear :align_corners=1"), newNameGroup("upsample_nearest", "size:- scale_factor:scales :mode=nearest"), newNameGroup("upsample_nearest1d upsample_nearest2d upsample_nearest3d", "output_size:- scales:- scales_w:- :mode=nearest"), newNameGroup("upsample_linear1d upsample_bilinear2d upsample_trilinear3d", "output_size:- align_corners scales:- scales_w:- :mode=linear :half_pixel_centers=1"), newNameGroup("nn.Upsample", "", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("nn.UpsamplingNearest2d nn.UpsamplingBilinear2d", "")}},
	{name: "GridSampler2D", class: Plain, noise: unbounded, inputs: "x grid", cut: uncut, compute: oneOutput(gridSample), attrs: []attribute{
		textAttribute("interpolation_mode", "bilinear nearest bicubic"), textAttribute("padding_mode", "zeros border reflection"), flagAttribute("align_corners", false)},
		forms: []nameGroup{newNameGroup("GridSampler2D GridSampler3D", "?interpolation_mode=bilinear ?padding_mode=zeros ?align_corners=0"), newNameGroup("grid_sampler grid_sampler_2d", "grid! interpolation_mode:-==0 padding_mode:-==0 align_corners :interpolation_mode=bilinear :padding_mode=zeros"), newNameGroup("grid_sample", "grid! mode:interpolation_mode=bilinear padding_mode=zeros align_corners=0")}},
	{name: "Im2col", class: Move, inputs: "x", cut: uncut, compute: oneOutput(im2col), read: readPairs, attrs: []attribute{blocksGeometry}, forms: []nameGroup{newNameGroup("nn.Unfold", ""), newNameGroup("Im2col", ""), newNameGroup("im2col", "kernel_size:ksize dilation padding stride"), newNameGroup("unfold", "kernel_size:ksize dilation=1 padding=0 stride=1", copies)}},
	{name: "Col2im", class: Reduced, noise: &optype.Type{Noise: optype.NoiseMove}, inputs: "x", cut: uncut, compute: oneOutput(col2im), read: readPairs, attrs: []attribute{blocksGeometry}, forms: []nameGroup{newNameGroup("nn.Fold", ""),
		newNameGroup("fold col2im", "output_size:- kernel_size:ksize dilation=1 padding=0 stride=1")}},
	{name: "Diagonal", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(diagonalView), attrs: []attribute{defaultNumber("offset", 0), defaultNumber("dim1", 0), defaultNumber("dim2", 1)}, forms: []nameGroup{newNameGroup("diagonal", "offset=0 dim1=0 dim2=1", &optype.Type{Noise: optype.NoiseMove})}},
}

// scales are the factors of an image's axes: none, so that they follow from the sizes, or one factor for all axes, the
// quotient of small integers, whose products with the sizes are rounded down to the sizes of the output.
var scales = closedAttribute("scales", func(p *problem) []Attributes {
	const largestDenominator = 20
	all := []Attributes{{"scales": {Numbers(), FromDefault}}}
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(x) != len(out) || len(x) < 3 {
		return all
	}
	least := 0.0
	for k := 2; k < len(x); k++ {
		least = max(least, float64(out[k])/float64(x[k]))
	}
	tried := map[float64]bool{}
	for q := 1.0; q <= largestDenominator; q++ {
		scale, fits, exact := math.Ceil(float64(least*q)-1e-9)/q, true, true
		for k := 2; k < len(x); k++ {
			size := float64(float64(x[k])*scale) + 1e-9
			fits = fits && int64(size) == out[k]
			exact = exact && size-float64(out[k]) < 1e-6
		}
		if fits && !exact && !tried[scale] {
			all, tried[scale] = append(all, Attributes{"scales": {Numbers(scale), FromValues}}), true
		}
	}
	return all
})

// readPairs repeats a single number of a window for both axes of an image.
func readPairs(_ *problem, raw Attributes) Attributes {
	all := raw.merge(nil)
	for to, name := range map[string]string{"ksize": "ksize", "strides": "stride", "pads": "padding", "dilations": "dilation"} {
		a, ok := raw[name]
		if v, whole := a.Value.Integers(); ok && whole && len(v) == 1 {
			a.Value = integers(v[0], v[0])
		}
		if ok {
			all[to] = a
		}
	}
	return all
}

// diagonalView returns a view of a diagonal of two axes, along a new last axis.
func diagonalView(p *problem, h Attributes) (view, lang.Sentence) {
	x := p.Inputs[0].Shape
	offset, ok := integerAttribute(h, "offset")
	first, has := integerAttribute(h, "dim1")
	second, too := integerAttribute(h, "dim2")
	i, j := normaliseAxis(first, len(x)), normaliseAxis(second, len(x))
	if !ok || !has || !too || min(i, j) < 0 || max(i, j) >= len(x) || i == j {
		return view{}, lang.Say("a diagonal of axes %d and %d of shape %s", first, second, x)
	}
	strides := x.Strides()
	n := min(x[i], x[j]-offset)
	if offset < 0 {
		n = min(x[i]+offset, x[j])
	}
	v := view{shape: tensor.Shape{}, strides: []int64{}, offset: max(0, offset)*strides[j] + max(0, -offset)*strides[i]}
	for k := range x {
		if k != i && k != j {
			v.shape, v.strides = append(v.shape, x[k]), append(v.strides, strides[k])
		}
	}
	v.shape, v.strides = append(v.shape, max(0, n)), append(v.strides, strides[i]+strides[j])
	return v, lang.Sentence{}
}

// im2col returns the elements of all windows: channels and kernel positions are one axis, windows the last axis.
func im2col(c *call) *Array {
	x := c.input(0)
	shape, source := c.blockElements(x.shape)
	if c.err != nil {
		return x
	}
	return x.gatherFrom(shape, 0, source)
}

// col2im adds the elements of all windows at their pixels: the adjoint of im2col.
func col2im(c *call) *Array {
	x := c.input(0)
	shape, source := c.blockElements(c.shapes[0])
	if c.err != nil || len(x.v) != int(shape.Elements()) {
		return c.fail("windows of shape %s for images of shape %s", x.shape, c.shapes[0])
	}
	var from, to []int
	for i := range x.v {
		if place := source(i); place >= 0 {
			from, to = append(from, i), append(to, place)
		}
	}
	inside := x.gatherFrom(tensor.Shape{int64(len(from))}, 0, func(i int) int { return from[i] })
	return c.scatter(c.number(0).expand(c.shapes[0]), to, inside, true)
}

// blockElements returns the shape of the windows of an image by im2col, and the offset in the image of each of their
// elements, -1 for an element outside.
func (c *call) blockElements(image tensor.Shape) (shape tensor.Shape, source func(i int) int) {
	kernel := c.attrs["ksize"]
	k, _ := kernel.Value.Integers()
	w, ok := windowOf(c.attrs, k)
	var count tensor.Shape
	if ok {
		count = w.blockCounts(image)
	}
	if c.err != nil || count == nil {
		c.fail("ksize %s, %s for images of shape %s", kernel.Value, c.attrs.geometry(), image)
		return nil, nil
	}
	size, windows, plane := k[0]*k[1], count.Elements(), image[2:].Elements()
	shape = tensor.Shape{image[0], image[1] * size, windows}
	if c.isTooLarge(shape) {
		return nil, nil
	}
	return shape, func(i int) int {
		at, rest := int64(i)%windows, int64(i)/windows
		q, channel := rest%size, rest/size
		place := count.Coordinates(at)
		y := place[0]*w.stride[0] - w.before[0] + q/k[1]*w.dilation[0]
		z := place[1]*w.stride[1] - w.before[1] + q%k[1]*w.dilation[1]
		if y < 0 || z < 0 || y >= image[2] || z >= image[3] {
			return -1
		}
		return int(channel*plane + y*image[3] + z)
	}
}

// blockCounts returns the number of windows along both axes of an image, nil if they do not fit.
func (w *window) blockCounts(image tensor.Shape) tensor.Shape {
	if len(image) != 4 || len(w.kernel) != 2 {
		return nil
	}
	count := make(tensor.Shape, 2)
	for i := range count {
		if w.stride[i] < 1 || w.dilation[i] < 1 || w.extent(i) > image[2+i]+2*w.before[i] {
			return nil
		}
		count[i] = (image[2+i]+2*w.before[i]-w.extent(i))/w.stride[i] + 1
	}
	return count
}

// blocksGeometry lists the geometries of im2col and its adjoint, with the same stride, padding and dilation for both
// axes: the image has four axes, the windows three.
var blocksGeometry = closedAttribute("ksize strides pads dilations", func(p *problem) (all []Attributes) {
	image, windows := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(image) == 3 {
		image, windows = windows, image
	}
	if len(image) != 4 || len(windows) != 3 || image[1] == 0 || windows[1]%image[1] != 0 {
		return nil
	}
	size := windows[1] / image[1]
	same := func(n int64) Attribute { return Attribute{integers(n, n), FromValues} }
	for height := int64(1); height <= min(size, maxBlock); height++ {
		for before := range height/2 + 1 {
			for n := range int64(2 * maxStride) {
				w := window{[]int64{n%maxStride + 1, n%maxStride + 1}, []int64{before, before}, []int64{n/maxStride + 1, n/maxStride + 1}, []int64{height, size / height}, nil}
				if count := w.blockCounts(image); size%height == 0 && count != nil && count.Elements() == windows[2] && len(all) < maxHypotheses {
					all = append(all, Attributes{"ksize": {integers(w.kernel...), FromValues}, "strides": same(w.stride[0]), "pads": same(before), "dilations": same(w.dilation[0])})
				}
			}
		}
	}
	return all
})
