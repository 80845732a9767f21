package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// window is the geometry of a convolution or pool by axis: distance of the windows, padding before the input,
// distance of the elements of a window, and size.
type window struct {
	stride, before, dilation, kernel []int64
	// padding returns the index of the element that replaces an index outside 0..n-1, nil for zeros.
	padding func(at, n int64) int64
}

// windowOf reads the geometry of a kernel; ok is false if an attribute does not fit its axes.
func windowOf(h Attributes, kernel []int64) (w window, ok bool) {
	w.kernel = kernel
	for name, to := range map[string]*[]int64{"strides": &w.stride, "pads": &w.before, "dilations": &w.dilation} {
		if *to, ok = h[name].Value.Integers(); !ok || len(*to) != len(kernel) || slices.ContainsFunc(*to, isTooLong) {
			return w, false
		}
	}
	return w, true
}

// isTooLong reports whether a length exceeds any image.
func isTooLong(n int64) bool { return n > math.MaxInt32 || n < -math.MaxInt32 }

// geometry describes strides, pads and dilations in messages.
func (a Attributes) geometry() lang.Sentence {
	return lang.Say("strides %s, pads %s and dilations %s", a["strides"].Value, a["pads"].Value, a["dilations"].Value)
}

// extent returns the number of elements that a window spans along an axis.
func (w *window) extent(axis int) int64 { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// hasOutputCount reports whether windows over n elements along an axis give out outputs. A window may lie wholly in
// the padding.
func (w *window) hasOutputCount(axis int, n, out int64) bool {
	s, before, e := w.stride[axis], w.before[axis], w.extent(axis)
	if s < 1 || w.dilation[axis] < 1 || before < 0 {
		return false
	}
	after := (out-1)*s + e - n - before // padding after the input
	return after < max(e, before+1)+s && after > -s
}

// conv2D is a convolution of 1 to 3 axes as a product: rows are output pixels, parts are groups, columns are filters.
func conv2D(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	axes := len(x) - 2
	if axes < 1 || axes > maxSpatial || len(w) != len(x) || len(out) != len(x) || w[1] == 0 || x[1]%w[1] != 0 || out[1] != w[0] || x[0] != out[0] {
		return nil, lang.Say("weights of shape %s for %s", w, x)
	}
	groups := x[1] / w[1]
	if g, ok := h["groups"].Value.Number(); ok && int64(g) != groups || groups == 0 || w[0]%groups != 0 {
		return nil, lang.Say("groups and shapes do not fit")
	}
	g, ok := windowOf(h, w[2:])
	if !ok {
		return nil, lang.Say("%s for weights of shape %s", h.geometry(), w)
	}
	for i := range axes {
		if !g.hasOutputCount(i, x[2+i], out[2+i]) {
			return nil, lang.Say("%s cannot produce %s from %s", h.geometry(), out, x)
		}
	}
	g.padding = paddingModes[h["padding_mode"].Value.Text]
	for i := range axes {
		if most := x[2+i] - 1; g.padding != nil && (g.before[i] > most || (out[2+i]-1)*g.stride[i]+g.extent(i)-x[2+i]-g.before[i] > most) {
			return nil, lang.Say("%s cannot produce %s from %s", h.geometry(), out, x)
		}
	}
	pixels := out[2:].Elements()
	l := &linear{parts: groups, rows: x[0] * pixels, k: w[1:].Elements(), n: w[0] / groups, byColumn: true}
	image := p.cached(p.Inputs[0])
	weights := p.cached(p.Inputs[1])
	l.left = func(part, row int64, dst []float64) error {
		at := out[2:].Coordinates(row % pixels)
		return g.patch(image, x, (row/pixels*x[1]+part*w[1])*x[2:].Elements(), w[1], at, dst)
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		return weights.readRun((part*l.n+from)*l.k, (to-from)*l.k)
	}
	l.offset = func(part, row, column int64) int64 {
		return (row/pixels*out[1]+part*l.n+column)*pixels + row%pixels
	}
	l.edgeRows, l.adjacentRows = cornerOffsets(out[2:]), pixels
	same := func(v []int64, n int64) bool { return !slices.ContainsFunc(v, func(k int64) bool { return k != n }) }
	l.winograd = axes == 2 && (p.Transforms || same(g.kernel, 3) && same(g.stride, 1) && same(g.dilation, 1) && groups == 1)
	return l, l.addExtras(p)
}

// cornerOffsets returns the offsets of the corners of an image.
func cornerOffsets(s tensor.Shape) (all []int64) {
	for bits := range 1 << len(s) {
		at := int64(0)
		for k, n := range s {
			at *= n
			if bits>>k&1 == 1 {
				at += n - 1
			}
		}
		all = append(all, at)
	}
	return all
}

// patch sets dst to the elements in a window, by channel. Elements outside the image are 0 or follow the padding
// mode.
func (w *window) patch(image *cachedTensor, x tensor.Shape, base, channels int64, at []int64, dst []float64) error {
	axes := len(w.kernel)
	last := axes - 1
	size := x[2:].Elements()
	strides := x[2:].Strides()
	i := 0
	outer := tensor.Shape(w.kernel[:last]).Elements()
	for c := range channels {
		for o := range outer {
			offset, inside := base+c*size, true
			for k, q := range tensor.Shape(w.kernel[:last]).Coordinates(o) {
				place := w.sourceIndex(at[k]*w.stride[k]-w.before[k]+q*w.dilation[k], x[2+k])
				inside = inside && place >= 0 && place < x[2+k]
				offset += place * strides[k]
			}
			begin := at[last]*w.stride[last] - w.before[last]
			if w.padding != nil {
				if err := w.copyPadded(image, offset, begin, x[2+last], dst[i:i+int(w.kernel[last])]); err != nil {
					return err
				}
				i += int(w.kernel[last])
				continue
			}
			line := dst[i : i+int(w.kernel[last])]
			i += len(line)
			clear(line)
			first, end := max(0, begin), min(x[2+last], begin+w.extent(last))
			if !inside || first >= end {
				continue
			}
			v, err := image.readRun(offset+first, end-first)
			if err != nil {
				return err
			}
			for q := range line {
				if place := begin + int64(q)*w.dilation[last]; place >= first && place < end {
					line[q] = v[place-first]
				}
			}
		}
	}
	return nil
}

// sourceIndex returns the index of the element to read for index place of an axis of n elements.
func (w *window) sourceIndex(place, n int64) int64 {
	if w.padding == nil || place >= 0 && place < n {
		return place
	}
	return w.padding(place, n)
}

// copyPadded sets dst to a line of a window, with the padding mode for elements outside the image.
func (w *window) copyPadded(image *cachedTensor, offset, begin, n int64, dst []float64) error {
	for q := range dst {
		v, err := image.readRun(offset+w.sourceIndex(begin+int64(q)*w.dilation[len(w.dilation)-1], n), 1)
		if err != nil {
			return err
		}
		dst[q] = v[0]
	}
	return nil
}

// paddingMode is the padding mode of a module, whose arguments are not in a dump.
var paddingMode = textAttribute("padding_mode", "zeros circular reflect replicate").withKind(fixedKind)

const (
	// maxStride limits the strides to try.
	maxStride = 8
	// maxGeometries limits the geometries of one axis, maxJoined the likely combinations of some axes that are
	// extended by the next axis. maxHypotheses combinations of all axes are tried.
	maxGeometries, maxJoined = 400, 1 << 10
)

// axisGeometry is the geometry of windows along one axis.
type axisGeometry struct{ kernel, stride, before, dilation int64 }

// extent returns the number of elements that a window spans.
func (g axisGeometry) extent() int64 { return (g.kernel-1)*g.dilation + 1 }

// listGeometries lists the strides, paddings and dilations of one axis that give out outputs, the likely ones first:
// small strides, and equal padding on both sides.
func listGeometries(n, kernel, out int64, dilations []int64) (all []axisGeometry) {
	for _, d := range dilations {
		if d > 1 && kernel == 1 {
			continue
		}
		e := axisGeometry{kernel: kernel, dilation: d}.extent()
		for s := int64(1); s <= maxStride; s++ {
			need, apart := (out-1)*s+e-n, s+1 // largest difference of the two paddings
			if out == 1 {
				apart = maxStride
			}
			for before := int64(0); (before == 0 || before < e || s == 1 && 2*before <= need) && len(all) < maxGeometries; before++ {
				after := need - before
				if s == 1 && out > 1 && before >= max(e, 1) && after == before { // equal paddings longer than a window
					all = append(all, axisGeometry{kernel, s, before, d})
				}
				// The windows reach the end except for less than a stride, and do not start beyond it.
				if out == 1 && s > 1 && after > 1-s {
					continue // a single window: its stride does not matter
				}
				if after > -s && after < max(e, 1) && after <= before+apart && before <= max(after, 0)+apart {
					all = append(all, axisGeometry{kernel, s, before, d})
				}
			}
		}
	}
	return all
}

var convGeometry = closedAttribute("strides pads dilations", func(p *problem) []Attributes {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	if len(x) < 3 || len(x)-2 > maxSpatial || len(w) != len(x) || len(out) != len(x) {
		return nil
	}
	return p.listConvWindows(x[2:], w[2:], out[2:], []int64{1, 2, 3, 4, 6})
})

// listConvWindows lists the geometries of a kernel that give the shape out of x.
func (p *problem) listConvWindows(x, kernel, out tensor.Shape, dilations []int64) (all []Attributes) {
	for _, g := range p.combineGeometries(x, out, func(axis int) []axisGeometry { return listGeometries(x[axis], kernel[axis], out[axis], dilations) }) {
		h := windowAttributes(g, FromShape)
		delete(h, "ksize")
		all = append(all, h)
	}
	return all
}

// windowAttributes returns the attributes of a geometry.
func windowAttributes(g []axisGeometry, from Source) Attributes {
	var k, s, b, d []int64
	for _, axis := range g {
		k, s, b, d = append(k, axis.kernel), append(s, axis.stride), append(b, axis.before), append(d, axis.dilation)
	}
	return Attributes{"ksize": {integers(k...), from}, "strides": {integers(s...), from}, "pads": {integers(b...), from}, "dilations": {integers(d...), from}}
}

// combineGeometries combines the geometries of all axes, with equal dilations, the likely combinations first.
func (p *problem) combineGeometries(x, out tensor.Shape, geometries func(axis int) []axisGeometry) [][]axisGeometry {
	joined := [][]axisGeometry{nil}
	for k := range x {
		var next [][]axisGeometry
		own := geometries(k)
		for _, before := range joined[:min(len(joined), maxJoined)] {
			if p.isStopped() {
				return nil
			}
			for _, g := range own {
				if k == 0 || g.dilation == before[0].dilation || g.kernel == 1 || before[0].kernel == 1 {
					next = append(next, append(slices.Clip(before), g))
				}
			}
		}
		joined = next
		slices.SortStableFunc(joined, func(a, b []axisGeometry) int {
			return int(implausibility(a, x, out) - implausibility(b, x, out))
		})
	}
	return joined[:min(len(joined), maxHypotheses)]
}

// implausibility measures how unlikely a geometry is: dilated, with large windows, with sizes, strides or paddings that
// differ between axes, or with paddings that differ between front and back.
func implausibility(g []axisGeometry, x, out tensor.Shape) int64 {
	const unequalKernels, unequalStrides, unequalPaddings, longPadding = 12, 4, 3, 16
	score := 8 * (g[0].dilation - 1)
	for k, axis := range g {
		after := (out[k]-1)*axis.stride + axis.extent() - x[k] - axis.before
		if d := after - axis.before; d > 0 {
			score += 2 * d
		} else if d <= -axis.stride {
			score -= 2 * d
		}
		if x[k] == out[k] && axis.stride == 1 && 2*axis.before == axis.extent()-1 {
			score-- // the size stays
		}
		if axis.kernel != x[k] { // the window of a whole axis is usual
			score += axis.kernel
		}
		if axis.before >= axis.extent() && axis.before > 0 {
			score += longPadding
		}
		if k == 0 {
			continue
		}
		switch before := g[k-1]; {
		case axis.kernel != before.kernel:
			score += unequalKernels
		case axis.before != before.before:
			score += unequalPaddings
		}
		if axis.stride != g[k-1].stride && x[k] > 1 && out[k] > 1 && out[k-1] > 1 {
			score += unequalStrides
		}
	}
	return score
}

// readWindow reads the geometry of the axes of an image from lists for all axes or single numbers, and paddings from
// pairs or a name.
func readWindow(p *problem, raw Attributes) Attributes {
	axes := p.rank() - 2
	raw = raw.merge(nil)
	if axes < 1 || len(p.Outputs[0].Shape) != p.rank() {
		return raw
	}
	format := raw["data_format"].Value.Text
	spatial := func(v []int64) []int64 {
		switch {
		case len(v) == axes:
			return v
		case len(v) == 1:
			return slices.Repeat(v, axes)
		case len(v) == axes+2 && len(format) == len(v) && format[len(format)-1] == 'C':
			return v[1 : axes+1]
		case len(v) == axes+2:
			return v[2:]
		}
		return nil
	}
	pads := func(v []int64) []int64 {
		if len(v) != 2*axes || axes == 1 {
			return spatial(v)
		}
		var before []int64
		for i := range axes {
			before = append(before, v[2*i])
		}
		return before
	}
	mode, modeName := Attribute{}, ""
	for _, w := range []struct {
		to, names string
		take      func([]int64) []int64
	}{
		{"strides", "strides stride", spatial}, {"dilations", "dilations dilation", spatial},
		{"ksize", "ksize window kernel_size", spatial}, {"pads", "pads pad_list pad padding padding_mode pad_mode", pads},
	} {
		for name := range strings.FieldsSeq(w.names) {
			x, ok := raw[name]
			if !ok {
				continue
			}
			if name == "padding_mode" && (x.Value.Text == "zeros" || paddingModes[x.Value.Text] != nil) {
				continue // of PyTorch: the values of the padding, not its width
			}
			delete(raw, name)
			v, whole := x.Value.Integers()
			switch {
			case x.Value.IsText() && w.to == "pads":
				mode, modeName = x, strings.ToUpper(x.Value.Text)
				continue
			case raw[w.to].Source != "":
				continue
			case whole:
				if s := w.take(v); s != nil {
					x.Value = integers(s...)
				}
			}
			raw[w.to] = x
		}
	}
	p.setPads(raw, modeName, mode)
	return raw
}

// setPads sets the padding before each axis from the name of a padding mode.
func (p *problem) setPads(raw Attributes, modeName string, mode Attribute) {
	if v, ok := raw["pads"].Value.Integers(); ok && slices.ContainsFunc(v, func(n int64) bool { return n < 0 }) {
		modeName, mode = "SAME", raw["pads"] // CANN writes SAME as -1
	}
	x, out := p.Inputs[0].Shape[2:], p.Outputs[0].Shape[2:]
	before := make([]int64, len(x))
	switch {
	case modeName == "VALID":
	case strings.HasPrefix(modeName, "SAME"):
		kernel, ok := raw["ksize"].Value.Integers()
		if w := p.input(1); w != nil && len(w.Shape) == len(x)+2 {
			kernel, ok = w.Shape[2:], true
		}
		strides, hasStrides := raw["strides"].Value.Integers()
		if !ok || !hasStrides || len(strides) != len(x) || len(kernel) != len(x) {
			return
		}
		for k := range x {
			d := int64(1)
			if v, ok := raw["dilations"].Value.Integers(); ok && len(v) == len(x) {
				d = v[k]
			}
			need := max(0, (out[k]-1)*strides[k]+(kernel[k]-1)*d+1-x[k])
			if before[k] = need / 2; modeName == "SAME_LOWER" {
				before[k] = need - need/2
			}
		}
	default:
		return
	}
	raw["pads"] = Attribute{integers(before...), mode.Source}
}
