package metrics

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"

	"dumptool/internal/tensor"
)

// slowPair is a pair of tensors, decoded element by element, for the slow references. These use
// only the formulas, in numbers that neither overflow nor lose digits. Elements, their moduli,
// |d| and the limits are float64 by definition: a metric cannot undo the rounding of nearly equal
// or subnormal values.
type slowPair struct {
	req     Request
	complex bool // either side is complex
	ulp     *slowULP
	// all has every pair, finite the pairs that are finite on both sides, hpaa the pairs after
	// HPAA's replacement.
	all          []slowElements
	finite, hpaa []slowFinite
	sums         map[string]*big.Float // cache of sums
	spreads      map[string]slowSpread
}

type slowElements struct{ n, r slowElement }

// slowElement is an element decoded on its own.
type slowElement struct {
	re, im float64
	exact  *big.Int // integers
	class  Class
}

func slowDecode(t testing.TB, d tensor.DType, src []byte) slowElement {
	t.Helper()
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		t.Fatal(err)
	}
	host := make([]byte, decoder.Host().Size())
	decoder.Decode(host, src)
	var e slowElement
	if decoder.Host().Complex() {
		var z [1]complex128
		tensor.Complex128s(z[:], host, decoder.Host())
		e.re, e.im = real(z[0]), imag(z[0])
	} else {
		var x [1]float64
		tensor.Float64s(x[:], host, decoder.Host())
		e.re = x[0]
	}
	switch decoder.Host() {
	case tensor.HostInt64:
		e.exact = big.NewInt(int64(binary.LittleEndian.Uint64(host)))
	case tensor.HostUint64:
		e.exact = new(big.Int).SetUint64(binary.LittleEndian.Uint64(host))
	case tensor.HostFloat16, tensor.HostFloat32, tensor.HostFloat64, tensor.HostComplex64, tensor.HostComplex128:
	default:
		e.exact = big.NewInt(int64(e.re))
	}
	e.class = slowClass(e.re, e.im)
	return e
}

func slowClass(re, im float64) Class {
	has := func(test func(x float64) bool) bool { return test(re) || test(im) }
	switch {
	case has(math.IsNaN):
		return NaN
	case has(func(x float64) bool { return math.IsInf(x, 1) }):
		return PosInf
	case has(func(x float64) bool { return math.IsInf(x, -1) }):
		return NegInf
	}
	return Finite
}

// slowAbs returns |n-r| of the float64 values, or the exact one if these are equal.
func slowAbs(n, r slowElement) float64 {
	if n.im == 0 && r.im == 0 {
		d, _ := slowDifference(n, r).Float64()
		return math.Abs(d)
	}
	return modulus(n.re-r.re, n.im-r.im)
}

// slowDifference returns n-r of real elements, which may be beyond the range of float64.
func slowDifference(n, r slowElement) *big.Float {
	if n.re != r.re {
		return minus(big64(n.re), big64(r.re))
	}
	a, b := big64(n.re), big64(r.re)
	if n.exact != nil {
		a.SetInt(n.exact)
	}
	if r.exact != nil {
		b.SetInt(r.exact)
	}
	return minus(a, b)
}

// slowFinite is a pair of finite elements.
type slowFinite struct {
	slowElements
	offset    int64
	parts     []slowPart
	abs, ref  *big.Float // |d| and |r| as float64
	abs64     float64    // |d|; +inf beyond the range of float64
	rel       *big.Float // as float64; nil where r is 0
	isError   bool
	ulps      float64
	magnitude float64 // |r|
}

// slowPart is a real pair, or one part of a complex pair, as float64; d may exceed
// its range.
type slowPart struct{ n, r, d *big.Float }

// big64 returns x with more digits than any formula can lose.
func big64(x float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(x) }

func plus(a, b *big.Float) *big.Float  { return big64(0).Add(a, b) }
func minus(a, b *big.Float) *big.Float { return big64(0).Sub(a, b) }
func times(a, b *big.Float) *big.Float { return big64(0).Mul(a, b) }
func over(a, b *big.Float) *big.Float  { return big64(0).Quo(a, b) }
func root(a *big.Float) *big.Float     { return big64(0).Sqrt(a) }
func size(a *big.Float) *big.Float     { return big64(0).Abs(a) }

