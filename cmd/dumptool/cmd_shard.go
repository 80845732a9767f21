package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// changesResults reports whether a flag can change a row or a round: its group chooses, pairs, adds
// facts or judges. Flags that only set other flags, or repeat the arguments, do not count.
func changesResults(f *pflag.Flag) bool {
	_, setsOthers := f.Value.(*spelling)
	return slices.Contains([]group{groupChoice, groupPairing, groupFacts, groupVerdict}, groupOf(f)) && !setsOthers && f.Name != "dump-path"
}

// isPathFlag reports whether the value of a flag is a path, which may differ between machines.
func isPathFlag(f *pflag.Flag) bool {
	kind, _ := pflag.UnquoteUsage(f)
	return slices.Contains([]string{"PATH", "FILE", "DIR"}, kind)
}

// changesReports reports whether a flag only changes what reports show, or when they fail.
func changesReports(f *pflag.Flag) bool {
	return slices.Contains([]group{groupReports, groupCI, groupDetails}, groupOf(f)) && f.Name != "out" && f.Name != "no-paths"
}

// roundOptions lists the options that change which rounds there are, and how they are judged.
var roundOptions = []string{"rank", "step", "graph", "model", "round", "order", "check"}

// optionsOf lists the flags that were given to a command and change rows or rounds.
func optionsOf(flags *pflag.FlagSet) (all []shard.Option) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || !changesResults(f) || isPathFlag(f) || f.Value.String() == f.DefValue {
			return
		}
		x := shard.Option{Name: f.Name, Value: strings.Join(valuesOf(f), ","), Values: listOf(f), Of: shard.OfRow}
		if slices.Contains(roundOptions, strings.TrimPrefix(strings.TrimPrefix(f.Name, "ref-"), "npu-")) {
			x.Of = shard.OfRound
		}
		all = append(all, x)
	})
	return all
}

