// Package batch runs jobs on a pool of workers under a memory budget and
// delivers their results in the order of the jobs, whatever the schedule. It
// knows nothing of what a job does, and prints nothing.
package batch

import (
	"cmp"
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"dumptool/internal/store"
)

// window bounds how many jobs may have started without having delivered their
// result, so that one slow job does not let the results behind it pile up.
const window = 1024

// Options says how jobs run. The zero value is useful.
type Options struct {
	// Workers is the number of jobs that run at the same time; 0 means that of
	// store.Workers.
	Workers int
	// Budget bounds the sum of the costs of the running jobs, usually bytes of
	// memory; 0 means no bound. A job that costs more runs alone.
	Budget int64
	// Observe, unless nil, hears of the start and of every finished job. Calls
	// come from the goroutine of Run and must be quick.
	Observe func(Event)
}

// Event is the state of a run after a job has finished. The first event of a
// run, before any job, has nothing done.
type Event struct {
	// Done counts the finished jobs of Total.
	Done, Total int
	// DoneCost is the summed cost of the finished jobs of TotalCost.
	DoneCost, TotalCost int64
}

// Run calls do for every job and hands the results to emit in the order of
// jobs, from the caller's goroutine. A nil cost means that jobs cost nothing.
//
// Once ctx is done no further job starts; the running ones see ctx, their
// results are still emitted, and Run returns ctx's error. A panic in do ends
// the run in the same way and is its error, a *guard.Panic: jobs that can say what
// it is the error of guard themselves. Run returns after its last goroutine.
func Run[J, R any](ctx context.Context, opt Options, jobs []J, cost func(J) int64, do func(context.Context, J) R, emit func(index int, r R)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	costs, total := measure(jobs, cost)
	s := &schedule{
		costs:  costs,
		budget: opt.Budget,
		slots:  make(chan struct{}, window),
	}
	outcomes := make(chan outcome[R], window)
	go func() {
		defer close(outcomes)
		s.run(ctx, opt.Workers, func(i int) { call(ctx, i, jobs[i], do, outcomes) })
	}()
	defer func() {
		// emit may panic: let the workers end before the panic goes on.
		cancel()
		for range outcomes {
		}
	}()

	event := Event{Total: len(jobs), TotalCost: total}
	observe := func() {
		if opt.Observe != nil {
			opt.Observe(event)
		}
	}
	observe()
	var failed error
	waiting := make(map[int]R)
	next := 0
	for o := range outcomes {
		if o.err != nil {
			cancel()
			failed = cmp.Or(failed, o.err)
			continue
		}
		event.Done++
		event.DoneCost += costs[o.index]
		observe()
		waiting[o.index] = o.result
		for r, ok := waiting[next]; ok; r, ok = waiting[next] {
			delete(waiting, next)
			emit(next, r)
			next++
			<-s.slots
		}
	}
	if failed != nil {
		return failed
	}
	return ctx.Err()
}

// measure returns the cost of every job and their sum.
func measure[J any](jobs []J, cost func(J) int64) (costs []int64, total int64) {
	costs = make([]int64, len(jobs))
	if cost == nil {
		return costs, 0
	}
	for i, j := range jobs {
		costs[i] = max(0, cost(j))
		total += costs[i]
	}
	return costs, total
}

// schedule starts jobs in order as workers, budget and slots allow.
type schedule struct {
	costs  []int64
	budget int64
	slots  chan struct{} // one element for each started, not yet emitted job
}

// run calls job for 0, 1, 2... until all have run or ctx is done, and returns
// when the last call has. Jobs start strictly in order: the job that the
// emitter waits for always has its slot already, so full slots cannot block
// the run for ever.
func (s *schedule) run(ctx context.Context, workers int, job func(int)) {
	if workers <= 0 {
		workers = store.Workers()
	}
	pool := semaphore.NewWeighted(int64(workers))
	budget := s.budget
	if budget <= 0 {
		budget = math.MaxInt64
	}
	memory := semaphore.NewWeighted(budget)
	var running sync.WaitGroup
	defer running.Wait()
	for i, cost := range s.costs {
		// A job that takes all of the budget runs alone, even beside jobs
		// that cost nothing: each takes at least one byte.
		cost = max(1, min(cost, budget))
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if pool.Acquire(ctx, 1) != nil || memory.Acquire(ctx, cost) != nil || ctx.Err() != nil {
			return
		}
		running.Go(func() {
			defer pool.Release(1)
			defer memory.Release(cost)
			job(i)
		})
	}
}
