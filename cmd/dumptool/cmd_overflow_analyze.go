package main

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

type overflowAnalyzeOptions struct {
	dumps    dumpFlags
	output   reportOptions
	most     string
	compat   bool
	all      bool
	exitZero exitZero
	ir       string
	shard    shardFlag
}

func newOverflowAnalyzeCommand(a *app) *cobra.Command {
	opts := new(overflowAnalyzeOptions)
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

With --shard it looks into a part of the records and writes what it finds to a file in
the folder of -out; 'overflow analyze merge' makes the report of all parts.`,
		Example: `  dumptool overflow analyze -d dumps
  dumptool overflow analyze -d dumps -n 3 --lang zh
  dumptool overflow analyze -d dumps -out report --format text,json,csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowAnalyze(cmd, a, opts, args) },
	}
	cmd.Long += formatHelp[*overflow.Report]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	cmd.AddCommand(newOverflowAnalyzeMergeCommand(a))
	return cmd
}

func (o *overflowAnalyzeOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.dumps.add(cmd, pathFlag("folder `DIR` with the dumps"), roundsFlag, opsFlag, jobsFlag(filesRead))
	flags.StringVarP(&o.most, "top-num", "n", "all", "look into the first `N` records of each rank, or all")
	flags.BoolVar(&o.all, "all", false, "show all records in full")
	flags.BoolVar(&o.compat, "compat", false, "write overflow_summary_TIME.txt as msaccucmp does, to the output folder")
	harmless(flags, "top-num", "all")
	addIR(flags, &o.ir)
	o.shard.add(flags)
	o.exitZero.add(flags, "overflow records")
	addReportFlags[*overflow.Report](cmd, &o.output, "text", "; several with -out")
}

// resolve checks the flags and turns them into options.
func (o *overflowAnalyzeOptions) resolve(args []string) (opt overflow.Options, err error) {
	o.dumps.paths = append(o.dumps.paths, args...)
	opt.Workers, opt.All, opt.Select = o.dumps.workers, o.all, o.dumps.selection()
	if len(o.dumps.paths) == 0 {
		return opt, usagef("no folder given: -d DIR is needed")
	}
	if err := o.dumps.check(); err != nil {
		return opt, err
	}
	if err := cmp.Or(checkIR(o.ir), checkReports[*overflow.Report](&o.output)); err != nil {
		return opt, err
	}
	if opt.Ops, err = o.dumps.opSet(); err != nil {
		return opt, err
	}
	if opt.Most, err = parseMost(o.most); err != nil {
		return opt, err
	}
	if o.compat && o.output.out == "" {
		return opt, usagef("--compat needs an output folder (-out)")
	}
	return opt, nil
}

// runOverflowAnalyze analyzes the trees that are given.
func runOverflowAnalyze(cmd *cobra.Command, a *app, opts *overflowAnalyzeOptions, args []string) error {
	ctx := cmd.Context()
	opt, err := opts.resolve(args)
	if err != nil {
		return err
	}
	part, err := opts.shard.part(a, cmd, &opts.output)
	if err != nil {
		return err
	}
	if opts.compat && part.On() {
		return usagef("--compat is not for --shard")
	}
	run, err := a.openRun(ctx, opts.dumps.paths, dumpdir.Options{Skip: opts.output.out, NoRaw: true, Graphs: true, IR: opts.ir}, opt.Select)
	if err != nil {
		return err
	}
	if part.On() {
		return runOverflowPart(ctx, a, "analyzing", run, opt, part, overflow.AnalyzePart)
	}
	r, err := watched(a, "analyzing", func(observe func(batch.Event)) (*overflow.Report, error) {
		opt.Observe = observe
		return overflow.Analyze(ctx, run, opt)
	})
	if err != nil {
		return err
	}
	outcome := r.Outcome(overflow.InputsOf(run), opts.output.printsText())
	if outcome.Kind != batch.Nothing {
		err = opts.write(a, r)
	}
	if err != nil {
		return err
	}
	return a.conclude(opts.exitZero.of(outcome))
}

// write prints the report, or writes the reports.
func (o *overflowAnalyzeOptions) write(a *app, r *overflow.Report) error {
	if err := writeReports(a, &o.output, r, report.Options{}); err != nil {
		return err
	}
	if !o.compat || len(r.Records) == 0 {
		return nil
	}
	name := "overflow_summary_" + time.Now().Format("20060102150405") + ".txt"
	return report.NewFolder(o.output.out).Write(name, func(w io.Writer) error { return report.WriteAnalysisCompat(w, r) })
}

// parseMost reads the number of records to look into; 0 stands for all.
func parseMost(text string) (int, error) {
	if strings.EqualFold(text, "all") {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usagef("-n %s: want a number from 1, or all", text)
	}
	return n, nil
}
