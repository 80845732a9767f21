package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/cluster"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// clusterOptions are the flags of the commands that write down jobs.
type clusterOptions struct {
	job      cluster.Job
	work     string
	parallel int
}

func newClusterCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "cluster",
		Short: "do the work of a command in shards, on many machines",
		Long: `cluster prints jobs for a scheduler - Slurm, Kubernetes, Volcano - that do the work of
compare, overflow scan, overflow analyze or convert in shards and merge their parts.
It submits nothing. local runs the shards as processes on this machine.`,
	})
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	cmd.AddCommand(
		newClusterJobCommand(a, "slurm", "print a script that submits the work to Slurm", "submit.sh",
			func(j *cluster.Job) (string, error) { return j.Slurm(), nil }, clusterSlurm),
		newClusterJobCommand(a, "kubernetes", "print Jobs that do the work on Kubernetes", "jobs.yaml", (*cluster.Job).Kubernetes, clusterKubernetes),
		newClusterJobCommand(a, "volcano", "print a job that does the work on Volcano", "job.yaml", (*cluster.Job).Volcano, clusterVolcano),
		newClusterLocalCommand(a),
		newClusterWaitCommand(a),
	)
	return cmd
}

// What the commands say of themselves.
const (
	clusterSlurm = `slurm prints a script that submits the plan, an array for the shards and the merge.
All machines have to see the same folders, or the paths are in object storage. Called
as 'bash submit.sh repair' the script submits what is missing, and the merge, again.`
	clusterKubernetes = `kubernetes prints a Job for the plan, an Indexed Job for the shards and a Job for the
merge. All of them start at once and wait for each other's files, which have to be in
object storage or on a volume that you add. The keys come from the secret.`
	clusterVolcano = `volcano prints one job with a task for the plan, one for the shards and one for the
merge. The tasks wait for each other's files, which have to be in object storage or on
a volume that you add. The keys come from the secret.`
)

// newClusterJobCommand returns a command that prints a job as write makes it.
func newClusterJobCommand(a *app, name, short, file string, write func(*cluster.Job) (string, error), long string) *cobra.Command {
	opts := new(clusterOptions)
	cmd := &cobra.Command{
		Use: name + " -n N -- COMMAND ARGS...", Short: short, Long: long,
		Example: "  dumptool cluster " + name + " -n 100 -- compare --cpu s3://golden/run7 --npu s3://dumps/run7 -out s3://results/run7/report > " + file + "\n" +
			"  dumptool cluster " + name + " -n 16 -- overflow scan s3://dumps/run7 --format json -out s3://results/run7/scan > " + file,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.resolve(a, cmd, args); err != nil {
				return err
			}
			text, err := write(&opts.job)
			if err != nil {
				return asUsage(err)
			}
			for _, path := range opts.job.Local() {
				if name != "slurm" {
					a.msg.Warnf("%s is a local path: mount a volume there in every pod", path)
				}
			}
			_, err = a.out.WriteString(text)
			return unlessClosed(err)
		},
	}
	cmd.Long += exitStatus()
	flags := cmd.Flags()
	opts.addFlags(flags, "beside -out of the command")
	j := &opts.job
	flags.StringVar(&j.Name, "name", "dumptool", "`NAME` that those of the jobs begin with")
	flags.IntVar(&j.CPUs, "cpus", 4, "CPUs of a shard")
	harmless(flags, "cpus")
	flags.StringVar(&j.Memory, "memory", "1Gi", "memory of a shard, `SIZE` such as 512Mi or 8Gi")
	flags.StringVar(&j.MergeMemory, "merge-memory", "8Gi", "memory of the plan and of the merge, `SIZE` such as 8Gi")
	j.Image, j.Secret = "registry.example/dumptool:1", "s3-credentials"
	if name != "slurm" {
		flags.StringVar(&j.Image, "image", j.Image, "`IMAGE` of the container with dumptool")
		flags.StringVar(&j.Secret, "secret", j.Secret, "`NAME` of the secret with the keys of the object storage, as environment")
	}
	return cmd
}

