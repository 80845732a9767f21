package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

type overflowAnalyzeOptions struct {
	overflowTreeOptions
	compat bool
}

func newOverflowAnalyzeCommand(a *app) *cobra.Command {
	opts := &overflowAnalyzeOptions{overflowTreeOptions: overflowTreeOptions{open: dumpdir.Options{Graphs: true}}}
	cmd := &cobra.Command{
		Use:   "analyze -d DIR",
		Short: "find the operator that overflowed first, and why",
		Long: `analyze finds the overflow records below DIR - of any number of devices, steps
and models - and matches each with the dump of its operator: by the ids of the
record, by those of the file names, or as a guess by time; the rule is shown. It
reads the operator's tensors and says whether the bad values were produced there
or came in; of the first record of each rank it shows what the operator reads, where
a graph says that. Records are ordered by rank, step and time; devices are ranks. The text
of more than 20 records has a line for each operator, with the ranks and steps
that it overflowed on, and the first record in full; --all shows all of them.

With --shard it looks into the records of a part of the rounds and writes what it finds
to a folder in the folder of -out; 'dumptool merge' makes one report of what all shards
wrote.`,
		Example: `  dumptool overflow analyze -d dumps
  dumptool overflow analyze -d dumps -n 3 --lang zh
  dumptool overflow analyze -d dumps -out report --format text,json,csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowAnalyze(cmd, a, opts, args) },
	}
	cmd.Long += formatHelp[*overflow.Report]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	defineOverflow[*overflow.Report](cmd, &opts.overflowTreeOptions, "overflow records", append([]cmdFlag{
		{"top-num|n", orAll(&opts.Most, 1, 0), "look into the first `N` records of each rank, or all", choosing, safe | ofRow},
		{"all", yes(&opts.All), "show all records in full", reporting, safe},
		{"compat", yes(&opts.compat), "write overflow_summary_TIME.txt as msaccucmp does, to the output folder", reporting, ofTransport}, // it is a file of its own
		irFlag(&opts.open.IR),
	}, opts.shards.flags()...)...)
	cmd.AddCommand(newMergeOf(a, mergeAnalyses))
	return cmd
}

// runOverflowAnalyze analyzes the trees that are given.
func runOverflowAnalyze(cmd *cobra.Command, a *app, o *overflowAnalyzeOptions, args []string) error {
	switch {
	case o.compat && o.output.out == "":
		return usagef("--compat needs an output folder (-out)")
	case o.compat && o.shards.shard != "":
		return usagef("--compat is not for --shard")
	}
	return runOverflow(cmd, a, &o.overflowTreeOptions, args, "analyzing", overflow.Analyze, o.writeCompat)
}

// writeCompat writes the records as msaccucmp does.
func (o *overflowAnalyzeOptions) writeCompat(r *overflow.Report) error {
	if !o.compat || len(r.Records) == 0 {
		return nil
	}
	name := "overflow_summary_" + time.Now().Format("20060102150405") + ".txt"
	return report.NewFolder(o.output.out).Write(name, func(w io.Writer) error { return report.WriteAnalysisCompat(w, r) })
}
