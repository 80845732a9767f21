package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/cluster"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// clusterOptions holds the flags of the commands that write jobs.
type clusterOptions struct {
	job  cluster.Job
	work string
}

func newClusterCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "cluster",
		Short: "do the work of a command in shards, on many machines",
		Long: `cluster prints jobs for a scheduler - Slurm, Kubernetes, Volcano - that run compare,
overflow scan, overflow analyze or convert in shards and merge the results. It
submits nothing. local runs the shards as processes on this machine.

Every run has an ID of its own, in the name of the folder of its shards and in
their documents. A job that is submitted again does only the missing part; shards
made from other files or with other options are made again.`,
	})
	cmd.Long += exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	cmd.AddCommand(
		newClusterJobCommand(a, slurmScheduler, lang.Text{EN: "print a script that submits the work to Slurm"},
			func(j *cluster.Job) (string, error) { return j.Slurm(), nil }, clusterSlurm),
		newClusterJobCommand(a, kubernetesScheduler, lang.Text{EN: "print Jobs that do the work on Kubernetes"},
			(*cluster.Job).WriteKubernetes, clusterKubernetes),
		newClusterJobCommand(a, volcanoScheduler, lang.Text{EN: "print a job that does the work on Volcano"},
			(*cluster.Job).Volcano, clusterVolcano),
		newClusterLocalCommand(a),
		newClusterMergeCommand(a),
	)
	return cmd
}

// Schedulers.
const (
	slurmScheduler      = "slurm"
	kubernetesScheduler = "kubernetes"
	volcanoScheduler    = "volcano"
)

// Help texts of the commands.
const (
	clusterSlurm = `slurm prints a script that submits an array for the shards, and the merge behind it.
All machines have to see the same folders, or the paths are in object storage. Called
again the script submits what is missing, and the merge. Logs are in the folder of the
shards, or in dumptool-logs/ID where that is in object storage. Faults that the merge
finds are no failure of its job: the last line of its log says them.`
	clusterKubernetes = `kubernetes prints an Indexed Job for the shards and a Job for the merge. Both start at
once, and the merge waits for what the shards write, which has to be in object storage
or on a volume that you add to the pods. The keys come from the secret. The pods are what Pod
Security admits as restricted. Faults that the merge finds are no failure of its Job:
the last line of its log says them.`
	clusterVolcano = `volcano prints one job with a task for the shards and one for the merge, which waits
for what the shards write. That has to be in object storage or on a volume that you
add to the pods. The keys come from the secret. Pods that fail or are evicted restart the
job, at most three times; shards that are complete end at once then.`
)

// clusterExamples has two lines for each scheduler.
const clusterExamples = `  dumptool cluster %[1]s -n 100 -- compare --cpu s3://golden/run7 \
    --npu s3://dumps/run7 -out s3://results/run7/report > %[2]s
  dumptool cluster %[1]s -n 16 %[3]s -- \
    overflow scan s3://dumps/run7 --format json -out s3://out/scan > %[2]s`

