// Command dumptool debugs numerical accuracy on NPUs: it turns device dumps
// into host tensors, decodes overflow records, compares runs and writes and
// checks dump configurations. The commands are in files of their own; what
// they do is in the packages below internal.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"

	"dumptool/internal/ui"
)

// A quarter as much garbage as there is data may stand beside it, where Go would let as
// much: then what reads a dump.json takes ten times its bytes and 64 MiB. Beside little data
// there may be leastGarbage, and while the pairs of a comparison are found as much as fills
// memoryOfPlan with it: otherwise to find those of 20,000 small files would collect 72 times. A
// comparison of elements, which makes much more garbage, may have as much as there is data, and
// one of more than manyPairs, whose data will take more, keeps what it filled before. To
// find the pairs of a comparison leastMemory should do; then it may have
// memoryOfPair or, where statistics are compared, memoryOfStatistics for each pair beyond
// manyPairs. That is no bound, and a run that has more in use collects up to half of its time:
// so it grows with the pairs, and always leaves room for a quarter of the garbage that there may
// be beside what is in use, such as the names of a million files of which a shard compares some.
// GOGC and GOMEMLIMIT in the environment go before these.
const (
	garbagePercent     = 25
	leastGarbage       = 24 << 20
	memoryOfPlan       = 112 << 20
	leastMemory        = 144 << 20
	manyPairs          = 14000
	memoryOfPair       = 7000 // some 6000 are in use in the end
	memoryOfStatistics = 1800
	memoryOfGo         = 24 << 20 // beside data and garbage: stacks, tables, what was just freed
)

// collector sets how much garbage there may be beside data: a percentage, at least leastGarbage
// or what fills a memory with the data; less from the memory of room on, 0 while there is no
// such limit.
type collector struct{ percent, fill, room atomic.Int64 }

// set sets the percentage from now on.
func (c *collector) set(percent int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	first := c.percent.Swap(percent) == 0
	c.adapt()
	if first {
		c.watch()
	}
}

// adapt sets the percentage and the limit for the data that the last collection found.
func (c *collector) adapt() {
	const data = "/gc/heap/live:bytes"
	sample := []metrics.Sample{{Name: data}}
	metrics.Read(sample)
	live := max(4<<20, int64(sample[0].Value.Uint64()))
	percent := c.percent.Load()
	if percent > 0 {
		debug.SetGCPercent(int(max(percent, 100*max(leastGarbage, c.fill.Load()-live)/live)))
	}
	if room := c.room.Load(); room > 0 {
		debug.SetMemoryLimit(max(room, live+live*percent/400+memoryOfGo))
	}
}

// watch adapts the percentage after each collection: the next one takes what nobody holds.
func (c *collector) watch() {
	runtime.AddCleanup(new([2]*collector), func(c *collector) {
		c.adapt()
		c.watch()
	}, c)
}

// makeRoom sets the memory of a comparison from which on there may be less garbage, by its
// pairs, and the garbage of one of so many pairs of elements.
func (c *collector) makeRoom(pairs, measured int) {
	room := int64(memoryOfStatistics)
	if c.fill.Store(0); pairs == 0 || measured > manyPairs {
		c.fill.Store(memoryOfPlan)
	}
	if measured > 0 {
		room = memoryOfPair
		c.set(100)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		c.room.Store(leastMemory + int64(max(0, pairs-manyPairs))*room)
		c.adapt()
	}
}

func main() {
	ctx, stop := interruptible(context.Background(), os.Exit)
	code := run(ctx, calledAs(os.Args), ui.System(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels, so that running jobs can end cleanly. A SIGHUP that is ignored, as
// under nohup, stays ignored. The second one calls exit at once. stop
// gives the signals their usual meaning back. A reader of stdout that goes away
// is an error of writing, not a signal that ends the process where it stands.
func interruptible(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for _, act := range []func(){cancel, func() { exit(exitInterrupted) }} {
			select {
			case <-signals:
				act()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
