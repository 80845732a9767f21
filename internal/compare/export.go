package compare

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// Selector names tensors of an operator: all of them, or one.
type Selector struct {
	Op string
	// Kind is input or output, empty for all tensors; Index belongs to it.
	Kind  string
	Index int
}

// ParseSelector reads OP, or OP:output:K, or OP:input:K.
func ParseSelector(text string) Selector {
	parts := strings.Split(text, ":")
	if n := len(parts); n >= 3 && (parts[n-2] == "output" || parts[n-2] == "input") {
		if k, err := strconv.Atoi(parts[n-1]); err == nil && k >= 0 {
			return Selector{Op: strings.Join(parts[:n-2], ":"), Kind: parts[n-2], Index: k}
		}
	}
	return Selector{Op: text}
}

// String returns the selector as ParseSelector reads it.
func (s Selector) String() string {
	if s.Kind == "" {
		return s.Op
	}
	return fmt.Sprintf("%s:%s:%d", s.Op, s.Kind, s.Index)
}

// Has reports whether a row is one of the tensors. The operator is not looked
// at: the rows are those of the run for it.
func (s Selector) Has(row *record.Row) bool {
	return s.Kind == "" || s.Kind == row.Kind && s.Index == row.Output
}

// WriteTensor writes one side of a part as a .npy file: in the shape and order in
// which it was compared, so that both sides can be subtracted.
func (p *Plan) WriteTensor(ctx context.Context, w io.Writer, part *Part, npu bool) error {
	if !part.Row.Compared() {
		return fmt.Errorf("%s was not compared", part.Row.Name())
	}
	e := newExecutor(p)
	a, err := e.reopen(part)
	if err != nil {
		return err
	}
	defer a.Close()
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return err
	}
	defer r.Close()
	if npu {
		return writeArray(ctx, w, r.NPU, a.NPU.DType, a.Shape)
	}
	return writeArray(ctx, w, r.Ref, a.Ref.DType, a.Shape)
}

// reopen aligns a pair that was compared, as it was then.
func (e *executor) reopen(part *Part) (*align.Alignment, error) {
	a, err := e.align(&e.plan.Pairs[part.Pair], true)
	if err == nil && part.order > 0 {
		a = a.Use(part.order)
	}
	return a, err
}

// writeArray writes elements as a .npy file.
func writeArray(ctx context.Context, w io.Writer, from metrics.Reader, dtype tensor.DType, shape tensor.Shape) error {
	dec, err := tensor.NewDecoder(dtype)
	if err != nil {
		return err
	}
	head, err := npy.AppendHeader(nil, dec.Host(), shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n, _ := shape.Count()
	stored := make([]byte, metrics.ReadElements*dec.UnitSize())
	host := make([]byte, metrics.ReadElements*dec.Host().Size())
	for first := int64(0); first < n; first += metrics.ReadElements {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(metrics.ReadElements, n-first)
		in, out := stored[:k*int64(dec.UnitSize())], host[:k*int64(dec.Host().Size())]
		if err := from.ReadElements(in, first); err != nil {
			return err
		}
		dec.Decode(out, in)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}
