package engine

import "math"

// The loops of this file run over every element of every leaf. A sum has four
// lanes: lane k holds elements k, k+4, k+8 and so on, as vector registers do.
// The heads of the loops may have done the first elements; done tells how many,
// a multiple of four. Products are converted before they are added, so that no
// machine fuses the two and all of them round alike.

// lanes adds up the four lanes of a sum.
func lanes(s []float64) float64 { return (s[0] + s[1]) + (s[2] + s[3]) }

// pairMoments returns the moments of both sides and their co-moment. Values
// enter as their distances from the first one, so that equal values have no
// spread at all and little is lost when the spread is small against the mean.
func pairMoments(n, r []float64) (a, b moment, co float64) {
	if len(n) == 0 {
		return moment{}, moment{}, 0
	}
	var out [20]float64
	n0, r0 := n[0], r[0]
	sidesTail(sidesHead(n, r, n0, r0, &out), n, r, n0, r0, &out)
	x, y := lanes(out[0:]), lanes(out[4:])
	a = newMoment(len(n), n0, x, lanes(out[8:]))
	b = newMoment(len(n), r0, y, lanes(out[12:]))
	return a, b, lanes(out[16:]) - float64(x/float64(len(n))*y)
}

// sidesTail adds up the distances of both sides from their first values, the
// squares of these and their products.
func sidesTail(done int, n, r []float64, n0, r0 float64, out *[20]float64) {
	r = r[:len(n)]
	for k := range min(4, len(n)-done) {
		x, y, xx, yy, xy := out[k], out[4+k], out[8+k], out[12+k], out[16+k]
		for i := done + k; i < len(n); i += 4 {
			a, b := n[i]-n0, r[i]-r0
			x += a
			y += b
			xx += float64(a * a)
			yy += float64(b * b)
			xy += float64(a * b)
		}
		out[k], out[4+k], out[8+k], out[12+k], out[16+k] = x, y, xx, yy, xy
	}
}

// subtracted is what is known of the differences of a leaf.
type subtracted struct {
	moment   moment
	abs      float64 // the sum of their magnitudes
	negative int64   // how many are below zero
}

// differences sets d and abs to n-r and its magnitude.
func differences(d, abs, n, r []float64) subtracted {
	var out [12]float64
	var negative [4]int64
	d0 := n[0] - r[0]
	differencesTail(differencesHead(n, r, d, abs, d0, &out, &negative), n, r, d, abs, d0, &out, &negative)
	return newSubtracted(len(n), d0, &out, &negative)
}

func newSubtracted(count int, d0 float64, out *[12]float64, negative *[4]int64) subtracted {
	return subtracted{
		moment:   newMoment(count, d0, lanes(out[0:]), lanes(out[4:])),
		abs:      lanes(out[8:]),
		negative: negative[0] + negative[1] + negative[2] + negative[3],
	}
}

func differencesTail(done int, n, r, d, abs []float64, d0 float64, out *[12]float64, negative *[4]int64) {
	r, d, abs = r[:len(n)], d[:len(n)], abs[:len(n)]
	for k := range min(4, len(n)-done) {
		x, xx, total, below := out[k], out[4+k], out[8+k], negative[k]
		for i := done + k; i < len(n); i += 4 {
			v := n[i] - r[i]
			a := math.Abs(v)
			d[i], abs[i] = v, a
			total += a
			bits := math.Float64bits(v)
			below += int64(((bits - 1) & bits) >> 63)
			v -= d0
			x += v
			xx += float64(v * v)
		}
		out[k], out[4+k], out[8+k], negative[k] = x, xx, total, below
	}
}

// momentOf returns the moment of values, as pairMoments does.
func momentOf(values []float64) moment {
	m, _, _ := pairMoments(values, values)
	return m
}

// negatives counts the values below zero.
func negatives(values []float64) (count int64) {
	for _, v := range values {
		bits := math.Float64bits(v)
		count += int64(((bits - 1) & bits) >> 63)
	}
	return count
}

// sumOf returns the sum of values.
func sumOf(values []float64) float64 {
	var out [4]float64
	for i := sumHead(values, &out); i < len(values); i++ {
		out[i&3] += values[i]
	}
	return lanes(out[:])
}

// sumAbs returns the sum of the magnitudes of values.
func sumAbs(values []float64) float64 {
	var out [4]float64
	for i, v := range values {
		out[i&3] += math.Abs(v)
	}
	return lanes(out[:])
}

