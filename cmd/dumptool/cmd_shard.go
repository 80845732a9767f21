package main

import (
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

// listParts lists the parts of a command at paths and checks that they are all there.
// Parts that cannot be used are named.
func (a *app) listParts(paths []string, want shard.Head) (*shard.Listing, error) {
	if len(paths) == 0 {
		return nil, usagef("no folder with parts given")
	}
	want.Tool = toolName()
	l, err := shard.List(paths, want)
	if err != nil {
		return nil, err
	}
	faults := l.Faults()
	for _, fault := range faults {
		a.msg.Errorf("%v", fault)
	}
	if err := l.Err(); err != nil {
		return nil, incompletef("%w (nothing was written)", err)
	}
	if len(faults) > 0 {
		return nil, incompletef("%s: %s cannot be used (nothing was written)", l.Where(), lang.Count(len(faults), "part"))
	}
	return l, nil
}
