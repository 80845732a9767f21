package recompute

import (
	"context"
	bytes "encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// shorts and small are sources of 16-bit and 8-bit elements in memory.
type (
	shorts []uint16
	small  []byte
)

// ReadElements implements layout.Source.
func (s shorts) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 2 {
		bytes.LittleEndian.PutUint16(dst[2*i:], s[first+int64(i)])
	}
	return nil
}

// ReadElements implements layout.Source.
func (s small) ReadElements(dst []byte, first int64) error {
	copy(dst, s[first:])
	return nil
}

// TestByCode: every function of one number of 8 or 16 bits gives the same tally by codes as element by element, and
// is not judged by codes if an element is bad.
func TestByCode(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	halves, bytes := make(shorts, minRepeated<<16), make(small, minRepeated<<8)
	for i := range halves {
		if halves[i] = uint16(r.Uint32()); halves[i]&0x7c00 == 0x7c00 {
			halves[i] ^= 0x400 // makes NaN and infinities finite
		}
	}
	for i := range bytes {
		bytes[i] = byte(r.Uint32())
	}
	tried := 0
	for _, f := range allFormulas() {
		if required := strings.Count(f.inputs+" ", " ") - strings.Count(f.inputs, "?"); f.compute == nil || required != 1 || f.class == Quantised || f.hasSeparateOutputs {
			continue
		}
		for _, x := range []*Tensor{
			{DType: tensor.Float16, Stored: tensor.Float16, Shape: tensor.Shape{4, 1 << 16}, Source: halves},
			{DType: tensor.Int8, Stored: tensor.Int8, Shape: tensor.Shape{4, 1 << 8}, Source: bytes},
		} {
			y := &Tensor{DType: tensor.Float16, Stored: tensor.Float32, Shape: x.Shape, Source: numbers{make([]float64, x.elements()), tensor.Float32}}
			op := &Operator{Formula: f.name, Inputs: []*Tensor{x}, Outputs: []*Tensor{y}, Attributes: Attributes{}}
			all := newJudge(context.Background(), op, f).listHypotheses()
			if len(all) == 0 {
				continue
			}
			if c := f.cut(&problem{Operator: op}, all[0]); !c.why.IsZero() || !c.pointwise {
				continue
			}
			compareByCode(t, f, op, all[0])
			tried++
		}
	}
	if tried < 60 {
		t.Errorf("%d functions were tried", tried)
	}
}

// compareByCode judges a healthy output and an output with a bad element in both ways.
func compareByCode(t *testing.T, f *formula, op *Operator, h Attributes) {
	t.Helper()
	x, y := op.Inputs[0], op.Outputs[0]
	name := f.name + " of " + x.DType.String()
	e, err := computeOutputs(context.Background(), op, f, h)
	if err != nil || e == nil {
		t.Fatalf("%s: %v", name, err)
	}
	v := e.Values[0]
	addNoise(v, e.Bounds[0], x)
	y.Source = numbers{v, tensor.Float32}
	byCode, plain := runByCode(t, f, op, h), runPlainly(t, f, op, h)
	if byCode.checked != x.elements() {
		t.Errorf("%s: not by code, %d bad", name, plain.bad)
		return
	}
	compareTallies(t, name, byCode, plain)
	place := slices.IndexFunc(v, func(x float64) bool { return math.Abs(x) > .01 && math.Abs(x) < 100 })
	if place < 0 {
		place = slices.Index(v, 0)
	}
	if place < 0 { // no element to change
		return
	}
	v[place] += 3000
	if byCode := runByCode(t, f, op, h); byCode.checked != 0 {
		t.Errorf("%s: a bad element has no place", name)
	}
}

// addNoise adds errors as an NPU may make them: they depend on the input alone, most are far below the bound and some
// close to it.
func addNoise(v, bound []float64, x *Tensor) {
	raw := make([]byte, len(v)*x.Stored.UnitSize())
	_ = x.Source.ReadElements(raw, 0)
	for i, b := range bound {
		k := float64(raw[i*x.Stored.UnitSize()])
		if math.Abs(v[i]) < 0x1p-14 { // its bound is for 0 instead
			b = 0
		}
		if y := v[i] + float64(.95*b*math.Sin(k*k)); math.Abs(y) < 65504 {
			v[i] = float64(float32(y))
		}
	}
}

// runByCode returns the tally of an output by codes.
func runByCode(t *testing.T, f *formula, op *Operator, h Attributes) *tally {
	t.Helper()
	p, found := &problem{Operator: op}, newTally(op.Outputs[0].DType, f.class)
	if _, err := newJudge(context.Background(), op, f).compareCodes(p, h, f.cut(p, h), found); err != nil {
		t.Fatal(err)
	}
	return found
}

// runPlainly returns the tally of an output element by element.
func runPlainly(t *testing.T, f *formula, op *Operator, h Attributes) *tally {
	t.Helper()
	slow := *f
	slow.cut = func(p *problem, h Attributes) *cutRule {
		c := f.cut(p, h)
		c.pointwise = false
		return c
	}
	r, err := newJudge(context.Background(), op, &slow).evaluateAttributes(h, false)
	if err != nil || !r.why.IsZero() {
		t.Fatalf("%s: %s %v", f.name, r.why, err)
	}
	return r.tallies[0]
}

func compareTallies(t *testing.T, name string, got, want *tally) {
	t.Helper()
	counts := func(t *tally) [5]int64 { return [...]int64{t.checked, t.bad, t.beyond, t.overflow, int64(t.used)} }
	if counts(got) != counts(want) || got.skipped != want.skipped || got.worst != want.worst || got.largest != want.largest {
		t.Errorf("%s: %v skipped %d worst %g, want %v %d %g", name, counts(got), got.skipped, got.worst, counts(want), want.skipped, want.worst)
	}
	sums := func(t *tally) []float64 {
		return []float64{t.narrowRatios, t.wideRatios, t.wideBounds, t.narrowBounds, t.values, t.squares, t.sizes, t.steps}
	}
	for i, s := range sums(want) {
		if s := math.Abs(sums(got)[i]-s) / max(s, tiny); s > 1e-9 {
			t.Errorf("%s: sum %d is off by %g", name, i, s)
		}
	}
}
