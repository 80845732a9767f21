package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// layerRun is an operator of a network with its results in both runs.
type layerRun struct {
	name, opType string
	reads        []string
	shape        tensor.Shape
	dtype        tensor.DType // type on the NPU
	ref, npu     []float64
}

// model computes a network twice: in float64, and rounded to float16 after every operator, like an NPU that
// accumulates in more bits.
type model struct {
	layers []*layerRun
	byName map[string]*layerRun
	round  func([]float64) []float64
}

func newModel() *model { return &model{byName: map[string]*layerRun{}, round: roundHalf} }

// input adds a tensor without a producer.
func (m *model) input(name, opType string, shape tensor.Shape, values []float64) {
	m.put(&layerRun{name: name, opType: opType, shape: shape, ref: values, npu: m.round(values)})
}

// add adds an operator. damage, if not nil, changes the NPU's result before rounding.
func (m *model) add(name, opType string, shape tensor.Shape, reads []string, apply func(in [][]float64) []float64, damage func([]float64)) {
	var refs, npus [][]float64
	for _, in := range reads {
		refs, npus = append(refs, m.byName[in].ref), append(npus, m.byName[in].npu)
	}
	l := &layerRun{name: name, opType: opType, shape: shape, reads: reads, ref: apply(refs), npu: apply(npus)}
	if damage != nil {
		damage(l.npu)
	}
	l.npu = m.round(l.npu)
	m.put(l)
}

func (m *model) put(l *layerRun) {
	if l.dtype == tensor.Undefined {
		l.dtype = tensor.Float16
	}
	m.layers, m.byName[l.name] = append(m.layers, l), l
}

// options writes the network: with types, as dumps whose file names have operator types, else as arrays. Only the
// consumer map has the order.
func (m *model) options(t *testing.T, types bool) conclude.Options {
	t.Helper()
	dir := t.TempDir()
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	var consumers []string
	for _, l := range m.layers {
		host := tensor.Float32
		if l.dtype == tensor.Int8 {
			host = tensor.Int8
		}
		write(t, filepath.Join(opt.Ref, l.name+".npy"), array(host, l.shape, l.ref...))
		if types {
			write(t, filepath.Join(opt.NPU, l.opType+"."+l.name+".1.2.1600000000000000"), outputDump(t, l.name, l.dtype, l.shape, l.npu...))
		} else {
			write(t, filepath.Join(opt.NPU, l.name+".npy"), array(l.dtype, l.shape, l.npu...))
		}
		var readers []string
		for _, r := range m.layers {
			if slices.Contains(r.reads, l.name) {
				readers = append(readers, fmt.Sprintf("%q", r.name))
			}
		}
		consumers = append(consumers, fmt.Sprintf("%q: [%s]", l.name, strings.Join(readers, ",")))
	}
	g, err := graph.ReadConsumers(strings.NewReader("{" + strings.Join(consumers, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	g.Source = "consumer map consumer.map"
	opt.SideFiles = sidefile.Inputs{Consumers: g}
	opt.Judge.Verdict.Mode = limits.ByEvidence
	return opt
}

// opNames returns the operators of rows.
func opNames(rep *record.Report, rows []int) string {
	var all []string
	for _, i := range rows {
		all = append(all, rep.Rows[i].Op)
	}
	return strings.Join(all, " ")
}

// wantOrigins fails unless the operators are the origins of the report, the first operator is the first bad one, and
// every other failure is propagated.
func wantOrigins(t *testing.T, rep *record.Report, want string) {
	t.Helper()
	first := ""
	if rep.Findings.FirstBad >= 0 {
		first = rep.Rows[rep.Findings.FirstBad].Op
	}
	if got := opNames(rep, rep.Origins); got != want || want != "" && first != strings.Fields(want)[0] || want == "" && (first != "" || rep.Counts[record.Fail] > 0) {
		t.Errorf("origins %q, first bad %q, want %q:\n%s", got, first, want, strings.Join(lines(rep), "\n"))
	}
	for i := range rep.Rows {
		if r := &rep.Rows[i]; r.Status == record.Fail && !slices.Contains(rep.Origins, i) && !hasCode(r.Reasons, finding.LayerInputBad) {
			t.Errorf("%s fails by %v", r.Op, r.Reasons)
		}
	}
}

func gaussian(rng *rand.Rand, n int, mean, std float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + std*rng.NormFloat64()
	}
	return values
}

// product multiplies rows by a matrix.
func product(rng *rand.Rand, from, to int, gain float64) func([][]float64) []float64 {
	weights := gaussian(rng, from*to, 0, gain/math.Sqrt(float64(from)))
	return func(in [][]float64) []float64 {
		out := make([]float64, len(in[0])/from*to)
		for row := range len(in[0]) / from {
			for k, x := range in[0][row*from : (row+1)*from] {
				for j, w := range weights[k*to : (k+1)*to] {
					out[row*to+j] += x * w
				}
			}
		}
		return out
	}
}

// elementwise applies a function to all elements.
func elementwise(f func(float64) float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		out := make([]float64, len(in[0]))
		for i, x := range in[0] {
			out[i] = f(x)
		}
		return out
	}
}

func rectified(x float64) float64 { return max(x, 0) }

func sumOf(in [][]float64) []float64 {
	out := slices.Clone(in[0])
	for i, x := range in[1] {
		out[i] += x
	}
	return out
}

// normalised subtracts the mean of each row and divides by its standard deviation.
func normalised(length int) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var out []float64
		for row := range slices.Chunk(in[0], length) {
			var mean, squares float64
			for _, x := range row {
				mean += x / float64(length)
			}
			for _, x := range row {
				squares += (x - mean) * (x - mean) / float64(length)
			}
			for _, x := range row {
				out = append(out, (x-mean)/math.Sqrt(squares+1e-5))
			}
		}
		return out
	}
}

