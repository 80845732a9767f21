package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/compare/record"
	"dumptool/internal/config"
	"dumptool/internal/convert"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
)

// mergeKind is a kind of documents that can be merged.
type mergeKind struct {
	// command writes documents of this schema, in files of this name.
	command, schema, file string
	// earlier is an older schema that is also read; empty for none.
	earlier string
	// Summaries of the command's merge subcommand.
	summary string
	// exits lists exit statuses besides the statuses of all merges.
	exits []int
	// format checks the name of a format; nil for no reports.
	format func(name string) (string, error)
	// begin returns the flags whose values a merge takes from the documents or from its own command line, and
	// the merge function. shown lists the flags of the command's merge subcommand.
	begin func(m *mergeState) (flags []cmdFlag, merge func() error)
	shown func() []cmdFlag
}

// Kinds of documents. Add new ones here.
var (
	mergeComparisons = &mergeKind{command: "compare", schema: record.Schema, earlier: record.EarlierSchema, file: "compare.json", format: parseFormat[*record.Report],
		summary: "merge the documents of all shards of 'compare' into one report",
		begin: func(m *mergeState) ([]cmdFlag, func() error) {
			o := newCompareOptions()
			return o.listFlags(), func() error { return m.mergeCompared(o) }
		},
		shown: func() []cmdFlag {
			o := newCompareOptions()
			return append(o.output.reportStyleFlags(), o.failureFlags()...)
		}}
	mergeAnalyses = reportKind(overflow.MergeAnalyses, "overflow analyze", overflow.Schema,
		"merge the documents of all shards of 'overflow analyze' into one report",
		"overflow records do not change the exit status")
	mergeScans = reportKind(overflow.MergeScans, "overflow scan", overflow.ScanSchema,
		"merge the documents of all shards of 'overflow scan' into one report",
		"bad tensors do not change the exit status")
	mergeConverts = &mergeKind{command: "convert", schema: convert.Schema, file: convert.DocumentName,
		summary: "list the failures of all shards of 'convert'",
		begin:   func(m *mergeState) ([]cmdFlag, func() error) { return nil, m.mergeConverted },
		shown:   func() []cmdFlag { return nil }}
)

func mergeKinds() []*mergeKind {
	return []*mergeKind{mergeComparisons, mergeScans, mergeAnalyses, mergeConverts}
}

// mergeOptions holds the flags of a command that merges documents.
type mergeOptions struct {
	paths        []string
	wait         time.Duration
	run          string
	missing      bool
	allowMissing bool
}

// mergeState is a merge of documents of one kind.
type mergeState struct {
	*mergeOptions
	// own holds the report flags of the merge. They override the flags in the documents.
	own *pflag.FlagSet
	// awaited, if not nil, selects the documents.
	awaited *mergeInputs

	ctx  context.Context
	a    *app
	docs []shard.Document
	// origin is the origin of the result.
	origin shard.Origin
}

func newMergeCommand(a *app) *cobra.Command {
	var output reportOptions
	var zero exitZero
	cmd := newMergingCommand(a, mergeKinds(), outFlag(&output.out, "write the reports to folder `DIR`"),
		cmdFlag{"format", listOfTexts(&output.formats, nil), "`FORMATS` of the reports; default: the formats of the shards", groupReports, 0},
		noPathsFlag(&output.noPaths), zero.flag("findings do not change the exit status"), jsonAliasFlag(func() {}))
	makeExclusive(cmd, "json", "format")
	cmd.Short = "make one report of the documents of shards, or of several machines"

	cmd.Long = `merge reads the documents that shards of compare, overflow scan, overflow analyze or
convert wrote, or such commands on different machines, and makes what one run would
have made. It reads no tensors. PATH is a document, a folder with one, or a folder of
such folders; rank=7:PATH says which rank the document of one rank is.

Shards that are missing are named, and nothing is written.` + exitStatus(exitFinding, exitNothing, exitInterrupted)
	cmd.Example = `  dumptool merge shards -out report
  dumptool merge node*/overflow.json --format json,html -out report`
	return cmd
}

