package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// input is a folder that commands run on. It has some of dumps, cpu, consumers.json, compare.json and configs.
type input struct {
	name string
	dir  string
}

// makeInputs creates the inputs below dir: links to existing data, and generated trees.
func makeInputs(dir string, opt *options) ([]input, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m := &maker{dir: dir}
	m.link("sample", map[string]string{"dumps": "testdata/sample"})
	m.link("network", map[string]string{"dumps": "testdata/network/npu", "cpu": "testdata/network/cpu"})
	m.link("golden-convert", map[string]string{"dumps": "testdata/golden/convert/dumps"})
	m.link("golden-compare", map[string]string{"dumps": "testdata/golden/compare/npu", "cpu": "testdata/golden/compare/cpu"})
	if len(opt.new) == 1 { // an emulator takes ten times as long
		m.linkMore()
	}
	for i, data := range opt.data {
		m.link("data"+strconv.Itoa(i), map[string]string{"dumps": data})
	}
	for seed := range opt.trees {
		name := "tree" + strconv.Itoa(seed)
		if m.err == nil {
			m.err = errors.Join(writeTree(m.add(name), uint64(seed)), writeConfigs(m.add(name), uint64(seed)))
		}
		m.inputs = append(m.inputs, input{name, m.add(name)})
	}
	for _, in := range m.inputs {
		if m.err == nil && in.has("cpu") {
			m.err = writeDocument(opt.old, in)
		}
	}
	return m.inputs, m.err
}

// maker creates inputs until an error occurs.
type maker struct {
	dir    string
	inputs []input
	err    error
}

func (m *maker) add(name string) string { return filepath.Join(m.dir, name) }

// link creates an input that links to existing folders.
func (m *maker) link(name string, folders map[string]string) {
	dir := m.add(name)
	m.err = errors.Join(m.err, os.MkdirAll(dir, 0o755))
	for as, path := range folders {
		target, err := filepath.Abs(path)
		if err == nil {
			err = os.Symlink(target, filepath.Join(dir, as))
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // link from an earlier run with -keep
		}
		m.err = errors.Join(m.err, err)
	}
	m.inputs = append(m.inputs, input{name, dir})
}

// linkMore creates inputs with data of frameworks and tables.
func (m *maker) linkMore() {
	for _, name := range []string{"inputs/npz", "inputs/pt", "inputs/h5", "inputs/st", "inputs/msprobe", "inputs/bad", "mindspore/v13_sync", "mindspore/v24_sync", "mindspore/v1_async", "recompute/nets", "ranks/tp2_link/trees.tar.gz"} {
		m.link("golden-"+strings.ReplaceAll(name, "/", "-"), map[string]string{"dumps": "testdata/golden/" + name})
	}
	for _, name := range []string{"verdict/mul_small", "verdict/one_row_graph"} {
		m.link("golden-"+strings.ReplaceAll(name, "/", "-"), map[string]string{"dumps": "testdata/golden/" + name + "/npu", "cpu": "testdata/golden/" + name + "/cpu"})
	}
	m.link("golden-perf", map[string]string{"tables": "testdata/golden/perf/net", "baseline": "testdata/golden/perf/net_baseline"})
}

// writeDocument writes the compare.json for compare judge and report.
func writeDocument(program []string, in input) error {
	args := append(program[1:len(program):len(program)], "compare", "-q", "--cpu", "cpu", "--npu", "dumps", "--format", "json")
	cmd := exec.Command(program[0], args...)
	cmd.Dir = in.dir
	data, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	return os.WriteFile(filepath.Join(in.dir, "compare.json"), data, 0o666)
}

// goodConfigs are configurations of all schemas. Generated configurations are these with a few bytes changed.
var goodConfigs = []string{
	`{"dump": {"dump_path": "/tmp", "dump_mode": "all", "dump_op_switch": "on", "dump_step": "0|3-5",
  "dump_list": [{"model_name": "net", "layer": ["conv1", "fc"], "optype_blacklist": [{"name": "Cast", "pos": ["input0"]}]}]}}
`,
	`{"dump": {"dump_path": "/tmp", "dump_debug": "on"}}
`,
	`{"dump": {"dump_scene": "watcher", "dump_path": "/tmp", "dump_list": [{"layer": ["a", "b"], "watcher_nodes": ["c"]}]}}
`,
	`{"common_dump_settings": {"dump_mode": 1, "path": "/tmp/dump", "net_name": "ResNet50", "iteration": "0|5-8",
  "saved_data": "full", "input_output": 0, "kernels": ["Default/Conv-op12"], "support_device": [0, 1]},
  "e2e_dump_settings": {"enable": true, "trans_flag": false, "stat_calc_mode": "host"}}
`,
	`{"common_dump_settings": {"op_debug_mode": 3, "dump_mode": 0, "path": "/tmp/dump", "net_name": "Net", "iteration": "all",
  "saved_data": "tensor", "input_output": 2, "kernels": [], "support_device": [0], "file_format": "npy", "overflow_number": 4}}
`,
	`{"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/tmp", "ge.exec.dumpMode": "output", "ge.exec.dumpStep": "0|2-4"}
`,
}

// strange are characters that damage a configuration.
const strange = `{}[]",:'#/0x-eT \n` + "\xef\x00"