// TestNamedByGraph: operators that inherit a fault have names before the faulty operator's, and the order is by name;
// the graph tells which operator is at fault.
func TestNamedByGraph(t *testing.T) {
	for _, types := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(11, 1))
		m, shape := newModel(), tensor.Shape{32, 24}
		m.input("y_data", "Const", shape, gaussian(rng, 32*24, 0, 1))
		m.add("z_conv", "MatMul", shape, []string{"y_data"}, product(rng, 24, 24, 1.5), func(v []float64) {
			for row := 8; row < 16; row++ { // a tile
				for k := 8; k < 16; k++ {
					v[row*24+k] = -v[row*24+k]
				}
			}
		})
		m.add("a_relu", "Relu", shape, []string{"z_conv"}, elementwise(rectified), nil)
		m.add("b_add", "Add", shape, []string{"a_relu", "y_data"}, sumOf, nil)
		opt := m.options(t, types)
		wantOrigins(t, runAll(t, opt), "z_conv")
		opt.OrderBy = dumpdir.ByName
		wantOrigins(t, runAll(t, opt), "z_conv")
	}
}

// TestIllConditioned: norms of almost constant rows lose all significant digits, and no operator is at fault.
func TestIllConditioned(t *testing.T) {
	for _, types := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(12, 1))
		m, rows := newModel(), tensor.Shape{16, 64}
		values := gaussian(rng, 16*64, 0, 1e-4)
		for i := range values {
			values[i] += float64(1 + i/64%5)
		}
		m.input("rows", "Const", rows, values)
		m.add("layer_norm", "LayerNorm", rows, []string{"rows"}, normalised(64), nil)
		m.add("after", "Relu", rows, []string{"layer_norm"}, elementwise(rectified), nil)
		images := tensor.Shape{2, 8, 6, 8}
		m.input("images", "Const", images, gaussian(rng, 2*8*6*8, 100, 1e-3))
		m.add("instance_norm", "InstanceNorm", images, []string{"images"}, normalised(48), nil)
		rep := runAll(t, m.options(t, types))
		wantOrigins(t, rep, "")
		if rep.Counts[record.Rounding] == 0 {
			t.Errorf("types %t: %v, want what is beyond the limits by rounding", types, lines(rep))
		}
	}
}

// TestCoarseSteps: a Relu whose results are rounded down to multiples of 1/16 is at fault.
func TestCoarseSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	m, shape := newModel(), tensor.Shape{32, 32}
	m.input("data", "Const", shape, gaussian(rng, 32*32, 0, 1))
	m.add("fc", "MatMul", shape, []string{"data"}, product(rng, 32, 32, 1), nil)
	m.add("relu", "Relu", shape, []string{"fc"}, elementwise(rectified), func(v []float64) {
		for i, x := range v {
			v[i] = math.Floor(x*16) / 16
		}
	})
	rep := runAll(t, m.options(t, true))
	wantOrigins(t, rep, "relu")
	for i := range rep.Rows {
		if hasCode(rep.Rows[i].Reasons, finding.Accumulated) {
			t.Errorf("%s: %v, want no rounding", rep.Rows[i].Op, rep.Rows[i].Reasons)
		}
	}
}

