package dumpdir

import (
	"cmp"
	"math"
	"strconv"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Contradiction compares the description of a tensor in msprobe's dump.json with its file and
// returns the first difference in dtype, shape, max, min, mean and norm, nil for none. all are the
// statistics of the elements, nil if unknown; its norm may be missing. Values that are missing in
// dump.json are not compared.
func (s *Statistics) Contradiction(src *tensorfile.Tensor, all *tensor.Stats) error {
	if s == nil || s.Spot.Tensor == "" || !layout.IsHost(src.Format) {
		return nil
	}
	differ := func(what any, jsonValue, fileValue string) error {
		return lang.Errorf("%s: dump.json says %s %s, the file holds %s", s.Spot.Tensor, what, jsonValue, fileValue)
	}
	d := cmp.Or(s.DType, src.Origin, src.DType)
	codes := holdsCodes(src.DType, d)
	switch {
	case src.DType == tensor.Undefined:
		return nil
	case !codes && src.DType != d && src.Origin != d && !(src.DType == tensor.Float32 && mayBeFloat32(d)):
		return differ("dtype", d.String(), src.DType.String())
	case s.Shape != nil && src.Shape != nil && !s.Shape.Equal(src.Shape):
		return differ("shape", s.Shape.String(), src.Shape.String())
	case all == nil || all.Count == 0 || codes || d.Host().Complex() || s.Spot.Unread || s.Spot.Unwritten:
		return nil
	}
	stats := newFileStats(d, all)
	for _, what := range []Statistic{Max, Min, Mean, Norm} {
		if jsonValue, ok := s.Values.Get(what); ok {
			if v, differs := stats.differs(what, jsonValue); differs {
				return differ(what, formatNumber(jsonValue), formatNumber(v))
			}
		}
	}
	return nil
}

// mayBeFloat32 reports whether elements of type d may be stored as float32: MindSpore stores
// bfloat16 this way, msprobe 8-bit types.
func mayBeFloat32(d tensor.DType) bool {
	return d.Bits() <= 16 && (d.Host() == tensor.HostFloat16 || d.Host() == tensor.HostFloat32)
}

// holdsCodes reports whether the file stores an 8-bit type that numpy lacks (such as float8) as
// int8 or uint8 codes.
func holdsCodes(stored, d tensor.DType) bool {
	isByte := func(d tensor.DType) bool { return d == tensor.Int8 || d == tensor.Uint8 }
	return isByte(stored) && !isByte(d) && d != tensor.Bool && d.Bits() <= 8
}

// formatNumber formats a number with few digits.
func formatNumber(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}

// fileStats are the statistics of a file as frameworks compute them: with NaN and infinities; in float16
// and bfloat16 for these types, else in float32.
type fileStats struct {
	*tensor.Stats
	// digits is the number of significant bits of the type of the statistics, limit its largest
	// number, tiny the largest rounding error of its smallest numbers. slack is the relative
	// error of a sum.
	digits             int
	limit, tiny, slack float64
}

func newFileStats(d tensor.DType, s *tensor.Stats) *fileStats {
	switch d {
	case tensor.Float16:
		return &fileStats{s, 11, tensor.MaxFloat16, 0x1p-25, 0x1p-8}
	case tensor.BFloat16:
		return &fileStats{s, 8, math.MaxFloat32, 0x1p-126, 0x1p-8}
	}
	return &fileStats{s, 24, math.MaxFloat32, 0x1p-126, 0}
}

// differs compares a statistic of dump.json with the value v from the elements.
func (f *fileStats) differs(what Statistic, jsonValue float64) (v float64, differs bool) {
	switch what {
	case Max:
		return f.compareExtreme(jsonValue, (*tensor.Stats).Highest)
	case Min:
		return f.compareExtreme(jsonValue, (*tensor.Stats).Lowest)
	case Mean:
		return f.compareMean(jsonValue)
	}
	return f.compareNorm(jsonValue)
}

// compareExtreme compares the largest or the smallest element, exactly in the type. Some devices skip
// NaN.
func (f *fileStats) compareExtreme(jsonValue float64, get func(*tensor.Stats) *float64) (v float64, differs bool) {
	numbers := *f.Stats
	numbers.Count, numbers.NaN = f.Count-f.NaN, 0
	if other := get(&numbers); other != nil && f.isDecimalOf(jsonValue, *other) {
		return *other, false
	}
	v = *get(f.Stats)
	return v, !f.isDecimalOf(jsonValue, v)
}

// isDecimalOf reports whether the decimal number may be v in the type of the statistics.
func (f *fileStats) isDecimalOf(jsonValue, v float64) bool {
	fraction, exp := math.Frexp(v)
	half := math.Ldexp(math.Ceil(math.Abs(fraction))/2, exp-f.digits) // half of the last digit; 0 for zero
	return jsonValue == v || float32(jsonValue) == float32(v) || jsonValue != jsonValue && v != v || math.Abs(jsonValue-v) < max(half, f.tiny)
}

func isFinite(x float64) bool { return x-x == 0 }

// largestMagnitude is the largest magnitude of the finite elements.
func (f *fileStats) largestMagnitude() float64 { return max(math.Abs(*f.Min), math.Abs(*f.Max)) }

// compareMean compares the mean, relative to the root mean square. The sum may overflow the type.
func (f *fileStats) compareMean(jsonValue float64) (v float64, differs bool) {
	count := float64(f.Count)
	switch {
	case f.NaN > 0 || f.PosInf > 0 && f.NegInf > 0:
		return math.NaN(), isFinite(jsonValue)
	case f.NonFinite() > 0:
		return float64(f.PosInf-f.NegInf) * math.Inf(1), isFinite(jsonValue)
	case !isFinite(jsonValue):
		return *f.Mean, count*f.largestMagnitude() < f.limit
	}
	if jsonValue == 0 && count > f.limit { // the element count overflows float16: PyTorch divides the sum by infinity
		return *f.Mean, false
	}
	rms := f.largestMagnitude()
	if f.Norm != nil {
		rms = *f.Norm / math.Sqrt(count)
	}
	return *f.Mean, math.Abs(jsonValue-*f.Mean) > float64(1e-3*math.Abs(*f.Mean))+float64((1e-5+f.slack)*rms)+f.tiny
}

// compareNorm compares the norm, if known. The squares may overflow or underflow the type.
func (f *fileStats) compareNorm(jsonValue float64) (v float64, differs bool) {
	switch {
	case f.Norm == nil:
		return 0, false
	case f.NaN > 0:
		return math.NaN(), isFinite(jsonValue)
	case f.NonFinite() > 0:
		return math.Inf(1), isFinite(jsonValue)
	}
	v = *f.Norm
	if v*v >= f.limit && !(jsonValue < 0.99*f.limit) {
		return v, false
	}
	return v, !(math.Abs(jsonValue-v) <= float64((1e-3+f.slack)*v)+math.Sqrt(float64(f.Count)*f.tiny))
}
