package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestSignals interrupts this process. It is the only test that does so, and not parallel.
func TestSignals(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			interrupt := func() {
				t.Helper()
				if err := self.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			// Under nohup hangups are ignored until somebody asks for them.
			wanted := make(chan os.Signal, 2)
			signal.Notify(wanted, sig)
			defer signal.Stop(wanted)
			codes := make(chan int, 1)
			ctx, stop := withInterrupts(t.Context(), func(code int) { codes <- code })
			defer stop()
			if ctx.Err() != nil {
				t.Fatal("the context is done before any signal")
			}
			interrupt()
			<-ctx.Done()
			if len(codes) > 0 {
				t.Error("the first signal ends the process")
			}
			interrupt()
			if code := <-codes; code != exitInterrupted {
				t.Errorf("exit status %d, want %d", code, exitInterrupted)
			}
		})
	}
}

// TestIgnoredHangup: a process under nohup survives a hangup.
func TestIgnoredHangup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := withInterrupts(t.Context(), func(int) { t.Error("exit was called") })
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if ctx.Err() != nil {
		t.Error("an ignored signal cancels the context")
	}
}

func TestStopCancels(t *testing.T) {
	ctx, stop := withInterrupts(t.Context(), func(int) { t.Error("exit was called") })
	stop()
	if ctx.Err() == nil {
		t.Error("the context lives on")
	}
}
