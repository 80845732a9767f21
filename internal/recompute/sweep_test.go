package recompute

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"

	"dumptool/internal/tensor"
)

// helpers are places of which some are free by chance.
type helpers struct{ taken, given atomic.Int64 }

// TryAcquire takes a place two times in three.
func (h *helpers) TryAcquire(int64) bool {
	if h.taken.Add(1)%3 == 0 {
		return false
	}
	h.given.Add(1)
	return true
}

// Release gives a place back.
func (h *helpers) Release(int64) { h.given.Add(-1) }

// TestHelpers: whoever computes the cells of an operator, healthy or not, with attributes that
// are known or looked for, finds the same to the last bit.
func TestHelpers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	shape := tensor.Shape{24, 8, 512}
	x := drawn(r, 1, shape...)
	for _, c := range []struct{ formula, attrs string }{{"Softmax", "axes=2"}, {"Add", ""}, {"Gelu", "approximate=tanh"}, {"RmsNorm", "axes=2 epsilon=1e-5"}, {"ReduceSum", "axes=1"}} {
		in, out := []*Tensor{x}, shape
		switch c.formula {
		case "Add":
			in = append(in, drawn(r, 1, 1, 8, 512))
		case "RmsNorm":
			in = append(in, drawn(r, 1, 512))
		case "ReduceSum":
			out = tensor.Shape{24, 1, 512}
		}
		for _, bad := range []int{0, 3} {
			y := computedBy(t, c.formula, c.attrs, out, in...)
			v := y.Source.(numbers).v
			for range bad {
				v[r.IntN(len(v))] += 10
			}
			for _, attrs := range []string{c.attrs, ""} {
				op := &Operator{Formula: c.formula, Inputs: in, Outputs: []*Tensor{y}, Attributes: attributesOf(attrs)}
				want, err := Judge(context.Background(), op)
				if err != nil || (want.Status == Wrong) != (bad > 0) {
					t.Errorf("%s: %s %s, %d bad: %v", c.formula, want.Status, want.Reason, bad, err)
				}
				h := new(helpers)
				op.Helpers = h
				if got, err := Judge(context.Background(), op); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s with %d bad elements: %+v, want %+v, %v", c.formula, bad, got, want, err)
				}
				if h.taken.Load() == 0 || h.given.Load() != 0 {
					t.Errorf("%s: %d places asked for, %d not given back", c.formula, h.taken.Load(), h.given.Load())
				}
			}
		}
	}
}

// cutOff is a tensor that ends early.
type cutOff struct {
	numbers
	at int64
}

var errCut = errors.New("the file ends")

// ReadElements fails beyond the end.
func (c cutOff) ReadElements(dst []byte, first int64) error {
	if first+int64(len(dst)/4) > c.at {
		return errCut
	}
	return c.numbers.ReadElements(dst, first)
}

// TestHelpersOfCutFiles: an error of reading ends the operator, and nobody computes any more.
func TestHelpersOfCutFiles(t *testing.T) {
	t.Parallel()
	x := drawn(rand.New(rand.NewPCG(6, 6)), 1, 64, 8192)
	y := computedBy(t, "Exp", "base=-1 scale=1 shift=0", x.Shape, x)
	y.Source = cutOff{y.Source.(numbers), 50 * 8192}
	h := new(helpers)
	op := &Operator{Formula: "Exp", Inputs: []*Tensor{x}, Outputs: []*Tensor{y}, Attributes: attributesOf("base=-1 scale=1 shift=0"), Helpers: h}
	if v, err := Judge(context.Background(), op); !errors.Is(err, errCut) || h.given.Load() != 0 {
		t.Errorf("%+v, %v, %d places not given back", v, err, h.given.Load())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Judge(ctx, op); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended check: %v", err)
	}
}
