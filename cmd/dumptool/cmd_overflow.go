package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
	"dumptool/internal/statusreg"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

func newOverflowCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "overflow",
		Short: "find the operators that overflowed, and why",
		Long: `overflow reads the data that a device leaves behind when numbers overflow: its
overflow records (OpDebug dumps), their status words, and the dumps of the
operators.`,
	})
	cmd.Long += exitStatus(exitFinding, exitNothing, exitInterrupted)
	cmd.AddCommand(
		newOverflowDecodeCommand(a),
		newOverflowStatusCommand(a),
		newOverflowAnalyzeCommand(a),
		newOverflowScanCommand(a),
		newOverflowWatchCommand(a),
	)
	return cmd
}

// overflowTreeOptions holds the flags of the commands that read all dumps of trees.
type overflowTreeOptions struct {
	overflow.Options
	paths, ops []string
	open       dumpdir.Options
	output     reportOptions
	exitZero   exitZero
	shards     shardOptions // for commands with --shard
	// list is the file of --write-list.
	list string
}

// defineOverflow adds the flags of a command with report type R, and others. usage is of
// --exit-zero.
func defineOverflow[R any](cmd *cobra.Command, o *overflowTreeOptions, usage string, others ...cmdFlag) {
	addFlags(cmd, slices.Concat([]cmdFlag{pathFlag(&o.paths, "folder `PATH` with the dumps")}, roundFlags(&o.Select), []cmdFlag{opsFlag(&o.ops)}, others, []cmdFlag{readersFlag(&o.Workers), o.exitZero.flag(usage)})...)
	addReportFlags[R](cmd, &o.output)
}

// overflowReport is the report of overflow, overflow scan, overflow watch or overflow headroom.
type overflowReport interface {
	Outcome(reported bool) batch.Outcome
}

// overflowDocument is an overflowReport that shards write and merge reads.
type overflowDocument interface {
	overflowReport
	SetOrigin(origin shard.Origin)
	Unread() int
	Unfetched() int
}

// prepare lists the given trees, and returns the origin of the document. check checks the flags for
// reports.
func (o *overflowTreeOptions) prepare(cmd *cobra.Command, a *app, args []string, check func(*reportOptions) error) (run *dumpdir.Run, origin shard.Origin, err error) {
	paths := append(o.paths, args...)
	if len(paths) == 0 {
		return nil, origin, usagef("no file or folder given")
	}
	if err := cmp.Or(checkIR(o.open.IR), check(&o.output)); err != nil {
		return nil, origin, err
	}
	if o.Ops, err = readOps(o.ops); err != nil {
		return nil, origin, err
	}
	if cmd.Flag("shard") != nil {
		if o.Shard, err = o.shards.resolve(a, o.output.out); err != nil {
			return nil, origin, err
		}
		if o.shards.resume && !o.Shard.IsSharded() && !slices.Contains(o.output.formats, "json") {
			return nil, origin, usagef("--resume needs the document of the earlier run: --format json in both")
		}
	}
	o.open.Skip, o.open.NoRaw = o.output.out, true
	if run, err = a.openRun(cmd.Context(), paths, o.open, o.Select); err != nil {
		return nil, origin, err
	}
	return run, o.shards.newOrigin(cmd, args, o.Shard, run.Listing()), nil
}

// makeOrigin implements shardable.
func (o *overflowTreeOptions) makeOrigin(cmd *cobra.Command, a *app, args []string) (shard.Origin, error) {
	_, origin, err := o.prepare(cmd, a, args, func(*reportOptions) error { return nil })
	return origin, err
}

