package check

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/recompute"
)

// TestAcceptOperandBits: factors of 8 bits are a property of the run if most of its products have them.
func TestAcceptOperandBits(t *testing.T) {
	product := func(status recompute.Status, reason recompute.Reason) Operator {
		return Operator{Op: "matmul", Verdict: recompute.Verdict{Status: status, Reason: reason, IsFloat32Product: true}}
	}
	eight, exact, other := product(recompute.Wrong, recompute.ByOperandBits), product(recompute.OK, ""), Operator{Op: "add", Verdict: recompute.Verdict{Status: recompute.OK}}
	for _, c := range []struct {
		name  string
		all   []Operator
		wrong int
		noted bool
	}{
		{"three of three", []Operator{eight, other, eight, other, other, eight}, 0, true},
		{"three of four", []Operator{eight, exact, eight, eight}, 0, true},
		{"three of five", []Operator{eight, exact, eight, eight, exact}, 3, false},
		{"two of two", []Operator{eight, eight}, 2, false},
		{"one of many", []Operator{exact, exact, eight, exact}, 1, false},
		{"three, and one that is wrong", []Operator{eight, eight, eight, product(recompute.Wrong, recompute.ByCalcError)}, 1, true},
		{"three, and one of which nothing is known", []Operator{eight, eight, eight, product(recompute.Undecided, recompute.NoAttributes), product(recompute.Undecided, recompute.InPlace)}, 0, true},
	} {
		r := &Report{Operators: c.all}
		r.acceptOperandBits()
		r.conclude()
		if got := r.Summary.Count(recompute.Wrong); got != c.wrong {
			t.Errorf("%s: %d wrong, want %d", c.name, got, c.wrong)
		}
		if noted := strings.Contains(r.Summary.Headline.String(), "8 bits (bfloat16)"); noted != c.noted || noted && len(c.all[0].Notes) != 1 {
			t.Errorf("%s: %s, notes %v", c.name, r.Summary.Headline, c.all[0].Notes)
		}
	}
}

// TestHeldTypes: the values of numpy arrays tell that they hold bfloat16. The files have the names that convert gives
// to tensors of a CANN dump.
func TestHeldTypes(t *testing.T) {
	for name, c := range map[string]struct {
		rows   int // of 8 elements
		result func(x, y float64) float64
		damage float64
		want   recompute.Status
	}{
		"bfloat16":               {8, func(x, y float64) float64 { return brain(x + y) }, 0, recompute.OK},
		"few of bfloat16":        {1, func(x, y float64) float64 { return brain(x + y) }, 0, recompute.OK},
		"bfloat16 and a fault":   {8, func(x, y float64) float64 { return brain(x + y) }, 2, recompute.Wrong},
		"many, one of float32":   {32, func(x, y float64) float64 { return brain(x + y) }, 0x1p-9, recompute.Wrong},
		"float32":                {8, func(x, y float64) float64 { return x + y }, 0, recompute.OK},
		"float32 with few bits":  {8, func(x, y float64) float64 { return x + y + float64(0x1p-8*(x+y)) }, 0, recompute.Wrong},
		"bfloat16, sum of other": {8, func(x, y float64) float64 { return brain(x - y) }, 0, recompute.Wrong},
	} {
		w := &tree{t, t.TempDir()}
		random := rand.New(rand.NewPCG(8, 8))
		var x, y, z []float64
		for range 8 * c.rows {
			a, b := brain(random.NormFloat64()), brain(random.NormFloat64())
			x, y, z = append(x, a), append(y, b), append(z, c.result(a, b))
		}
		if c.damage != 0 {
			z[5] = 3 * (1 + c.damage)
		}
		for i, v := range [][]float64{x, y, z} {
			w.write(0, 0, "Add.layer_add.3.1.1700000000000000."+[]string{"input.0", "input.1", "output.0"}[i], v)
		}
		r := checked(t, Options{}, w.dir)
		if len(r.Operators) != 1 || r.Operators[0].Status != c.want {
			t.Errorf("%s: %+v, want %s", name, r.Operators, c.want)
		}
	}
}

// TestNamesAlone: without dump.json, tensors given by keyword are separate arguments, and all rows of the table are
// tried.
func TestNamesAlone(t *testing.T) {
	floor := func(x, y float64) float64 { return math.Floor(x / y) }
	for _, c := range []struct {
		name, second string
		result       func(x, y float64) float64
		bad          bool
		want         recompute.Status
	}{
		{"Torch.div.0.forward", "1", func(x, y float64) float64 { return x / y }, false, recompute.OK},
		{"Torch.div.0.forward", "1", floor, false, recompute.OK},
		{"Torch.div.0.forward", "other", floor, false, recompute.OK},
		{"Torch.sub.0.forward", "other", func(x, y float64) float64 { return x - y }, false, recompute.OK},
		{"Torch.sub.0.forward", "other", func(x, y float64) float64 { return x - 3*y }, false, recompute.OK},
		{"Torch.div.0.forward", "1", func(x, y float64) float64 { return x / y }, true, recompute.Wrong},
		{"Torch.div.0.forward", "1", func(x, y float64) float64 { return x * x * y }, false, recompute.Misfit},
	} {
		w := &tree{t, t.TempDir()}
		random := rand.New(rand.NewPCG(9, 9))
		var x, y, z []float64
		for range 64 {
			a, b := float64(float32(4*random.NormFloat64())), float64(float32(1+random.Float64()))
			x, y, z = append(x, a), append(y, b), append(z, c.result(a, b))
		}
		if c.bad {
			z[9] += 3
		}
		w.write(0, 0, c.name+".input.0", x)
		w.write(0, 0, c.name+".input."+c.second, y)
		w.write(0, 0, c.name+".output.0", z)
		r := checked(t, Options{}, w.dir)
		if len(r.Operators) != 1 || r.Operators[0].Status != c.want {
			t.Errorf("%s, %s: %+v, want %s", c.name, c.second, r.Operators, c.want)
		}
	}
}
