package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// firstTime is the timestamp of the first dump, in microseconds.
const firstTime = 1624605159000000

// opTypes are the types of operators in made trees.
var opTypes = []string{"Conv2D", "MatMul", "Relu", "Add", "Cast", "BatchNorm", "SoftmaxV2"}

// plainTypes are the element types of tensors without a device layout, whose
// bytes are drawn at random.
var plainTypes = []tensor.DType{
	tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Float16, tensor.Int8, tensor.Uint8, tensor.Int32,
	tensor.Int64, tensor.Bool, tensor.Complex64, tensor.Float8E5M2, tensor.Int4, tensor.HiFloat8,
}

// tree is a made run: a chain of operators, their dumps and their references.
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

// writeOp writes the dump of an operator and most often its reference.
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
		return nil // the reference has no such operator
	}
	return synth.WriteArray(filepath.Join(t.dir, "cpu", opName(i)+".npy"), out.shape, exact)
}

// deviceTensor is what an output looks like on the device.
type deviceTensor struct {
	format tensor.Format
	shape  []int
}

// of returns the values as the device keeps them.
func (d deviceTensor) of(values []float64) synth.Tensor {
	return synth.Tensor{Format: d.format, Shape: d.shape, Elements: synth.Halves(values)}
}

// output draws an output: its values before they are rounded, and its form.
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

// damage returns the values with a fault.
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

// truncate cuts the end of a file off.
func truncate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()*2/3)
}
