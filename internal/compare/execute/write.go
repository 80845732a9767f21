package execute

import (
	"context"
	"io"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/plan"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
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
		return npy.Write(ctx, w, r.NPU, a.NPU.DType, a.Shape)
	}
	return npy.Write(ctx, w, r.Ref, a.Ref.DType, a.Shape)
}

// reopen aligns a pair again, in the order of axes that was used.
func (e *executor) reopen(part *Part) (*align.Alignment, error) {
	a, err := e.align(&e.plan.Pairs[part.Pair], true)
	if err == nil && part.order > 0 {
		a = a.Use(part.order)
	}
	return a, err
}
