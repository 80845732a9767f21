package main

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/perf"
	"dumptool/internal/report"
)

type perfOptions struct {
	perf.Options
	nameMap  string
	failOn   perf.FailOn
	exitZero exitZero
	output   reportOptions
}

func newPerfCommand(a *app) *cobra.Command {
	opts := &perfOptions{Options: perf.Options{Sort: perf.SortMCU, Top: 10, Thresholds: perf.DefaultThresholds(), Filter: new(dumpdir.NodeFilter)}}
	cmd := &cobra.Command{
		Use:   "perf PATH...",
		Short: "show which operators take the most cycles, and what got worse",
		Long: `perf reads HPAA's performance tables op_perf.csv, op_perf_{core}.csv and
perf/{op}.csv, ranks the operators by cycles and says what limits each. PATH is
a table, or a folder with tables in it or in its folder result; without PATH it
is $DUMP_MEMORY_PATH. Columns may be in any order or missing. If a name repeats,
its k-th row is compared with the k-th row of that name in the baseline.

The class of an operator is the first that applies. Moves are data transfers,
maths are the units VME and MME, and shares are of mcu_cycle, the operator's
cycles:
  inconsistent  units overlap longer than they ran, or ran longer than
                mcu_cycle: a 32-bit counter wrapped, or counts something else
  sync          waiting for other cores takes at least --wait
  control       maths and moves together take less than half
  data          moves take at least --busy, and --lead times the maths
  compute       maths take at least --busy, and --lead times the moves
  balanced      maths and moves both take at least --busy: near the ridge of
                the roofline
  serial        both take at least 0.15, and less than half of the shorter one
                overlaps the other: they wait for each other
Any other operator is data, compute or balanced, with low confidence.

Columns: compute is the cycles in which VME or MME ran, union the cycles in
which any unit ran, exposed_data the cycles in which only moves ran. The tables
do not contain peak rates, so cycles are compared with cycles, not operations
with bytes.

With --baseline, SLOWER and FASTER are changes by more than --regress and 1000
cycles, and NEW is an operator that the baseline lacks. Causes:
  REPEATED_MOVES  mte_pld_byte grew by more than --grow and 4096 bytes
  L1_CONFLICTS    L1 bank conflicts grew by more than --grow and 1000 cycles;
                  if the baseline lacks the operator: they take --conflict
  IMB_CONFLICTS   the same for the intermediate buffer
  IMBALANCE       the slowest core takes 1.25 times the mean of the cores, and
                  1000 cycles more
Tables of several cores give one row for each operator: the slowest core, with
the bytes of all cores. From the tables in perf/ the program detects whether
op_perf.csv has the sum, mean, maximum, last or first of the runs.

The thresholds are dumptool's: HPAA's manual gives none. --mhz turns cycles into
time.`,
		Example: `  dumptool perf result/op_perf.csv
  dumptool perf hpaa_dump --perf_all_nodes=False --top 20
  dumptool perf hpaa_dump --baseline old/result -out report --format csv,json,md`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runPerf(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*perf.Report]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *perfOptions) addFlags(cmd *cobra.Command) {
	th, positive := &o.Thresholds, func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	addFlags(cmd, append(nodeFlags(&o.nameMap, &o.Filter.SkipKeys, &o.Filter.Exclude), []cmdFlag{
		{"baseline", textValue(&o.Baseline), "compare with the table or folder in `PATH`", groupVerdict, 0},
		{"perf-all-nodes", invertedSwitch(&o.NoSpan), "operators with _span in their names too", groupChoice, 0},
		{"sort", choice(&o.Sort, perf.SortKeys), fillUsage("order by `KEY`: %s", toStrings(perf.SortKeys)), groupReports, 0},
		{"class", choices(&o.Classes, perf.Classes(), nil), fillUsage("list operators of these `CLASSES` only: %s", toStrings(perf.Classes())), groupReports, 0},
		{"top", countValue(&o.Top), "text and md show the first `N` operators; 0: all", groupReports, 0},
		{"busy", &th.Busy, "share of mcu_cycle from which data movement or computation counts as busy", groupVerdict, 0},
		{"lead", &th.Lead, "data movement or computation dominates if it takes this many times as long as the other", groupVerdict, 0},
		{"wait", &th.Wait, "waiting for at least this share of mcu_cycle makes an operator sync", groupVerdict, 0},
		{"conflict", &th.Conflict, "share of mcu_cycle from which bank conflicts count as too many, if there is no baseline", groupVerdict, 0},
		{"grow", &th.Grow, "share by which bytes and conflicts may exceed the baseline", groupVerdict, 0},
		{"regress", &th.Regress, "share by which mcu_cycle may exceed the baseline", groupVerdict, 0},
		{"mhz", decimalValue(&o.MHz, positive, "want a number above 0"), "clock of the cores in MHz: shows times too", groupReports, 0},
		{"peak-bpc", decimalValue(&o.PeakBPC, positive, "want a number above 0"), "bytes that the DDR can move in one cycle: shows how much of it is used", groupReports, 0},
		{"fail-on", choices((*[]perf.Failure)(&o.failOn), perf.FailNames(), perf.FailNames()[:3]), fillUsage("`FINDINGS` compared with the baseline that count as failures: %s", toStrings(perf.FailNames())), groupCI, 0},
		readersFlag(&o.Workers), o.exitZero.flag("findings do not change the exit status"),
	}...)...)
	addReportFlags[*perf.Report](cmd, &o.output)
}

// check checks the flags against each other.
func (o *perfOptions) check() error {
	switch {
	case len(o.failOn) == 0:
		return usagef("--fail-on: nothing given; --exit-zero keeps findings from the exit status")
	case o.Baseline == "" && o.Sort == perf.SortGrowth:
		return usagef("--sort growth needs --baseline PATH")
	}
	return checkReports[*perf.Report](&o.output)
}

// dumpMode reads from the environment how cycles were counted.
func (a *app) dumpMode() perf.DumpMode {
	switch strings.TrimSpace(a.getenv(opPerf)) {
	case "1":
		return perf.ModePlain
	case "2":
		return perf.ModeDumping
	}
	return perf.ModeUnknown
}

// runPerf reads tables and reports on them.
func runPerf(ctx context.Context, a *app, opts *perfOptions, args []string) error {
	opts.Paths, opts.Mode = args, a.dumpMode()
	if len(args) == 0 {
		root := a.getenv(memoryPath)
		if root == "" {
			return usagef("no table or folder given, and no $%s", memoryPath)
		}
		opts.Paths = []string{root}
	}
	err := opts.check()
	if err != nil {
		return err
	}
	if opts.Filter.Map, err = readNameMap(opts.nameMap); err != nil {
		return err
	}
	if opts.Baseline != "" {
		if err := checkExists(opts.Baseline); err != nil {
			return err
		}
	}
	r, err := perf.Analyze(ctx, opts.Options)
	if err != nil {
		return err
	}
	outcome := r.Outcome(opts.failOn)
	if outcome.Kind != batch.Nothing && len(r.Files) > 0 {
		if err := writeReports(a, &opts.output, r, report.Options{}, r.Inputs...); err != nil {
			return err
		}
	}
	if opts.output.out != "" || !slices.Contains([]string{"text", "md"}, opts.output.formats[0]) {
		for _, note := range r.Notes {
			a.warnf("%s", note.Text)
		}
	}
	return a.conclude(opts.exitZero.applyTo(outcome))
}
