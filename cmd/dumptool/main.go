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

// memoryLimit is how much memory the heap may fill before garbage is collected more
// often than Go would do by itself, which lets as much garbage as there is data stand
// beside it. With the program's own pages, some 25 MiB, compare then takes 210 MB for
// two dump.json of 8 MB, of which 125 MB are in use for a moment, and 190 MiB for
// 20,000 small pairs, of which 100 MB are. It is no bound: a run that has more in use
// takes that, and up to half of its time goes to the collector. GOMEMLIMIT in the
// environment goes before it: off gives memory for time.
const memoryLimit = 176 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := interruptible(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], ui.System(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}
