package metrics

import (
	"math"
	"math/big"
	"testing"
)

// answer is the value of a metric by its slow reference.
type answer struct {
	undefined   bool
	infinite    float64 // +inf or -inf, else 0
	value       *big.Float
	slack       *big.Float // allowed error of the metric
	orMore      bool       // the metric may also be larger
	orUndefined bool       // the metric may also be undefined
}

func none() answer                 { return answer{undefined: true} }
func always(sign float64) answer   { return answer{infinite: math.Inf(int(sign))} }
func counted(n int) answer         { return exactly(float64(n)) }
func about(x *big.Float) answer    { return within(x, x, 1e-12) }
func rooted(x *big.Float) answer   { return about(root(x)) }
func stdOf(s slowSpread) answer    { return s.where(within(root(s.deviations), root(s.square), 1e-7)) }
func varOf(s slowSpread) answer    { return s.where(within(s.deviations, s.square, 1e-13)) }
func rmsOf(s slowSpread) answer    { return s.where(rooted(s.square)) }
func lengthOf(s slowSpread) answer { return s.where(rooted(times(s.square, big64(float64(s.count))))) }

// meanOf may be undefined if sums of the values, or of their distances from each other, leave
// the range of float64.
func meanOf(s slowSpread) answer {
	if s.count == 0 {
		return none()
	}
	a := within(s.mean, s.meanAbs, 1e-12)
	a.orUndefined = s.largest > 0x1p1000
	return a
}

// where returns the answer, undefined if there are no values or float64 does not hold their squares.
func (s slowSpread) where(a answer) answer {
	if s.count == 0 || !squared(s.largest) {
		return none()
	}
	return a
}

// summed returns a sum of magnitudes divided by n; the sum may overflow float64.
func summed(sum, n *big.Float) answer {
	if x, _ := sum.Float64(); math.IsInf(x, 1) {
		return always(1)
	}
	return about(over(sum, n))
}

func exactly(x float64) answer {
	if math.IsInf(x, 0) {
		return answer{infinite: x}
	}
	return answer{value: big64(x), slack: big64(0)}
}

// within returns an answer with an error of at most share*scale.
func within(x, scale *big.Float, share float64) answer {
	if x.IsInf() {
		return always(float64(x.Sign()))
	}
	return answer{value: x, slack: times(size(scale), big64(share))}
}

// decibelsOf is 20 log10 of a ratio of two sums of squares.
func decibelsOf(signal, noise *big.Float) answer {
	if noise.Sign() == 0 {
		return always(1)
	}
	if signal.Sign() == 0 {
		return always(-1)
	}
	var m big.Float
	exp := over(signal, noise).MantExp(&m)
	f, _ := m.Float64()
	return within(big64(10*(math.Log10(f)+float64(exp)*math.Log10(2))), big64(1), 1e-9)
}

// quotient is a ratio by the conventions for a denominator of 0.
func quotient(a, b *big.Float) answer {
	switch {
	case b.Sign() != 0:
		return about(over(a, b))
	case a.Sign() == 0:
		return exactly(0)
	}
	return always(1)
}

// check compares a metric with its reference. Values beyond the range of float64
// are infinite.
func (a answer) check(t testing.TB, name string, got Metric) {
	t.Helper()
	if a.undefined || !got.IsDefined() {
		if a.undefined == got.IsDefined() && !a.orUndefined {
			t.Errorf("%s is %v, want it undefined: %v", name, got, a.undefined)
		}
		return
	}
	if a.infinite != 0 || math.IsNaN(got.Value()) {
		if got.Value() != a.infinite {
			t.Errorf("%s is %v, want %v", name, got.Value(), a.infinite)
		}
		return
	}
	if a.orMore && big64(got.Value()).Cmp(a.value) > 0 {
		return
	}
	slack := plus(a.slack, big64(0x1p-1070)) // subnormal numbers have few digits
	off := minus(big64(math.MaxFloat64), size(a.value))
	if !math.IsInf(got.Value(), 0) {
		off = size(minus(big64(got.Value()), a.value))
	}
	if rounded, _ := a.value.Float64(); rounded != got.Value() && off.Cmp(slack) > 0 {
		t.Errorf("%s is %v, want %v within %.3g", name, got.Value(), rounded, slack)
	}
}

// checkTable compares all metrics of the table with their slow references.
func checkTable(t testing.TB, p *slowPair, r *Result) {
	t.Helper()
	for i := range Table {
		d := &Table[i]
		reference, ok := references[d.Name]
		if !ok {
			t.Errorf("metric %s has no slow reference", d.Name)
			continue
		}
		reference(p).check(t, d.Name, d.MetricOf(r))
	}
}

// TestTable checks that every metric in the table has a reference, and the reverse.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Table {
		if seen[d.Name] || d.Unit == "" || d.Formula == "" {
			t.Errorf("metric %+v stands twice, or has no unit or formula", d)
		}
		seen[d.Name] = true
		if references[d.Name] == nil {
			t.Errorf("metric %s has no slow reference", d.Name)
		}
	}
	for name := range references {
		if !seen[name] {
			t.Errorf("the slow reference of %s has no metric", name)
		}
	}
}
