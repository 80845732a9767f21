// Package synth makes dump files out of host arrays: the sample data and the
// trees that the program's speed is measured on.
//
// The device layouts are written here once more, as the plain loops of their
// definitions, and package layout is not used: what the program makes of these
// files then does not depend on one idea of the layouts being right twice.
package synth

import (
	"encoding/binary"
	"fmt"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// Sizes of the device's blocks for float16 elements: c0 channels or columns, m0
// rows or filters.
const (
	c0 = 16
	m0 = 16
)

// Tensor is a float16 host array and the layout that the device keeps it in.
type Tensor struct {
	// Format is NC1HWC0 or FractalZ, both for an NCHW array, or FractalNZ for a
	// matrix.
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

// Device returns the bytes of the tensor in the device's layout. Padding is
// zero.
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

// blocks returns how many blocks of that size hold n.
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
