package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// numbersOf is a result with the numbers that the jump rules look at.
func numbersOf(meanRel, pearson, red float64, errors int64) *engine.Result {
	metric := func(v float64) engine.Metric { return engine.Metric{Value: v, Defined: true} }
	r := &engine.Result{
		Total: 1000, NPUDType: tensor.Float16, RefDType: tensor.Float32,
		MeanRel: metric(meanRel), Pearson: metric(pearson), RED: metric(red),
		Beyond: engine.Errors{Count: errors},
	}
	r.Classes[engine.Finite][engine.Finite] = 1000
	return r
}

// good and bad are rows of that name.
func good(name string) Op {
	return Op{Name: name, State: Passed, Result: numbersOf(0.001, 0.9999, 0.001, 0)}
}

func bad(name string) Op {
	return Op{Name: name, State: Failed, Result: numbersOf(0.3, 0.9, 0.3, 100)}
}

func missing(name string) Op { return Op{Name: name} }

// inOrder gives the rows the places of the list.
func inOrder(ops ...Op) []Op {
	for i := range ops {
		ops[i].Order = i
	}
	return ops
}

// TestRules takes each rule with numbers just beyond and just within its limits.
func TestRules(t *testing.T) {
	input := func(meanRel, pearson float64) Op {
		return Op{Name: "in", State: Passed, Result: numbersOf(meanRel, pearson, 0.01, 0)}
	}
	output := func(meanRel, pearson, red float64) Op {
		return Op{Name: "out", State: Failed, Result: numbersOf(meanRel, pearson, red, 100), Order: 1}
	}
	undefined := output(0.5, 0, 0.5)
	undefined.Result.Pearson = engine.Metric{}
	class := func(npu, ref engine.Class, largest float64, saturated int64) Op {
		op := output(0.001, 0.999, 0.001)
		op.Result.Classes[npu][ref] = 10
		if npu != ref {
			op.Result.Mismatch.Count = 10
		}
		op.Result.Ref.Max = engine.Extreme{}.Metric
		op.Result.Ref.Max.Value = largest
		op.Result.NPU.Saturated = saturated
		return op
	}
	pattern := output(0.2, 0.5, 0.5)
	pattern.Patterns = []Finding{{ZeroTail, Medium, "zeros"}}
	badIn := Op{Name: "in", State: Failed, Result: numbersOf(0.3, 0.95, 0.3, 100)}
	slight := Op{Name: "in", State: Failed, Result: numbersOf(0.05, 0.95, 0.01, 100)}
	few := Op{Name: "in", State: Failed, Result: numbersOf(0.05, 0.95, 0.01, 9)}
	zero, calc, offset := output(1, 0.5, 1), output(0.9, 0.02, 0.8), output(0.4, 0.5, 0.3)
	zero.Patterns = []Finding{{ZeroOutput, High, "zeros"}}
	offset.Patterns = []Finding{{Offset, Medium, "offset"}}
	offsetIn, farIn := badIn, Op{Name: "in", State: Failed, Result: numbersOf(0.001, 0.99, 0.02, 2)}
	offsetIn.Patterns = []Finding{{Offset, Medium, "offset"}}
	farIn.Patterns = []Finding{{BitFlip, Medium, "bits"}}
	median := output(1.1, 0.5, 0.01)
	median.Result.RelQuantiles.P50 = engine.Metric{Value: 2, Defined: true}
	constant := output(0.001, 0.05, 0.001)
	tests := []struct {
		name    string
		in, out Op
		want    []string
		high    bool
	}{
		{"(a) jump of the mean relative error", input(0.09, 0.5), output(1.1, 0.5, 1.1), []string{CalcError}, true},
		{"(a) output not beyond 1", input(0.09, 0.5), output(0.97, 0.5, 1.1), []string{Unknown}, false},
		{"(a) inputs not below 0.1", input(0.1, 0.5), output(1.07, 0.5, 1.1), []string{Unknown}, false},
		{"(a) of a few sums that cancel", input(0.09, 0.5), output(1.1, 0.5, 0.01), []string{Unknown}, false},
		{"(a) of amplified rounding", input(0.09, 0.5), output(20, 0.5, 0.9), []string{Unknown}, false},
		{"(a) by the median", input(0.09, 0.5), median, []string{CalcError}, true},
		{"(a) against bad inputs", slight, output(2, 0.5, 1.1), []string{CalcError, LayerInputBad}, true},
		{"(b) of a nearly constant tensor", input(0.01, 0.91), constant, []string{Accumulated}, false},
		{"(b) fall of the correlation", input(0.01, 0.91), output(0.5, 0.09, 0.5), []string{CalcError}, true},
		{"(b) output not below 0.1", input(0.01, 0.91), output(0.5, 0.1, 0.5), []string{Unknown}, false},
		{"(b) inputs not above 0.9", input(0.01, 0.9), output(0.5, 0.05, 0.5), []string{Unknown}, false},
		{"(b) undefined", input(0.01, 0.99), undefined, []string{Unknown}, false},
		{"(d)", input(0.01, 0.99), class(engine.NaN, engine.NaN, 5, 0), []string{ModelNaN}, true},
		{"(e)", input(0.01, 0.99), class(engine.NaN, engine.Finite, 5, 0), []string{NPUNaN}, true},
		{"(e) beyond float16", input(0.01, 0.99), class(engine.PosInf, engine.Finite, 65505, 0), []string{OverflowFP16}, true},
		{"(e) saturated", input(0.01, 0.99), class(engine.NaN, engine.Finite, 65504, 3), []string{OverflowFP16}, true},
		{"a pattern behind a few errors", few, zero, []string{ZeroOutput}, true},
		{"a jump behind a few errors", few, calc, []string{CalcError}, true},
		{"rounding behind a few errors", few, output(0.05, 0.95, 0.02), []string{LayerInputBad}, false},
		{"an error far larger than that of the input", farIn, offset, []string{Offset}, false},
		{"the pattern of the input", offsetIn, offset, []string{LayerInputBad, Offset}, false},
		{"another pattern than the input", offsetIn, zero, []string{ZeroOutput, LayerInputBad}, true},
		{"bad input", badIn, output(0.4, 0.5, 0.5), []string{LayerInputBad}, false},
		{"accumulated", input(0.02, 0.99), output(0.26, 0.95, 0.1), []string{Accumulated}, false},
		{"accumulated by the mean relative error only", input(0.02, 0.99), output(0.2, 0.95, 0.2), []string{Unknown}, false},
		{"more than accumulated", input(0.02, 0.99), output(0.27, 0.95, 0.1), []string{Unknown}, false},
		{"a pattern", input(0.02, 0.99), pattern, []string{ZeroTail}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			graph := FromConsumers(map[string][]string{"in": {"out"}})
			got := Network([]Op{test.in, test.out}, graph).Ops[1]
			if codes := codesOf(got.Findings); !slices.Equal(codes, test.want) {
				t.Fatalf("got %v, want %v", got.Findings, test.want)
			}
			if (got.Findings[0].Confidence == High) != test.high {
				t.Errorf("confidence %s", got.Findings[0].Confidence)
			}
			if got.Inferred || !slices.Equal(got.Inputs, []int{0}) {
				t.Errorf("inputs %v, inferred %t", got.Inputs, got.Inferred)
			}
			guessed := Network([]Op{test.in, test.out}, nil).Ops[1]
			if !guessed.Inferred || !slices.Equal(codesOf(guessed.Findings), test.want) {
				t.Errorf("without a graph: %+v", guessed)
			}
		})
	}
}

