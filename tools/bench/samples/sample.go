package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// writeSample writes two operators, and the overflow record of the second.
func writeSample(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	conv, grad := newConvolution(), newGradient()
	return errors.Join(conv.Write(dir), grad.Write(dir), writeRecord(dir, grad))
}

// The convolution of the sample; pictures is its batch size.
var sampleConv = synth.Convolution{Channels: 3, Filters: 64, Side: 16, Kernel: 3}

const pictures = 2

// newConvolution returns the example of the dump manual, with fewer and smaller images. The device accumulates in
// float32.
func newConvolution() *synth.Operator {
	c := sampleConv
	images := newImages()
	// Initial weights are within the square root of 1/(3*3*3).
	weights := synth.Rounded(synth.Uniform[float32](rand.New(rand.NewPCG(515, 1)), c.Filters*c.Channels*c.Kernel*c.Kernel, 0.19245))
	var output []float32
	for n := range pictures {
		output = append(output, synth.Convolve(c, images[n*len(images)/pictures:], weights, nil)...)
	}
	return &synth.Operator{
		Type: "Conv2D", Name: "Default/network/_backbone/conv1/Conv2D-op515", Task: 58, Time: 1624605159829577,
		Inputs: []synth.Tensor{
			{Format: tensor.NC1HWC0, Shape: []int{pictures, c.Channels, c.Side, c.Side}, Elements: synth.Halves(images)},
			{Format: tensor.FractalZ, Shape: []int{c.Filters, c.Channels, c.Kernel, c.Kernel}, Elements: synth.Halves(weights)},
		},
		Output: synth.Tensor{Format: tensor.NC1HWC0, Shape: []int{pictures, c.Filters, c.Side, c.Side}, Elements: synth.Halves(output)},
	}
}

// newImages returns pictures of a soft gradient with noise, normalised with the means and deviations of CIFAR-10.
func newImages() []float32 {
	mean := [...]float32{0.4914, 0.4822, 0.4465}
	deviation := [...]float32{0.2023, 0.1994, 0.2010}
	random := rand.New(rand.NewPCG(515, 0))
	var out []float32
	for n := range pictures {
		for c := range sampleConv.Channels {
			for y := range sampleConv.Side {
				for x := range sampleConv.Side {
					pixel := 24 + 8*x*(n+1)/2 + 3*y*(c+1) + random.IntN(32)
					value := float32(min(pixel, 255)) / 255
					out = append(out, (value-mean[c])/deviation[c])
				}
			}
		}
	}
	return synth.Rounded(out)
}

// newGradient returns the product of the gradient of a loss and a layer's weight. Its loss scale is too high.
func newGradient() *synth.Operator {
	const rows, classes, features, lossScale = 16, 10, 100, 65536
	random := rand.New(rand.NewPCG(733, 0))
	var left []float32
	for range rows {
		label := random.IntN(classes)
		for class, noise := range synth.Uniform[float32](random, classes, 1) {
			// The output of the model for the class, minus 1 for the right class.
			slope := (1 + noise) / classes
			if class == label {
				slope--
			}
			left = append(left, slope*lossScale)
		}
	}
	left = synth.Rounded(left)
	right := synth.Rounded(synth.Uniform[float32](random, classes*features, 1))
	matrix := func(m, n int, values []float32) synth.Tensor {
		return synth.Tensor{Format: tensor.FractalNZ, Shape: []int{m, n}, Elements: synth.Halves(values)}
	}
	return &synth.Operator{
		Type: "MatMul", Name: "Gradients/Default/network/_backbone/linear/gradMatMul/MatMul-op733", Task: 171, Time: 1624605159913042,
		Inputs: []synth.Tensor{matrix(rows, classes, left), matrix(classes, features, right)},
		Output: matrix(rows, features, synth.Multiply(left, right, classes)),
	}
}

// The network classifies a picture of side x side pixels into ten classes.
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

// writeNetwork writes the outputs of all layers: arrays of the host and dumps of the NPU.
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

// layers computes the network twice: in float64 for the host, and for the NPU with outputs rounded to float16. The
// NPU's conv2 has a fault: in its last tile of rows it omits the last block of channels from its sums.
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

// lastTile selects the products that the fault omits.
func lastTile(channel, row int) bool { return row >= side-tileRows && channel >= filters-block }

func relu(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = max(v, 0)
	}
	return out
}

// mean returns the mean of every channel.
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

// writeRecord writes the overflow record of an operator: a float32 sum exceeds float16. The addresses are invented.
func writeRecord(dir string, of *synth.Operator) error {
	const name = "Node_OpDebug"
	record := &opdebug.Record{
		Generation: opdebug.OldLayout,
		Areas: []opdebug.Area{
			{Unit: opdebug.DHA, Status: []uint64{0}},
			{Unit: opdebug.L2, Status: []uint64{0}},
			{
				Unit: opdebug.AICore, ModelID: 11, StreamID: synth.Stream, TaskID: of.Task,
				PCStart: 0x1008005b0000, ParaBase: 0x100800297000, KernelCode: 0x1008005ae000,
				BlockIdx: 1, Status: []uint64{0x100},
			},
		},
	}
	file := synth.Operator{Type: "Opdebug", Name: name, Task: of.Task, Time: of.Time + 4}
	return synth.WriteFile(filepath.Join(dir, file.FileName()), &dumptest.Content{
		Container: dumpfmt.BinaryV2, DumpTime: file.Time, OpName: name,
		Outputs: []dumptest.TensorContent{{
			Payload:      dumptest.Bytes(dumptest.EncodeRecord(record)),
			StoredDType:  int32(tensor.Uint8),
			StoredFormat: tensor.FormatWord(tensor.ND),
			Shape:        []uint64{opdebug.BufferSize},
			OriginalOp:   &dumptest.OriginalContent{Name: name, StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND)},
		}},
	})
}
