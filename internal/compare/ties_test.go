package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// given is an output of an operator on both sides.
type given struct {
	name, kind string
	reads      []string
	dtype      tensor.DType
	shape      tensor.Shape
	ref, npu   []float64
	index      int
}

// judgeGiven compares two runs of dumps by evidence, with a consumer map.
func judgeGiven(t *testing.T, all []given) *record.Report {
	t.Helper()
	dir := t.TempDir()
	consumers := map[string][]string{}
	for i, g := range all {
		d := g.dtype
		if d == tensor.Float16 {
			d = tensor.Float32
		}
		for side, values := range map[string][]float64{"ref": g.ref, "npu": g.npu} {
			of := g.dtype
			if side == "ref" {
				of = d
			}
			write(t, filepath.Join(dir, side, fmt.Sprintf("%s.%s.1.2.%d.output.%d.npy", g.kind, g.name, 1600000000000000+i, g.index)), array(of, g.shape, values...))
		}
		for _, from := range g.reads {
			consumers[from] = append(consumers[from], g.name)
		}
	}
	text, err := json.Marshal(consumers)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.ReadConsumers(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = limits.ByEvidence
	g.Source = "consumer map consumers.json"
	opt.SideFiles = sidefile.Inputs{Consumers: g}
	return runAll(t, opt)
}

// normals returns normal numbers, and their float16 roundings after relative errors of the given size.
func normals(rng *rand.Rand, n int, errors float64) (ref, npu []float64) {
	for range n {
		x := rng.NormFloat64()
		ref, npu = append(ref, float64(float32(x))), append(npu, x*(1+errors*rng.NormFloat64()))
	}
	return ref, roundHalf(npu)
}

// topKOf returns the largest numbers and their indices.
func topKOf(scores []float64, k int) (values, places []float64) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, scores[b]-scores[a])) })
	for _, i := range order[:k] {
		values, places = append(values, scores[i]), append(places, float64(i))
	}
	return values, places
}

// TestIndicesOfCloseNumbers: if the distances of the scores are at most their errors, most of the indices of the
// largest scores may differ; if the distances are large, other indices are a fault.
func TestIndicesOfCloseNumbers(t *testing.T) {
	for _, c := range []struct {
		name   string
		spread float64
		want   string
	}{{"close", 0.04, ""}, {"far apart", 40, "topk"}} {
		rng := rand.New(rand.NewPCG(1, 2))
		var ref, npu []float64
		for range 100 {
			x := 1 + c.spread*rng.Float64()
			ref, npu = append(ref, float64(float32(x))), append(npu, x+1e-3*rng.NormFloat64()*min(c.spread/0.04, 1))
		}
		npu = roundHalf(npu)
		refTop, refAt := topKOf(ref, 32)
		npuTop, npuAt := topKOf(npu, 32)
		if c.want != "" { // on the NPU every index belongs to another score
			npuAt = append(npuAt[7:], npuAt[:7]...)
		}
		if differ := differing(refAt, npuAt); differ <= 16 {
			t.Fatalf("%s: %d of 32 indices differ, want most", c.name, differ)
		}
		wantOrigins(t, judgeGiven(t, []given{
			{name: "scores", kind: "MatMulV2", dtype: tensor.Float16, shape: tensor.Shape{1, 100}, ref: ref, npu: npu},
			{name: "topk", kind: "TopKV2", reads: []string{"scores"}, dtype: tensor.Float16, shape: tensor.Shape{1, 32}, ref: refTop, npu: npuTop},
			{name: "topk", kind: "TopKV2", dtype: tensor.Int32, shape: tensor.Shape{1, 32}, ref: refAt, npu: npuAt, index: 1},
		}), c.want)
	}
}