func codesOf(findings []Finding) (codes []string) {
	for _, f := range findings {
		codes = append(codes, f.Code)
	}
	return codes
}

// TestEvidence: the inputs, the numbers and the limits are told.
func TestEvidence(t *testing.T) {
	ops := inOrder(good("a"), good("b"), Op{Name: "c", State: Failed, Result: numbersOf(3, 0.95, 1.5, 9)})
	graph := Graph{"a": nil, "b": nil, "copy": {{"a", AnyOutput}}, "c": {{"copy", 0}, {"b", 0}}}
	v := Network(ops, graph)
	evidence := v.Ops[2].Findings[0].Evidence
	for _, part := range []string{"3 > 1", "0.001 < 0.1", "a:0, b:0", "through copy without a dump"} {
		if !strings.Contains(evidence, part) {
			t.Errorf("%q does not tell %q", evidence, part)
		}
	}
	first := Network(inOrder(bad("a")), nil).Ops[0].Findings
	if len(first) != 1 || first[0].Code != Unknown || !strings.Contains(first[0].Evidence, "no inputs are known") {
		t.Errorf("first operator: %v", first)
	}
	guessed := Network(inOrder(good("a"), bad("b")), nil).Ops[1].Findings[0].Evidence
	if !strings.Contains(guessed, "a:0, inferred") {
		t.Errorf("%q does not tell that the input is inferred", guessed)
	}
}

