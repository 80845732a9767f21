package metrics

import (
	"encoding/binary"
	"math"

	"dumptool/internal/lang"
)

// ErrorSample holds sampled errors, and marks where errors are not finite.
type ErrorSample struct {
	// Errors are errors that are finite on both sides, in the order of their offsets: every Every-th error, and the
	// errors with the largest |d| and |d|/|r|. Offsets, Abs and Rel are their compact form: the differences of
	// successive offsets as varints, |d| and |d|/|r| as little-endian float32, or as float64 if some are beyond the
	// range of float32.
	Errors []SampledError `json:"-"`
	Every  int64          `json:"every"`
	// Undefined counts the finite errors of ErrorBins.Abs whose reference is 0.
	Undefined int64  `json:"undefined"`
	Offsets   []byte `json:"offsets"`
	Abs       []byte `json:"abs"`
	Rel       []byte `json:"rel"`
	// NonFinite has a bit, the lowest first, for each run of RunLength elements, set if the run
	// has an error with a non-finite side or a pair of different classes; NonFiniteErrors
	// counts these pairs.
	NonFiniteErrors int64  `json:"non_finite"`
	RunLength       int64  `json:"run_length"`
	NonFinite       []byte `json:"runs"`
}

// addNonFinite adds an error with a non-finite side.
func (s *ErrorSample) addNonFinite(offset int64) {
	s.NonFiniteErrors++
	run := offset / s.RunLength
	s.NonFinite[run/8] |= 1 << (run % 8)
}

// IsMarked reports whether a run of elements has errors that are not finite.
func (s *ErrorSample) IsMarked(run int) bool { return s.NonFinite[run/8]>>(run%8)&1 == 1 }

// pack puts the errors into their compact form.
func (s *ErrorSample) pack() {
	s.Offsets = []byte{}
	abs, rel := make([]float64, len(s.Errors)), make([]float64, len(s.Errors))
	last := int64(0)
	for i, e := range s.Errors {
		s.Offsets = binary.AppendUvarint(s.Offsets, uint64(e.Offset-last))
		last, abs[i], rel[i] = e.Offset, e.Abs, e.Rel
	}
	s.Abs, s.Rel, s.Errors = packFloats(abs), packFloats(rel), nil
}

func packFloats(all []float64) []byte {
	const smallest = 0x1p-126 // the smallest normal float32
	short := true
	for _, x := range all {
		a := math.Abs(x)
		short = short && (a == 0 || a >= smallest && a <= math.MaxFloat32 || math.IsNaN(x) || math.IsInf(x, 0))
	}
	b := []byte{}
	for _, x := range all {
		if short {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

// Unpack returns the sample of a tensor of total elements with its Errors.
func (s ErrorSample) Unpack(total int64) (*ErrorSample, error) {
	const most = maxSampledErrors + 2*worstSampled
	var errors []SampledError
	last := int64(0)
	for at := 0; at < len(s.Offsets); {
		distance, n := binary.Uvarint(s.Offsets[at:])
		offset := last + int64(distance)
		switch {
		case n <= 0:
			return nil, lang.Errorf("offset %d is incomplete", len(errors))
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
		return nil, lang.Errorf("%d and %d bytes of errors, want 4 or 8 bytes for each of %d errors", len(s.Abs), len(s.Rel), len(errors))
	}
	for i := range errors {
		errors[i].Abs, errors[i].Rel = abs(i), rel(i)
		if !(errors[i].Abs >= 0) || errors[i].Rel < 0 {
			return nil, lang.Errorf("error %d is %g and %g, want numbers from 0 on", i, errors[i].Abs, errors[i].Rel)
		}
	}
	s.Errors = errors
	return &s, nil
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
