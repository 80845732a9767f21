package metrics

import (
	"encoding/binary"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// slowElement is one element, decoded for itself.
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

// slowAbs returns |n-r| rounded once.
func slowAbs(n, r slowElement) float64 {
	if n.im == 0 && r.im == 0 {
		a, b := new(big.Float).SetPrec(3000).SetFloat64(n.re), new(big.Float).SetPrec(3000).SetFloat64(r.re)
		if n.exact != nil {
			a.SetInt(n.exact)
		}
		if r.exact != nil {
			b.SetInt(r.exact)
		}
		d, _ := a.Sub(a, b).Float64()
		return math.Abs(d)
	}
	return modulus(n.re-r.re, n.im-r.im)
}

// integral is what a slow look at every pair says beside the metrics.
type integral struct {
	Classes                          Classes
	Beyond, Mismatch, Cells          int64
	First, Last, CellFirst, CellLast int64
	AbsBins, RelBins                 map[int32]int64
	AbsZeros, RelZeros               int64
	Joint                            map[[2]int32]JointBin
	Offsets                          []int64
}

func integralOf(r *Result) integral {
	out := integral{
		Classes: r.Classes,
		Beyond:  r.Beyond.Count, Mismatch: r.Mismatch.Count, Cells: r.HPAA.Count,
		First: -1, Last: -1, CellFirst: -1, CellLast: -1,
		AbsBins: map[int32]int64{}, RelBins: map[int32]int64{},
		AbsZeros: r.AbsHistogram.Zeros, RelZeros: r.RelHistogram.Zeros,
		Joint: map[[2]int32]JointBin{}, Offsets: r.ErrorOffsets,
	}
	if r.Beyond.First != nil {
		out.First, out.Last = r.Beyond.First.Offset, r.Beyond.Last.Offset
	}
	if r.HPAA.First != nil {
		out.CellFirst, out.CellLast = r.HPAA.First.Offset, r.HPAA.Last.Offset
	}
	for _, b := range r.AbsHistogram.Bins {
		out.AbsBins[b.Bin] = b.Count
	}
	for _, b := range r.RelHistogram.Bins {
		out.RelBins[b.Bin] = b.Count
	}
	for _, b := range r.Joint {
		out.Joint[[2]int32{b.Abs, b.Ref}] = b
	}
	return out
}

// takeBounds checks that the bounds of got's joint histogram hold those of want,
// and are no wider than a bin of the histogram of |d| and a group of |r| are;
// then want takes them over.
func (want *integral) takeBounds(t testing.TB, got *integral) {
	t.Helper()
	type span struct{ min, max float64 }
	abs := map[int32]span{} // of all pairs in a group of |d|
	for key, w := range want.Joint {
		s, ok := abs[key[0]]
		if !ok {
			s = span{w.MinAbs, w.MaxAbs}
		}
		abs[key[0]] = span{min(s.min, w.MinAbs), max(s.max, w.MaxAbs)}
	}
	for key, w := range want.Joint {
		g, ok := got.Joint[key]
		if !ok {
			continue // the comparison of all fields finds it
		}
		if g.MinAbs > w.MinAbs || g.MaxAbs < w.MaxAbs || g.MinRef > w.MinRef || g.MaxRef < w.MaxRef {
			t.Errorf("joint bin %v has bounds %v, want them to hold %v", key, g, w)
		}
		s := abs[key[0]]
		if key[0] != ZeroBin && s.min > 1e-300 && (g.MinAbs < s.min*(0.8888888888888888-1e-15) || g.MaxAbs > s.max*1.125) || g.MaxRef > 65536*g.MinRef {
			t.Errorf("joint bin %v has bounds %v, want |d| within %v", key, g, s)
		}
		w.MinAbs, w.MaxAbs, w.MinRef, w.MaxRef = g.MinAbs, g.MaxAbs, g.MinRef, g.MaxRef
		want.Joint[key] = w
	}
}

// slowBin returns the histogram bin by its definition.
func slowBin(x float64) int32 {
	if math.IsInf(x, 1) {
		return 1024 * 8
	}
	fraction, exp := math.Frexp(x) // 0.5 to 1
	return int32(exp-1)*8 + int32((2*fraction-1)*8)
}

func slowGroup(x float64) int32 {
	switch {
	case x == 0:
		return ZeroBin
	case math.IsInf(x, 1):
		return 64
	}
	_, exp := math.Frexp(x)
	return int32(math.Floor(float64(exp-1) / 16))
}

func slowPasses(l Limits, abs, ref float64) bool {
	switch l.Mode {
	case BothExceeded:
		return abs <= l.Atol || abs <= l.Rtol*ref
	case EitherExceeded:
		return abs <= l.Atol && abs <= l.Rtol*ref
	}
	return abs <= l.Atol+float64(l.Rtol*ref) // rounded twice, on every processor
}

// slowCompare looks at the pairs one by one.
func slowCompare(p *slowPair) integral {
	out := integral{
		First: -1, Last: -1, CellFirst: -1, CellLast: -1,
		AbsBins: map[int32]int64{}, RelBins: map[int32]int64{}, Joint: map[[2]int32]JointBin{},
	}
	bad := map[int64]bool{}
	for i, x := range p.all {
		out.Classes[x.n.class][x.r.class]++
		if x.n.class != x.r.class {
			bad[int64(i)] = true
			out.Mismatch++
		}
	}
	for _, f := range errorsOf(p.hpaa) {
		slowError(&out.Cells, &out.CellFirst, &out.CellLast, f.offset)
	}
	for _, f := range errorsOf(p.finite) {
		bad[f.offset] = true
		slowError(&out.Beyond, &out.First, &out.Last, f.offset)
	}
	for _, offset := range slices.Sorted(maps.Keys(bad)) {
		if len(out.Offsets) < 64 {
			out.Offsets = append(out.Offsets, offset)
		}
	}
	for i := range p.finite {
		out.count(&p.finite[i])
	}
	return out
}

// slowError counts an error.
func slowError(count, first, last *int64, offset int64) {
	if *count == 0 {
		*first = offset
	}
	*count++
	*last = offset
}

// count counts a pair in the histograms.
func (want *integral) count(f *slowFinite) {
	if f.abs64 != 0 {
		want.AbsBins[slowBin(f.abs64)]++
	} else {
		want.AbsZeros++
	}
	if f.rel != nil {
		if rel := relative64(f); rel != 0 {
			want.RelBins[slowBin(rel)]++
		} else {
			want.RelZeros++
		}
	}
	key := [2]int32{slowGroup(f.abs64), slowGroup(f.magnitude)}
	cell, ok := want.Joint[key]
	if !ok {
		cell = JointBin{Abs: key[0], Ref: key[1], MinAbs: f.abs64, MaxAbs: f.abs64, MinRef: f.magnitude, MaxRef: f.magnitude}
	}
	cell.Count++
	cell.MinAbs, cell.MaxAbs = min(cell.MinAbs, f.abs64), max(cell.MaxAbs, f.abs64)
	cell.MinRef, cell.MaxRef = min(cell.MinRef, f.magnitude), max(cell.MaxRef, f.magnitude)
	want.Joint[key] = cell
}

// slowULP measures distances by looking up values in a list of all of them.
type slowULP struct {
	dtype   tensor.DType
	values  []float64 // of types up to 16 bits
	highest float64
	list    []float64 // the values with the places next to them
	zero    int
}

// slowULPs keeps the lists of types, which take long to make.
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

// rank returns the place of x rounded to nearest among all values, ties to the
// one an even number of places from zero; one more than the last place if the
// format would round it to beyond its range.
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

// randomElement stores an element with any bits, or a small number.
func randomElement(random *rand.Rand, dst []byte, d tensor.DType) []byte {
	size := d.UnitSize()
	if size == 1 || random.IntN(3) == 0 {
		for range size {
			dst = append(dst, byte(random.Uint32()))
		}
		return dst
	}
	x := float64(random.IntN(9)-4) * math.Ldexp(1, random.IntN(4))
	switch d.Host() {
	case tensor.HostFloat16:
		return append(dst, byte(random.IntN(4)), byte(0x3c+random.IntN(4)|random.IntN(2)<<7))
	case tensor.HostFloat32:
		if size == 2 {
			return binary.LittleEndian.AppendUint16(dst, uint16(math.Float32bits(float32(x))>>16))
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x+random.NormFloat64()*1e-3)))
	case tensor.HostFloat64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	case tensor.HostComplex64:
		if size == 4 {
			return append(dst, byte(random.IntN(4)), 0x3c, byte(random.IntN(4)), 0xbc)
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(random.IntN(5))))
	case tensor.HostComplex128:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(random.IntN(5))))
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))[:size]...)
}

