package kernel

import "math"

const (
	// MaxQuotient is the upper bound of the quotients in Numbers.
	MaxQuotient = 1e9
	// leastSpread is the lower bound of divisors.
	leastSpread = 1e-300
)

// Numbers has statistics of four groups, computed from a Quad.
type Numbers struct {
	RefMean, RefStd, RefRMS [4]float64 // of r
	RMS, Mean               [4]float64 // of d
	// Rounding is the rms of 2^e (see Quad.UU) times epsilon/sqrt(12).
	Rounding [4]float64
	// Relative is RMS/RefStd, Inverse is RefRMS/RefStd, both at most Beyond. If all r are 0,
	// Inverse is 0, and Relative is Beyond if any d is not 0.
	Relative, Inverse [4]float64
	// View is RMS divided by the spread of r: RefStd, or RefRMS if RefRMS is over 1000 times larger. It is 0 if all r
	// are 0.
	View [4]float64
	// Scale is the part of the sum of squares of d that a scale explains.
	Scale [4]float64
}

// Set computes the numbers from the sums and counts of q.
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
				n.Relative[k] = MaxQuotient
			}
			continue
		}
		n.Inverse[k] = capAt(size/spread, MaxQuotient)
		if rms != 0 {
			relative := rms / spread
			n.Relative[k], n.View[k] = capAt(relative, MaxQuotient), relative
			// The cheap product rules out most groups before the exact quotient.
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

func capAt(x, most float64) float64 {
	if x > most {
		return most
	}
	return x
}
