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
	differ := func(what any, said, held string) error {
		return lang.Errorf("%s: dump.json says %s %s, the file holds %s", s.Spot.Tensor, what, said, held)
	}
	d := cmp.Or(s.DType, src.Origin, src.DType)
	codes := isCodes(src.DType, d)
	switch {
	case src.DType == tensor.Undefined:
		return nil
	case !codes && src.DType != d && src.Origin != d && !(src.DType == tensor.Float32 && isNarrow(d)):
		return differ("dtype", d.String(), src.DType.String())
	case s.Shape != nil && src.Shape != nil && !s.Shape.Equal(src.Shape):
		return differ("shape", s.Shape.String(), src.Shape.String())
	case all == nil || all.Count == 0 || codes || d.Host().Complex() || s.Spot.Unread || s.Spot.Unwritten:
		return nil
	}
	held := newHeld(d, all)
	for _, what := range []Statistic{Max, Min, Mean, Norm} {
		if said, ok := s.Values.Get(what); ok {
			if v, differs := held.differs(what, said); differs {
				return differ(what, short(said), short(v))
			}
		}
	}
	return nil
}

// isNarrow reports whether a file of float32 may hold a type: MindSpore stores bfloat16 as float32,
// msprobe stores 8-bit types as float32.
func isNarrow(d tensor.DType) bool {
	return d.Bits() <= 16 && (d.Host() == tensor.HostFloat16 || d.Host() == tensor.HostFloat32)
}

// isCodes reports whether the bytes of a file are codes of a type that arrays lack.
func isCodes(stored, d tensor.DType) bool {
	isByte := func(d tensor.DType) bool { return d == tensor.Int8 || d == tensor.Uint8 }
	return isByte(stored) && !isByte(d) && d != tensor.Bool && d.Bits() <= 8
}

// short formats a number in few digits.
func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}

// held are the statistics of a file as frameworks compute them: with NaN and infinities; in float16
// and bfloat16 for these types, else in float32.
type held struct {
	*tensor.Stats
	// digits is the number of significant bits of the type of the statistics, limit its largest
	// number, tiny the largest rounding error of its smallest numbers. slack is the relative
	// error of a sum.
	digits             int
	limit, tiny, slack float64
}

func newHeld(d tensor.DType, s *tensor.Stats) *held {
	switch d {
	case tensor.Float16:
		return &held{s, 11, tensor.MaxFloat16, 0x1p-25, 0x1p-8}
	case tensor.BFloat16:
		return &held{s, 8, math.MaxFloat32, 0x1p-126, 0x1p-8}
	}
	return &held{s, 24, math.MaxFloat32, 0x1p-126, 0}
}

// differs compares a statistic of dump.json with the value v from the elements.
func (h *held) differs(what Statistic, said float64) (v float64, differs bool) {
	switch what {
	case Max:
		return h.extreme(said, (*tensor.Stats).Highest)
	case Min:
		return h.extreme(said, (*tensor.Stats).Lowest)
	case Mean:
		return h.mean(said)
	}
	return h.norm(said)
}

// extreme compares the largest or the smallest element, exactly in the type. Some devices skip
// NaN.
func (h *held) extreme(said float64, of func(*tensor.Stats) *float64) (v float64, differs bool) {
	numbers := *h.Stats
	numbers.Count, numbers.NaN = h.Count-h.NaN, 0
	if other := of(&numbers); other != nil && h.same(said, *other) {
		return *other, false
	}
	v = *of(h.Stats)
	return v, !h.same(said, v)
}

// same reports whether the decimal number may be v in the type of the statistics.
func (h *held) same(said, v float64) bool {
	fraction, exp := math.Frexp(v)
	half := math.Ldexp(math.Ceil(math.Abs(fraction))/2, exp-h.digits) // half of the last digit; 0 for zero
	return said == v || float32(said) == float32(v) || said != said && v != v || math.Abs(said-v) < max(half, h.tiny)
}

func isFinite(x float64) bool { return x-x == 0 }

// largest is the largest magnitude of the finite elements.
func (h *held) largest() float64 { return max(math.Abs(*h.Min), math.Abs(*h.Max)) }

// mean compares the mean, relative to the root mean square. The sum may overflow the type.
func (h *held) mean(said float64) (v float64, differs bool) {
	count := float64(h.Count)
	switch {
	case h.NaN > 0 || h.PosInf > 0 && h.NegInf > 0:
		return math.NaN(), isFinite(said)
	case h.NonFinite() > 0:
		return float64(h.PosInf-h.NegInf) * math.Inf(1), isFinite(said)
	case !isFinite(said):
		return *h.Mean, count*h.largest() < h.limit
	}
	if said == 0 && count > h.limit { // the element count overflows float16: PyTorch divides the sum by infinity
		return *h.Mean, false
	}
	rms := h.largest()
	if h.Norm != nil {
		rms = *h.Norm / math.Sqrt(count)
	}
	return *h.Mean, math.Abs(said-*h.Mean) > float64(1e-3*math.Abs(*h.Mean))+float64((1e-5+h.slack)*rms)+h.tiny
}

// norm compares the norm, if known. The squares may overflow or underflow the type.
func (h *held) norm(said float64) (v float64, differs bool) {
	switch {
	case h.Norm == nil:
		return 0, false
	case h.NaN > 0:
		return math.NaN(), isFinite(said)
	case h.NonFinite() > 0:
		return math.Inf(1), isFinite(said)
	}
	v = *h.Norm
	if v*v >= h.limit && !(said < 0.99*h.limit) {
		return v, false
	}
	return v, !(math.Abs(said-v) <= float64((1e-3+h.slack)*v)+math.Sqrt(float64(h.Count)*h.tiny))
}
