package diagnose

import (
	"fmt"
	"slices"

	"dumptool/internal/tensor"
)

// reread reads the NPU elements of the sample in another way.
func (p *pair) reread(decoder tensor.Decoder, change func(element []byte)) (fit, error) {
	var f fit
	s, err := p.sample()
	if err != nil {
		return f, err
	}
	var value [1]complex128
	element := make([]byte, p.npu.decoder.UnitSize())
	for i, offset := range s.offsets {
		raw, err := p.npu.bytes(offset, 1)
		if err != nil {
			return f, err
		}
		copy(element, raw)
		change(element)
		p.npu.decode(value[:], element, decoder)
		f.add(p, s.n[i], s.r[i], value[0], s.r[i])
		if f.hopeless(len(s.offsets)) {
			break
		}
	}
	return f, nil
}

// byteSwapped holds if the elements are right with their bytes reversed.
func byteSwapped(p *pair) (found, error) {
	size := p.npu.decoder.UnitSize()
	if p.npu.decoder.Host().Complex() {
		size /= 2
	}
	if p.errors < 4 || size < 2 {
		return found{}, nil
	}
	f, err := p.reread(p.npu.decoder, func(element []byte) {
		for part := range slices.Chunk(element, size) {
			slices.Reverse(part)
		}
	})
	if err != nil || !f.holds() {
		return found{}, err
	}
	return foundf(Medium, "with the bytes of each element reversed %d of %d samples pass, >= 99 %%", f.passed, f.tried), nil
}

// siblings are the types that an element of a type may be mistaken for.
func siblings(d tensor.DType) []tensor.DType {
	groups := [][]tensor.DType{
		{tensor.Float16, tensor.BFloat16, tensor.Int16, tensor.Uint16},
		{tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.HiFloat8, tensor.Int8, tensor.Uint8, tensor.Float8E8M0},
		{tensor.Float32, tensor.Int32, tensor.Uint32},
		{tensor.Float64, tensor.Int64, tensor.Uint64},
	}
	for _, group := range groups {
		if slices.Contains(group, d) {
			return group
		}
	}
	return nil
}

// misread holds if the elements are right when they are read as another type of
// the same size.
func misread(p *pair) (found, error) {
	if p.errors < 4 {
		return found{}, nil
	}
	for _, sibling := range siblings(p.request.NPUDType) {
		if sibling == p.request.NPUDType {
			continue
		}
		decoder, err := tensor.NewDecoder(sibling)
		if err != nil {
			return found{}, err
		}
		f, err := p.reread(decoder, func([]byte) {})
		if err != nil {
			return found{}, err
		}
		if f.holds() {
			return foundf(Medium, "read as %s instead of %s %d of %d samples pass, >= 99 %%",
				sibling, p.request.NPUDType, f.passed, f.tried), nil
		}
	}
	return found{}, nil
}

// bitFlips holds if there are few errors and each is right with one bit of it
// turned. Only a match much closer than the limits counts: one of 16 or 32
// turned bits comes within 20 % of anything.
func bitFlips(p *pair) (found, error) {
	offsets := p.result.ErrorOffsets
	if p.errors == 0 || p.errors != int64(len(offsets)) || p.errors > max(2, p.result.Total/100) {
		return found{}, nil
	}
	tolerance := p.noise()
	counts := make([]int, 8*p.npu.decoder.UnitSize())
	var value, want [1]complex128
	for _, offset := range offsets {
		raw, err := p.npu.bytes(offset, 1)
		if err != nil {
			return found{}, err
		}
		if err := p.ref.values(want[:], offset); err != nil {
			return found{}, err
		}
		element := slices.Clone(raw)
		p.npu.decode(value[:], element, p.npu.decoder)
		if !p.farOff(value[0], want[0]) {
			return found{}, nil
		}
		bit := slices.IndexFunc(numbers(p.bits()), func(bit int) bool {
			element[bit/8] ^= 1 << (bit % 8)
			p.npu.decode(value[:], element, p.npu.decoder)
			element[bit/8] ^= 1 << (bit % 8)
			return magnitude(value[0]-want[0]) <= tolerance*magnitude(want[0])
		})
		if bit < 0 {
			return found{}, nil
		}
		counts[bit]++
	}
	confidence := Low
	if len(offsets) > 1 {
		confidence = Medium
	}
	return foundf(confidence, "each of the %d errors of %d elements is right to %.2g with one bit turned:%s",
		len(offsets), p.result.Total, tolerance, bitNames(counts)), nil
}

// farOff reports whether an element is off by far more than the good ones: a
// low bit may turn by rounding.
func (p *pair) farOff(n, r complex128) bool {
	d := magnitude(n - r)
	return !(d < 16*p.noise()*magnitude(r)) && !(d < 8*p.result.AbsQuantiles.P90.Value)
}

// bits is the number of bits of an NPU element that mean something.
func (p *pair) bits() int {
	if d := p.request.NPUDType; d.Packed() {
		return d.Bits()
	}
	return 8 * p.npu.decoder.UnitSize()
}

// noise is the relative error of the good elements of a pair with few bad ones.
func (p *pair) noise() float64 {
	format, ok := precisionOf(p.request.NPUDType)
	if !ok {
		return 0
	}
	return min(max(4*format.epsilon, 4*p.result.RelQuantiles.P90.Value), max(0.02, format.epsilon))
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func bitNames(counts []int) string {
	text, sep := "", " "
	for bit, n := range counts {
		if n > 0 {
			text += fmt.Sprintf("%sbit %d in %d", sep, bit, n)
			sep = ", "
		}
	}
	return text
}