func differing(a, b []float64) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// TestGatherBehindTies: two tied indices select two other rows of a tensor, with errors far beyond its rounding; a
// third wrong row is a fault.
func TestGatherBehindTies(t *testing.T) {
	const rows, width = 40, 16
	for wrong, want := range map[int]string{0: "", 1: "gather"} {
		rng := rand.New(rand.NewPCG(8, uint64(wrong)))
		table, npuTable := normals(rng, rows*width, 2e-3)
		scores := make([]float64, rows)
		for i := range scores {
			scores[i] = float64(rows - i)
		}
		npuScores := slices.Clone(scores)
		scores[10], scores[11] = 25.0001, 25.0002 // a tie in float16
		npuScores[10], npuScores[11] = 25, 25
		refTop, refAt := topKOf(scores, 24)
		npuTop, npuAt := topKOf(npuScores, 24)
		if differing(refAt, npuAt) != 2 {
			t.Fatalf("indices %v and %v", refAt, npuAt)
		}
		gather := func(table, at []float64) (out []float64) {
			for _, i := range at {
				out = append(out, table[int(i)*width:int(i+1)*width]...)
			}
			return out
		}
		npuOut := gather(npuTable, npuAt)
		for i := range wrong * width {
			npuOut[3*width+i] *= -1
		}
		wantOrigins(t, judgeGiven(t, []given{
			{name: "table", kind: "MatMulV2", dtype: tensor.Float16, shape: tensor.Shape{rows, width}, ref: table, npu: npuTable},
			{name: "scores", kind: "MatMulV2", dtype: tensor.Float16, shape: tensor.Shape{1, rows}, ref: scores, npu: npuScores},
			{name: "topk", kind: "TopKV2", reads: []string{"scores"}, dtype: tensor.Float16, shape: tensor.Shape{1, 24}, ref: refTop, npu: npuTop},
			{name: "topk", kind: "TopKV2", dtype: tensor.Int32, shape: tensor.Shape{1, 24}, ref: refAt, npu: npuAt, index: 1},
			{name: "gather", kind: "GatherV2", reads: []string{"table", "topk"}, dtype: tensor.Float16, shape: tensor.Shape{24, width}, ref: gather(table, refAt), npu: npuOut},
		}), want)
	}
}

// TestHF32WithAFault: if all float32 products have the errors of inputs with 11 bits, they are attributed to HF32,
// even with one wrong product.
func TestHF32WithAFault(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var all []given
	for i := range 5 {
		g := given{name: fmt.Sprintf("product%d", i), kind: "MatMulV2", dtype: tensor.Float32, shape: tensor.Shape{24, 32}}
		for range 24 * 32 {
			x := rng.NormFloat64()
			g.ref, g.npu = append(g.ref, x), append(g.npu, x+0x1p-12*rng.NormFloat64())
		}
		if i == 3 {
			g.npu[100] += 7
		}
		all = append(all, g)
	}
	all = append(all, given{name: "sum", kind: "AddN", reads: []string{"product0", "product1", "product2", "product4"}, dtype: tensor.Float32, shape: tensor.Shape{24, 32}})
	sum := &all[len(all)-1]
	for k := range 24 * 32 {
		var r, n float64
		for _, i := range []int{0, 1, 2, 4} {
			r, n = r+all[i].ref[k], n+float64(float32(all[i].npu[k]))
		}
		sum.ref, sum.npu = append(sum.ref, r), append(sum.npu, n)
	}
	wantOrigins(t, judgeGiven(t, all), "product3")
}

// TestNormOffByAFewUnits: an element of a norm may be wrong by 4 ulp of float32, since vector units compute the root
// to 2 ulp; 40 ulp are a fault.
func TestNormOffByAFewUnits(t *testing.T) {
	for units, want := range map[float64]string{4: "", 40: "norm"} {
		rng := rand.New(rand.NewPCG(6, 6))
		const rows, width = 48, 64
		x, y := make([]float64, rows*width), make([]float64, rows*width)
		for i := range x {
			x[i] = float64(float32(rng.NormFloat64()))
		}
		for row := range rows {
			of := x[row*width : (row+1)*width]
			var sum, squares float64
			for _, v := range of {
				sum += v / width
			}
			for _, v := range of {
				squares += (v - sum) * (v - sum) / width
			}
			for k, v := range of {
				y[row*width+k] = float64(float32((v - sum) / math.Sqrt(squares+1e-5)))
			}
		}
		n := slices.Clone(y)
		at := slices.Index(n, slices.Max(n)) // in 2 .. 4, where an ulp is 2^-22
		n[at] += units * 0x1p-22
		wantOrigins(t, judgeGiven(t, []given{
			{name: "x", kind: "Data", dtype: tensor.Float32, shape: tensor.Shape{rows, width}, ref: x, npu: x},
			{name: "norm", kind: "LayerNorm", reads: []string{"x"}, dtype: tensor.Float32, shape: tensor.Shape{rows, width}, ref: y, npu: n},
		}), want)
	}
}

