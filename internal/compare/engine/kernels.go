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

// differences sets d and abs to n-r and its magnitude. If they are one, it holds
// the magnitudes.
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

// indexFrom returns the index of the first of values that is limit or more, their
// number if there is none.
func indexFrom(values []float64, limit float64) int {
	for i := fromHead(values, limit); i < len(values); i++ {
		if values[i] >= limit {
			return i
		}
	}
	return len(values)
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
