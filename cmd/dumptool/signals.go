package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

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
