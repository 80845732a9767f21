package noise

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// slowly computes the formulas of Noise over whole tensors, with unfolded groups. It shares no
// code with the collector: every number has its own loop.
func slowly(req *Request, n, r []float64) *Noise {
	t := req.Type
	total := len(n)
	want := &Noise{Type: t, Shape: req.Shape, Elements: int64(total)}
	ok := make([]bool, total)
	r0, d, n0 := make([]float64, total), make([]float64, total), make([]float64, total)
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	var count float64
	for i := range n {
		x, y := r[i], n[i]
		fr, fn := finite(x), finite(y)
		sign := math.Signbit(x) == math.Signbit(y)
		saturated := math.IsInf(x, 0) && fn && math.Abs(y) >= .999*t.Max && sign ||
			math.IsInf(y, 0) && fr && math.Abs(x) >= .999*t.Max && sign ||
			fr && fn && math.Abs(x) > t.Max
		mask := !math.IsInf(req.Mask, -1) && x <= req.Mask
		same := x == y || math.IsNaN(x) && math.IsNaN(y)
		if saturated && fr && !mask {
			want.Overflows++
		}
		if !fn && !same && !saturated {
			want.NonFinite++
		}
		if ok[i] = fr && fn && !saturated && !mask; ok[i] {
			r0[i], n0[i], d[i] = x, y, y-x
			count++
		}
	}
	want.Count = int64(count)
	weight := max(count, 1)
	over := func(f func(i int) float64) (sum float64) {
		for i := range n {
			if ok[i] {
				sum += f(i)
			}
		}
		return sum
	}
	square := func(x float64) float64 { return x * x }
	ulp2 := func(i int) float64 {
		if t.Integer || !ok[i] {
			return 0
		}
		_, e := math.Frexp(r0[i])
		if r0[i] == 0 {
			e = -5000
		}
		return square(math.Ldexp(1, max(e-1, t.MinExp)-t.Mantissa))
	}
	rr, dd := over(func(i int) float64 { return square(r0[i]) }), over(func(i int) float64 { return square(d[i]) })
	dr := over(func(i int) float64 { return d[i] * r0[i] })
	want.RefRMS, want.RMS = math.Sqrt(rr/weight), math.Sqrt(dd/weight)
	want.RefMean, want.Mean = over(func(i int) float64 { return r0[i] })/weight, over(func(i int) float64 { return d[i] })/weight
	want.RefStd = math.Sqrt(over(func(i int) float64 { return square(r0[i] - want.RefMean) }) / weight)
	want.Rounding = math.Sqrt(over(ulp2) / weight / 12)
	for i := range d {
		want.RefMax = max(want.RefMax, math.Abs(r0[i]))
		if a := math.Abs(d[i]); a > want.Max || i == 0 {
			want.Max, want.RefAtMax = a, math.Abs(r0[i])
		}
	}
	if rr > 0 {
		want.Scale = dr / rr
	}
	want.Residual = math.Sqrt(over(func(i int) float64 { return square(d[i] - want.Scale*r0[i]) }) / weight)
	if dd > 0 {
		for _, sign := range []float64{1, -1} {
			mine := func(f func(i int) float64) float64 {
				return over(func(i int) float64 {
					if r0[i]*sign > 0 {
						return f(i)
					}
					return 0
				})
			}
			if q := mine(func(i int) float64 { return square(r0[i]) }); q > 0 {
				want.ScaleBySign += square(mine(func(i int) float64 { return d[i] * r0[i] })) / q / dd
			}
		}
		want.TowardZero = math.Abs(over(func(i int) float64 {
			if math.Abs(r0[i]) < 0x1p-1022 {
				return 0
			}
			return math.Copysign(1, r0[i]) * d[i]
		})) / weight / want.RMS
	}
	type octave struct{ count, dd, rr float64 }
	octaves := map[int]*octave{}
	var magnitudes []float64
	minN, maxN := math.Inf(1), math.Inf(-1)
	values, bits := map[float64]bool{}, uint64(0)
	for i := range d {
		values[n0[i]+0] = true
		if !ok[i] {
			continue
		}
		magnitudes = append(magnitudes, math.Abs(d[i]))
		minN, maxN = min(minN, n0[i]), max(maxN, n0[i])
		if n0[i] != 0 {
			fraction, _ := math.Frexp(math.Abs(n0[i]))
			bits |= uint64(math.Ldexp(fraction, 53))
		}
		_, e := math.Frexp(r0[i])
		if math.Abs(r0[i]) < 0x1p-1022 {
			e = -9999
		}
		o := octaves[e]
		if o == nil {
			o = new(octave)
			octaves[e] = o
		}
		o.count++
		o.dd += square(d[i])
		o.rr += square(r0[i])
		if a := math.Abs(r0[i]); a > 0 && a < math.Ldexp(1, t.MinExp) {
			want.Subnormal += 1 / weight
		}
	}
	for _, o := range octaves {
		if o.rr > 0 {
			want.MaxRelative = max(want.MaxRelative, math.Sqrt(o.dd/o.rr))
		}
		want.MaxAbsolute = max(want.MaxAbsolute, math.Sqrt(o.dd/o.count))
	}
	want.Constant = minN == maxN
	want.Bits = t.Mantissa
	if !t.Integer && len(values) >= 64 && bits != 0 {
		for want.Bits = 52; bits&1 == 0; bits >>= 1 {
			want.Bits--
		}
	}
	if len(magnitudes) > 0 {
		slices.Sort(magnitudes)
		x := magnitudes[(9*len(magnitudes)+9)/10-1]
		if fraction, e := math.Frexp(x); x > 0 {
			want.P90 = math.Ldexp(math.Floor(fraction*16)/16, e)
		}
	}
	length := 1
	if k := len(req.Shape); k > 0 {
		length = int(req.Shape[k-1])
	}
	row := length
	if k := len(req.Shape); k >= 4 && total/max(length, 1) > 4096 && (length < 32 || length < 64 && int64(length) == req.Shape[k-2]) {
		row = length * int(req.Shape[k-2])
	}
	want.Rows = slowGroups(total, total/max(row, 1), func(i int) int { return i / row }, d, r0, ulp2)
	axis := len(req.Shape) - 1
	if axis >= 3 {
		axis = 1
	}
	channels, inner := 1, 1
	if axis >= 0 {
		channels = int(req.Shape[axis])
		for _, size := range req.Shape[axis+1:] {
			inner *= int(size)
		}
	}
	want.Channels = slowGroups(total, channels, func(i int) int { return i / inner % channels }, d, r0, ulp2)
	if want.Probe = slowProbe(req.Shape, r, r0); row > length {
		want.Probe.RowMean, want.Probe.RowStd = nil, nil
	}
	rowSums := make([]float64, want.Rows.Count)
	want.Softmax = count > 0 && length > 1
	var stepD, stepR float64
	for i := range d {
		rowSums[i/row] += r0[i] * float64(length) / float64(row)
		want.Softmax = want.Softmax && r0[i] >= -1e-6 && r0[i] <= 1.001
		if i%length > 0 {
			stepD += square(d[i] - d[i-1])
			stepR += square(r0[i] - r0[i-1])
		}
	}
	for _, s := range rowSums {
		want.Softmax = want.Softmax && math.Abs(s-1) < .01
	}
	switch {
	case want.RefRMS > 0:
		spread := want.RefStd
		if spread < want.RefRMS/1000 {
			spread = want.RefRMS
		}
		want.View = max(want.RMS/spread, slowMedian(&want.Rows), slowMedian(&want.Channels))
		if stepR > 0 {
			want.View = max(want.View, math.Sqrt(stepD/stepR))
		}
		want.View = min(want.View, 1000)
	case want.RMS > 0:
		want.View = 1e9
	}
	if dd > 0 {
		for _, of := range []struct {
			groups *Groups
			group  func(i int) int
		}{{&want.Rows, func(i int) int { return i / row }}, {&want.Channels, func(i int) int { return i / inner % channels }}} {
			if of.groups.Size < 8 || of.groups.Count < 2 {
				continue
			}
			dr, rr, sum := make([]float64, of.groups.Count), make([]float64, of.groups.Count), make([]float64, of.groups.Count)
			for i := range d {
				k := of.group(i)
				dr[k] += d[i] * r0[i]
				rr[k] += r0[i] * r0[i]
				sum[k] += d[i]
			}
			var scale, mean float64
			for k := range dr {
				if rr[k] > 0 {
					scale += dr[k] * dr[k] / rr[k]
				}
				mean += sum[k] * sum[k] / float64(of.groups.Size)
			}
			want.GroupScale, want.GroupMean = max(want.GroupScale, scale/dd), max(want.GroupMean, mean/dd)
		}
	}
	if t.Name == tensor.Float32.String() {
		want.Grid = slowGrid(n, r, n0, ok)
		g := want.Grid
		unit := slowUnit(7, -126)
		g.LoneBFloat16 = slowLone(req, n0, r0, unit)
		g.RowsOffBFloat16, g.OtherRowsRMSBFloat16 = slowRowsOff(&want.Rows, row, d, ok, r0, unit)
		unit = slowUnit(10, -14)
		g.LoneFloat16 = slowLone(req, n0, r0, unit)
		g.RowsOffFloat16, g.OtherRowsRMSFloat16 = slowRowsOff(&want.Rows, row, d, ok, r0, unit)
		if 100*g.OffBFloat16 > want.Elements {
			g.LoneBFloat16 = 0
		}
		if 100*g.OffFloat16 > want.Elements {
			g.LoneFloat16 = 0
		}
	}
	unit := slowUnit(t.Mantissa, t.MinExp)
	slowSigns(want, n0, r0, ok)
	want.Lone = slowLone(req, n0, r0, unit)
	if t.Integer {
		want.Lone = slowLone(req, n0, r0, func(float64) float64 { return 1 })
		unit = func(float64) float64 { return 0 }
		slowShift(want, n0, r0)
	}
	want.RowsOff, want.OtherRowsRMS = slowRowsOff(&want.Rows, row, d, ok, r0, unit)
	return want
}

