package main

import (
	"github.com/spf13/cobra"

	"dumptool/internal/overflow"
)

func newOverflowWatchCommand(a *app) *cobra.Command {
	opts := new(overflowTreeOptions)
	cmd := &cobra.Command{
		Use:   "watch PATH...",
		Short: "find the operator that overwrote the memory of another one",
		Long: `watch compares the dumps that CANN's watcher mode writes (dump_scene "watcher"):
the output of a watched operator C after each of the operators A, B, ... ran, in
files {type of C}.{A}_To_{C}.{task}.{stream}.{timestamp}. In the order of time each
is held, byte for byte, against the one before; the first is the dump of C itself
where there is one. What differs was written by the operator that ran last, or by
one that ran since the dump before.`,
		Example: `  dumptool overflow watch dumps
  dumptool overflow watch dumps --format csv > changes.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOverflow(cmd, a, opts, args, "comparing", overflow.Watch, nil)
		},
	}
	cmd.Long += formatHelp[*overflow.WatchReport]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	defineOverflow[*overflow.WatchReport](cmd, opts, "changed memory")
	return cmd
}
