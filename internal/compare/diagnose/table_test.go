package diagnose

import (
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// example is a pair of tensors that shows a pattern.
type example struct {
	kind     kind
	ref, npu []float64
	limits   metrics.Limits // 0 for the limits of the other tests
}

// examples has pairs for the patterns that no fault in faults shows, by the description of the pattern.
func examples() map[string]example {
	const n = 512
	rng := rand.New(rand.NewPCG(6, 1))
	k := kind{tensor.Float16, tensor.Float32}
	good := normal(rng, n, 1, 0)
	nan := slices.Clone(good)
	nan[7], nan[8] = math.NaN(), math.Inf(1)
	wide, small, flushed := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range wide {
		wide[i] = math.Round(90 * rng.NormFloat64())
		small[i] = 0x1p-14 * (1 + float64(i%29))
		if i%3 > 0 {
			flushed[i] = small[i]
		}
	}
	return map[string]example{
		"no errors, and NaN or the same infinity on both sides":  {kind: k, ref: nan, npu: nan},
		"NaN and infinities of the reference as the only errors": {kind: k, ref: nan, npu: good},
		"integers modulo 2^bits":                                 {kind: kind{tensor.Int8, tensor.Int32}, ref: wide, npu: wide},
		"zeros and subnormal numbers for small numbers":          {kind: k, ref: small, npu: flushed, limits: metrics.Limits{Atol: 1e-5, Rtol: 1e-3}},
	}
}

// shows returns a pair that shows the pattern.
func (p *pattern) shows(t *testing.T) *pair {
	t.Helper()
	if e, ok := examples()[p.description]; ok {
		return pairOf(t, tensor.Shape{int64(len(e.ref))}, e.kind, e.limits, memory{store(e.kind.ref, e.ref), e.kind.ref.UnitSize()},
			memory{store(e.kind.npu, e.npu), e.kind.npu.UnitSize()})
	}
	for _, f := range faults() {
		for _, shape := range []tensor.Shape{{40, 60}, {2, 6, 14, 15}} {
			s := &goodPair{rng: rand.New(rand.NewPCG(1, 1)), shape: shape, kind: kind{tensor.Float16, tensor.Float32}}
			s.ref = normal(s.rng, count(shape), 3, 0.5)
			s.npu = noisy(s.rng, s.ref)
			if f.code == p.code && (f.needs == nil || f.needs(s)) {
				npu := f.inject(s)
				return pairOf(t, shape, s.kind, metrics.Limits{}, memory{store(s.kind.ref, s.ref), 4}, npu)
			}
		}
	}
	return nil
}

func pairOf(t *testing.T, shape tensor.Shape, k kind, limits metrics.Limits, ref, npu memory) *pair {
	t.Helper()
	req := request(shape, k)
	if limits != (metrics.Limits{}) {
		req.Limits = limits
	}
	result, err := metrics.Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPair(t.Context(), &Tensors{Result: result, Request: req, Ref: ref, NPU: npu})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// only is a reader that has some elements and fails for all others.
type only struct {
	memory
	offsets []int64
}

func (o only) ReadElements(dst []byte, first int64) error {
	for i := range int64(len(dst) / o.unit) {
		if !slices.Contains(o.offsets, first+i) {
			return errors.New("not to be read")
		}
	}
	return o.memory.ReadElements(dst, first)
}

// restrict limits a pair to the elements that the pattern declares to read.
func (p *pair) restrict(r reads) {
	offsets := p.knownErrors()
	if r == readsNothing {
		offsets = nil
	}
	for _, s := range []*side{p.npu, p.ref} {
		if m, ok := s.reader.(memory); ok && r != readsSample {
			s.reader, s.count = only{m, offsets}, wholeLimit+1 // like a tensor that is not read at once
		}
	}
}

// TestPatterns walks the table of patterns: each pattern is found in an example, reads no more than it declares, and
// is not found in rounding errors.
func TestPatterns(t *testing.T) {
	form, chinese := regexp.MustCompile(`^[a-zN0-9][^!]*[^ .;,]$`), regexp.MustCompile(`\p{Han}`)
	for _, p := range listPatterns() {
		t.Run(string(p.code)+", "+p.description, func(t *testing.T) {
			if p.description == "" {
				t.Error("the pattern does not say what it looks for")
			}
			if p.needs == readsRows {
				if p.test != nil {
					t.Error("a pattern of several rows has no test of a pair")
				}
				return // TestDuplicate, TestSwapped
			}
			bad := p.shows(t)
			if bad == nil {
				t.Fatal("no example")
			}
			bad.restrict(p.needs)
			text := p.test(bad).Text()
			if err := bad.err(); err != nil || text.String() == "" {
				t.Fatalf("evidence %q, error %v", text, err)
			}
			if !form.MatchString(text.String()) || len(text.String()) > 400 || p.confidence == "" {
				t.Errorf("evidence %q of confidence %q", text, p.confidence)
			}
			if english := regexp.MustCompile(` (of|the|is|are|and|elements) `); !chinese.MatchString(text.Chinese()) || english.MatchString(text.Chinese()) {
				t.Errorf("evidence in Chinese is %q", text.Chinese())
			}
			rng := rand.New(rand.NewPCG(7, 7))
			ref := normal(rng, 2400, 3, 0.5)
			npu := noisy(rng, ref)
			for i := 5; i < len(npu); i += 1 + rng.IntN(300) {
				npu[i] += 3 * rng.NormFloat64()
			}
			k := kind{tensor.Float16, tensor.Float32}
			noise := pairOf(t, tensor.Shape{40, 60}, k, metrics.Limits{}, memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2})
			if noise.errors == 0 {
				t.Fatal("no errors")
			}
			if text := p.test(noise); !text.IsZero() || noise.err() != nil {
				t.Errorf("found in noise: %q, error %v", text, noise.err())
			}
		})
	}
}
