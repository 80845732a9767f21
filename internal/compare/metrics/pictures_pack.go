package metrics

import (
	"encoding/binary"
	"math"

	"dumptool/internal/lang"
)

// ErrorSample is the compact form of sampled errors: the differences of successive offsets as
// varints, |d| and |d|/|r| as little-endian float32, or as float64 if some are beyond the
// range of float32.
type ErrorSample struct{ Offsets, Abs, Rel []byte }

// PackErrors packs errors that are sorted by offset.
func PackErrors(errors []SampledError) ErrorSample {
	var s ErrorSample
	abs, rel := make([]float64, len(errors)), make([]float64, len(errors))
	last := int64(0)
	for i, e := range errors {
		s.Offsets = binary.AppendUvarint(s.Offsets, uint64(e.Offset-last))
		last, abs[i], rel[i] = e.Offset, e.Abs, e.Rel
	}
	s.Abs, s.Rel = packFloats(abs), packFloats(rel)
	return s
}

func packFloats(all []float64) []byte {
	const smallest = 0x1p-126 // the smallest normal float32
	short := true
	for _, x := range all {
		a := math.Abs(x)
		short = short && (a == 0 || a >= smallest && a <= math.MaxFloat32 || math.IsNaN(x) || math.IsInf(x, 0))
	}
	var b []byte
	for _, x := range all {
		if short {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

// Unpack returns the errors of a tensor of total elements.
func (s *ErrorSample) Unpack(total int64) ([]SampledError, error) {
	const most = maxSampledErrors + 2*worstSampled
	var errors []SampledError
	last := int64(0)
	for at := 0; at < len(s.Offsets); {
		distance, n := binary.Uvarint(s.Offsets[at:])
		offset := last + int64(distance)
		switch {
		case n <= 0:
			return nil, lang.Errorf("offset %d is torn", len(errors))
		case len(errors) == most:
			return nil, lang.Errorf("more than %d offsets", most)
		case distance > math.MaxInt64 || offset < last || offset >= total || distance == 0 && len(errors) > 0:
			return nil, lang.Errorf("offset %d is %d more than %d, in a tensor of %d elements", len(errors), distance, last, total)
		}
		errors = append(errors, SampledError{Offset: offset})
		last, at = offset, at+n
	}
	abs, ok := unpackFloats(s.Abs, len(errors))
	rel, okRel := unpackFloats(s.Rel, len(errors))
	if !ok || !okRel {
		return nil, lang.Errorf("%d and %d bytes of errors, want 4 or 8 for each of %d", len(s.Abs), len(s.Rel), len(errors))
	}
	for i := range errors {
		errors[i].Abs, errors[i].Rel = abs(i), rel(i)
		if !(errors[i].Abs >= 0) || errors[i].Rel < 0 {
			return nil, lang.Errorf("error %d is %g and %g, want numbers from 0 on", i, errors[i].Abs, errors[i].Rel)
		}
	}
	return errors, nil
}

// unpackFloats returns a function for the i-th of count numbers.
func unpackFloats(b []byte, count int) (at func(i int) float64, ok bool) {
	switch len(b) {
	case 4 * count:
		return func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))) }, true
	case 8 * count:
		return func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) }, true
	}
	return nil, false
}