// writeConfigs writes a good configuration and two damaged ones.
func writeConfigs(dir string, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 2))
	dir = filepath.Join(dir, "configs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	good := []byte(goodConfigs[seed%uint64(len(goodConfigs))])
	for i := range 3 {
		text := append([]byte(nil), good...)
		for range i {
			at := random.IntN(len(text))
			if random.IntN(2) == 0 {
				text[at] = strange[random.IntN(len(strange))]
			} else {
				text = append(text[:at], text[min(len(text), at+1+random.IntN(3)):]...)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// firstTime is the timestamp of the first dump, in microseconds.
const firstTime = 1624605159000000

// opTypes are the types of operators in generated trees.
var opTypes = []string{"Conv2D", "MatMul", "Relu", "Add", "Cast", "BatchNorm", "SoftmaxV2"}

// plainTypes are the element types of tensors without a device layout, whose bytes are random.
var plainTypes = []tensor.DType{
	tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Float16, tensor.Int8, tensor.Uint8, tensor.Int32,
	tensor.Int64, tensor.Bool, tensor.Complex64, tensor.Float8E5M2, tensor.Int4, tensor.HiFloat8,
}

// tree is a generated run: a chain of operators with their dumps and references.
type tree struct {
	dir  string
	rand *rand.Rand
}

// writeTree writes the run of a seed: dumps, cpu and consumers.json.
func writeTree(dir string, seed uint64) error {
	t := &tree{dir, rand.New(rand.NewPCG(seed, 1))}
	for _, sub := range []string{"dumps", "cpu"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	count := 3 + t.rand.IntN(6)
	faulty, consumers := t.rand.IntN(2*count), map[string][]string{}
	for i := range count {
		if err := t.writeOp(i, i == faulty); err != nil {
			return err
		}
		if i+1 < count {
			consumers[opName(i)] = []string{opName(i + 1)}
		}
	}
	data, err := json.Marshal(consumers)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "consumers.json"), data, 0o666)
}

func opName(i int) string { return fmt.Sprintf("op%d", i) }

// writeOp writes the dump of an operator and, mostly, its reference.
func (t *tree) writeOp(i int, faulty bool) error {
	kind := opTypes[t.rand.IntN(len(opTypes))]
	c := &dumptest.Content{
		Container: []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.BinaryV2, dumpfmt.ProtobufV1}[t.rand.IntN(3)],
		DumpTime:  firstTime + uint64(i)*1000, OpName: "net/" + opName(i),
	}
	if t.rand.IntN(3) == 0 {
		c.Inputs = append(c.Inputs, t.plain())
	}
	values, out := t.output()
	exact := values
	if faulty {
		values = t.damage(values)
	}
	c.Outputs = append(c.Outputs, out.of(values).Output(c.OpName))
	if t.rand.IntN(4) == 0 {
		c.Outputs = append(c.Outputs, t.plain())
	}
	path := filepath.Join(t.dir, "dumps", fmt.Sprintf("%s.%s.%d.16.%d", kind, opName(i), i+1, c.DumpTime))
	if err := synth.WriteFile(path, c); err != nil {
		return err
	}
	if t.rand.IntN(40) == 0 {
		if err := truncate(path); err != nil {
			return err
		}
	}
	if t.rand.IntN(20) == 0 {
		return nil // the reference lacks this operator
	}
	return synth.WriteArray(filepath.Join(t.dir, "cpu", opName(i)+".npy"), out.shape, exact)
}

// deviceTensor is the layout of an output on the device.
type deviceTensor struct {
	format tensor.Format
	shape  []int
}

// of returns the values in the device's layout.
func (d deviceTensor) of(values []float64) synth.Tensor {
	return synth.Tensor{Format: d.format, Shape: d.shape, Elements: synth.Halves(values)}
}

// output draws an output: its values before rounding, and its layout.
func (t *tree) output() ([]float64, deviceTensor) {
	form := deviceTensor{tensor.NC1HWC0, []int{1 + t.rand.IntN(2), 1 + t.rand.IntN(40), 1 + t.rand.IntN(9), 1 + t.rand.IntN(9)}}
	switch t.rand.IntN(4) {
	case 0:
		form = deviceTensor{tensor.FractalNZ, []int{1 + t.rand.IntN(50), 1 + t.rand.IntN(50)}}
	case 1:
		form.format = tensor.FractalZ
	}
	scale := math.Ldexp(1, t.rand.IntN(12)-6)
	values := make([]float64, synth.Tensor{Shape: form.shape}.Count())
	for i := range values {
		values[i] = float64(scale * t.rand.NormFloat64())
	}
	return values, form
}

// damage returns the values with a random fault.
func (t *tree) damage(values []float64) []float64 {
	out := append([]float64(nil), values...)
	tail := out[len(out)*3/4:]
	switch t.rand.IntN(6) {
	case 0:
		for i := range out {
			out[i] *= 1.1
		}
	case 1:
		clear(tail)
	case 2:
		out[t.rand.IntN(len(out))] = math.NaN()
	case 3:
		for i := range out {
			out[i] += 0.25
		}
	case 4:
		for i := range tail {
			tail[i] *= 60000
		}
	case 5:
		for i := range out {
			out[i] = math.Floor(out[i]*16) / 16
		}
	}
	return out
}

// plain draws a tensor of any type without a device layout.
func (t *tree) plain() dumptest.TensorContent {
	d := plainTypes[t.rand.IntN(len(plainTypes))]
	shape := []uint64{uint64(1 + t.rand.IntN(5)), uint64(2 * (1 + t.rand.IntN(8)))}
	size, _ := d.Bytes(int64(shape[0] * shape[1]))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(t.rand.Uint32())
	}
	if d == tensor.Bool {
		for i := range data {
			data[i] &= 1
		}
	}
	return dumptest.TensorContent{
		Payload: dumptest.Bytes(data), StoredDType: int32(d), StoredFormat: tensor.FormatWord(tensor.ND),
		Shape: shape, OriginalShape: shape,
	}
}

// truncate cuts a third of a file off.
func truncate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()*2/3)
}