// TestNeighbouringSteps: some quantised elements are on the other side of a rounding tie.
func TestNeighbouringSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for _, types := range []bool{true, false} {
		m, shape := newModel(), tensor.Shape{32, 64}
		m.input("data", "Const", shape, gaussian(rng, 2048, 0, 0.5))
		steps := make([]float64, 2048)
		for i, x := range m.byName["data"].ref {
			steps[i] = max(-128, min(127, math.Round(x*40)))
		}
		off := slices.Clone(steps)
		for _, at := range []int{77, 1500} {
			off[at], steps[at] = 2, 1
		}
		m.put(&layerRun{name: "quant", opType: "AscendQuant", reads: []string{"data"}, shape: shape, dtype: tensor.Int8, ref: steps, npu: off})
		rep := runAll(t, m.options(t, types))
		wantOrigins(t, rep, "")
		i := slices.IndexFunc(rep.Rows, func(r record.Row) bool { return r.Op == "quant" })
		if row := &rep.Rows[i]; row.Errors != 2 || hasCode(row.Reasons, finding.BitFlip) || row.Status != record.Rounding {
			t.Errorf("%s with %d errors: %v", row.Status, row.Errors, row.Reasons)
		}
	}
}

// transformer has blocks of two products; the second product of a block may have a damaged tile. The inputs of Gelu
// are small enough that no result is subnormal.
func transformer(blocks, damaged int) *model {
	const tokens, width, inner = 24, 32, 64
	rng := rand.New(rand.NewPCG(15, 1))
	m, x := newModel(), "data"
	shape := tensor.Shape{tokens, width}
	m.input(x, "Const", shape, gaussian(rng, tokens*width, 0, 1))
	for i := range blocks {
		name := func(op string) string { return fmt.Sprintf("l%d_%s", i, op) }
		var damage func([]float64)
		if i == damaged {
			damage = func(v []float64) {
				for row := 8; row < 16; row++ {
					for k := 16; k < 32; k++ {
						v[row*width+k] = 0
					}
				}
			}
		}
		m.add(name("fc1"), "MatMul", tensor.Shape{tokens, inner}, []string{x}, product(rng, width, inner, 1), nil)
		m.add(name("gelu"), "Gelu", tensor.Shape{tokens, inner}, []string{name("fc1")}, elementwise(func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }), nil)
		m.add(name("fc2"), "MatMul", shape, []string{name("gelu")}, product(rng, inner, width, 8), damage)
		m.add(name("add"), "Add", shape, []string{x, name("fc2")}, sumOf, nil)
		m.add(name("layernorm"), "LayerNorm", shape, []string{name("add")}, normalised(width), nil)
		x = name("layernorm")
	}
	return m
}

func TestDeepNet(t *testing.T) {
	for _, types := range []bool{true, false} {
		rep := runAll(t, transformer(24, -1).options(t, types))
		wantOrigins(t, rep, "")
		if rep.Counts[record.Rounding] < 24 || rep.Counts[record.Pass]+rep.Counts[record.Rounding] != len(rep.Rows) {
			t.Errorf("types %t: %v, want rows beyond the limits by rounding", types, rep.Counts)
		}
		rep = runAll(t, transformer(24, 15).options(t, types))
		wantOrigins(t, rep, "l15_fc2")
		if rep.Counts[record.Fail] < 20 {
			t.Errorf("types %t: %v, want damaged rows", types, rep.Counts)
		}
	}
}