func larger(a, b *big.Float) *big.Float {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// in64 returns x as float64; it may overflow.
func in64(x *big.Float) *big.Float {
	if rounded, _ := x.Float64(); !math.IsInf(rounded, 0) {
		return big64(rounded)
	}
	return x
}

// part returns the real or the imaginary part of a pair.
func (e slowElements) part(imaginary bool) slowPart {
	if imaginary {
		return slowPart{n: big64(e.n.im), r: big64(e.r.im), d: in64(minus(big64(e.n.im), big64(e.r.im)))}
	}
	return slowPart{n: big64(e.n.re), r: big64(e.r.re), d: in64(slowDifference(e.n, e.r))}
}

// magnitude returns an element of a pair if it is real, else its modulus; finite for finite
// elements.
func (p *slowPair) magnitude(e slowElement) float64 {
	switch {
	case !p.complex:
		return e.re
	case e.class == Finite:
		return min(modulus(e.re, e.im), math.MaxFloat64)
	}
	return modulus(e.re, e.im)
}

func newSlowPair(t testing.TB, req Request, ref, npu memory) *slowPair {
	t.Helper()
	p := &slowPair{req: req, complex: req.RefDType.Host().Complex() || req.NPUDType.Host().Complex(), ulp: newSlowULP(t, req.NPUDType), sums: map[string]*big.Float{}, spreads: map[string]slowSpread{}}
	total, _ := req.Shape.Count()
	for i := range total {
		pair := slowElements{
			n: slowDecode(t, req.NPUDType, npu.data[i*int64(npu.size):][:npu.size]),
			r: slowDecode(t, req.RefDType, ref.data[i*int64(ref.size):][:ref.size]),
		}
		if p.complex { // 64-bit integers are rounded beside complex numbers
			pair.n.exact, pair.r.exact = nil, nil
		}
		p.all = append(p.all, pair)
		finite := pair.n.class == Finite && pair.r.class == Finite
		if finite {
			p.finite = append(p.finite, p.compare(pair, i))
			p.hpaa = append(p.hpaa, p.finite[len(p.finite)-1])
		} else if !p.complex {
			pair.n, pair.r = p.replaced(pair.n), p.replaced(pair.r)
			p.hpaa = append(p.hpaa, p.compare(pair, i))
		}
	}
	return p
}

// replaced returns an element after HPAA's replacement.
func (p *slowPair) replaced(e slowElement) slowElement {
	switch e.class {
	case NaN:
		return slowElement{}
	case PosInf:
		return slowElement{re: p.ulp.highest}
	case NegInf:
		return slowElement{re: -p.ulp.highest}
	}
	return e
}

func (p *slowPair) compare(pair slowElements, offset int64) slowFinite {
	f := slowFinite{slowElements: pair, offset: offset, abs64: slowAbs(pair.n, pair.r), magnitude: math.Abs(p.magnitude(pair.r))}
	f.parts = []slowPart{pair.part(false)}
	if p.complex {
		f.parts = append(f.parts, pair.part(true))
	}
	f.abs, f.ref = big64(f.abs64), big64(f.magnitude)
	if f.magnitude != 0 {
		f.rel = big64(f.abs64 / f.magnitude)
	}
	f.isError = !f.passes(p.req.Limits)
	f.ulps = max(p.ulp.distance(pair.n, pair.r, false), p.ulp.distance(pair.n, pair.r, true))
	return f
}

// passes reports whether a pair passes; a difference beyond the range of float64 does not.
func (f *slowFinite) passes(l Limits) bool {
	return !math.IsInf(f.abs64, 1) && slowPasses(l, f.abs64, f.magnitude)
}

// The largest magnitudes of n, r and d.
func ofN(p *slowPair) float64 {
	return largest(p.finite, func(f *slowFinite) float64 { return math.Abs(p.magnitude(f.n)) }).value
}
func ofR(p *slowPair) float64 {
	return largest(p.finite, func(f *slowFinite) float64 { return f.magnitude }).value
}
func ofD(p *slowPair) float64 { return largest(p.finite, absolute64).value }

// squared reports whether float64 holds the squares of values up to a magnitude.
func squared(largest float64) bool { return largest == 0 || 0x1p-400 < largest && largest < 0x1p400 }

func slowPasses(l Limits, abs, ref float64) bool {
	switch l.Mode {
	case BothExceeded:
		return abs <= l.Atol || abs <= l.Rtol*ref
	case EitherExceeded:
		return abs <= l.Atol && abs <= l.Rtol*ref
	}
	return abs <= l.Atol+float64(l.Rtol*ref) // rounded twice, on every processor
}

// limit returns the largest |d| that passes, without the rounding of float64.
func (f *slowFinite) limit(l Limits) *big.Float {
	atol, relative := big64(l.Atol), times(big64(l.Rtol), f.ref)
	switch {
	case l.Mode == IsClose:
		return plus(atol, relative)
	case (l.Mode == BothExceeded) == (atol.Cmp(relative) > 0):
		return atol
	}
	return relative
}

// total sums f over the parts of the finite pairs.
func total(pairs []slowFinite, of func(p slowPart) *big.Float) *big.Float {
	sum := big64(0)
	for _, f := range pairs {
		for _, p := range f.parts {
			sum = plus(sum, of(p))
		}
	}
	return sum
}

// The sums behind most metrics.
func (p *slowPair) nn() *big.Float {
	return p.sum("nn", func(x slowPart) *big.Float { return times(x.n, x.n) })
}

func (p *slowPair) rr() *big.Float {
	return p.sum("rr", func(x slowPart) *big.Float { return times(x.r, x.r) })
}

func (p *slowPair) dd() *big.Float {
	return p.sum("dd", func(x slowPart) *big.Float { return times(x.d, x.d) })
}

func (p *slowPair) nr() *big.Float {
	return p.sum("nr", func(x slowPart) *big.Float { return times(x.n, x.r) })
}

func (p *slowPair) sum(name string, of func(x slowPart) *big.Float) *big.Float {
	if p.sums[name] == nil {
		p.sums[name] = total(p.finite, of)
	}
	return p.sums[name]
}

func (p *slowPair) sumAbs() *big.Float { return sumOver(p.finite, slowFinite.absolute) }
func (p *slowPair) sumRef() *big.Float { return sumOver(p.finite, slowFinite.reference) }

func (f slowFinite) absolute() *big.Float  { return f.abs }
func (f slowFinite) reference() *big.Float { return f.ref }
func (f slowFinite) relative() *big.Float  { return f.rel }

// sumOver sums f over pairs; nil results are left out.
func sumOver(pairs []slowFinite, of func(f slowFinite) *big.Float) *big.Float {
	sum, _ := sumAndCount(pairs, of)
	return sum
}

func sumAndCount(pairs []slowFinite, of func(f slowFinite) *big.Float) (sum *big.Float, count int) {
	sum = big64(0)
	for _, f := range pairs {
		if x := of(f); x != nil {
			sum = plus(sum, x)
			count++
		}
	}
	return sum, count
}

// count counts pairs.
func (p *slowPair) count(of func(f *slowFinite) bool) (n int) {
	for i := range p.finite {
		if of(&p.finite[i]) {
			n++
		}
	}
	return n
}

// slowSpread has the mean of values, their mean square, the mean square of their distances from
// the mean, and the largest magnitude.
type slowSpread struct {
	count                             int
	largest                           float64
	mean, meanAbs, square, deviations *big.Float
}

func spreadOf(values []*big.Float) slowSpread {
	s := slowSpread{count: len(values), mean: big64(0), meanAbs: big64(0), square: big64(0), deviations: big64(0)}
	if s.count == 0 {
		return s
	}
	n := big64(float64(len(values)))
	for _, x := range values {
		s.mean, s.meanAbs, s.square = plus(s.mean, x), plus(s.meanAbs, size(x)), plus(s.square, times(x, x))
		magnitude, _ := size(x).Float64()
		s.largest = max(s.largest, magnitude)
	}
	s.mean, s.meanAbs, s.square = over(s.mean, n), over(s.meanAbs, n), over(s.square, n)
	for _, x := range values {
		d := minus(x, s.mean)
		s.deviations = plus(s.deviations, times(d, d))
	}
	s.deviations = over(s.deviations, n)
	return s
}

// spreadOfParts returns the spread of n, r or d.
func (p *slowPair) spreadOfParts(of func(x slowPart) *big.Float) slowSpread {
	var values []*big.Float
	for _, f := range p.finite {
		for _, x := range f.parts {
			values = append(values, of(x))
		}
	}
	return spreadOf(values)
}

// slowSide is one side of a pair.
type slowSide struct {
	name     string
	pair     *slowPair
	dtype    tensor.DType
	elements []slowElement
}

func (p *slowPair) ref() *slowSide {
	s := &slowSide{name: RefSide, pair: p, dtype: p.req.RefDType}
	for _, x := range p.all {
		s.elements = append(s.elements, x.r)
	}
	return s
}

func (p *slowPair) npu() *slowSide {
	s := &slowSide{name: NPUSide, pair: p, dtype: p.req.NPUDType}
	for _, x := range p.all {
		s.elements = append(s.elements, x.n)
	}
	return s
}

// values returns the finite elements, or their moduli.
func (s *slowSide) values() (values []float64) {
	for _, e := range s.elements {
		if e.class == Finite {
			values = append(values, s.pair.magnitude(e))
		}
	}
	return values
}

// spread returns the spread of the finite elements.
func (s *slowSide) spread() slowSpread {
	if known, ok := s.pair.spreads[s.name]; ok {
		return known
	}
	s.pair.spreads[s.name] = s.newSpread()
	return s.pair.spreads[s.name]
}

func (s *slowSide) newSpread() slowSpread {
	var values []*big.Float
	for _, e := range s.elements {
		if e.class == Finite {
			values = append(values, big64(s.pair.magnitude(e)))
		}
	}
	return spreadOf(values)
}

func (s *slowSide) count(of func(e slowElement) bool) (n int) {
	for _, e := range s.elements {
		if of(e) {
			n++
		}
	}
	return n
}

// smallestNormal is the smallest normal number of a type, 0 for integers.
func smallestNormal(d tensor.DType) float64 {
	switch d {
	case tensor.Float16, tensor.Complex32, tensor.Float8E5M2:
		return 0x1p-14
	case tensor.BFloat16, tensor.Float32, tensor.Complex64:
		return 0x1p-126
	case tensor.Float64, tensor.Complex128:
		return 0x1p-1022
	case tensor.Float8E4M3FN:
		return 0x1p-6
	case tensor.HiFloat8:
		return 0x1p-15
	case tensor.Float8E8M0:
		return 0x1p-127
	case tensor.Float6E3M2:
		return 0.25
	case tensor.Float6E2M3, tensor.Float4E2M1, tensor.Float4E1M2:
		return 1
	}
	return 0
}

// limitSign returns the limit of the NPU's type that an element rounds to: 1 or -1, for the
// imaginary part 2 or -2, 0 for none.
func (p *slowPair) limitOf(e slowElement) int {
	if s := p.ulp.limitOf(e.re, e.exact); s != 0 || !p.complex {
		return s
	}
	return 2 * p.ulp.limitOf(e.im, nil)
}

func (u *slowULP) limitOf(x float64, exact *big.Int) int {
	var low, high float64
	switch {
	case u.dtype == tensor.Bool:
		return 0
	case u.values != nil:
		switch u.rank(x) {
		case len(u.values) - 1 - u.zero + u.added():
			return 1
		case -u.zero + u.added():
			if u.values[0] < 0 {
				return -1
			}
		}
		return 0
	case u.dtype == tensor.Float32:
		low, high = -math.MaxFloat32, math.MaxFloat32
		x = float64(float32(x))
	case u.dtype == tensor.Float64:
		low, high = -math.MaxFloat64, math.MaxFloat64
	default:
		return u.integerLimit(x, exact)
	}
	switch x {
	case low:
		return -1
	case high:
		return 1
	}
	return 0
}

// added is 1 if the list begins with a value below the smallest.
func (u *slowULP) added() int {
	if u.values[0] < 0 {
		return 1
	}
	return 0
}

func (u *slowULP) integerLimit(x float64, exact *big.Int) int {
	if exact == nil {
		exact, _ = big64(math.RoundToEven(x)).Int(nil)
	}
	bits := uint(u.dtype.Bits())
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), bits)
	if l, _ := intLimits(u.dtype); l < 0 {
		low.Neg(low.Rsh(high, 1))
		high.Rsh(high, 1)
	}
	high.Sub(high, big.NewInt(1))
	switch {
	case exact.Cmp(high) == 0:
		return 1
	case low.Sign() < 0 && exact.Cmp(low) == 0:
		return -1
	}
	return 0
}

