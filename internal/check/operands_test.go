package check

import (
	"strings"
	"testing"

	"dumptool/internal/recompute"
)

// TestSettleOperands: factors of 8 bits are a property of a run of which most products have them.
func TestSettleOperands(t *testing.T) {
	product := func(status recompute.Status, reason recompute.Reason) Operator {
		return Operator{Op: "matmul", Status: status, Reason: string(reason), singles: true}
	}
	eight, exact, other := product(recompute.Wrong, recompute.ByOperandBits), product(recompute.OK, ""), Operator{Op: "add", Status: recompute.OK}
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
		r.settleOperands()
		r.conclude()
		if got := r.Summary.Count(recompute.Wrong); got != c.wrong {
			t.Errorf("%s: %d wrong, want %d", c.name, got, c.wrong)
		}
		if noted := strings.Contains(r.Summary.Headline.String(), "8 bits (bfloat16)"); noted != c.noted || noted && len(c.all[0].Notes) != 1 {
			t.Errorf("%s: %s, notes %v", c.name, r.Summary.Headline, c.all[0].Notes)
		}
	}
}
