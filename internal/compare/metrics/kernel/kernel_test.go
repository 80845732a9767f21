package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// kernelValues returns finite values of many magnitudes, zeros among them.
func kernelValues(random *rand.Rand, count int) []float64 {
	values := make([]float64, count)
	for i := range values {
		values[i] = math.Ldexp(random.NormFloat64(), random.IntN(60)-40)
		switch random.IntN(8) {
		case 0:
			values[i] = 0
		case 1:
			values[i] = math.Copysign(0, -1)
		}
	}
	return values
}

// TestHeads compares the vector loops with the plain ones, bit by bit, for all relevant
// lengths.
func TestHeads(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for count := 1; count < 40; count++ {
		n, r := kernelValues(random, count), kernelValues(random, count)
		copy(n[:count/2], r)

		if got, want := SpanOf(n), slowSpan(n); got != want {
			t.Errorf("%d: span %v, want %v", count, got, want)
		}
		total := [4]float64{}
		for i, v := range n {
			total[i&3] += v
		}
		if got := Sum(n); got != sumLanes(total[:]) {
			t.Errorf("%d: sum %v, want %v", count, got, sumLanes(total[:]))
		}
	}
}

// TestNoiseHeads compares the sums of groups, columns and octaves of the vector loops with the
// plain ones, bit by bit.
func TestNoiseHeads(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 3))
	vector, plain := NewOctaves(), NewOctaves()
	var slow [octaveCount][4]Octave
	for count := 1; count < 70; count++ {
		n, r := kernelValues(random, count), kernelValues(random, count)
		for width := 1; width < 20; width++ {
			first := random.IntN(width)
			got, want := make([]Quad, (width+3)/4), make([]Quad, (width+3)/4)
			for i, x := range kernelValues(random, width) {
				got[i/4].Shift[i%4], want[i/4].Shift[i%4] = x, x
			}
			AddColumns(got, first, width, n, r, 0x1p-14)
			for i := range n {
				k := (first + i) % width
				want[k/4].addEvery(k, 1, n[i:i+1], r[i:i+1], 0x1p-14)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d from %d on: columns of %d: %v, want %v", count, first, width, got, want)
			}
		}
		var runs []int
		for left := count; left > 0; left -= runs[len(runs)-1] {
			runs = append(runs, 1+random.IntN(left))
		}
		got, want := make([]GroupSums, len(runs)), make([]GroupSums, len(runs))
		wantSigns := slowRuns(&slow, want, runs, n, r, 0x1p-14)
		for name, o := range map[string]*Octaves{"vectors": vector, "plain": plain, "vectors alone": nil, "plain alone": nil} {
			clear(got)
			if o != nil {
				o.Cover(Smallest(r), 0x1p100)
			}
			var found PairSigns
			if strings.HasPrefix(name, "vectors") {
				found = o.SumRuns(got, runs, n, r, 0x1p-14)
			} else {
				var signs signLanes
				o.sumRuns(got, runs, n, r, 0x1p-14, &signs)
				found = signs.sum()
			}
			wanted := wantSigns
			if o == nil {
				wanted.DR = 0
			}
			if found != wanted {
				t.Errorf("%s, %d: signs %v, want %v", name, count, found, wanted)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d in runs of %d: %v, want %v", name, count, runs, got, want)
			}
			if o == nil {
				continue
			}
			if o.octaves != slow {
				t.Fatalf("%s, %d: octaves differ", name, count)
			}
		}
		smallest := inf
		for _, x := range r {
			if a := math.Abs(x); a > 0 {
				smallest = min(smallest, a)
			}
		}
		if got := Smallest(r); got != smallest {
			t.Errorf("%d: smallest %v, want %v", count, got, smallest)
		}
	}
	total := 0.
	vector.Drain(func(_ int, positive, negative Octave) { total += positive.Count + negative.Count })
	if want := 70. * 69 / 2; total != want {
		t.Errorf("%v pairs in octaves, want %v", total, want)
	}
	if want := NewOctaves(); vector.octaves != want.octaves || vector.low != want.low || vector.high != want.high {
		t.Error("octaves that were taken are still there")
	}
}