// runOverflowReport opens the given trees, analyzes them with look and writes the report, or the document
// of a shard.
func runOverflowReport[R overflowReport](cmd *cobra.Command, a *app, o *overflowTreeOptions, args []string, doing string,
	look func(context.Context, *dumpdir.Run, overflow.Options) (R, error),
) error {
	ctx := cmd.Context()
	run, origin, err := o.prepare(cmd, a, args, checkReports[R])
	if err != nil {
		return err
	}
	r, complete := readEarlierOverflow[R](a, o, &origin)
	if complete && o.Shard.IsSharded() {
		return nil
	}
	if !complete {
		o.Previous, _ = any(r).(*overflow.ScanReport)
		r, err = withProgress(a, doing, func(observe func(batch.Event)) (R, error) {
			o.Observe = observe
			return look(ctx, run, o.Options)
		})
	}
	var none R
	if err != nil && (any(r) == any(none) || o.Shard.IsSharded()) {
		return err
	}
	if d, ok := any(r).(overflowDocument); ok {
		origin.Unfetched, origin.Interrupted = d.Unfetched(), err != nil
		d.SetOrigin(origin)
	}
	if err == nil {
		err = o.writeList(a, r, append(o.paths, args...))
	}
	if err != nil {
		return cmp.Or(writeReports(a, &o.output, r, report.Options{}), err)
	}
	if o.Shard.IsSharded() { // a shard only needs a complete document
		return writeShard(a, o, r)
	}
	return concludeReport(a, &o.output, o.exitZero, r, r.Outcome(o.output.printsText()))
}

// overflowFile returns the path of the document of the run or of the shard.
func overflowFile[R any](o *overflowTreeOptions) string {
	return shard.FindNamed(store.Join(o.output.out, o.Shard.Folder(), report.WriterOf[R]("json").File))
}

// readEarlierOverflow returns the report of the same work that --resume finds, or nil. complete reports
// whether it has no gaps.
func readEarlierOverflow[R overflowReport](a *app, o *overflowTreeOptions, origin *shard.Origin) (r R, complete bool) {
	if !o.shards.resume {
		return r, false
	}
	path := overflowFile[R](o)
	d := o.shards.findEarlier(a, path, origin)
	if d == nil || d.Decode(&r) != nil {
		var none R
		return none, false
	}
	complete = d.IsReproducible()
	if o.Shard.IsSharded() { // broken files may have been repaired
		complete = complete && any(r).(overflowDocument).Unread() == 0
	}
	if complete {
		a.printComplete(path)
	}
	return r, complete
}

// writeShard writes the document of a shard.
func writeShard[R overflowReport](a *app, o *overflowTreeOptions, r R) error {
	path, err := report.WriteDocument(report.NewFolder(store.Dir(overflowFile[R](o))), r, o.shards.compress)
	if err != nil {
		return err
	}
	a.printShardWritten(o.Shard, path)
	if n := any(r).(overflowDocument).Unfetched(); n > 0 {
		return unfetchedError(n)
	}
	return nil
}

