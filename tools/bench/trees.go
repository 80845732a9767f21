package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// startTime is the time of the first dump in microseconds; every operator takes a millisecond.
const startTime = 1624605159000000

// dumpTree and goldenTree return the folders of a network's trees in dir.
func dumpTree(dir string, n network) string   { return filepath.Join(dir, "dumps-"+n.String()) }
func goldenTree(dir string, n network) string { return filepath.Join(dir, "golden-"+n.String()) }

// makeDumps writes the dump tree unless it exists.
func makeDumps(ctx context.Context, dir string, n network) error {
	return makeTree(ctx, dumpTree(dir, n), n, writeDump)
}

// makeGolden writes the golden tree unless it exists: the outputs as float32 arrays in host order.
func makeGolden(ctx context.Context, dir string, n network) error {
	return makeTree(ctx, goldenTree(dir, n), n, writeGolden)
}

// makeTree writes a file for every operator. It renames the tree to its final name when it is complete.
func makeTree(ctx context.Context, path string, n network, write func(dir string, o op, time uint64) error) (err error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "unfinished-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp) //nolint:errcheck // the first error says more
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, o := range n.ops() {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return write(tmp, o, startTime+uint64(i)*1000)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// writeDump writes the dump of an operator to the framework's folder.
func writeDump(dir string, o op, time uint64) error {
	dir = filepath.Join(dir, "0", "resnet50_graph_1", "1", "0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dump := synth.Operator{Type: o.kind, Name: o.name, Task: time / 1000 % 1000, Time: time, Output: o.output.rounded()}
	for _, in := range o.inputs {
		dump.Inputs = append(dump.Inputs, in.rounded())
	}
	return dump.Write(dir)
}

// writeGolden writes the output of an operator.
func writeGolden(dir string, o op, time uint64) error {
	name := fmt.Sprintf("%s.0.%d.npy", strings.ReplaceAll(o.name, "/", "_"), time)
	return synth.WriteArray(filepath.Join(dir, name), o.output.shape, o.output.exact())
}

// makePairs writes n small references and dumps; every tenth pair fails.
func makePairs(golden, npu string, n int) error {
	if err := errors.Join(os.MkdirAll(golden, 0o755), os.MkdirAll(npu, 0o755)); err != nil {
		return err
	}
	random, shape := rand.New(rand.NewPCG(1, 1)), []int{4, 16}
	for i := range n {
		o := synth.Operator{Type: "MatMul", Name: fmt.Sprintf("net/layer%d/matmul", i), Task: uint64(i), Time: startTime + uint64(i)}
		values := synth.Uniform[float32](random, 64, 1)
		if err := synth.WriteArray(filepath.Join(golden, strings.ReplaceAll(o.Name, "/", "_")+".npy"), shape, values); err != nil {
			return err
		}
		if i%10 == 0 {
			values[5]++
		}
		o.Output = synth.Tensor{Format: tensor.FractalNZ, Shape: shape, Elements: synth.Halves(values)}
		if err := o.Write(npu); err != nil {
			return err
		}
	}
	return nil
}

// network is a size of ResNet-50. The original has 224 pixels and a width of 64.
type network struct {
	batch int
	image int // side of the pictures
	width int // channels after the first convolution
}

// fit returns the network whose dumps take about size bytes. It adapts the number of pictures, and for small sizes
// also pixels and channels.
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

// dumpSize returns the tensor bytes in the dumps.
func (n network) dumpSize() (size int64) {
	for _, o := range n.ops() {
		for _, a := range append(o.inputs, o.output) {
			size += int64(a.tensor().DeviceSize())
		}
	}
	return size
}

// String names the network in names of folders.
func (n network) String() string {
	return fmt.Sprintf("resnet50-%dx3x%dx%d-w%d", n.batch, n.image, n.image, n.width)
}

// op is an operator of the network with the tensors in its dump.
type op struct {
	kind   string
	name   string
	inputs []*array
	output *array
}

// array is a tensor with random values.
type array struct {
	format tensor.Format
	shape  []int
	values values
	seed   uint64
}

// tensor returns the array without its elements.
func (a *array) tensor() synth.Tensor { return synth.Tensor{Format: a.format, Shape: a.shape} }

// ops lists the operators in execution order, without the last layer. Only convolutions are dumped with their inputs.
// An addition and the ReLU behind it are one operator, as on the device.
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

// block adds a bottleneck block; project adds a convolution on the shortcut, for an input of another shape than the
// output.
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

// values is a distribution of random values.
type values int

const (
	normal   values = iota // normally distributed
	positive               // the same after a ReLU: half of them are zero
	weights                // normally distributed and small
)

// table has values to draw from, exact and rounded to float16.
type table struct {
	exact   [1 << 16]float32
	rounded [1 << 16]uint16
}

// tables returns the tables of all distributions.
var tables = sync.OnceValue(func() *[3]table {
	random := rand.New(rand.NewPCG(50, 0))
	t := new([3]table)
	for i := range 1 << 16 {
		x := float32(random.NormFloat64())
		for kind, v := range [3]float32{normal: x, positive: max(0, x), weights: x / 50} {
			t[kind].exact[i], t[kind].rounded[i] = v, dumptest.Half(v)
		}
	}
	return t
})

// rounded returns the elements as the device has them.
func (a *array) rounded() synth.Tensor {
	t := a.tensor()
	from := &tables()[a.values].rounded
	t.Elements = make([]uint16, t.Count())
	a.draw(func(i int, entry uint16) { t.Elements[i] = from[entry] })
	return t
}

// exact returns the elements as a golden run has them. Rounded to float16 they equal the elements of rounded.
func (a *array) exact() []float32 {
	from := &tables()[a.values].exact
	out := make([]float32, a.tensor().Count())
	a.draw(func(i int, entry uint16) { out[i] = from[entry] })
	return out
}

// draw calls put with a table index for every element.
func (a *array) draw(put func(i int, entry uint16)) {
	random := rand.NewPCG(a.seed, uint64(a.values))
	n := a.tensor().Count()
	for i := 0; i < n; {
		for bits, end := random.Uint64(), min(n, i+4); i < end; i++ {
			put(i, uint16(bits))
			bits >>= 16
		}
	}
}
