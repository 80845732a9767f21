package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// numbersOf returns a result with the numbers that the jump rules read.
func numbersOf(meanRel, pearson, red float64, errors int64) *metrics.Result {
	metric := func(v float64) metrics.Metric { return metrics.NumberOf(v) }
	r := &metrics.Result{
		Total: 1000, NPUDType: tensor.Float16, RefDType: tensor.Float32,
		MeanRel: metric(meanRel), Pearson: metric(pearson), RED: metric(red),
		Beyond: metrics.Errors{Count: errors},
	}
	r.Classes[metrics.Finite][metrics.Finite] = 1000
	return r
}

type testRow = record.Row

func rowOf(name string, status record.Status, result *metrics.Result) testRow {
	return testRow{Op: name, Verdict: record.Verdict{Status: status}, Pair: record.PairVerdict{Status: status}, Result: result}
}

// after gives a row the second position.
func after(row testRow) testRow {
	row.Order = 1
	return row
}

// judgedRows are judged rows; reads are the indexes of their inputs.
type judgedRows struct {
	record.Findings
	rows []judgedRow
}

type judgedRow struct {
	*row
	findings []finding.Finding
}

func conclude(rows []testRow, graph record.Flow) *judgedRows {
	c := Conclude(rows, Network{Graph: graph, IsOrdered: true})
	v := &judgedRows{Findings: c.Findings}
	for i := range rows {
		v.rows = append(v.rows, judgedRow{&c.network.rows[i], c.Reasons(i)})
	}
	return v
}

func (v *judgedRows) text() string {
	text := fmt.Sprint(v.Findings)
	for i := range v.rows {
		text += fmt.Sprint(v.rows[i].findings, v.rows[i].reads())
	}
	return text
}

// reads returns the indexes of the inputs of a row.
func (r *row) reads() (inputs []int) {
	for _, in := range r.resolveInputs().rows {
		inputs = append(inputs, in.index)
	}
	return inputs
}

// good and bad return rows of this name.
func good(name string) testRow {
	return rowOf(name, record.Pass, numbersOf(0.001, 0.9999, 0.001, 0))
}

func bad(name string) testRow {
	return rowOf(name, record.Fail, numbersOf(0.3, 0.9, 0.3, 100))
}

// fromConsumers converts a consumer map, from operators to the readers of their outputs, to a
// graph.
func fromConsumers(consumers map[string][]string) record.Flow {
	g := make(record.Flow, len(consumers))
	for producer, readers := range consumers {
		if g[producer] == nil {
			g[producer] = nil
		}
		for _, reader := range readers {
			g[reader] = append(g[reader], record.Source{Op: producer, Output: -1})
		}
	}
	for op, sources := range g {
		slices.SortFunc(sources, func(a, b record.Source) int { return strings.Compare(a.Op, b.Op) })
		g[op] = slices.Compact(sources)
	}
	return g
}

func missing(name string) testRow { return rowOf(name, record.Skip, nil) }

// inOrder sets the positions of the rows to their indexes in the list.
func inOrder(ops ...testRow) []testRow {
	for i := range ops {
		ops[i].Order = i
	}
	return ops
}

