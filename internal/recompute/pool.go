package recompute

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// planeCut is the cutter along images and channels.
func planeCut(p *problem, _ Attributes) *cutRule {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if axes := len(x) - 2; axes < 1 || axes > maxSpatial {
		return misfit("shape %s: want 1 to %d axes after the axes of images and channels", x, maxSpatial)
	}
	if len(out) != len(x) || x[0] != out[0] || x[1] != out[1] {
		return misfit("the output has the shape %s, the input %s", out, x)
	}
	c := wholeTensors(p)
	for i, t := range p.Outputs { // CANN packs the indices of MaxPoolWithArgmax as bits
		if !t.Shape.Equal(out) {
			c.out = c.out[:i]
			break
		}
	}
	for k := range 2 {
		in := append([]span{{axis: k}}, slices.Repeat([]span{{axis: -1}}, len(p.Inputs)-1)...) // the first input only
		c.free = append(c.free, freeAxis{size: x[k], in: in, out: slices.Repeat([]span{{axis: k}}, len(c.out))})
	}
	return c
}

// windows are windows over the planes of x. under returns the index in the plane, along an axis, of element q of
// window o; fill replaces elements outside of the plane.
type windows struct {
	x       *Array
	kernel  []int64
	fill    float64
	indexOf func(axis int, o, q int64) int64
}

// reduceWindows computes one element of each window, a few windows at a time. each, unless nil, is called for windows
// first to first+n-1 with the offsets of their elements in a plane, -1 for elements outside.
func (c *call) reduceWindows(w *windows, f func(below *Array) *Array, each func(below, one *Array, first, n int64, places []int)) *Array {
	planes, positions, size := w.x.shape[:2], c.shapes[0][2:].Elements(), tensor.Shape(w.kernel).Elements()
	z := c.array(slices.Concat(planes, tensor.Shape{positions, 1}))
	step := max(1, cellElements/max(1, planes.Elements()*size))
	for first := int64(0); first < positions && !c.isStopped(); first += step {
		n, mark := min(step, positions-first), c.mark()
		below, places := w.readPatches(c.shapes[0][2:], first, n)
		one := f(below)
		if each != nil && c.err == nil {
			each(below, one, first, n, places)
		}
		a, b := one.errorBounds()
		for p := range planes.Elements() {
			to, from := p*positions+first, p*n
			copy(z.v[to:], one.v[from:][:n])
			copy(z.narrow[to:], a[from:][:n])
			copy(z.wide[to:], b[from:][:n])
		}
		c.release(mark)
	}
	return z
}

// readPatches returns the elements of windows first to first+n-1 and their offsets in a plane; out is the shape of all
// windows.
func (w *windows) readPatches(out tensor.Shape, first, n int64) (*Array, []int) {
	in, size := w.x.shape[2:], tensor.Shape(w.kernel).Elements()
	from, strides := make([]int, 0, n*size), in.Strides()
	for i := range n {
		at := out.Coordinates(first + i)
		for j := range size {
			offset, rest := int64(0), j
			for k := len(w.kernel) - 1; k >= 0; k-- {
				place := w.indexOf(k, at[k], rest%w.kernel[k])
				if rest /= w.kernel[k]; place < 0 || place >= in[k] {
					offset = -1
					break
				}
				offset += place * strides[k]
			}
			from = append(from, int(offset))
		}
	}
	plane := int(in.Elements())
	return w.x.gatherFrom(slices.Concat(w.x.shape[:2], tensor.Shape{n, size}), w.fill, func(i int) int {
		p, k := i/len(from), from[i%len(from)]
		if k < 0 {
			return -1
		}
		return p*plane + k
	}), from
}

const (
	// maxSpatial is the largest number of axes of a window, as in conv3d and pool3d.
	maxSpatial = 3
	// maxPatchElements limits the elements of all windows of an image together, maxElements the elements of one
	// window.
	maxPatchElements = 1 << 28
)

// largestInWindows returns the largest element of each window and, if the NPU has them, its offset in the plane of x:
// the NPU's offset if an equal element of the window is there, else the first one.
func (c *call) largestInWindows(w *windows) []*Array {
	if len(c.got) < 2 {
		return []*Array{c.reduceWindows(w, func(below *Array) *Array { return below.largest(3) }, nil).reshape(c.shapes[0]...)}
	}
	positions, at := int(c.shapes[0][2:].Elements()), c.exactArray(c.shapes[0], c.alloc(int(c.shapes[0].Elements())))
	z := c.reduceWindows(w, func(below *Array) *Array { return below.largest(3) }, func(below, one *Array, first, n int64, places []int) {
		size := len(places) / int(n)
		for i := range one.v {
			plane, window := i/int(n), i%int(n)
			to, found := plane*positions+int(first)+window, -1.
			for q, place := range places[window*size:][:size] {
				if isBest := place >= 0 && compareNumbers(below.v[i*size+q], one.v[i]) == 0; isBest && (found < 0 || float64(place) == c.got[1].v[to]) {
					found = float64(place)
				}
			}
			at.v[to] = found
		}
	})
	return []*Array{z.reshape(c.shapes[0]...), at}
}

