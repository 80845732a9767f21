package ranks

import (
	"encoding/binary"
	"fmt"
	"math"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// memory are elements in memory.
type memory struct {
	data []byte
	unit int64
}

func (m memory) ReadElements(dst []byte, first int64) error {
	from := first * m.unit
	if from+int64(len(dst)) > int64(len(m.data)) {
		return fmt.Errorf("found %d bytes, want %d", len(m.data), from+int64(len(dst)))
	}
	copy(dst, m.data[from:])
	return nil
}

// floatTensor is a tensor of numbers of a type, kept in float32 as hosts do.
func floatTensor(d tensor.DType, shape tensor.Shape, values []float64) *Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(v)))
	}
	return memoryTensor(d, tensor.Float32, shape, data)
}

// intTensor is a tensor of 32-bit integers.
func intTensor(shape tensor.Shape, values []int32) *Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(v))
	}
	return memoryTensor(tensor.Int32, tensor.Int32, shape, data)
}

func memoryTensor(d, stored tensor.DType, shape tensor.Shape, data []byte) *Tensor {
	v, err := newValues(memory{data, int64(stored.UnitSize())}, stored, shape, func() error { return nil })
	if err != nil {
		panic(err)
	}
	return &Tensor{Name: "t", DType: d, Shape: shape, data: v}
}

// of is a tensor of one axis.
func of(d tensor.DType, values ...float64) *Tensor {
	return floatTensor(d, tensor.Shape{int64(len(values))}, values)
}

// built is a step that tests build call by call.
type built struct{ steps []*Step }

func (b *built) step(n int) *Step {
	for len(b.steps) <= n {
		b.steps = append(b.steps, &Step{At: dumpdir.Coordinates{Step: itoa(len(b.steps))}, Calls: make(map[int][]*Call)})
	}
	return b.steps[n]
}

// call adds a call to a rank.
func (b *built) call(step, rank int, name string, c *Call) *Call {
	s := b.step(step)
	c.Rank, c.Step, c.Name = rank, s, name
	c.Role, c.Layer, _ = parseName(name)
	for _, list := range [][]*Tensor{c.In, c.Params, c.Out} {
		for i, t := range list {
			t.Call, t.Path = c, itoa(i)
		}
	}
	s.Calls[rank] = append(s.Calls[rank], c)
	return c
}

// comm adds a communication to a rank.
func (b *built) comm(step, rank int, name string, group []int, in, out []*Tensor, change func(*Comm)) {
	n := 0
	for _, c := range b.step(step).Calls[rank] {
		if c.Comm != nil && c.Comm.Name == name {
			n++
		}
	}
	m := &Comm{api: apiOf(name), Name: name, Group: group, Root: -1, Op: sum, In: in, Out: out}
	if change != nil {
		change(m)
	}
	b.call(step, rank, "Distributed."+name+"."+itoa(n)+".forward", &Call{In: in, Out: out, Comm: m})
}

func (b *built) run() *Run { return newRun(b.steps, nil) }
