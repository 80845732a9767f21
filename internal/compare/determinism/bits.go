package determinism

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash"
	"hash/fnv"

	"dumptool/internal/compare/align"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// bitDrift sums up which elements of two tensors differ in their stored bits.
type bitDrift struct {
	count, first int64
	// zeros are pairs of 0 and -0, nans pairs of NaN; they are equal in value.
	zeros, nans int64
	sum         hash.Hash64
}

// places is equal for equal sets of elements, but for chance.
func (b *bitDrift) places() uint64 { return b.sum.Sum64() }

// text says how the bits of tensors differ that are equal in value.
func (b *bitDrift) text() lang.Sentence {
	if b.count == 0 {
		return lang.Sayf("equal elements, other bytes behind them", "元素相同，其后的字节不同")
	}
	var kinds []lang.Sentence
	for _, k := range []struct {
		count int64
		what  lang.Text
	}{{b.zeros, lang.Text{EN: "0 and -0", ZH: "0 与 -0"}}, {b.nans, lang.Text{EN: "NaN of another payload", ZH: "NaN 的载荷不同"}},
		{b.count - b.zeros - b.nans, lang.Text{EN: "another code of the same value", ZH: "同值的不同编码"}}} {
		if k.count > 0 {
			kinds = append(kinds, lang.Sayf("%s (%d)", "%s(%d)", k.what, k.count))
		}
	}
	return lang.Sayf("equal in value, not in bits: %s, first at %d", "值相同，比特不同：%s，首个位于 %d", lang.Join(kinds, lang.Text{EN: ", ", ZH: "，"}), b.first)
}

// bitsOf compares the stored bits of two tensors of one type and shape. In
// tensors that are equal in value it counts kinds of elements.
func bitsOf(ctx context.Context, a, b *align.Tensor, equal bool) (*bitDrift, error) {
	unit := a.DType.UnitSize()
	n, _ := a.Stored.Count()
	var x []byte
	y := make([]byte, layout.BlockElements*unit)
	right := b.Elements()
	d := &bitDrift{sum: fnv.New64a()}
	value := func([]byte) float64 { return 1 }
	if equal {
		value = valueOf(a.DType)
	}
	var first int64
	for block, err := range a.Blocks(ctx, n, &x) {
		if err != nil {
			return nil, err
		}
		if err := right.ReadElements(y[:len(block)], first); err != nil {
			return nil, err
		}
		if !bytes.Equal(block, y[:len(block)]) {
			for i := 0; i < len(block); i += unit {
				if p, q := block[i:i+unit], y[i:i+unit]; !bytes.Equal(p, q) {
					d.add(first+int64(i/unit), value(p), value(q))
				}
			}
		}
		first += int64(len(block) / unit)
	}
	return d, nil
}

// add adds an element that differs, with its two values.
func (b *bitDrift) add(at int64, left, right float64) {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	b.sum.Write(place[:])
	if b.count == 0 {
		b.first = at
	}
	b.count++
	switch {
	case left == 0 && right == 0:
		b.zeros++
	case left != left && right != right:
		b.nans++
	}
}

// valueOf returns what reads the value of an element. Of types whose values have
// one code each, and of those with parts, it is 1.
func valueOf(d tensor.DType) func(stored []byte) float64 {
	dec, err := tensor.NewDecoder(d)
	if err != nil || d.Packed() || dec.Host().Complex() {
		return func([]byte) float64 { return 1 }
	}
	host, value := make([]byte, dec.Host().Size()), make([]float64, 1)
	return func(stored []byte) float64 {
		dec.Decode(host, stored)
		tensor.Float64s(value, host, dec.Host())
		return value[0]
	}
}
