package recompute

import (
	"cmp"
	bits "encoding/binary"
	"slices"

	"dumptool/internal/tensor"
)

// A function of one 8-bit or 16-bit number has at most 65,536 results. For large outputs the pairs of input code and
// output code are counted, and every pair that occurs is computed and compared once.

const (
	// minRepeated is the least average number of elements for each code with which counting is faster. maxPairs is
	// the largest number of pairs for each code; a function has one.
	minRepeated, maxPairs = 4, 4
	// codesPerRead is the number of elements read at a time.
	codesPerRead = 1 << 16
)

// pairOfCodes is the stored bits of an input element and of its output element.
type pairOfCodes struct{ in, out uint32 }

// compareCodes compares the output by pairs of codes and adds the result to t. done is false, and t unchanged, for
// formulas of several inputs, and if an element is bad: then every element is compared, to find the place.
func (j *judge) compareCodes(p *problem, h Attributes, c *cutRule, t *tally) (done bool, err error) {
	if !c.pointwise || j.expected != nil || j.formula.class == Quantised || len(p.Outputs) != 1 ||
		slices.ContainsFunc(p.Inputs[1:], func(t *Tensor) bool { return t != nil }) {
		return false, nil
	}
	in, codes := codesOf(p.Inputs[0], 2)
	out, _ := codesOf(p.Outputs[0], 4)
	if in == nil || out == nil || p.Outputs[0].elements() < int64(minRepeated*codes) {
		return false, nil
	}
	m := &j.machine
	m.reset()
	x := m.exactArray(tensor.Shape{int64(codes)}, make([]float64, codes))
	in.decode(x.v, allCodes(codes))
	evaluation := &call{machine: m, attrs: h, inputs: make([]*Array, len(p.Inputs)), types: make([]tensor.DType, len(p.Inputs)), shapes: []tensor.Shape{x.shape},
		lo: make([]int64, len(c.free)), free: c.free, dtypes: []tensor.DType{p.Outputs[0].DType}}
	evaluation.inputs[0], evaluation.types[0] = x, p.Inputs[0].DType
	all := j.formula.compute(evaluation)
	if m.err != nil || len(all) != 1 || all[0] == nil || len(all[0].v) != codes {
		m.err = nil
		return false, nil //nolint:nilerr // the attributes do not fit the shapes
	}
	counts, err := j.countCodes(in, out, codes, p.Outputs[0].elements())
	if counts == nil || err != nil {
		return false, err
	}
	counted := *t
	counted.mustShowNaN = !m.selects && j.formula.class != Move
	if !counted.addCodes(x, all[0], out, counts) {
		return false, nil
	}
	*t = counted
	return true, nil
}

// codesOf returns a feed of the tensor's codes and their number, at most 65,536; nil if an element has more bytes or
// is packed.
func codesOf(t *Tensor, bytes int) (f *feed, codes int) {
	unit := t.Stored.UnitSize()
	if unit > bytes || 8*unit != t.Stored.Bits() {
		return nil, 0
	}
	f, err := newFeed(t, view{shape: t.Shape})
	if err != nil {
		return nil, 0
	}
	return f, 1 << (8 * min(unit, 2))
}

// allCodes returns the little-endian bytes of all codes in ascending order.
func allCodes(n int) []byte {
	if n == 1<<8 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i)
		}
		return b
	}
	b := make([]byte, 0, 2*n)
	for i := range n {
		b = bits.LittleEndian.AppendUint16(b, uint16(i))
	}
	return b
}

// readCodes reads the codes of contiguous elements from first on.
func (f *feed) readCodes(dst []uint32, first int64) error {
	unit := f.decoder.UnitSize()
	f.raw = resize(f.raw, len(dst)*unit)
	if err := f.source.ReadElements(f.raw, first); err != nil {
		return err
	}
	switch raw := f.raw; unit {
	case 1:
		for i, b := range raw {
			dst[i] = uint32(b)
		}
	case 2:
		for i := range dst {
			dst[i] = uint32(bits.LittleEndian.Uint16(raw[2*i:]))
		}
	default:
		for i := range dst {
			dst[i] = bits.LittleEndian.Uint32(raw[4*i:])
		}
	}
	return nil
}

// countCodes counts the pairs of codes of n elements, sorted by code; nil if there are too many pairs for a function.
func (j *judge) countCodes(in, out *feed, codes int, n int64) (counts []pairCount, err error) {
	first := make([]pairCount, codes) // the first pair of each code; most codes have no other
	others := map[pairOfCodes]int64{}
	inCodes, outCodes := make([]uint32, codesPerRead), make([]uint32, codesPerRead)
	for at := int64(0); at < n; at += codesPerRead {
		if err := j.ctx.Err(); err != nil {
			return nil, err
		}
		inCodes, outCodes = inCodes[:min(codesPerRead, n-at)], outCodes[:min(codesPerRead, n-at)]
		if err := in.readCodes(inCodes, at); err != nil {
			return nil, &TensorError{tensor.Input, 0, err}
		}
		if err := out.readCodes(outCodes, at); err != nil {
			return nil, &TensorError{tensor.Output, 0, err}
		}
		for i, k := range inCodes {
			switch c := &first[k]; {
			case c.n > 0 && c.out == outCodes[i]:
				c.n++
			case c.n == 0:
				*c = pairCount{pairOfCodes{k, outCodes[i]}, 1}
			default:
				others[pairOfCodes{k, outCodes[i]}]++
			}
		}
		if len(others) > maxPairs*codes {
			return nil, nil
		}
	}
	counts = slices.DeleteFunc(first, func(c pairCount) bool { return c.n == 0 })
	for pair, n := range others {
		counts = append(counts, pairCount{pair, n})
	}
	slices.SortFunc(counts, func(c, d pairCount) int { return c.compare(d.pairOfCodes) })
	return counts, nil
}

// pairCount is the number of occurrences of a pair of codes.
type pairCount struct {
	pairOfCodes
	n int64
}

func (p pairOfCodes) compare(q pairOfCodes) int {
	return cmp.Or(cmp.Compare(p.in, q.in), cmp.Compare(p.out, q.out))
}

// addCodes compares each pair of codes and counts it as often as it occurs; ok is false if a pair is bad. x has the
// values of all input codes, v the computed result for each code.
func (t *tally) addCodes(x, v *Array, out *feed, counts []pairCount) (ok bool) {
	m := x.m
	unit := out.decoder.UnitSize()
	raw := make([]byte, 0, unit*len(counts))
	for _, c := range counts {
		raw = append(raw, bits.LittleEndian.AppendUint32(nil, c.out)[:unit]...)
	}
	y := make([]float64, len(counts))
	out.decode(y, raw)
	a, b := v.errorBounds()
	for i, c := range counts {
		k, one := c.in, *t.newLike()
		one.add(&Array{m: m, v: v.v[k : k+1], narrow: a[k : k+1], wide: b[k : k+1]}, m.exactArray(nil, y[i:i+1]), x.v[k]-x.v[k] != 0, nil, func(int) int64 { return 0 })
		if one.bad > 0 {
			return false
		}
		t.merge(&one, c.n)
	}
	return true
}