// wordsOf returns a word for each value of the given flags for which wanted is true.
func wordsOf(flags *pflag.FlagSet, wanted func(*pflag.Flag) bool) (words []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || !wanted(f) {
			return
		}
		values := []string{f.Value.String()}
		if l, ok := f.Value.(interface{ words() []string }); ok {
			values = l.words()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return words
}

// argvOf returns the command line of a command.
func argvOf(cmd *cobra.Command, args []string) []string {
	words := wordsOf(cmd.Flags(), func(*pflag.Flag) bool { return true })
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	return words
}

// reportWords returns the words of a command line about reports.
func reportWords(flags *pflag.FlagSet, argv []string) (words []string) {
	for _, word := range argv {
		if word == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if f := flags.Lookup(name); f != nil && changesReports(f) {
			words = append(words, word)
		}
	}
	return words
}

// shardable holds the options of a command that can work in shards. origin returns the origin of the
// document that the command would write: it lists the runs and reads nothing else.
type shardable interface {
	makeOrigin(cmd *cobra.Command, a *app, args []string) (shard.Origin, error)
}

// shardFlag chooses the part of the work.
const shardFlag = "shard"

// shardOptions holds the flags of commands that write a document of a part of their work.
type shardOptions struct {
	shard  string
	run    string
	resume bool
	// compress: documents of shards are compressed.
	compress bool
	// wholeRuns: whole runs are resumed too. ofReports: their rows hold only the data for the
	// requested reports.
	wholeRuns, ofReports bool
}

func (o *shardOptions) listFlags() []cmdFlag {
	return []cmdFlag{
		{shardFlag, textValue(&o.shard), "do part `I/N` of the work, I from 0; merge joins the parts; auto/N: I from the scheduler", groupMore, topicShards},
		runFlag(&o.run, "`ID` of the run; a merge takes only documents of this run"),
		{"compress", boolSwitch(&o.compress), "with --shard: write the document as .json.zst, which merge, report and judge read", groupMore, rareLevel | topicShards},
		{"resume|retry-errors", boolSwitch(&o.resume), "continue the same work in -out: keep its results, and do only the missing part (not fetched, or not reached)", groupMore, rareLevel | topicShards},
	}
}

// resolve checks the flags of a command that writes to the folder out.
func (o *shardOptions) resolve(a *app, out string) (shard.Spec, error) {
	spec, notes, err := shard.Parse(o.shard, a.getenv)
	for _, n := range notes {
		a.infof("%s", n)
	}
	switch {
	case err != nil:
		return spec, asUsage(err)
	case spec.IsSharded() && out == "":
		return spec, usagef("--shard needs the folder that all shards write to (-out)")
	case o.compress && !spec.IsSharded():
		return spec, usagef("--compress needs --shard")
	case o.resume && !spec.IsSharded() && !o.wholeRuns:
		return spec, usagef("--resume needs --shard")
	case o.resume && out == "":
		return spec, usagef("--resume needs the folder of the earlier run (-out)")
	}
	return spec, nil
}

// newOrigin returns the origin of a command's document.
func (o *shardOptions) newOrigin(cmd *cobra.Command, args []string, spec shard.Spec, listing string) shard.Origin {
	origin := shard.Origin{Tool: toolName(), Listing: listing, Options: optionsOf(cmd.Flags()), RunID: o.run}
	if spec.IsSharded() {
		origin.Shard = &spec
	}
	if spec.IsSharded() || o.ofReports {
		origin.Argv = argvOf(cmd, args)
	}
	return origin
}

// findEarlier returns, with --resume, the origin of the document at path. It returns nil if there is
// none or it belongs to other work.
func (o *shardOptions) findEarlier(a *app, path string, origin *shard.Origin) *shard.Document {
	if !o.resume {
		return nil
	}
	d, err := shard.ReadOrigin(path)
	if err != nil {
		return nil
	}
	if !d.IsSameWork(origin) {
		a.infof("%s was made from other files or with other options: everything is done again", path)
		return nil
	}
	return &d
}

// isFinished reports whether --resume finds the finished document of a shard at path. complete reports
// whether a document has no gaps.
func (o *shardOptions) isFinished(a *app, path string, origin *shard.Origin, complete func(d *shard.Document) bool) bool {
	d := o.findEarlier(a, path, origin)
	if d == nil || !complete(d) {
		return false
	}
	a.printComplete(path)
	return true
}

// printComplete prints that --resume finds nothing to do.
func (a *app) printComplete(path string) {
	a.infof("%s is complete: nothing is done again", path)
}

// unfetchedError returns the error of a shard whose document lacks some data.
func unfetchedError(n int) error {
	return hintf(incompletef("%s could not be fetched", lang.CountText(n, "tensor")), "the same command line with --resume repeats only these")
}

// printShardWritten prints where the document of a shard is.
func (a *app) printShardWritten(spec shard.Spec, path string) {
	a.infof("shard %s written to %s", spec, path)
}

// runForm matches the ID of a run.
var runForm = lang.Pattern(`^[A-Za-z0-9._-]{1,64}$`)

// runName is the name of the flag for the ID of a run.
const runName = "run"

// runFlag is the flag for the ID of a run.
func runFlag(to *string, usage string) cmdFlag {
	v := textValue(to)
	v.read = func(text string) (string, error) {
		if text != "" && !runForm().MatchString(text) {
			return "", wantf("want at most 64 letters, digits and any of . _ -")
		}
		return text, nil
	}
	return cmdFlag{runName, v, usage, groupMore, rareLevel}
}

// waitUntil retries until there is no error, or for at most a time, and returns the last error.
func waitUntil(ctx context.Context, most time.Duration, try func() error) error {
	end := time.Now().Add(most)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := try()
		left := time.Until(end)
		if err == nil || left <= 0 {
			return err
		}
		if err := sleep(ctx, min(wait, left)); err != nil {
			return err
		}
	}
}

// valuesOf returns the values of a flag.
func valuesOf(f *pflag.Flag) []string {
	if _, several := f.Value.(pflag.SliceValue); several {
		return listOf(f)
	}
	return []string{f.Value.String()}
}

// listOf returns the values of a flag that may be repeated, nil for others.
func listOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return nil
}

// Limits of the wait between two looks at documents.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