// TestSaidByFiles: file names and dump.json declare an array of float32 to be bfloat16; if its numbers are not
// bfloat16 the row says so, and nothing is wrong.
func TestSaidByFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	dir, shape := t.TempDir(), tensor.Shape{20, 10}
	for name, bits := range map[string]uint64{"true": 7, "lie": 23} {
		var ref, npu []float64
		for range 200 {
			x := rng.NormFloat64()
			ref = append(ref, x)
			b := math.Float64bits(x) &^ (1<<(52-bits) - 1)
			npu = append(npu, math.Float64frombits(b))
		}
		file := "Add." + name + ".0.0.1718000000000000.output.0.DefaultFormat.%s.npy"
		write(t, filepath.Join(dir, "ref", fmt.Sprintf(file, "float32")), array(tensor.Float32, shape, ref...))
		write(t, filepath.Join(dir, "npu", fmt.Sprintf(file, "bfloat16")), array(tensor.Float32, shape, npu...))
	}
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = limits.ByEvidence
	rep := runAll(t, opt)
	for i := range rep.Rows {
		row := &rep.Rows[i]
		want, lied := "", true
		if row.Op == "true" {
			want, lied = "bfloat16", false
		}
		if notes := fmt.Sprint(row.Notes); row.DeclaredType != tensor.BFloat16 || row.Type != want || row.IsOrigin() || lied != strings.Contains(notes, "declared as bfloat16, but") {
			t.Errorf("%s: said %v, type %q, origin %v, notes %s", row.Op, row.DeclaredType, row.Type, row.IsOrigin(), notes)
		}
	}
	if len(rep.Rows) != 2 {
		t.Errorf("%d rows, want 2", len(rep.Rows))
	}
}

// TestTypesOfTheGraph: if the files have no operator type the fusion graph's counts.
func TestTypesOfTheGraph(t *testing.T) {
	dir := t.TempDir()
	for _, side := range []string{"ref", "npu"} {
		write(t, filepath.Join(dir, side, "a.npy"), array(tensor.Float32, tensor.Shape{2}, 1, 2))
		write(t, filepath.Join(dir, side, "b.npy"), array(tensor.Float32, tensor.Shape{2}, 1, 2))
	}
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = limits.ByEvidence
	file := write(t, filepath.Join(dir, "fusion.json"), []byte(`{"graph": [{"name": "net", "op": [{"name": "a", "type": "Data", "id": 0}, {"name": "b", "type": "Relu", "id": 1, "input": ["a:0"]}]}]}`))
	if err := opt.Load(sidefile.Files{Fusion: file}); err != nil {
		t.Fatal(err)
	}
	rep := runAll(t, opt)
	if len(rep.Rows) != 2 || rep.Rows[0].OpType != "Data" || rep.Rows[1].OpType != "Relu" || rep.Rows[1].Evidence.Class != "lipschitz" {
		t.Errorf("%v: types %q and %q", lines(rep), rep.Rows[0].OpType, rep.Rows[1].OpType)
	}
}

