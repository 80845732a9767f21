package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// measured returns a row of a float16 tensor with a reference of 1 and a constant
// error.
func measured(name, opType string, rms float64) testRow {
	typ, _ := noise.TypeOf(tensor.Float16)
	shape := tensor.Shape{8, 16}
	n := &noise.Noise{
		Type: typ, Shape: shape, Elements: 128, Count: 128, RefRMS: 1, RefStd: 1, RefMax: 3, RMS: rms, Max: 3 * rms, RefAtMax: 1,
		Rounding: 0x1p-12, P90: 1.6 * rms, Residual: rms, MaxRelative: rms, MaxAbsolute: rms, View: rms, Bits: 10,
	}
	groups := func(count int) noise.Groups {
		column := func(x float64) []float32 { return slices.Repeat([]float32{float32(x)}, count) }
		return noise.Groups{
			Count: int64(count), Size: 128 / int64(count), Fold: 1, RefRMS: column(1), RefStd: column(1), RefMax: column(3), RMS: column(rms),
			Mean: column(0), Max: column(3 * rms), Rounding: column(0x1p-12), Relative: column(rms), Inverse: column(1),
		}
	}
	n.Rows, n.Channels = groups(8), groups(16)
	row := good(name)
	if rms > 0.1 {
		row = bad(name)
	}
	row.OpType, row.Noise = opType, n
	return row
}

// rounding and fault are errors of healthy and of faulty operators.
const (
	rounding = 0x1p-11
	faulty   = 0.3
)

