package main

import (
	"os"
	"testing"
)

// TestSignals interrupts this process. It is the only test that does, and not
// a parallel one.
func TestSignals(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	interrupt := func() {
		t.Helper()
		if err := self.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	codes := make(chan int, 1)
	ctx, stop := interruptible(t.Context(), func(code int) { codes <- code })
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
}

func TestStopCancels(t *testing.T) {
	ctx, stop := interruptible(t.Context(), func(int) { t.Error("exit was called") })
	stop()
	if ctx.Err() == nil {
		t.Error("the context lives on")
	}
}
