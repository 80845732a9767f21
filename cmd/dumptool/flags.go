package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Flags that several commands have mean the same in all of them. They stand here,
// and those for the formats of reports in formats.go.

// dumpFlags are the flags of commands that read dumps.
type dumpFlags struct {
	paths            []string
	version, workers int
	rounds, ref, npu roundFlags
	ops              []string
	find             string
}

// dumpFlag adds one of the dumpFlags that not every command has.
type dumpFlag func(o *dumpFlags, flags *pflag.FlagSet)

// add adds the flags to a command: those that all commands have that read dumps
// and some others.
func (o *dumpFlags) add(cmd *cobra.Command, others ...dumpFlag) {
	for _, flag := range others {
		flag(o, cmd.Flags())
	}
}

// pathFlag is a spelling of the arguments.
func pathFlag(usage string) dumpFlag {
	return func(o *dumpFlags, flags *pflag.FlagSet) {
		flags.StringArrayVarP(&o.paths, "dump-path", "d", nil, usage)
	}
}

// morePaths is the usage of pathFlag where arguments are the usual spelling.
const morePaths = "another spelling of the argument `PATH`"

// roundsFlag are the flags that choose rounds of runs.
func roundsFlag(o *dumpFlags, flags *pflag.FlagSet) { o.rounds.add(flags, "", "") }

// opsFlag chooses operators of runs.
func opsFlag(o *dumpFlags, flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.ops, "ops", nil, "only operators of these `NAMES`, with commas between them, or re:PATTERN")
	harmless(flags, "ops")
}

// findFlag chooses dumps by what find finds.
func findFlag(o *dumpFlags, flags *pflag.FlagSet) {
	flags.StringVar(&o.find, "find", "", "only the dumps of what `QUERY` finds, as dumptool find does: resnet.py:88")
}

// found are the dumps below paths that --find chooses, by their absolute paths; nil for
// all.
func (o *dumpFlags) found(ctx context.Context, a *app, paths []string) (map[string]bool, error) {
	if o.find == "" {
		return nil, nil
	}
	q, err := find.ParseQuery(o.find, find.Auto)
	if err != nil {
		return nil, usagef("--find: %v", err)
	}
	answer, err := find.Run(ctx, q, find.Options{Paths: paths, Rounds: o.selection(), Workers: o.workers})
	switch {
	case find.IsUsage(err):
		return nil, asUsage(err)
	case err != nil:
		return nil, err
	}
	return answer.Chosen(), a.conclude(answer.ChosenOutcome())
}

// addIR adds the flag for graphs of MindSpore.
func addIR(flags *pflag.FlagSet, ir *string) {
	flags.StringVar(ir, "ir", "", "graph of MindSpore in `PATH`, or folder of graphs, in place of those in the run; off: none")
}

// checkIR checks the flag for graphs of MindSpore.
func checkIR(ir string) error {
	if ir == "" || ir == dumpdir.NoIR {
		return nil
	}
	if _, err := store.Stat(ir); err != nil {
		return usagef("--ir: %v", err)
	}
	return nil
}

// opSet are the operators that are chosen; nil for all.
func (o *dumpFlags) opSet() (*dumpdir.NameSet, error) { return nameSet("--ops", o.ops, nil) }

// sidesFlag are the flags that choose rounds of both runs, and of one.
func sidesFlag(o *dumpFlags, flags *pflag.FlagSet) {
	roundsFlag(o, flags)
	o.ref.add(flags, "ref-", "the reference")
	o.npu.add(flags, "npu-", "the NPU data")
}

// selection are the rounds that are chosen.
func (o *dumpFlags) selection() dumpdir.Selection { return o.rounds.selection(&roundFlags{}) }

// sides are the rounds that are chosen on each side.
func (o *dumpFlags) sides() (ref, npu dumpdir.Selection) {
	return o.ref.selection(&o.rounds), o.npu.selection(&o.rounds)
}

// roundFlags are flags that choose rounds by their coordinates.
type roundFlags struct {
	rank, step, graph, model choice
}

// add adds the flags, with a prefix if they are for one side only.
func (r *roundFlags) add(flags *pflag.FlagSet, prefix, side string) {
	add := func(c *choice, parse func(string) (dumpdir.Choice, error), name, values, usage string) {
		c.parse = parse
		if side != "" {
			usage = "--" + name + " for " + side + " only: `" + values + "`"
		}
		flags.Var(c, prefix+name, usage)
		harmless(flags, prefix+name)
	}
	add(&r.rank, dumpdir.ParseNumbers, "rank", "RANKS", "only these `RANKS`, such as 0|3-5|10; devices are ranks")
	add(&r.step, dumpdir.ParseNumbers, "step", "STEPS", "only these `STEPS`, such as 0|3-5|10; iterations are steps")
	add(&r.graph, dumpdir.ParseNumbers, "graph", "IDS", "only graphs, or models, of these `IDS`")
	add(&r.model, dumpdir.ParseNames, "model", "NAMES", "only networks or models of these `NAMES`, with | between them")
}

