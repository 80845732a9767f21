package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// emission is one call of emit.
type emission struct{ Index, Result int }

// count returns the jobs 0 to n-1.
func count(n int) []int {
	jobs := make([]int, n)
	for i := range jobs {
		jobs[i] = i
	}
	return jobs
}

// collect runs do over jobs and returns the emitted results.
func collect(ctx context.Context, opt Options, jobs []int, cost func(int) int64, do func(context.Context, int) int) ([]emission, error) {
	var got []emission
	err := Run(ctx, opt, jobs, cost, do, func(i, r int) { got = append(got, emission{i, r}) })
	return got, err
}

func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 200).Draw(t, "jobs")
		opt := Options{
			Workers: rapid.IntRange(0, 16).Draw(t, "workers"),
			Budget:  rapid.Int64Range(0, 100).Draw(t, "budget"),
		}
		var total int64
		for _, j := range jobs {
			total += int64(j)
		}
		var events []Event
		opt.Observe = func(e Event) { events = append(events, e) }
		var running, load atomic.Int64
		got, err := collect(t.Context(), opt, jobs, func(j int) int64 { return int64(j) }, func(_ context.Context, j int) int {
			n, l := running.Add(1), load.Add(int64(j))
			if opt.Workers > 0 && n > int64(opt.Workers) {
				t.Errorf("%d jobs run at once", n)
			}
			if opt.Budget > 0 && l > opt.Budget && l != int64(j) {
				t.Errorf("running jobs cost %d, budget %d", l, opt.Budget)
			}
			for range j {
				runtime.Gosched()
			}
			load.Add(-int64(j))
			running.Add(-1)
			return 3 * j
		})
		if err != nil {
			t.Fatal(err)
		}
		var want []emission
		for i, j := range jobs {
			want = append(want, emission{i, 3 * j})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("emitted (-want +got):\n%s", diff)
		}
		if len(events) != len(jobs)+1 {
			t.Fatalf("%d events for %d jobs", len(events), len(jobs))
		}
		for i, e := range events {
			if e.Done != i || e.Total != len(jobs) || e.TotalCost != total || e.DoneCost > total {
				t.Errorf("event %d is %+v", i, e)
			}
		}
		if last := events[len(jobs)]; last.DoneCost != total {
			t.Errorf("last event is %+v, want all cost %d done", last, total)
		}
	})
}

// TestWindow blocks the first job until the run cannot start more: the other jobs must neither pile
// up without bound nor block.
func TestWindow(t *testing.T) {
	t.Parallel()
	const n = 3 * window
	var started atomic.Int64
	full := make(chan struct{})
	got, err := collect(t.Context(), Options{Workers: 4}, count(n), nil, func(_ context.Context, j int) int {
		if started.Add(1) == window {
			close(full)
		}
		if j == 0 {
			<-full
			for range 1000 {
				runtime.Gosched()
			}
			if s := started.Load(); s > window {
				t.Errorf("%d jobs started before the first result, want at most %d", s, window)
			}
		}
		return j
	})
	if err != nil || len(got) != n {
		t.Errorf("%d results, %v", len(got), err)
	}
}

func TestRunsAlone(t *testing.T) {
	t.Parallel()
	costs := []int{1, 1, 1000, 1, 1}
	var running atomic.Int64
	_, err := collect(t.Context(), Options{Workers: 5, Budget: 10}, costs, func(c int) int64 { return int64(c) }, func(_ context.Context, c int) int {
		n := running.Add(1)
		defer running.Add(-1)
		for range 100 {
			runtime.Gosched()
			if m := running.Load(); c == 1000 && (n != 1 || m != 1) {
				t.Errorf("the big job shares the run with %d others", max(n, m)-1)
			}
		}
		return c
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var barrier sync.WaitGroup
	barrier.Add(3)
	got, err := collect(ctx, Options{Workers: 3}, count(100), nil, func(ctx context.Context, j int) int {
		switch j {
		case 0, 1:
			barrier.Done()
			<-ctx.Done()
			return -1
		case 2:
			barrier.Done()
			barrier.Wait()
			cancel()
		}
		return j
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want context.Canceled", err)
	}
	if diff := cmp.Diff([]emission{{0, -1}, {1, -1}, {2, 2}}, got); diff != "" {
		t.Errorf("emitted (-want +got):\n%s", diff)
	}
}

func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := collect(ctx, Options{}, count(10), nil, func(_ context.Context, j int) int {
		t.Errorf("job %d started", j)
		return j
	})
	if !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("Run = %v, %v", got, err)
	}
}

func TestNoJobs(t *testing.T) {
	t.Parallel()
	if got, err := collect(t.Context(), Options{}, nil, nil, nil); err != nil || got != nil {
		t.Errorf("Run = %v, %v", got, err)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	bug := errors.New("bug of the test")
	tests := map[string]struct {
		die  func()
		want error
	}{
		"panic":  {func() { panic(bug) }, bug},
		"goexit": {runtime.Goexit, errGoexit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var emitted []int
			err := Run(t.Context(), Options{Workers: 4}, count(3*window), nil, func(_ context.Context, j int) int {
				if j == 5 {
					tt.die()
				}
				return j
			}, func(i, _ int) { emitted = append(emitted, i) })
			if !errors.Is(err, tt.want) {
				t.Errorf("Run = %v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(count(5), emitted); diff != "" {
				t.Errorf("emitted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEmitPanic checks that a panic of emit waits for the running jobs.
func TestEmitPanic(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d jobs still run", n)
		}
	}()
	_ = Run(t.Context(), Options{Workers: 2}, count(50), nil, func(ctx context.Context, j int) int {
		running.Add(1)
		defer running.Add(-1)
		if j == 1 {
			<-ctx.Done()
		}
		return j
	}, func(int, int) { panic("printer") })
}
