package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/engine"
)

// ErrNothing is the error of a run that had nothing to compare.
var ErrNothing = errors.New("nothing to compare")

// Run compares two runs. When ctx ends first, the report holds the rows that
// were finished, with Interrupted set, and comes with ctx's error.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Workers <= 0 {
		opt.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	return newRun(&opt).run(ctx)
}

func newRun(opt *Options) *run {
	return &run{
		opt: opt, settler: settler{opt: opt.Shape, version: opt.Version}, opener: opener{version: opt.Version},
		pool: engine.NewPool(), kld: map[int]engine.Metric{}, early: map[int]outcome{}, large: largePair,
	}
}

// run does the comparison, once.
func (r *run) run(ctx context.Context) (*Report, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	err := r.compare(ctx)
	if err != nil && !ended(err) {
		return nil, err
	}
	rep := r.report()
	if rep.Interrupted {
		return rep, err
	}
	err = r.diagnose(ctx, rep)
	rep.Interrupted = ended(err)
	return rep, err
}

// ended reports whether an error is that of a context that is done.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// run is one comparison.
type run struct {
	opt     *Options
	settler settler
	opener  opener
	pool    *engine.Pool
	m       *matcher
	source  string // of the order
	shared  string // the folders that all files of the NPU share
	// selection is what the run was asked for.
	selection *selection
	settled   []*settled
	engines   []*engine.Engine
	done      []bool // rows that are finished
	// early are the outcomes of large pairs that were settled first and need no
	// comparison by segments. They are told when it is their turn.
	early map[int]outcome
	// large is largePair; tests have smaller pairs.
	large int64
	kld   map[int]engine.Metric
	// stopped is set when FailFast ended the run.
	stopped bool
	stop    context.CancelFunc
	merger  *engine.Merger // of the pair whose segments arrive
	next    job            // the segment that the merger waits for
}

// prepare finds the tensors, pairs them and orders the pairs.
func (r *run) prepare(ctx context.Context) error {
	ref, err := findSide(ctx, r.opt.Ref, r.opt.Skip, r.opt.Version, r.opt.Workers)
	if err != nil {
		return err
	}
	npu, err := findSide(ctx, r.opt.NPU, r.opt.Skip, r.opt.Version, r.opt.Workers)
	if err != nil {
		return err
	}
	r.m = &matcher{opt: r.opt, ref: ref, npu: npu, warnings: slices.Concat(ref.warnings, npu.warnings)}
	for _, s := range []*side{ref, npu} {
		if len(s.items) == 0 {
			return fmt.Errorf("%w: neither dumps nor arrays in %s", ErrNothing, s.path)
		}
	}
	if err := r.m.pair(); err != nil {
		return err
	}
	r.shared = sharedFolder(r.m.npu.items)
	r.selection = r.selected()
	if r.opt.Config != nil {
		r.m.coverage.Unused = r.opt.Config.Unused(r.m.refs, r.m.npus)
	}
	r.source, err = r.m.order()
	r.m.refs, r.m.npus = nil, nil // a hundred thousand names
	n := len(r.m.matches)
	r.settled, r.engines, r.done = make([]*settled, n), make([]*engine.Engine, n), make([]bool, n)
	return err
}

// job is a pair, or a segment of a large one.
type job struct {
	pair    int
	segment int64 // -1 for the whole pair
	last    bool
}

// outcome is the result of a job.
type outcome struct {
	settled *settled
	request engine.Request
	limits  Limits
	result  *engine.Result
	part    *engine.Part
	kld     *engine.Metric
	err     error
}

// largePair is the size of the larger file of a pair from which its segments
// are jobs of their own.
const largePair = 32 << 20

// compare compares all pairs.
func (r *run) compare(ctx context.Context) error {
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	jobs, err := r.jobs(ctx)
	if err != nil {
		return err
	}
	cost := func(j job) int64 { return r.size(j.pair) }
	return batch.Run(ctx, batch.Options{Workers: r.opt.Workers, Observe: r.opt.Observe}, jobs, cost, r.do,
		func(i int, o outcome) { r.emit(ctx, jobs[i], o) })
}

// size is the number of bytes that a job reads, about.
func (r *run) size(pair int) int64 {
	x := &r.m.matches[pair]
	if x.row.Status != "" {
		return 0
	}
	size := x.ref.size + x.npu.size
	if e := r.engines[pair]; e != nil {
		size /= e.Segments()
	}
	return size
}