// TestEffectiveType: arrays of float32 that hold numbers of a coarser type have the rounding of the coarser type; the
// elements of each tensor determine its type.
func TestEffectiveType(t *testing.T) {
	float16 := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, x := range values {
			fraction, exponent := math.Frexp(x)
			out[i] = math.Ldexp(math.RoundToEven(fraction*0x1p11), exponent-11)
		}
		return out
	}
	bfloat16 := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, x := range values {
			bits := math.Float32bits(float32(x))
			out[i] = float64(math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff))
		}
		return out
	}
	single := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, x := range values {
			out[i] = float64(float32(x))
		}
		return out
	}
	network := func(rounds ...func([]float64) []float64) *model {
		rng := rand.New(rand.NewPCG(16, 1))
		m, shape, x := newModel(), tensor.Shape{32, 32}, "data"
		m.put(&layerRun{name: x, opType: "Const", shape: shape, dtype: tensor.Float32, ref: single(gaussian(rng, 1024, 0, 30))})
		m.byName[x].npu = rounds[0](m.byName[x].ref)
		for i := range 8 {
			m.round = rounds[i%len(rounds)]
			fc, relu := fmt.Sprintf("fc%d", i), fmt.Sprintf("relu%d", i)
			m.add(fc, "MatMul", shape, []string{x}, product(rng, 32, 32, 1.4), nil)
			m.add(relu, "Relu", shape, []string{fc}, elementwise(rectified), nil)
			m.byName[fc].dtype, m.byName[relu].dtype = tensor.Float32, tensor.Float32
			x = relu
		}
		return m
	}
	checkTypes := func(rep *record.Report, want func(op string) string) {
		t.Helper()
		for _, row := range rep.AllRows() {
			bits := map[string]int{"": 23, "float16": 10, "bfloat16": 7}[want(row.Op)]
			// The rounding of numbers spread evenly over their octaves.
			rounding := math.Ldexp(float64(row.Evidence.RefRMS), -bits) / math.Sqrt(12)
			if got := float64(row.Evidence.Rounding); row.Type != want(row.Op) || got > rounding || got < rounding/2 || len(row.Notes) > 0 {
				t.Errorf("%s is of type %q with rounding of %g and notes %v, want %q and about %g", row.Op, row.Type, got, row.Notes, want(row.Op), rounding)
			}
		}
	}
	rep := runAll(t, network(bfloat16).options(t, false))
	checkTypes(rep, func(string) string { return "bfloat16" })
	wantOrigins(t, rep, "")
	if rep.Effective != "bfloat16" || rep.Counts[record.Rounding] == 0 {
		t.Errorf("effective type %q, %v; want bfloat16 and rounding", rep.Effective, rep.Counts)
	}
	rep = runAll(t, network(single).options(t, false))
	checkTypes(rep, func(string) string { return "" })
	wantOrigins(t, rep, "")
	if rep.Effective != "" || rep.Counts[record.Pass] != len(rep.Rows) {
		t.Errorf("effective type %q, %v; want none and no error", rep.Effective, rep.Counts)
	}
	// One tensor of the run has more bits: its own type gives its rounding.
	m := network(bfloat16)
	m.byName["relu7"].npu = single(m.byName["relu7"].ref)
	rep = runAll(t, m.options(t, false))
	checkTypes(rep, func(op string) string {
		if op == "relu7" {
			return ""
		}
		return "bfloat16"
	})
	i := slices.IndexFunc(rep.Rows, func(r record.Row) bool { return r.Op == "relu7" })
	if status := rep.Rows[i].Status; rep.Effective != "" || status != record.Pass {
		t.Errorf("effective type %q, relu7 %s; want none and PASS", rep.Effective, status)
	}
	// In mixed precision the type of each tensor gives its rounding.
	rep = runAll(t, network(float16, bfloat16).options(t, false))
	wantOrigins(t, rep, "")
	checkTypes(rep, func(op string) string {
		if op == "data" || (op[len(op)-1]-'0')%2 == 0 {
			return "float16"
		}
		return "bfloat16"
	})
	if rep.Effective != "" {
		t.Errorf("effective type %q, want none", rep.Effective)
	}
}

// TestHeldSaturation: an array of float32 that holds float16 numbers has float16's maximum: reference elements beyond
// it are left out and counted.
func TestHeldSaturation(t *testing.T) {
	dir := t.TempDir()
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = limits.ByEvidence
	ref, npu := make([]float64, 512), make([]float64, 512)
	for i := range ref {
		npu[i] = float64(1024+i) * 16
		ref[i] = npu[i] + float64(i%7)
	}
	for _, i := range []int{5, 80, 300} {
		ref[i], npu[i] = -1e5, -65504
	}
	ref[400], npu[400] = 7e4, math.Inf(1)
	write(t, filepath.Join(opt.Ref, "a.npy"), array(tensor.Float32, tensor.Shape{512}, ref...))
	write(t, filepath.Join(opt.NPU, "a.npy"), array(tensor.Float32, tensor.Shape{512}, npu...))
	row := &runAll(t, opt).Rows[0]
	if n := row.Noise; row.Type != "float16" || n.Overflows != 4 || n.Count != 508 || n.RefMax > 65504 {
		t.Errorf("type %q, %d overflows, %d pairs up to %g; want float16, 4, 508 up to 65504", row.Type, n.Overflows, n.Count, n.RefMax)
	}
}

