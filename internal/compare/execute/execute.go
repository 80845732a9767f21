package execute

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/store"
)

// Part is a row of a plan after its tensors were compared.
type Part struct {
	// Pair is the index of the pair in the plan, Row its row.
	Pair int
	Row  *record.Row
	// order is the index of the axis order that was used.
	order int
}

// Run compares the pairs of the plan. Each pair is a job that opens its files once. It returns
// the finished rows in the plan's order, with an error if ctx ended before the last one. With
// FailFast it ends at the first failure. Unless nil, observe is called, never concurrently,
// after every pair and after segments of large pairs.
func Run(ctx context.Context, p *plan.Plan, opt *Options, observe func(batch.Event)) ([]Part, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer p.ClosePools()
	e := newExecutor(p, opt)
	e.progress.observe = observe
	var jobs []int
	parts, done := make([]Part, len(p.Pairs)), make([]bool, len(p.Pairs))
	for i := range p.Pairs {
		if p.Pairs[i].Row.Pair.Status != "" {
			parts[i], done[i] = Part{Pair: i, Row: p.Pairs[i].Row}, true
		}
		if !done[i] || opt.FailsFast(parts[i].Row) {
			jobs = append(jobs, i)
		}
	}
	groupByReference(p, jobs)
	defer e.findShared(jobs)()
	stopped := false
	err := batch.Run(ctx, batch.Options{Workers: e.open, Observe: e.progress.pairDone}, jobs, func(i int) int64 { return sizeOf(&p.Pairs[i]) },
		func(ctx context.Context, i int) *Part { return e.comparePair(ctx, i) },
		func(_ int, part *Part) {
			if part == nil || stopped {
				return
			}
			parts[part.Pair], done[part.Pair] = *part, true
			if opt.FailsFast(part.Row) {
				stopped = true
				stop()
			}
		})
	finished := parts[:0]
	for i := range parts {
		if done[i] {
			finished = append(finished, parts[i])
		}
	}
	if stopped {
		first := slices.IndexFunc(finished, func(x Part) bool { return opt.FailsFast(x.Row) })
		return finished[:first+1], nil
	}
	return finished, err
}

// groupByReference moves pairs with the same reference to the position of the first such pair, so that later pairs
// read the reference from the cache.
func groupByReference(p *plan.Plan, pairs []int) {
	type reference struct{ path, member string }
	at := make(map[reference]int, len(pairs))
	place := make(map[int]int, len(pairs))
	for i, k := range pairs {
		place[k] = i
		x := &p.Pairs[k]
		if x.Ref == nil {
			continue
		}
		of := reference{x.Ref.Path, x.Ref.Member}
		if first, ok := at[of]; ok {
			place[k] = first
		} else {
			at[of] = i
		}
	}
	slices.SortStableFunc(pairs, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
}

// sharedRef is a reference of several pairs in object storage: its fetched data are kept
// from the first pair to the last.
type sharedRef struct {
	fetchOnce sync.Once
	remaining atomic.Int64 // pairs
	release   func()
}

// findShared finds the references of several pairs in object storage. giveUp releases references
// whose pairs were not all compared.
func (e *executor) findShared(pairs []int) (giveUp func()) {
	e.shared = map[string]*sharedRef{}
	for _, i := range pairs {
		if ref := e.plan.Pairs[i].Ref; ref != nil && store.IsRemote(ref.Path) {
			if e.shared[ref.Path] == nil {
				e.shared[ref.Path] = &sharedRef{release: func() {}}
			}
			e.shared[ref.Path].remaining.Add(1)
		}
	}
	maps.DeleteFunc(e.shared, func(_ string, s *sharedRef) bool { return s.remaining.Load() == 1 })
	return func() {
		for _, s := range e.shared {
			s.release()
		}
	}
}

// keepFetched keeps the fetched data of a reference until done is called.
func (e *executor) keepFetched(ref *plan.Tensor) (done func()) {
	if ref == nil || e.shared[ref.Path] == nil {
		return func() {}
	}
	s := e.shared[ref.Path]
	s.fetchOnce.Do(func() { s.release = store.Keep(ref.Path) })
	return func() {
		if s.remaining.Add(-1) == 0 {
			s.release()
		}
	}
}

// sizeOf returns the approximate number of bytes that a job reads.
func sizeOf(x *plan.Pair) int64 {
	if x.Row.Pair.Status != "" {
		return 0
	}
	size := x.Ref.Size + x.NPU.Size
	for _, t := range x.Reads {
		if t.Path != x.Ref.Path && t.Path != x.NPU.Path {
			size += t.Size
		}
	}
	return size
}

// executor compares pairs.
type executor struct {
	plan    *plan.Plan
	opt     *Options
	aligner align.Aligner
	buffers align.Buffers
	pool    *metrics.Pool
	// slots limits the goroutines that compute a pair or a segment, pairs limits the pairs
	// that are computed. Opening a pair needs neither.
	slots, pairs chan struct{}
	open         int // number of pairs open at a time
	shared       map[string]*sharedRef
	progress     progress
}

func newExecutor(p *plan.Plan, opt *Options) *executor {
	// With object storage many workers only wait for data: more computing goroutines than
	// processors would not be faster and would need more memory. If more pairs were computed
	// in turns, segment by segment, fetched data would be evicted before they are read.
	slots, open := opt.Workers, opt.Workers
	if store.IsRemote(opt.Ref) || store.IsRemote(opt.NPU) {
		slots = min(slots, runtime.GOMAXPROCS(0))
		open = max(store.PrefetchJobs(open, opt.Ref), store.PrefetchJobs(open, opt.NPU))
	}
	if opt.Pool == nil {
		opt.Pool = metrics.NewPool()
	}
	opt.Shape.Rows = opt.Judge.Verdict.Mode == limits.ByEvidence && opt.Standard.Name == ""
	return &executor{
		plan: p, opt: opt, aligner: align.Aligner{Options: opt.Shape, Version: opt.Version},
		pool: opt.Pool, open: open, slots: make(chan struct{}, slots), pairs: make(chan struct{}, slots),
	}
}

// progress counts the bytes of finished pairs, and of finished segments of the other pairs, so
// that the progress bar also moves during one large pair.
type progress struct {
	observe func(batch.Event) // may be nil

	mu       sync.Mutex
	pairs    batch.Event
	segments int64 // bytes of segments of unfinished pairs
	shown    int64
}

// pairDone is called after each finished pair.
func (p *progress) pairDone(e batch.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pairs = e
	p.show()
}

// add adds the bytes of a segment; negative bytes remove the segments of a pair before it finishes.
func (p *progress) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments += bytes
	p.show()
}

// show reports the progress, which never decreases.
func (p *progress) show() {
	e := p.pairs
	p.shown = min(max(p.shown, e.DoneCost+p.segments), e.TotalCost)
	e.DoneCost = p.shown
	if p.observe != nil {
		p.observe(e)
	}
}
