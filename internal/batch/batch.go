// Package batch runs jobs on a pool of workers under a memory budget and delivers their results in
// the order of the jobs, whatever the schedule. It does not interpret jobs and prints nothing.
package batch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// window bounds the jobs that have started and not yet delivered their result, so that results
// behind one slow job do not pile up.
const window = 1024

// Options are the options of Run. The zero value is usable.
type Options struct {
	// Workers is the number of concurrent jobs; 0 means store.Workers.
	Workers int
	// Budget bounds the sum of the costs of the running jobs, usually bytes of
	// memory; 0 means no bound. A job that costs more runs alone.
	Budget int64
	// Ahead bounds the jobs per worker that have started and not yet delivered their result, for
	// large results; 0 means many.
	Ahead int
	// Observe, if not nil, is called at the start and after every finished job, from the goroutine
	// of Run. It must be quick.
	Observe func(Event)
}

// Event is the state of a run after a job has finished. The first event of a
// run, before any job, has nothing done.
type Event struct {
	// Done counts the finished jobs, Total all jobs.
	Done, Total int
	// DoneCost is the cost of the finished jobs, TotalCost the cost of all jobs.
	DoneCost, TotalCost int64
}

// Run calls do for every job and emits the results in the order of jobs, from the caller's
// goroutine. A nil cost means that jobs cost nothing.
//
// Once ctx is done no further job starts; running jobs see ctx, their results are still emitted,
// and Run returns ctx's error. A panic in do ends the run in the same way with a *guard.Panic; a
// job that reports its panic as a result calls guard itself. Run returns after its last goroutine.
func Run[J, R any](ctx context.Context, opt Options, jobs []J, cost func(J) int64, do func(context.Context, J) R, emit func(index int, r R)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	costs, total := measure(jobs, cost)
	workers, ahead := opt.Workers, window
	if workers <= 0 {
		workers = store.Workers()
	}
	if opt.Ahead > 0 {
		ahead = min(ahead, opt.Ahead*workers)
	}
	s := &schedule{
		costs:  costs,
		budget: opt.Budget,
		slots:  make(chan struct{}, ahead),
	}
	outcomes := make(chan outcome[R], ahead)
	go func() {
		defer close(outcomes)
		s.run(ctx, workers, func(i int) { runJob(ctx, i, jobs[i], do, outcomes) })
	}()
	defer func() {
		// emit may panic: stop the workers before the panic propagates
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

// run calls job for 0, 1, 2... until all have run or ctx is done, and returns after the last call.
// Jobs start strictly in order: the job that emit waits for has its slot already, so full slots
// cannot block the run forever.
func (s *schedule) run(ctx context.Context, workers int, job func(int)) {
	budget := s.budget
	if budget <= 0 {
		budget = math.MaxInt64
	}
	// A job that costs the whole budget runs alone, without jobs of cost 0 beside it: every job
	// takes at least one byte.
	cost := func(i int) int64 { return max(1, min(s.costs[i], budget)) }
	memory := semaphore.NewWeighted(budget)
	places := make(chan struct{}, workers) // one element for each running job
	do := func(i int) {
		defer func() { <-places }()
		defer memory.Release(cost(i))
		job(i)
	}
	var running sync.WaitGroup
	defer running.Wait()
	jobs := make(chan int)
	defer close(jobs)
	for i := range s.costs {
		for _, room := range []chan struct{}{s.slots, places} {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
		if memory.Acquire(ctx, cost(i)) != nil || ctx.Err() != nil {
			return
		}
		if i < workers {
			running.Go(func() { work(&running, jobs, do) })
		}
		jobs <- i // a worker is free: fewer jobs run than there are workers
	}
}

// work does jobs until there are no more. One goroutine does many jobs, because a new goroutine has
// to grow its stack. If a job ends its goroutine, another goroutine replaces it.
func work(running *sync.WaitGroup, jobs <-chan int, do func(int)) {
	done := false
	defer func() {
		if !done {
			running.Go(func() { work(running, jobs, do) })
		}
	}()
	for i := range jobs {
		do(i)
	}
	done = true
}

// RunUntil is Run for an emit that may fail: its first error ends the run and is returned.
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

// outcome is the result of one job, or its error.
type outcome[R any] struct {
	index  int
	result R
	err    error // for a job that did not return
}

// errGoexit is the error of a job that ended its goroutine.
var errGoexit = errors.New("runtime.Goexit called in a job")

// runJob runs one job and sends its outcome even if the job panics or exits: a job without an outcome
// would block all results behind it.
func runJob[J, R any](ctx context.Context, index int, job J, do func(context.Context, J) R, outcomes chan<- outcome[R]) {
	o := outcome[R]{index: index, err: errGoexit}
	defer func() { outcomes <- o }()
	o.err = guard.Do(func() error {
		o.result = do(ctx, job)
		return nil
	})
}

// Kind classifies the end of a run.
type Kind uint8

// The kinds, in order of increasing importance.
const (
	Done       Kind = iota // no problem was found
	Found                  // a problem was found
	NotCovered             // less was compared or checked than required
	Nothing                // there was nothing to do
	Incomplete             // an input could not be read, or an output not be written
)

// Outcome describes the end of a run in one sentence.
type Outcome struct {
	Kind Kind
	// Text is empty if Done. Shown: the results already contain the text.
	Text  lang.Sentence
	Shown bool
	// Hint is the next step for the user, empty for none.
	Hint lang.Sentence
	// Messages summarise the run; they are printed first.
	Messages []Message
}

// Outcomef returns an outcome with a text; the arguments are as for lang.Say.
func Outcomef(kind Kind, en string, args ...any) Outcome {
	return Outcome{Kind: kind, Text: lang.Say(en, args...)}
}

// WithHint returns the outcome with a hint; the arguments are as for lang.Say.
func (o Outcome) WithHint(en string, args ...any) Outcome {
	o.Hint = lang.Say(en, args...)
	return o
}

// AsShown returns the outcome with Shown set.
func (o Outcome) AsShown() Outcome {
	o.Shown = true
	return o
}

// Message is a message about a run or one of its jobs, apart from the results. A hint belongs to
// the message before it.
type Message struct {
	Level slog.Level
	Hint  bool
	Text  lang.Sentence
	// Attrs are alternating names and values for the debug log.
	Attrs []any
}

// Errorf returns an error about a part of a run; the arguments are as for lang.Say.
func Errorf(en string, args ...any) Message {
	return Message{Level: slog.LevelError, Text: lang.Say(en, args...)}
}

// Warnf returns a warning about a problem that did not stop the work.
func Warnf(en string, args ...any) Message {
	return Message{Level: slog.LevelWarn, Text: lang.Say(en, args...)}
}

// Infof returns an informational message.
func Infof(en string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Text: lang.Say(en, args...)}
}

// Hintf returns a hint for the message before.
func Hintf(en string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Hint: true, Text: lang.Say(en, args...)}
}

// Debug returns a record for the debug log.
func Debug(text string, attrs ...any) Message {
	return Message{Level: slog.LevelDebug, Text: lang.Plain(text), Attrs: attrs}
}
