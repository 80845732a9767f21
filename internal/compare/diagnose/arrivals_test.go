package diagnose

import (
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// asInput turns a row into an input of the kind.
func asInput(row testRow, kind tensor.Kind) testRow {
	row.Kind = string(kind)
	return row
}

// startsWith gives an input a number of elements that rounding to bfloat16 does not explain.
func startsWith(row testRow, apart int64) testRow {
	row.Noise.Apart = &noise.InputDifference{Elements: 128, Float16: 128, BFloat16: apart, Ref: tensor.Float32, NPU: tensor.BFloat16}
	return row
}

// holding gives the tensors of a row digests, which represent the elements.
func holding(row testRow, ref, npu uint32) testRow {
	row.Result.RefCRC, row.Result.NPUCRC = ref, npu
	for _, side := range []*metrics.SideStats{&row.Result.Ref, &row.Result.NPU} {
		side.Min, side.Max = metrics.NumberOf(-1), metrics.NumberOf(1)
	}
	return row
}

// unlike makes the two sides of a row different tensors.
func unlike(row testRow) testRow {
	row.Result.Cosine = metrics.NumberOf(0.5)
	return row
}

// TestStarts: a tensor from outside the run is equal after rounding to the coarser type, or an origin however small
// the difference. A parameter of a later step was computed, and its error is inherited.
func TestStarts(t *testing.T) {
	const little, much = 0x1p-12, 0.02
	for _, tt := range []struct {
		name      string
		kind      tensor.Kind
		rms       float64
		apart     int64
		place     int // index of the input
		later     bool
		unordered bool
		origins   string
	}{
		{"an input that is apart", tensor.Input, little, 1, 0, false, false, "w"},
		{"an input that is equal but for rounding", tensor.Input, much, 0, 0, false, false, ""},
		{"a parameter that is apart", tensor.Parameter, little, 1, 1, false, false, "w"},
		{"a parameter that is equal but for rounding", tensor.Parameter, much, 0, 1, false, false, ""},
		{"a parameter without an order", tensor.Parameter, little, 1, 1, false, true, "w"},
		{"a parameter of a later step", tensor.Parameter, little, 1, 1, true, false, ""},
		{"an input behind an output", tensor.Input, little, 1, 1, false, false, ""},
		{"an input without an order", tensor.Input, little, 1, 0, false, true, ""},
	} {
		rows := []testRow{measured("a", "Relu", rounding), measured("b", "Relu", rounding)}
		in := startsWith(asInput(measured("w", "MatMul", tt.rms), tt.kind), tt.apart)
		rows = inOrder(append(rows[:tt.place:tt.place], append([]testRow{in}, rows[tt.place:]...)...)...)
		j := judgedBy(rows, Network{IsOrdered: !tt.unordered, IsLaterStep: tt.later})
		got := j.named("w")
		if origins := j.names(j.Origins()); origins != tt.origins || finding.Has(got.Reasons, finding.StartedApart) != (tt.origins == "w") || (got.Status == record.Fail) != (tt.origins == "w") {
			t.Errorf("%s: origins %q, %s by %v, want origins %q", tt.name, origins, got.Status, got.Reasons, tt.origins)
		}
	}
}

// TestTrained: a parameter of a later step may differ by 1.5 x the change that training made in the reference; by twice
// that in single elements. The parameter is the second row.
func TestTrained(t *testing.T) {
	const change = 0.01
	for _, tt := range []struct {
		name    string
		rms     float64
		typical float64 // change of the other parameters
		change  func(*record.Past)
		origins string
	}{
		{name: "as much as training changed it", rms: change},
		{name: "1.8 x the change", rms: 1.8 * change, origins: "w"},
		{name: "other parameters change more", rms: 2 * change, typical: 3 * change},
		{name: "not updated by the NPU", rms: change, change: func(p *record.Past) { p.Unchanged[1] = true }, origins: "w"},
		{name: "behind an origin of an earlier step", rms: 10 * change, change: func(p *record.Past) { p.Damaged = true }},
		{name: "the tensors of the step before", rms: 10 * change, change: func(p *record.Past) { p.Carried[1] = true }},
	} {
		past := record.Past{Known: true, Trained: []float64{0, change, 0}, Unchanged: make([]bool, 3), Carried: make([]bool, 3), Typical: tt.typical}
		if tt.change != nil {
			tt.change(&past)
		}
		rows := inOrder(measured("a", "Relu", rounding), startsWith(asInput(measured("w", "MatMul", tt.rms), tensor.Parameter), 1), measured("b", "Relu", rounding))
		j := judgedBy(rows, Network{IsOrdered: true, IsLaterStep: true, Past: past})
		if origins := j.names(j.Origins()); origins != tt.origins {
			t.Errorf("%s: origins %q, want %q: %v", tt.name, origins, tt.origins, j.named("w").Reasons)
		}
	}
}

// TestFirstInput: the input of the first dumped operator must be equal in a complete dump. Where a scope of msprobe
// begins in the middle of the network, its error is inherited up to 3 % of the values.
func TestFirstInput(t *testing.T) {
	for _, tt := range []struct {
		op      string
		rms     float64
		origins string
	}{
		{"Functional.relu.0.forward", 0x1p-9, "Functional.relu.0.forward"},
		{"Functional.relu.3.forward", 0x1p-9, ""},
		{"Functional.relu.3.forward", 0.02, ""},
		{"Functional.relu.3.forward", 0.05, "Functional.relu.3.forward"},
	} {
		in := startsWith(asInput(measured(tt.op, "", tt.rms), tensor.Input), 1)
		j := judgedBy(inOrder(in, measured(tt.op, "", tt.rms), measured("Functional.relu.4.forward", "", tt.rms)), Network{IsOrdered: true})
		if origins := j.names(j.Origins()); origins != tt.origins {
			t.Errorf("%s with an error of %.2g: origins %q, want %q", tt.op, tt.rms, origins, tt.origins)
		}
	}
}

// TestTokensOfATie: the ids that an argmax chose between near ties are no input from outside, whichever input of the
// embedding they are.
func TestTokensOfATie(t *testing.T) {
	ids := func(name, opType string) testRow {
		row := startsWith(measured(name, opType, 3), 1)
		row.Noise.Type, _ = noise.TypeOf(tensor.Int64)
		return row
	}
	for _, input := range []int{0, 1} {
		in := asInput(ids("embedding", "Embedding"), tensor.Input)
		in.Output = input
		j := judgedBy(inOrder(measured("a", "MatMul", rounding), ids("argmax", "ArgMax"), in), Network{IsOrdered: true})
		if got := j.named("embedding"); finding.Has(got.Reasons, finding.StartedApart) {
			t.Errorf("ids as input %d: %s by %v", input, got.Status, got.Reasons)
		}
	}
}

// TestProducersWithoutOrder: the producer of an input is the output with the same elements of the operator that
// computed it.
func TestProducersWithoutOrder(t *testing.T) {
	in := func(op string, crc uint32) testRow {
		return holding(asInput(measured(op, "Relu", 0), tensor.Input), crc, crc)
	}
	out := func(op string, crc uint32) testRow { return holding(measured(op, "Relu", 0), crc, crc) }
	for _, tt := range []struct {
		name   string
		rows   []testRow
		within map[string][]string
		want   string // the producers of the inputs
	}{
		{"behind", []testRow{out("a", 1), in("b", 1), out("b", 2)}, nil, "b<a"},
		{"before", []testRow{in("b", 1), out("b", 2), out("a", 1)}, nil, "b<a"},
		{"itself", []testRow{in("b", 1), out("b", 1)}, nil, ""},
		{"other elements", []testRow{in("b", 1), out("b", 2), out("a", 3)}, nil, ""},
		{"an output that passes on its input", []testRow{in("p", 1), out("p", 1), in("b", 1), out("b", 2), out("a", 1)}, nil, "p<a b<a"},
		{"a module", []testRow{out("m", 1), in("b", 1), out("b", 2), out("a", 1)}, map[string][]string{"m": {"a"}}, "b<a"},
		{"one of two equal outputs is wrong on the NPU", []testRow{out("a", 1), holding(measured("b", "Relu", faulty), 1, 2), holding(asInput(measured("c", "Relu", faulty), tensor.Input), 1, 2)}, nil, "c<b"},
	} {
		n := newNetwork(inOrder(tt.rows...), Network{InnerOperators: tt.within})
		var got []string
		for i := range n.rows {
			if p := n.rows[i].producer; p != nil {
				got = append(got, n.rows[i].source.Op+"<"+p.source.Op)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestArrivals: an input that differs although no dumped operator made the difference is reported at its position.
func TestArrivals(t *testing.T) {
	alone := rowOf("u", record.UnmatchedNPU, nil)
	alone.OpType = "MatMul"
	for _, tt := range []struct {
		name    string
		rows    []testRow
		known   Network
		origins string
		code    finding.Code
		text    string
	}{
		{
			"changed between two operators", []testRow{
				holding(measured("a", "MatMul", rounding), 1, 2), holding(asInput(measured("b", "Relu", faulty), tensor.Input), 1, 3), holding(measured("b", "Relu", faulty), 4, 5),
			}, Network{IsOrdered: true}, "b", finding.Memory, "the output of a:output:0",
		},
		{
			"inside a module", []testRow{
				measured("a", "MatMul", rounding), unlike(asInput(measured("b", "Relu", faulty), tensor.Input)), measured("b", "Relu", faulty), measured("m", "Block", faulty),
			}, Network{IsOrdered: true, InnerOperators: map[string][]string{"m": {"b"}}}, "m", finding.CameIn, "before b:input:0",
		},
		{
			"behind an operator of one side", []testRow{
				measured("a", "MatMul", rounding), alone, asInput(measured("b", "Relu", faulty), tensor.Input), measured("b", "Relu", faulty),
			}, Network{IsOrdered: true}, "b", finding.CameIn, "u:0",
		},
	} {
		j := judgedBy(inOrder(tt.rows...), tt.known)
		origins := j.Origins()
		if j.names(origins) != tt.origins {
			t.Errorf("%s: origins %s, want %s", tt.name, j.names(origins), tt.origins)
			continue
		}
		if reasons := j.rows[origins[0]].Reasons; reasons[0].Code != tt.code || !strings.Contains(reasons[0].Evidence.String(), tt.text) {
			t.Errorf("%s: %v, want %s with %q", tt.name, reasons, tt.code, tt.text)
		}
	}
}

// TestCoarseWithoutApart: an input of a document without noise.apart, of an earlier program, is described.
func TestCoarseWithoutApart(t *testing.T) {
	x := &evidenceRow{row: &row{source: new(record.Row), isInput: true, noise: new(noise.Noise)}, verdict: verdict.Verdict{Kind: verdict.Coarse}}
	if code, _, text := x.describeExcuse(); code != finding.PrecisionLoss || text.IsZero() {
		t.Errorf("%s: %v", code, text)
	}
}

// TestStepBefore: the reference reads an output of the step before. The NPU may read it with the error of that output,
// rounded again, or from a cache of few bits.
func TestStepBefore(t *testing.T) {
	for _, tt := range []struct {
		rms, before float64
		origins     string
	}{
		{0.02, 0, ""}, // below 3 %
		{0.04, 0, "x"},
		{0.2, 0.15, ""},
		{0.4, 0.2, "x"},
	} {
		before := measured("state", "Tanh", tt.before)
		past := record.Past{Known: true, Trained: make([]float64, 3), Unchanged: make([]bool, 3), Carried: make([]bool, 3), Before: []*record.Row{nil, &before, nil}}
		rows := inOrder(measured("a", "Relu", rounding), startsWith(asInput(measured("x", "Relu", tt.rms), tensor.Input), 1), measured("b", "Relu", rounding))
		j := judgedBy(rows, Network{IsOrdered: true, IsLaterStep: true, Past: past})
		if origins := j.names(j.Origins()); origins != tt.origins {
			t.Errorf("error %g, of the output before %g: origins %q, want %q", tt.rms, tt.before, origins, tt.origins)
		}
	}
}

// TestFarGradient: the gradient of a weight without a producer is an origin if its error is far above the errors of
// outputs. Gradients of a bias may cancel.
func TestFarGradient(t *testing.T) {
	for _, tt := range []struct {
		outputs, gradient float64
		shape             tensor.Shape
		origins           string
	}{
		{0x1p-9, 0.12, tensor.Shape{8, 16}, ""},   // 61 medians, as healthy runs have
		{0x1p-9, 0.4, tensor.Shape{8, 16}, "g"},   // a micro-batch is lost
		{0x1p-7, 0.4, tensor.Shape{8, 16}, ""},    // 51 medians
		{0x1p-24, 0.02, tensor.Shape{8, 16}, "g"}, // float32
		{0x1p-24, 0.005, tensor.Shape{8, 16}, ""},
		{0x1p-9, 0.4, tensor.Shape{128}, ""},
	} {
		var rows []testRow
		flow := record.Flow{"g": nil}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			rows, flow[name] = append(rows, measured(name, "Relu", tt.outputs)), nil
		}
		g := startsWith(asInput(measured("g", "", tt.gradient), tensor.Gradient), 1)
		g.Noise.Shape = tt.shape
		if tt.outputs < 0x1p-20 {
			g.Noise.Type, _ = noise.TypeOf(tensor.Float32)
			g.Noise.Rounding = 0x1p-25
		}
		j := judgedBy(inOrder(append(rows, g)...), Network{IsOrdered: true, Graph: flow})
		if origins := j.names(j.Origins()); origins != tt.origins {
			t.Errorf("outputs %g, gradient %g %v: origins %q, want %q, rules %v", tt.outputs, tt.gradient, tt.shape, origins, tt.origins, j.named("g").Evidence.Rules)
		}
	}
}

// TestPeers: the result of a communication has the errors of the inputs of all ranks, and depends on their origins.
func TestPeers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		peer    float64 // error of the input of another rank, 0 for no other rank
		damaged bool
		result  float64
		origins string
	}{
		{"alone", 0, false, faulty, "sum"},
		{"the other rank has a larger error", faulty, false, faulty, ""},
		{"the other rank has a small error", rounding, false, faulty, "sum"},
		{"an error began in the other rank", faulty, true, faulty, ""},
	} {
		rows := inOrder(measured("a", "Relu", rounding), measured("sum", "AllReduce", tt.result))
		known := Network{IsOrdered: true, Graph: record.Flow{"a": nil, "sum": {{Op: "a"}}}}
		judged := slices.Clone(rows)
		if tt.peer > 0 {
			in := measured("sum", "AllReduce", tt.peer)
			in.RoundCoordinates.Rank = "1"
			known.Peers = record.Peers{Inputs: map[*record.Row][]*record.Row{&judged[1]: {&in}}, Damaged: map[*record.Row]bool{&in: tt.damaged}}
		}
		j := &judgement{Judgement: Judge(judged, known), rows: judged}
		if origins := j.names(j.Origins()); origins != tt.origins {
			t.Errorf("%s: origins %q, want %q", tt.name, origins, tt.origins)
		}
	}
}