// TestNumbers compares the numbers of groups with their formulas.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for round := range 5000 {
		var q Quad
		for k := range 4 {
			count := 1 + random.IntN(30)
			n, r := kernelValues(random, count), kernelValues(random, count)
			switch random.IntN(6) {
			case 0:
				copy(n, r)
			case 1:
				clear(r)
			case 2:
				clear(r)
				clear(n)
			case 3:
				for i := range r {
					r[i] = 1e3 + 1e-3*random.Float64()
					n[i] = r[i] * (1 + 1e-6*random.NormFloat64())
				}
			}
			s := sumGroup(n, r, 0x1p-14)
			if random.IntN(4) == 0 {
				s.UU = -1 // subtracting masks may leave a negative sum
			}
			q.Set(k, &s)
		}
		var got Numbers
		got.Set(&q, 0x1p-10)
		for k, count := range q.Counts {
			mean := q.R[k]/count + q.Shift[k]
			std := math.Sqrt(max(q.RR[k]/count-q.R[k]/count*(q.R[k]/count), 0))
			size, rms := math.Hypot(std, mean), math.Sqrt(q.DD[k]/count)
			check := func(name string, got, want float64) {
				if !(math.Abs(got-want) <= 1e-9*math.Abs(want)+1e-300) {
					t.Fatalf("%d: %s is %v, want %v", round, name, got, want)
				}
			}
			check("RefMean", got.RefMean[k], mean)
			check("RefRMS", got.RefRMS[k], size)
			check("RMS", got.RMS[k], rms)
			check("Mean", got.Mean[k], q.D[k]/count)
			check("Rounding", got.Rounding[k], math.Sqrt(max(q.UU[k], 0)/count/12)/1024)
			std = got.RefStd[k] // a difference of sums is not exact
			switch {
			case size == 0 && rms == 0:
				check("Relative", got.Relative[k], 0)
			case size == 0:
				check("Relative", got.Relative[k], 1e9)
			default:
				check("Relative", got.Relative[k], min(rms/max(std, 1e-300), 1e9))
				check("Inverse", got.Inverse[k], min(size/max(std, 1e-300), 1e9))
				if std < size/1000 {
					check("View", got.View[k], rms/size)
				} else {
					check("View", got.View[k], rms/std)
				}
				check("Scale", got.Scale[k], q.DR[k]/size*q.DR[k]/size/count)
			}
		}
	}
}

// sumGroup returns the sums of pairs by lane; there must be at least one pair.
func sumGroup(n, r []float64, floor float64) GroupSums {
	var q Quad
	shift := r[0]
	q.Shift = [4]float64{shift, shift, shift, shift}
	for k := range min(4, len(n)) {
		q.addEvery(k, 4, n[k:], r[k:], floor)
	}
	return GroupSums{
		Shift: shift, R: sumLanes(q.R[:]), RR: sumLanes(q.RR[:]), D: sumLanes(q.D[:]), DD: sumLanes(q.DD[:]),
		DR: sumLanes(q.DR[:]), UU: sumLanes(q.UU[:]), Count: float64(len(n)),
		MaxD: max(q.MaxD[0], q.MaxD[1], q.MaxD[2], q.MaxD[3]),
		MaxR: max(q.MaxR[0], q.MaxR[1], q.MaxR[2], q.MaxR[3]),
	}
}

// slowRuns is SumRuns by definition, pair by pair.
func slowRuns(octaves *[octaveCount][4]Octave, out []GroupSums, runs []int, n, r []float64, floor float64) (signs PairSigns) {
	var dr [4]float64
	for i, run := range runs {
		var q Quad
		for k := range run {
			x, lane := r[k], k%4
			d := n[k] - x
			o := &octaves[math.Float64bits(x)>>52][lane]
			*o = Octave{o.Count + 1, o.DD + float64(d*d), o.RR + float64(x*x), o.D + d}
			signs.Bits |= math.Float64bits(n[k])
			if x > 0 {
				dr[lane] += float64(d * x)
			}
			y, u := x-r[0], max(math.Float64frombits(math.Float64bits(x)&exponentBits), floor)
			q.R[lane] += y
			q.RR[lane] += float64(y * y)
			q.D[lane] += d
			q.DD[lane] += float64(d * d)
			q.DR[lane] += float64(d * x)
			q.UU[lane] += float64(u * u)
			q.MaxD[0], q.MaxR[0] = max(q.MaxD[0], math.Abs(d)), max(q.MaxR[0], math.Abs(x))
		}
		out[i] = GroupSums{r[0], sumLanes(q.R[:]), sumLanes(q.RR[:]), sumLanes(q.D[:]), sumLanes(q.DD[:]), sumLanes(q.DR[:]), sumLanes(q.UU[:]), q.MaxD[0], q.MaxR[0], float64(run)}
		n, r = n[run:], r[run:]
	}
	signs.DR = sumLanes(dr[:])
	return signs
}

