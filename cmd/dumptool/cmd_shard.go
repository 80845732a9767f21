package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// scopeKey is the annotation of a flag with its shard.Scope. Flags without one are of
// reports.
const scopeKey = "dumptool_of"

// ofRow, ofRound and ofTransport say what flags have a say in.
func ofRow(flags *pflag.FlagSet, names ...string)       { setScope(flags, shard.OfRow, names) }
func ofRound(flags *pflag.FlagSet, names ...string)     { setScope(flags, shard.OfRound, names) }
func ofTransport(flags *pflag.FlagSet, names ...string) { setScope(flags, shard.OfTransport, names) }

func setScope(flags *pflag.FlagSet, scope shard.Scope, names []string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, scopeKey, []string{string(scope)}); err != nil {
			panic(err)
		}
	}
}

// placeKey is the annotation of flags whose values name a place, which may be another one
// on another machine.
const placeKey = "dumptool_place"

// ofPlace says that flags have a say in rows by what is found at a place.
func ofPlace(flags *pflag.FlagSet, names ...string) {
	ofRow(flags, names...)
	for _, name := range names {
		if err := flags.SetAnnotation(name, placeKey, []string{"true"}); err != nil {
			panic(err)
		}
	}
}

// scopeOf is what a flag has a say in.
func scopeOf(f *pflag.Flag) shard.Scope {
	if of := f.Annotations[scopeKey]; len(of) > 0 {
		return shard.Scope(of[0])
	}
	return shard.OfReport
}

// optionsOf are the flags of a command that are not at their defaults and change a
// result. What the command itself has put into one is no option, but for a place, which
// an argument may name.
func optionsOf(cmd *cobra.Command) (all []shard.Option) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		of, place := scopeOf(f), f.Annotations[placeKey] != nil
		if of != shard.OfTransport && f.Name != helpFlag && (f.Changed || place) && f.Value.String() != f.DefValue {
			x := shard.Option{Name: f.Name, Value: strings.Join(valuesOf(f), ","), Path: place, Of: of}
			if _, several := f.Value.(pflag.SliceValue); several {
				x.Values = valuesOf(f)
			}
			all = append(all, x)
		}
	})
	return all
}

// shardFlag lets a command do one part of its work, for a merge of all parts.
type shardFlag string

func (s *shardFlag) add(flags *pflag.FlagSet) {
	flags.StringVar((*string)(s), "shard", "", "do part `I/N` of the work, I from 0, for a merge; auto/N: I as the scheduler says")
	ofTransport(flags, "shard")
}

// spec reads the flag. What there is to note is said.
func (s *shardFlag) spec(a *app) (shard.Spec, error) {
	spec, notes, err := shard.Parse(string(*s), a.getenv)
	for _, n := range notes {
		a.say([]batch.Message{batch.Infof("%s", "%s", n)})
	}
	if err != nil {
		return spec, asUsage(err)
	}
	return spec, nil
}

// shardOptions are the flags of commands that write a document of a part of their work.
type shardOptions struct {
	shard  shardFlag
	run    runFlag
	resume bool
}

func (o *shardOptions) add(flags *pflag.FlagSet) {
	o.shard.add(flags)
	o.run.add(flags, "`ID` of the run, for a merge of what belongs to it")
	flags.BoolVar(&o.resume, "resume", false, "with --shard: do nothing if what the shard wrote before is complete, without errors")
	alias(flags, "resume", "retry-errors")
	ofTransport(flags, "resume")
}

// resolve checks the flags of a command that writes to the folder out.
func (o *shardOptions) resolve(a *app, out string) (shard.Spec, error) {
	spec, err := o.shard.spec(a)
	switch {
	case err != nil:
		return spec, err
	case spec.On() && out == "":
		return spec, usagef("--shard needs the folder that all shards write to (-out)")
	case o.resume && !spec.On():
		return spec, usagef("--resume needs --shard")
	}
	return spec, o.run.check()
}

// origin says where the document of a command comes from.
func (o *shardOptions) origin(cmd *cobra.Command, spec shard.Spec, listing string) shard.Origin {
	origin := shard.Origin{Tool: toolName(), Listing: listing, Options: optionsOf(cmd), RunID: string(o.run)}
	if spec.On() {
		origin.Shard = &spec
	} else {
		origin.DropReport()
	}
	return origin
}

// done reports whether --resume finds the document of a shard at path as it would be
// written again. complete reads whether nothing is missing in it.
func (o *shardOptions) done(a *app, path string, origin *shard.Origin, complete func(d *shard.Document) bool) bool {
	if !o.resume {
		return false
	}
	d, err := shard.ReadOrigin(path)
	if err != nil || d.Shard == nil || *d.Shard != *origin.Shard || d.Listing != origin.Listing || d.RunID != origin.RunID ||
		d.Differing(origin) != "" || !complete(&d) {
		return false
	}
	a.say([]batch.Message{batch.Infof("%s is complete: nothing is done again", "%s 已完整：不再重做", path)})
	return true
}

// shardWritten says that the document of a shard is there.
func (a *app) shardWritten(spec shard.Spec, path string) {
	a.say([]batch.Message{batch.Infof("shard %s written to %s", "分片 %s 已写入 %s", spec, path)})
}

// runFlag is the name of a run.
type runFlag string

// runForm is the name of a run.
var runForm = lang.Pattern(`^[A-Za-z0-9._-]{1,64}$`)

func (r *runFlag) add(flags *pflag.FlagSet, usage string) {
	flags.StringVar((*string)(r), "run", "", usage)
	ofTransport(flags, "run")
	harmless(flags, "run")
}

func (r runFlag) check() error {
	if r != "" && !runForm().MatchString(string(r)) {
		return usagef("--run %s: want at most 64 letters, digits and any of . _ -", string(r))
	}
	return nil
}

// waitUntil tries until there is no error, or for at most a time, and returns the last
// error.
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

// valuesOf are the values of a flag.
func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// How long is waited between two looks at documents.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// sleep waits, unless ctx ends before.
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