// pool returns the largest element or the mean of each window.
func (c *call) pool(mean bool) []*Array {
	x, kernel := c.input(0), c.attrs["ksize"]
	k, _ := kernel.Value.Integers()
	w, ok := windowOf(c.attrs, k)
	if c.err != nil || !ok || len(k) != len(x.shape)-2 {
		return []*Array{c.fail("ksize %s, %s for images of shape %s", kernel.Value, c.attrs.geometry(), x.shape)}
	}
	in, out := x.shape[2:], c.shapes[0][2:]
	for i := range k {
		if k[i] < 1 || w.extent(i) > in[i]+2*w.before[i]+1 || !w.hasOutputCount(i, in[i], out[i]) {
			return []*Array{c.fail("ksize %s, %s do not make images of %s of %s", kernel.Value, c.attrs.geometry(), out, in)}
		}
	}
	size, _ := tensor.Shape(k).Count()
	if n, ok := slices.Concat(out, tensor.Shape(k)).Count(); !ok || n > maxPatchElements || size > maxElements {
		return []*Array{c.fail("%s windows of %s: want at most %d elements below them", out, tensor.Shape(k), maxPatchElements)}
	}
	under := func(axis int, o, q int64) int64 { return o*w.stride[axis] - w.before[axis] + q*w.dilation[axis] }
	if !mean {
		return c.largestInWindows(&windows{x, k, math.Inf(-1), under})
	}
	counts := c.exactArray(tensor.Shape{1, 1, out.Elements(), 1}, c.alloc(int(out.Elements())))
	for i := range counts.v {
		if i%cellElements == 0 && c.isStopped() {
			break
		}
		n := int64(1)
		for axis, o := range out.Coordinates(int64(i)) {
			low, high := -w.before[axis], in[axis]+w.before[axis]
			if c.isAttributeTrue("exclusive") {
				low, high = 0, in[axis]
			}
			inside := int64(0)
			for q := range k[axis] {
				if place := under(axis, o, q); place >= low && place < high {
					inside++
				}
			}
			n *= inside
		}
		counts.v[i] = float64(n)
		if d := c.numberAttribute("divisor"); d != 0 {
			counts.v[i] = d
		}
	}
	return []*Array{c.reduceWindows(&windows{x, k, 0, under}, sumPatches, nil).div(counts).reshape(c.shapes[0]...)}
}

func sumPatches(below *Array) *Array { return below.sum(3) }

// adaptiveWindows returns the first index and the end of each window along an axis: out windows divide in elements as
// evenly as possible.
func adaptiveWindows(in, out tensor.Shape) (begin, end func(axis int, o int64) int64) {
	return func(axis int, o int64) int64 { return o * in[axis] / out[axis] },
		func(axis int, o int64) int64 { return ((o+1)*in[axis] + out[axis] - 1) / out[axis] }
}

// adaptiveKernel returns the size of the largest adaptive window, and the index of an element of a window, -1 after
// its end.
func adaptiveKernel(out tensor.Shape, begin, end func(axis int, o int64) int64) (kernel []int64, under func(axis int, o, q int64) int64) {
	kernel = make([]int64, len(out))
	for k, n := range out {
		for o := range n {
			kernel[k] = max(kernel[k], end(k, o)-begin(k, o))
		}
	}
	return kernel, func(axis int, o, q int64) int64 {
		if at := begin(axis, o) + q; at < end(axis, o) {
			return at
		}
		return -1
	}
}

// adaptivePool returns the mean of windows that divide an image as evenly as possible.
func adaptivePool(c *call) *Array {
	x := c.input(0)
	if c.err != nil {
		return x
	}
	in, out := x.shape[2:], c.shapes[0][2:]
	begin, end := adaptiveWindows(in, out)
	counts := c.exactArray(tensor.Shape{1, 1, out.Elements(), 1}, c.alloc(int(out.Elements())))
	for i := range counts.v {
		n := int64(1)
		for k, o := range out.Coordinates(int64(i)) {
			n *= end(k, o) - begin(k, o)
		}
		counts.v[i] = float64(n)
	}
	kernel, under := adaptiveKernel(out, begin, end)
	return c.reduceWindows(&windows{x, kernel, 0, under}, sumPatches, nil).div(counts).reshape(c.shapes[0]...)
}