// TestRules tests each rule with numbers just beyond and just within its limits.
func TestRules(t *testing.T) {
	input := func(meanRel, pearson float64) testRow {
		return rowOf("in", record.Pass, numbersOf(meanRel, pearson, 0.01, 0))
	}
	output := func(meanRel, pearson, red float64) testRow {
		return after(rowOf("out", record.Fail, numbersOf(meanRel, pearson, red, 100)))
	}
	undefined := output(0.5, 0, 0.5)
	undefined.Result.Pearson = metrics.Metric{}
	class := func(npu, ref metrics.Class, largest float64, saturated int64) testRow {
		op := output(0.001, 0.999, 0.001)
		op.Result.Classes[npu][ref] = 10
		if npu != ref {
			op.Result.Mismatch.Count = 10
		}
		op.Result.Ref.Max = metrics.NumberOf(largest)
		op.Result.NPU.Saturated = saturated
		return op
	}
	pattern := output(0.2, 0.5, 0.5)
	pattern.Patterns = []finding.Finding{{Code: finding.ZeroTail, Confidence: finding.Medium, Evidence: lang.Plain("zeros")}}
	badIn := rowOf("in", record.Fail, numbersOf(0.3, 0.95, 0.3, 100))
	slight := rowOf("in", record.Fail, numbersOf(0.05, 0.95, 0.01, 100))
	few := rowOf("in", record.Fail, numbersOf(0.05, 0.95, 0.01, 9))
	zero, calc, offset := output(1, 0.5, 1), output(0.9, 0.02, 0.8), output(0.4, 0.5, 0.3)
	zero.Patterns = []finding.Finding{{Code: finding.ZeroOutput, Confidence: finding.High, Evidence: lang.Plain("zeros")}}
	offset.Patterns = []finding.Finding{{Code: finding.Offset, Confidence: finding.Medium, Evidence: lang.Plain("offset")}}
	offsetIn, farIn := badIn, rowOf("in", record.Fail, numbersOf(0.001, 0.99, 0.02, 2))
	offsetIn.Patterns = []finding.Finding{{Code: finding.Offset, Confidence: finding.Medium, Evidence: lang.Plain("offset")}}
	farIn.Patterns = []finding.Finding{{Code: finding.BitFlip, Confidence: finding.Medium, Evidence: lang.Plain("bits")}}
	median := output(1.1, 0.5, 0.01)
	median.Result.RelQuantiles.P50 = metrics.NumberOf(2)
	constant := output(0.001, 0.05, 0.001)
	tests := []struct {
		name    string
		in, out testRow
		want    []finding.Code
		high    bool
	}{
		{"jump of the mean relative error", input(0.09, 0.5), output(1.1, 0.5, 1.1), []finding.Code{finding.CalcError}, true},
		{"jump, but output not beyond 1", input(0.09, 0.5), output(0.97, 0.5, 1.1), []finding.Code{finding.Unknown}, false},
		{"jump, but inputs not below 0.1", input(0.1, 0.5), output(1.07, 0.5, 1.1), []finding.Code{finding.Unknown}, false},
		{"jump of a few sums that cancel", input(0.09, 0.5), output(1.1, 0.5, 0.01), []finding.Code{finding.Unknown}, false},
		{"jump of amplified rounding", input(0.09, 0.5), output(20, 0.5, 0.9), []finding.Code{finding.Unknown}, false},
		{"jump by the median", input(0.09, 0.5), median, []finding.Code{finding.CalcError}, true},
		{"jump behind bad inputs", slight, output(2, 0.5, 1.1), []finding.Code{finding.CalcError, finding.LayerInputBad}, true},
		{"fall of the correlation of a nearly constant tensor", input(0.01, 0.91), constant, []finding.Code{finding.Accumulated}, false},
		{"fall of the correlation", input(0.01, 0.91), output(0.5, 0.09, 0.5), []finding.Code{finding.CalcError}, true},
		{"fall, but output not below 0.1", input(0.01, 0.91), output(0.5, 0.1, 0.5), []finding.Code{finding.Unknown}, false},
		{"fall, but inputs not above 0.9", input(0.01, 0.9), output(0.5, 0.05, 0.5), []finding.Code{finding.Unknown}, false},
		{"fall to an undefined correlation", input(0.01, 0.99), undefined, []finding.Code{finding.Unknown}, false},
		{"NaN on both sides", input(0.01, 0.99), class(metrics.NaN, metrics.NaN, 5, 0), []finding.Code{finding.ModelNaN}, true},
		{"NaN of the NPU", input(0.01, 0.99), class(metrics.NaN, metrics.Finite, 5, 0), []finding.Code{finding.NPUNaN}, true},
		{"infinity beyond float16", input(0.01, 0.99), class(metrics.PosInf, metrics.Finite, 65505, 0), []finding.Code{finding.OverflowFP16}, true},
		{"NaN beside numbers at the limit", input(0.01, 0.99), class(metrics.NaN, metrics.Finite, 65504, 3), []finding.Code{finding.OverflowFP16}, true},
		{"a pattern behind a few errors", few, zero, []finding.Code{finding.ZeroOutput}, true},
		{"a jump behind a few errors", few, calc, []finding.Code{finding.CalcError}, true},
		{"rounding behind a few errors", few, output(0.05, 0.95, 0.02), []finding.Code{finding.LayerInputBad}, false},
		{"an error far larger than that of the input", farIn, offset, []finding.Code{finding.Offset}, false},
		{"the pattern of the input", offsetIn, offset, []finding.Code{finding.LayerInputBad, finding.Offset}, false},
		{"another pattern than the input", offsetIn, zero, []finding.Code{finding.ZeroOutput, finding.LayerInputBad}, true},
		{"bad input", badIn, output(0.4, 0.5, 0.5), []finding.Code{finding.LayerInputBad}, false},
		{"accumulated", input(0.02, 0.99), output(0.26, 0.95, 0.1), []finding.Code{finding.Accumulated}, false},
		{"accumulated by the mean relative error only", input(0.02, 0.99), output(0.2, 0.95, 0.2), []finding.Code{finding.Unknown}, false},
		{"more than accumulated", input(0.02, 0.99), output(0.27, 0.95, 0.1), []finding.Code{finding.Unknown}, false},
		{"a pattern", input(0.02, 0.99), pattern, []finding.Code{finding.ZeroTail}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			graph := fromConsumers(map[string][]string{"in": {"out"}})
			got := conclude([]testRow{test.in, test.out}, graph).rows[1]
			if codes := codesOf(got.findings); !slices.Equal(codes, test.want) {
				t.Fatalf("got %v, want %v", got.findings, test.want)
			}
			if (got.findings[0].Confidence == finding.High) != test.high {
				t.Errorf("confidence %s", got.findings[0].Confidence)
			}
			if got.resolveInputs().isInferred || !slices.Equal(got.reads(), []int{0}) {
				t.Errorf("inputs %v, inferred %t", got.reads(), got.resolveInputs().isInferred)
			}
			guessed := conclude([]testRow{test.in, test.out}, nil).rows[1]
			if !guessed.resolveInputs().isInferred || !slices.Equal(codesOf(guessed.findings), test.want) {
				t.Errorf("without a graph: %+v", guessed)
			}
		})
	}
}

