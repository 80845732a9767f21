// Package synth makes dump files from host arrays: the sample data, and the trees that the program's speed is
// measured on.
//
// It implements the device layouts independently of package layout, as plain loops of their definitions: a wrong idea
// of a layout in one of them shows as a difference.
package synth

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// Sizes of the device's blocks for float16 elements: c0 channels or columns, m0 rows or filters.
const (
	c0 = 16
	m0 = 16
)

// Tensor is a float16 host array and its layout on the device.
type Tensor struct {
	// Format is NC1HWC0 or FractalZ, both for an NCHW array, or FractalNZ for a matrix.
	Format   tensor.Format
	Shape    []int
	Elements []uint16 // in host order
}

// Count returns the number of elements of the host array.
func (t Tensor) Count() int { return count(t.Shape) }

// DeviceShape returns the shape of the tensor in the device's layout.
func (t Tensor) DeviceShape() []int {
	switch d := t.Shape; t.Format {
	case tensor.NC1HWC0:
		return []int{d[0], blocks(d[1], c0), d[2], d[3], c0}
	case tensor.FractalZ:
		return []int{blocks(d[1], c0) * d[2] * d[3], blocks(d[0], m0), m0, c0}
	case tensor.FractalNZ:
		return []int{blocks(d[1], c0), blocks(d[0], m0), m0, c0}
	}
	panic(fmt.Sprintf("synth: no rule for %v", t.Format))
}

// Device returns the bytes of the tensor in the device's layout, with zero padding.
func (t Tensor) Device() []byte {
	elements := make([]uint16, count(t.DeviceShape()))
	switch t.Format {
	case tensor.NC1HWC0:
		nc1hwc0(elements, t)
	case tensor.FractalZ:
		fractalZ(elements, t)
	case tensor.FractalNZ:
		fractalNZ(elements, t)
	}
	data := make([]byte, 0, t.DeviceSize())
	for _, e := range elements {
		data = binary.LittleEndian.AppendUint16(data, e)
	}
	return data
}

// DeviceSize returns the number of bytes of the tensor in the device's layout.
func (t Tensor) DeviceSize() int { return 2 * count(t.DeviceShape()) }

// Content returns the tensor as an input of a dump with that data.
func (t Tensor) Content(data dumptest.Payload) dumptest.TensorContent {
	return dumptest.TensorContent{
		Payload:       data,
		StoredDType:   int32(tensor.Float16),
		StoredFormat:  tensor.FormatWord(t.Format),
		Shape:         unsigned(t.DeviceShape()),
		OriginalShape: unsigned(t.Shape),
	}
}

// Input returns the tensor as an input of a dump.
func (t Tensor) Input() dumptest.TensorContent { return t.Content(dumptest.Bytes(t.Device())) }

// Output returns the tensor as the output of a dump of operator op.
func (t Tensor) Output(op string) dumptest.TensorContent {
	c := t.Input()
	host := tensor.NCHW
	if t.Format == tensor.FractalNZ {
		host = tensor.ND
	}
	c.OriginalOp = &dumptest.OriginalContent{
		Name:         op,
		StoredDType:  int32(tensor.Float16),
		StoredFormat: tensor.FormatWord(host),
	}
	return c
}

func unsigned(dims []int) []uint64 {
	out := make([]uint64, len(dims))
	for i, d := range dims {
		out[i] = uint64(d)
	}
	return out
}