// newMergeSubcommand returns the merge subcommand of the command that writes documents of a kind.
func newMergeSubcommand(a *app, kind *mergeKind) *cobra.Command {
	cmd := newMergingCommand(a, []*mergeKind{kind}, kind.shown()...)
	if cmd.Flag("json") != nil {
		makeExclusive(cmd, "json", "format")
	}
	cmd.Short = kind.summary

	cmd.Long = `merge is 'dumptool merge' for what '` + kind.command + `' writes.` + exitStatus(append(kind.exits, exitNothing, exitInterrupted)...)
	cmd.Example = "  dumptool " + kind.command + " merge shards -out report"
	return cmd
}

// newMergingCommand returns a command that merges documents of some kinds.
func newMergingCommand(a *app, kinds []*mergeKind, flags ...cmdFlag) *cobra.Command {
	opts := new(mergeOptions)
	cmd := &cobra.Command{
		Use:  "merge PATH...",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.paths = args
			return runMerge(cmd.Context(), a, &mergeState{mergeOptions: opts, own: cmd.Flags()}, kinds...)
		},
	}
	addFlags(cmd, slices.Concat(flags, waitFlags(&opts.wait, &opts.missing, &opts.allowMissing), []cmdFlag{runFlag(&opts.run, "use only documents of the run `ID`")})...)
	return cmd
}

// waitFlags lists the flags for missing shards.
func waitFlags(wait *time.Duration, missing, allow *bool) []cmdFlag {
	return []cmdFlag{
		{"wait", durationValue(wait), "wait at most `TIME`, such as 6h, until all shards are there", groupChoice, topicShards},
		{"missing", boolSwitch(missing), "only print the numbers of the shards that are missing: 3,17,40-42", groupChoice, topicShards},
		{"allow-missing", boolSwitch(allow), "make a report of the shards that exist, as for an interrupted run", groupChoice, topicShards},
	}
}

// runMerge merges documents of one of the kinds.
func runMerge(ctx context.Context, a *app, m *mergeState, kinds ...*mergeKind) error {
	switch {
	case len(m.paths) == 0:
		return usagef("no document or folder given")
	case m.wait < 0:
		return usagef("--wait %v: want a time from 0", m.wait)
	case len(kinds) == 1 && kinds[0] == mergeConverts && len(m.paths) != 1:
		return oneFolderError()
	}
	if f := m.own.Lookup("format"); f != nil && f.Changed && kinds[0].format != nil {
		check := kinds[0].format
		if len(kinds) > 1 { // each kind has its own
			check = func(name string) (string, error) { return "", findRemoved(nil, "--format "+name) }
		}
		for _, name := range valuesOf(f) {
			if _, err := check(name); err != nil {
				return err
			}
		}
	}
	m.ctx, m.a = ctx, a
	var kind *mergeKind
	find := func() (err error) {
		kind, err = m.find(kinds)
		return err
	}
	look := func() error {
		err := find()
		if i := slices.IndexFunc(m.docs, func(d shard.Document) bool { return !d.IsReproducible() }); err == nil && m.wait > 0 && i >= 0 {
			err = lang.Errorf("%s: the shard may be tried again", m.docs[i].Path) // the last attempt accepts the document as it is
		}
		return err
	}
	if m.awaited != nil && m.wait > 0 { // documents are read only when there are enough
		whole := look
		look = func() error {
			if err := m.awaited.checkFolders(m.paths[0]); err != nil {
				return err
			}
			return whole()
		}
	}
	err := waitUntil(ctx, m.wait, look)
	if err != nil && m.wait > 0 && !errors.Is(err, context.Canceled) {
		err = find() // the error lists all problems
	}
	missing, isMissing := errors.AsType[*shard.MissingError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case m.missing && (err == nil || isMissing):
		if isMissing {
			fmt.Fprintln(a.out, shard.Ranges(missing.Missing))
		}
		return nil
	case isMissing && m.allowMissing && len(m.docs) > 0:
		a.warnf("%w", err)
	case isMissing:
		return incompletef("%w (nothing was written; --allow-missing makes a partial report)", err)
	case errors.As(err, new(*codedError)):
		return err
	case err != nil:
		return incompletef("%w", err)
	}
	m.setOrigin()
	m.origin.Interrupted = m.origin.Interrupted || isMissing
	flags, merge := kind.begin(m)
	if err = m.setFlags(flags); err == nil {
		err = merge()
	}
	if coded := new(codedError); isMissing && (err == nil || errors.As(err, &coded) && coded.code != exitUsage) {
		return incompletef("the report lacks %s", lang.CountText(len(missing.Missing), "shard"))
	}
	return err
}