// TestRelativeHeads compares the quotients and counts of the vector loop with the plain loop,
// bit by bit.
func TestRelativeHeads(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	plain, vector := NewTables(1024), NewTables(1024)
	exceeding, within := 0, 0
	for count := 1; count < 90; count += 1 + count/40*7 {
		n, r := kernelValues(random, count), kernelValues(random, count)
		copy(n[:count/2], r)
		for i := range r {
			if random.IntN(10) == 0 {
				r[i] = math.Ldexp(r[i], random.IntN(400)-200)
			}
			if count%3 == 0 && random.IntN(10) == 0 { // below the normal numbers
				r[i] = math.Ldexp(r[i], -1030)
				n[i] = math.Ldexp(n[i], -1030*random.IntN(2))
			}
		}
		d, abs, subtracted := make([]float64, count), make([]float64, count), r
		Subtract(d, n, r)
		var sumAbs [4]float64
		below := int64(0)
		for i, x := range d {
			if abs[i] = math.Abs(x); x < 0 {
				below++
			}
			sumAbs[i&3] += abs[i]
		}
		if count%4 == 1 { // |d| is known
			n, subtracted, below = abs, make([]float64, count), 0
		}
		wanted := RelativeOptions{Quotients: count%2 == 0, Atol: 0x1p10, Rtol: 1}
		if i := random.IntN(count); count%5 > 0 { // equal to some |d|, or slightly more or less
			wanted.Atol, wanted.Rtol = math.Float64frombits(math.Float64bits(slices.Max(abs))+uint64(random.IntN(3))-1), min(math.Abs(0x1p-60/r[i]), 1)
		}
		flags, wantFlags, flagged := make([]uint8, count), make([]uint8, count), make([]float64, count)
		if count%3 > 0 {
			i := random.IntN(count)
			wanted.Flag, wanted.Flags, wanted.each = 5, flags, 0x05050505
			wanted.FlagAtol, wanted.FlagRtol = abs[i]*float64(random.IntN(2)), float64(random.IntN(2))
			for i, a := range abs {
				if a > wanted.FlagAtol+float64(wanted.FlagRtol*math.Abs(r[i])) {
					wantFlags[i], flagged[i] = 5, a
				}
			}
		}
		run := func(tables *Tables, head func(*Tables, []float64, []float64, []float64, []float64, []float64, *RelativeOptions, *ratioLanes) int) ([]float64, ratioLanes) {
			rel, found := make([]float64, count), slices.Clone(n)
			for i := range wanted.Flags {
				flags[i] = 7
			}
			out := initialRatios
			done := head(tables, rel, found, found, subtracted, r, &wanted, &out)
			tables.relativesTail(done, rel, found, found, subtracted, r, &wanted, &out)
			if !slices.Equal(found, abs) || !slices.Equal(flags, wantFlags) {
				t.Errorf("%d: magnitudes %v, flags %v, want %v, %v", count, found, flags, abs, wantFlags)
			}
			return rel, out
		}
		rel, out := run(vector, relativesHead)
		plainRel, plainOut := run(plain, func(*Tables, []float64, []float64, []float64, []float64, []float64, *RelativeOptions, *ratioLanes) int {
			return 0
		})
		var got, want Ratios
		out.joinLanes(&got)
		plainOut.joinLanes(&want)
		if !wanted.Quotients {
			got.FirstRel, want.FirstRel = 0, 0
		}
		if got.Exceeds {
			exceeding++
		} else {
			within++
		}
		if sum := Sum(flagged); got.FlaggedAbs != sum || countNonZero(flags) != int64(count-len(slices.DeleteFunc(wantFlags, func(f uint8) bool { return f != 0 }))) {
			t.Errorf("%d: the sum of |d| with a flag is %v of %d, want %v: %v", count, got.FlaggedAbs, countNonZero(flags), sum, flags)
		}
		if got.Abs != sumLanes(sumAbs[:]) || got.Negative != below {
			t.Errorf("%d: the sum of |d| is %v and %d are negative, want %v and %d", count, got.Abs, got.Negative, sumLanes(sumAbs[:]), below)
		}
		if got != want || got.Exceeds != (FindFirstBeyond(abs, r, wanted.Atol, wanted.Rtol) < count) || !slices.Equal(rel, plainRel) {
			t.Errorf("%d: relatives %v, want %v", count, out, plainOut)
		}
	}
	if vector.Abs != plain.Abs || vector.Rel != plain.Rel {
		t.Error("the counts of pairs differ")
	}
	if exceeding == 0 || within == 0 {
		t.Errorf("%d blocks are beyond the limits, %d within", exceeding, within)
	}
}

