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

// scopeOf returns the part of a document that a flag affects.
func scopeOf(f *pflag.Flag) shard.Scope {
	switch {
	case has(f, ofRow|place):
		return shard.OfRow
	case has(f, ofRound):
		return shard.OfRound
	case has(f, ofTransport):
		return shard.OfTransport
	}
	return shard.OfReport
}

// optionsOf lists the flags of a command that are not at their defaults and change a result. A
// value set by the command itself is no option, except a place, which an argument may name.
func optionsOf(cmd *cobra.Command) (all []shard.Option) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		of, place := scopeOf(f), has(f, place)
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

func (o *shardOptions) flags() []cmdFlag {
	return []cmdFlag{
		{shardFlag, text(&o.shard), "do part `I/N` of the work, I from 0, for a merge; auto/N: I as the scheduler says", "只做第 `I/N` 部分，I 从 0 开始，以后合并；auto/N：I 由调度器给出", more, ofTransport | onShards},
		runFlag(&o.run, "`ID` of the run, for a merge of what belongs to it", "运行的 `ID`，合并时只取属于它的结果"),
		{"compress", yes(&o.compress), "with --shard: write the document as .json.zst, which merge, report and judge read", "配合 --shard：结果写成 .json.zst，merge、report 和 judge 可以读取", more, ofTransport | rare | onShards},
		{"resume|retry-errors", yes(&o.resume), "take what is in -out of the same work, and do only what could not be fetched, or was not reached", "沿用 -out 中同一工作的结果，只做未能取得或尚未做到的部分", more, ofTransport | rare | onShards},
	}
}

// resolve checks the flags of a command that writes to the folder out.
func (o *shardOptions) resolve(a *app, out string) (shard.Spec, error) {
	spec, notes, err := shard.Parse(o.shard, a.getenv)
	for _, n := range notes {
		a.say([]batch.Message{batch.Infof("%s", "%s", n)})
	}
	switch {
	case err != nil:
		return spec, asUsage(err)
	case spec.On() && out == "":
		return spec, usagef("--shard needs the folder that all shards write to (-out)")
	case o.compress && !spec.On():
		return spec, usagef("--compress needs --shard")
	case o.resume && !spec.On() && !o.wholeRuns:
		return spec, usagef("--resume needs --shard")
	case o.resume && out == "":
		return spec, usagef("--resume needs the folder of the earlier run (-out)")
	}
	return spec, nil
}

// origin returns the origin of a command's document.
func (o *shardOptions) origin(cmd *cobra.Command, spec shard.Spec, listing string) shard.Origin {
	origin := shard.Origin{Tool: toolName(), Listing: listing, Options: optionsOf(cmd), RunID: o.run}
	if spec.On() {
		origin.Shard = &spec
	} else if !o.ofReports {
		origin.DropReport()
	}
	return origin
}

// earlier returns, with --resume, the origin of the document at path. It returns nil if there is
// none or it belongs to other work.
func (o *shardOptions) earlier(a *app, path string, origin *shard.Origin) *shard.Document {
	if !o.resume {
		return nil
	}
	d, err := shard.ReadOrigin(path)
	if err != nil {
		return nil
	}
	if !d.SameWork(origin) {
		a.say([]batch.Message{batch.Infof("%s is of other files or options: all is done again", "%s 对应其他文件或选项：全部重做", path)})
		return nil
	}
	return &d
}

// done reports whether --resume finds the finished document of a shard at path. complete reports
// whether a document has no gaps.
func (o *shardOptions) done(a *app, path string, origin *shard.Origin, complete func(d *shard.Document) bool) bool {
	d := o.earlier(a, path, origin)
	if d == nil || !complete(d) {
		return false
	}
	a.isComplete(path)
	return true
}

// isComplete prints that --resume finds nothing to do.
func (a *app) isComplete(path string) {
	a.say([]batch.Message{batch.Infof("%s is complete: nothing is done again", "%s 已完整：不再重做", path)})
}

// unfetched returns the error of a shard whose document lacks some data.
func unfetched(n int) error {
	return hintf(incompletef("%s could not be fetched", lang.CountText(n, "tensor", "个张量")), "the same command line with --resume does just these again")
}

// shardWritten prints where the document of a shard is.
func (a *app) shardWritten(spec shard.Spec, path string) {
	a.say([]batch.Message{batch.Infof("shard %s written to %s", "分片 %s 已写入 %s", spec, path)})
}

// runForm matches the ID of a run.
var runForm = lang.Pattern(`^[A-Za-z0-9._-]{1,64}$`)

// runName is the name of the flag for the ID of a run.
const runName = "run"

// runFlag is the flag for the ID of a run.
func runFlag(to *string, usage, chinese string) cmdFlag {
	v := text(to)
	v.read = func(text string) (string, error) {
		if text != "" && !runForm().MatchString(text) {
			return "", wantf("want at most 64 letters, digits and any of . _ -")
		}
		return text, nil
	}
	return cmdFlag{runName, v, usage, chinese, more, ofTransport | rare}
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
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
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
