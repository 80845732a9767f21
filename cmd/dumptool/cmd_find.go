package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/find"
	"dumptool/internal/report"
	"dumptool/internal/tensorfile"
)

type findOptions struct {
	find.Options
	by    find.Kind
	paths bool
	json  jsonFlag
}

// findLimit is the default number of operators shown.
const findLimit = 50

func newFindCommand(a *app) *cobra.Command {
	opts := &findOptions{Options: find.Options{Limit: findLimit}}
	cmd := &cobra.Command{
		Use:   "find [-d DIR]... QUERY",
		Short: "map a script line to its operators and dumps, and back",
		Long: `find reads the graphs that MindSpore saved beside the dumps below DIR, and answers
which operators a line of the script became, and where their dumps lie - or from
an operator, parameter or dump back to the line. QUERY is a line (resnet.py:88), code
of the script, the name, type or number of an operator, a node of a graph (%4), a
parameter, a place in the execution order (#17) or a dump file:

  resnet.py:88, resnet.py:88-92       a line, or several
  x = self.conv1(x)                   code, as it stands in the script
  Default/net/conv1/Conv2D-op515      an operator: its name, its end, type or scope
  op515, 515                          the number of an operator
  %4, @graph:%4                       a node of a graph
  conv1.weight, para2                 a parameter, and who reads it
  #17, order:17                       a place in the execution order, from 1
  rank_0/Net/0/0/Conv2D....npy        a dump file, or a name of one

--by gives the kind of QUERY if it looks like another kind. find searches for
folders named graphs below DIR, then up to six folders above it. If a folder has
several graphs, the graphs of the last stage of the compilation are used.

Answers state their confidence unless it is high: medium for a caller, a fused
operator, an operator that computes a gradient, a type or a scope; low for a part
of a name or the block around the line. Answers of low confidence are shown only
if nothing else was found, or with --all. Ranks with equal answers are joined.`,
		Example: `  dumptool find -d dump resnet.py:88
  dumptool find -d dump 'self.conv1(x)' --stack
  dumptool find -d dump conv1.weight
  dumptool find --paths Conv2D-op515 | xargs -d '\n' -n1 dumptool convert -f NCHW -out out -d`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runFind(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *findOptions) addFlags(cmd *cobra.Command) {
	addFlags(cmd, slices.Concat([]cmdFlag{pathFlag(&o.Paths, "`PATH` of a folder of dumps, or of saved graphs; default: the working folder")}, roundFlags(&o.Rounds), []cmdFlag{
		{"ir", textList(&o.IR), "graph of MindSpore in `PATH` to use instead of the graphs found", groupChoice, 0},
		{"by", choice(&o.by, find.Kinds), "`KIND` of the query: line, code, op, id, node, param, order or file", groupChoice, 0},
		{"up", countValue(&o.Up), "show `N` levels of producers of every operator too", groupReports, 0},
		{"down", countValue(&o.Down), "show `N` levels of consumers of every operator too", groupReports, 0},
		{"stack", boolSwitch(&o.Stack), "show the whole call stack", groupReports, 0},
		{"all", boolSwitch(&o.All), "also show results of low confidence", groupReports, 0},
		{"limit", countValue(&o.Limit), "show at most `N` operators; 0: all", groupReports, 0},
		{"paths", boolSwitch(&o.paths), "print only the dump files, one path a line", groupReports, 0},
		{"no-files", boolSwitch(&o.NoFiles), "do not search for dumps", groupChoice, 0},
		jobsFlag(&o.Workers, "`N` ranks examined at a time; default: one per CPU"),
		o.json.flag("print one JSON object"),
	})...)
	makeExclusive(cmd, "paths", "json")
	makeExclusive(cmd, "paths", "no-files")
}

func runFind(ctx context.Context, a *app, opts *findOptions, args []string) error {
	if len(opts.Paths) == 0 {
		opts.Paths = []string{"."}
	}
	switch {
	case len(args) == 0:
		return usagef("no query given")
	case len(args) > 1:
		return usagef("unexpected argument %q, quotes around the query keep it together", args[1])
	}
	text := args[0]
	if file, of, err := tensorfile.Split(text); err == nil && !of.IsZero() {
		text = file // a tensor in a report: its file names the operator
	}
	q, err := find.ParseQuery(text, opts.by)
	if err != nil {
		return asUsage(err)
	}
	answer, err := withProgress(a, "looking", func(observe func(batch.Event)) (*find.SearchResult, error) {
		opts.Observe = observe
		return find.Run(ctx, q, opts.Options)
	})
	switch {
	case find.IsUsage(err):
		return asUsage(err)
	case err != nil:
		return err
	}
	if opts.paths {
		for _, p := range answer.Paths() {
			fmt.Fprintln(a.out, p)
		}
	} else if err := printResult(a, opts.json.format(), answer, report.Options{}); err != nil {
		return err
	}
	return a.conclude(answer.Outcome())
}
