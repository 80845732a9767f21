package diagnose

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// heldRow returns a row of an NPU array of a type. Its numbers use the given fraction bits, and
// have few or many different values.
func heldRow(name string, d tensor.DType, bits int, few bool) testRow {
	random := rand.New(rand.NewPCG(uint64(len(name)), uint64(bits)))
	n, r := make([]float64, 40*20), make([]float64, 40*20)
	for i := range n {
		x := random.NormFloat64()
		if few {
			x = float64(i%10) * 0.7
		}
		fraction, exponent := math.Frexp(x)
		n[i] = math.Ldexp(math.RoundToEven(math.Ldexp(fraction, bits+1)), exponent-bits-1)
		r[i] = float64(float32(x))
	}
	typ, _ := noise.TypeOf(d)
	c := noise.NewCollector(&noise.Request{Shape: tensor.Shape{40, 20}, Type: typ, Mask: math.Inf(-1), Groups: noise.MaxGroups})
	c.Add(0, n, r)
	row := good(name)
	row.OpType, row.Noise = "Relu", c.Finish(func(func(float64, int64) bool) {})
	return row
}

// TestTypes: the type of a float32 array is the type of its values; with too few different values it is the type of
// its inputs, or of most arrays of the round.
func TestTypes(t *testing.T) {
	const single = 23
	// The name of a row says what its array holds: h, b and s are float16, bfloat16 and float32 values in float32, H
	// is float16; q stands for few different values.
	rowNamed := func(name string) testRow {
		bits := map[byte]int{'h': 10, 'b': 7, 's': single, 'H': 10}[name[0]]
		d := tensor.Float32
		if name[0] == 'H' {
			d = tensor.Float16
		}
		return heldRow(name, d, bits, strings.Contains(name, "q"))
	}
	for _, tt := range []struct {
		name, rows string
		consumers  map[string][]string
		want       string // a letter for each row: h, b, or - for the stored type
	}{
		{"by its own bits", "h b s H", map[string][]string{"h": {"b"}, "b": {"s"}, "s": {"H"}}, "h b - -"},
		{"by its own bits, whatever it reads", "h b1 b2", map[string][]string{"h": {"b1", "b2"}}, "h b b"},
		{"few values of float16", "h hq", map[string][]string{"h": {"hq"}}, "h h"},
		{"few values of bfloat16 may be of float16 too", "h bq", map[string][]string{"h": {"bq"}}, "h h"},
		{"few values of an array of float16", "H hq", map[string][]string{"H": {"hq"}}, "- h"},
		{"few values of bfloat16", "b bq", map[string][]string{"b": {"bq"}}, "b b"},
		{"few values that bfloat16 has not", "b hq", map[string][]string{"b": {"hq"}}, "b -"},
		{"few values of float32", "s bq", map[string][]string{"s": {"bq"}}, "- -"},
		{"few values that no coarser type has", "h sq", map[string][]string{"h": {"sq"}}, "h -"},
		{"one of two inputs", "s h bq", map[string][]string{"s": {"bq"}, "h": {"bq"}}, "- h h"},
		{"the coarsest of two inputs", "h b bq", map[string][]string{"h": {"bq"}, "b": {"bq"}}, "h b b"},
		{"through others of few values", "b bq1 bq2 bq3", map[string][]string{"b": {"bq1"}, "bq1": {"bq2"}, "bq2": {"bq3"}}, "b b b b"},
		{"against the order", "bq b", map[string][]string{"b": {"bq"}}, "b b"},
		{"a root by most", "bq b1 b2 s", map[string][]string{"bq": {"b1"}, "b1": {"b2"}, "b2": {"s"}}, "b b b -"},
		{"a root where half are float32", "bq b1 s1", map[string][]string{"bq": {"b1"}, "b1": {"s1"}}, "- b -"},
		{"a root where most are float16", "bq h1 h2 b1", map[string][]string{"bq": {"h1"}, "h1": {"h2"}, "h2": {"b1"}}, "h h h b"},
		{"a root of values that most have not", "hq b1 b2", map[string][]string{"hq": {"b1"}, "b1": {"b2"}}, "- b b"},
		{"arrays of float16 say nothing of a root", "bq H1 H2", map[string][]string{"bq": {"H1"}, "H1": {"H2"}}, "- - -"},
		{"no root by most where an input is known", "s1 bq b1 b2", map[string][]string{"s1": {"bq"}, "bq": {"b1"}, "b1": {"b2"}}, "- - b b"},
		{"few values only", "bq1 bq2", map[string][]string{"bq1": {"bq2"}}, "- -"},
		{"few values each, and together enough", "bq1 bq2 bq3 bq4 bq5 bq6 bq7", map[string][]string{"bq1": {"bq2", "bq3", "bq4", "bq5", "bq6", "bq7"}}, "b b b b b b b"},
		{"together enough, not of one type", "bq1 bq2 bq3 bq4 bq5 bq6 bq7 sq", map[string][]string{"bq1": {"bq2", "bq3", "bq4", "bq5", "bq6", "bq7", "sq"}}, "- - - - - - - -"},
		{"without a graph what comes before is read", "b1 bq", nil, "b b"},
	} {
		var rows []testRow
		for name := range strings.FieldsSeq(tt.rows) {
			rows = append(rows, rowNamed(name))
		}
		known := Network{IsOrdered: true}
		if tt.consumers != nil {
			known.Graph = fromConsumers(tt.consumers)
		}
		rows = inOrder(rows...)
		Judge(rows, known).Write()
		for i, want := range strings.Fields(tt.want) {
			row := &rows[i]
			name := map[string]string{"h": "float16", "b": "bfloat16", "-": ""}[want]
			factor := map[string]float64{"h": 0x1p13, "b": 0x1p16, "-": 1}[want]
			if got := float64(row.Evidence.Rounding) / row.Noise.Rounding; row.Type != name || math.Abs(got-factor) > 0.004*factor {
				t.Errorf("%s: %s is of type %q with %g times the rounding of its array, want %q and %g", tt.name, row.Op, row.Type, got, name, factor)
			}
		}
	}
}

