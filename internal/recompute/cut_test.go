package recompute

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// truncatedSource is a source that ends early.
type truncatedSource struct {
	numbers
	at int64
}

var errCut = errors.New("the file ends")

// ReadElements fails beyond the end.
func (c truncatedSource) ReadElements(dst []byte, first int64) error {
	if first+int64(len(dst)/4) > c.at {
		return errCut
	}
	return c.numbers.ReadElements(dst, first)
}

// TestCutFiles: a read error stops the operator, and so does the end of the context.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	x := randomTensor(rand.New(rand.NewPCG(6, 6)), 1, 64, 8192)
	y := computedBy(t, "Exp", "base=-1 scale=1 shift=0", x.Shape, x)
	y.Source = truncatedSource{y.Source.(numbers), 50 * 8192}
	op := &Operator{Formula: "Exp", Inputs: []*Tensor{x}, Outputs: []*Tensor{y}, Attributes: attributesOf("base=-1 scale=1 shift=0")}
	if v, err := Judge(context.Background(), op); !errors.Is(err, errCut) {
		t.Errorf("%+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Judge(ctx, op); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended check: %v", err)
	}
}