func codesOf(findings []finding.Finding) (codes []finding.Code) {
	for _, f := range findings {
		codes = append(codes, f.Code)
	}
	return codes
}

// TestEvidence: the evidence names the inputs, the numbers and the limits.
func TestEvidence(t *testing.T) {
	ops := inOrder(good("a"), good("b"), rowOf("c", record.Fail, numbersOf(3, 0.95, 1.5, 9)))
	graph := record.Flow{"a": nil, "b": nil, "copy": {{Op: "a", Output: -1}}, "c": {{Op: "copy", Output: 0}, {Op: "b", Output: 0}}}
	v := conclude(ops, graph)
	evidence := v.rows[2].findings[0].Evidence.String()
	for _, part := range []string{"3 > 1", "0.001 < 0.1", "a:0, b:0", "through copy (no dump)"} {
		if !strings.Contains(evidence, part) {
			t.Errorf("%q lacks %q", evidence, part)
		}
	}
	first := conclude(inOrder(bad("a")), nil).rows[0].findings
	if len(first) != 1 || first[0].Code != finding.Unknown || !strings.Contains(first[0].Evidence.String(), "no inputs are known") {
		t.Errorf("first operator: %v", first)
	}
	guessed := conclude(inOrder(good("a"), bad("b")), nil).rows[1].findings[0].Evidence.String()
	if !strings.Contains(guessed, "a:0, inferred") {
		t.Errorf("%q does not say that the input is inferred", guessed)
	}
}

// location is the expected result of TestLocate.
type location struct {
	firstBad, lastGood int
	suspects           []int
	chain              []int
	outputsBad         bool
}

