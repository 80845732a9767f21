package determinism

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// TestCause checks the cause of an output for the results of recomputing it in two runs, a and b.
func TestCause(t *testing.T) {
	t.Parallel()
	self := func(status string, beyond int64, adds bool) *record.RecomputedOutput {
		return &record.RecomputedOutput{Status: status, Beyond: beyond, Worst: []float64{0.25, 1}[beyond], Adds: adds, Elements: 1000}
	}
	right, sum, rough := self("ok", 0, false), self("ok", 0, true), self("ok", 1, true)
	wrong := self("wrong", 1, true)
	input := func(d Drift) *Row { return &Row{Kind: "input", Distinct: 2, Drifts: []Drift{{}, d}} }
	equal, other := &Row{Kind: "input", Distinct: 1}, input(Drift{Bits: 1, fraction: 23, steps: 9})
	near, index := input(Drift{Bits: 1, fraction: 23, steps: 8}), input(Drift{Bits: 1})
	flip := func(elements int64, fraction, unused int, steps float64) Drift {
		return Drift{Flipped: true, Differ: 1, Elements: elements, First: new(int64(1)), fraction: fraction, unused: unused, steps: steps}
	}
	half := Drift{fraction: 10, Elements: 1000}
	wide := &record.RecomputedOutput{Status: "low", Width: 1000, Adds: true}
	far := &record.RecomputedOutput{Status: "low", Width: 1000, Adds: true, Beyond: 1, Worst: 4.1}
	near4 := &record.RecomputedOutput{Status: "ok", Worst: 0.25, Adds: true}
	for _, c := range []struct {
		name   string
		op     string
		a, b   *record.RecomputedOutput
		inputs []*Row
		drift  Drift
		ulp    float64
		cause  Cause
		why    string
	}{
		{"no inputs", "Torch.f.0.forward", sum, sum, nil, Drift{}, 1, Unknown, "its inputs were not dumped"},
		{"drawn", "Functional.dropout.0.forward", nil, nil, []*Row{equal}, Drift{}, 9, Random, "its output is random"},
		{"drawn, and wrong in one run", "Functional.dropout.0.forward", sum, wrong, []*Row{equal}, Drift{}, 9, Fault, "wrong result from its own inputs in b, right in a"},
		{"drawn from other inputs", "Functional.dropout.0.forward", nil, nil, []*Row{other}, Drift{}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"wrong in one run", "Torch.f.0.forward", sum, wrong, []*Row{equal}, Drift{}, 9, Fault, "wrong result from its own inputs in b, right in a"},
		{"wrong in one run, other inputs", "Torch.f.0.forward", wrong, sum, []*Row{other}, Drift{}, 9, Fault, "wrong result from its own inputs in a, right in b"},
		{"wrong in both runs", "Torch.f.0.forward", wrong, wrong, []*Row{equal}, Drift{}, 9, Unknown, "wrong result from its own inputs in every run: see 'dumptool check'"},
		{"wrong in one run, wide bounds in the other", "Torch.f.0.forward", wide, wrong, []*Row{equal}, Drift{}, 9, Fault, "wrong result from its own inputs in b, right in a"},
		{"wide bounds in one run", "Torch.f.0.forward", sum, wide, []*Row{equal, other}, Drift{}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"right in one run", "Torch.f.0.forward", sum, nil, []*Row{equal}, Drift{}, 9, Fault, "equal inputs, but the result is right in a only"},
		{"right in one run, other inputs", "Torch.f.0.forward", sum, nil, []*Row{equal, other}, Drift{}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"wrong or unknown", "Torch.f.0.forward", wrong, nil, []*Row{equal}, Drift{}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"other inputs", "Torch.f.0.forward", right, right, []*Row{equal, other}, Drift{}, 9, Inherited, "right result from its own inputs in every run"},
		{"one bit", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 23, 0, 64), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"one bit, wide bounds", "Torch.f.0.forward", wide, wide, []*Row{equal}, flip(1000, 23, 0, 64), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"one bit, wrong in every run", "Torch.f.0.forward", wrong, wrong, []*Row{equal}, flip(1000, 23, 0, 64), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"one bit that makes NaN", "Torch.f.0.forward", nil, nil, []*Row{equal}, flip(2, 23, 0, math.Inf(1)), 0, Fault, "equal inputs, one bit of element 1 differs"},
		{"one bit of few elements", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(5, 23, 0, 64), 64, SumOrder, "equal inputs, sums in another order: 64 ulp"},
		{"one bit of more elements", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(6, 23, 0, 64), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"one bit, the last", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 23, 0, 1), 1, SumOrder, "equal inputs, sums in another order: 1 ulp"},
		{"one bit of a small element", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 23, 0, 1), 64, SumOrder, "equal inputs, sums in another order: 64 ulp"},
		{"one bit of a small element of bfloat16", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 7, 0, 0x1p-10), 8, SumOrder, "equal inputs, sums in another order: 8 ulp"},
		{"one bit of an element of bfloat16", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 7, 0, 0x1p-9), 8, Fault, "equal inputs, one bit of element 1 differs"},
		{"one element far off, not computed again", "Torch.f.0.forward", nil, nil, []*Row{equal}, Drift{jump: 65}, 9, Fault, "some elements differ by more than any order of sums explains, most do not"},
		{"one element a little off, not computed again", "Torch.f.0.forward", nil, nil, []*Row{equal}, Drift{jump: 64}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"one element far off, and right", "Torch.f.0.forward", sum, sum, []*Row{equal}, Drift{jump: 65}, 9, SumOrder, "equal inputs, sums in another order: 9 ulp"},
		{"far off, near inputs", "Torch.f.0.forward", nil, nil, []*Row{near}, Drift{fraction: 7, jump: 65, steps: 33}, 9, Fault, "some elements differ by more than any order of sums explains, most do not"},
		{"a quarter off, near inputs", "Torch.f.0.forward", nil, nil, []*Row{near}, Drift{fraction: 7, jump: 65, steps: 32}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"far off, other inputs", "Torch.f.0.forward", nil, nil, []*Row{near, other}, Drift{fraction: 7, jump: 65, steps: 33}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"far off, other indexes", "Torch.f.0.forward", nil, nil, []*Row{near, index}, Drift{fraction: 7, jump: 65, steps: 33}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"no sums", "Torch.f.0.forward", right, right, []*Row{equal}, Drift{}, 1, Fault, "equal inputs, and the operator has no sums"},
		{"beyond float32 sums in one run", "Torch.f.0.forward", sum, rough, []*Row{equal}, half, 3, Fault, "some runs differ by more than any order of float32 sums explains"},
		{"beyond float32 sums in one run, other inputs", "Torch.f.0.forward", sum, rough, []*Row{other}, half, 3, Fault, "some runs differ by more than any order of float32 sums explains"},
		{"float32, a little beyond in one run", "Torch.f.0.forward", sum, rough, []*Row{other}, Drift{fraction: 23}, 3, Inherited, "right result from its own inputs in every run"},
		{"float32, far beyond in one run", "Torch.f.0.forward", near4, far, []*Row{other}, Drift{fraction: 23}, 3, Fault, "some runs differ by more than any order of float32 sums explains"},
		{"beyond float32 sums in both runs", "Torch.f.0.forward", rough, rough, []*Row{equal}, half, 3, SumOrder, "equal inputs, sums in another order: 3 ulp"},
		{"a step of float16", "Torch.f.0.forward", sum, sum, []*Row{equal}, half, 1, RoundingStep, "equal inputs, sums in another order: 1 ulp"},
		{"one bit of float16, not computed again", "Torch.f.0.forward", nil, nil, []*Row{equal}, flip(1000, 10, 0, 4), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"a step of float16, not computed again", "Torch.f.0.forward", nil, nil, []*Row{equal}, flip(1000, 10, 0, 1), 1, Unknown, "the operator cannot be recomputed in every run"},
		{"a step of float16 in float32 files", "Torch.f.0.forward", sum, sum, []*Row{equal}, flip(1000, 10, 13, 1), 8192, RoundingStep, "equal inputs, sums in another order: 1 ulp"},
		{"equal values, other bits", "Torch.f.0.forward", sum, sum, []*Row{equal}, Drift{Flipped: true, Elements: 1000}, 0, SumOrder, "equal inputs, sums in another order: 0 ulp"},
		{"one bit of a module", "Module.a.A.forward.0", nil, nil, []*Row{equal}, flip(1000, 7, 0, 4), 64, Unknown, "the operator cannot be recomputed in every run"},
		{"one bit of a module that is computed", "Module.a.A.forward.0", sum, sum, []*Row{equal}, flip(1000, 7, 0, 4), 64, Fault, "equal inputs, one bit of element 1 differs"},
		{"one element of a module a little off", "Module.a.A.forward.0", nil, nil, []*Row{equal}, Drift{fraction: 7, jump: 65, steps: 32}, 9, Unknown, "the operator cannot be recomputed in every run"},
		{"one element of a module far off", "Module.a.A.forward.0", nil, nil, []*Row{equal}, Drift{fraction: 7, jump: 65, steps: 33}, 9, Fault, "some elements differ by more than any order of sums explains, most do not"},
	} {
		first, second := Drift{Run: "a", File: new("a")}, c.drift
		second.Run, second.File = "b", new("b")
		if c.ulp > 0 {
			second.MaxULP = metrics.NumberOf(c.ulp)
		}
		r := &Row{Op: c.op, Kind: "output", Distinct: 2, Drifts: []Drift{first, second}, paths: []string{"a", "b"}}
		runs := make([]recomputedRun, 2)
		for i, one := range []*record.RecomputedOutput{c.a, c.b} {
			if one != nil {
				runs[i].outputs = map[record.OutputKey]*record.RecomputedOutput{{File: r.paths[i], Op: c.op}: one}
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
		runs := []recomputedRun{{communications: map[string]bool{"op": true}}, {communications: map[string]bool{"op": isRight}}}
		if cause, why := r.cause([]*Row{{Kind: "input", Distinct: 1}}, runs); cause != want {
			t.Errorf("right in b: %v: %s %q, want %s", isRight, cause, why, want)
		}
	}
}

// TestUncomputed writes inputs and outputs of an operator that has no formula in two runs. Outputs are v/1024 for v
// from 1 to 1000, of which 64 epsilon of float32 times the largest number are 125 times 2^-24, and the second run
// changes them.
func TestUncomputed(t *testing.T) {
	t.Parallel()
	const ulp = 0x1p-24
	for _, c := range []struct {
		name   string
		change func(i int, v float64) float64
		input  float64 // added to the first input in the second run
		cause  Cause
	}{
		{"each element by up to 2 ulp", func(i int, v float64) float64 { return v + ulp*float64(i%3) }, 0, Unknown},
		{"each element by 60 ulp and more", func(i int, v float64) float64 { return v + 60*ulp*float64(1+i%50) }, 0, Unknown},
		{"a block by 64 epsilon", func(i int, v float64) float64 {
			if i >= 100 && i < 300 {
				v += 125 * ulp
			}
			return v
		}, 0, Unknown},
		{"a block by more", func(i int, v float64) float64 {
			if i >= 100 && i < 300 {
				v += 126 * ulp
			}
			return v
		}, 0, Fault},
		{"a block of zeros, the others by up to 2 ulp", func(i int, v float64) float64 {
			if i >= 500 && i < 900 {
				return 0
			}
			return v + ulp*float64(i%3)
		}, 0, Fault},
		{"NaN", func(i int, v float64) float64 {
			if i == 7 {
				return math.NaN()
			}
			return v
		}, 0, Fault},
		{"a block of zeros, near inputs", func(i int, v float64) float64 {
			if i >= 500 && i < 900 {
				return 0
			}
			return v + ulp*float64(i%3)
		}, 8 * 0x1p-23, Fault},
		{"a block of zeros, other inputs", func(i int, v float64) float64 {
			if i >= 500 && i < 900 {
				return 0
			}
			return v
		}, 9 * 0x1p-23, Unknown},
		{"numbers of bfloat16, a block by 1/2", func(i int, v float64) float64 {
			if i >= 100 && i < 300 {
				v += 0.5
			}
			return v
		}, 0, Fault},
	} {
		dir := t.TempDir()
		opt := Options{OrderBy: dumpdir.ByName}
		for run := range 2 {
			path := filepath.Join(dir, fmt.Sprint(run))
			opt.Runs = append(opt.Runs, path)
			values := make([]float64, 1000)
			for i := range values {
				if values[i] = float64(i+1) / 1024; run > 0 {
					values[i] = c.change(i, values[i])
				}
			}
			write(t, filepath.Join(path, "1_custom.input.0.npy"), array(tensor.Float32, tensor.Shape{2}, 1+float64(run)*c.input, 1))
			write(t, filepath.Join(path, "1_custom.output.0.npy"), array(tensor.Float32, tensor.Shape{1000}, values...))
		}
		d, err := Check(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Rows {
			if r := &d.Rows[i]; !r.isInput() && r.Cause != c.cause {
				t.Errorf("%s: %s %q, want %s", c.name, r.Cause, r.Why, c.cause)
			}
		}
		if len(d.Rows) != 2 {
			t.Errorf("%s: %d rows", c.name, len(d.Rows))
		}
	}
}
