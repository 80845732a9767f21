package compare

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"strings"

	"dumptool/internal/compare/engine"
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

// text tells of tensors that are equal in value how their bits differ.
func (b *bitDrift) text() string {
	if b.count == 0 {
		return "equal elements, other bytes behind them"
	}
	var kinds []string
	for _, k := range []struct {
		count int64
		what  string
	}{{b.zeros, "0 and -0"}, {b.nans, "NaN of another payload"}, {b.count - b.zeros - b.nans, "another code of the same value"}} {
		if k.count > 0 {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", k.what, k.count))
		}
	}
	return fmt.Sprintf("equal in value, not in bits: %s, first at %d", strings.Join(kinds, ", "), b.first)
}

// bitsOf compares the stored bits of two tensors of one type and shape. For
// tensors that are equal in value it tells kinds of elements apart.
func bitsOf(ctx context.Context, a, b *opened, equal bool) (*bitDrift, error) {
	unit := int64(a.t.DType.UnitSize())
	n := count(a.shape)
	x, y := make([]byte, engine.BlockElements*unit), make([]byte, engine.BlockElements*unit)
	left, right := a.t.Elements(), b.t.Elements()
	d := &bitDrift{sum: fnv.New64a()}
	special := func([]byte) specialValue { return ordinaryValue }
	if equal {
		special = specialsOf(a.t.DType)
	}
	for first := int64(0); first < n; first += engine.BlockElements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		size := min(engine.BlockElements, n-first) * unit
		if err := left.ReadElements(x[:size], first); err != nil {
			return nil, err
		}
		if err := right.ReadElements(y[:size], first); err != nil {
			return nil, err
		}
		if bytes.Equal(x[:size], y[:size]) {
			continue
		}
		for i := int64(0); i < size; i += unit {
			if p, q := x[i:i+unit], y[i:i+unit]; !bytes.Equal(p, q) {
				d.add(first+i/unit, special(p), special(q))
			}
		}
	}
	return d, nil
}

// add adds an element that differs.
func (b *bitDrift) add(at int64, left, right specialValue) {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	b.sum.Write(place[:])
	if b.count == 0 {
		b.first = at
	}
	b.count++
	switch {
	case left == zeroValue && right == zeroValue:
		b.zeros++
	case left == nanValue && right == nanValue:
		b.nans++
	}
}

// specialValue is a value with several codes.
type specialValue uint8

const (
	ordinaryValue specialValue = iota
	zeroValue
	nanValue
)

// specialsOf returns what recognises values with several codes: those of real
// floating-point types.
func specialsOf(d tensor.DType) func([]byte) specialValue {
	dec, err := tensor.NewDecoder(d)
	isFloat := err == nil && !d.Packed() && (dec.Host() == tensor.HostFloat16 || dec.Host() == tensor.HostFloat32 || dec.Host() == tensor.HostFloat64)
	if !isFloat {
		return func([]byte) specialValue { return ordinaryValue }
	}
	var host [8]byte
	return func(stored []byte) specialValue {
		value := host[:dec.Host().Size()]
		dec.Decode(value, stored)
		v := float64Of(value)
		switch {
		case v != v:
			return nanValue
		case v == 0:
			return zeroValue
		}
		return ordinaryValue
	}
}

// float64Of is the value of a host element of 2, 4 or 8 bytes.
func float64Of(host []byte) float64 {
	switch len(host) {
	case 2:
		return tensor.Float16To64(binary.LittleEndian.Uint16(host))
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(host)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(host))
}