// find finds the documents, all of one of the kinds. The error is a *shard.MissingError if only
// some shards are missing.
func (m *mergeState) find(kinds []*mergeKind) (*mergeKind, error) {
	names := lists.Map(kinds, func(k *mergeKind) string { return k.file })
	m.docs = nil
	where, awaited := strings.Join(m.paths, ", "), m.awaited
	found, err := shard.Find(m.paths, names...)
	switch {
	case awaited != nil && (errors.Is(err, fs.ErrNotExist) || err == nil && len(found) == 0):
		return kinds[0], awaited.noDocumentError(where)
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, lang.Errorf("%s: contains no %s", where, strings.Join(names, ", nor "))
	}
	for i := range found {
		for _, k := range kinds {
			if found[i].Schema == k.earlier {
				found[i].Schema = k.schema
			}
		}
	}
	present := slices.DeleteFunc(slices.Clone(kinds), func(k *mergeKind) bool {
		return !slices.ContainsFunc(found, func(d shard.Document) bool { return d.Schema == k.schema })
	})
	kind := kinds[0]
	switch {
	case len(present) > 1:
		return nil, hintf(usagef("%s: there are documents of %s and of %s", where, present[0].command, present[1].command),
			"'dumptool %s merge' reads only the documents of one command", present[0].command)
	case len(present) == 1:
		kind = present[0]
	}
	if m.docs, err = shard.SelectRun(found, kind.schema, m.run); err != nil {
		return nil, err
	}
	if awaited != nil {
		if m.docs, err = awaited.retainUnfinished(m.docs); err != nil {
			return nil, err
		}
		if len(m.docs) == 0 {
			return kind, awaited.noDocumentError(where)
		}
	}
	if len(m.docs) == 0 {
		return nil, lang.Errorf("%s: no document belongs to the run %s", where, m.run)
	}
	if err := shard.Check(m.docs); err != nil {
		return nil, err
	}
	missing, of := shard.Missing(m.docs)
	if len(missing) > 0 {
		e := &shard.MissingError{Path: where, Missing: missing, Of: of}
		if awaited != nil {
			e.Stale = awaited.stale
		}
		return kind, e
	}
	return kind, nil
}

// setOrigin sets the origin of the result.
func (m *mergeState) setOrigin() {
	first := &m.docs[0]
	m.origin = first.Origin
	m.origin.Shard, m.origin.Argv = nil, nil
	if first.Shard == nil && len(m.docs) > 1 {
		m.origin.Listing = ""
	}
	for i := range m.docs {
		m.origin.Interrupted = m.origin.Interrupted || m.docs[i].Interrupted
	}
}

// setFlags sets flags as the documents say, and as the merge itself says.
func (m *mergeState) setFlags(all []cmdFlag) error {
	flags, first := pflag.NewFlagSet("", pflag.ContinueOnError), &m.docs[0]
	flags.SetNormalizeFunc(normalizeFlag)
	addFlagsTo(flags, all...)
	for _, x := range first.Options {
		if f := flags.Lookup(x.Name); f != nil {
			if err := setFlag(f, config.Value{Source: "options of the documents", Text: x.Value, List: x.Values}); err != nil {
				return err
			}
		}
	}
	given := func(name string) bool {
		f := m.own.Lookup(name)
		return f != nil && f.Changed && flags.Lookup(name) != nil
	}
	for _, word := range reportWords(flags, first.Argv) {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if isFormat := name == "format" || name == "json"; !given(name) && !(isFormat && (given("format") || given("json"))) {
			_ = flags.Lookup(name).Value.Set(value) // another version wrote values that the flag refuses
		}
	}
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		if err == nil && given(f.Name) && !changesResults(f) {
			own := m.own.Lookup(f.Name)
			err = setFlag(f, config.Value{Source: "--" + f.Name, Text: own.Value.String(), List: listOf(own)})
		}
	})
	return err
}

