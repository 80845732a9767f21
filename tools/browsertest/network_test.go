package browsertest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// net is a run that is made up: operators one after the other, of which the NPU
// stores the outputs with the bits of float16, and from one on gets them wrong.
type net struct {
	ops   []string // names of the operators
	shape []int
	bad   int // the operator that damages the upper half of axis 1, -1 for none
}

// resNet is a network with modules in three levels.
func resNet() net {
	n := net{shape: []int{1, 16, 6, 6}, bad: 29}
	for layer, blocks := range []int{3, 4, 4, 2} {
		for block := range blocks {
			for _, op := range []string{"conv1_Conv2D", "bn1_BNInfer", "relu1_Relu", "conv2_Conv2D", "bn2_BNInfer", "relu2_Relu", "add_Add"} {
				n.ops = append(n.ops, fmt.Sprintf("backbone_layer%d_block%d_%s-op%d", layer+1, block, op, len(n.ops)+1))
			}
		}
	}
	for _, op := range []string{"pool_ReduceMeanD", "fc_MatMul", "loss_Log"} {
		n.ops = append(n.ops, fmt.Sprintf("head_%s-op%d", op, len(n.ops)+1))
	}
	return n
}

// deep is a network of many operators.
func deep(operators int) net {
	n := net{shape: []int{1, 8, 4, 2}, bad: operators / 3}
	for i := range operators {
		n.ops = append(n.ops, fmt.Sprintf("net_part%d_layer%d_Conv2D-op%d", i/500, i/50, i+1))
	}
	return n
}

// write writes the tensors of both sides as .npy files with the names of dumps.
func (n net) write(t testing.TB, dir string) {
	t.Helper()
	size := 1
	for _, d := range n.shape {
		size *= d
	}
	random := rand.New(rand.NewPCG(1, 2))
	cpu, npu := make([]float64, size), make([]float64, size)
	for i := range cpu {
		cpu[i] = random.NormFloat64()
		npu[i] = half(cpu[i])
	}
	for _, side := range []string{"cpu", "npu"} {
		if err := os.MkdirAll(filepath.Join(dir, side), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for k, op := range n.ops {
		cpu, npu = mix(cpu), mix(npu)
		scale := 1 / rms(cpu)
		for i := range cpu {
			cpu[i], npu[i] = cpu[i]*scale, npu[i]*scale
		}
		for i := range npu {
			if channel := i / (size / n.shape[1]); k == n.bad && channel >= n.shape[1]/2 {
				npu[i] *= 1.3
			}
			npu[i] = half(npu[i])
		}
		kind := op[strings.LastIndex(op, "_")+1 : strings.LastIndex(op, "-")]
		writeNPY(t, filepath.Join(dir, "cpu", op+".npy"), "<f4", n.shape, cpu)
		writeNPY(t, filepath.Join(dir, "npu", fmt.Sprintf("%s.%s.%d.1.%d.output.0.npy", kind, op, k+1, 1624605159000000+k)), "<f2", n.shape, npu)
	}
}

func rms(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}

// mix is a step in which every value depends on two.
func mix(x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = 0.8*x[i] + 0.6*x[(i*7+3)%len(x)]
	}
	return y
}

// half rounds to a number of float16, of which the smallest become 0.
func half(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	if exponent < -13 {
		return 0
	}
	return math.Ldexp(math.RoundToEven(fraction*2048)/2048, exponent)
}

// halfBits is a number of half as float16.
func halfBits(x float64) uint16 {
	fraction, exponent := math.Frexp(math.Abs(x))
	if x == 0 {
		return 0
	}
	bits := uint16(exponent+14)<<10 + uint16(fraction*2048) - 1<<10
	if x < 0 {
		bits |= 1 << 15
	}
	return bits
}

// writeNPY writes values as float32 or float16, of which they are.
func writeNPY(t testing.TB, name, kind string, shape []int, values []float64) {
	t.Helper()
	var dims []string
	for _, d := range shape {
		dims = append(dims, fmt.Sprint(d))
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", kind, strings.Join(dims, ", "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	for _, v := range values {
		if kind == "<f2" {
			binary.Write(&b, binary.LittleEndian, halfBits(v))
			continue
		}
		binary.Write(&b, binary.LittleEndian, float32(v))
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// document is what the tests know of compare.json.
type document struct {
	Summary struct {
		Rows     int    `json:"rows"`
		FirstBad string `json:"first_bad"`
	} `json:"summary"`
	Findings struct {
		FirstBad *int `json:"first_bad"`
	} `json:"findings"`
	Rows []struct {
		Op     string `json:"op"`
		Status string `json:"status"`
		Origin bool   `json:"origin"`
	} `json:"rows"`
}

// count counts the rows of a status.
func (d *document) count(status string) (n int) {
	for _, row := range d.Rows {
		if row.Status == status {
			n++
		}
	}
	return n
}

// run runs dumptool, which may find failures.
func run(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(binaryFile, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("dumptool %q: %v\n%s", args, err, out)
	}
}

// compared writes a network, compares it, and returns the page and the document.
func compared(t testing.TB, n net, args ...string) (page string, d *document) {
	t.Helper()
	dir := t.TempDir()
	n.write(t, dir)
	run(t, dir, append([]string{"compare", "--cpu", "cpu", "--npu", "npu", "-out", "out", "--format", "html,json", "-q"}, args...)...)
	return readDocument(t, filepath.Join(dir, "out"))
}

func readDocument(t testing.TB, dir string) (page string, d *document) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "compare.json"))
	if err != nil {
		t.Fatal(err)
	}
	d = new(document)
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "report.html"), d
}
