package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// formatOf returns the floating-point format of a type; its mantissa has 0 bits for types that do not round. The
// steps of hifloat8 depend on the number: the widest step counts.
func formatOf(d tensor.DType) tensor.Float {
	if d == tensor.HiFloat8 {
		return tensor.Float{Mantissa: 1, MinExp: -22, Max: 32768}
	}
	f, _ := tensor.ScalarFloat(d)
	return f
}

// isFloat reports whether elements of a type are rounded.
func isFloat(d tensor.DType) bool { return formatOf(d).Mantissa > 0 }

// stepOf is a unit in the last place of |v|, at least twice the smallest denormal number.
func stepOf(f *tensor.Float, v float64) float64 {
	exponent := int(math.Float64bits(v)>>52&0x7ff) - 1023
	return math.Float64frombits(uint64(max(exponent-f.Mantissa, f.MinExp-f.Mantissa+1, -1022)+1023) << 52)
}

// spot is an element with its computed value. ratio is its error in units of the bound.
type spot struct {
	offset               int64
	computed, npu, ratio float64
}

// maxSpots is the number of worst elements that are kept.
const maxSpots = 3

// tally accumulates the differences between an output and its computed values.
type tally struct {
	dtype    tensor.DType
	format   tensor.Float
	isFloat  bool // isFloat: the type rounds
	isStrict bool // isStrict: no difference is allowed
	// minNormal is the smallest normal number, limit the number from which on values round to infinity.
	minNormal, overflowLimit float64
	slack                    float64 // factor on the wide bound where a number was fitted, else 1
	mustShowNaN              bool    // mustShowNaN: a computed NaN has to be NaN in the output
	// overflowsFloat32: products or sums exceed float32, the accumulator of kernels. NaN and infinities may follow
	// from it.
	overflowsFloat32 bool
	// checked is the number of compared elements, bad of elements beyond the wide bound, beyond of elements beyond the
	// narrow bound. overflow and skipped are described at Output.
	checked, bad, beyond, overflow, skipped int64
	worst                                   float64
	firstBad                                int64 // offset of the first bad element, -1 for none
	spots                                   []spot
	used                                    float64
	// Sums over the used elements: squares of the ratio of the difference to the narrow and the wide bound, squares
	// of the wide and the narrow bound, of computed values, of differences; difference times value, absolute
	// differences, squares of the type's step.
	narrowRatios, wideRatios, wideBounds, narrowBounds, values, squares, products, sizes, steps float64
	largest                                                                                     float64
	infinite                                                                                    bool // a bad element is not finite
	// mark is called for every element, unless nil.
	mark func(i int, bad bool)
}

func newTally(d tensor.DType, class Class) *tally {
	f := formatOf(d)
	return &tally{dtype: d, format: f, isFloat: isFloat(d), minNormal: f.Normal(), overflowLimit: f.Max - float64(stepOf(&f, f.Max)/2), firstBad: -1, slack: 1, isStrict: !isFloat(d) || class == Move}
}

// newLike returns an empty tally for the same kind of output.
func (t *tally) newLike() *tally {
	return &tally{dtype: t.dtype, format: t.format, isFloat: t.isFloat, isStrict: t.isStrict, minNormal: t.minNormal, overflowLimit: t.overflowLimit, slack: t.slack, mustShowNaN: t.mustShowNaN, overflowsFloat32: t.overflowsFloat32, firstBad: -1}
}

// merge adds the counts of another tally n times.
func (t *tally) merge(o *tally, n int64) {
	k := float64(n)
	t.checked += n * o.checked
	t.bad += n * o.bad
	t.beyond += n * o.beyond
	t.overflow += n * o.overflow
	t.skipped += n * o.skipped
	for _, sum := range []struct {
		to   *float64
		from float64
	}{
		{&t.used, o.used}, {&t.narrowRatios, o.narrowRatios}, {&t.wideRatios, o.wideRatios}, {&t.wideBounds, o.wideBounds}, {&t.narrowBounds, o.narrowBounds}, {&t.values, o.values},
		{&t.squares, o.squares}, {&t.products, o.products}, {&t.sizes, o.sizes}, {&t.steps, o.steps},
	} {
		*sum.to += float64(k * sum.from)
	}
	t.worst, t.largest, t.infinite = max(t.worst, o.worst), max(t.largest, o.largest), t.infinite || o.infinite
	if o.firstBad >= 0 && (t.firstBad < 0 || o.firstBad < t.firstBad) {
		t.firstBad = o.firstBad
	}
	for _, s := range o.spots {
		t.keepSpot(s)
	}
}

// roughFactor is the relative bound of integers beyond 2^53, which float64 holds without their low bits.
const roughFactor = 0x1p-30

