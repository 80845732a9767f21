package main

import (
	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
)

// overflowMergeOptions are the flags of a command that makes a report of parts.
type overflowMergeOptions struct {
	output   reportOptions
	exitZero exitZero
	parts    partsFlags
}

// newOverflowMergeCommand returns the command that makes the report of another one of
// parts. merge makes it, and says how it ended.
func newOverflowMergeCommand[R any](a *app, of, kind, found string, merge func(*shard.Listing, *reportOptions) (R, batch.Outcome, error)) *cobra.Command {
	opts := new(overflowMergeOptions)
	cmd := &cobra.Command{
		Use:   "merge PARTS...",
		Short: "make the report of all parts of 'overflow " + of + " --shard'",
		Long: `merge makes the report that 'overflow ` + of + `' would have made alone, from the
parts that its shards wrote to the folders PARTS. Shards that are missing are listed,
and nothing is written then: run them again.`,
		Example: "  dumptool overflow " + of + " dumps --shard 0/2 -out parts\n" +
			"  dumptool overflow " + of + " dumps --shard 1/2 -out parts\n" +
			"  dumptool overflow " + of + " merge parts",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReports[R](&opts.output); err != nil {
				return err
			}
			parts, err := opts.parts.list(cmd.Context(), a, args, shard.Head{Kind: kind})
			if err != nil {
				return err
			}
			r, outcome, err := merge(parts, &opts.output)
			if err != nil {
				return err
			}
			if outcome.Kind != batch.Nothing {
				if err := writeReports(a, &opts.output, r, report.Options{}); err != nil {
					return err
				}
			}
			return a.conclude(opts.exitZero.of(outcome))
		},
	}
	cmd.Long += formatHelp[R]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	addReportFlags[R](cmd, &opts.output, "text", "; several with -out")
	opts.parts.add(cmd.Flags())
	opts.exitZero.add(cmd.Flags(), found)
	return cmd
}

func newOverflowScanMergeCommand(a *app) *cobra.Command {
	return newOverflowMergeCommand(a, "scan", overflow.ScanKind, "bad tensors",
		func(parts *shard.Listing, _ *reportOptions) (*overflow.ScanReport, batch.Outcome, error) {
			r, in, err := overflow.MergeScan(parts)
			if err != nil {
				return nil, batch.Outcome{}, err
			}
			return r, r.Outcome(in), nil
		})
}

func newOverflowAnalyzeMergeCommand(a *app) *cobra.Command {
	return newOverflowMergeCommand(a, "analyze", overflow.AnalyzeKind, "overflow records",
		func(parts *shard.Listing, o *reportOptions) (*overflow.Report, batch.Outcome, error) {
			r, in, err := overflow.MergeAnalysis(parts)
			if err != nil {
				return nil, batch.Outcome{}, err
			}
			return r, r.Outcome(in, o.printsText()), nil
		})
}