// TestLone: lone elements must be beyond the limits of their row.
func TestLone(t *testing.T) {
	dir := t.TempDir()
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	ref := slices.Repeat([]float64{1}, 100)
	for name, wrong := range map[string][]float64{"far": {1.5, -3}, "near": {1.5, 1.125}, "equal": nil} {
		npu := slices.Clone(ref)
		copy(npu[40:], wrong)
		write(t, filepath.Join(opt.Ref, name+".npy"), array(tensor.Float32, tensor.Shape{10, 10}, ref...))
		write(t, filepath.Join(opt.NPU, name+".npy"), array(tensor.Float16, tensor.Shape{10, 10}, npu...))
	}
	want := map[string]int64{"far": 2, "near": 0, "equal": 0} // 1.125 is wrong by 128 ulp, and within 0.005 + 0.2
	rows := runAll(t, opt).Rows
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		if row.Noise.Lone != want[row.Op] {
			t.Errorf("%s has %d lone elements, want %d", row.Op, row.Noise.Lone, want[row.Op])
		}
	}
}

// TestJudgedByEvidence: judging a document again by evidence or by limits gives the statuses of a run in that mode.
func TestJudgedByEvidence(t *testing.T) {
	for name, m := range map[string]*model{"healthy": transformer(6, -1), "damaged": transformer(6, 3)} {
		opt, reports := m.options(t, true), map[limits.VerdictMode]*record.Report{}
		for _, mode := range limits.VerdictModes() {
			opt.Judge.Verdict.Mode = mode
			reports[mode] = runAll(t, opt)
		}
		for written, doc := range reports {
			for mode, want := range reports {
				opt.Judge.Verdict.Mode = mode
				got, err := conclude.Judge(copyOf(doc), &opt.Judge, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got.Rows {
					if got.Rows[i].Status != want.Rows[i].Status || len(got.Rows) != len(want.Rows) {
						t.Errorf("%s: %s of a run by %s is %s by %s, want %s", name, got.Rows[i].Op, written, got.Rows[i].Status, mode, want.Rows[i].Status)
					}
				}
			}
		}
	}
}

// TestBiasOfInputs: for biased differences the operator that introduces the bias gets a warning or is at fault;
// operators that only read its result do not.
func TestBiasOfInputs(t *testing.T) {
	const rows, width = 64, 32
	rng := rand.New(rand.NewPCG(11, 9))
	m, shape := newModel(), tensor.Shape{rows, width}
	m.input("x", "Const", shape, gaussian(rng, rows*width, 0, 1))
	m.add("lean", "MatMul", shape, []string{"x"}, product(rng, width, width, 1), func(v []float64) {
		for i := range v {
			v[i] += 2e-3
		}
	})
	same := func(in [][]float64) []float64 { return slices.Clone(in[0]) }
	m.add("copy", "Reshape", tensor.Shape{rows * width}, []string{"lean"}, same, nil)
	m.add("twice", "Mul", tensor.Shape{rows * width}, []string{"copy"}, elementwise(func(x float64) float64 { return 2 * x }), nil)
	m.add("other", "MatMul", shape, []string{"x"}, product(rng, width, width, 1), nil)
	opt := m.options(t, true)
	for _, mode := range []limits.VerdictMode{limits.ByEvidence, limits.ByLimits} {
		opt.Judge.Verdict.Mode = mode
		rep := runAll(t, opt)
		judged, err := conclude.Judge(copyOf(rep), &opt.Judge, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rep.Rows {
			leans := math.Abs(row.Result.MeanD.Value()) >= 0.25*row.Result.RMSE.Value()
			want := row.Op == "copy" || row.Op == "twice"
			if leans != (want || row.Op == "lean") {
				t.Errorf("%s leans: %v", row.Op, leans)
			}
			if row.Evidence.BiasOfInputs != want && leans {
				t.Errorf("the bias of %s is that of its inputs: %v", row.Op, row.Evidence.BiasOfInputs)
			}
			if finding.Has(row.Reasons, finding.Bias) != (row.Op == "lean") || finding.Has(judged.Rows[i].Reasons, finding.Bias) != (row.Op == "lean") {
				t.Errorf("by %s %s has the reasons %v, and judged again %v", mode, row.Op, row.Reasons, judged.Rows[i].Reasons)
			}
			if judged.Rows[i].Status != row.Status || mode == limits.ByLimits && want && row.Status != record.Pass {
				t.Errorf("by %s %s is %s, and judged again %s", mode, row.Op, row.Status, judged.Rows[i].Status)
			}
		}
	}
}
