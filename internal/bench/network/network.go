package main

import (
	"math/rand/v2"

	"dumptool/internal/bench/synth"
	"dumptool/internal/tensor"
)

// The network takes one picture of side x side pixels and tells ten classes
// apart.
const (
	channels, filters = 3, 32
	side              = 8
	kernel, padding   = 3, 1
	classes           = 10

	// The device works on blocks of 16 channels and on tiles of tileRows rows.
	block    = 16
	tileRows = 4
)

// layers computes the network twice: in float64 for the host, and for the NPU
// with outputs rounded to float16. There conv2 has a fault: in its last tile of
// rows it leaves the last block of channels out of its sums.
func layers() []layer {
	random := rand.New(rand.NewPCG(2021, 6))
	picture := uniform(random, channels*side*side, 2)
	first := uniform(random, filters*channels*kernel*kernel, 0.35)
	second := uniform(random, filters*filters*kernel*kernel, 0.12)
	dense := uniform(random, filters*classes, 0.5)

	image := []int{1, filters, side, side}
	conv1 := layer{name: "conv1", opType: "Conv2D", format: tensor.NC1HWC0, shape: image}
	relu1 := layer{name: "relu1", opType: "Relu", format: tensor.NC1HWC0, shape: image}
	conv2 := layer{name: "conv2", opType: "Conv2D", format: tensor.NC1HWC0, shape: image}
	relu2 := layer{name: "relu2", opType: "Relu", format: tensor.NC1HWC0, shape: image}
	pool := layer{name: "pool", opType: "ReduceMeanD", format: tensor.FractalNZ, shape: []int{1, filters}}
	fc := layer{name: "fc", opType: "MatMul", format: tensor.FractalNZ, shape: []int{1, classes}}

	conv1.host = convolve(picture, first, channels, none)
	conv1.device = rounded(convolve(rounded(picture), rounded(first), channels, none))
	relu1.host, relu1.device = relu(conv1.host), relu(conv1.device)
	conv2.host = convolve(relu1.host, second, filters, none)
	conv2.device = rounded(convolve(relu1.device, rounded(second), filters, lastTile))
	relu2.host, relu2.device = relu(conv2.host), relu(conv2.device)
	pool.host, pool.device = mean(relu2.host), rounded(mean(relu2.device))
	fc.host, fc.device = multiply(pool.host, dense), rounded(multiply(pool.device, rounded(dense)))
	return []layer{conv1, relu1, conv2, relu2, pool, fc}
}

// lost tells which products a convolution leaves out: those of a channel in the
// sums of a row.
type lost func(channel, row int) bool

func none(int, int) bool { return false }

// lastTile is the fault.
func lastTile(channel, row int) bool { return row >= side-tileRows && channel >= filters-block }

// uniform returns n values from -bound up to bound.
func uniform(random *rand.Rand, n int, bound float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = (float64(random.Uint64()>>40)/(1<<23) - 1) * bound
	}
	return out
}

// rounded returns the values as float16 holds them.
func rounded(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = tensor.Float16To64(synth.Half(float32(v)))
	}
	return out
}

// convolve is a 3x3 convolution with stride 1 and padding 1 over in channels.
// The products are rounded first, in the conversion: that keeps compilers from
// fusing them with the sums, which would change the result on some machines.
func convolve(input, weight []float64, in int, out lost) []float64 {
	var output []float64
	for f := range filters {
		for y := range side {
			for x := range side {
				var sum float64
				for i := range in * kernel * kernel {
					c, iy, ix := i/(kernel*kernel), y+i/kernel%kernel-padding, x+i%kernel-padding
					if min(iy, ix) < 0 || max(iy, ix) >= side || out(c, y) {
						continue
					}
					sum += float64(input[(c*side+iy)*side+ix] * weight[f*in*kernel*kernel+i])
				}
				output = append(output, sum)
			}
		}
	}
	return output
}

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

// multiply is the product of a row with a matrix.
func multiply(row, matrix []float64) []float64 {
	out := make([]float64, classes)
	for i, v := range row {
		for j := range out {
			out[j] += float64(v * matrix[i*classes+j])
		}
	}
	return out
}
