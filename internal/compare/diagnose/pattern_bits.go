package diagnose

import (
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// decodeAgain decodes the NPU elements of the sample in another way.
func (p *pair) decodeAgain(decoder tensor.Decoder, change func(element []byte)) (f hypothesisFit) {
	s, size := p.sample(), p.npu.decoder.UnitSize()
	if f.maxAfter = s.maxAfter; !s.hasErrors {
		return f
	}
	var value [1]complex128
	element := make([]byte, size)
	for i := range s.offsets {
		copy(element, s.stored[i*size:])
		change(element)
		p.npu.decode(value[:], element, decoder)
		f.add(p, s.n[i], s.r[i], value[0], s.r[i])
		if f.isRefuted(len(s.offsets)) {
			break
		}
	}
	return f
}

// testByteSwapped tests whether the elements match with their bytes reversed.
func testByteSwapped(p *pair) lang.Sentence {
	size := p.npu.decoder.UnitSize()
	if p.npu.decoder.Host().Complex() {
		size /= 2
	}
	if p.errors < 4 || size < 2 {
		return lang.Sentence{}
	}
	f := p.decodeAgain(p.npu.decoder, func(element []byte) {
		for part := range slices.Chunk(element, size) {
			slices.Reverse(part)
		}
	})
	if !f.isExplained() {
		return lang.Sentence{}
	}
	return lang.Say("with the bytes of each element reversed, %s", f.passText())
}

// siblings are groups of types that may be mistaken for each other.
var siblings = [][]tensor.DType{
	{tensor.Float16, tensor.BFloat16, tensor.Int16, tensor.Uint16},
	{tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.HiFloat8, tensor.Int8, tensor.Uint8, tensor.Float8E8M0},
	{tensor.Float32, tensor.Int32, tensor.Uint32},
	{tensor.Float64, tensor.Int64, tensor.Uint64},
}

// testOtherType tests whether the elements match when decoded as another type of the same
// size.
func testOtherType(p *pair) lang.Sentence {
	actual := p.request.NPUDType
	group := slices.IndexFunc(siblings, func(group []tensor.DType) bool { return slices.Contains(group, actual) })
	if p.errors < 4 || group < 0 {
		return lang.Sentence{}
	}
	for _, sibling := range siblings[group] {
		if sibling == actual {
			continue
		}
		decoder, _ := tensor.NewDecoder(sibling) // every sibling has a decoder
		if f := p.decodeAgain(decoder, func([]byte) {}); f.isExplained() {
			return lang.Say("read as %s instead of %s, %s", sibling, actual, f.passText())
		}
	}
	return lang.Sentence{}
}

// testBitFlips tests whether there are few errors, and each matches with one bit flipped. Only matches much closer than
// the limits count: flipping one of 16 or 32 bits comes within 20 % of any number.
func testBitFlips(p *pair) lang.Sentence {
	offsets := p.result.ErrorOffsets
	if p.errors == 0 || p.errors != int64(len(offsets)) || p.errors > max(2, p.result.Total/100) {
		return lang.Sentence{}
	}
	tolerance := p.goodError()
	counts := make([]int, 8*p.npu.decoder.UnitSize())
	n, r := p.pairsAt(offsets)
	var value [1]complex128
	for i, offset := range offsets {
		want := r[i]
		if !p.isFarOff(n[i], want) {
			return lang.Sentence{}
		}
		element := slices.Clone(p.npu.readBytes(offset, 1))
		bit := slices.IndexFunc(firstIntegers(p.elementBits()), func(bit int) bool {
			element[bit/8] ^= 1 << (bit % 8)
			p.npu.decode(value[:], element, p.npu.decoder)
			element[bit/8] ^= 1 << (bit % 8)
			return magnitude(value[0]-want) <= tolerance*magnitude(want)
		})
		if bit < 0 {
			return lang.Sentence{}
		}
		counts[bit]++
	}
	if p.errors == 1 { // a single match may be a coincidence
		p.confidence = finding.Low
	}
	return lang.Say("each of the %d errors among %d elements matches the reference to a relative error of %s with one bit flipped: %s",
		len(offsets), p.result.Total, number(tolerance), bitNames(counts))
}

// isFarOff reports whether an element differs by far more than the good elements, because rounding may also flip a low
// bit.
func (p *pair) isFarOff(n, r complex128) bool {
	d := magnitude(n - r)
	return !(d < 16*p.goodError()*magnitude(r)) && !(d < 8*p.result.AbsQuantiles.P90.Value())
}

// elementBits returns the number of significant bits of an NPU element.
func (p *pair) elementBits() int {
	if d := p.request.NPUDType; d.IsPacked() {
		return d.Bits()
	}
	return 8 * p.npu.decoder.UnitSize()
}

// goodError returns the relative error of the good elements in a pair with few bad ones.
func (p *pair) goodError() float64 {
	format, ok := precisionOf(p.request.NPUDType)
	if !ok {
		return 0
	}
	return min(max(4*format.epsilon, 4*p.result.RelQuantiles.P90.Value()), max(0.02, format.epsilon))
}

// firstIntegers returns 0, 1, ... n-1.
func firstIntegers[T int | int64](n T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = T(i)
	}
	return all
}

func bitNames(counts []int) lang.Sentence {
	var names []lang.Sentence
	for bit, n := range counts {
		if n > 0 {
			names = append(names, lang.Say("bit %d in %d", bit, n))
		}
	}
	return lang.Join(names, lang.Text{EN: ", "})
}
