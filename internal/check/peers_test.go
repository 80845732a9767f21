package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/finding"
	"dumptool/internal/recompute"
)

// tree is a folder of .npy files with msprobe's names for tensors, without dump.json.
type tree struct {
	t   *testing.T
	dir string
}

// write writes a float32 array with rows of 8 elements, or of another shape.
func (w *tree) write(step, rank int, name string, v []float64, axes ...int) {
	w.t.Helper()
	shape := fmt.Sprintf("(%d, 8)", len(v)/8)
	if len(axes) > 0 {
		shape = "(" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(axes)), ", "), "[]") + ",)"
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape)
	header += strings.Repeat(" ", 118-len(header)-1) + "\n"
	data := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	data = append(data, header...)
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	file := filepath.Join(w.dir, fmt.Sprintf("rank%d", rank), fmt.Sprintf("step%d", step), name+".npy")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// brain rounds to bfloat16.
func brain(x float64) float64 {
	if x-x != 0 || x == 0 {
		return x
	}
	f, e := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(f, 8)), e-8)
}

// joins writes additions for a number of layers, steps and ranks.
func (w *tree) joins(steps, members, layers int, result func(step, rank, layer int, x, y float64) float64) {
	w.t.Helper()
	for step := range steps {
		for rank := range members {
			for layer := range layers {
				random := rand.New(rand.NewPCG(uint64(100*step+10*rank+layer), 1))
				var x, y, z []float64
				for range 64 {
					a, b := brain(random.NormFloat64()), brain(random.NormFloat64())
					x, y, z = append(x, a), append(y, b), append(z, result(step, rank, layer, a, b))
				}
				name := fmt.Sprintf("Module.layers.%d.join.Join.forward.0", layer)
				w.write(step, rank, name+".input.0", x)
				w.write(step, rank, name+".input.1", y)
				w.write(step, rank, name+".output.0", z)
			}
		}
	}
}

// TestPeers: an operator of an unknown class is judged by what others of its kind compute, in bfloat16 stored as
// float32.
func TestPeers(t *testing.T) {
	sum := func(x, y float64) float64 { return brain(x + y) }
	for _, c := range []struct {
		name  string
		ranks int
		// result computes the output of an operator.
		result func(step, rank, layer int, x, y float64) float64
		// wrong is the WRONG operator, by its layer; suspect the operator that may be of another kind; ok the number
		// of right operators.
		wrong   string
		suspect string
		ok      int
	}{
		{"healthy", 2, func(_, _, _ int, x, y float64) float64 { return sum(x, y) }, "", "", 12},
		{"one is scaled", 2, func(step, rank, layer int, x, y float64) float64 {
			if step == 1 && rank == 0 && layer == 2 {
				return brain(1.5 * sum(x, y))
			}
			return sum(x, y)
		}, "1 0 Module.layers.2.join.Join.forward.0", "", 11},
		{"one rank computes something else", 2, func(step, rank, layer int, x, y float64) float64 {
			if rank == 1 && layer == 1 {
				return brain(x - y)
			}
			return sum(x, y)
		}, "0 1 Module.layers.1.join.Join.forward.0", "", 10},
		{"a layer of its own", 2, func(_, _, layer int, x, y float64) float64 {
			if layer == 2 {
				return brain(x * y * 3)
			}
			return sum(x, y)
		}, "", "", 0},
		{"nothing that is known", 2, func(_, _, layer int, x, y float64) float64 { return brain(math.Sin(x) + y) }, "", "", 0},
		{"one round", 1, func(_, _, _ int, x, y float64) float64 { return sum(x, y) }, "", "", 5},
		{"one round, one is scaled", 1, func(_, _, layer int, x, y float64) float64 {
			return brain(sum(x, y) * (1 + float64(layer/4)))
		}, "", "0 0 Module.layers.4.join.Join.forward.0", 4},
		{"one round, two of five are scaled", 1, func(_, _, layer int, x, y float64) float64 {
			return brain(sum(x, y) * (1 + float64(layer/3)))
		}, "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &tree{t, t.TempDir()}
			layers := 3
			if c.ranks == 1 {
				layers = 5
			}
			w.joins(c.ranks, c.ranks, layers, c.result)
			r := checked(t, Options{Only: []string{Operators}}, w.dir)
			fine, wrong, suspect := 0, "", ""
			for i := range r.Operators {
				o := &r.Operators[i]
				switch o.Status {
				case recompute.OK:
					fine++
					if !slices.Contains(o.Notes, recompute.ByPeers) {
						t.Errorf("%s has the notes %v", o.Op, o.Notes)
					}
				case recompute.Wrong:
					if wrong == "" {
						wrong = o.At.Step + " " + o.At.Rank + " " + o.Op
					}
					if o.Evidence.IsZero() || o.Confidence != finding.Medium {
						t.Errorf("%s: %q, confidence %s", o.Op, o.Evidence, o.Confidence)
					}
				case recompute.Misfit:
					suspect += o.At.Step + " " + o.At.Rank + " " + o.Op
				case recompute.Undecided:
					if o.Reason != recompute.NoType || len(o.Notes) > 0 {
						t.Errorf("%s: %s %v", o.Op, o.Reason, o.Notes)
					}
				default:
					t.Errorf("%s is %s", o.Op, o.Status)
				}
			}
			if fine != c.ok || wrong != c.wrong || suspect != c.suspect {
				t.Errorf("%d fine, %q wrong and %q suspect, want %d, %q and %q", fine, wrong, suspect, c.ok, c.wrong, c.suspect)
			}
		})
	}
}

