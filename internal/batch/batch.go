// Package batch runs jobs on a pool of workers under a memory budget and
// delivers their results in the order of the jobs, whatever the schedule. It
// knows nothing of what a job does, and prints nothing.
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
	// Ahead bounds how many jobs of each worker may have started without having delivered
	// their result, where results are large; 0 means many.
	Ahead int
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
		s.run(ctx, workers, func(i int) { call(ctx, i, jobs[i], do, outcomes) })
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
	budget := s.budget
	if budget <= 0 {
		budget = math.MaxInt64
	}
	// A job that takes all of the budget runs alone, even beside jobs
	// that cost nothing: each takes at least one byte.
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
		jobs <- i // a worker has nothing to do, since others hold fewer than all places
	}
}

// work does jobs until there are no more. A goroutine for each of them would have to grow its
// stack each time. Where one ends its goroutine another one goes on.
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

// Kind says how a run ended.
type Kind uint8

// The kinds, from the one that matters least.
const (
	Done       Kind = iota // nothing wrong was found
	Found                  // what was looked for is there
	NotCovered             // less was looked at than has to be
	Nothing                // there was nothing to do
	Incomplete             // some input could not be read, or some output not be written
)

// Outcome is how a run ended, in one sentence.
type Outcome struct {
	Kind Kind
	// Text is empty if Done. Shown says that the results say it already.
	Text  lang.Sentence
	Shown bool
	// Hint says what can be done about it, empty for nothing.
	Hint lang.Sentence
	// Messages sum the run up; they come first.
	Messages []Message
}

// Outcomef returns an outcome with a text, from what lang.Sayf takes.
func Outcomef(kind Kind, en, zh string, args ...any) Outcome {
	return Outcome{Kind: kind, Text: lang.Sayf(en, zh, args...)}
}

// WithHint returns the outcome with what can be done about it, from what lang.Sayf
// takes.
func (o Outcome) WithHint(en, zh string, args ...any) Outcome {
	o.Hint = lang.Sayf(en, zh, args...)
	return o
}

// AsShown marks the text as said by the results.
func (o Outcome) AsShown() Outcome {
	o.Shown = true
	return o
}

// Message is something to say about a run, or about one of its jobs, that is no
// result. A hint says what to do about the message before.
type Message struct {
	Level slog.Level
	Hint  bool
	Text  lang.Sentence
	// Attrs are names and values of a record of the debug log.
	Attrs []any
}

// Errorf says why a part of a run failed, from what lang.Sayf takes.
func Errorf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelError, Text: lang.Sayf(en, zh, args...)}
}

// Warnf says what is doubtful and did not stop the work.
func Warnf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelWarn, Text: lang.Sayf(en, zh, args...)}
}

// Infof says what is good to know.
func Infof(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Text: lang.Sayf(en, zh, args...)}
}

// Hintf says what to do about the message before.
func Hintf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Hint: true, Text: lang.Sayf(en, zh, args...)}
}

// Debug is a record of the debug log.
func Debug(text string, attrs ...any) Message {
	return Message{Level: slog.LevelDebug, Text: lang.Plain(text), Attrs: attrs}
}
