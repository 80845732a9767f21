package main

import (
	"github.com/spf13/cobra"

	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
)

func newOverflowScanCommand(a *app) *cobra.Command {
	opts := &overflowTreeOptions{open: dumpdir.Options{Graphs: true}}
	cmd := &cobra.Command{
		Use:   "scan PATH...",
		Short: "find NaN, infinities and saturated values in ordinary dumps",
		Long: `scan reads every tensor of dumps and arrays once and shows those with NaN,
infinities or values at the limit of their floating-point type, in the order of
rank, step and execution; the first of each rank is marked, and devices are ranks.
Integers at the limits of their type are counted, but are no finding by
themselves. Of tensors whose statistics alone were dumped (statistic.csv and the
tables of CANN) it shows what those say.

More than 20 executions with bad tensors are grouped by operator, and the first of
them is shown in full; --all shows all, good ones too.

With --shard it reads a part of the tensors and writes what it finds to a file in the
folder of -out; 'overflow scan merge' makes the report of all parts.`,
		Example: `  dumptool overflow scan dumps
  dumptool overflow scan dumps --all --format csv > all.csv
  dumptool overflow scan dumps --shard auto/16 -out shards`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOverflow(cmd, a, opts, args, "scanning", overflow.Scan, nil)
		},
	}
	cmd.Long += formatHelp[*overflow.ScanReport]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	defineOverflow[*overflow.ScanReport](cmd, opts, "bad tensors", append([]cmdFlag{
		{"all", yes(&opts.All), "show everything, good tensors too", reporting, safe | ofRow},
		irFlag(&opts.open.IR),
	}, opts.shards.flags()...)...)
	cmd.AddCommand(newMergeOf(a, mergeScans))
	return cmd
}
