package perf

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// The slow reference: the documented formulas, with fractions of any size and none of the tested
// code.

type slowRow map[string]*big.Rat

func (r slowRow) get(names ...string) []*big.Rat {
	all := make([]*big.Rat, len(names))
	for i, name := range names {
		all[i] = r[name]
	}
	return all
}

func add(all ...*big.Rat) *big.Rat {
	s := new(big.Rat)
	for _, x := range all {
		s.Add(s, x)
	}
	return s
}

func sub(x *big.Rat, all ...*big.Rat) *big.Rat { return new(big.Rat).Sub(x, add(all...)) }
func mul(x, y *big.Rat) *big.Rat               { return new(big.Rat).Mul(x, y) }

func most(all ...*big.Rat) *big.Rat {
	return slices.MaxFunc(all, (*big.Rat).Cmp)
}

func least(all ...*big.Rat) *big.Rat {
	return slices.MinFunc(all, (*big.Rat).Cmp)
}

func dec(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

// slowDerived returns compute, union, exposed_data, exposed_compute and hidden_data, nil if a
// counter is missing.
func slowDerived(r slowRow) map[string]*big.Rat {
	in := r.get("vme_cycle", "mme_cycle", "mte_total_cycle", "pal_vme_mme_cycle", "pal_mte_mme_cycle", "pal_vme_mte_cycle", "pal_total_cycle")
	v, m, t, vm, tm, vt, a := in[0], in[1], in[2], in[3], in[4], in[5], in[6]
	d := map[string]*big.Rat{}
	if v == nil || m == nil || vm == nil {
		return d
	}
	d["compute"] = most(v, m, sub(add(v, m), vm))
	if t == nil || tm == nil || vt == nil || a == nil {
		return d
	}
	d["union"] = most(v, m, t, d["compute"], sub(add(v, m, t, a), vm, tm, vt))
	d["exposed_data"] = sub(d["union"], d["compute"])
	d["exposed_compute"] = sub(d["union"], t)
	d["hidden_data"] = sub(t, d["exposed_data"])
	return d
}

// slowClass returns the class and the confidence.
func slowClass(r slowRow) (class, confidence string) {
	for _, name := range []string{"mcu_cycle", "vme_cycle", "mme_cycle", "mte_total_cycle", "pal_vme_mme_cycle", "pal_mte_mme_cycle", "pal_vme_mte_cycle", "pal_total_cycle", "syn_wait_cycle"} {
		if r[name] == nil {
			return "unknown", "none"
		}
	}
	in := r.get("mcu_cycle", "vme_cycle", "mme_cycle", "mte_total_cycle", "pal_vme_mme_cycle", "pal_mte_mme_cycle", "pal_vme_mte_cycle", "pal_total_cycle", "syn_wait_cycle")
	mcu, v, m, t, vm, tm, vt, a, wait := in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]
	d := slowDerived(r)
	compute, union := d["compute"], d["union"]
	busy, lead := dec("0.6"), dec("1.25")
	share := func(limit string) *big.Rat { return mul(dec(limit), mcu) }
	above := func(x, y *big.Rat) bool { return x.Cmp(y) > 0 }
	atLeast := func(x, y *big.Rat) bool { return x.Cmp(y) >= 0 }
	shorter := least(t, compute)
	switch {
	case mcu.Sign() == 0:
		return "idle", "none"
	case above(vm, least(v, m)) || above(tm, least(t, m)) || above(vt, least(v, t)) || above(a, least(vm, tm, vt)) || above(most(v, m, t), mcu):
		return "inconsistent", "none"
	case atLeast(wait, share("0.25")):
		return "sync", "medium"
	case !atLeast(union, share("0.5")):
		return "control", "medium"
	case atLeast(t, mul(busy, mcu)) && atLeast(t, mul(lead, compute)):
		return "data", "high"
	case atLeast(compute, mul(busy, mcu)) && atLeast(compute, mul(lead, t)):
		return "compute", "high"
	case atLeast(t, mul(busy, mcu)) && atLeast(compute, mul(busy, mcu)):
		return "balanced", "medium"
	case atLeast(shorter, share("0.15")) && above(mul(dec("0.5"), shorter), d["hidden_data"]):
		return "serial", "medium"
	case atLeast(t, mul(lead, compute)):
		return "data", "low"
	case atLeast(compute, mul(lead, t)):
		return "compute", "low"
	}
	return "balanced", "low"
}

