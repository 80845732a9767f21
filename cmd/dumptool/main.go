// Command dumptool debugs numerical accuracy on NPUs: it turns device dumps
// into host tensors, decodes overflow records, compares runs and writes and
// checks dump configurations. The commands are in files of their own; what
// they do is in the packages below internal.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"dumptool/internal/ui"
)

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
