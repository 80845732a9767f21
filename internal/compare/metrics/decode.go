package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// decode sets the values of both sides and their spans.
func (b *block) decode() {
	if b.e.isHalfPair { // hashed in the same pass; ensureCodes computes the codes later
		b.n.values, b.r.values = b.n.values[:b.count], b.r.values[:b.count]
		b.hashed = kernel.HalfPairs(b.n.values, b.r.values, b.n.stored, b.r.stored, &b.n.span, &b.r.span, &b.digests)
		if b.hashed {
			return
		}
	}
	b.n.decode(b)
	if b.equal {
		b.r = b.n
		return
	}
	b.r.decode(b)
}

func (s *side) decode(b *block) {
	s.values = s.values[:b.count]
	if b.e.complex {
		s.parts = s.parts[:2*b.count]
		s.number.decodeParts(s.parts, s.stored, b.host)
		moduli(s.values, s.parts)
		if s.span = kernel.SpanOf(s.values); s.span.Special {
			s.boundModuli()
		}
		return
	}
	s.span = s.number.values(s.values, s.stored, b.host)
	if b.e.wide {
		s.exact = s.exact[:b.count]
		s.number.integers(s.exact, s.stored, s.values)
	}
}

// codedValues returns the values that have codes: the parts of complex elements, else the
// values.
func (s *side) codedValues(b *block) []float64 {
	if b.e.complex {
		return s.parts
	}
	return s.values
}

// ensureCodes sets the codes of both sides if the digests were computed without them.
func (b *block) ensureCodes() {
	if b.hashed && !b.coded {
		b.setCodes()
	}
}

// setCodes sets the codes of both sides, rounded to the NPU's type.
func (b *block) setCodes() {
	b.coded = true
	n, r := b.n.codedValues(b), b.r.codedValues(b)
	b.n.codes, b.r.codes = b.n.codes[:len(n)], b.r.codes[:len(r)]
	npu, ref := b.e.npu, b.e.ref
	switch {
	case npu.integer:
		npu.integerCodes(b.n.codes, npu, n, b.n.rawIntegers(b))
	case b.e.complex || !npu.storedCodes(b.n.codes, b.n.stored):
		npu.codes.round(b.n.codes, n)
	}
	switch {
	case b.equal:
		b.r.codes = b.n.codes
	case npu.integer:
		npu.integerCodes(b.r.codes, ref, r, b.r.rawIntegers(b))
	case !b.e.complex && ref.dtype == tensor.Float32 && npu.dtype == tensor.Float16:
		kernel.Float16Codes(b.r.codes, b.r.stored)
	case b.e.complex || ref.dtype != npu.dtype || !ref.storedCodes(b.r.codes, b.r.stored):
		npu.codes.round(b.r.codes, r)
	}
}

// rawIntegers returns the 64-bit integers of a side, nil if the side has none.
func (s *side) rawIntegers(b *block) []uint64 {
	if b.e.complex || !b.e.wide || !s.number.integer {
		return nil
	}
	return s.exact
}

// takeSamples counts the zeros at the end of the NPU tensor and takes the sampled points.
func (b *block) takeSamples() {
	p := b.part
	zeros := 0
	for zeros < b.count && b.n.values[b.count-1-zeros] == 0 {
		zeros++
	}
	if zeros < b.count {
		p.zeroTail = 0
	}
	p.zeroTail += int64(zeros)
	every := b.e.pointDistance
	if every == 0 {
		return
	}
	for at := (b.first + every - 1) / every * every; at < b.first+int64(b.count); at += every {
		i := at - b.first
		p.points = append(p.points, Point{Offset: at, Ref: b.r.values[i], NPU: b.n.values[i]})
	}
}

// boundModuli limits the moduli of finite elements to the largest float64: the modulus of a
// finite complex128 may overflow.
func (s *side) boundModuli() {
	for i, x := range s.values {
		if re, im := s.parts[2*i], s.parts[2*i+1]; math.IsInf(x, 1) && complexClass(re, im) == Finite {
			s.values[i] = magnitude(re, im)
		}
	}
	s.span = kernel.SpanOf(s.values)
}

// magnitude returns the modulus of a finite element, at most the largest float64.
func magnitude(re, im float64) float64 { return min(modulus(re, im), math.MaxFloat64) }

func moduli(dst, parts []float64) {
	for i := range dst {
		dst[i] = modulus(parts[2*i], parts[2*i+1])
	}
}

// modulus returns the modulus of a complex element.
func modulus(re, im float64) float64 {
	if square := float64(re*re) + float64(im*im); square > 0x1p-900 && square < 0x1p900 {
		return math.Sqrt(square)
	}
	return exact.Hypot(re, im)
}
