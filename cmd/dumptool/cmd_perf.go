package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/perf"
	"dumptool/internal/report"
)

type perfOptions struct {
	baseline   string
	node       nodeFlags
	allNodes   bool
	thresholds perf.Thresholds
	sort       string
	classes    []string
	top        int
	mhz, peak  number
	failOn     []string
	exitZero   exitZero
	output     reportOptions
	dumps      dumpFlags
}

func newPerfCommand(a *app) *cobra.Command {
	opts := new(perfOptions)
	cmd := &cobra.Command{
		Use:   "perf PATH...",
		Short: "show where the cycles of operators go, and what got worse",
		Long: `perf reads the performance tables of HPAA: op_perf.csv, op_perf_{core}.csv and
perf/{op}.csv. PATH is a table, or a folder that has them in its folder result
or in itself; without PATH it is $DUMP_MEMORY_PATH. Columns may stand in any
order, some may be missing, and names may repeat: the k-th one of a name is
compared with the k-th.

It ranks the operators by mcu_cycle, and says of each what it is bound by, with
the numbers that decide. The first that holds:
  inconsistent  units overlap longer than they ran, or ran longer than
                mcu_cycle: 32-bit counters wrapped, or count other things
  sync          waiting for other cores takes --wait of mcu_cycle
  control       VME, MME and moves together take less than half of mcu_cycle
  data          moves take --busy of mcu_cycle, and --lead times the maths
  compute       VME and MME take --busy of mcu_cycle, and --lead times the moves
  balanced      both take --busy of mcu_cycle: near the ridge
  serial        both take 0.15 of mcu_cycle, and less than half of the shorter
                one runs beside the other: they wait for each other
The rest is data, compute or balanced (low), by what leads.

The numbers: compute is in how many cycles VME or MME ran, union in how many any
unit did, exposed_data in how many only moves did. The tables have no peaks:
times are compared with times, not operations with bytes.

With --baseline it says what changed: SLOWER and FASTER by more than --regress
and 1000 cycles, NEW, and
  REPEATED_MOVES  mte_pld_byte grew by more than --grow and 4096 bytes
  L1_CONFLICTS    bank conflicts at L1 grew by more than --grow and 1000 cycles;
                  without a row of the baseline: they take --conflict of
                  mcu_cycle
  IMB_CONFLICTS   the same at the intermediate buffer
  IMBALANCE       the slowest core takes 1.25 times the mean, and 1000 cycles
                  more
Tables of cores make one row an operator: that of its slowest core, with the
bytes of all cores. With perf/ it finds out whether the table has the sum, mean,
maximum, last or first of the runs.

HPAA's manual gives no thresholds: these are ours. Cycles are no seconds without
--mhz.`,
		Example: `  dumptool perf result/op_perf.csv
  dumptool perf hpaa_dump --perf_all_nodes=False --top 20
  dumptool perf hpaa_dump --baseline old/result -out report --format csv,json,md`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runPerf(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*perf.Report]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *perfOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.baseline, "baseline", "", "compare with the table or folder in `PATH`")
	o.node.addFlags(flags)
	flags.BoolVar(&o.allNodes, "perf-all-nodes", true, "operators with _span in their names too")
	flags.StringVar(&o.sort, "sort", string(perf.SortMCU), "order by `KEY`: "+strings.Join(names(perf.SortKeys), ", "))
	completeValues(cmd, "sort", names(perf.SortKeys))
	flags.StringSliceVar(&o.classes, "class", nil, "list operators of these `CLASSES` only: "+strings.Join(names(perf.Classes()), ", "))
	flags.IntVar(&o.top, "top", 10, "text and md show the first `N` operators; 0: all")
	o.thresholds = perf.DefaultThresholds()
	th := &o.thresholds
	flags.Var(&th.Busy, "busy", "share of mcu_cycle from which moves or maths are busy")
	flags.Var(&th.Lead, "lead", "how many times the other one makes moves or maths lead")
	flags.Var(&th.Wait, "wait", "share of mcu_cycle from which waiting for other cores decides")
	flags.Var(&th.Conflict, "conflict", "share of mcu_cycle from which bank conflicts are too many without a baseline")
	flags.Var(&th.Grow, "grow", "share by which bytes and conflicts of the baseline may grow")
	flags.Var(&th.Regress, "regress", "share by which mcu_cycle of the baseline may grow")
	flags.Var(&o.mhz, "mhz", "clock of the cores in MHz: shows times too")
	flags.Var(&o.peak, "peak-bpc", "bytes that the DDR moves in a cycle at most: shows its use")
	harmless(flags, "perf-all-nodes", "sort", "class", "top", "busy", "lead", "wait", "conflict", "grow", "regress", "mhz", "peak-bpc")
	flags.StringSliceVar(&o.failOn, "fail-on", []string{"slower", "moves", "conflicts"}, "`FINDINGS` beside the baseline that fail: "+strings.Join(names(perf.FailNames()), ", "))
	o.exitZero.add(flags, "findings")
	o.dumps.add(cmd, jobsFlag(filesRead))
	addReportFlags[*perf.Report](cmd, &o.output, "text", "; several with -out")
}

