package main

import (
	"math/rand/v2"

	"dumptool/internal/bench/synth"
	"dumptool/internal/tensor"
)

// convolution is a 3x3 convolution with stride 1 and padding 1.
type convolution struct {
	input, weight, output synth.Tensor
}

const (
	batch, channels, filters = 2, 3, 64
	side                     = 16
	kernel, padding          = 3, 1
)

func newConvolution() convolution {
	input := synth.Tensor{Format: tensor.NC1HWC0, Shape: []int{batch, channels, side, side}, Elements: images()}
	weight := synth.Tensor{Format: tensor.FractalZ, Shape: []int{filters, channels, kernel, kernel}, Elements: weights()}
	output := synth.Tensor{Format: tensor.NC1HWC0, Shape: []int{batch, filters, side, side}}
	for n := range batch {
		for f := range filters {
			for y := range side {
				for x := range side {
					output.Elements = append(output.Elements, synth.Half(convolve(input, weight, n, f, y, x)))
				}
			}
		}
	}
	return convolution{input, weight, output}
}

// convolve sums up one element in float32, as the device does. The products are
// rounded first: that keeps compilers from fusing them with the sums, which
// would change the result on some machines.
func convolve(input, weight synth.Tensor, n, f, y, x int) float32 {
	var sum float32
	for c := range channels {
		for ky := range kernel {
			for kx := range kernel {
				iy, ix := y+ky-padding, x+kx-padding
				if iy < 0 || iy >= side || ix < 0 || ix >= side {
					continue
				}
				a := tensor.Float16To32(input.Elements[((n*channels+c)*side+iy)*side+ix])
				b := tensor.Float16To32(weight.Elements[((f*channels+c)*kernel+ky)*kernel+kx])
				sum += float32(a * b)
			}
		}
	}
	return sum
}

// images returns pictures of a soft gradient with some noise, normalised with
// the means and deviations of CIFAR-10.
func images() []uint16 {
	mean := [channels]float32{0.4914, 0.4822, 0.4465}
	deviation := [channels]float32{0.2023, 0.1994, 0.2010}
	random := rand.New(rand.NewPCG(515, 0))
	var out []uint16
	for n := range batch {
		for c := range channels {
			for y := range side {
				for x := range side {
					pixel := 24 + 8*x*(n+1)/2 + 3*y*(c+1) + random.IntN(32)
					value := float32(min(pixel, 255)) / 255
					out = append(out, synth.Half((value-mean[c])/deviation[c]))
				}
			}
		}
	}
	return out
}

// weights returns values as a layer starts with them: uniform within the square
// root of 1/(channels*kernel*kernel).
func weights() []uint16 {
	random := rand.New(rand.NewPCG(515, 1))
	out := make([]uint16, filters*channels*kernel*kernel)
	for i := range out {
		out[i] = synth.Half(uniform(random) * 0.19245)
	}
	return out
}

// uniform returns a value from -1 up to 1.
func uniform(random *rand.Rand) float32 {
	return float32(random.Uint64()>>40)/(1<<23) - 1
}

// gradient is the product of the gradient of a loss with a layer's weight.
type gradient struct {
	left, right, product synth.Tensor
}

const (
	rows, classes, features = 16, 10, 100
	lossScale               = 65536
)

func newGradient() gradient {
	random := rand.New(rand.NewPCG(733, 0))
	left := synth.Tensor{Format: tensor.FractalNZ, Shape: []int{rows, classes}}
	for range rows {
		label := random.IntN(classes)
		for class := range classes {
			// What the model gives the class, less 1 for the right one.
			slope := (1 + uniform(random)) / classes
			if class == label {
				slope--
			}
			left.Elements = append(left.Elements, synth.Half(slope*lossScale))
		}
	}
	right := synth.Tensor{Format: tensor.FractalNZ, Shape: []int{classes, features}}
	for range classes * features {
		right.Elements = append(right.Elements, synth.Half(uniform(random)))
	}
	product := synth.Tensor{Format: tensor.FractalNZ, Shape: []int{rows, features}}
	for r := range rows {
		for f := range features {
			product.Elements = append(product.Elements, synth.Half(multiply(left, right, r, f)))
		}
	}
	return gradient{left, right, product}
}

// multiply sums up one element of the product in float32; see convolve.
func multiply(left, right synth.Tensor, row, feature int) float32 {
	var sum float32
	for k := range classes {
		a := tensor.Float16To32(left.Elements[row*classes+k])
		b := tensor.Float16To32(right.Elements[k*features+feature])
		sum += float32(a * b)
	}
	return sum
}
