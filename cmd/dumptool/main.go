// Command dumptool debugs numerical accuracy on NPUs: it turns device dumps
// into host tensors, decodes overflow records, compares runs and writes and
// checks dump configurations. The commands are in files of their own; what
// they do is in the packages below internal.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"dumptool/internal/ui"
)

// How much memory the heap may fill before garbage is collected more often than Go would
// do by itself, which lets as much garbage as there is data stand beside it: leastMemory,
// or memoryOfPair for each pair of tensors that a run compares, if that is more. It is
// no bound, and more in use than the limit takes up to half of the time for collecting:
// so the limit grows with the pairs. GOMEMLIMIT in the environment goes before it.
const (
	leastMemory  = 168 << 20
	memoryOfPair = 8 << 10 // of which 6 KiB are in use in the end
)

// raiseMemoryLimit makes room for a number of pairs.
func raiseMemoryLimit(pairs int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(debug.SetMemoryLimit(-1), int64(pairs)*memoryOfPair))
	}
}

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(leastMemory)
	}
	ctx, stop := interruptible(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], ui.System(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}
