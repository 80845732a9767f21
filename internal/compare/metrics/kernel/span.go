package kernel

import "math"

// Span is the range of values and of their magnitudes. Its zeros are positive.
type Span struct {
	Min, Max, MinAbs, MaxAbs float64
	Special                  bool // a value is not finite; the range means nothing
}

// spanLanes holds the smallest and largest values and the smallest magnitudes of
// four lanes.
type spanLanes [12]float64

// emptySpan returns the lanes of no values.
func emptySpan() (out spanLanes) {
	for k := range 4 {
		out[k], out[4+k], out[8+k] = math.Inf(1), math.Inf(-1), math.Inf(1)
	}
	return out
}

// SpanOf returns the span of values, which are not empty.
func SpanOf(values []float64) Span {
	out := emptySpan()
	done, special := spanHead(values, &out)
	return newSpan(&out, special, values[done:])
}

// newSpan returns the span of the values in lanes and of others.
func newSpan(out *spanLanes, special bool, others []float64) Span {
	low, high, minAbs := out[0], out[4], out[8]
	for k := 1; k < 4; k++ {
		low, high, minAbs = min(low, out[k]), max(high, out[4+k]), min(minAbs, out[8+k])
	}
	for _, v := range others {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		a := math.Abs(v)
		if a < minAbs {
			minAbs = a
		}
		special = special || !(a <= math.MaxFloat64)
	}
	return Span{low + 0, high + 0, minAbs, max(math.Abs(low), math.Abs(high)), special}
}