// adaptiveMaxPool returns the largest element of windows that divide an image as evenly as possible, and its place.
func adaptiveMaxPool(c *call) []*Array {
	x := c.input(0)
	if c.err != nil {
		return []*Array{x}
	}
	in, out := x.shape[2:], c.shapes[0][2:]
	begin, end := adaptiveWindows(in, out)
	kernel, under := adaptiveKernel(out, begin, end)
	return c.largestInWindows(&windows{x, kernel, math.Inf(-1), under})
}

// usualKernels are the sizes of windows that are tried, the likely ones first.
var usualKernels = []int64{2, 3, 1, 4, 5, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// poolGeometry lists the likely windows: of usual sizes, or of a whole axis.
var poolGeometry = closedAttribute("ksize strides pads dilations", func(p *problem) (all []Attributes) {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(x) < 3 || len(x)-2 > maxSpatial || len(out) != len(x) {
		return nil
	}
	x, out = x[2:], out[2:]
	dilations := []int64{1}
	if p.Formula == "MaxPool" {
		dilations = []int64{1, 2}
	}
	usual := func(axis int) (own []axisGeometry) {
		sizes := usualKernels
		if out[axis] == 1 {
			sizes = slices.Concat([]int64{x[axis]}, usualKernels)
		}
		for _, k := range sizes {
			for _, g := range listGeometries(x[axis], k, out[axis], dilations) {
				if g.stride <= max(k, 2) && g.before <= k/2 {
					own = append(own, g)
				}
			}
		}
		return own
	}
	const most = 200
	likely := p.combineGeometries(x, out, usual)
	for _, g := range likely[:min(len(likely), most)] {
		all = append(all, windowAttributes(g, FromValues))
	}
	return all
})

// readPool reads the geometry of windows and what an average counts.
func readPool(p *problem, raw Attributes) Attributes {
	raw = readWindow(p, raw)
	if x, ok := raw["count_include_pad"]; ok {
		if n, ok := x.Value.Number(); ok {
			raw["exclusive"] = Attribute{Number(1 - n), x.Source}
		}
	}
	if x, ok := raw["divisor_override"]; ok {
		raw["divisor"] = x
	}
	axes := max(0, p.rank()-2)
	if n, ok := raw["global_pooling"].Value.Number(); ok && n != 0 {
		from := raw["global_pooling"].Source
		raw["ksize"], raw["pads"] = Attribute{integers(p.Inputs[0].Shape[2:]...), from}, Attribute{integers(slices.Repeat([]int64{0}, axes)...), from}
		raw["strides"] = Attribute{integers(slices.Repeat([]int64{1}, axes)...), from}
	}
	if k, ok := raw["ksize"]; ok {
		if _, ok := raw["strides"]; !ok && k.Source == FromCall {
			raw["strides"] = k
		}
		if _, ok := raw["dilations"]; !ok || k.Source != FromCall {
			raw["dilations"] = Attribute{integers(slices.Repeat([]int64{1}, axes)...), FromDefault}
		}
	}
	return raw
}

// quantise rounds x*scale + offset to integers. Numbers close to a half may be rounded either way.
func quantise(c *call) *Array {
	x, scale, offset := c.input(0), c.numberAttribute("scale"), c.numberAttribute("offset")
	if c.isAttributeTrue("sqrt_mode") {
		scale = float64(scale * scale)
	}
	return c.roundToIntegers(x.times(scale).plus(offset))
}

// quantSamples is the number of elements to which scale and offset are fitted, quantTurns the number of alternating
// fits.
const quantSamples, quantTurns = 1 << 12, 8

// quantScale fits scale and offset: each output element allows an interval of the scale, and the scale that most
// intervals contain is taken.
var quantScale = closedAttribute("scale offset", func(p *problem) (all []Attributes) {
	x, err := newCachedTensor(p.Inputs[0]).readRun(0, min(p.Inputs[0].elements(), quantSamples))
	if err != nil || p.Outputs[0].elements() != p.Inputs[0].elements() {
		return nil
	}
	y, err := newCachedTensor(p.Outputs[0]).readRun(0, int64(len(x)))
	if err != nil {
		return nil
	}
	largest := 0.0
	for _, v := range x {
		if v-v == 0 {
			largest = max(largest, math.Abs(v))
		}
	}
	low, high := integerRange(p.Outputs[0].DType)
	var sx, sy, sxx, sxy, n float64
	var used []int
	for i, v := range x {
		if v-v == 0 && y[i] > low && y[i] < high && math.Abs(v) > .1*largest {
			used = append(used, i)
			sx, sy, sxx, sxy, n = sx+v, sy+y[i], sxx+float64(v*v), sxy+float64(v*y[i]), n+1
		}
	}
	const least = 8
	if n < least {
		return nil
	}
	rise := (float64(n*sxy) - float64(sx*sy)) / (float64(n*sxx) - float64(sx*sx))
	shift := math.RoundToEven((sy - float64(rise*sx)) / n)
	type fit struct {
		scale, offset float64
		hits          int
	}
	scaleFor := func(offset float64) (float64, int) {
		var allowed []interval
		for _, i := range used {
			a, b := (y[i]-.5-offset)/x[i], (y[i]+.5-offset)/x[i]
			allowed = append(allowed, interval{min(a, b), max(a, b)})
		}
		return findDensestCentre(allowed)
	}
	offsetFor := func(scale float64) (float64, int) {
		var allowed []interval
		for _, i := range used {
			at := y[i] - float64(scale*x[i])
			allowed = append(allowed, interval{at - .5, at + .5})
		}
		return findDensestCentre(allowed)
	}
	var fits []fit
	for _, offset := range []float64{0, shift} {
		if scale, hits := scaleFor(offset); scale-scale == 0 && (offset == 0 || shift != 0) {
			fits = append(fits, fit{scale, offset, hits})
		}
	}
	free := fit{scale: rise} // if the offset is no integer, scale and offset are fitted in turns
	for range quantTurns {
		free.offset, _ = offsetFor(free.scale)
		free.scale, free.hits = scaleFor(free.offset)
	}
	for range quantTurns * quantTurns { // Kaczmarz steps on slightly violated intervals
		for _, i := range used {
			at := float64(free.scale*x[i]) + free.offset - y[i]
			over := max(0, math.Abs(at)-.5)
			if step := math.Copysign(over, at) / (1 + float64(x[i]*x[i])); over < .25 {
				free.offset -= step
				free.scale -= float64(step * x[i])
			}
		}
	}
	if free.scale-free.scale == 0 && free.offset-free.offset == 0 {
		fits = append(fits, free)
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return b.hits - a.hits })
	for _, f := range fits {
		all = append(all, Attributes{"scale": {Number(f.scale), FromFit}, "offset": {Number(f.offset), FromFit}})
	}
	return all
})