func newClusterLocalCommand(a *app) *cobra.Command {
	opts := new(clusterOptions)
	cmd := &cobra.Command{
		Use:   "local -n N -- COMMAND ARGS...",
		Short: "do the work in shards that are processes on this machine",
		Long: `local runs the plan, the shards and the merge as processes of this program and ends
with the exit status of the merge: a trial of what a cluster does.`,
		Example: "  dumptool cluster local -n 4 -- compare --cpu golden --npu dumps -out report\n" +
			"  dumptool cluster local -n 4 --parallel 1 -- overflow scan dumps",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runClusterLocal(cmd, a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	opts.addFlags(cmd.Flags(), "a temporary one")
	cmd.Flags().IntVar(&opts.parallel, "parallel", 0, "shards at a time; default: one per CPU")
	harmless(cmd.Flags(), "parallel")
	opts.job.Name, opts.job.CPUs, opts.job.Memory, opts.job.MergeMemory = "local", 1, "1Gi", "1Gi"
	return cmd
}

// runClusterLocal does the work of a command in processes.
func runClusterLocal(cmd *cobra.Command, a *app, opts *clusterOptions, args []string) error {
	if opts.work == "" {
		dir, err := os.MkdirTemp("", "dumptool-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // it is ours, and in the folder for such
		opts.work = dir
	}
	if err := opts.resolve(a, cmd, args); err != nil {
		return err
	}
	if opts.parallel < 0 {
		return usagef("--parallel %d: want at least 1, or 0 for one per CPU", opts.parallel)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	local := cluster.Local{Program: program, Name: os.Args[0], In: a.streams.In, Out: a.streams.Out, Err: a.streams.Err, Parallel: opts.parallel}
	status, err := local.Run(cmd.Context(), &opts.job)
	if err != nil || status == 0 {
		return err
	}
	return reported(&codedError{status, fmt.Errorf("exit status %d", status)})
}

func newClusterWaitCommand(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait PATH",
		Short: "wait until a file is there",
		Long: `wait ends when there is a file or folder at PATH, such as the plan that shards need.
Files that dumptool writes are complete when they are there.` + exitStatus(exitInterrupted),
		Example: "  dumptool cluster wait s3://results/run7/plan.jsonl --timeout 6h",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || timeout < 0 {
				return usagef("want one path, and a time from 0")
			}
			err := waitUntil(cmd.Context(), timeout, func() error {
				_, err := store.Stat(args[0])
				return err
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				return incompletef("%w", err)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 6*time.Hour, "wait at most `TIME`")
	harmless(cmd.Flags(), "timeout")
	return cmd
}

func (o *clusterOptions) addFlags(flags *pflag.FlagSet, work string) {
	flags.IntVarP(&o.job.N, "shards", "n", 0, "number of shards `N`")
	harmless(flags, "shards")
	flags.StringVar(&o.work, "work", "", "folder `DIR` of the plan and the parts; default: "+work)
}

// resolve checks the flags and takes the command line apart that is to be done in shards.
func (o *clusterOptions) resolve(a *app, cmd *cobra.Command, args []string) error {
	j := &o.job
	if j.N < 1 || j.N > shard.MaxShards {
		return usagef("-n %d: want the number of shards, 1 to %d", j.N, shard.MaxShards)
	}
	line, err := a.parseLine(args)
	if err != nil {
		return err
	}
	line.inherit(cmd)
	j.Line = slices.Concat([]string{"dumptool", "cluster", cmd.Name(), "-n", fmt.Sprint(j.N), "--"}, args)
	j.OwnWorkers = line.given("jobs")
	if line.given("plan") || line.given("shard") {
		return usagef("--plan and --shard are what cluster adds")
	}
	if err := o.divide(line); err != nil {
		return err
	}
	if err := j.Check(); err != nil {
		return asUsage(err)
	}
	return nil
}

// shardCommands are the commands that can work in shards.
var shardCommands = []string{"compare", "overflow scan", "overflow analyze", "convert"}

// divide makes the steps of the job.
func (o *clusterOptions) divide(line *innerLine) error {
	j, words := &o.job, strings.Fields(line.name)
	out := line.value("out")
	work := o.work
	if line.name == "convert" {
		if out == "" {
			return usagef("convert needs its output folder here (-out)")
		}
		j.Parts = out
		j.Shard = slices.Concat(words, line.flags(nil), line.arguments())
		j.Merge = slices.Concat(words, []string{"merge"}, line.flags(line.global), pathWords(out))
		return nil
	}
	switch {
	case work != "":
	case out != "":
		work = store.Join(store.Dir(out), store.Base(out)+".shards")
	default:
		return usagef("no place for the parts: give %s its -out, or --work", line.name)
	}
	j.Parts = store.Join(work, "parts")
	merge := line.sub("merge")
	j.Merge = slices.Concat(words, []string{"merge"}, line.flags(func(f *pflag.Flag) bool { return f.Name != "out" && (line.global(f) || merge(f)) }))
	parts := []string{"-out", j.Parts}
	if line.name == "compare" {
		plan := line.sub("plan")
		j.PlanFile = store.Join(work, "plan.jsonl")
		j.Plan = slices.Concat(words, []string{"plan"}, line.flags(func(f *pflag.Flag) bool { return f.Name != "out" && (line.global(f) || plan(f)) }),
			[]string{"-out", j.PlanFile}, line.arguments())
		j.Shard = slices.Concat(words, []string{"--plan", j.PlanFile}, line.flags(func(f *pflag.Flag) bool { return line.global(f) || f.Name == "jobs" }), parts)
		j.Merge = slices.Concat(j.Merge, []string{"--plan", j.PlanFile}, outWords(out), pathWords(j.Parts))
		j.Missing = []string{"compare", "parts", j.Parts, "--plan", j.PlanFile, "--missing"}
		return nil
	}
	j.Shard = slices.Concat(words, line.flags(func(f *pflag.Flag) bool { return line.global(f) || !merge(f) }), parts, line.arguments())
	j.Merge = slices.Concat(j.Merge, outWords(out), pathWords(j.Parts))
	return nil
}

// outWords are the words for the place of the output, if there is one.
func outWords(out string) []string {
	if out == "" {
		return nil
	}
	return []string{"-out", out}
}

// pathWords are the words of an argument that may look like a flag.
func pathWords(path string) []string {
	if strings.HasPrefix(path, "-") {
		return []string{"--", path}
	}
	return []string{path}
}

// innerLine is the command line of a command that is to work in shards.
type innerLine struct {
	name   string // of the command, such as overflow scan
	cmd    *cobra.Command
	values []innerValue
	args   []string
}

// innerValue is a flag of the line and its value.
type innerValue struct {
	flag *pflag.Flag
	text string
}

// parseLine takes a command line apart.
func (a *app) parseLine(args []string) (*innerLine, error) {
	if len(args) == 0 {
		return nil, usagef("no command given: -- %s ... is needed", strings.Join(shardCommands, "|"))
	}
	root := newRootCommand(newApp(a.streams))
	rewritten := rewriteArgs(root, args)
	if rewritten.extra != "" {
		return nil, unknownCommand(rewritten.cmd, rewritten.extra)
	}
	cmd, rest, err := root.Find(rewritten.args)
	if err != nil {
		return nil, asUsage(err)
	}
	l := &innerLine{name: strings.Join(commandPath(cmd), " "), cmd: cmd}
	if !slices.Contains(shardCommands, l.name) {
		return nil, usagef("%q does not work in shards: want one of %s", strings.Join(args, " "), strings.Join(shardCommands, ", "))
	}
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // makes them flags of cmd
	err = cmd.Flags().ParseAll(rest, func(f *pflag.Flag, value string) error {
		l.values = append(l.values, innerValue{f, value})
		return f.Value.Set(value)
	})
	if err != nil {
		return nil, usagef("%s: %w", l.name, err)
	}
	if l.given(helpFlag) {
		return nil, usagef("see 'dumptool %s --help' for the command itself", l.name)
	}
	l.args = cmd.Flags().Args()
	return l, nil
}

// inherit adds the flags of all commands that cmd has, in front of those of the line.
func (l *innerLine) inherit(cmd *cobra.Command) {
	var values []innerValue
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		for _, text := range valuesOf(f) {
			values = append(values, innerValue{f, text})
		}
	})
	l.values = append(values, l.values...)
}

// given reports whether the line has a flag.
func (l *innerLine) given(name string) bool {
	return slices.ContainsFunc(l.values, func(v innerValue) bool { return v.flag.Name == name })
}

// value is the last value of a flag, empty for none.
func (l *innerLine) value(name string) string {
	text := ""
	for _, v := range l.values {
		if v.flag.Name == name {
			text = v.text
		}
	}
	return text
}

// global reports whether a flag is one of all commands.
func (l *innerLine) global(f *pflag.Flag) bool { return l.cmd.InheritedFlags().Lookup(f.Name) != nil }

// sub reports whether a flag other than that of the output is one of a command below.
func (l *innerLine) sub(name string) func(*pflag.Flag) bool {
	sub := subcommand(l.cmd, name)
	return func(f *pflag.Flag) bool {
		return f.Name == "out" || sub != nil && sub.LocalFlags().Lookup(f.Name) != nil
	}
}

// flags are the flags of the line that are wanted; nil wants all.
func (l *innerLine) flags(wanted func(*pflag.Flag) bool) []string {
	var words []string
	for _, v := range l.values {
		if wanted == nil || wanted(v.flag) {
			words = append(words, "--"+v.flag.Name+"="+v.text)
		}
	}
	return words
}

// arguments are the words that are no flags.
func (l *innerLine) arguments() []string {
	if slices.ContainsFunc(l.args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return append([]string{"--"}, l.args...)
	}
	return l.args
}
