package main

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/ui"
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
		Use:   "merge -n N --run ID -- COMMAND ARGS...",
		Short: "merge the shards of a run; called by the jobs",
		Long: `merge makes the result of a command that cluster ran in shards. It lists the folders as
the shards do, and takes only documents of the same files, options and run: outdated
documents of an earlier attempt count as missing. 'dumptool merge DIR' merges all
documents in DIR without looking at the folders.`,
		Example: `  dumptool cluster merge -n 4 --run 7 --missing -- \
    compare --cpu golden --npu dumps -out report`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runClusterMerge(cmd, a, opts, args) },
	}
	cmd.Long += exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	opts.addFlags(cmd, "folder `DIR` for the files of the shards; default: beside -out of the command")
	addFlags(cmd, append(waitFlags(&opts.wait, &opts.missing, &opts.partly), opts.exitZero.flag("findings do not change the exit status"))...)
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
	w := &mergeInputs{of: o.job.N, readOrigin: func() (shard.Origin, error) { return a.originOf(ctx, o.job.ShardArgs(0)) }}
	if w.wantedOrigin, err = w.readOrigin(); err != nil {
		return err
	}
	kind := mergeKinds()[slices.IndexFunc(mergeKinds(), func(k *mergeKind) bool { return k.command == line.name })]
	err = runMerge(ctx, a, &mergeState{
		mergeOptions: &mergeOptions{paths: []string{o.shardFolder(line)}, wait: o.wait, run: o.job.Run, missing: o.missing, allowMissing: o.partly},
		own:          line.cmd.Flags(), awaited: w,
	}, kind)
	status := exitCode(err)
	if !bool(o.exitZero) || o.missing || status != exitOK && status != exitFinding {
		return err
	}
	if status == exitOK {
		a.infof("the merge ended with exit status 0")
		return nil
	}
	if lost := a.out.Flush(); lost != nil { // the report precedes its messages
		return err
	}
	a.report(err)
	a.infof("the merge ended with exit status 1, which is no failure of its job: %s", a.lastOutcome.Text)
	return nil
}

// mergeInputs describes the documents that a merge of cluster waits for: shards would write these
// documents now.
type mergeInputs struct {
	of           int
	wantedOrigin shard.Origin
	readOrigin   func() (shard.Origin, error)
	// listing is the listing of complete but outdated documents. stale counts the ignored documents.
	listing string
	stale   int
}

// retainUnfinished keeps the documents that shards would write now. If all shards are there and agree on
// another listing of files, it lists the files again.
func (w *mergeInputs) retainUnfinished(docs []shard.Document) ([]shard.Document, error) {
	if len(docs) == w.of && docs[0].Listing != w.wantedOrigin.Listing && docs[0].Listing != w.listing &&
		!slices.ContainsFunc(docs, func(d shard.Document) bool { return d.Listing != docs[0].Listing }) {
		now, err := w.readOrigin()
		if err != nil {
			return nil, err
		}
		w.wantedOrigin, w.listing = now, docs[0].Listing
	}
	kept := slices.DeleteFunc(slices.Clone(docs), func(d shard.Document) bool {
		return d.Shard == nil || d.Shard.Of != w.of || d.Listing != w.wantedOrigin.Listing || d.RunID != w.wantedOrigin.RunID || d.DifferingOption(&w.wantedOrigin) != ""
	})
	w.stale = len(docs) - len(kept)
	return kept, nil
}

// checkFolders returns an error if the folder of a shard is missing below path.
func (w *mergeInputs) checkFolders(path string) error {
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

// noDocumentError returns the error for a folder without a document of these shards.
func (w *mergeInputs) noDocumentError(where string) error {
	e := &shard.MissingError{Path: where, Of: w.of, Stale: w.stale}
	for i := range w.of {
		e.Missing = append(e.Missing, i)
	}
	return e
}

// originOf returns the origin that the shard of a command line would write. The shards
// print the messages about files, so only the messages of an error are printed here.
func (a *app) originOf(ctx context.Context, words []string) (shard.Origin, error) {
	line, err := a.parseLine(words)
	if err != nil {
		return shard.Origin{}, err
	}
	var messages bytes.Buffer
	streams := a.streams
	a.streams.Err = &messages
	defer func() { // the global flags behind -- hold from now on
		a.streams = streams
		a.msg = ui.NewMessages(streams, a.messageOptions())
	}()
	line.cmd.SetContext(ctx)
	if err = a.prepare(line.cmd); err == nil {
		var origin shard.Origin
		if origin, err = a.shardable[line.cmd].makeOrigin(line.cmd, a, line.args); err == nil {
			return origin, nil
		}
	}
	_, _ = messages.WriteTo(streams.Err) // the reason
	return shard.Origin{}, err
}
