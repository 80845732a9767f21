package batch

import (
	"context"
	"errors"

	"dumptool/internal/guard"
)

// outcome is what became of one job.
type outcome[R any] struct {
	index  int
	result R
	err    error // of a job that did not return
}

// errGoexit is the error of a job that ended its goroutine.
var errGoexit = errors.New("runtime.Goexit called in a job")

// call runs one job and sends its outcome, whatever way the job ends: a job
// without an outcome would hold back all results behind it.
func call[J, R any](ctx context.Context, index int, job J, do func(context.Context, J) R, outcomes chan<- outcome[R]) {
	o := outcome[R]{index: index, err: errGoexit}
	defer func() { outcomes <- o }()
	o.err = guard.Do(func() error {
		o.result = do(ctx, job)
		return nil
	})
}
