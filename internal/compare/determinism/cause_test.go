package determinism

import (
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// TestCause checks the cause of an output for the results of recomputing it in two runs, a and b.
func TestCause(t *testing.T) {
	t.Parallel()
	self := func(status string, beyond int64, adds bool) *record.RecomputedOutput {
		return &record.RecomputedOutput{Status: status, Beyond: beyond, Adds: adds, Elements: 1000}
	}
	right, sum, rough := self("ok", 0, false), self("ok", 0, true), self("ok", 1, true)
	wrong, random := self("wrong", 1, true), &record.RecomputedOutput{Status: "undecided", Reason: "RANDOM"}
	equal, other := &Row{Kind: "input", Distinct: 1}, &Row{Kind: "input", Distinct: 2}
	flip := Drift{Flipped: true, Elements: 1000, First: new(int64(7))}
	half := Drift{fraction: 10, Elements: 1000}
	held := &record.RecomputedOutput{Status: "ok", Adds: true, DType: "float16"}
	flip.fraction = 23 // float32
	wide := &record.RecomputedOutput{Status: "low", Width: 1000, Adds: true}
	for _, c := range []struct {
		name   string
		a, b   *record.RecomputedOutput
		inputs []*Row
		drift  Drift
		ulp    float64
		cause  Cause
		why    string
	}{
		{"no inputs", sum, sum, nil, Drift{}, 1, Unknown, "its inputs were not dumped"},
		{"drawn", random, random, []*Row{equal}, Drift{}, 9, Random, "its output is random"},
		{"wrong in one run", sum, wrong, []*Row{equal}, Drift{}, 9, Fault, "wrong result from its own inputs in b, right in a"},
		{"wrong in one run, other inputs", wrong, sum, []*Row{other}, Drift{}, 9, Fault, "wrong result from its own inputs in a, right in b"},
		{"wrong in both runs", wrong, wrong, []*Row{equal}, Drift{}, 9, Unknown, "wrong result from its own inputs in every run: see 'dumptool check'"},
		{"wrong in one run, wide bounds in the other", wide, wrong, []*Row{equal}, Drift{}, 9, Fault, "wrong result from its own inputs in b, right in a"},
		{"wide bounds in one run", sum, wide, []*Row{equal, other}, Drift{}, 9, Unknown, "it cannot be computed again in every run"},
		{"right in one run", sum, nil, []*Row{equal}, Drift{}, 9, Fault, "equal inputs, but the result is right in a only"},
		{"right in one run, other inputs", sum, nil, []*Row{equal, other}, Drift{}, 9, Unknown, "it cannot be computed again in every run"},
		{"wrong or unknown", wrong, nil, []*Row{equal}, Drift{}, 9, Unknown, "it cannot be computed again in every run"},
		{"other inputs", right, right, []*Row{equal, other}, Drift{}, 9, Inherited, "right result from its own inputs in every run"},
		{"one bit", sum, sum, []*Row{equal}, flip, 64, Fault, "equal inputs, one bit of element 7 differs"},
		{"one bit, wide bounds", wide, wide, []*Row{equal}, flip, 64, Fault, "equal inputs, one bit of element 7 differs"},
		{"one bit of few elements", sum, sum, []*Row{equal}, Drift{Flipped: true, Elements: 2, First: new(int64(1))}, 64, SumOrder, "equal inputs, sums in another order: 64 ulp"},
		{"no sums", right, right, []*Row{equal}, Drift{}, 1, Fault, "equal inputs, and the operator has no sums"},
		{"beyond float32 sums in one run", sum, rough, []*Row{equal}, half, 3, Fault, "equal inputs, but some runs differ by more than any order of float32 sums explains"},
		{"beyond float32 sums in both runs", rough, rough, []*Row{equal}, half, 3, SumOrder, "equal inputs, sums in another order: 3 ulp"},
		{"a step of float16", sum, sum, []*Row{equal}, half, 1, RoundingStep, "equal inputs, sums in another order: 1 ulp"},
		{"one bit of float16, not computed again", nil, nil, []*Row{equal}, Drift{fraction: 10, Flipped: true, Elements: 1000, First: new(int64(7))}, 64, Fault, "equal inputs, one bit of element 7 differs"},
		{"a step of float16, not computed again", nil, nil, []*Row{equal}, Drift{fraction: 10, Flipped: true, Elements: 1000, First: new(int64(7))}, 1, Unknown, "it cannot be computed again in every run"},
		{"a step of float16 in float32 files", held, held, []*Row{equal}, flip, 8192, RoundingStep, "equal inputs, sums in another order: 1 ulp"},
		{"equal values, other bits", sum, sum, []*Row{equal}, Drift{Flipped: true, Elements: 1000}, 0, SumOrder, "equal inputs, sums in another order: 0 ulp"},
	} {
		first, second := Drift{Run: "a", File: new("a")}, c.drift
		second.Run, second.File = "b", new("b")
		if c.ulp > 0 {
			second.MaxULP = metrics.NumberOf(c.ulp)
		}
		r := &Row{Op: "op", Kind: "output", Distinct: 2, Drifts: []Drift{first, second}, paths: []string{"a", "b"}}
		runs := make([]recomputed, 2)
		for i, one := range []*record.RecomputedOutput{c.a, c.b} {
			if one != nil {
				runs[i].selves = map[record.OutputAt]*record.RecomputedOutput{{File: r.paths[i], Op: "op"}: one}
			}
		}
		if cause, why := r.cause(c.inputs, runs); cause != c.cause || why.String() != c.why {
			t.Errorf("%s: %s %q, want %s %q", c.name, cause, why, c.cause, c.why)
		}
	}
}

// TestCommunicationCause: a sum of ranks that is right in every run is SUM_ORDER, and a FAULT if one run is wrong.
func TestCommunicationCause(t *testing.T) {
	t.Parallel()
	r := &Row{Op: "op", Kind: "output", Distinct: 2, paths: []string{"a", "b"},
		Drifts: []Drift{{Run: "a", File: new("a")}, {Run: "b", File: new("b"), MaxULP: metrics.NumberOf(2)}}}
	for isRight, want := range map[bool]Cause{true: SumOrder, false: Fault} {
		runs := []recomputed{{communications: map[string]bool{"op": true}}, {communications: map[string]bool{"op": isRight}}}
		if cause, why := r.cause([]*Row{{Kind: "input", Distinct: 1}}, runs); cause != want {
			t.Errorf("right in b: %v: %s %q, want %s", isRight, cause, why, want)
		}
	}
}