// mergeable is a report that is also a document.
type mergeable[T any] interface {
	*T
	SetOrigin(shard.Origin)
	Unfetched() int
	Outcome(reported bool) batch.Outcome
}

// reportKind returns the kind of documents for a report. summary is the summary of the merge command, usage the help
// of its flag --exit-zero.
func reportKind[T any, R mergeable[T]](merge func([]shard.Document, []R) (R, error), command, schema, summary, usage string) *mergeKind {
	return &mergeKind{
		command: command, schema: schema, exits: []int{exitFinding}, file: report.WriterOf[R]("json").File, format: parseFormat[R],
		summary: summary,
		shown: func() []cmdFlag {
			return append(textReportFlags[R](new(reportOptions)), new(exitZero).flag(usage))
		},
		begin: func(m *mergeState) ([]cmdFlag, func() error) {
			var output reportOptions
			var zero exitZero
			return append(textReportFlags[R](&output), zero.flag(usage)), func() error { return mergeReports(m, &output, zero, merge) }
		},
	}
}

// mergeReports merges reports, and writes the result.
func mergeReports[T any, R mergeable[T]](m *mergeState, output *reportOptions, zero exitZero, merge func([]shard.Document, []R) (R, error)) error {
	if err := checkReports[R](output); err != nil {
		return err
	}
	reports := make([]R, len(m.docs))
	for i := range m.docs {
		reports[i] = new(T)
		if err := m.docs[i].Decode(reports[i]); err != nil {
			return err
		}
	}
	r, err := merge(m.docs, reports)
	if err != nil {
		return incompletef("%w", err)
	}
	m.origin.Unfetched = r.Unfetched()
	r.SetOrigin(m.origin)
	return concludeReport(m.a, output, zero, r, r.Outcome(output.printsText()))
}

// concludeReport writes a report unless there is nothing to report, and ends with its outcome.
func concludeReport[R any](a *app, o *reportOptions, zero exitZero, r R, outcome batch.Outcome) error {
	if outcome.Kind != batch.Nothing {
		if err := writeReports(a, o, r, report.Options{}); err != nil {
			return err
		}
	}
	return a.conclude(zero.applyTo(outcome))
}

// oneFolderError returns the error for documents of convert in several places.
func oneFolderError() error { return usagef("want the one folder that the shards wrote to") }

// mergeConverted concludes a conversion by shards.
func (m *mergeState) mergeConverted() error {
	if len(m.paths) != 1 {
		return oneFolderError()
	}
	out := m.paths[0]
	sum, in, err := convert.Merge(m.docs, out, !m.origin.Interrupted)
	if err != nil {
		return err
	}
	return m.a.conclude(sum.Outcome(in, out))
}

// divergenceFlag is the format that needs a second pass over the tensors. Shards make that pass only if
// asked.
const divergenceFlag = "msaccucmp"

// mergeCompared writes the reports of comparisons.
func (m *mergeState) mergeCompared(o *compareOptions) error {
	if err := cmp.Or(o.output.check(), o.checkFailures(), o.chooseOps(), o.output.resolve(&o.Options, false, true)); err != nil {
		return err
	}
	o.nameStandard()
	if err := compareError(o.LoadBaseline()); err != nil {
		return err
	}
	if o.KLD && !hasFormat(m.docs[0].Argv, divergenceFlag) {
		return hintf(usagef("--format %s: the documents have no Kullback-Leibler divergence", divergenceFlag), "use --format %s for the shards", divergenceFlag)
	}
	o.Axes = m.a.streams.OutWidth > 0
	rep, err := o.Merge(m.ctx, m.docs, m.origin)
	if err != nil {
		return incompletef("%w", err)
	}
	o.Pictures = nil
	if err := o.write(m.ctx, m.a, comparedRun{nil, nil, rep}); err != nil {
		return err
	}
	return m.a.conclude(o.Outcome(rep))
}

// hasFormat reports whether a command line has --format with a format.
func hasFormat(argv []string, format string) bool {
	return slices.ContainsFunc(argv, func(word string) bool {
		formats, given := strings.CutPrefix(word, "--format=")
		return given && slices.Contains(strings.Split(formats, ","), format)
	})
}