// add compares computed elements x with elements y of the NPU. nonFinite: an input of the cell is NaN or infinite.
// nearTie reports elements that may be rounded to either of two integers.
func (t *tally) add(x, y *Array, nonFinite bool, nearTie func(i int) bool, offset func(i int) int64) {
	a, b := x.errorBounds()
	t.checked += int64(len(x.v))
	for i := 0; i < len(x.v); i++ {
		if t.isFloat && t.mark == nil {
			if i += t.addGood(x.v[i:], a[i:], b[i:], y.v[i:]); i == len(x.v) {
				return
			}
		}
		v := x.v[i]
		if t.dtype == tensor.Bool {
			v = boolToFloat(v != 0)
		}
		d := math.Abs(y.v[i] - v)
		ea, eb := a[i], b[i]
		if !t.isFloat && math.Abs(v) > maxInteger {
			ea, eb = float64(roughFactor*math.Abs(v)), float64(roughFactor*math.Abs(v))
		}
		bad := t.compare(v, ea, eb, y.v[i], d, nonFinite, nearTie != nil && nearTie(i), offset, i)
		if t.mark != nil {
			t.mark(i, bad)
		}
	}
}

// addGood adds the leading elements that are finite and within the narrow bound, and returns their number. For such
// elements it does the same as compare, only faster.
func (t *tally) addGood(v, a, b, y []float64) int {
	used, narrow, wide, bound, narrowBound := t.used, t.narrowRatios, t.wideRatios, t.wideBounds, t.narrowBounds
	values, squares, products, sizes, steps := t.values, t.squares, t.products, t.sizes, t.steps
	largest, worst := t.largest, t.worst
	bits, lowest := int64(t.format.Mantissa), int64(max(t.format.MinExp-t.format.Mantissa+1, -1022)+1023)
	n := len(v)
	a, b, y = a[:n], b[:n], y[:n]
	for i, v := range v {
		step := math.Float64frombits(uint64(max(int64(math.Float64bits(v)>>52&0x7ff)-bits, lowest)) << 52)
		size, d := math.Abs(v), math.Abs(y[i]-v)
		room := step
		if y[i] == 0 && size < t.minNormal {
			room += t.minNormal
		}
		tolA, tolB := a[i]+room, b[i]+room
		if !(d <= tolA && d <= tolB && d <= math.MaxFloat64 && size+b[i] <= t.overflowLimit) || t.isStrict && d != 0 {
			n = i
			break
		}
		if d != 0 {
			ratioA, ratioB := d/max(tolA, tiny), d/max(tolB, tiny)
			worst = max(worst, ratioB)
			narrow += float64(ratioA * ratioA)
			wide += float64(ratioB * ratioB)
			squares += float64(d * d)
			products += float64((y[i] - v) * v)
			sizes += d
		}
		used++
		bound += float64(tolB * tolB)
		narrowBound += float64(tolA * tolA)
		values += float64(v * v)
		steps += float64(step * step)
		if size > largest {
			largest = size
		}
	}
	t.used, t.narrowRatios, t.wideRatios, t.wideBounds, t.narrowBounds = used, narrow, wide, bound, narrowBound
	t.values, t.squares, t.products, t.sizes, t.steps = values, squares, products, sizes, steps
	t.largest, t.worst = largest, worst
	return n
}

// tolerance is the wide bound of an output element y with the computed value v and its error e. A number below the
// smallest normal one may also be 0.
func (t *tally) tolerance(v, e, y float64) float64 {
	switch {
	case v-v != 0 || t.isStrict && e == 0:
		return 0
	case !t.isFloat:
		return math.Ceil(e)
	}
	step := e + stepOf(&t.format, v)
	if y == 0 && math.Abs(v) < t.minNormal {
		step += t.minNormal
	}
	return step
}

