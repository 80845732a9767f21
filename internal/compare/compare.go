package compare

import (
	"context"
	"io"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
)

// Run is the comparison of two runs: New plans it, then Execute, then Conclude.
type Run struct {
	*plan.Plan
	opt *conclude.Options
}

// New lists both runs and pairs their tensors. The error is a *plan.NothingError if there is nothing to compare.
func New(ctx context.Context, opt conclude.Options) (*Run, error) {
	p, err := plan.New(ctx, opt.Options.Options)
	if err != nil {
		return nil, err
	}
	opt.Options.Options = *p.Options
	return &Run{p, &opt}, nil
}

// Execute compares the pairs, see execute.Run.
func (r *Run) Execute(ctx context.Context, observe func(batch.Event)) ([]execute.Part, error) {
	return execute.Run(ctx, r.Plan, &r.opt.Options, observe)
}

// Conclude judges the finished rows, see conclude.Report.
func (r *Run) Conclude(parts []execute.Part) *record.Report {
	return conclude.Report(r.Plan, r.opt, parts)
}

// ComputeAgain reads tensors again for doubtful operators of a report: it measures origins without masked positions
// (conclude.LeaveOutMasked), recomputes operators (conclude.ComputeAgain), and finds where the worst tokens go wrong
// (execute.LocateTokens).
func (r *Run) ComputeAgain(ctx context.Context, rep *record.Report, parts []execute.Part) error {
	conclude.LeaveOutMasked(ctx, r.Plan, r.opt, rep, parts)
	execute.LocateTokens(r.Plan, &r.opt.Options, rep, parts)
	return conclude.Recompute(ctx, r.Plan, r.opt, rep)
}

// JudgeRanks judges the ranks of a sharded run, see conclude.JudgeRanks.
func (r *Run) JudgeRanks(ctx context.Context, rep *record.Report) error {
	return conclude.JudgeRanks(ctx, r.Plan, r.opt, rep)
}

// Pictures reads the tensors of rows again to draw pictures, see execute.ReadPictures.
func (r *Run) Pictures(ctx context.Context, rep *record.Report, parts []execute.Part, observe func(batch.Event), draw func(row int, pictures *metrics.Pictures) func() error) (failed []error, err error) {
	return execute.ReadPictures(ctx, r.Plan, &r.opt.Options, rep, parts, observe, draw)
}

// WriteTensor writes one side of a part as a .npy file, see execute.WriteTensor.
func (r *Run) WriteTensor(ctx context.Context, w io.Writer, part *execute.Part, npu bool) error {
	return execute.WriteTensor(ctx, w, r.Plan, &r.opt.Options, part, npu)
}