// slowUnit returns the function u(r) of a type.
func slowUnit(mantissa, minExp int) func(r float64) float64 {
	return func(r float64) float64 {
		_, e := math.Frexp(r)
		if r == 0 || e-1 < minExp {
			e = minExp + 1
		}
		return math.Ldexp(1, e-1-mantissa)
	}
}

// slowSigns counts the pairs of different signs.
func slowSigns(want *Noise, n, r []float64, ok []bool) {
	var dd, count float64
	for i, x := range r {
		if !ok[i] {
			continue
		}
		if x > 0 && !(n[i] > 0) || !(x > 0) && n[i] > 0 {
			want.Flips++
		}
		if x == 0 && n[i] != 0 || x != 0 && n[i] == 0 {
			want.OneSided++
			continue
		}
		dd += (n[i] - x) * (n[i] - x)
		count++
	}
	if want.OneSided > 0 && count > 0 {
		want.TwoSidedRMS = math.Sqrt(dd / count)
	}
}

// slowLone counts the pairs that differ by many ulp if all others differ by at most one.
func slowLone(req *Request, n, r []float64, unit func(r float64) float64) (lone int64) {
	for i, x := range r {
		d := math.Abs(n[i] - x)
		if d <= unit(x) {
			continue
		}
		if d > 32*unit(x) && d > req.Atol+req.Rtol*math.Abs(x) {
			lone++
			continue
		}
		return 0
	}
	return lone
}

