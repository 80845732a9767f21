package main

import (
	"github.com/spf13/cobra"

	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
)

func newOverflowScanCommand(a *app) *cobra.Command {
	opts, ir := new(overflowTreeOptions), ""
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
them is shown in full; --all shows all, good ones too.`,
		Example: `  dumptool overflow scan dumps
  dumptool overflow scan dumps --all --format csv > all.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkIR(ir); err != nil {
				return err
			}
			return runOverflow(cmd.Context(), a, opts, args, "scanning", dumpdir.Options{Graphs: true, IR: ir}, overflow.Scan)
		},
	}
	cmd.Long += formatHelp[*overflow.ScanReport]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	cmd.Flags().BoolVar(&opts.all, "all", false, "show everything, good tensors too")
	addIR(cmd.Flags(), &ir)
	addOverflowFlags[*overflow.ScanReport](cmd, opts, "bad tensors")
	return cmd
}