// selection are the rounds that the flags choose, and where one is not given,
// that of other flags.
func (r *roundFlags) selection(others *roundFlags) dumpdir.Selection {
	return dumpdir.Selection{
		Rank: r.rank.or(&others.rank), Step: r.step.or(&others.step), Graph: r.graph.or(&others.graph), Model: r.model.or(&others.model),
	}
}

// choice is the value of a flag that chooses values of a coordinate.
type choice struct {
	text   string
	chosen dumpdir.Choice
	parse  func(string) (dumpdir.Choice, error)
}

// or is the choice, else another one.
func (c *choice) or(other *choice) dumpdir.Choice {
	if c.text == "" {
		return other.chosen
	}
	return c.chosen
}

// Set implements the value of a flag.
func (c *choice) Set(text string) error {
	chosen, err := c.parse(text)
	if err == nil {
		c.text, c.chosen = text, chosen
	}
	return err
}

// String implements the value of a flag.
func (c *choice) String() string { return c.text }

// Type implements the value of a flag.
func (c *choice) Type() string { return "list" }

// jobsFlag is the number of workers.
func jobsFlag(usage string) dumpFlag {
	return func(o *dumpFlags, flags *pflag.FlagSet) {
		flags.IntVarP(&o.workers, "jobs", "j", 0, usage)
		alias(flags, "jobs", "max-cores")
		harmless(flags, "jobs")
	}
}

// filesRead is the usage of jobsFlag for files that are only read.
const filesRead = "files read at a time; default: one per CPU"

// containerFlag is the container of the dumps.
func containerFlag(o *dumpFlags, flags *pflag.FlagSet) {
	flags.IntVarP(&o.version, "version", "v", 0, "dump container `1|2`: protobuf or binary; default: as the file says")
	harmless(flags, "version")
}

// check checks the flags that were added.
func (o *dumpFlags) check() error {
	switch {
	case o.workers < 0:
		return usagef("-j %d: want at least 1, or 0 for one per CPU", o.workers)
	case o.version < 0 || o.version > 2:
		return usagef("-v %d: want 1 or 2", o.version)
	}
	return nil
}

// outFlag is the place of the output.
func outFlag(flags *pflag.FlagSet, out *string, byDefault, usage string) {
	flags.StringVar(out, "out", byDefault, usage)
	alias(flags, "out", "output")
}

// exitZero keeps what was found from the exit status.
type exitZero bool

func (z *exitZero) add(flags *pflag.FlagSet, found string) {
	flags.BoolVar((*bool)(z), "exit-zero", false, found+" do not change the exit status")
}

// of is an outcome as the flag wants it.
func (z exitZero) of(o batch.Outcome) batch.Outcome {
	if !z || o.Kind != batch.Found {
		return o
	}
	if !o.Shown {
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", o.Text))
	}
	return batch.Outcome{Messages: o.Messages}
}

// jsonFlag asks for JSON in place of text.
type jsonFlag bool

func (j *jsonFlag) add(flags *pflag.FlagSet, usage string) {
	flags.BoolVar((*bool)(j), "json", false, usage)
	harmless(flags, "json")
}

// format is the name of the format.
func (j jsonFlag) format() string {
	if j {
		return "json"
	}
	return "text"
}

// axisOrders are what the shell completes axis orders with.
var axisOrders = []string{"NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC"}

// parseFormat reads a format name; an empty one is none.
func parseFormat(flag, name string) (*tensor.Format, error) {
	if name == "" {
		return nil, nil
	}
	f, ok := tensor.ParseFormat(name)
	if !ok {
		return nil, usagef("%s %s: no such format, want one such as NCHW, NHWC, HWCN, NCDHW, ND, NC1HWC0, FRACTAL_Z or FRACTAL_NZ", flag, name)
	}
	return &f, nil
}

// oneOf finds a value among those that a flag knows, in any letter case and
// with _ for -.
func oneOf[S ~string](flag, value string, known []S) (S, error) {
	plain := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	for _, k := range known {
		if string(k) == plain {
			return k, nil
		}
	}
	return "", usagef("%s %s: want one of %s", flag, value, strings.Join(names(known), ", "))
}

// names turns a list of names of any type into strings.
func names[S ~string](all []S) []string {
	var list []string
	for _, s := range all {
		list = append(list, string(s))
	}
	return list
}

// completeValues lets the shell complete a flag with one of values.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}