// TestPeersOfHalf: gates that are about a half for small inputs are not taken for GELU, and a gate that is not is no
// suspect.
func TestPeersOfHalf(t *testing.T) {
	t.Parallel()
	w := &tree{t, t.TempDir()}
	for layer := range 5 {
		random := rand.New(rand.NewPCG(uint64(layer), 3))
		gate := 0.5
		if layer == 0 {
			gate = 0.7
		}
		var x, y []float64
		for range 64 {
			x = append(x, brain(1e-4*random.NormFloat64()))
			y = append(y, brain(gate*x[len(x)-1]))
		}
		name := fmt.Sprintf("Module.layers.%d.gate.Gate.forward.0", layer)
		w.write(0, 0, name+".input.0", x)
		w.write(0, 0, name+".output.0", y)
	}
	r := checked(t, Options{Only: []string{Operators}}, w.dir)
	for _, o := range r.Operators {
		if o.Status != recompute.Undecided {
			t.Errorf("%s is %s: %v", o.Op, o.Status, o.Attributes)
		}
	}
	if len(r.Operators) != 5 {
		t.Errorf("%d operators, want 5", len(r.Operators))
	}
}

// TestPeersOfStep: in a comparison the same operator on ranks that are judged together forms a kind. The judgement of
// a step does not depend on other steps.
func TestPeersOfStep(t *testing.T) {
	w := &tree{t, t.TempDir()}
	w.joins(2, 4, 3, func(step, rank, layer int, x, y float64) float64 {
		if step == 1 && rank == 2 && layer == 1 {
			return brain(1.5 * brain(x+y))
		}
		return brain(x + y)
	})
	run, err := dumpdir.Open(t.Context(), []string{w.dir}, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	for together, want := range map[string]string{"": "", "0": "0: ok ok ok ok", "1": "1: ok ok wrong ok", "01": "0: ok ok ok ok 1: ok ok wrong ok"} {
		one, err := dumpdir.NewNameSet([]string{"Module.layers.1.join.Join.forward.0"})
		if err != nil {
			t.Fatal(err)
		}
		found, unread, err := RecomputeOperators(t.Context(), run, Options{Ops: one, Seed: 1}, func(at dumpdir.Coordinates) bool { return strings.Contains(together, at.Step) })
		if err != nil || len(unread) > 0 {
			t.Fatal(unread, err)
		}
		var got []string
		for step := range 2 {
			for rank := range 4 {
				for at, self := range found {
					if strings.Contains(at.File, fmt.Sprintf("rank%d/step%d/", rank, step)) && (self.IsRight() || self.IsWrong()) {
						if rank == 0 {
							got = append(got, fmt.Sprintf("%d:", step))
						}
						got = append(got, self.Status)
					}
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("together %q: %q, want %q", together, got, want)
		}
	}
}

// TestNamesOfCalls: modules whose arguments are known from file names only are computed again, with their parameters.
func TestNamesOfCalls(t *testing.T) {
	for _, bad := range []bool{false, true} {
		w := &tree{t, t.TempDir()}
		random := rand.New(rand.NewPCG(3, 1))
		var x, weight []float64
		for range 64 {
			x, weight = append(x, brain(random.NormFloat64())), append(weight, brain(random.NormFloat64()))
		}
		z := make([]float64, 64)
		for i := range 8 {
			for k := range 8 {
				for j := range 8 {
					z[8*i+k] += x[8*i+j] * weight[8*k+j]
				}
			}
		}
		for i := range z {
			z[i] = brain(z[i])
		}
		if bad {
			z[20] += 3
		}
		w.write(0, 0, "Module.fc.Linear.forward.0.input.0", x)
		w.write(0, 0, "Module.fc.Linear.forward.0.parameters.weight", weight)
		w.write(0, 0, "Module.fc.Linear.forward.0.output.0", z)
		r := checked(t, Options{}, w.dir)
		want := map[bool]recompute.Status{false: recompute.OK, true: recompute.Wrong}[bad]
		if len(r.Operators) != 1 || r.Operators[0].Status != want || r.Operators[0].Type != "Linear" || r.Operators[0].Outputs[0].DType != "bfloat16" {
			t.Errorf("%+v, want %s", r.Operators, want)
		}
	}
}

// TestChoices: dumps without attributes. One of five products multiplies by the transposed weight: a MISFIT, unless its
// weight is symmetric or half of the products do so.
func TestChoices(t *testing.T) {
	t.Parallel()
	const n = 6
	for _, c := range []struct {
		name       string
		transposed int // number of products with x @ w.T, the others are x @ w
		symmetric  bool
		want       int
	}{{"one of five", 4, false, 1}, {"none", 5, false, 0}, {"two of five", 3, false, 0}, {"symmetric", 4, true, 0}} {
		dir := t.TempDir()
		for k := range 5 {
			x, w := make([]float32, n*n), make([]float32, n*n)
			for i := range x {
				x[i], w[i] = float32((i*i+3*k)%7), float32((5*i+k)%11)
			}
			if c.symmetric && k == 4 {
				for i := range n * n {
					w[i] = w[i%n*n+i/n]
				}
			}
			y := make([]float32, n*n)
			for i := range y {
				for j := range n {
					if k < c.transposed {
						y[i] += x[i/n*n+j] * w[i%n*n+j]
					} else {
						y[i] += x[i/n*n+j] * w[j*n+i%n]
					}
				}
			}
			var all []dumptest.TensorContent
			for _, v := range [][]float32{x, w, y} {
				one := floats(v...)
				one.Shape = []uint64{n, n}
				all = append(all, one)
			}
			dump(t, dir, "MatMulV2", fmt.Sprintf("linear_%d", k), k, all[:2], all[2:])
		}
		r := checked(t, Options{}, dir)
		var suspects []string
		for i := range r.Operators {
			if o := &r.Operators[i]; o.Status == recompute.Misfit {
				suspects = append(suspects, o.Op)
				if o.Op != "linear_4" || o.Outputs[0].Bad == 0 || !strings.Contains(o.Evidence.String(), "transpose_x2=1, as in 4 of 5 operators") {
					t.Errorf("%s: %s: %s", c.name, o.Op, o.Evidence)
				}
			} else if o.Status != recompute.OK {
				t.Errorf("%s: %s is %s", c.name, o.Op, o.Status)
			}
		}
		if len(suspects) != c.want {
			t.Errorf("%s: suspects %v, want %d", c.name, suspects, c.want)
		}
	}
}

// TestPaddings: modules without arguments. One of five convolutions repeats the border of its image where the others
// pad zeros: a MISFIT; if three do so, it is a choice of the network.
func TestPaddings(t *testing.T) {
	t.Parallel()
	const n, layers = 6, 5
	for replicated, want := range []int{0, 1, 0, 0} {
		w := &tree{t, t.TempDir()}
		for k := range layers {
			random := rand.New(rand.NewPCG(uint64(k), 5))
			x, weight, y := make([]float64, n*n), make([]float64, 9), make([]float64, n*n)
			for i := range x {
				x[i] = brain(random.NormFloat64())
			}
			for i := range weight {
				weight[i] = brain(random.NormFloat64())
			}
			for i := range y {
				for j, factor := range weight {
					row, column := i/n+j/3-1, i%n+j%3-1
					in := row >= 0 && row < n && column >= 0 && column < n
					if !in && k < layers-replicated {
						continue
					}
					y[i] += factor * x[min(max(row, 0), n-1)*n+min(max(column, 0), n-1)]
				}
				y[i] = brain(y[i])
			}
			name := fmt.Sprintf("Module.%d.Conv2d.forward.0", k)
			w.write(0, 0, name+".input.0", x, 1, 1, n, n)
			w.write(0, 0, name+".parameters.weight", weight, 1, 1, 3, 3)
			w.write(0, 0, name+".output.0", y, 1, 1, n, n)
		}
		r := checked(t, Options{}, w.dir)
		suspects := 0
		for i := range r.Operators {
			switch o := &r.Operators[i]; o.Status {
			case recompute.OK:
			case recompute.Misfit:
				suspects++
				if o.Op != "Module.4.Conv2d.forward.0" || !strings.Contains(o.Evidence.String(), "padding_mode=zeros, as in 4 of 5 operators") {
					t.Errorf("%s: %s", o.Op, o.Evidence)
				}
			default:
				t.Errorf("%s is %s: %s", o.Op, o.Status, o.Evidence)
			}
		}
		if suspects != want {
			t.Errorf("%d of %d repeat the border: %d suspects, want %d", replicated, layers, suspects, want)
		}
	}
}

// TestChoicesOfLittleEffect: all five norms add 1e-6 to the variance. Four have so large inputs that the first tried
// epsilon explains them, too: the fifth is no suspect.
func TestChoicesOfLittleEffect(t *testing.T) {
	t.Parallel()
	const rows, n, epsilon = 8, 16, 1e-6
	dir := t.TempDir()
	for k := range 5 {
		size := 100.0
		if k == 4 {
			size = 1e-3
		}
		x, y, gamma, beta := make([]float32, rows*n), make([]float32, rows*n), slices.Repeat([]float32{1}, n), make([]float32, n)
		random := rand.New(rand.NewPCG(uint64(k), 3))
		for row := range rows {
			line := x[row*n:][:n]
			mean, square := 0.0, 0.0
			for i := range line {
				line[i] = float32(size * random.NormFloat64())
				mean += float64(line[i]) / n
			}
			for _, v := range line {
				square += (float64(v) - mean) * (float64(v) - mean) / n
			}
			for i, v := range line {
				y[row*n+i] = float32((float64(v) - mean) / math.Sqrt(square+epsilon))
			}
		}
		var all []dumptest.TensorContent
		for _, v := range [][]float32{x, gamma, beta, y} {
			one := floats(v...)
			if len(v) > n {
				one.Shape = []uint64{rows, n}
			}
			all = append(all, one)
		}
		dump(t, dir, "LayerNorm", fmt.Sprintf("norm_%d", k), k, all[:3], all[3:])
	}
	r := checked(t, Options{}, dir)
	for i := range r.Operators {
		if o := &r.Operators[i]; o.Status != recompute.OK {
			t.Errorf("%s is %s: %s", o.Op, o.Status, o.Evidence)
		}
	}
	if a, b := r.Operators[0].Attributes["epsilon"].Value, r.Operators[4].Attributes["epsilon"].Value; a.String() == b.String() {
		t.Errorf("epsilon %s of both norms: nothing was compared", a)
	}
}

// TestFilesOfTensors: files named after calls hold no numbers, and the inputs of a batch norm may have the order of the
// device's operator.
func TestFilesOfTensors(t *testing.T) {
	t.Parallel()
	const channels, pixels, epsilon = 4, 8, 1e-5
	random := rand.New(rand.NewPCG(11, 1))
	numbers := func(n int) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = float64(float32(.5 + random.Float64()))
		}
		return all
	}
	image, weight, bias, mean, variance := numbers(channels*pixels), numbers(channels), numbers(channels), numbers(channels), numbers(channels)
	normed := make([]float64, len(image))
	groups := make([]float64, len(image)) // two groups of two channels
	for i, v := range image {
		k := i / pixels
		normed[i] = (v-mean[k])/math.Sqrt(variance[k]+epsilon)*weight[k] + bias[k]
		var sum, squares float64
		group := image[i/(2*pixels)*2*pixels:][:2*pixels]
		for _, u := range group {
			sum, squares = sum+u, squares+u*u
		}
		average := sum / float64(len(group))
		groups[i] = (v-average)/math.Sqrt(squares/float64(len(group))-average*average+epsilon)*weight[k] + bias[k]
	}
	rows, columns := numbers(8), numbers(16)
	for _, bad := range []bool{false, true} {
		w := &tree{t, t.TempDir()}
		want := map[string]recompute.Status{"000_Functional_batch_norm_0": recompute.OK, "001_Functional_group_norm_0": recompute.OK, "002_Torch_cat_0": recompute.OK}
		joined := slices.Concat(rows, columns)
		if bad {
			normed[9], groups[9], joined[9] = normed[9]+1, groups[9]+1, joined[9]+1
			for name := range want {
				want[name] = recompute.Wrong
			}
		}
		for name, files := range map[string][][]float64{
			"000_Functional_batch_norm_0": {image, weight, bias, mean, variance, normed},
			"001_Functional_group_norm_0": {image, weight, bias, groups},
			"002_Torch_cat_0":             {rows, columns, joined},
		} {
			for k, v := range files {
				axes := []int{len(v)}
				if len(v) == len(image) {
					axes = []int{1, channels, pixels}
				}
				file := fmt.Sprintf("%s.input.%d", name, k)
				if k == len(files)-1 {
					file = name + ".output.0"
				}
				w.write(0, 0, file, v, axes...)
			}
		}
		r := checked(t, Options{}, w.dir)
		for i := range r.Operators {
			o := &r.Operators[i]
			if o.Status != want[o.Op] {
				t.Errorf("%s, wrong %t: %s %s: %s", o.Op, bad, o.Status, o.Reason, o.Evidence)
			}
		}
		if len(r.Operators) != len(want) {
			t.Errorf("%d operators, want %d", len(r.Operators), len(want))
		}
	}
}