// compare compares an element whose difference is d and reports whether it is bad. nonFinite: an input of the cell is
// NaN or infinite.
func (t *tally) compare(v, ea, eb, y, d float64, nonFinite, tie bool, offset func(i int) int64, i int) (bad bool) {
	finite := v-v == 0
	tolA, tolB, big := 0.0, 0.0, false
	switch {
	case t.isFloat:
		step := stepOf(&t.format, v)
		if y == 0 && math.Abs(v) < t.minNormal {
			step += t.minNormal
		}
		tolA, tolB = ea+step, eb+step
		big = finite && math.Abs(v)+eb > t.overflowLimit || !finite && v == v && !nonFinite
	case tie:
		tolA, tolB = 1, 1
	case eb > 0:
		tolA, tolB = math.Ceil(ea), math.Ceil(eb)
	}
	same := d == 0 || v == y && v-v != 0 || v != v && y != y
	saturated := big && math.Signbit(y) == math.Signbit(v) && math.Abs(y) >= t.format.Max*.99
	beyond := false
	switch {
	case same || saturated:
	case t.overflowsFloat32 && y-y != 0:
		big = true
	case finite && t.isStrict && !tie:
		bad, beyond = eb == 0 || !(d <= float64(tolB*t.slack)), eb == 0 || !(d <= tolA)
	case finite:
		bad, beyond = !(d <= float64(tolB*t.slack)), !(d <= tolA)
	case nonFinite && !(t.mustShowNaN && v != v && y == y):
		t.skipped++
	default:
		bad, beyond = true, true
	}
	if finite && !t.isFloat && t.dtype != tensor.Bool {
		if low, high := integerRange(t.dtype); v < low || v > high { // kernels wrap or saturate here: both are right
			big, bad, beyond = true, false, false
		}
	}
	if big {
		t.overflow++
	}
	if beyond {
		t.beyond++
	}
	if finite && !big && y-y == 0 {
		t.accumulate(v, y, d, tolA, tolB)
		if t.isFloat {
			s := stepOf(&t.format, v)
			t.steps += float64(s * s)
		}
	}
	if bad {
		t.addBad(v, y, d, tolB, offset(i))
	}
	return bad
}

// accumulate adds a finite element to the sums.
func (t *tally) accumulate(v, y, d, tolA, tolB float64) {
	t.used++
	ratioA, ratioB := d/max(tolA, tiny), d/max(tolB, tiny)
	if tolB == 0 {
		ratioA, ratioB = d, d
	}
	t.worst = max(t.worst, ratioB)
	t.narrowRatios += float64(ratioA * ratioA)
	t.wideRatios += float64(ratioB * ratioB)
	t.wideBounds += float64(tolB * tolB)
	t.narrowBounds += float64(tolA * tolA)
	t.values += float64(v * v)
	t.squares += float64(d * d)
	t.products += float64((y - v) * v)
	t.sizes += d
	t.largest = max(t.largest, math.Abs(v))
}

// addBad counts a bad element and keeps it if it is one of the worst.
func (t *tally) addBad(v, y, d, tol float64, offset int64) {
	t.bad++
	if t.firstBad < 0 || offset < t.firstBad {
		t.firstBad = offset
	}
	ratio := d
	if tol > 0 {
		ratio = d / tol
	}
	if !(ratio <= math.MaxFloat64) {
		ratio, t.infinite = math.Inf(1), true
	}
	t.keepSpot(spot{offset, v, y, ratio})
}

// keepSpot keeps an element if it is one of the worst.
func (t *tally) keepSpot(s spot) {
	at := len(t.spots)
	for at > 0 && (t.spots[at-1].ratio < s.ratio || t.spots[at-1].ratio == s.ratio && t.spots[at-1].offset > s.offset) {
		at--
	}
	if at < maxSpots {
		t.spots = slices.Insert(t.spots, at, s)
		t.spots = t.spots[:min(len(t.spots), maxSpots)]
	}
}

// root is the root of the mean over the used elements.
func (t *tally) root(sum float64) float64 { return math.Sqrt(sum / max(1, t.used)) }

// relativeBound is the ratio of the wide bound to the values, as root mean squares.
func (t *tally) relativeBound() float64 {
	if t.used == 0 {
		return float64(t.overflow) // above every limit if the bound makes all elements overflow
	}
	return t.root(t.wideBounds) / max(tiny, t.root(t.values))
}

// width is the ratio of the wide to the narrow bound, as root mean squares.
func (t *tally) width() float64 {
	if t.narrowBounds == 0 {
		return 1
	}
	return math.Sqrt(t.wideBounds / t.narrowBounds)
}

// The largest distance of a common factor from 1 in healthy operators: function tables, and norms in float32, whose
// inverse root may have the 11 bits of float16.
const (
	tableShift = 8e-3
	normShift  = 2e-3
)

// hasCommonFactor reports whether the differences follow from a common factor: regression of the differences on the
// values gives a factor that deviates from 1 by more than minShift and by more than minSigmas standard deviations.
func (t *tally) hasCommonFactor(minShift float64) bool {
	const minElements, minSigmas = 32, 20
	if t.used < minElements || t.values == 0 || !t.isFloat {
		return false
	}
	shift := t.products / t.values
	residual := math.Sqrt(max(0, t.squares-float64(2*shift*t.products)+float64(shift*shift*t.values)) / t.used)
	return math.Abs(shift) > minShift && math.Abs(shift)*math.Sqrt(t.values)/max(residual, tiny) > minSigmas
}
