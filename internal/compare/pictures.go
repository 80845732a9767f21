package compare

import (
	"context"
	"fmt"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// Pictures reads the rows of a concluded report that have plots once more, for which
// Options.Pictures was set. draw is called with each row and what its plots show, by
// several goroutines at a time; what it returns is called in the order of the rows,
// one at a time. A row that cannot be read again is among the failed ones. The error
// is that of a context that ended before the last row.
func (p *Plan) Pictures(ctx context.Context, rep *record.Report, parts []Part, observe func(batch.Event), draw func(row int, pictures *metrics.Pictures) func() error) (failed []error, err error) {
	defer p.closePools()
	var rows []int
	for i := range parts {
		if rep.Rows[i].IsDrawn() {
			rows = append(rows, i)
		}
	}
	e := newExecutor(p)
	err = batch.Run(ctx, batch.Options{Workers: p.opt.Workers, Observe: observe}, rows,
		func(i int) int64 { return p.Pairs[parts[i].Pair].Ref.Size + p.Pairs[parts[i].Pair].NPU.Size },
		func(ctx context.Context, i int) func() error {
			pictures, err := e.pictures(ctx, &parts[i])
			switch {
			case ended(err):
				return func() error { return nil }
			case err != nil:
				return func() error { return fmt.Errorf("%s: no plots: %w", rep.Rows[i].Name(), err) }
			}
			return draw(i, pictures)
		},
		func(_ int, write func() error) {
			if err := write(); err != nil {
				failed = append(failed, err)
			}
		})
	return failed, err
}

// pictures reads a pair that was compared.
func (e *executor) pictures(ctx context.Context, part *Part) (*metrics.Pictures, error) {
	a, err := e.reopen(part)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if a.Status != "" || !a.Shape.Equal(part.Row.Shape) {
		return nil, fmt.Errorf("the tensors are not those that were compared: shape %s, want %s", a.Shape, part.Row.Shape)
	}
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return e.pool.Pictures(ctx, e.request(a, part.Row.Limits), part.Row.Result.Numbers(), *e.opt.Pictures, r.Ref, r.NPU)
}
