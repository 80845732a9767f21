package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/cluster"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// clusterOptions are the flags of the commands that write down jobs.
type clusterOptions struct {
	job      cluster.Job
	work     string
	run      string
	parallel int
}

func newClusterCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "cluster",
		Short: "do the work of a command in shards, on many machines",
		Long: `cluster prints jobs for a scheduler - Slurm, Kubernetes, Volcano - that do the work of
compare, overflow scan, overflow analyze or convert in shards and merge what these write.
It submits nothing. local runs the shards as processes on this machine.

Every run has an ID of its own, in the name of the folder of its shards and in their
documents: a merge takes no others.`,
	})
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	cmd.AddCommand(
		newClusterJobCommand(a, "slurm", "print a script that submits the work to Slurm", "submit.sh",
			func(j *cluster.Job) (string, error) { return j.Slurm(), nil }, clusterSlurm),
		newClusterJobCommand(a, "kubernetes", "print Jobs that do the work on Kubernetes", "jobs.yaml", (*cluster.Job).Kubernetes, clusterKubernetes),
		newClusterJobCommand(a, "volcano", "print a job that does the work on Volcano", "job.yaml", (*cluster.Job).Volcano, clusterVolcano),
		newClusterLocalCommand(a),
	)
	return cmd
}

// What the commands say of themselves.
const (
	clusterSlurm = `slurm prints a script that submits an array for the shards, and the merge behind it.
All machines have to see the same folders, or the paths are in object storage. Called
as 'bash submit.sh repair' the script submits what is missing, and the merge, again.`
	clusterKubernetes = `kubernetes prints an Indexed Job for the shards and a Job for the merge. Both start at
once, and the merge waits for what the shards write, which has to be in object storage
or on a volume that you add. The keys come from the secret.`
	clusterVolcano = `volcano prints one job with a task for the shards and one for the merge, which waits
for what the shards write. That has to be in object storage or on a volume that you
add. The keys come from the secret.`
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
			if parts := opts.job.Parts; name != "slurm" && !store.Remote(parts) {
				a.msg.Warnf("%s is a local path: mount a volume there in every pod", parts)
			}
			_, err = a.out.WriteString(text)
			return unlessClosed(err)
		},
	}
	cmd.Long += exitStatus()
	j := &opts.job
	*j = cluster.Job{Name: "dumptool", CPUs: 4, Memory: "1Gi", MergeMemory: "8Gi", Image: "registry.example/dumptool:1", Secret: "s3-credentials"}
	opts.define(cmd, "beside -out of the command")
	define(cmd, cmdFlag{"name", text(&j.Name), "`NAME` that those of the jobs begin with", more, 0},
		cmdFlag{"cpus", whole(&j.CPUs, math.MinInt, math.MaxInt, "want a number"), "CPUs of a shard", more, safe},
		cmdFlag{"memory", text(&j.Memory), "memory of a shard, `SIZE` such as 512Mi or 8Gi", more, 0},
		cmdFlag{"merge-memory", text(&j.MergeMemory), "memory of the merge, `SIZE` such as 8Gi", more, 0})
	if name != "slurm" {
		define(cmd, cmdFlag{"image", text(&j.Image), "`IMAGE` of the container with dumptool", more, 0},
			cmdFlag{"secret", text(&j.Secret), "`NAME` of the secret with the keys of the object storage, as environment", more, 0})
	}
	return cmd
}

