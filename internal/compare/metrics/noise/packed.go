package noise

import (
	"encoding/binary"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// Packed is the noise of a pair in few bytes. A run keeps that of all its pairs until
// it is concluded, and looks at few at a time. It is for the memory of one run; no file
// has it.
type Packed string

// numbers are the floats of the noise, in the order in which they are packed.
func (n *Noise) numbers() []*float64 {
	return []*float64{
		&n.Type.Max, &n.RefRMS, &n.RefMean, &n.RefStd, &n.RefMax, &n.RMS, &n.Mean, &n.Max, &n.RefAtMax, &n.Rounding, &n.P90,
		&n.Scale, &n.Residual, &n.ScaleBySign, &n.TowardZero, &n.MaxRelative, &n.MaxAbsolute, &n.View, &n.GroupScale, &n.GroupMean, &n.Subnormal,
	}
}

// columns are the numbers of the bins. The last two are those of ratios.
func (g *Groups) columns() []*[]float32 {
	return []*[]float32{&g.RefRMS, &g.RefStd, &g.RefMax, &g.RMS, &g.Mean, &g.Max, &g.Rounding, &g.Relative, &g.Inverse}
}

// ratios are the columns that are a quotient of two others, or nearly, where a bin is
// one group: Relative and Inverse. The values are indexes into columns.
var ratios = map[int]struct{ over, under int }{7: {3, 1}, 8: {0, 1}}

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
	w := bitWriter{out: b}
	for _, x := range n.numbers() {
		w.number(*x)
	}
	for _, all := range [][]float64{p.RowMean, p.RowStd} {
		for _, x := range all {
			w.number(x)
		}
	}
	rows, channels := n.Rows.columns(), n.Channels.columns()
	columns := make([][]float32, len(rows)) // of rows and channels, one behind the other
	for i := range columns {
		columns[i] = slices.Concat(*rows[i], *channels[i])
		if r, ok := ratios[i]; ok {
			w.ratio(columns[i], columns[r.over], columns[r.under])
		} else {
			w.column(columns[i])
		}
	}
	w.column(p.Values)
	return Packed(w.bytes())
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
	r := bitReader{in: b}
	for _, x := range n.numbers() {
		*x = r.number()
	}
	for _, to := range []*[]float64{&n.Probe.RowMean, &n.Probe.RowStd} {
		for range rows {
			*to = append(*to, r.number())
		}
	}
	ofRows, ofChannels := n.Rows.columns(), n.Channels.columns()
	columns, each := make([][]float32, len(ofRows)), bins[0]+bins[1]
	all := make([]float32, int64(len(columns))*each+values)
	for i := range columns {
		columns[i], all = all[:each:each], all[each:]
		if q, ok := ratios[i]; ok {
			r.ratio(columns[i], columns[q.over], columns[q.under])
		} else {
			r.column(columns[i])
		}
		*ofRows[i], *ofChannels[i] = columns[i][:bins[0]:bins[0]], columns[i][bins[0]:]
	}
	if r.column(all); values > 0 {
		n.Probe.Values = all
	}
	return n
}

// largestRatio is what ratios of groups are at most.
const largestRatio = 1e9

// quotient is what the ratio of two numbers is most likely.
func quotient(over, under float32) float32 {
	if over == 0 {
		return 0
	}
	q := over / under
	if !(q < math.MaxFloat32) { // NaN and infinities are of one kind, whatever made them
		return largestRatio
	}
	return min(q, largestRatio)
}
