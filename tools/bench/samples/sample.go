package main

import (
	"errors"
	"math/rand/v2"
	"os"

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

// The convolution of the sample; pictures is its batch.
var sampleConv = synth.Convolution{Channels: 3, Filters: 64, Side: 16, Kernel: 3}

const pictures = 2

// newConvolution returns the example of the dump manual, with a smaller batch of
// smaller images. The device sums up in float32.
func newConvolution() *synth.Operator {
	c := sampleConv
	images := newImages()
	// A layer starts with weights within the square root of 1/(3*3*3).
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

// newImages returns pictures of a soft gradient with some noise, normalised with
// the means and deviations of CIFAR-10.
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

// newGradient returns the product of the gradient of a loss with a layer's
// weight. Its loss scale is too high.
func newGradient() *synth.Operator {
	const rows, classes, features, lossScale = 16, 10, 100, 65536
	random := rand.New(rand.NewPCG(733, 0))
	var left []float32
	for range rows {
		label := random.IntN(classes)
		for class, noise := range synth.Uniform[float32](random, classes, 1) {
			// What the model gives the class, less 1 for the right one.
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