// jobs settles the large pairs and returns what there is to do, in order. Rows
// without a pair are finished.
func (r *run) jobs(ctx context.Context) ([]job, error) {
	var large []int
	for i := range r.m.matches {
		x := &r.m.matches[i]
		switch {
		case x.row.Status != "":
			r.done[i] = true
		case max(x.ref.size, x.npu.size) >= r.large:
			large = append(large, i)
		}
	}
	err := batch.Run(ctx, batch.Options{Workers: r.opt.Workers}, large, nil,
		func(_ context.Context, i int) outcome { return r.settle(i) },
		func(k int, o outcome) {
			i := large[k]
			if o.err != nil || o.settled.status != "" {
				r.early[i] = o
				return
			}
			e, err := r.pool.New(o.request)
			if err != nil {
				r.early[i] = outcome{err: err}
				return
			}
			if e.Segments() > 1 {
				r.settled[i], r.engines[i] = o.settled, e
				r.describe(i, o)
			}
		})
	if err != nil {
		return nil, err
	}
	var jobs []job
	for i := range r.m.matches {
		switch e := r.engines[i]; {
		case r.done[i] && !r.failsFast(i):
		case e == nil:
			jobs = append(jobs, job{i, -1, true})
		default:
			for s := range e.Segments() {
				jobs = append(jobs, job{i, s, s == e.Segments()-1})
			}
		}
	}
	return jobs, nil
}

// settle makes a pair ready.
func (r *run) settle(i int) outcome {
	x := &r.m.matches[i]
	for _, it := range []*item{x.ref, x.npu} {
		if it.err != nil {
			return outcome{err: errors.New(withPath(it.path, it.err))}
		}
	}
	s, err := r.settler.settle(x.row.Op, &x.ref.place, &x.npu.place, x.format)
	if err != nil {
		return outcome{err: err}
	}
	atol, rtol := r.config(&x.row)
	o := outcome{settled: s, limits: r.opt.Judge.Limits.limits(s.ref.dtype, s.npu.dtype, atol, rtol)}
	o.request = r.request(s, o.limits)
	return o
}

// request is what the engine needs to know about a pair.
func (r *run) request(s *settled, l Limits) engine.Request {
	req := s.request(l, r.opt.Judge.Mode)
	req.Top, req.List, req.Points = r.opt.Top, r.opt.List, r.opt.Points
	return req
}

// config returns the limits of the operator of a row in op_config.csv.
func (r *run) config(row *Row) (atol, rtol *float64) {
	if r.opt.Config == nil {
		return nil, nil
	}
	l, _ := r.opt.Config.Find(row.Op, row.NPUOp)
	return l.Atol, l.Rtol
}

// do does a job.
func (r *run) do(ctx context.Context, j job) outcome {
	if j.segment >= 0 {
		return r.segment(ctx, j)
	}
	if r.m.matches[j.pair].row.Status != "" {
		return outcome{}
	}
	if o, ok := r.early[j.pair]; ok {
		return o
	}
	o := r.settle(j.pair)
	if o.err != nil || o.settled.status != "" {
		return o
	}
	side, err := r.opener.open(o.settled)
	if err != nil {
		o.err = err
		return o
	}
	defer side.Close()
	e, err := r.pool.New(o.request)
	if err != nil {
		o.err = err
		return o
	}
	if o.result, o.err = e.Compare(ctx, side.ref, side.npu); o.err != nil {
		return o
	}
	r.second(ctx, &o, side)
	return o
}

// second does what takes a second pass over a pair.
func (r *run) second(ctx context.Context, o *outcome, side *readers) {
	if o.settled.cropped && o.err == nil {
		o.err = checkPadding(ctx, o.settled, o.result, r.opt.Version)
	}
	if r.opt.KLD && o.err == nil {
		var m engine.Metric
		m, o.err = kld(ctx, o.request, o.result, side.ref, side.npu)
		o.kld = &m
	}
}

// segment does one segment of a large pair.
func (r *run) segment(ctx context.Context, j job) outcome {
	s := r.settled[j.pair]
	side, err := r.opener.open(s)
	if err != nil {
		return outcome{err: err}
	}
	defer side.Close()
	first := j.segment * engine.SegmentElements
	side.expect(first, first+engine.SegmentElements)
	part, err := r.engines[j.pair].Run(ctx, j.segment, side.ref, side.npu)
	return outcome{part: part, err: err}
}

