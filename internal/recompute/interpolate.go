package recompute

import (
	"math"
	"slices"
)

// interpolate resizes an image as torch.nn.functional.interpolate does, one axis after the other.
func interpolate(c *call) *Array {
	x, mode := c.input(0), c.textAttribute("mode")
	if c.err != nil {
		return x
	}
	scales := c.attrs["scales"].Value.Numbers
	axes := len(x.shape) - 2
	if len(scales) == 1 {
		scales = slices.Repeat(scales, axes)
	}
	for k := range axes {
		n, out := x.shape[2+k], c.shapes[0][2+k]
		step := float64(n) / float64(out)
		if len(scales) == axes && scales[k] > 0 {
			step = 1 / scales[k]
		}
		taps, weights := tapsOf(mode, n, out, step, c.isAttributeTrue("align_corners"), c.isAttributeTrue("half_pixel_centers"))
		if taps == nil {
			return c.fail("mode %q", mode)
		}
		x = x.weightedTaps(2+k, taps, weights)
	}
	return x
}

// tapsOf returns, for each output pixel along an axis, the input pixels and their weights. corners (align_corners)
// keeps the first and the last pixel in place; centers (half_pixel_centers) measures positions between the centres of
// pixels.
func tapsOf(mode string, n, out int64, step float64, corners, centers bool) (taps [][]int64, weights [][]float64) {
	inside := func(i float64) int64 { return min(max(int64(i), 0), n-1) }
	taps, weights = make([][]int64, out), make([][]float64, out)
	for i := range out {
		at := float64(step*(float64(i)+.5)) - .5
		switch {
		case !corners && !centers:
			at = float64(step * float64(i))
		case corners && out > 1:
			at = float64(i) * (float64(n-1) / float64(out-1))
		case corners:
			at = 0
		}
		switch mode {
		case "nearest":
			taps[i], weights[i] = []int64{inside(math.Floor(float64(float64(i) * step)))}, []float64{1}
		case "nearest-exact":
			taps[i], weights[i] = []int64{inside(math.Floor(float64((float64(i) + .5) * step)))}, []float64{1}
		case "linear", "bilinear", "trilinear":
			at = max(at, 0)
			low := math.Floor(at)
			share := at - low
			taps[i], weights[i] = []int64{inside(low), inside(low + 1)}, []float64{1 - share, share}
		case "cubic", "bicubic":
			low := math.Floor(at)
			t := at - low
			taps[i] = []int64{inside(low - 1), inside(low), inside(low + 1), inside(low + 2)}
			weights[i] = []float64{cubicFar(t + 1), cubicNear(t), cubicNear(1 - t), cubicFar(2 - t)}
		case "area":
			begin, end := i*n/out, ((i+1)*n+out-1)/out
			for k := begin; k < end; k++ {
				taps[i], weights[i] = append(taps[i], k), append(weights[i], 1/float64(end-begin))
			}
		default:
			return nil, nil
		}
	}
	return taps, weights
}

// cubicNear and cubicFar are the weights of cubic convolution (Keys, 1981) with a = -0.75, for pixels at a distance t
// of at most 1, and of 1 to 2.
func cubicNear(t float64) float64 {
	const a = -.75
	return float64(float64(float64((a+2)*t)-(a+3))*t*t) + 1
}

func cubicFar(t float64) float64 {
	const a = -.75
	return float64((float64((float64((t-5)*a))*t)+8*a)*t) - 4*a
}

// weightedTaps computes each element along an axis as the weighted sum of its taps. A kernel's weights have errors from
// rounding the position in the image.
func (x *Array) weightedTaps(axis int, taps [][]int64, weights [][]float64) *Array {
	m := x.m
	if m.err != nil {
		return x
	}
	shape := slices.Clone(x.shape)
	shape[axis] = int64(len(taps))
	n, inner := int(x.shape[axis]), int(shape[axis+1:].Elements())
	z := m.array(shape)
	xa, xb := x.errorBounds()
	off := float64(4 * single * float64(n)) // error of a weight
	for i := range z.v {
		if i%cellElements == 0 && m.isStopped() {
			break
		}
		at, outer := i/inner%len(taps), i/inner/len(taps)
		var v, size, a, b float64
		for q, k := range taps[at] {
			from := (outer*n+int(k))*inner + i%inner
			w := weights[at][q]
			v += float64(w * x.v[from])
			size += math.Abs(x.v[from])
			a += float64(math.Abs(w) * xa[from])
			b += float64(math.Abs(w) * xb[from])
		}
		if len(taps[at]) == 1 {
			z.set(i, v, a, b)
			continue
		}
		z.set(i, v, a+float64((off+float64(4*m.narrow.u))*size), b+float64((off+float64(4*m.wide.u))*size))
	}
	return z
}