// slowGrew reports whether a number grew by more than 5 % and by at least some.
func slowGrew(before, after *big.Rat, some int64) bool {
	by := sub(after, before)
	return by.Cmp(mul(dec("0.05"), before)) > 0 && by.Cmp(new(big.Rat).SetInt64(some)) >= 0
}

// randomCount draws a number, often within 1 of a limit: an earlier number times a factor.
func randomCount(r *rand.Rand, before []int64) int64 {
	if len(before) > 0 && r.IntN(3) > 0 {
		x := new(big.Int).SetInt64(before[r.IntN(len(before))])
		factors := [][2]int64{{1, 1}, {3, 5}, {5, 4}, {4, 5}, {1, 2}, {3, 20}, {1, 4}, {1, 10}, {21, 20}, {20, 21}, {19, 20}}
		f := factors[r.IntN(len(factors))]
		x.Mul(x, big.NewInt(f[0])).Div(x, big.NewInt(f[1])).Add(x, big.NewInt(int64(r.IntN(3)-1)))
		if x.Sign() >= 0 && x.IsInt64() {
			return x.Int64()
		}
	}
	switch r.IntN(5) {
	case 0:
		return 0
	case 1:
		return r.Int64N(10)
	case 2:
		return 20 * r.Int64N(100000)
	case 3:
		return r.Int64N(1e12)
	}
	return r.Int64()
}

// randomRow draws a row, for both implementations.
func randomRow(r *rand.Rand) (*Row, slowRow) {
	if r.IntN(2) == 0 {
		return plausibleRow(r)
	}
	row, slow := &Row{Name: "op"}, slowRow{}
	var before []int64
	for _, c := range Columns() {
		if r.IntN(60) == 0 {
			continue
		}
		n := randomCount(r, before)
		if len(before) < 8 {
			before = append(before, n)
		}
		row.Set(c, count(n))
		slow[c.String()] = new(big.Rat).SetInt64(n)
	}
	return row, slow
}

// plausibleRow draws a row of consistent counters near the limits.
func plausibleRow(r *rand.Rand) (*Row, slowRow) {
	mcu := 200 * (1 + r.Int64N(1e7))
	part := func(of int64, shares ...int64) int64 {
		return max(0, of/100*shares[r.IntN(len(shares))]+int64(r.IntN(3)-1))
	}
	mme := part(mcu, 0, 10, 15, 30, 44, 48, 55, 60, 75, 90)
	vme := part(mcu, 0, 0, 5, 20, 60)
	mte := part(mcu, 0, 10, 15, 30, 45, 50, 55, 60, 75, 90)
	row, slow := &Row{Name: "op"}, slowRow{}
	for c, n := range map[Column]int64{
		MCU: mcu, VME: vme, MME: mme, MTE: mte, PalVMEMME: 0, PalMTEMME: part(min(mte, mme), 0, 30, 50, 80, 99), PalVMEMTE: 0, PalTotal: 0,
		SynWait: part(mcu, 0, 0, 0, 24, 25), L1Conflict: part(mcu, 0, 10), IMConflict: part(mcu, 0, 10), PLDByte: part(mcu, 50, 100),
	} {
		row.Set(c, count(n))
		slow[c.String()] = new(big.Rat).SetInt64(n)
	}
	return row, slow
}

// equalRat reports whether a count equals the slow result.
func equalRat(c Count, want *big.Rat) bool {
	if want == nil {
		return !c.Known
	}
	return c.Known && new(big.Rat).SetInt64(c.N).Cmp(want) == 0
}

