package main

import (
	"fmt"

	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// network says which ResNet-50 the dumps are of. Real ones have 224 pixels and
// a width of 64.
type network struct {
	batch int
	image int // side of the pictures
	width int // channels after the first convolution
}

// fit returns the network whose dumps take nearly size bytes: the number of
// pictures makes the difference, and for small sizes that of pixels and
// channels too.
func fit(size int64) network {
	var n network
	for _, width := range []int{64, 32, 16, 8, 4} {
		for image := 224; image >= 32; image -= 32 {
			n = network{batch: 1, image: image, width: width}
			one := n.dumpSize()
			if one > size {
				continue
			}
			n.batch = 2
			picture := n.dumpSize() - one
			n.batch = 1 + int((size-one+picture/2)/picture)
			return n
		}
	}
	return n
}

// dumpSize is the number of tensor bytes in the dumps.
func (n network) dumpSize() (size int64) {
	for _, o := range n.ops() {
		for _, a := range append(o.inputs, o.output) {
			size += int64(a.tensor().DeviceSize())
		}
	}
	return size
}

// String names the network in the names of folders.
func (n network) String() string {
	return fmt.Sprintf("resnet50-%dx3x%dx%d-w%d", n.batch, n.image, n.image, n.width)
}

// op is an operator of the network and what its dump holds.
type op struct {
	kind   string
	name   string
	inputs []*array
	output *array
}

// array is a tensor with made-up values.
type array struct {
	format tensor.Format
	shape  []int
	values values
	seed   uint64
}

// tensor returns the array without its elements.
func (a *array) tensor() synth.Tensor { return synth.Tensor{Format: a.format, Shape: a.shape} }

// ops lists the operators in the order in which they run, without the last
// layer. Convolutions are dumped with their inputs, the others are not; an
// addition and the ReLU behind it are one operator, as on the device.
func (n network) ops() []op {
	b := &builder{net: n}
	picture := b.array(tensor.NC1HWC0, normal, n.batch, 3, n.image, n.image)
	x := b.relu("relu", b.norm("bn1", b.conv("conv1", picture, n.width, 7, 2)))
	x = b.pool("maxpool", x)
	for stage, count := range []int{3, 4, 6, 3} {
		for i := range count {
			stride := 1
			if stage > 0 && i == 0 {
				stride = 2
			}
			x = b.block(fmt.Sprintf("layer%d/%d/", stage+1, i), x, n.width<<stage, stride, i == 0)
		}
	}
	return b.ops
}

// builder collects the operators of a network.
type builder struct {
	net  network
	ops  []op
	seed uint64 // of the latest array
}

// block adds a bottleneck block, with a convolution on its short cut if its
// input does not have the shape of its output.
func (b *builder) block(prefix string, x *array, width, stride int, project bool) *array {
	y := b.relu(prefix+"relu1", b.norm(prefix+"bn1", b.conv(prefix+"conv1", x, width, 1, 1)))
	y = b.relu(prefix+"relu2", b.norm(prefix+"bn2", b.conv(prefix+"conv2", y, width, 3, stride)))
	y = b.norm(prefix+"bn3", b.conv(prefix+"conv3", y, 4*width, 1, 1))
	if project {
		b.norm(prefix+"down_bn", b.conv(prefix+"down_conv", x, 4*width, 1, stride))
	}
	return b.add("AddRelu", prefix+"add", b.like(y, positive))
}

func (b *builder) conv(name string, x *array, filters, kernel, stride int) *array {
	weight := b.array(tensor.FractalZ, weights, filters, x.shape[1], kernel, kernel)
	return b.add("Conv2D", name, b.map2D(normal, filters, (x.shape[2]+stride-1)/stride), x, weight)
}

func (b *builder) norm(name string, x *array) *array {
	return b.add("BatchNorm", name, b.like(x, normal))
}

func (b *builder) relu(name string, x *array) *array {
	return b.add("ReLU", name, b.like(x, positive))
}

func (b *builder) pool(name string, x *array) *array {
	return b.add("MaxPool", name, b.map2D(positive, x.shape[1], (x.shape[2]+1)/2))
}

// add adds an operator and returns its output.
func (b *builder) add(kind, name string, output *array, inputs ...*array) *array {
	name = fmt.Sprintf("Default/network/_backbone/%s/%s-op%d", name, kind, len(b.ops)+1)
	b.ops = append(b.ops, op{kind: kind, name: name, inputs: inputs, output: output})
	return output
}

func (b *builder) like(x *array, v values) *array { return b.map2D(v, x.shape[1], x.shape[2]) }

func (b *builder) map2D(v values, channels, side int) *array {
	return b.array(tensor.NC1HWC0, v, b.net.batch, channels, side, side)
}

func (b *builder) array(format tensor.Format, v values, shape ...int) *array {
	b.seed++
	return &array{format: format, shape: shape, values: v, seed: b.seed}
}