// slowULP measures distances by searching in a list of all values of a type.
type slowULP struct {
	dtype   tensor.DType
	values  []float64 // of types up to 16 bits
	highest float64
	list    []float64 // the values with the places next to them
	zero    int
}

// slowULPs caches the lists of types, which are slow to build.
var slowULPs sync.Map

func newSlowULP(t testing.TB, d tensor.DType) *slowULP {
	t.Helper()
	if u, ok := slowULPs.Load(d); ok {
		return u.(*slowULP)
	}
	u := makeSlowULP(t, d)
	slowULPs.Store(d, u)
	return u
}

func makeSlowULP(t testing.TB, d tensor.DType) *slowULP {
	t.Helper()
	u := &slowULP{dtype: d}
	size := d.UnitSize()
	part := map[tensor.DType]tensor.DType{tensor.Complex32: tensor.Float16, tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64}
	if p, ok := part[d]; ok {
		u.dtype, size = p, p.UnitSize()
	}
	switch {
	case size <= 2:
		for code := range 1 << (8 * size) {
			src := binary.LittleEndian.AppendUint16(nil, uint16(code))[:size]
			if x := slowDecode(t, u.dtype, src); x.class == Finite {
				u.values = append(u.values, x.re)
			}
		}
		slices.Sort(u.values)
		u.values = slices.Compact(u.values)
		u.highest = u.values[len(u.values)-1]
		u.zero, _ = slices.BinarySearch(u.values, 0)
		if u.values[0] < 0 {
			u.list = append(u.list, 2*u.values[0]-u.values[1])
			u.zero++
		}
		u.list = append(append(u.list, u.values...), 2*u.highest-u.values[len(u.values)-2])
	case u.dtype == tensor.Float32:
		u.highest = math.MaxFloat32
	case u.dtype == tensor.Float64:
		u.highest = math.MaxFloat64
	default: // integers, whose limits do not matter beside an infinity
		_, u.highest = intLimits(u.dtype)
	}
	return u
}

