// Package ranktest makes and opens runs of many ranks for tests.
package ranktest

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// Rounders bring a number into a type: to the nearest, or cut.
var Rounders = map[tensor.DType]func(x float64, cut bool) float64{
	tensor.BFloat16: func(x float64, cut bool) float64 { return shorten(x, 8, -126, 0x1.fep127, cut) },
	tensor.Float16:  func(x float64, cut bool) float64 { return shorten(x, 11, -14, 65504, cut) },
	tensor.Float32:  func(x float64, cut bool) float64 { return shorten(x, 24, -126, math.MaxFloat32, cut) },
}

// shorten rounds to so many bits, with subnormals below 2^least; beyond largest it is
// infinite.
func shorten(x float64, bits, least int, largest float64, cut bool) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	_, exp := math.Frexp(x)
	unit := math.Ldexp(1, max(exp-1, least)-bits+1)
	q := x / unit
	if cut {
		q = math.Trunc(q)
	} else {
		q = math.RoundToEven(q)
	}
	if y := q * unit; math.Abs(y) <= largest {
		return y
	}
	return math.Copysign(math.Inf(1), x)
}

// Normals are numbers of a type.
func Normals(d tensor.DType, seed uint64, n int) []float64 {
	random := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = Rounders[d](random.NormFloat64(), false)
	}
	return x
}

// memory are elements in memory.
type memory struct {
	data []byte
	unit int64
}

func (m memory) ReadElements(dst []byte, first int64) error {
	from := first * m.unit
	if from+int64(len(dst)) > int64(len(m.data)) {
		return io.ErrUnexpectedEOF
	}
	copy(dst, m.data[from:])
	return nil
}

// FloatTensor is a tensor of numbers of a type, kept in float32 as hosts do.
func FloatTensor(d tensor.DType, shape tensor.Shape, values []float64) *trace.Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(v)))
	}
	return MemoryTensor(d, tensor.Float32, shape, data)
}

// IntTensor is a tensor of 32-bit integers.
func IntTensor(shape tensor.Shape, values []int32) *trace.Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(v))
	}
	return MemoryTensor(tensor.Int32, tensor.Int32, shape, data)
}

// MemoryTensor is a tensor of a type whose elements are stored in another one.
func MemoryTensor(d, stored tensor.DType, shape tensor.Shape, data []byte) *trace.Tensor {
	v, err := trace.NewValues(memory{data, int64(stored.UnitSize())}, stored, shape, func() error { return nil })
	if err != nil {
		panic(err)
	}
	return &trace.Tensor{Name: "t", DType: d, Shape: shape, Data: v}
}

// Of is a tensor of one axis.
func Of(d tensor.DType, values ...float64) *trace.Tensor {
	return FloatTensor(d, tensor.Shape{int64(len(values))}, values)
}

// NoFile stands for the file of a tensor whose pieces are in memory.
var NoFile = new(dumpdir.Tensor)

// Built are steps that tests build call by call.
type Built struct{ Steps []*trace.Step }

// Step is a step by its number.
func (b *Built) Step(n int) *trace.Step {
	for len(b.Steps) <= n {
		b.Steps = append(b.Steps, &trace.Step{At: dumpdir.Coordinates{Step: strconv.Itoa(len(b.Steps))}, Calls: make(map[int][]*trace.Call)})
	}
	return b.Steps[n]
}

// Call adds a call to a rank.
func (b *Built) Call(step, rank int, name string, c *trace.Call) *trace.Call {
	s := b.Step(step)
	c.Rank, c.Step, c.Name = rank, s, name
	c.Role, c.Layer, _ = trace.ParseName(name)
	for _, list := range [][]*trace.Tensor{c.In, c.Params, c.Out} {
		for i, t := range list {
			t.Call, t.Path = c, strconv.Itoa(i)
		}
	}
	s.Calls[rank] = append(s.Calls[rank], c)
	return c
}

// Comm adds a communication to a rank.
func (b *Built) Comm(step, rank int, name string, group []int, in, out []*trace.Tensor, change func(*trace.Comm)) {
	n := 0
	for _, c := range b.Step(step).Calls[rank] {
		if c.Comm != nil && c.Comm.Name == name {
			n++
		}
	}
	m := trace.CommOf(name)
	m.Group, m.In, m.Out = group, in, out
	if change != nil {
		change(m)
	}
	b.Call(step, rank, "Distributed."+name+"."+strconv.Itoa(n)+".forward", &trace.Call{In: in, Out: out, Comm: m})
}

// Run is the run of the steps.
func (b *Built) Run() *trace.Run { return trace.New(b.Steps) }

// Open opens the run in a folder.
func Open(t *testing.T, dir string) *trace.Run {
	t.Helper()
	run, err := dumpdir.Open(t.Context(), []string{dir}, dumpdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.SortOperators(dumpdir.Sources{}); err != nil {
		t.Fatal(err)
	}
	r, warnings := trace.Open(run.Rounds)
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	return r
}
