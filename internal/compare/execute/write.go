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
	if !part.Row.IsCompared() {
		return lang.Errorf("%s was not compared", part.Row.Name())
	}
	return newExecutor(p, opt).withPair(part, func(a *align.Alignment, r *align.Readers) error {
		if npu {
			return npy.Write(ctx, w, r.NPU, a.NPU.DType, a.Shape)
		}
		return npy.Write(ctx, w, r.Ref, a.Ref.DType, a.Shape)
	})
}