func newOverflowAnalyzeCommand(a *app) *cobra.Command {
	opts := &overflowTreeOptions{open: dumpdir.Options{Graphs: true}}
	cmd := &cobra.Command{
		Use:   "analyze -d DIR",
		Short: "find the operator that overflowed first, and why",
		Long: `analyze finds the overflow records below DIR - of any number of devices, steps
and models - and matches each with the dump of its operator: by the ids in the
record, by the ids in the file names, or as a guess by time; the rule is shown. It
reads the tensors of the operator and says whether the bad values were produced
there or came in. For the first record of each rank it also shows which operators
feed it, if a graph is there. Records are ordered by rank, step and time; devices
are ranks. If there are more than 20 records, the text has one line for each
operator, with the ranks and steps of its overflows, and the first record in
full; --all shows all records in full.

With --shard it examines the records of a part of the rounds and writes the
result to a folder below -out; 'dumptool merge' makes one report from the results
of all shards.`,
		Example: `  dumptool overflow analyze -d dumps
  dumptool overflow analyze -d dumps -n 3 --lang zh
  dumptool overflow analyze -d dumps -out report --format text,json,csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOverflowReport(cmd, a, opts, args, "analyzing", overflow.Analyze)
		},
	}
	cmd.Long += formatHelp[*overflow.Report]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	defineOverflow[*overflow.Report](cmd, opts, "overflow records do not change the exit status", append([]cmdFlag{
		{"top-num|n", integerOrAll(&opts.MaxRecords, 1, 0), "examine the first `N` records of each rank, or all", groupChoice, 0},
		{"all", boolSwitch(&opts.All), "show all records in full", groupReports, 0},
		irFlag(&opts.open.IR),
	}, opts.shards.listFlags()...)...)
	a.shardable[cmd] = opts
	cmd.AddCommand(newMergeSubcommand(a, mergeAnalyses))
	return cmd
}

type overflowDecodeOptions struct {
	paths    []string
	rounds   dumpdir.Selection
	out      string
	extended bool
	exitZero exitZero
}

func newOverflowDecodeCommand(a *app) *cobra.Command {
	opts := new(overflowDecodeOptions)
	cmd := &cobra.Command{
		Use:   "decode FILE...",
		Short: "turn overflow records into JSON",
		Long: `decode prints the overflow records (OpDebug dumps) in FILE as JSON, in the same
form as convert, for every kind of accelerator and both layouts of records. With
several records the output is a stream of JSON values, as jq reads it. -out
writes each to DIR/NAME.output.N.json instead.

FILE is a dump file under any name, a folder, in which all records are found and
other files left alone, or the JSON of a record, also as MindSpore writes it.
When MindSpore took a record of newer devices for one of older devices, what is
left of it is printed: unit, model, stream and task. Files that are named one by
one may also be bare payloads, in .bin, .npy or a dump without the usual name.

--extended prints an object with the record and what is known of it: the time in
the name of the file (in UTC), whether the record is valid and reports an
overflow, ids and status words in hex, the causes in English and Chinese with
advice, bits that no public source explains, and warnings. A record that cannot be read is an object with the key "error".

The exit status is 1 when a record reports an overflow, that is when it is
valid and a status word is not 0. A valid record the status of which is lost
counts too. Where some files could not be read it is 3 in any case.`,
		Example: `  dumptool overflow decode Opdebug.Node_OpDebug.171.16.1624605159913046
  dumptool overflow decode --extended dumps | jq -r '.areas[].causes[].en'
  dumptool overflow decode -out out dumps`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowDecode(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFinding, exitNothing, exitInterrupted)
	addFlags(cmd, append(roundFlags(&opts.rounds), morePaths(&opts.paths),
		cmdFlag{"extended", boolSwitch(&opts.extended), "print causes, hex values, time and warnings too", groupReports, 0},
		cmdFlag{"json", boolSwitch(new(bool)), "print JSON, which is the only form", groupReports, hiddenLevel},
		outFlag(&opts.out, "write files to folder `DIR`, not to stdout"), opts.exitZero.flag("overflows do not change the exit status"))...)
	return cmd
}

func runOverflowDecode(ctx context.Context, a *app, opts *overflowDecodeOptions, args []string) error {
	args = append(opts.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	run, err := a.openRun(ctx, args, dumpdir.Options{Skip: opts.out}, opts.rounds)
	if err != nil {
		return err
	}
	if err := run.Choose(ctx, opts.rounds, nil, dumpdir.HeaderOptions{}); err != nil {
		return err
	}
	output := report.NewRecordOutput(opts.out, a.out, opts.extended)
	sum, err := withProgress(a, "decoding", func(observe func(batch.Event)) (overflow.DecodeSummary, error) {
		if opts.out == "" && a.streams.OutTTY { // a bar would disturb results on the terminal
			observe = nil
		}
		return overflow.Decode(ctx, run, observe, func(f *overflow.RecordFile) error {
			err := output.Write(f)
			a.printMessages(f.Messages())
			return err
		})
	})
	if a.streams.OutTTY { // the prompt comes next
		err = cmp.Or(err, output.EndLine())
	}
	if err != nil {
		return err
	}
	return a.conclude(opts.exitZero.applyTo(output.Outcome(run, &sum)))
}

func newOverflowScanCommand(a *app) *cobra.Command {
	opts := &overflowTreeOptions{open: dumpdir.Options{Graphs: true}, shards: shardOptions{wholeRuns: true}}
	cmd := &cobra.Command{
		Use:   "scan PATH...",
		Short: "find NaN, infinities and saturated values in ordinary dumps",
		Long: `scan reads every tensor of the dumps and arrays in PATH once and lists the
tensors with NaN, infinities or the largest number of their floating-point type.
The list is ordered by rank, step and execution, and marks the first such tensor
of each rank. Every device counts as a rank. Integers at the limits of their
type are counted, but are not reported as faults. Tensors dumped as statistics
only (statistic.csv, the tables of CANN) are judged by these statistics.

If more than 20 executions have bad tensors, the text has one line for each
operator, and the first execution in full. --all lists every tensor, good ones
too.

--headroom TYPE predicts which operators would overflow in float16 or another
type. It needs a run without overflows, in any type, and uses the largest
numbers of the outputs and two sums that it computes from the inputs: the sum of
squares of a normalisation, and the products of q and k of an attention before
they are scaled. An operator with less than 1 bit of margin (factor 2) is TIGHT.

--shard I/N reads one of N parts: some of the rounds, or some operators of a
round that is larger than a part. It writes its result to a file in the folder
of -out; 'overflow scan merge' makes one report of all parts. --resume continues
an interrupted run, or a run in which object storage stopped answering, and does
not read finished steps again.`,
		Example: `  dumptool overflow scan dumps
  dumptool overflow scan dumps --all --format csv > all.csv
  dumptool overflow scan dumps --headroom --write-list keep.txt
  dumptool overflow scan dumps --shard auto/16 -out shards`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opts.Headroom == "" && opts.list != "":
				return usagef("--write-list lists the operators that overflow by --headroom: add --headroom")
			case opts.Headroom == "":
				return runOverflowReport(cmd, a, opts, args, "scanning", overflow.Scan)
			case opts.shards.shard != "" || opts.shards.resume:
				return usagef("--headroom looks at whole runs: without --shard and --resume")
			}
			return runOverflowReport(cmd, a, opts, args, "scanning", overflow.FindHeadroom)
		},
	}
	cmd.Long += formatHelp[*overflow.ScanReport]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	defineOverflow[*overflow.ScanReport](cmd, opts, "bad tensors do not change the exit status", append([]cmdFlag{
		{"headroom", makeOptional(overflow.HeadroomTypes[0], choice(&opts.Headroom, overflow.HeadroomTypes)), fillUsage("which operators of a clean run overflow in `TYPE`: %s; default: float16", overflow.HeadroomTypes), groupVerdict, 0},
		{"write-list", textValue(&opts.list), "with --headroom: write the operators that overflow to `FILE`: names for ATC --keep_dtype, types for --modify_mixlist (*.json), modules of PyTorch", groupReports, 0},
		{"all", boolSwitch(&opts.All), "show all tensors, also good ones", groupChoice, 0},
		irFlag(&opts.open.IR),
		stemsFlag(&opts.open.Stem),
	}, opts.shards.listFlags()...)...)
	a.shardable[cmd] = opts
	cmd.AddCommand(newMergeSubcommand(a, mergeScans))
	return cmd
}

// writeList writes the file of --write-list, if there is one.
func (o *overflowTreeOptions) writeList(a *app, r overflowReport, inputs []string) error {
	h, ok := r.(*overflow.HeadroomReport)
	if !ok || o.list == "" || !h.Clean {
		return nil
	}
	list, err := h.List(o.list)
	if err != nil {
		return asUsage(err)
	}
	a.printMessages(list.Messages)
	return report.NewFolder(store.Dir(o.list), inputs...).Write(store.Base(o.list), list.Write)
}

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
			return runOverflowReport(cmd, a, opts, args, "comparing", overflow.Watch)
		},
	}
	cmd.Long += formatHelp[*overflow.WatchReport]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	defineOverflow[*overflow.WatchReport](cmd, opts, "overwritten outputs do not change the exit status")
	return cmd
}

type overflowStatusOptions struct {
	register statusreg.Register
	json     jsonFlag
	exitZero exitZero
}

func newOverflowStatusCommand(a *app) *cobra.Command {
	opts := &overflowStatusOptions{register: statusreg.AICore}
	cmd := &cobra.Command{
		Use:   "status [VALUE]...",
		Short: "explain status words and error registers",
		Long: `status says what the bits of status words and error registers mean. A VALUE is a
number, decimal or hexadecimal after 0x, or a piece of a log that holds some,
such as 'errcode:(0, 0x8000, 0)', whose words are put together. Without VALUE,
and for -, the lines of stdin are searched: logs of the runtime (errcode,
AIC_ERROR, error code, dha status), overflow records as JSON or text, and lines
of plain numbers; everything else in them is left alone.

--register says what plain numbers are. Values that a log names are those of
the register that it names.

` + registerList() + `
With --json the result is a list of objects with the keys value, register, bits
and unknown; value, mask and unknown are strings in hex, and unknown holds the
bits that no public source explains. Each of bits has the keys mask, name, en, zh
and advice, and where it applies code (of a field of bits), number (in logs of
Ascend 950), numeric, unofficial and note.

The exit status is 1 when a value has a numeric cause: for aicore, dha and
l2 that is any value but 0, for other registers a bit or code that is about the
numbers that were computed. Other errors, such as those of transfers, exit
with 0.`,
		Example: `  dumptool overflow status 272
  dumptool overflow status --register sdma --lang zh 11
  dumptool overflow status 'errcode:(0, 0x8000, 0)'
  grep -h aicore ~/ascend/log/*.log | dumptool overflow status --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowStatus(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFinding, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowStatusOptions) addFlags(cmd *cobra.Command) {
	register := &value[statusreg.Register]{to: &o.register, kind: "string", givenText: o.register.String(), read: func(text string) (statusreg.Register, error) {
		r, ok := statusreg.ParseRegister(text)
		if !ok {
			return r, wantf("no such register, see 'dumptool help overflow status'")
		}
		return r, nil
	}}
	for _, r := range statusreg.Registers() {
		register.known = append(register.known, r.String())
	}
	addFlags(cmd, cmdFlag{"register", register, "register `NAME` of the plain numbers", groupChoice, 0},
		o.json.flag("print a JSON list"), o.exitZero.flag("numeric causes do not change the exit status"))
}

// registerList returns the list of registers for the help.
func registerList() string {
	var b strings.Builder
	b.WriteString("Registers:\n")
	for _, r := range statusreg.Registers() {
		title, _, _ := strings.Cut(r.Title().String(), ";")
		fmt.Fprintf(&b, "  %-15s %s\n", r, title)
	}
	return b.String()
}

func runOverflowStatus(ctx context.Context, a *app, opts *overflowStatusOptions, args []string) error {
	if len(args) == 0 {
		args = []string{stdinArg}
	}
	// Report all mistakes before the first result.
	values := make([][]statusreg.FoundValue, len(args))
	for i, arg := range args {
		var err error
		if arg == stdinArg {
			continue
		}
		if values[i], err = statusreg.ParseText(arg); err != nil {
			return asUsage(err)
		}
	}
	list := &report.StatusList{Text: a.textOptions(), JSON: bool(opts.json), W: a.out, Register: opts.register}
	err := a.explainArguments(ctx, list, args, values)
	if err := cmp.Or(err, list.Close()); err != nil {
		return err
	}
	return a.conclude(opts.exitZero.applyTo(list.Outcome()))
}

// stdinArg stands for the standard input.
const stdinArg = "-"

// explainArguments explains the values of all arguments.
func (a *app) explainArguments(ctx context.Context, list *report.StatusList, args []string, values [][]statusreg.FoundValue) error {
	for i, arg := range args {
		err := list.Explain(0, values[i])
		if arg == stdinArg {
			err = a.explainLines(ctx, list)
		}
		if err = cmp.Or(err, a.out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// explainLines explains the values in the lines of the standard input.
func (a *app) explainLines(ctx context.Context, list *report.StatusList) error {
	if a.streams.InTTY {
		a.infof("reading values from the terminal, Ctrl-D ends them")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ui.ReadLines(ctx, a.streams.In)
	var finder statusreg.Finder
	for {
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		list.Lines++
		if line.Cut {
			a.warnf("stdin: line %d is longer than %d bytes: the rest of it is left out", list.Lines, ui.MaxLine)
		}
		err = list.Explain(list.Lines, finder.Find(line.Text))
		if err = cmp.Or(err, a.out.Flush()); err != nil { // somebody may be following a log
			return err
		}
	}
}
