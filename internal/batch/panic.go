package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError carries a panic of a job to the goroutine of Run.
type PanicError struct {
	// Index is the job that panicked.
	Index int
	// Value is what it panicked with.
	Value any
	// Stack is the stack of the job's goroutine.
	Stack []byte
}

// Error prints the panic with the stack of the job, where the bug is.
func (e *PanicError) Error() string {
	return fmt.Sprintf("job %d: %v\n\n%s", e.Index, e.Value, e.Stack)
}

// Unwrap returns the panic value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// outcome is what became of one job.
type outcome[R any] struct {
	index    int
	result   R
	panicked *PanicError
}

// errGoexit stands for the value of a job that ended its goroutine.
var errGoexit = errors.New("runtime.Goexit called in a job")

// call runs one job and sends its outcome, whatever way the job ends: a job
// without an outcome would hold back all results behind it.
func call[J, R any](ctx context.Context, index int, job J, do func(context.Context, J) R, outcomes chan<- outcome[R]) {
	o := outcome[R]{index: index}
	returned := false
	defer func() {
		if !returned {
			value := recover()
			if value == nil {
				value = errGoexit
			}
			o.panicked = &PanicError{Index: index, Value: value, Stack: debug.Stack()}
		}
		outcomes <- o
	}()
	o.result = do(ctx, job)
	returned = true
}