// newClusterJobCommand returns a command that prints the job from write.
func newClusterJobCommand(a *app, on string, summary lang.Text, write func(*cluster.Job) (string, error), long string) *cobra.Command {
	opts := new(clusterOptions)
	cmd := &cobra.Command{
		Use: on + " -n N -- COMMAND ARGS...", Short: summary.EN, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := opts.resolve(a, cmd, args)
			if err != nil {
				return err
			}
			if err := opts.finishFor(on, line, cmd.Flags().Changed("secret")); err != nil {
				return err
			}
			text, err := write(&opts.job)
			if err != nil {
				return asUsage(err)
			}
			if parts := opts.shardFolder(line); on != slurmScheduler && !store.IsRemote(parts) {
				a.warnf("%s is a local path: mount a volume there in every pod", parts)
			}
			_, err = a.out.WriteString(text)
			return ignoreClosedPipe(err)
		},
	}
	cmd.Long += exitStatus()
	j := &opts.job
	*j = cluster.Job{Name: "dumptool", CPUs: 4, Memory: "1Gi", MergeMemory: "8Gi", Image: "registry.example/dumptool:1", Secret: "s3-credentials", Deadline: 6 * time.Hour}
	opts.addFlags(cmd, "folder `DIR` for the files of the shards; default: beside -out of the command")
	addFlags(cmd, cmdFlag{"name", textValue(&j.Name), "`NAME` at the beginning of all job names", groupMore, 0},
		cmdFlag{"cpus", integerValue(&j.CPUs, math.MinInt, math.MaxInt, "want a number"), "CPUs of a shard", groupMore, 0},
		cmdFlag{"memory", textValue(&j.Memory), "memory of a shard, `SIZE` such as 512Mi or 8Gi", groupMore, 0},
		cmdFlag{"merge-memory", textValue(&j.MergeMemory), "memory of the merge, `SIZE` such as 8Gi", groupMore, 0})
	if on != volcanoScheduler {
		addFlags(cmd, parallelFlag(&j.Parallel, "shards at a time; default: as many as the cluster has room for"))
	}
	file, example := map[string]string{slurmScheduler: "submit.sh", kubernetesScheduler: "jobs.yaml", volcanoScheduler: "job.yaml"}[on], "--cpus 8"
	if on == slurmScheduler {
		example = "--sbatch '--partition=cpu --time=2:00:00'"
		addFlags(cmd, cmdFlag{"sbatch", sbatchWords(&j.Sbatch), "more `OPTIONS` of sbatch for all jobs, such as '--partition=cpu --time=2:00:00'; may be repeated", groupMore, 0})
	} else {
		addFlags(cmd, cmdFlag{"image", textValue(&j.Image), "`IMAGE` of the container with dumptool", groupMore, 0},
			cmdFlag{"secret", textValue(&j.Secret), "`NAME` of the secret with the keys of the object storage, as environment", groupMore, 0},
			cmdFlag{"deadline", durationValue(&j.Deadline), "time limit `TIME` of the shards; the merge waits as long for them", groupMore, 0})
	}
	if on == volcanoScheduler {
		addFlags(cmd, cmdFlag{"queue", textValue(&j.Queue), "`QUEUE` of Volcano; default: its own", groupMore, 0})
	}
	cmd.Example = fmt.Sprintf(clusterExamples, on, file, example)
	return cmd
}

// parallelFlag limits the shards that run at a time.
func parallelFlag(to *int, usage string) cmdFlag {
	return cmdFlag{"parallel", integerValue(to, 0, math.MaxInt, "want a number from 0"), usage, groupMore, 0}
}

// sbatchWords splits each value into the words of a shell.
func sbatchWords(to *[]string) *list[[]string] {
	return &list[[]string]{to: to, read: func(lines []string) (all []string, err error) {
		for _, line := range lines {
			words, err := cluster.SplitWords(line)
			if err != nil {
				return nil, &valueError{element: line, err: err}
			}
			all = append(all, words...)
		}
		return all, nil
	}}
}

// finishFor finishes the job for one scheduler. The default secret is dropped unless a path is in
// object storage.
func (o *clusterOptions) finishFor(on string, line *innerLine, secretGiven bool) error {
	j, parts := &o.job, o.shardFolder(line)
	inputs := slices.Concat(line.inputs(), line.args)
	for _, in := range inputs {
		if line.name != "convert" && isWithin(parts, in) { // convert leaves its output out, as a single run does
			return usagef("the shards would write to %s inside %s, which they read: choose another folder by --work or -out", parts, in)
		}
	}
	if !secretGiven && !slices.ContainsFunc(append(inputs, parts, line.lastOut()), store.IsRemote) {
		j.Secret = ""
	}
	switch j.Logs = store.Join(o.folderOf(line), "logs"); {
	case store.IsRemote(j.Logs):
		j.Logs = store.Join("dumptool-logs", j.Run)
	case on == slurmScheduler && strings.HasPrefix(j.Logs, "-"):
		j.Logs = "./" + j.Logs
	}
	if err := j.Check(); err != nil {
		return asUsage(err)
	}
	return nil
}