// location is what TestLocate expects.
type location struct {
	firstBad, lastGood int
	suspects           []int
	chain, outputs     []int
	outputsBad         bool
	noOrigin           bool
}

func TestLocate(t *testing.T) {
	consumers := func(edges ...string) Graph { // "a>b"
		m := make(map[string][]string)
		for _, e := range edges {
			from, to, _ := strings.Cut(e, ">")
			m[from] = append(m[from], to)
		}
		return FromConsumers(m)
	}
	shapeBad := Op{Name: "b", State: Failed}
	twoOutputs := []Op{good("a"), good("split"), bad("split"), bad("c"), good("d")}
	twoOutputs[2].Output = 1
	ownInputs := []Op{good("a"), bad("b"), bad("b")}
	ownInputs[1].Input = true
	rounds := []Op{bad("a"), good("b"), good("a"), bad("b")}
	rounds[2].Round, rounds[3].Round = "1", "1"
	tests := []struct {
		name  string
		ops   []Op
		graph Graph
		want  location
	}{
		{"nothing", nil, nil, location{firstBad: -1, lastGood: -1}},
		{"all good", inOrder(good("a"), good("b")), nil, location{firstBad: -1, lastGood: -1, outputs: []int{1}}},
		{"chain", inOrder(good("a"), bad("b"), bad("c")), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputs: []int{2}, outputsBad: true}},
		{"deviation", inOrder(good("a"), bad("b"), good("c")), nil,
			location{firstBad: 1, chain: []int{1}, outputs: []int{2}}},
		{"first is bad", inOrder(bad("a"), bad("b")), nil,
			location{firstBad: 0, lastGood: -1, chain: []int{0, 1}, outputs: []int{1}, outputsBad: true}},
		{"suspects", inOrder(missing("x"), good("a"), missing("y"), missing("z"), bad("b")), nil,
			location{firstBad: 4, lastGood: 1, suspects: []int{2, 3}, chain: []int{4}, outputs: []int{4}, outputsBad: true}},
		{"branches", inOrder(good("a"), bad("b"), good("c"), bad("d")), consumers("a>b", "a>c", "b>d", "c>d"),
			location{firstBad: 1, chain: []int{1, 3}, outputs: []int{3}, outputsBad: true}},
		{"the other branch", inOrder(good("a"), bad("b"), good("c"), bad("d")), consumers("a>b", "a>c", "c>d"),
			location{firstBad: 1, chain: []int{1}, outputs: []int{1, 3}, outputsBad: true}},
		{"dead end", inOrder(good("a"), bad("b"), good("c")), consumers("a>b", "a>c", "b>c"),
			location{firstBad: 1, chain: []int{1}, outputs: []int{2}}},
		{"order against the graph", inOrder(bad("d"), good("a"), bad("c")), consumers("a>c", "c>d"),
			location{firstBad: 2, lastGood: 1, chain: []int{0, 2}, outputs: []int{0}, outputsBad: true}},
		{"cycle", inOrder(good("a"), bad("b"), bad("c")), consumers("b>c", "c>b"),
			location{firstBad: 1, chain: []int{1, 2}, outputs: []int{0}, noOrigin: true}},
		{"itself", inOrder(good("a"), bad("b")), consumers("a>b", "b>b"),
			location{firstBad: 1, chain: []int{1}, outputs: []int{1}, outputsBad: true}},
		{"unknown names", inOrder(good("a"), bad("b")), consumers("p>b", "q>p", "q>r"),
			location{firstBad: 1, chain: []int{1}, outputs: []int{0, 1}, outputsBad: true}},
		{"through copies", inOrder(good("a"), bad("b"), missing("copy"), bad("c")), consumers("a>b", "b>copy", "copy>copy2", "copy2>c"),
			location{firstBad: 1, chain: []int{1, 3}, outputs: []int{3}, outputsBad: true}},
		{"shapes differ", inOrder(good("a"), shapeBad, bad("c")), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputs: []int{2}, outputsBad: true}},
		{"two outputs", inOrder(twoOutputs...), Graph{"a": nil, "split": {{"a", 0}}, "c": {{"split", 1}}, "d": {{"split", 0}}},
			location{firstBad: 2, lastGood: 1, chain: []int{2, 3}, outputs: []int{3, 4}, outputsBad: true}},
		{"own inputs", inOrder(ownInputs...), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputs: []int{2}, outputsBad: true}},
		{"rounds", inOrder(rounds...), consumers("a>b"),
			location{firstBad: 0, lastGood: -1, chain: []int{0}, outputs: []int{1, 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := Network(test.ops, test.graph)
			got := location{v.FirstBad, v.LastGood, v.Suspects, v.Chain, v.Outputs, v.OutputsBad, v.NoOrigin}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestRoundingBefore: a row that fails by rounding is not where a later error
// began; it is where nothing else is wrong.
func TestRoundingBefore(t *testing.T) {
	rounding, zero, unknown := bad("r"), bad("z"), bad("u")
	rounding.Result = numbersOf(0.01, 0.9999, 0.002, 3)
	zero.Patterns = []Finding{{ZeroOutput, High, "zeros"}}
	unknown.Result = numbersOf(0.3, 0.9, 0.3, 100)
	shape := Op{Name: "s", State: Failed}
	wrong := good("w")
	wrong.State, wrong.Result.Mismatch.Count, wrong.Result.Classes[engine.Finite][engine.NaN] = Failed, 3, 3
	wrong.Patterns = []Finding{{ModelNaN, High, "the reference"}}
	for _, test := range []struct {
		name               string
		ops                []Op
		firstBad, lastGood int
		damaged            int
	}{
		{"before a pattern", inOrder(good("a"), rounding, zero, bad("c")), 2, 0, 2},
		{"alone", inOrder(good("a"), rounding, good("c")), 1, 0, -1},
		{"before an unknown cause", inOrder(good("a"), rounding, unknown), 2, 0, -1},
		{"an unknown cause before a pattern", inOrder(good("a"), unknown, good("b"), zero), 1, 0, 3},
		{"before a wrong shape", inOrder(good("a"), rounding, shape), 2, 0, 2},
		{"a wrong reference", inOrder(good("a"), wrong, bad("c")), 1, 0, 1},
		{"none", inOrder(good("a")), -1, -1, -1},
	} {
		v := Network(test.ops, nil)
		if v.FirstBad != test.firstBad || v.FirstDamaged != test.damaged || v.LastGood != test.lastGood || v.NoOrigin {
			t.Errorf("%s: first bad %d, last good %d, damaged %d, want %+v", test.name, v.FirstBad, v.LastGood, v.FirstDamaged, test)
		}
	}
}

// TestUnevenRounding: a norm amplifies the rounding of some columns, of which the
// smallest elements fail; of a broken column most do.
func TestUnevenRounding(t *testing.T) {
	for errors, want := range map[int64]string{40: Accumulated, 160: CalcError} {
		op := Op{Name: "b", State: Failed, Result: numbersOf(0.03, 0.99, 0.05, errors)}
		op.Result.Total = 2000
		axis := engine.AxisProfile{Size: 10, Fold: 1}
		for i := range 10 {
			bin := engine.AxisBin{Count: 200, SumAbs: 0.1, SumRel: 0.1}
			if i == 3 {
				bin = engine.AxisBin{Count: 200, Errors: errors, SumAbs: 50, SumRel: 50}
			}
			axis.Bins = append(axis.Bins, bin)
		}
		op.Result.Axes = []engine.AxisProfile{axis}
		if len(Uneven(op.Result)) == 0 {
			t.Fatalf("%d errors are even", errors)
		}
		op.Patterns = []Finding{{Stride, Medium, "one column"}}
		if want == CalcError {
			op.Patterns = nil
		}
		if got := Network(inOrder(good("a"), op), nil).Ops[1].Findings; got[0].Code != want {
			t.Errorf("%d errors: %v, want %s", errors, got, want)
		}
	}
}

// TestWrongShape: the operator before is no reason for a wrong shape.
func TestWrongShape(t *testing.T) {
	ops := inOrder(bad("a"), Op{Name: "b", State: Failed})
	if got := Network(ops, nil).Ops[1].Findings; len(got) > 0 {
		t.Errorf("inferred: %v", got)
	}
	if got := Network(ops, Graph{"a": nil, "b": {{"a", 0}}}).Ops[1].Findings; !has(got, LayerInputBad) {
		t.Errorf("known to be read: %v", got)
	}
}

// TestFirsts: the first NaN, the first overflow and the largest jump.
func TestFirsts(t *testing.T) {
	nan, both, over, integer := good("nan"), good("both"), good("over"), good("int")
	nan.Result.Classes[engine.NaN][engine.PosInf] = 1
	both.Result.Classes[engine.NaN][engine.NaN] = 1
	over.Result.Overflowed = 1
	integer.Result.NPUDType, integer.Result.Overflowed = tensor.Int8, 1 // 127 for 126 is no overflow
	v := Network(inOrder(good("a"), both, integer, bad("b"), nan, over), nil)
	if v.FirstNaN != 4 || v.FirstOverflow != 5 {
		t.Errorf("first NaN %d, first overflow %d, want 4 and 5", v.FirstNaN, v.FirstOverflow)
	}
	// From 0.001 to 0.3.
	if v.LargestJump != 3 || v.Jump < 299.9 || v.Jump > 300.1 {
		t.Errorf("largest jump %g at %d, want 300 at 3", v.Jump, v.LargestJump)
	}
	// An exact input counts as rounded: half of 2^-10.
	exact := good("exact")
	exact.Result.MeanRel.Value = 0
	if v := Network(inOrder(exact, bad("b")), nil); v.Jump < 614.3 || v.Jump > 614.5 {
		t.Errorf("jump from an exact input %g, want 0.3 * 2^11 = 614.4", v.Jump)
	}
}

// TestLargeNetwork: a chain, a star and a tangle of many operators take a time
// that grows with their number only, or this test would not end.
func TestLargeNetwork(t *testing.T) {
	const n = 40_000 / min(calibration, 4)
	ops := make([]Op, n)
	chain, star, tangle := make(Graph, n), make(Graph, n), make(Graph, n)
	passing, failing := good("").Result, bad("").Result
	for i := range ops {
		ops[i] = Op{Name: fmt.Sprint(i), State: Passed, Result: passing}
		switch {
		case i == n/2:
			ops[i].State, ops[i].Result = Failed, failing
		case i > n/2 && i%2 == 0:
			ops[i].State, ops[i].Result = NotCompared, nil
		case i > n/2:
			ops[i].State = Failed
		}
		ops[i].Order = i
		chain[fmt.Sprint(i)] = []Source{{fmt.Sprint(i - 1), 0}}
		star[fmt.Sprint(i)] = []Source{{"0", 0}}
		tangle[fmt.Sprint(i)] = []Source{{fmt.Sprint((i + 1) % n), 0}, {fmt.Sprint((i * 7) % n), 0}, {"nobody", 3}}
	}
	for _, graph := range []Graph{nil, chain} {
		v := Network(ops, graph)
		if v.FirstBad != n/2 || len(v.Chain) != n/4+1 {
			t.Errorf("first bad %d, chain of %d, want %d and %d", v.FirstBad, len(v.Chain), n/2, n/4+1)
		}
	}
	for _, graph := range []Graph{star, tangle} {
		if v := Network(ops, graph); v.FirstBad < n/2 {
			t.Errorf("first bad %d, want one from %d on", v.FirstBad, n/2)
		}
	}
}

// TestCopiesOnly: operators that are never dumped are passed up to a limit.
func TestCopiesOnly(t *testing.T) {
	graph := Graph{"last": {{"c0", 0}}}
	for i := range 100_000 {
		graph[fmt.Sprintf("c%d", i)] = []Source{{fmt.Sprintf("c%d", i+1), 0}}
	}
	v := Network(inOrder(good("a"), bad("last")), graph)
	if got := v.Ops[1]; len(got.Inputs) != 0 || len(got.Through) > searchLimit {
		t.Errorf("inputs %v through %d operators", got.Inputs, len(got.Through))
	}
}

// TestNoOrder: of operators at one place none is the input of another.
func TestNoOrder(t *testing.T) {
	ops := inOrder(good("a"), bad("b"), bad("c"))
	ops[2].Order = ops[1].Order
	v := Network(ops, nil)
	if got := v.Ops[2]; len(got.Inputs) != 0 || got.Inferred {
		t.Errorf("inputs %v of an operator at the place of another", got.Inputs)
	}
	if v.FirstBad != 1 || !slices.Equal(v.Ops[1].Inputs, []int{0}) {
		t.Errorf("first bad %d with inputs %v", v.FirstBad, v.Ops[1].Inputs)
	}
}

// TestAnyNetwork judges random rows under random graphs: what is told is among
// the rows and agrees with their states, and is the same each time.
func TestAnyNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Op {
			op := bad(name.Draw(t, "name"))
			op.State = State(rapid.IntRange(0, int(Failed)).Draw(t, "state"))
			op.Order, op.Output = rapid.IntRange(0, 9).Draw(t, "order"), rapid.IntRange(0, 2).Draw(t, "output")
			op.Input = rapid.IntRange(0, 5).Draw(t, "input") == 0
			if op.State == NotCompared || rapid.IntRange(0, 5).Draw(t, "no result") == 0 {
				op.Result = nil
			}
			return op
		}), 0, 20).Draw(t, "ops")
		consumers := rapid.MapOf(name, rapid.SliceOfN(name, 0, 4)).Draw(t, "consumers")
		v := Network(ops, FromConsumers(consumers))
		if text := fmt.Sprintf("%+v", v); text != fmt.Sprintf("%+v", Network(ops, FromConsumers(consumers))) {
			t.Error("another verdict the second time")
		}
		if v.FirstDamaged >= 0 && ops[v.FirstDamaged].State != Failed {
			t.Errorf("first damaged %d", v.FirstDamaged)
		}
		failed := slices.ContainsFunc(ops, func(op Op) bool { return op.State == Failed })
		if (v.FirstBad >= 0) != failed || failed && ops[v.FirstBad].State != Failed {
			t.Errorf("first bad %d", v.FirstBad)
		}
		if failed && !slices.Contains(v.Chain, v.FirstBad) {
			t.Errorf("chain %v without the first bad row %d", v.Chain, v.FirstBad)
		}
		for _, row := range v.Chain {
			if ops[row].State != Failed {
				t.Errorf("row %d of the chain is not bad", row)
			}
		}
		for _, row := range v.Suspects {
			if ops[row].State != NotCompared {
				t.Errorf("suspect %d was compared", row)
			}
		}
		for i, op := range v.Ops {
			for _, row := range op.Inputs {
				if ops[row].State == NotCompared {
					t.Errorf("input %d of row %d was not compared", row, i)
				}
			}
			if ops[i].State == NotCompared && len(op.Findings) > 0 {
				t.Errorf("findings of row %d, which was not compared", i)
			}
		}
	})
}