// TestSlowly compares the derived numbers, class, status and findings of random operators with the
// slow reference.
func TestSlowly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	th := DefaultThresholds()
	seen, overflows := map[string]int{}, 0
	for range 20000 {
		row, slow := randomRow(r)
		o := &Operator{Row: row}
		want := slowDerived(slow)
		var err error
		o.DerivedCounters, err = derive(&row.Counters)
		fits := true
		for _, x := range want {
			fits = fits && x.Num().IsInt64()
		}
		dma := slow.get("dma0_c0_byte", "dma0_c1_byte", "dma1_c0_byte", "dma1_c1_byte")
		if !slices.Contains(dma, nil) {
			want["ddr_bytes"] = add(dma...)
			fits = fits && want["ddr_bytes"].Num().IsInt64()
		}
		if (err == nil) != fits {
			t.Fatalf("%v: error %v, fits %v", slow, err, fits)
		}
		if err != nil {
			overflows++
			continue
		}
		for name, c := range map[string]Count{
			"compute": o.Compute, "union": o.Union, "exposed_data": o.ExposedData, "exposed_compute": o.ExposedCompute, "hidden_data": o.HiddenData, "ddr_bytes": o.DDRBytes,
		} {
			if !equalRat(c, want[name]) {
				t.Fatalf("%v: %s is %v, want %v", slow, name, c, want[name])
			}
		}
		v := classify(o, &th)
		class, confidence := slowClass(slow)
		if string(v.Class) != class || string(v.Confidence) != confidence {
			t.Fatalf("%v: %s %s, want %s %s", slow, v.Class, v.Confidence, class, confidence)
		}
		seen[class+" "+confidence]++
		o.Verdict = v
		if explain(o).IsZero() {
			t.Fatalf("%s is not explained", class)
		}
		compareSlowly(t, r, o, slow, &th, seen)
	}
	for _, name := range []string{
		"unknown none", "idle none", "inconsistent none", "sync medium", "control medium", "data high", "compute high", "balanced medium",
		"serial medium", "data low", "compute low", "balanced low", "SLOWER", "FASTER", "SAME", "NEW", "UNKNOWN", "REPEATED_MOVES", "L1_CONFLICTS", "IMB_CONFLICTS",
	} {
		if seen[name] == 0 {
			t.Errorf("no random operator is %s", name)
		}
	}
	if overflows == 0 {
		t.Error("no random operator has sums that are too large")
	}
}

// compareSlowly compares an operator with a random baseline.
func compareSlowly(t *testing.T, r *rand.Rand, o *Operator, slow slowRow, th *Thresholds, seen map[string]int) {
	t.Helper()
	before := slowRow{}
	want, codes := "NEW", []Code(nil)
	if r.IntN(4) > 0 {
		o.Before = &Row{}
		for _, c := range []Column{MCU, PLDByte, L1Conflict, IMConflict} {
			if now := o.Get(c); r.IntN(20) > 0 && now.Known {
				n := randomCount(r, []int64{now.N})
				o.Before.Set(c, count(n))
				before[c.String()] = new(big.Rat).SetInt64(n)
			}
		}
		a, b := before["mcu_cycle"], slow["mcu_cycle"]
		switch want = "SAME"; {
		case a == nil || b == nil:
			want = "UNKNOWN"
		case slowGrew(a, b, 1000):
			want = "SLOWER"
		case sub(a, b).Cmp(mul(dec("0.05"), a)) > 0 && sub(a, b).Cmp(dec("1000")) >= 0:
			want = "FASTER"
		}
	}
	for _, f := range []struct {
		code   Code
		column string
		some   int64
	}{{RepeatedMoves, "mte_pld_byte", 4096}, {L1Conflicts, "l1_conflict_cycle", 1000}, {IMBConflicts, "im_conflict_cycle", 1000}} {
		a, b, mcu := before[f.column], slow[f.column], slow["mcu_cycle"]
		switch {
		case o.Before != nil && a != nil && b != nil && slowGrew(a, b, f.some),
			o.Before == nil && f.code != RepeatedMoves && b != nil && mcu != nil && mcu.Sign() > 0 && b.Cmp(mul(dec("0.1"), mcu)) >= 0:
			codes = append(codes, f.code)
		}
	}
	if got := string(statusOf(o, th)); got != want {
		t.Fatalf("%v after %v: %s, want %s", slow["mcu_cycle"], before["mcu_cycle"], got, want)
	}
	seen[want]++
	var got []Code
	for _, a := range advise(o, th) {
		got = append(got, a.Code)
		seen[string(a.Code)]++
		if a.Text.IsZero() {
			t.Fatalf("%s says nothing", a.Code)
		}
	}
	if !slices.Equal(got, codes) {
		t.Fatalf("%v after %v: %v, want %v", slow, before, got, codes)
	}
}