func TestLocate(t *testing.T) {
	consumers := func(edges ...string) record.Flow { // "a>b"
		m := make(map[string][]string)
		for _, e := range edges {
			from, to, _ := strings.Cut(e, ">")
			m[from] = append(m[from], to)
		}
		return fromConsumers(m)
	}
	shapeBad := rowOf("b", record.Fail, nil)
	twoOutputs := []testRow{good("a"), good("split"), bad("split"), bad("c"), good("d")}
	twoOutputs[2].Output = 1
	ownInputs := []testRow{good("a"), bad("b"), bad("b")}
	ownInputs[1].Kind = "input"
	tests := []struct {
		name  string
		ops   []testRow
		graph record.Flow
		want  location
	}{
		{"nothing", nil, nil, location{firstBad: -1, lastGood: -1}},
		{"all good", inOrder(good("a"), good("b")), nil, location{firstBad: -1, lastGood: -1}},
		{"chain", inOrder(good("a"), bad("b"), bad("c")), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputsBad: true}},
		{"deviation", inOrder(good("a"), bad("b"), good("c")), nil,
			location{firstBad: 1, chain: []int{1}}},
		{"first is bad", inOrder(bad("a"), bad("b")), nil,
			location{firstBad: 0, lastGood: -1, chain: []int{0, 1}, outputsBad: true}},
		{"suspects", inOrder(missing("x"), good("a"), missing("y"), missing("z"), bad("b")), nil,
			location{firstBad: 4, lastGood: 1, suspects: []int{2, 3}, chain: []int{4}, outputsBad: true}},
		{"branches", inOrder(good("a"), bad("b"), good("c"), bad("d")), consumers("a>b", "a>c", "b>d", "c>d"),
			location{firstBad: 1, chain: []int{1, 3}, outputsBad: true}},
		{"the other branch", inOrder(good("a"), bad("b"), good("c"), bad("d")), consumers("a>b", "a>c", "c>d"),
			location{firstBad: 1, chain: []int{1}, outputsBad: true}},
		{"dead end", inOrder(good("a"), bad("b"), good("c")), consumers("a>b", "a>c", "b>c"),
			location{firstBad: 1, chain: []int{1}}},
		{"order against the graph", inOrder(bad("d"), good("a"), bad("c")), consumers("a>c", "c>d"),
			location{firstBad: 2, lastGood: 1, chain: []int{0, 2}, outputsBad: true}},
		{"cycle", inOrder(good("a"), bad("b"), bad("c")), consumers("b>c", "c>b"),
			location{firstBad: 1, chain: []int{1, 2}}},
		{"itself", inOrder(good("a"), bad("b")), consumers("a>b", "b>b"),
			location{firstBad: 1, chain: []int{1}, outputsBad: true}},
		{"unknown names", inOrder(good("a"), bad("b")), consumers("p>b", "q>p", "q>r"),
			location{firstBad: 1, chain: []int{1}, outputsBad: true}},
		{"through copies", inOrder(good("a"), bad("b"), missing("copy"), bad("c")), consumers("a>b", "b>copy", "copy>copy2", "copy2>c"),
			location{firstBad: 1, chain: []int{1, 3}, outputsBad: true}},
		{"shapes differ", inOrder(good("a"), shapeBad, bad("c")), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputsBad: true}},
		{"two outputs", inOrder(twoOutputs...), record.Flow{"a": nil, "split": {{Op: "a", Output: 0}}, "c": {{Op: "split", Output: 1}}, "d": {{Op: "split", Output: 0}}},
			location{firstBad: 2, lastGood: 1, chain: []int{2, 3}, outputsBad: true}},
		{"own inputs", inOrder(ownInputs...), nil,
			location{firstBad: 1, chain: []int{1, 2}, outputsBad: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := conclude(test.ops, test.graph)
			got := location{v.FirstBad, v.LastGood, v.Suspects, v.Chain, v.OutputsBad}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestRoundingBefore: a row that fails by rounding is the first bad row only if nothing else is
// wrong.
func TestRoundingBefore(t *testing.T) {
	rounding, zero, unknown := bad("r"), bad("z"), bad("u")
	rounding.Result = numbersOf(0.01, 0.9999, 0.002, 3)
	zero.Patterns = []finding.Finding{{Code: finding.ZeroOutput, Confidence: finding.High, Evidence: lang.Plain("zeros")}}
	unknown.Result = numbersOf(0.3, 0.9, 0.3, 100)
	shape := rowOf("s", record.Fail, nil)
	wrong := good("w")
	wrong.Status, wrong.Result.Mismatch.Count, wrong.Result.Classes[metrics.Finite][metrics.NaN] = record.Fail, 3, 3
	wrong.Patterns = []finding.Finding{{Code: finding.ModelNaN, Confidence: finding.High, Evidence: lang.Plain("the reference")}}
	for _, test := range []struct {
		name               string
		ops                []testRow
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
		v := conclude(test.ops, nil)
		if v.FirstBad != test.firstBad || v.FirstDamaged != test.damaged || v.LastGood != test.lastGood {
			t.Errorf("%s: first bad %d, last good %d, damaged %d, want %+v", test.name, v.FirstBad, v.LastGood, v.FirstDamaged, test)
		}
	}
}

// TestUnevenRounding: if a norm amplifies the rounding of some columns, their smallest elements
// fail; in a broken column most elements do.
func TestUnevenRounding(t *testing.T) {
	for errors, want := range map[int64]finding.Code{40: finding.Accumulated, 160: finding.CalcError} {
		op := rowOf("b", record.Fail, numbersOf(0.03, 0.99, 0.05, errors))
		op.Result.Total = 2000
		axis := metrics.AxisProfile{Size: 10, Fold: 1}
		for i := range 10 {
			bin := metrics.AxisBin{Count: 200, SumAbs: 0.1, SumRel: 0.1}
			if i == 3 {
				bin = metrics.AxisBin{Count: 200, Errors: errors, SumAbs: 50, SumRel: 50}
			}
			axis.Bins = append(axis.Bins, bin)
		}
		op.Result.Axes = []metrics.AxisProfile{axis}
		if op.Uneven = findMostUneven(op.Result); op.Uneven == nil {
			t.Fatalf("%d errors are even", errors)
		}
		op.Patterns = []finding.Finding{{Code: finding.Stride, Confidence: finding.Medium, Evidence: lang.Plain("one column")}}
		if want == finding.CalcError {
			op.Patterns = nil
		}
		if got := conclude(inOrder(good("a"), op), nil).rows[1].findings; got[0].Code != want {
			t.Errorf("%d errors: %v, want %s", errors, got, want)
		}
	}
}

// TestWrongShape: the preceding operator does not explain a wrong shape.
func TestWrongShape(t *testing.T) {
	ops := inOrder(bad("a"), rowOf("b", record.Fail, nil))
	if got := conclude(ops, nil).rows[1].findings; len(got) > 0 {
		t.Errorf("inferred: %v", got)
	}
	if got := conclude(ops, record.Flow{"a": nil, "b": {{Op: "a", Output: 0}}}).rows[1].findings; !finding.Has(got, finding.LayerInputBad) {
		t.Errorf("known to be read: %v", got)
	}
}

// TestFirsts: the first NaN, the first overflow and the largest jump.
func TestFirsts(t *testing.T) {
	nan, both, over, integer := good("nan"), good("both"), good("over"), good("int")
	nan.Result.Classes[metrics.NaN][metrics.PosInf] = 1
	both.Result.Classes[metrics.NaN][metrics.NaN] = 1
	over.Result.Overflowed = 1
	integer.Result.NPUDType, integer.Result.Overflowed = tensor.Int8, 1 // 127 for 126 is no overflow
	v := conclude(inOrder(good("a"), both, integer, bad("b"), nan, over), nil)
	if v.FirstNaN != 4 || v.FirstOverflow != 5 {
		t.Errorf("first NaN %d, first overflow %d, want 4 and 5", v.FirstNaN, v.FirstOverflow)
	}
	// From 0.001 to 0.3.
	if v.LargestJump != 3 || v.Jump < 299.9 || v.Jump > 300.1 {
		t.Errorf("largest jump %g at %d, want 300 at 3", v.Jump, v.LargestJump)
	}
	// The error of an exact input counts as rounding: half of 2^-10.
	exact := good("exact")
	exact.Result.MeanRel = metrics.NumberOf(0)
	if v := conclude(inOrder(exact, bad("b")), nil); v.Jump < 614.3 || v.Jump > 614.5 {
		t.Errorf("jump from an exact input %g, want 0.3 * 2^11 = 614.4", v.Jump)
	}
}

// TestLargeNetwork: a chain, a star and a tangle of many operators take linear time; otherwise
// this test would not end.
func TestLargeNetwork(t *testing.T) {
	const n = 40_000 / min(calibration, 4)
	ops := make([]testRow, n)
	chain, star, tangle := make(record.Flow, n), make(record.Flow, n), make(record.Flow, n)
	passing, failing := good("").Result, bad("").Result
	for i := range ops {
		ops[i] = rowOf(fmt.Sprint(i), record.Pass, passing)
		switch {
		case i == n/2:
			ops[i].Status, ops[i].Result = record.Fail, failing
		case i > n/2 && i%2 == 0:
			ops[i].Status, ops[i].Result = record.Skip, nil
		case i > n/2:
			ops[i].Status = record.Fail
		}
		ops[i].Order = i
		chain[fmt.Sprint(i)] = []record.Source{{Op: fmt.Sprint(i - 1), Output: 0}}
		star[fmt.Sprint(i)] = []record.Source{{Op: "0", Output: 0}}
		tangle[fmt.Sprint(i)] = []record.Source{{Op: fmt.Sprint((i + 1) % n), Output: 0}, {Op: fmt.Sprint((i * 7) % n), Output: 0}, {Op: "nobody", Output: 3}}
	}
	for _, graph := range []record.Flow{nil, chain} {
		v := conclude(ops, graph)
		if v.FirstBad != n/2 || len(v.Chain) != n/4+1 {
			t.Errorf("first bad %d, chain of %d, want %d and %d", v.FirstBad, len(v.Chain), n/2, n/4+1)
		}
	}
	for _, graph := range []record.Flow{star, tangle} {
		if v := conclude(ops, graph); v.FirstBad < n/2 {
			t.Errorf("first bad %d, want one from %d on", v.FirstBad, n/2)
		}
	}
}

// TestCopiesOnly: the search passes operators without dumps, up to a limit.
func TestCopiesOnly(t *testing.T) {
	graph := record.Flow{"last": {{Op: "c0", Output: 0}}}
	for i := range 100_000 {
		graph[fmt.Sprintf("c%d", i)] = []record.Source{{Op: fmt.Sprintf("c%d", i+1), Output: 0}}
	}
	v := conclude(inOrder(good("a"), bad("last")), graph)
	if got := v.rows[1]; len(got.reads()) != 0 || len(got.resolveInputs().bypassed) > searchLimit {
		t.Errorf("inputs %v through %d operators", got.reads(), len(got.resolveInputs().bypassed))
	}
}

// TestNoOrder: operators at the same place are not inputs of each other.
func TestNoOrder(t *testing.T) {
	ops := inOrder(good("a"), bad("b"), bad("c"))
	ops[2].Order = ops[1].Order
	v := conclude(ops, nil)
	if got := v.rows[2]; len(got.reads()) != 0 || got.resolveInputs().isInferred {
		t.Errorf("inputs %v of an operator at the place of another", got.reads())
	}
	if v.FirstBad != 1 || !slices.Equal(v.rows[1].reads(), []int{0}) {
		t.Errorf("first bad %d with inputs %v", v.FirstBad, v.rows[1].reads())
	}
}

// TestAnyNetwork judges random rows under random graphs: the findings name rows of the right
// status, and are reproducible.
func TestAnyNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) testRow {
			op := bad(name.Draw(t, "name"))
			op.Status = rapid.SampledFrom([]record.Status{record.Skip, record.Pass, record.Warn, record.Fail}).Draw(t, "status")
			op.Order, op.Output = rapid.IntRange(0, 9).Draw(t, "order"), rapid.IntRange(0, 2).Draw(t, "output")
			if rapid.IntRange(0, 5).Draw(t, "input") == 0 {
				op.Kind = "input"
			}
			if op.Status == record.Skip || rapid.IntRange(0, 5).Draw(t, "no result") == 0 {
				op.Result = nil
			}
			return op
		}), 0, 20).Draw(t, "ops")
		consumers := rapid.MapOf(name, rapid.SliceOfN(name, 0, 4)).Draw(t, "consumers")
		v := conclude(ops, fromConsumers(consumers))
		if v.text() != conclude(ops, fromConsumers(consumers)).text() {
			t.Error("another verdict the second time")
		}
		if v.FirstDamaged >= 0 && ops[v.FirstDamaged].Status != record.Fail {
			t.Errorf("first damaged %d", v.FirstDamaged)
		}
		failed := slices.ContainsFunc(ops, func(op testRow) bool { return op.Status == record.Fail })
		if (v.FirstBad >= 0) != failed || failed && ops[v.FirstBad].Status != record.Fail {
			t.Errorf("first bad %d", v.FirstBad)
		}
		if failed && !slices.Contains(v.Chain, v.FirstBad) {
			t.Errorf("chain %v without the first bad row %d", v.Chain, v.FirstBad)
		}
		for _, row := range v.Chain {
			if ops[row].Status != record.Fail {
				t.Errorf("row %d of the chain is not bad", row)
			}
		}
		for _, row := range v.Suspects {
			if ops[row].Status != record.Skip {
				t.Errorf("suspect %d was compared", row)
			}
		}
		for i, op := range v.rows {
			for _, row := range op.reads() {
				if ops[row].Status == record.Skip {
					t.Errorf("input %d of row %d was not compared", row, i)
				}
			}
			if ops[i].Status == record.Skip && len(op.findings) > 0 {
				t.Errorf("findings of row %d, which was not compared", i)
			}
		}
	})
}