// resolve turns the flags into options.
func (o *perfOptions) resolve(opt *perf.Options) (fail perf.FailOn, err error) {
	if err := cmp.Or(o.dumps.check(), checkReports[*perf.Report](&o.output)); err != nil {
		return fail, err
	}
	if opt.Sort, err = oneOf("--sort", o.sort, perf.SortKeys); err != nil {
		return fail, err
	}
	for _, name := range o.classes {
		class, err := oneOf("--class", strings.TrimSpace(name), perf.Classes())
		if err != nil {
			return fail, err
		}
		opt.Classes = append(opt.Classes, class)
	}
	for _, name := range o.failOn {
		one, err := oneOf("--fail-on", strings.TrimSpace(name), perf.FailNames())
		if err != nil {
			return fail, err
		}
		fail = append(fail, one)
	}
	switch {
	case len(fail) == 0:
		return fail, usagef("--fail-on: nothing given; --exit-zero keeps findings from the exit status")
	case o.top < 0:
		return fail, usagef("--top %d: want a number from 0", o.top)
	case o.baseline == "" && opt.Sort == perf.SortGrowth:
		return fail, usagef("--sort growth needs --baseline PATH")
	}
	opt.Baseline, opt.NoSpan, opt.Thresholds, opt.Top, opt.Workers = o.baseline, !o.allNodes, o.thresholds, o.top, o.dumps.workers
	for _, n := range []struct {
		flag string
		from *number
		to   *float64
	}{{"--mhz", &o.mhz, &opt.MHz}, {"--peak-bpc", &o.peak, &opt.PeakBPC}} {
		if n.from.value == nil {
			continue
		}
		if *n.to = *n.from.value; *n.to <= 0 {
			return fail, usagef("%s %v: want a number above 0", n.flag, n.from)
		}
	}
	opt.Filter, err = o.node.filter()
	return fail, err
}

// modeVariable is the environment variable that says what a run of HPAA keeps.
const modeVariable = "DUMP_OP_PERF"

// dumpMode is what the environment says of the way in which cycles were counted.
func (a *app) dumpMode() perf.DumpMode {
	switch strings.TrimSpace(a.getenv(modeVariable)) {
	case "1":
		return perf.ModePlain
	case "2":
		return perf.ModeDumping
	}
	return perf.ModeUnknown
}

// runPerf reads tables and reports what is in them.
func runPerf(ctx context.Context, a *app, opts *perfOptions, args []string) error {
	opt := perf.Options{Paths: args, Mode: a.dumpMode()}
	if len(args) == 0 {
		root := a.getenv(memoryPath)
		if root == "" {
			return usagef("no table or folder given, and no $%s", memoryPath)
		}
		opt.Paths = []string{root}
	}
	fail, err := opts.resolve(&opt)
	if err != nil {
		return err
	}
	if opt.Baseline != "" {
		if err := exists(opt.Baseline); err != nil {
			return err
		}
	}
	r, err := perf.Analyze(ctx, opt)
	if err != nil {
		return err
	}
	outcome := r.Outcome(fail)
	if outcome.Kind != batch.Nothing && len(r.Files) > 0 {
		if err := writeReports(a, &opts.output, r, report.Options{}, r.Inputs...); err != nil {
			return err
		}
	}
	if opts.output.out != "" || !slices.Contains([]string{"text", "md"}, opts.output.formats[0]) {
		for _, note := range r.Notes {
			a.say([]batch.Message{batch.Warnf("%s", "%s", note.Text)})
		}
	}
	return a.conclude(opts.exitZero.of(outcome))
}
