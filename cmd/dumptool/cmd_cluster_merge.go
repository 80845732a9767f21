package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// clusterMergeOptions are the flags of the merge of a job.
type clusterMergeOptions struct {
	clusterOptions
	wait     time.Duration
	missing  bool
	partly   bool
	exitZero exitZero
}

func newClusterMergeCommand(a *app) *cobra.Command {
	opts := new(clusterMergeOptions)
	cmd := &cobra.Command{
		Use:         "merge -n N --run ID -- COMMAND ARGS...",
		Short:       "make the result of a run; the jobs do it",
		Annotations: chinese("合并一次运行的各分片；由作业调用"),
		Long: `merge makes the result of a command line that a run of cluster does in shards. It lists
the folders as shards do and takes documents of just these files, of these options and
of this run: what an earlier attempt left behind counts as missing once it is out of
date. 'dumptool merge DIR' merges what there is without looking at the folders.`,
		Example: `  dumptool cluster merge -n 4 --run 7 --missing -- \
    compare --cpu golden --npu dumps -out report`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runClusterMerge(cmd, a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	opts.define(cmd, "beside -out of the command", "在命令的 -out 旁边")
	define(cmd, append(waitFlags(&opts.wait, &opts.missing, &opts.partly), opts.exitZero.flag("findings", "找到的问题"))...)
	return cmd
}

// runClusterMerge merges the documents of a run like the merge of the command that wrote them.
func runClusterMerge(cmd *cobra.Command, a *app, o *clusterMergeOptions, args []string) error {
	if o.job.Run == "" {
		return usagef("want the ID of the run (--run)")
	}
	line, err := o.resolve(a, cmd, args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	awaited := &awaited{of: o.job.N, look: func() (shard.Origin, error) { return a.originOf(ctx, o.job.ShardArgs(0)) }}
	if awaited.now, err = awaited.look(); err != nil {
		return err
	}
	inner := newApp(a.streams)
	inner.settings, inner.awaited = a.settings, awaited
	merge := slices.Concat(strings.Fields(line.name), []string{"merge"})
	known, _, err := newRootCommand(newApp(a.streams)).Find(merge)
	if err != nil {
		return err
	}
	known.InheritedFlags() // merges the inherited flags into those of the command
	merge = append(merge, line.flags(func(f *pflag.Flag) bool {
		return known.Flags().Lookup(f.Name) != nil && (line.name != "convert" || f.Name != "out")
	})...)
	merge = append(merge, "--run="+o.job.Run, "--wait="+o.wait.String(), fmt.Sprintf("--missing=%t", o.missing), fmt.Sprintf("--allow-missing=%t", o.partly))
	status := inner.run(ctx, append(merge, "--", o.parts(line)))
	if !bool(o.exitZero) || o.missing {
		return ended(status)
	}
	switch status {
	case exitOK:
		a.say([]batch.Message{batch.Infof("the merge ended with exit status 0", "合并以退出状态 0 结束")})
	case exitFound:
		a.say([]batch.Message{batch.Infof("the merge ended with exit status 1, which is no failure of its job: %s", "合并以退出状态 1 结束，作业不因此失败：%s", inner.concluded.Text)})
		status = exitOK
	}
	return ended(status)
}

// awaited describes the documents that a merge of cluster waits for: the ones that shards would
// write now.
type awaited struct {
	of   int
	now  shard.Origin
	look func() (shard.Origin, error)
	// seen is the listing of complete but outdated documents. stale counts the ignored documents.
	seen  string
	stale int
}

// choose keeps the documents that shards would write now. If all shards are there and agree on
// another listing of files, it lists the files again.
func (w *awaited) choose(docs []shard.Document) ([]shard.Document, error) {
	if len(docs) == w.of && docs[0].Listing != w.now.Listing && docs[0].Listing != w.seen &&
		!slices.ContainsFunc(docs, func(d shard.Document) bool { return d.Listing != docs[0].Listing }) {
		now, err := w.look()
		if err != nil {
			return nil, err
		}
		w.now, w.seen = now, docs[0].Listing
	}
	kept := slices.DeleteFunc(slices.Clone(docs), func(d shard.Document) bool {
		return d.Shard == nil || d.Shard.Of != w.of || d.Listing != w.now.Listing || d.RunID != w.now.RunID || d.Differing(&w.now) != ""
	})
	w.stale = len(docs) - len(kept)
	return kept, nil
}

// folders returns an error if the folder of a shard is missing below path.
func (w *awaited) folders(path string) error {
	entries, err := store.ReadDir(path)
	if err != nil {
		return err
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	there := 0
	for i := range w.of {
		if names[(shard.Spec{Index: i, Of: w.of}).Folder()] {
			there++
		}
	}
	if there < w.of {
		return lang.Errorf("%s: %d of %d shards have a folder", path, there, w.of)
	}
	return nil
}

// none returns the error if no document matches what shards would write now.
func (w *awaited) none(where string) error {
	e := &shard.MissingError{Path: where, Of: w.of, Stale: w.stale}
	for i := range w.of {
		e.Missing = append(e.Missing, i)
	}
	return e
}

// told stores the origin in a.origin and returns true, if only the origin was asked for.
func (a *app) told(origin shard.Origin) bool {
	if a.origin == nil {
		return false
	}
	*a.origin = origin
	return true
}

// originOf returns the origin that the shard of a command line would write. It runs the command up
// to the start of the work.
func (a *app) originOf(ctx context.Context, line []string) (origin shard.Origin, err error) {
	streams := a.streams
	var messages bytes.Buffer
	streams.Out, streams.Err = io.Discard, &messages
	inner := newApp(streams)
	inner.settings, inner.origin = a.settings, &origin
	if status := inner.run(ctx, line); status != exitOK {
		_, _ = messages.WriteTo(a.streams.Err) // the reason
		return origin, ended(status)
	}
	return origin, nil
}