func newClusterLocalCommand(a *app) *cobra.Command {
	opts := new(clusterOptions)
	cmd := &cobra.Command{
		Use:   "local -n N -- COMMAND ARGS...",
		Short: "do the work in shards that are processes on this machine",
		Long: `local runs the shards and the merge as processes of this program and ends with the exit
status of the merge: a trial of what a cluster does.`,
		Example: "  dumptool cluster local -n 4 -- compare --cpu golden --npu dumps -out report\n" +
			"  dumptool cluster local -n 4 --parallel 1 -- overflow scan dumps",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runClusterLocal(cmd, a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	opts.job = cluster.Job{Name: "local", CPUs: 1, Memory: "1Gi", MergeMemory: "1Gi"}
	opts.define(cmd, "a temporary one")
	define(cmd, cmdFlag{"parallel", whole(&opts.parallel, 0, math.MaxInt, "want at least 1, or 0 for one per CPU"), "shards at a time; default: one per CPU", more, safe})
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
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	local := cluster.Local{Program: program, Name: os.Args[0], In: a.streams.In, Out: a.streams.Out, Err: a.streams.Err, Parallel: opts.parallel, JSON: a.global.logFormat == ui.LogJSON}
	status, err := local.Run(cmd.Context(), &opts.job)
	if err != nil || status == 0 {
		return err
	}
	return reported(&codedError{status, fmt.Errorf("exit status %d", status)})
}

func (o *clusterOptions) define(cmd *cobra.Command, work string) {
	define(cmd, cmdFlag{"shards|n", whole(&o.job.N, 1, shard.MaxShards, shardsWanted), "number of shards `N`", choosing, safe},
		cmdFlag{"work", text(&o.work), "folder `DIR` of what the shards write; default: " + work, more, 0},
		runFlag(&o.run, "`ID` of the run; default: a new one"))
}

// shardsWanted is what -n wants.
var shardsWanted = fmt.Sprintf("want the number of shards, 1 to %d", shard.MaxShards)

// resolve checks the flags and takes the command line apart that is to be done in shards.
func (o *clusterOptions) resolve(a *app, cmd *cobra.Command, args []string) error {
	j := &o.job
	if j.N == 0 {
		return usagef("-n 0: %s", shardsWanted)
	}
	if o.run == "" {
		o.run = newRun()
	}
	line, err := a.parseLine(args)
	if err != nil {
		return err
	}
	line.inherit(cmd)
	j.Line = slices.Concat([]string{"dumptool", "cluster", cmd.Name(), "-n", fmt.Sprint(j.N), "--run", o.run, "--"}, args)
	j.OwnWorkers = line.given("jobs")
	if line.given("shard") || line.given("run") {
		return usagef("--shard and --run are what cluster adds")
	}
	if err := a.shareable(line); err != nil {
		return err
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

// divide makes the steps of the job. Merges know from what the shards write how these
// were called.
func (o *clusterOptions) divide(line *innerLine) error {
	j, out, work := &o.job, line.value("out"), o.work
	switch {
	case line.name == "convert" && out == "":
		return usagef("convert needs its output folder here (-out)")
	case line.name == "convert": // its shards write to one folder
		j.Parts = out
	case work != "":
		j.Parts = store.Join(work, o.run)
	case out != "":
		j.Parts = store.Join(store.Dir(out), store.Base(out)+".shards", o.run)
	default:
		return usagef("no place for what the shards write: give %s its -out, or --work", line.name)
	}
	words, run := strings.Fields(line.name), []string{"--run", o.run}
	ofMerge := func(f *pflag.Flag) bool { return f.Name == updateFlag }
	merge := slices.Concat(words, []string{"merge"}, line.flags(line.global), run)
	j.Shard = slices.Concat(words, line.flags(func(f *pflag.Flag) bool { return f.Name != "out" && !ofMerge(f) }), run, []string{"-out", j.Parts}, line.arguments())
	j.Missing = slices.Concat(merge, []string{"--missing"}, pathWords(j.Parts))
	j.Merge = slices.Concat(merge, line.flags(ofMerge))
	if line.name != "convert" && out != "" {
		j.Merge = append(j.Merge, "-out", out)
	}
	j.Merge = append(j.Merge, pathWords(j.Parts)...)
	return nil
}

// newRun makes the name of a run: of the minute, and by chance.
func newRun() string {
	return fmt.Sprintf("%04x%04x", uint16(time.Now().Unix()/60), uint16(rand.Uint32()))
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

// flags are the flags of the line that are wanted.
func (l *innerLine) flags(wanted func(*pflag.Flag) bool) []string {
	var words []string
	for _, v := range l.values {
		if wanted(v.flag) {
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