func count(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// blocks returns the number of blocks of a size that hold n.
func blocks(n, size int) int { return (n + size - 1) / size }

// nc1hwc0: offset ((n*C1 + c/C0)*H*W + hw)*C0 + c%C0.
func nc1hwc0(dst []uint16, t Tensor) {
	batch, channels, plane := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	c1 := blocks(channels, c0)
	src := t.Elements
	for n := range batch {
		for c := range channels {
			out := dst[(n*c1+c/c0)*plane*c0+c%c0:]
			for hw, e := range src[:plane] {
				out[hw*c0] = e
			}
			src = src[plane:]
		}
	}
}

// fractalZ: offset ((c/C0)*H*W + hw)*(N1*16*C0) + n*C0 + c%C0.
func fractalZ(dst []uint16, t Tensor) {
	filters, channels, plane := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	step := blocks(filters, m0) * m0 * c0
	src := t.Elements
	for n := range filters {
		for c := range channels {
			out := dst[c/c0*plane*step+n*c0+c%c0:]
			for hw, e := range src[:plane] {
				out[hw*step] = e
			}
			src = src[plane:]
		}
	}
}

// fractalNZ: offset ((n/C0)*M1*16 + m)*C0 + n%C0.
func fractalNZ(dst []uint16, t Tensor) {
	rows, columns := t.Shape[0], t.Shape[1]
	m1 := blocks(rows, m0)
	for m := range rows {
		for n := range columns {
			dst[(n/c0*m1*m0+m)*c0+n%c0] = t.Elements[m*columns+n]
		}
	}
}

// Float is the type of elements and sums on the host.
type Float interface{ float32 | float64 }

// Uniform returns n values from -bound to bound, the same on every machine.
func Uniform[F Float](random *rand.Rand, n int, bound F) []F {
	out := make([]F, n)
	for i := range out {
		out[i] = (F(random.Uint64()>>40)/(1<<23) - 1) * bound
	}
	return out
}

// Halves rounds values to float16.
func Halves[F Float](values []F) []uint16 {
	out := make([]uint16, len(values))
	for i, v := range values {
		out[i] = dumptest.Half(float32(v))
	}
	return out
}

// Rounded returns the values rounded to float16.
func Rounded[F Float](values []F) []F {
	out := make([]F, len(values))
	for i, v := range values {
		out[i] = F(tensor.Float16To32(dumptest.Half(float32(v))))
	}
	return out
}

// Convolution is a convolution of square pictures with stride 1, whose output has the size of its input.
type Convolution struct{ Channels, Filters, Side, Kernel int }

// Convolve returns the sums for one picture. Products of a channel are omitted from a row of the output if lost,
// unless nil, reports so. The conversion rounds the products first, so that no compiler fuses them with the sums,
// which would change the result on some machines.
func Convolve[F Float](c Convolution, picture, weight []F, lost func(channel, row int) bool) []F {
	var output []F
	area, padding := c.Kernel*c.Kernel, c.Kernel/2
	for f := range c.Filters {
		for at := range c.Side * c.Side {
			var sum F
			for i := range c.Channels * area {
				channel, y, x := i/area, at/c.Side+i%area/c.Kernel-padding, at%c.Side+i%c.Kernel-padding
				if min(y, x) < 0 || max(y, x) >= c.Side || lost != nil && lost(channel, at/c.Side) {
					continue
				}
				sum += F(picture[(channel*c.Side+y)*c.Side+x] * weight[f*c.Channels*area+i]) //nolint:unconvert // not fused
			}
			output = append(output, sum)
		}
	}
	return output
}

// Multiply returns the product of two matrices with inner dimension n. Products are rounded as in Convolve.
func Multiply[F Float](left, right []F, n int) []F {
	columns := len(right) / n
	out := make([]F, len(left)/n*columns)
	for i := range out {
		for k := range n {
			out[i] += F(left[i/columns*n+k] * right[k*columns+i%columns]) //nolint:unconvert // not fused
		}
	}
	return out
}

// Stream is the stream on which all operators run.
const Stream = 16

// Operator is a dumped operator.
type Operator struct {
	Type, Name string
	Task       uint64
	Time       uint64 // time of the dump, in microseconds since 1970
	Inputs     []Tensor
	Output     Tensor
}

// FileName names the dump like the device's software.
func (o *Operator) FileName() string {
	return filename.Dump{
		OpType: o.Type, OpName: strings.ReplaceAll(o.Name, "/", "_"),
		TaskID: o.Task, StreamID: Stream, HasStream: true, Timestamp: o.Time,
	}.String()
}

// Write writes the dump to a folder, in binary version 2.
func (o *Operator) Write(dir string) error {
	c := &dumptest.Content{
		Container: dumpfmt.BinaryV2, DumpTime: o.Time, OpName: o.Name,
		Outputs: []dumptest.TensorContent{o.Output.Output(o.Name)},
	}
	for _, in := range o.Inputs {
		c.Inputs = append(c.Inputs, in.Input())
	}
	return WriteFile(filepath.Join(dir, o.FileName()), c)
}

// WriteFile writes a dump file.
func WriteFile(path string, c *dumptest.Content) error {
	return create(path, func(w *bufio.Writer) error { return dumptest.Write(w, c) })
}

// WriteArray writes values in host order as a .npy file of float32.
func WriteArray[F Float](path string, dims []int, values []F) error {
	var shape tensor.Shape
	for _, d := range dims {
		shape = append(shape, int64(d))
	}
	data, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		return err
	}
	return create(path, func(w *bufio.Writer) error {
		for _, v := range values {
			w.Write(data) // the error is kept and returned by Flush
			data = binary.LittleEndian.AppendUint32(data[:0], math.Float32bits(float32(v)))
		}
		_, err := w.Write(data)
		return err
	})
}

// create creates a file with the output of write.
func create(path string, write func(*bufio.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