// TestSum compares sums with arbitrary-precision sums.
func TestSum(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	overflows := 0
	for range 20000 {
		var lists [2][]int64
		want := new(big.Int)
		for side := range lists {
			for range r.IntN(5) {
				n := randomCount(r, nil)
				lists[side] = append(lists[side], n)
				x := big.NewInt(n)
				if side == 1 {
					x.Neg(x)
				}
				want.Add(want, x)
			}
		}
		got, ok := sumDifference(lists[0], lists[1])
		if !want.IsInt64() && want.Sign() < 0 {
			want.SetInt64(math.MinInt64)
		}
		if ok != want.IsInt64() || ok && got != want.Int64() {
			t.Fatalf("%d - %d: %d %v, want %v", lists[0], lists[1], got, ok, want)
		}
		if !ok {
			overflows++
		}
	}
	if overflows == 0 {
		t.Error("no sum is too large")
	}
}

// TestCores compares the numbers on cores with fractions.
func TestCores(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	th := DefaultThresholds()
	uneven := 0
	for range 5000 {
		var all []*big.Rat
		var before []int64
		c := &Cores{}
		for range 1 + r.IntN(8) {
			n := randomCount(r, before) / 16
			before = append(before, n)
			all = append(all, new(big.Rat).SetInt64(n))
			c.Cycles, c.Sum, c.NumKnown = max(c.Cycles, n), c.Sum+n, c.NumKnown+1
		}
		mean := mul(add(all...), big.NewRat(1, int64(len(all))))
		slowest := most(all...)
		want := slowest.Cmp(mul(dec("1.25"), mean)) >= 0 && slowest.Cmp(add(mean, dec("1000"))) >= 0
		if got := c.isUneven(th.Imbalance, th.MinCycles); got != want {
			t.Fatalf("%d: %v, want %v", before, got, want)
		}
		if want {
			uneven++
		}
	}
	if uneven == 0 {
		t.Error("no cores are uneven")
	}
}

// TestRuns compares the numbers on runs with fractions.
func TestRuns(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	th := DefaultThresholds()
	seen := map[Relation]int{}
	unstable := 0
	for range 5000 {
		var cycles []int64
		for range 1 + r.IntN(6) {
			cycles = append(cycles, randomCount(r, cycles))
		}
		runs := runsOf("op", cycles, &th)
		sorted := slices.Sorted(slices.Values(cycles))
		rat := func(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }
		median := mul(add(rat(sorted[(len(sorted)-1)/2]), rat(sorted[len(sorted)/2])), dec("0.5"))
		longest := rat(sorted[len(sorted)-1])
		want := longest.Cmp(mul(dec("1.25"), median)) > 0 && longest.Cmp(add(median, dec("1000"))) >= 0
		if runs.Unstable != want {
			t.Fatalf("%d: unstable %v, want %v", cycles, runs.Unstable, want)
		}
		if want {
			unstable++
		}
		all := new(big.Rat)
		for _, n := range cycles {
			all.Add(all, rat(n))
		}
		mean := mul(all, big.NewRat(1, int64(len(cycles))))
		choices := []*big.Rat{all, mean, longest, rat(cycles[len(cycles)-1]), rat(cycles[0]), rat(randomCount(r, cycles))}
		mcu := choices[r.IntN(len(choices))]
		if !mcu.IsInt() || !mcu.Num().IsInt64() {
			continue
		}
		relation := RelationUnknown
		for i, name := range []Relation{RelationSum, RelationMean, RelationMax, RelationLast, RelationFirst} {
			if relation == RelationUnknown && choices[i].Cmp(mcu) == 0 {
				relation = name
			}
		}
		if len(cycles) == 1 && relation != RelationUnknown {
			relation = RelationSame
		}
		row := &Row{Name: "op"}
		row.Set(MCU, count(mcu.Num().Int64()))
		if got := firstRelation([]*Operator{{Row: row}}, []*Runs{runs}); got != relation {
			t.Fatalf("%v of runs %d: %s, want %s", mcu, cycles, got, relation)
		}
		seen[relation]++
	}
	if len(seen) != 7 || unstable == 0 {
		t.Errorf("only %v, %d unstable", seen, unstable)
	}
}