// TestMaxPoolGradBehindTies: the gradient of the maximum of each window may go to another element in a tie; without
// ties that is a fault.
func TestMaxPoolGradBehindTies(t *testing.T) {
	const rows, width = 64, 128
	for wrong, want := range map[int]string{0: "", 60: "grad"} {
		rng := rand.New(rand.NewPCG(2, uint64(wrong)))
		x, npuX := normals(rng, rows*width, 3e-3)
		dy, npuDY := normals(rng, rows*width/4, 0)
		pooled := func(x, dy []float64) (y, dx []float64) {
			dx = make([]float64, rows*width)
			for w := range rows * width / 4 {
				first := w/(width/2)*2*width + w%(width/2)*2
				best := first
				for _, at := range []int{first + 1, first + width, first + width + 1} {
					if x[at] > x[best] {
						best = at
					}
				}
				y, dx[best] = append(y, x[best]), dy[w]
			}
			return y, dx
		}
		y, dx := pooled(x, dy)
		npuY, npuDX := pooled(npuX, npuDY)
		moved := 0
		for i := range dx {
			if (dx[i] == 0) != (npuDX[i] == 0) {
				moved++
			}
		}
		if moved < 4 {
			t.Fatalf("%d elements moved, want ties", moved)
		}
		for w := range wrong {
			at := w*2 + w/64*2*width
			npuDX[at], npuDX[at+1] = npuDX[at+1], npuDX[at]
		}
		full, half := tensor.Shape{rows, width}, tensor.Shape{rows / 2, width / 2}
		wantOrigins(t, judgeGiven(t, []given{
			{name: "x", kind: "MatMulV2", dtype: tensor.Float16, shape: full, ref: x, npu: npuX},
			{name: "pool", kind: "MaxPool", reads: []string{"x"}, dtype: tensor.Float16, shape: half, ref: y, npu: npuY},
			{name: "dy", kind: "MatMulV2", dtype: tensor.Float16, shape: half, ref: dy, npu: npuDY},
			{name: "grad", kind: "MaxPoolGrad", reads: []string{"x", "pool", "dy"}, dtype: tensor.Float16, shape: full, ref: dx, npu: npuDX},
		}), want)
	}
}

// TestRootOfOtherData: an operator without dumped inputs, whose output is unrelated to the reference's, may be wrong
// or have read other data, if all its readers differ, too. An output with a known kind of fault is not other data.
func TestRootOfOtherData(t *testing.T) {
	shape := tensor.Shape{32, 16}
	rng := rand.New(rand.NewPCG(9, 1))
	ref, _ := normals(rng, 512, 0)
	other, _ := normals(rng, 512, 0)
	shifted := append(slices.Clone(ref[16:]), ref[:16]...)
	for name, npu := range map[string][]float64{"other": roundHalf(other), "shifted": roundHalf(shifted)} {
		clipped := func(v []float64) []float64 { return each(func(_ int, v float64) float64 { return max(v, 0) })(v, nil) }
		rep := judgeGiven(t, []given{
			{name: "root", kind: "MatMulV2", dtype: tensor.Float16, shape: shape, ref: ref, npu: npu},
			{name: "relu", kind: "Relu", reads: []string{"root"}, dtype: tensor.Float16, shape: shape, ref: clipped(ref), npu: clipped(npu)},
		})
		wantOrigins(t, rep, "root")
		if row := &rep.Rows[rep.Findings.FirstBad]; hasCode(row.Reasons[:1], finding.StartedApart) != (name == "other") || row.Evidence.Start {
			t.Errorf("%s: %v", name, row.Reasons)
		}
	}
}

// TestInputBehindOtherDraws: a different input without a producer is other input; after other random numbers it may
// depend on them, through an operator that was not dumped.
func TestInputBehindOtherDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	shape := tensor.Shape{32, 16}
	ref, same := normals(rng, 512, 0)
	_, drawn := normals(rng, 512, 0)
	for kind, want := range map[string]string{"RandomStandardNormal": "", "Relu": "add"} {
		dir := t.TempDir()
		for side, of := range map[string]map[string][]float64{"ref": {"0.output": ref, "1.output": ref, "1.input": ref}, "npu": {"0.output": drawn, "1.output": drawn, "1.input": drawn}} {
			for file, values := range of {
				name, i := kind+".draw", 0
				if file[0] == '1' {
					name, i = "Add.add", 1
				}
				if kind == "Relu" && i == 0 {
					values = same
				}
				write(t, filepath.Join(dir, side, fmt.Sprintf("%s.1.2.%d.%s.0.npy", name, 1600000000000000+i, file[2:])), array(tensor.Float32, shape, values...))
			}
		}
		opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
		opt.Judge.Verdict.Mode = limits.ByEvidence
		wantOrigins(t, runAll(t, opt), want)
	}
}