// walked names the operators in the order of the walk, with a star for an operator that comes before its producer
// because of a cycle.
func walked(rows []testRow, graph record.Flow) string {
	n := newNetwork(rows, Network{Graph: graph, IsOrdered: true})
	op := map[*operator]string{}
	for i := range n.rows {
		op[n.rows[i].operator] = rows[i].Op
	}
	var names []string
	for _, o := range n.walk() {
		name := op[o]
		if o.isLooped {
			name += "*"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestWalk(t *testing.T) {
	rowsOf := func(names string) (rows []testRow) {
		for name := range strings.FieldsSeq(names) {
			op, skipped := strings.CutPrefix(name, "-")
			if skipped {
				rows = append(rows, missing(op))
			} else {
				rows = append(rows, measured(op, "Relu", rounding))
			}
		}
		return inOrder(rows...)
	}
	for _, tt := range []struct {
		name, rows string
		consumers  map[string][]string
		want       string
	}{
		{"no graph", "c a b", nil, "c a b"},
		{"against the order", "a b z", map[string][]string{"z": {"a"}, "a": {"b"}}, "z a b"},
		{"ties", "d c b a", map[string][]string{"a": {"d"}, "b": {"d"}, "c": {}}, "b a d c"},
		{"two ends", "x y a b", map[string][]string{"b": {"x"}, "a": {"y"}}, "b x a y"},
		{"a diamond", "d c b a", map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}}, "a c b d"},
		{"through one without a dump", "z -x y", map[string][]string{"y": {"x"}, "x": {"z"}}, "y z x"},
		{"two that read each other", "a b", map[string][]string{"a": {"b"}, "b": {"a"}}, "b* a"},
		{"a cycle of three", "a b c d", map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "d"}}, "b* c a d"},
		{"one that reads itself", "a b", map[string][]string{"a": {"a", "b"}}, "a b"},
		{"unknown names", "b a", map[string][]string{"x": {"y"}, "y": {"z"}}, "b a"},
	} {
		if got := walked(rowsOf(tt.rows), fromConsumers(tt.consumers)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// A long chain against the order is walked to its end.
	var rows []testRow
	consumers := map[string][]string{}
	const length = 20000
	for i := range length {
		rows = append(rows, measured(fmt.Sprint(i), "", rounding))
		consumers[fmt.Sprint(i+1)] = []string{fmt.Sprint(i)}
	}
	if got := strings.Fields(walked(inOrder(rows...), fromConsumers(consumers))); len(got) != length || got[0] != "19999" || got[length-1] != "0" {
		t.Errorf("%d of a chain, from %s to %s", len(got), got[0], got[length-1])
	}
}

// judgement is a judgement of rows by evidence, as names.
type judgement struct {
	*Judgement
	rows     []record.Row
	findings record.Findings
}

func judgedBy(rows []testRow, known Network) *judgement {
	rows = slices.Clone(rows)
	j := &judgement{Judgement: Judge(rows, known), rows: rows}
	j.findings = j.Apply()
	j.Write()
	return j
}

// names returns the names of rows.
func (j *judgement) names(rows []int) string {
	var names []string
	for _, i := range rows {
		names = append(names, j.rows[i].Op)
	}
	return strings.Join(names, " ")
}

// named returns the row of an operator.
func (j *judgement) named(op string) *record.Row {
	i := slices.IndexFunc(j.rows, func(r record.Row) bool { return r.Op == op })
	return &j.rows[i]
}

func TestJudge(t *testing.T) {
	abz := func(a, b, z float64) []testRow {
		return inOrder(measured("a", "Relu", a), measured("b", "Add", b), measured("z", "Conv2D", z))
	}
	chain := map[string][]string{"z": {"a"}, "a": {"b"}}
	for _, tt := range []struct {
		name      string
		rows      []testRow
		consumers map[string][]string
		unordered bool
		origins   string
		statuses  string // of all rows
	}{
		{"healthy", abz(rounding, rounding, rounding), chain, false, "", "PASS PASS PASS"},
		{"a fault in the first one", abz(faulty, faulty, faulty), chain, false, "z", "FAIL FAIL FAIL"},
		{"a fault in the last one", abz(rounding, faulty, rounding), chain, false, "b", "PASS FAIL PASS"},
		{"a fault in the first and in the last one", abz(0.2, 0.9, 0.2), chain, false, "z b", "FAIL FAIL FAIL"},
		{"without an order", abz(faulty, faulty, faulty), chain, true, "z", "FAIL FAIL FAIL"},
		{"no graph: the first origin alone", abz(faulty, 20*faulty, rounding), nil, false, "a", "FAIL FAIL PASS"},
		{"neither graph nor order: what nothing explains", abz(faulty, rounding, rounding), nil, true, "a", "FAIL PASS PASS"},
		{"neither graph nor order: what may be amplified", abz(0.12, rounding, rounding), nil, true, "", "WARN PASS PASS"},
		{"a graph of other names", abz(faulty, faulty, rounding), map[string][]string{"x": {"y"}}, false, "a", "FAIL FAIL PASS"},
		{"two that read each other", inOrder(measured("a", "Relu", faulty), measured("b", "Add", rounding)), map[string][]string{"a": {"b"}, "b": {"a"}}, false, "a", "FAIL PASS"},
		{
			"through one without a dump", inOrder(measured("y", "Relu", faulty), missing("x"), measured("z", "Relu", faulty)),
			map[string][]string{"y": {"x"}, "x": {"z"}}, false, "y", "FAIL SKIP FAIL",
		},
		{"outputs alone", inOrder(missing("a"), missing("b"), measured("y", "Softmax", faulty), measured("z", "Add", rounding)), map[string][]string{"a": {"b"}, "b": {"y", "z"}}, false, "y", "SKIP SKIP FAIL PASS"},
		{"nothing was compared", inOrder(missing("a"), missing("b")), map[string][]string{"a": {"b"}}, false, "", "SKIP SKIP"},
		{"no rows", nil, chain, false, "", ""},
	} {
		var graph record.Flow
		if tt.consumers != nil {
			graph = fromConsumers(tt.consumers)
		}
		j := judgedBy(tt.rows, Network{Graph: graph, IsOrdered: !tt.unordered})
		var statuses []string
		for _, r := range j.rows {
			statuses = append(statuses, string(r.Status))
		}
		if got := j.names(j.Origins()); got != tt.origins || strings.Join(statuses, " ") != tt.statuses || j.Unfit {
			t.Errorf("%s: origins %q, %v, unfit %t; want %q, %s", tt.name, got, statuses, j.Unfit, tt.origins, tt.statuses)
		}
		wantFirst := tt.origins != "" && (graph != nil || !tt.unordered)
		if first := j.findings.FirstBad; wantFirst != (first >= 0) || wantFirst && j.rows[first].Op != strings.Fields(tt.origins)[0] || first != j.findings.FirstDamaged {
			t.Errorf("%s: first bad is row %d, first damaged %d", tt.name, first, j.findings.FirstDamaged)
		}
		for i := range j.rows {
			r := &j.rows[i]
			fed := r.Status == record.Fail && !slices.Contains(j.Origins(), i)
			if fed != (finding.Has(r.Reasons, finding.LayerInputBad) && len(r.Evidence.FedBy) > 0) {
				t.Errorf("%s: %s is %s of %v, fed by %v", tt.name, r.Op, r.Status, r.Reasons, r.Evidence.FedBy)
			}
		}
	}
}

// TestJudgeClasses: an operator is judged by its type if all its inputs are known, otherwise as
// an unknown operator.
func TestJudgeClasses(t *testing.T) {
	rows := inOrder(measured("a", "Relu", rounding), measured("b", "Relu", rounding), missing("x"), measured("c", "Relu", rounding),
		measured("d", "Foo", rounding), measured("e", "Relu", rounding), measured("f", "Relu", rounding), measured("loose", "Relu", rounding))
	graph := fromConsumers(map[string][]string{"a": {"b", "x"}, "x": {"c"}, "b": {"d"}, "e": {"f"}, "f": {"e"}})
	j := judgedBy(rows, Network{Graph: graph, IsOrdered: true})
	for op, want := range map[string]optype.Class{
		"a": optype.Lipschitz, "b": optype.Lipschitz, "c": optype.Unknown, "d": optype.Unknown, "e": optype.Lipschitz, "f": optype.Unknown, "loose": optype.Unknown,
	} {
		if got := j.named(op).Evidence.Class; got != want.String() {
			t.Errorf("%s is judged as %s, want %s", op, got, want)
		}
	}
	// Inputs that were dumped themselves count, not their producers.
	in := measured("b", "Relu", 0.2)
	in.Kind = "input"
	own := judgedBy(inOrder(measured("a", "Relu", rounding), in, measured("b", "Relu", 0.2)), Network{Graph: fromConsumers(map[string][]string{"a": {"b"}}), IsOrdered: true})
	if origins := own.Origins(); len(origins) != 1 || origins[0] != 1 {
		t.Errorf("origins %v, want the input", origins)
	}
}

// TestAfterNaN: a reader of NaN is damaged if it has NaN or an error itself.
func TestAfterNaN(t *testing.T) {
	withNaN := func(name string, rms float64, nan int64) testRow {
		row := measured(name, "Exp", rms)
		row.Noise.NonFinite = nan
		return row
	}
	j := judgedBy(inOrder(withNaN("a", rounding, 1), withNaN("equal", 0, 0), withNaN("rounded", rounding, 0), withNaN("b", rounding, 2), withNaN("wrong", faulty, 0)), Network{IsOrdered: true})
	var statuses []string
	for _, r := range j.rows {
		statuses = append(statuses, string(r.Status))
	}
	if got := strings.Join(statuses, " "); got != "FAIL PASS PASS FAIL FAIL" || j.names(j.Origins()) != "a" {
		t.Errorf("%s with origins %s", got, j.names(j.Origins()))
	}
}

// TestUnfit: a graph does not fit the data if more than a tenth of the operators, and at least five, would be
// origins.
func TestUnfit(t *testing.T) {
	for _, tt := range []struct {
		rows, wrong int // wrong: number of operators that read the first one, according to the graph
		unfit       bool
	}{{40, 5, true}, {40, 4, false}, {50, 5, false}, {49, 5, true}, {10, 4, false}} {
		// The error grows by a third in each operator that reads a wrong operator.
		var rows []testRow
		consumers, rms := map[string][]string{}, rounding
		for i := range tt.rows {
			name := fmt.Sprintf("op%02d", i)
			reads := fmt.Sprintf("op%02d", i-1)
			if i >= tt.rows-tt.wrong {
				rms, reads = max(rms*1.3, 0.02), "op00"
			}
			if i > 0 {
				consumers[reads] = append(consumers[reads], name)
			}
			rows = append(rows, measured(name, "Relu", rms))
		}
		j := judgedBy(inOrder(rows...), Network{Graph: fromConsumers(consumers), IsOrdered: true})
		if j.Unfit != tt.unfit {
			t.Errorf("%d wrong of %d: unfit %t with origins %v, want %t", tt.wrong, tt.rows, j.Unfit, j.names(j.Origins()), tt.unfit)
		}
		if n := len(j.Origins()); tt.unfit && n > 1 || !tt.unfit && n != tt.wrong {
			t.Errorf("%d wrong of %d: %d origins", tt.wrong, tt.rows, n)
		}
	}
}

// TestEqual: no error passes through a tensor that equals its reference.
func TestEqual(t *testing.T) {
	in := measured("exp", "Exp", 0)
	in.Kind = "input"
	j := judgedBy(inOrder(measured("a", "Relu", faulty), in, measured("exp", "Exp", faulty)), Network{IsOrdered: true})
	if origins := j.names(j.Origins()); origins != "a exp" || len(j.rows[2].Evidence.FedBy) != 0 {
		t.Errorf("origins %s, exp is fed by %v", origins, j.rows[2].Evidence.FedBy)
	}
}

// TestMisnamed: an operator is compared with the function that its name says only if the references are results of
// that function.
func TestMisnamed(t *testing.T) {
	for name, f := range map[string]func(float64) float64{
		"b": math.Tanh, // an origin
		"":  func(x float64) float64 { return math.Copysign(1, x) },
	} {
		a, b := measured("a", "MatMul", 0.05), measured("b", "Tanh", 0.5)
		for i := range 128 {
			x := (float64(i) - 63.5) / 32
			a.Noise.Probe.Values = append(a.Noise.Probe.Values, float32(x))
			b.Noise.Probe.Values = append(b.Noise.Probe.Values, float32(f(x)))
		}
		j := judgedBy(inOrder(measured("z", "MatMul", 0.05), a, b), Network{Graph: fromConsumers(map[string][]string{"z": {"a"}, "a": {"b"}}), IsOrdered: true})
		if got := j.names(j.Origins()[1:]); got != name {
			t.Errorf("origins behind the first one: %q, want %q", got, name)
		}
	}
}

// TestWithoutInputs: an operator without known inputs is no origin of its own after another origin, or after an error
// that begins inside a module.
func TestWithoutInputs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		rows    []testRow
		within  map[string][]string
		origins string
	}{
		{"alone", []testRow{measured("a", "Relu", rounding), measured("m", "Attention", faulty)}, nil, "m"},
		{"behind an origin", []testRow{measured("a", "Relu", faulty), measured("m", "Attention", faulty)}, nil, "a"},
		{"behind a gap", []testRow{measured("a", "Relu", rounding), unlike(asInput(measured("b", "Relu", faulty), tensor.Input)), measured("b", "Relu", faulty), measured("m", "Attention", faulty), measured("out", "Block", faulty)},
			map[string][]string{"out": {"b", "m"}}, "out"},
	} {
		j := judgedBy(inOrder(tt.rows...), Network{Graph: record.Flow{"m": nil}, InnerOperators: tt.within, IsOrdered: true})
		if got := j.names(j.Origins()); got != tt.origins {
			t.Errorf("%s: origins %q, want %q", tt.name, got, tt.origins)
		}
	}
}