// slowShift counts the pairs that differ, and lists their differences.
func slowShift(want *Noise, n, r []float64) {
	shifts := map[float64]bool{}
	for i, x := range r {
		if n[i] != x {
			want.Differing++
			shifts[n[i]-x] = true
		}
	}
	if len(shifts) == 1 {
		for shift := range shifts {
			want.Shift = shift
		}
	}
}

// slowRowsOff counts the rows that are off, and summarises the others.
func slowRowsOff(rows *Groups, length int, d []float64, ok []bool, r []float64, unit func(r float64) float64) (off int64, rms float64) {
	var others, count float64
	for row := range int(rows.Count) {
		var dd, uu float64
		for i := row * length; i < (row+1)*length; i++ {
			if dd += d[i] * d[i]; ok[i] {
				uu += unit(r[i]) * unit(r[i])
			}
		}
		if math.Sqrt(dd) > 4*math.Sqrt(uu/12) {
			off++
			continue
		}
		others += dd
		count += float64(length)
	}
	return off, math.Sqrt(others / max(count, 1))
}

// slowGrid looks at float32 elements one by one; n0 has 0 in place of excluded
// elements.
func slowGrid(n, r, n0 []float64, ok []bool) *NumberGrid {
	g := new(NumberGrid)
	values := map[float64]bool{}
	for i, x := range n0 {
		values[x] = true
		fraction, exponent := math.Frexp(x)
		has := func(bits int) bool { return math.Mod(math.Ldexp(fraction, bits+1), 1) == 0 }
		units, finite := math.Ldexp(x, 24), x-x == 0 // of the least number of float16
		if finite && !(math.Abs(x) <= 65504 && (exponent-1 >= -14 && has(10) || exponent-1 < -14 && units == math.Trunc(units))) {
			g.OffFloat16++
		}
		units = math.Ldexp(x, 133) // of the least number of bfloat16
		if finite && !(exponent-1 >= -126 && has(7) || exponent-1 < -126 && units == math.Trunc(units)) {
			g.OffBFloat16++
		}
		if ok[i] && r[i] != 0 && math.Abs(r[i]) < 0x1p-14 {
			g.Subnormal++
		}
		beyond := math.Abs(r[i]) > 65504 && math.Abs(r[i]) <= math.MaxFloat64 && math.Signbit(r[i]) == math.Signbit(n[i])
		if beyond && (ok[i] && math.Abs(x) == 65504 || math.IsInf(n[i], 0)) {
			g.Saturated++
		}
	}
	g.Distinct = min(len(values), 64)
	return g
}

