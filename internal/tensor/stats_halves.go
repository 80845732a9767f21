package tensor

import "math"

// halfLanes are the bounds of float16, by their codes in the order of values, and the
// sums of them by lanes.
type halfLanes struct {
	low, high [16]int16
	sums      [4]float64
}

// halvesChunk is how many bytes of float16 are added up at a time: their sum is exact
// in each lane, since they are multiples of 2^-24 and below 2^16.
const halvesChunk = 2 * 4 << 13

// addHalves adds the first float16 of a block that come in groups, unless some of a
// chunk are not finite or at the limit. It returns how many bytes these are. Sums are
// exact, so they are those of counted codes.
func (a *Accumulator) addHalves(block []byte) (done int) {
	for done < len(block) {
		var lanes halfLanes
		n := 2 * halvesHead(block[done:min(done+halvesChunk, len(block))], &lanes)
		if n == 0 {
			break
		}
		low, high := lanes.low[0], lanes.high[0]
		for k := range lanes.low {
			low, high = min(low, lanes.low[k]), max(high, lanes.high[k])
		}
		p := partial{a.halfAt(low), a.halfAt(high), Sum{}}
		if !(p.low > -a.limits.quiet && p.high < a.limits.quiet) {
			break
		}
		for _, sum := range lanes.sums {
			p.sum = p.sum.Plus(sum)
		}
		a.finite.merge(p)
		a.count += int64(n / 2)
		done += n
	}
	return done
}

// halfAt returns the float16 at a place in the order of values.
func (a *Accumulator) halfAt(key int16) float64 {
	return float64(a.codes.values[uint16(key^key>>15&math.MaxInt16)])
}