// dequantCut is the cutter for scales along the channels.
func dequantCut(p *problem, h Attributes) *cutRule {
	x, n := p.Inputs[0].Shape, p.Inputs[1].elements()
	c := wholeTensors(p)
	axis := len(x) - 1
	if len(x) > 2 && x[1] == n {
		axis = 1
	}
	if axis < 0 || n != 1 && x[axis] != n || !x.Equal(p.Outputs[0].Shape) {
		return misfit("scales of shape %s for %s", p.Inputs[1].Shape, x)
	}
	c.in[1].shape = slices.Repeat(tensor.Shape{1}, len(x))
	c.in[1].shape[axis] = n
	return c.cutAlong(firstIntegers(len(x)), alignRight)
}

// dequantise multiplies by the scale. A uint64 holds it as float32 in its lower half.
func dequantise(c *call) *Array {
	x, q := c.input(0), c.input(1)
	if c.err == nil && (c.types[1] == tensor.Uint64 || c.types[1] == tensor.Int64) {
		decodeScales(q.v)
	}
	y := x.mul(q)
	if c.isAttributeTrue("sqrt_mode") {
		y = y.mul(q)
	}
	if c.isAttributeTrue("relu_flag") {
		y = relu(y)
	}
	return y
}

// decodeScales replaces integers by the float32 in their low 32 bits, which is CANN's format of scales. Higher bits are
// flags below 2^48, so that float64 holds the integer exactly.
func decodeScales(v []float64) {
	for i, n := range v {
		v[i] = float64(math.Float32frombits(uint32(uint64(n))))
	}
}

// readScales reads all scales.
func readScales(t *Tensor) ([]float64, error) {
	f, err := newFeed(t, view{shape: t.Shape})
	if err != nil || t.elements() > maxElements {
		return nil, cmp.Or(err, errTooLarge)
	}
	v, err := f.readValues(0, t.elements())
	if err != nil {
		return nil, err
	}
	v = slices.Clone(v)
	if t.DType == tensor.Uint64 || t.DType == tensor.Int64 {
		decodeScales(v)
	}
	return v, nil
}
