package recompute

import "math"

// gridSample reads an image at the positions of a grid, as torch.nn.functional.grid_sample does. The last axis of the
// grid holds x, y (and z) from -1 to 1, the edges of the image (align_corners: the centres of its outermost pixels).
func gridSample(c *call) *Array {
	image, grid := c.input(0), c.input(1)
	if c.err != nil {
		return image
	}
	axes := len(image.shape) - 2
	if axes < 1 || len(grid.shape) != axes+2 || grid.shape[axes+1] != int64(axes) || grid.shape[0] != image.shape[0] {
		return c.fail("a grid of shape %s for an image of shape %s", grid.shape, image.shape)
	}
	s := gridSampler{mode: c.textAttribute("interpolation_mode"), padding: c.textAttribute("padding_mode"), corners: c.isAttributeTrue("align_corners")}
	shape := append(image.shape[:2:2], grid.shape[1:axes+1]...)
	z := c.array(shape)
	xa, xb := image.errorBounds()
	channels, pixels, points := int(shape[1]), int(image.shape[2:].Elements()), int(shape[2:].Elements())
	var taps, before []gridTap
	for i := range int(shape[0]) * points {
		if i%cellElements == 0 && c.isStopped() {
			break
		}
		taps = append(taps[:0], gridTap{weight: 1})
		for k := range axes { // the last coordinate belongs to the first axis
			before, taps = taps, s.cross(before[:0], taps, grid.v[i*axes+axes-1-k], image.shape[2+k])
		}
		batch, point := i/points, i%points
		for channel := range channels {
			plane := (batch*channels + channel) * pixels
			var v, a, b float64
			for _, t := range taps {
				if t.outside {
					continue
				}
				x, at := image.v[plane+t.offset], plane+t.offset
				v += float64(t.weight * x)
				a += float64(math.Abs(t.weight)*xa[at]) + float64((t.err(c.narrow.u))*math.Abs(x))
				b += float64(math.Abs(t.weight)*xb[at]) + float64((t.err(c.wide.u))*math.Abs(x))
			}
			z.set(plane/pixels*points+point, v, a, b)
		}
	}
	return z
}

// gridTap is a pixel that contributes to an output, with its weight. position is the largest coordinate in pixels,
// which the rounding of a weight grows with.
type gridTap struct {
	offset           int
	weight, position float64
	outside          bool // a padded zero
	// isTie: a position between two pixels may be rounded to the other one.
	isTie bool
}

// err bounds the error of the weight: the grid's coordinates and their products with the size are rounded.
func (t *gridTap) err(u float64) float64 {
	if t.isTie {
		return 1
	}
	return float64(8 * max(u, single) * (t.position + 1))
}

// gridSampler has the attributes of grid_sample.
type gridSampler struct {
	mode, padding string
	corners       bool
}

// cross appends to dst the taps of the axes before, combined with the taps at a coordinate of an axis of n pixels.
func (s *gridSampler) cross(dst, before []gridTap, coordinate float64, n int64) []gridTap {
	at := float64((float64((coordinate+1)*float64(n)) - 1) / 2)
	if s.corners {
		at = float64((coordinate + 1) / 2 * float64(n-1))
	}
	if s.mode != "bicubic" {
		at = s.pad(at, n)
	}
	low := math.Floor(at)
	t := at - low
	weights, first := []float64{1 - t, t}, low
	switch s.mode {
	case "nearest":
		weights, first = []float64{1}, math.RoundToEven(at)
	case "bicubic":
		weights, first = []float64{cubicFar(t + 1), cubicNear(t), cubicNear(1 - t), cubicFar(2 - t)}, low-1
	}
	size := max(math.Abs(at), float64(n))
	isTie := s.mode == "nearest" && math.Abs(t-.5) <= 0x1p-8
	if isTie { // both neighbours count: one with the weight 0
		first = low
		weights = []float64{boolToFloat(math.RoundToEven(at) == low), boolToFloat(math.RoundToEven(at) != low)}
	}
	for _, b := range before {
		for k, w := range weights {
			pixel := first + float64(k)
			if s.mode == "bicubic" {
				pixel = s.pad(pixel, n)
			}
			tap := gridTap{weight: float64(b.weight * w), position: max(b.position, size), isTie: b.isTie || isTie, outside: b.outside || !(pixel >= 0 && pixel < float64(n))}
			if !tap.outside {
				tap.offset = b.offset*int(n) + int(pixel)
			}
			dst = append(dst, tap)
		}
	}
	return dst
}

// pad moves a position outside of an axis of n pixels inside, but for zeros.
func (s *gridSampler) pad(at float64, n int64) float64 {
	last := float64(n - 1)
	switch s.padding {
	case "border":
	case "reflection":
		low, span := -.5, float64(n)
		if s.corners {
			low, span = 0, last
		}
		if span == 0 {
			return 0
		}
		at = math.Mod(math.Abs(at-low), 2*span)
		at = min(at, 2*span-at) + low
	default:
		return at
	}
	return min(max(at, 0), last)
}
