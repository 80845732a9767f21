package batch

import "context"

// RunUntil is Run for an emit that may fail: its first error ends the run and is
// the one that is returned.
func RunUntil[J, R any](ctx context.Context, opt Options, jobs []J, cost func(J) int64, do func(context.Context, J) R, emit func(R) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var broken error
	err := Run(ctx, opt, jobs, cost, do, func(_ int, r R) {
		if broken != nil {
			return
		}
		if broken = emit(r); broken != nil {
			stop()
		}
	})
	if broken != nil {
		return broken
	}
	return err
}