// TestBins counts pairs by |d| and |d|/|r| of many magnitudes, and compares with bins computed
// by Frexp.
func TestBins(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	const count = 1000
	bin := func(x float64) uint {
		if x == 0 {
			return 0
		}
		fraction, exp := math.Frexp(x)
		return uint(exp-1+1023)*8 + uint(16*fraction-8)
	}
	abs, r, rel := kernelValues(random, count), kernelValues(random, count), make([]float64, count)
	var want [2][Bins]int64
	for i := range abs {
		abs[i] = math.Abs(abs[i])
		r[i] = math.Ldexp(r[i], random.IntN(3)*(random.IntN(400)-200))
		want[0][bin(abs[i])]++
		if r[i] == 0 {
			want[1][0]++
		} else {
			want[1][bin(abs[i]/math.Abs(r[i]))]++
		}
	}
	tables := NewTables(count)
	tables.Relatives(rel, abs, abs, make([]float64, count), r, &RelativeOptions{Quotients: true})
	for k, table := range [][]uint32{tables.Abs[:], tables.Rel[:]} {
		for bin := range uint(Bins) {
			if got := Take(table, bin); got != want[k][bin] {
				t.Errorf("%d pairs in bin %d of table %d, want %d", got, bin, k, want[k][bin])
			}
		}
	}
	if tables.Abs != [Bins * Lanes]uint32{} || tables.Rel != [Bins * Lanes]uint32{} {
		t.Error("the tables are not empty after all bins were taken")
	}
}

func TestSpecialSpans(t *testing.T) {
	for count := 1; count < 12; count++ {
		for at := range count {
			for _, x := range []float64{nan, inf, -inf} {
				values := make([]float64, count)
				values[at] = x
				if !SpanOf(values).Special {
					t.Errorf("%v at %d of %d values is not seen", x, at, count)
				}
			}
		}
	}
}

// TestSumSteps compares the steps within rows with their definition, bit by bit.
func TestSumSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 52))
	for range 3000 {
		count, row := 1+random.IntN(1024), 1+random.IntN(140)
		if random.IntN(20) == 0 {
			count += 900
		}
		left := 1 + random.IntN(row)
		n, r := kernelValues(random, count), kernelValues(random, count)
		var sums [8]float64
		for i := range count - 1 {
			if (i+1-left)%row != 0 {
				x, y := (n[i+1]-r[i+1])-(n[i]-r[i]), r[i+1]-r[i]
				sums[i&3] += float64(x * x)
				sums[4+i&3] += float64(y * y)
			}
		}
		if dd, rr := SumSteps(n, r, left, row); dd != sumLanes(sums[:4]) || rr != sumLanes(sums[4:]) {
			t.Fatalf("%d pairs, %d of a row of %d left: %v and %v, want %v and %v", count, left, row, dd, rr, sumLanes(sums[:4]), sumLanes(sums[4:]))
		}
	}
}
