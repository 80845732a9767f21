package noise

import (
	"encoding/binary"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// Packed is the noise of a pair in one piece of memory. A run keeps that of all its
// pairs until it is concluded, and looks at few at a time. It is for the memory of one
// run; no file has it.
type Packed string

// numbers are the floats of the noise, in the order in which they are packed.
func (n *Noise) numbers() []*float64 {
	return []*float64{
		&n.Type.Max, &n.RefRMS, &n.RefMean, &n.RefStd, &n.RefMax, &n.RMS, &n.Mean, &n.Max, &n.RefAtMax, &n.Rounding, &n.P90,
		&n.Scale, &n.Residual, &n.ScaleBySign, &n.TowardZero, &n.MaxRelative, &n.MaxAbsolute, &n.View, &n.GroupScale, &n.GroupMean, &n.Subnormal,
	}
}

// columns are the numbers of the bins.
func (g *Groups) columns() []*[]float32 {
	return []*[]float32{&g.RefRMS, &g.RefStd, &g.RefMax, &g.RMS, &g.Mean, &g.Max, &g.Rounding, &g.Relative, &g.Inverse}
}

// The flags of packed noise.
const (
	isInteger = 1 << iota
	isConstant
	isSoftmax
)

// Pack packs the noise, nil to an empty text.
func (n *Noise) Pack() Packed {
	if n == nil {
		return ""
	}
	var flags int64
	for i, is := range []bool{n.Type.Integer, n.Constant, n.Softmax} {
		if is {
			flags |= 1 << i
		}
	}
	p := &n.Probe
	b := make([]byte, 0, 256+36*(len(n.Rows.RMS)+len(n.Channels.RMS))+4*len(p.Values)+16*len(p.RowMean))
	b = binary.AppendUvarint(b, uint64(len(n.Type.Name)))
	b = append(b, n.Type.Name...)
	counts := []int64{flags, int64(n.Type.Mantissa), int64(n.Type.MinExp), n.Elements, n.Count, int64(n.Bits), n.NonFinite, n.Overflows, int64(len(n.Shape))}
	counts = append(counts, n.Shape...)
	for _, g := range []*Groups{&n.Rows, &n.Channels} {
		counts = append(counts, g.Count, g.Size, g.Fold, int64(len(g.RMS)))
	}
	counts = append(counts, int64(len(p.RowMean)), int64(len(p.Values)))
	for _, x := range counts {
		b = binary.AppendVarint(b, x)
	}
	for _, x := range n.numbers() {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*x))
	}
	for _, x := range slices.Concat(p.RowMean, p.RowStd) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	for _, g := range []*Groups{&n.Rows, &n.Channels} {
		for _, column := range g.columns() {
			for _, x := range *column {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
		}
	}
	for _, x := range p.Values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return Packed(b)
}

// Unpack returns a new copy of the noise, nil for none.
func (p Packed) Unpack() *Noise {
	if p == "" {
		return nil
	}
	b := []byte(p)
	count := func() int64 {
		x, size := binary.Varint(b)
		b = b[size:]
		return x
	}
	length, size := binary.Uvarint(b)
	n := &Noise{Type: Type{Name: string(b[size:][:length])}}
	b = b[size+int(length):]
	flags := count()
	n.Type.Integer, n.Constant, n.Softmax = flags&isInteger != 0, flags&isConstant != 0, flags&isSoftmax != 0
	n.Type.Mantissa, n.Type.MinExp = int(count()), int(count())
	n.Elements, n.Count, n.Bits, n.NonFinite, n.Overflows = count(), count(), int(count()), count(), count()
	if rank := count(); rank > 0 {
		n.Shape = make(tensor.Shape, rank)
		for i := range n.Shape {
			n.Shape[i] = count()
		}
	}
	bins := [2]int64{}
	for i, g := range []*Groups{&n.Rows, &n.Channels} {
		g.Count, g.Size, g.Fold, bins[i] = count(), count(), count(), count()
	}
	rows, values := count(), count()
	number := func() float64 {
		x := math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
		return x
	}
	for _, x := range n.numbers() {
		*x = number()
	}
	for _, to := range []*[]float64{&n.Probe.RowMean, &n.Probe.RowStd} {
		for range rows {
			*to = append(*to, number())
		}
	}
	all := make([]float32, len(b)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	for i, g := range []*Groups{&n.Rows, &n.Channels} {
		for _, column := range g.columns() {
			*column, all = all[:bins[i]:bins[i]], all[bins[i]:]
		}
	}
	if values > 0 {
		n.Probe.Values = all[:values:values]
	}
	return n
}