// slowProbe returns the middle elements of equal parts of each axis.
func slowProbe(shape tensor.Shape, r, counted []float64) (p Probe) {
	for len(shape) > 4 {
		shape = append(tensor.Shape{shape[0] * shape[1]}, shape[2:]...)
	}
	parts := [][]int64{{}, {64}, {8, 8}, {2, 4, 8}, {2, 4, 2, 4}}[len(shape)]
	row := -1
	for i, x := range r {
		on, rest := true, int64(i)
		for axis := len(shape) - 1; axis >= 0; axis-- {
			length, at := shape[axis], rest%shape[axis]
			rest /= length
			parts := min(parts[axis], length)
			found := false
			for k := range parts {
				found = found || at == (2*k+1)*length/(2*parts)
			}
			on = on && found
		}
		if !on {
			continue
		}
		p.Values = append(p.Values, float32(x))
		if len(shape) < 2 || i/int(shape[len(shape)-1]) == row {
			continue
		}
		length := int(shape[len(shape)-1])
		row = i / length
		var sum, squares float64
		for _, y := range counted[row*length : (row+1)*length] {
			sum += y / float64(length)
		}
		for _, y := range counted[row*length : (row+1)*length] {
			squares += (y - sum) * (y - sum) / float64(length)
		}
		p.RowMean, p.RowStd = append(p.RowMean, sum), append(p.RowStd, math.Sqrt(squares))
	}
	return p
}

// slowGroups returns the numbers of count groups.
func slowGroups(total, count int, group func(i int) int, d, r []float64, ulp2 func(i int) float64) Groups {
	if total == 0 {
		return Groups{}
	}
	of := make([][]int, count)
	for i := range total {
		of[group(i)] = append(of[group(i)], i)
	}
	g := Groups{Count: int64(count), Size: int64(total / max(count, 1)), Fold: 1}
	for _, members := range of {
		size := float64(len(members))
		var rr, sum, dd, dr, mean, uu, maxR, maxD, spread float64
		for _, i := range members {
			rr += r[i] * r[i]
			sum += r[i] / size
			dd += d[i] * d[i]
			dr += d[i] * r[i]
			mean += d[i] / size
			uu += ulp2(i)
			maxR, maxD = max(maxR, math.Abs(r[i])), max(maxD, math.Abs(d[i]))
		}
		for _, i := range members {
			spread += (r[i] - sum) * (r[i] - sum)
		}
		rms, std, rd := math.Sqrt(rr/size), math.Sqrt(spread/size), math.Sqrt(dd/size)
		relative, inverse, scale := 0., 0., 0.
		if rr > 0 {
			scale = dr / rr
		}
		if rms > 0 {
			inverse = min(rms/max(std, 1e-300), 1e9)
			if rd > 0 {
				relative = min(rd/max(std, 1e-300), 1e9)
			}
		} else if rd > 0 {
			relative = 1e9
		}
		for _, c := range []struct {
			column *Column
			x      float64
		}{
			{&g.RefRMS, rms}, {&g.RefStd, std}, {&g.RefMax, maxR}, {&g.RMS, rd}, {&g.Mean, mean},
			{&g.Max, maxD}, {&g.Rounding, math.Sqrt(uu / size / 12)}, {&g.Relative, relative}, {&g.Inverse, inverse}, {&g.Scale, scale},
		} {
			*c.column = append(*c.column, float32(c.x))
		}
	}
	return g
}

// slowMedian returns the median of the relative errors of groups.
func slowMedian(g *Groups) float64 {
	if len(g.RMS) < 2 {
		return 0
	}
	values := make([]float64, len(g.RMS))
	for i := range g.RMS {
		spread := float64(g.RefStd[i])
		if spread < float64(g.RefRMS[i])/1000 {
			spread = float64(g.RefRMS[i])
		}
		if g.RefRMS[i] > 0 {
			values[i] = float64(g.RMS[i]) / spread
		}
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
