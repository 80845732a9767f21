package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// shardFlag lets a command do one part of its work, for a merge of all parts.
type shardFlag string

func (s *shardFlag) add(flags *pflag.FlagSet) {
	flags.StringVar((*string)(s), "shard", "", "do part `I/N` of the work, I from 0, for a merge; auto/N: I as the scheduler says")
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

// partWritten says that a part is complete.
func (a *app) partWritten(spec shard.Spec, path string) {
	a.say([]batch.Message{batch.Infof("shard %s written to %s", "分片 %s 已写入 %s", spec, path)})
}

// forPart checks the flags of reports of a command that writes a part of its results
// in their place.
func (o *reportOptions) forPart(cmd *cobra.Command) error {
	switch {
	case o.out == "":
		return usagef("--shard needs a folder for the part (-out)")
	case cmd.Flags().Changed("format") || cmd.Flags().Changed("json"):
		return usagef("--shard writes a part, no report: --format is for '%s merge'", cmd.CommandPath())
	}
	return nil
}

// partsFlags are the flags of commands that merge parts.
type partsFlags struct{ wait time.Duration }

func (o *partsFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&o.wait, "wait", 0, "wait at most `TIME`, such as 6h, until all parts are there")
	harmless(flags, "wait")
}

// list lists the parts of a command at paths and checks that they are all there. Parts
// that cannot be used are named.
func (o *partsFlags) list(ctx context.Context, a *app, paths []string, want shard.Head) (*shard.Listing, error) {
	switch {
	case len(paths) == 0:
		return nil, usagef("no folder with parts given")
	case o.wait < 0:
		return nil, usagef("--wait %v: want a time from 0", o.wait)
	}
	want.Tool = toolName()
	var l *shard.Listing
	err := waitUntil(ctx, o.wait, func() error {
		var err error
		if l, err = shard.List(paths, want); err == nil {
			err = l.Err()
		}
		return err
	})
	if l == nil {
		return nil, err
	}
	faults := l.Faults()
	for _, fault := range faults {
		a.msg.Errorf("%v", fault)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, incompletef("%w (nothing was written)", err)
	case len(faults) > 0:
		return nil, incompletef("%s: %s cannot be used (nothing was written)", l.Where(), lang.Count(len(faults), "part"))
	}
	return l, nil
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
