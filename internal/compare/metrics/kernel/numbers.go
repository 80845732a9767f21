package kernel

import "math"

const (
	// Beyond is the most that the quotients of Numbers are.
	Beyond = 1e9
	// leastSpread is the least spread that something is divided by.
	leastSpread = 1e-300
)

// Numbers are what the sums of a Quad say of each of its groups.
type Numbers struct {
	RefMean, RefStd, RefRMS [4]float64 // of r
	RMS, Mean               [4]float64 // of d
	// Rounding is the root mean square of the powers of two, by epsilon/sqrt(12).
	Rounding [4]float64
	// Relative is RMS/RefStd, Inverse RefRMS/RefStd, at most Beyond. Of r = 0 Inverse is
	// 0, and Relative is Beyond where there is a difference.
	Relative, Inverse [4]float64
	// View is RMS by the spread of r: RefStd, or RefRMS where that is 1000 times more;
	// 0 where r is.
	View [4]float64
	// Scale is how much of the sum of squares of d a scale explains.
	Scale [4]float64
}

// Set sets the numbers to those of sums with their counts.
func (n *Numbers) Set(q *Quad, epsilon float64) {
	for k, count := range q.Counts {
		mean := q.R[k] / count
		square := q.RR[k] - float64(q.R[k]*mean)
		if square < 0 {
			square = 0
		}
		square /= count
		mean += q.Shift[k]
		std, size := math.Sqrt(square), math.Sqrt(square+float64(mean*mean))
		n.RefMean[k], n.RefStd[k], n.RefRMS[k] = mean, std, size
		rms := 0.0
		if q.DD[k] != 0 {
			rms = math.Sqrt(q.DD[k] / count)
		}
		n.RMS[k], n.Mean[k], n.Rounding[k] = rms, q.D[k]/count, 0
		if q.UU[k] > 0 {
			n.Rounding[k] = math.Sqrt(q.UU[k]/12/count) * epsilon
		}
		n.Relative[k], n.Inverse[k], n.View[k], n.Scale[k] = 0, 0, 0, 0
		spread := std
		if std < leastSpread {
			spread = leastSpread
		}
		if size == 0 {
			if rms != 0 {
				n.Relative[k] = Beyond
			}
			continue
		}
		n.Inverse[k] = atMost(size/spread, Beyond)
		if rms != 0 {
			relative := rms / spread
			n.Relative[k], n.View[k] = atMost(relative, Beyond), relative
			// A product that is more for sure spares most quotients.
			if std < float64(size*0.0011) && std < size/1000 {
				n.View[k] = rms / size
			} else if std < leastSpread {
				n.View[k] = rms / std
			}
		}
		if rr := float64(count * float64(size*size)); rr != 0 {
			n.Scale[k] = q.DR[k] * q.DR[k] / rr
		}
	}
}

func atMost(x, most float64) float64 {
	if x > most {
		return most
	}
	return x
}
