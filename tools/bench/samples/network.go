package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"

	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// The network takes one picture of side x side pixels and separates ten classes
// from each other.
const (
	channels, filters = 3, 32
	side, kernel      = 8, 3
	classes           = 10

	// The device works on blocks of 16 channels and on tiles of tileRows rows.
	block    = 16
	tileRows = 4
)

// layer is an operator with its output on the host and on the NPU.
type layer struct {
	name, opType string
	format       tensor.Format
	shape        []int
	host, device []float64
}

// writeNetwork writes the outputs of all layers: arrays of the host and dumps of
// the NPU. The layers ran one after the other.
func writeNetwork(dir string) error {
	cpu, npu := filepath.Join(dir, "cpu"), filepath.Join(dir, "npu")
	for _, dir := range []string{cpu, npu} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for i, l := range layers() {
		if err := synth.WriteArray(filepath.Join(cpu, l.name+".npy"), l.shape, l.host); err != nil {
			return err
		}
		op := synth.Operator{
			Type: l.opType, Name: l.name, Task: uint64(i + 1), Time: 1624605159829577 + 120*uint64(i),
			Output: synth.Tensor{Format: l.format, Shape: l.shape, Elements: synth.Halves(l.device)},
		}
		if err := op.Write(npu); err != nil {
			return err
		}
	}
	return nil
}

// layers computes the network twice: in float64 for the host, and for the NPU
// with outputs rounded to float16. There conv2 has a fault: in its last tile of
// rows it leaves the last block of channels out of its sums.
func layers() []layer {
	random := rand.New(rand.NewPCG(2021, 6))
	picture := synth.Uniform(random, channels*side*side, 2.)
	first := synth.Uniform(random, filters*channels*kernel*kernel, 0.35)
	second := synth.Uniform(random, filters*filters*kernel*kernel, 0.12)
	dense := synth.Uniform(random, filters*classes, 0.5)
	convFirst := synth.Convolution{Channels: channels, Filters: filters, Side: side, Kernel: kernel}
	convSecond := synth.Convolution{Channels: filters, Filters: filters, Side: side, Kernel: kernel}

	image := []int{1, filters, side, side}
	conv1 := layer{name: "conv1", opType: "Conv2D", format: tensor.NC1HWC0, shape: image}
	relu1 := layer{name: "relu1", opType: "Relu", format: tensor.NC1HWC0, shape: image}
	conv2 := layer{name: "conv2", opType: "Conv2D", format: tensor.NC1HWC0, shape: image}
	relu2 := layer{name: "relu2", opType: "Relu", format: tensor.NC1HWC0, shape: image}
	pool := layer{name: "pool", opType: "ReduceMeanD", format: tensor.FractalNZ, shape: []int{1, filters}}
	fc := layer{name: "fc", opType: "MatMul", format: tensor.FractalNZ, shape: []int{1, classes}}

	conv1.host = synth.Convolve(convFirst, picture, first, nil)
	conv1.device = synth.Rounded(synth.Convolve(convFirst, synth.Rounded(picture), synth.Rounded(first), nil))
	relu1.host, relu1.device = relu(conv1.host), relu(conv1.device)
	conv2.host = synth.Convolve(convSecond, relu1.host, second, nil)
	conv2.device = synth.Rounded(synth.Convolve(convSecond, relu1.device, synth.Rounded(second), lastTile))
	relu2.host, relu2.device = relu(conv2.host), relu(conv2.device)
	pool.host, pool.device = mean(relu2.host), synth.Rounded(mean(relu2.device))
	fc.host = synth.Multiply(pool.host, dense, filters)
	fc.device = synth.Rounded(synth.Multiply(pool.device, synth.Rounded(dense), filters))
	return []layer{conv1, relu1, conv2, relu2, pool, fc}
}

// lastTile is the fault.
func lastTile(channel, row int) bool { return row >= side-tileRows && channel >= filters-block }

func relu(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = max(v, 0)
	}
	return out
}

// mean is the mean of every channel.
func mean(values []float64) []float64 {
	var out []float64
	for f := range filters {
		var sum float64
		for _, v := range values[f*side*side : (f+1)*side*side] {
			sum += v
		}
		out = append(out, sum/(side*side))
	}
	return out
}