func decodable() (types []tensor.DType) {
	for d := range tensor.DType(64) {
		if d.Host() != tensor.HostNone {
			types = append(types, d)
		}
	}
	return types
}

// checkSlowly compares a result with a slow look at every pair.
func checkSlowly(t testing.TB, req Request, ref, npu memory, got *Result) {
	t.Helper()
	p := newSlowPair(t, req, ref, npu)
	checkTable(t, p, got)
	want, seen := slowCompare(p), integralOf(got)
	want.takeBounds(t, &seen)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(req, diff)
	}
}

// TestNaive compares results with a slow look at every pair, for all pairs of
// types.
func TestNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, npuType := range decodable() {
		for _, refType := range decodable() {
			t.Run(refType.String()+"-"+npuType.String(), func(t *testing.T) {
				req := Request{
					Shape: tensor.Shape{3, 29}, RefDType: refType, NPUDType: npuType,
					Limits: Limits{Atol: 0.25, Rtol: 0.5, Mode: Mode(random.IntN(3))},
				}
				ref, npu := memory{nil, refType.UnitSize()}, memory{nil, npuType.UnitSize()}
				for range 87 {
					ref.data = randomElement(random, ref.data, refType)
					if refType == npuType && random.IntN(2) == 0 {
						npu.data = append(npu.data, ref.data[len(ref.data)-ref.size:]...)
						npu.data[len(npu.data)-npu.size] ^= byte(random.IntN(3))
						continue
					}
					npu.data = randomElement(random, npu.data, npuType)
				}
				got, err := Compare(t.Context(), req, ref, npu)
				if err != nil {
					t.Fatal(err)
				}
				checkSlowly(t, req, ref, npu, got)
			})
		}
	}
}
