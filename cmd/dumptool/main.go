// Command dumptool debugs numerical accuracy on NPUs: it turns device dumps
// into host tensors, decodes overflow records, compares runs and writes and
// checks dump configurations. The commands are in files of their own; what
// they do is in the packages below internal.
package main

import (
	"context"
	"os"

	"dumptool/internal/ui"
)

func main() {
	ctx, stop := interruptible(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], ui.System(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}