// isWithin reports whether path equals folder or lies in it.
func isWithin(path, folder string) bool {
	path, pathErr := store.Abs(path)
	folder, folderErr := store.Abs(folder)
	if pathErr != nil || folderErr != nil {
		return false
	}
	below, err := store.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
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
	cmd.Long += exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	opts.job = cluster.Job{Name: "local", CPUs: 1, Memory: "1Gi", MergeMemory: "1Gi", Deadline: time.Hour}
	opts.addFlags(cmd, "folder `DIR` for the files of the shards; default: a temporary one")
	addFlags(cmd, parallelFlag(&opts.job.Parallel, "shards at a time; default: one per CPU"))
	return cmd
}

// runClusterLocal does the work of a command in processes.
func runClusterLocal(cmd *cobra.Command, a *app, opts *clusterOptions, args []string) error {
	if opts.work == "" {
		dir, err := os.MkdirTemp("", "dumptool-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // our own folder, in the folder for temporary files
		opts.work = dir
	}
	if _, err := opts.resolve(a, cmd, args); err != nil {
		return err
	}
	if err := opts.job.Check(); err != nil {
		return asUsage(err)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	local := cluster.Local{Program: program, Name: os.Args[0], In: a.streams.In, Out: a.streams.Out, Err: a.streams.Err, JSON: a.global.logFormat == ui.LogJSON}
	status, err := local.Run(cmd.Context(), &opts.job)
	return cmp.Or(err, endedError(status))
}

// endedError returns the error for a command that has reported its own end.
func endedError(status int) error {
	if status == 0 {
		return nil
	}
	return asReported(&codedError{status, lang.Errorf("exit status %d", status)})
}

func (o *clusterOptions) addFlags(cmd *cobra.Command, work string) {
	addFlags(cmd, cmdFlag{"shards|n", integerValue(&o.job.N, 1, shard.MaxShards, shardsWanted), "number of shards `N`", groupChoice, 0},
		cmdFlag{"work", textValue(&o.work), work, groupMore, 0},
		runFlag(&o.job.Run, "`ID` of the run; default: a new one"))
}

// shardsWanted describes the valid values of -n.
var shardsWanted = fmt.Sprintf("want the number of shards, 1 to %d", shard.MaxShards)

// resolve parses the inner command line and makes the steps of the job.
func (o *clusterOptions) resolve(a *app, cmd *cobra.Command, args []string) (*innerLine, error) {
	j := &o.job
	if j.N == 0 {
		return nil, usagef("-n 0: %s", shardsWanted)
	}
	j.Line = slices.Concat([]string{"dumptool"}, a.line)
	if j.Run == "" {
		j.Run = fmt.Sprintf("%04x%04x", uint16(time.Now().Unix()/60), uint16(rand.Uint32())) // the minute, then random digits
		end := slices.Index(j.Line, "--")
		if end < 0 {
			end = len(j.Line)
		}
		j.Line = slices.Insert(j.Line, end, "--run", j.Run)
	}
	line, err := newApp(a.streams).parseLine(args)
	if err != nil {
		return nil, err
	}
	line.prependInherited(cmd)
	j.OwnWorkers = line.hasFlag("jobs")
	if line.hasFlag("shard") || line.hasFlag("run") {
		return nil, usagef("cluster adds --shard and --run itself: remove them")
	}
	if err := a.checkArchives(line); err != nil {
		return nil, err
	}
	return line, o.splitJob(line)
}

// shardCommands lists the commands that can work in shards.
var shardCommands = []string{"compare", "overflow scan", "overflow analyze", "convert"}

// splitJob makes the steps of the job. The merge gets the whole command line, from which it derives
// the files and options that the shards must have had.
func (o *clusterOptions) splitJob(line *innerLine) error {
	j, out := &o.job, line.lastOut()
	base := store.Base(store.Clean(out))
	switch {
	case line.name == "convert" && out == "":
		return usagef("convert needs its output folder here (-out)")
	case o.work != "":
	case out == "":
		return usagef("no folder for the files of the shards: give -out to %s, or --work", line.name)
	case slices.Contains([]string{".", "..", string(filepath.Separator)}, base) || store.IsRemote(out) && store.Dir(store.Clean(out)) == store.Clean(out):
		return usagef("-out %s: no folder can be created beside it: give a folder for the files of the shards (--work)", out)
	}
	all := func(*pflag.Flag) bool { return true }
	words, run := strings.Fields(line.name), []string{"--run", j.Run}
	ofShard := func(f *pflag.Flag) bool { return f.Name != "out" && f.Name != updateFlag }
	j.Shard = slices.Concat(words, line.selectFlags(ofShard), run, []string{"-out", o.shardFolder(line)}, line.arguments())
	j.Merge = slices.Concat([]string{"cluster", "merge", "-n", strconv.Itoa(j.N)}, run)
	if o.work != "" {
		j.Merge = append(j.Merge, "--work="+o.work)
	}
	j.Merge = slices.Concat(j.Merge, []string{"--"}, words, line.selectFlags(all), line.arguments())
	return nil
}

// folderOf returns the folder of the run: beside the output, unless --work is given.
func (o *clusterOptions) folderOf(line *innerLine) string {
	work := o.work
	if work == "" {
		out := store.Clean(line.lastOut())
		work = store.Join(store.Dir(out), store.Base(out)+".shards")
	}
	return store.Join(work, o.job.Run)
}

// shardFolder returns the folder that the shards write to. All shards of convert share the output folder.
func (o *clusterOptions) shardFolder(line *innerLine) string {
	if line.name == "convert" {
		return line.lastOut()
	}
	return o.folderOf(line)
}

// innerLine is the command line of a command to run in shards.
type innerLine struct {
	name   string // the command, such as overflow scan
	cmd    *cobra.Command
	values []innerValue
	args   []string
}

// innerValue is a flag of the line and its value.
type innerValue struct {
	flag *pflag.Flag
	text string
}

// parseLine parses the command line of a command to run in shards.
func (a *app) parseLine(args []string) (*innerLine, error) {
	if len(args) == 0 {
		return nil, usagef("no command given: -- %s ... is needed", strings.Join(shardCommands, "|"))
	}
	a.firstWord = args[0]
	root := newRootCommand(a)
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
	cmd.InheritedFlags() // merges the inherited flags into cmd.Flags
	err = cmd.Flags().ParseAll(rest, func(f *pflag.Flag, value string) error {
		l.values = append(l.values, innerValue{f, value})
		err := f.Value.Set(value)
		f.Changed = f.Changed || err == nil
		return err
	})
	if err != nil {
		return nil, helpHint(cmd, asUsage(lang.Errorf("%s: %w", l.name, flagError(cmd, err))))
	}
	if l.hasFlag(helpFlag) {
		return nil, usagef("see 'dumptool %s --help' for the command itself", l.name)
	}
	l.args = cmd.Flags().Args()
	return l, nil
}

// prependInherited prepends the inherited flags set on cmd.
func (l *innerLine) prependInherited(cmd *cobra.Command) {
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

// hasFlag reports whether the line has a flag.
func (l *innerLine) hasFlag(name string) bool {
	return slices.ContainsFunc(l.values, func(v innerValue) bool { return v.flag.Name == name })
}

// lastOut returns the last value of --out, or "".
func (l *innerLine) lastOut() string {
	text := ""
	for _, v := range l.values {
		if v.flag.Name == "out" {
			text = v.text
		}
	}
	return text
}

// inputs returns the paths of runs in flags; arguments are not included.
func (l *innerLine) inputs() (paths []string) {
	for _, v := range l.values {
		if slices.Contains([]string{"cpu", "npu", "dump-path"}, v.flag.Name) {
			paths = append(paths, v.text)
		}
	}
	return paths
}

// selectFlags returns the flags of the line for which wanted is true.
func (l *innerLine) selectFlags(wanted func(*pflag.Flag) bool) []string {
	var words []string
	for _, v := range l.values {
		if wanted(v.flag) {
			words = append(words, "--"+v.flag.Name+"="+v.text)
		}
	}
	return words
}

// arguments returns the non-flag words.
func (l *innerLine) arguments() []string {
	if slices.ContainsFunc(l.args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return append([]string{"--"}, l.args...)
	}
	return l.args
}