func intLimits(d tensor.DType) (low, high float64) {
	if h := d.Host(); h == tensor.HostUint32 || h == tensor.HostUint64 {
		return 0, math.Ldexp(1, d.Bits()) - 1
	}
	return -math.Ldexp(1, d.Bits()-1), math.Ldexp(1, d.Bits()-1) - 1
}

func (u *slowULP) distance(n, r slowElement, imaginary bool) float64 {
	a, b := n.re, r.re
	if imaginary {
		a, b = n.im, r.im
	}
	switch u.dtype.Host() {
	case tensor.HostFloat64:
		return slowOrdered(math.Float64bits(a), math.Float64bits(b), 63)
	case tensor.HostFloat32, tensor.HostFloat16:
		if u.values == nil {
			return slowOrdered(uint64(math.Float32bits(float32(a))), uint64(math.Float32bits(float32(b))), 31)
		}
		return math.Abs(float64(u.rank(a) - u.rank(b)))
	}
	if imaginary {
		return math.Abs(math.RoundToEven(b))
	}
	x := r
	x.re = math.RoundToEven(b)
	n.im, x.im = 0, 0
	return slowAbs(n, x)
}

func slowOrdered(a, b uint64, sign int) float64 {
	value := func(x uint64) *big.Int {
		v := new(big.Int).SetUint64(x &^ (1 << sign))
		if x>>sign != 0 {
			v.Neg(v)
		}
		return v
	}
	d := new(big.Int).Sub(value(a), value(b))
	f, _ := new(big.Float).SetInt(d.Abs(d)).Float64()
	return f
}

// rank returns the index of x, rounded to nearest, among all values; ties go to the value at an
// even distance from zero. It is one beyond the last index if the format rounds x beyond its
// range.
func (u *slowULP) rank(x float64) int {
	list, zero, last := u.list, u.zero, len(u.list)-2
	i, found := slices.BinarySearch(list, x)
	switch {
	case found:
	case i > last+1:
		i = last + 1
	case i > 0:
		below, above := new(big.Float).SetFloat64(x), new(big.Float).SetFloat64(list[i])
		below.Sub(below, new(big.Float).SetFloat64(list[i-1]))
		above.Sub(above, new(big.Float).SetFloat64(x))
		if c := below.Cmp(above); c < 0 || c == 0 && (i-1-zero)%2 == 0 {
			i--
		}
	}
	return i - zero
}

// quantile returns the value at which a share of the values is reached.
func quantile(values []float64, share float64) float64 {
	slices.SortFunc(values, cmp.Compare[float64])
	return values[int(math.Ceil(share*float64(len(values))))-1]
}