// emit takes the outcomes of jobs in their order.
func (r *run) emit(ctx context.Context, j job, o outcome) {
	switch {
	case r.stopped:
		return
	case r.done[j.pair]:
		// It has no partner, or an earlier segment failed.
		r.failFast(j.pair)
		return
	case ended(o.err):
		return
	}
	if j.segment >= 0 && o.err == nil {
		if j.segment == 0 {
			r.merger, r.next = r.engines[j.pair].NewMerger(), job{pair: j.pair}
		}
		if r.merger == nil || r.next.pair != j.pair || r.next.segment != j.segment {
			return // the run ended before a segment in between
		}
		r.next.segment++
		if o.err = r.merger.Add(o.part); o.err == nil && !j.last {
			return
		}
	}
	if j.segment >= 0 {
		o.settled, o.limits = r.settled[j.pair], r.m.matches[j.pair].row.Limits
		o.request = r.request(o.settled, o.limits)
		if o.err == nil {
			o.result = r.merger.Finish()
			r.secondOfLarge(ctx, &o)
		}
		r.merger = nil
		if ended(o.err) {
			return
		}
	}
	r.finish(j.pair, o)
	r.failFast(j.pair)
}

// failsFast reports whether a row ends a run that stops at the first failure.
func (r *run) failsFast(i int) bool {
	return r.opt.FailFast && slices.Contains(r.opt.FailOn, r.m.matches[i].row.Status)
}

// failFast ends the run if it shall stop at this row.
func (r *run) failFast(i int) {
	if r.failsFast(i) {
		r.stopped = true
		r.stop()
	}
}

// secondOfLarge does the second pass over a large pair.
func (r *run) secondOfLarge(ctx context.Context, o *outcome) {
	if !o.settled.cropped && !r.opt.KLD {
		return
	}
	side, err := r.opener.open(o.settled)
	if err != nil {
		o.err = err
		return
	}
	defer side.Close()
	r.second(ctx, o, side)
}

// describe notes what is known of a pair before it is compared.
func (r *run) describe(i int, o outcome) {
	row := &r.m.matches[i].row
	s := o.settled
	row.Shape, row.RefShape, row.NPUShape = s.shape, s.ref.shape, s.npu.shape
	row.RefDType, row.NPUDType = s.ref.dtype, s.npu.dtype
	row.Notes = append(row.Notes, s.notes...)
	row.Partial, row.Forced = s.partial, s.forced
	row.Limits = o.limits
}

// finish makes the row of a pair from its outcome.
func (r *run) finish(i int, o outcome) {
	row := &r.m.matches[i].row
	r.done[i] = true
	if o.settled != nil && r.engines[i] == nil {
		r.describe(i, o)
	}
	var padding *paddingError
	switch {
	case errors.As(o.err, &padding):
		row.Status = ShapeMismatch
		row.Reasons = append(row.Reasons, Reason{SizeMismatch, High, o.err.Error()})
		return
	case o.err != nil:
		row.Status, row.Err = Error, o.err
		row.Reasons = append(row.Reasons, Reason{errorCode(o.err), High, o.err.Error()})
		return
	case o.settled.status != "":
		row.Status = o.settled.status
		row.Reasons = append(row.Reasons, o.settled.reasons...)
		row.Shape = nil
		r.settled[i] = o.settled
		return
	}
	row.Result = o.result
	if row.Result.Total == 0 {
		row.Notes = append(row.Notes, "empty")
	}
	if o.kld != nil {
		r.kld[i] = *o.kld
	}
	r.settled[i], r.engines[i] = o.settled, nil
	r.opt.Judge.Verdict.judge(row)
	r.temper(row, o.settled)
	if !r.opt.Keep {
		trim(row)
		if row.Status != Fail {
			r.settled[i] = nil // nobody looks into it again
		}
	}
}

// temper lowers a verdict on tensors that were not compared as they are.
func (r *run) temper(row *Row, s *settled) {
	if row.Status == Pass && s.forced {
		row.Status = Warn
		row.Reasons = append(row.Reasons, Reason{ShapeCode, High,
			fmt.Sprintf("compared flat: reference is %v, NPU is %v", s.ref.shape, s.npu.shape)})
	}
	if row.Status != Fail && s.partial {
		row.Status = Partial
	}
}
