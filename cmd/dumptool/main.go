// Command dumptool debugs numerical accuracy on NPUs: it turns device dumps into host tensors,
// decodes overflow records, compares runs and writes and checks dump configurations. Each command
// has its own file; the packages below internal do the work.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"dumptool/internal/ui"
)

func main() {
	ctx, stop := withInterrupts(context.Background(), os.Exit)
	code := newApp(ui.NewSystemStreams(os.Stdin, os.Stdout, os.Stderr)).run(ctx, toolArguments(os.Args))
	stop()
	os.Exit(code)
}

// withInterrupts returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, so that running
// jobs can end cleanly. The second signal calls exit at once. An ignored SIGHUP, as under nohup,
// stays ignored. stop restores the default handling. SIGPIPE is ignored: a closed stdout gives a
// write error instead of ending the process.
func withInterrupts(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
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
