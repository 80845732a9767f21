package execute

import (
	"context"
	"io"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// WriteTensor writes one side of a part as a .npy file, in the shape and order of axes of the
// comparison, so that the files of both sides can be subtracted.
func WriteTensor(ctx context.Context, w io.Writer, p *plan.Plan, opt *Options, part *Part, npu bool) error {
	if !part.Row.Compared() {
		return lang.Errorf("%s was not compared", part.Row.Name())
	}
	e := newExecutor(p, opt)
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

// reopen aligns a pair again, in the order of axes that was used.
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