// addTo adds values to dst.
func addTo(dst, values []float64) {
	dst = dst[:len(values)]
	for i := addHead(dst, values); i < len(values); i++ {
		dst[i] += values[i]
	}
}

// span is the range of values and of their magnitudes.
type span struct {
	min, max, minAbs, maxAbs float64
	special                  bool // a value is not finite; the range is none
}

// spanOf returns the span of values, which are not empty.
func spanOf(values []float64) span {
	var out [16]float64
	done, special := spanHead(values, &out)
	if done == 0 {
		v := values[0]
		out = [16]float64{v, v, v, v, v, v, v, v}
		for k := 8; k < 16; k++ {
			out[k] = math.Abs(v)
		}
	}
	s := span{out[0], out[4], out[8], out[12], special}
	for k := 1; k < 4; k++ {
		s.min, s.max = min(s.min, out[k]), max(s.max, out[4+k])
		s.minAbs, s.maxAbs = min(s.minAbs, out[8+k]), max(s.maxAbs, out[12+k])
	}
	s.spanTail(values[done:])
	return s
}

func (s *span) spanTail(values []float64) {
	low, high := s.min, s.max
	minAbs, maxAbs := math.Float64bits(s.minAbs), math.Float64bits(s.maxAbs)
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		bits := math.Float64bits(v) &^ signBit
		minAbs = min(minAbs, bits)
		maxAbs = max(maxAbs, bits)
	}
	s.min, s.max = low, high
	s.minAbs, s.maxAbs = math.Float64frombits(minAbs), math.Float64frombits(maxAbs)
	s.special = s.special || !(s.maxAbs <= math.MaxFloat64)
}

// maxOf returns the largest of values that are not negative and not NaN.
func maxOf(values []float64) float64 {
	var high float64
	for _, v := range values {
		if v > high {
			high = v
		}
	}
	return high
}

// indexOf returns where x first is among values, -1 if nowhere.
func indexOf(values []float64, x float64) int {
	for i, v := range values {
		if v == x {
			return i
		}
	}
	return -1
}

// ratios is what relatives finds.
type ratios struct {
	rel, ref       float64 // the sums of |d|/|r| and |r|
	maxRel, maxAbs float64
	zeros          int64 // references that are 0
	undefined      int64 // of them those with a difference
	below, below5  int64 // |d|/|r| below 1/1000 and 5/1000, 0 for zeros
}

// relatives sets rel to abs over the magnitude of r, to 0 where r is 0.
func relatives(rel, abs, r []float64) (c ratios) {
	var out [16]float64
	var counts [16]int64
	relativesTail(relativesHead(rel, abs, r, &out, &counts), rel, abs, r, &out, &counts)
	c.rel, c.ref = lanes(out[0:]), lanes(out[4:])
	for k := range 4 {
		c.maxRel, c.maxAbs = max(c.maxRel, out[8+k]), max(c.maxAbs, out[12+k])
		c.zeros += counts[k]
		c.below += counts[4+k]
		c.below5 += counts[8+k]
		c.undefined += counts[12+k]
	}
	return c
}

func relativesTail(done int, rel, abs, r []float64, out *[16]float64, counts *[16]int64) {
	rel, abs = rel[:len(r)], abs[:len(r)]
	limit, limit5 := math.Float64bits(1e-3), math.Float64bits(5e-3)
	for k := range min(4, len(r)-done) {
		total, totalRef, maxRel, maxAbs := out[k], out[4+k], out[8+k], out[12+k]
		zeros, below, below5, undefined := counts[k], counts[4+k], counts[8+k], counts[12+k]
		for i := done + k; i < len(r); i += 4 {
			magnitude := math.Float64bits(r[i]) &^ signBit
			ref := math.Float64frombits(magnitude)
			a := abs[i]
			q := math.Float64bits(a / ref)
			var isZero int64
			if magnitude == 0 {
				q = 0
				isZero = 1
			}
			x := math.Float64frombits(q)
			rel[i] = x
			total += x
			totalRef += ref
			zeros += isZero
			undefined += isZero & int64(-math.Float64bits(a)>>63)
			below += int64((q - limit) >> 63)
			below5 += int64((q - limit5) >> 63)
			if x > maxRel {
				maxRel = x
			}
			if a > maxAbs {
				maxAbs = a
			}
		}
		out[k], out[4+k], out[8+k], out[12+k] = total, totalRef, maxRel, maxAbs
		counts[k], counts[4+k], counts[8+k], counts[12+k] = zeros, below, below5, undefined
	}
}