// TestTypeByOutput: the type of one output does not determine the type of another output.
func TestTypeByOutput(t *testing.T) {
	rows := inOrder(heldRow("x", tensor.Float32, 23, false), heldRow("y", tensor.Float32, 7, false), heldRow("y", tensor.Float32, 7, true), heldRow("y", tensor.Float32, 7, true))
	rows[2].Output, rows[3].Output = 1, 2
	rows[3].Noise = nil
	Judge(rows, Network{IsOrdered: true, Graph: record.Flow{"x": nil, "y": {{Op: "x"}}}}).Write()
	var types []string
	for i := range rows {
		types = append(types, rows[i].Type)
	}
	if got := strings.Join(types, ","); got != ",bfloat16,," {
		t.Errorf("types %s", got)
	}
	if rows[3].Evidence != nil && rows[3].Evidence.Rounding != 0 || rows[3].Status != record.Pass {
		t.Errorf("without noise: %+v", rows[3].Evidence)
	}
}

// TestSaidType: the type in the name of a file or in dump.json counts, unless the elements contradict it.
func TestSaidType(t *testing.T) {
	few, lied, many := heldRow("few", tensor.Float32, 7, true), heldRow("lied", tensor.Float32, 23, false), heldRow("many", tensor.Float32, 7, false)
	rows := inOrder(few, lied, many)
	for i := range rows {
		rows[i].DeclaredType = tensor.BFloat16
	}
	rows[2].DeclaredType = tensor.Float16 // its numbers fit both bfloat16 and float16
	Judge(rows, Network{IsOrdered: true, Graph: record.Flow{"few": nil, "lied": nil, "many": nil}}).Write()
	for i, want := range []string{"bfloat16", "", "float16"} {
		if row := &rows[i]; row.Type != want || row.IsOrigin() {
			t.Errorf("%s is of type %q, origin %v; want %q and none", row.Op, row.Type, row.IsOrigin(), want)
		}
	}
}

// TestFewerBitsThanOthers: if some operators of a type use all bits of float32, an operator that does not is a
// warning, as long as the limits allow its error.
func TestFewerBitsThanOthers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status record.Status
		plain  int
		want   record.Status
	}{
		{"two others", record.Pass, 2, record.Warn}, {"one other", record.Pass, 1, record.Warn}, {"none", record.Pass, 0, record.Pass},
		{"beyond the limits", record.Fail, 2, record.Rounding}, {"three others", record.Pass, 3, record.Fail},
	} {
		x := heldRow("input", tensor.Float32, 23, false)
		x.OpType = "Data"
		rows := []testRow{x, heldRow("coarse", tensor.Float32, 10, false)}
		rows[1].Status, rows[1].Pair.Status = c.status, c.status
		graph := record.Flow{"input": nil, "coarse": {{Op: "input"}}}
		for i := range c.plain {
			name := strings.Repeat("p", i+1)
			rows = append(rows, heldRow(name, tensor.Float32, 23, false))
			graph[name] = []record.Source{{Op: "input"}}
		}
		rows = inOrder(rows...)
		j := Judge(rows, Network{IsOrdered: true, Graph: graph})
		j.Apply()
		j.Write()
		if row := &rows[1]; row.Status != c.want || c.want == record.Warn && !finding.Has(row.Reasons, finding.PrecisionLoss) {
			t.Errorf("%s: %s %v, want %s", c.name, row.Status, row.Reasons, c.want)
		}
	}
}
