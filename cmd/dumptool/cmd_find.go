package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/find"
	"dumptool/internal/report"
)

type findOptions struct {
	dumps    dumpFlags
	ir       []string
	by       string
	up, down int
	stack    bool
	all      bool
	paths    bool
	noFiles  bool
	limit    int
	json     jsonFlag
}

// findLimit is how many operators are shown unless the user wants others.
const findLimit = 50

func newFindCommand(a *app) *cobra.Command {
	opts := new(findOptions)
	cmd := &cobra.Command{
		Use:   "find [-d DIR]... QUERY",
		Short: "from a script line, operator, parameter or dump file to the others",
		Long: `find reads the graphs that MindSpore saved beside the dumps below DIR, and answers
which operators a line of the script became, and where their dumps lie - or from
an operator, parameter or dump back to the line. QUERY is one of

  resnet.py:88, resnet.py:88-92       a line, or several
  x = self.conv1(x)                   code, as it stands in the script
  Default/net/conv1/Conv2D-op515      an operator: its name, its end, type or scope
  op515, 515                          the number of an operator
  %4, @graph:%4                       a node of a graph
  conv1.weight, para2                 a parameter, and who reads it
  #17, order:17                       a place in the execution order, from 1
  rank_0/Net/0/0/Conv2D....npy        a dump file, or a name of one

--by says what it is where it looks like something else. Folders named graphs are
looked for below DIR, then up to six folders above it. Of the graphs of one folder
those of the last stage of the compilation count.

How sure an answer is, is said where it is not high: a caller, an operator that
was fused or computes a gradient, a type or scope has confidence medium; a part of
a name, or a block around the line, low. Those of low confidence are shown only if
nothing else was found, or with --all. Ranks with equal answers are put together.`,
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
	flags := cmd.Flags()
	o.dumps.add(cmd, pathFlag("folder `DIR` of dumps, or of saved graphs; default: the working folder"), roundsFlag, jobsFlag("ranks looked into at a time; default: one per CPU"))
	alias(flags, "step", "iteration")
	alias(flags, "model", "net")
	flags.StringArrayVar(&o.ir, "ir", nil, "graph `FILE` to use instead of those found")
	flags.StringVar(&o.by, "by", "", "what the query is: `KIND` line, code, op, id, node, param, order or file")
	completeValues(cmd, "by", names(find.Kinds))
	flags.IntVar(&o.up, "up", 0, "show `N` levels of producers of every operator too")
	flags.IntVar(&o.down, "down", 0, "show `N` levels of consumers of every operator too")
	flags.BoolVar(&o.stack, "stack", false, "show the whole call stack")
	flags.BoolVar(&o.all, "all", false, "show what is found with low confidence too")
	flags.IntVar(&o.limit, "limit", findLimit, "show at most `N` operators; 0: all")
	flags.BoolVar(&o.paths, "paths", false, "print only the dump files, one path a line")
	flags.BoolVar(&o.noFiles, "no-files", false, "do not look for dumps")
	harmless(flags, "by", "up", "down", "stack", "all", "limit", "paths", "no-files")
	o.json.add(flags, "print one JSON object")
	exclusive(cmd, "paths", "json")
	exclusive(cmd, "paths", "no-files")
}

// resolve checks the flags and turns them into options.
func (o *findOptions) resolve(args []string) (*find.Query, find.Options, error) {
	opt := find.Options{
		Paths: o.dumps.paths, IR: o.ir, Rounds: o.dumps.selection(), Up: o.up, Down: o.down, Stack: o.stack, All: o.all, NoFiles: o.noFiles,
		Limit: o.limit, Workers: o.dumps.workers,
	}
	if len(opt.Paths) == 0 {
		opt.Paths = []string{"."}
	}
	switch {
	case len(args) == 0:
		return nil, opt, usagef("no query given")
	case len(args) > 1:
		return nil, opt, usagef("unexpected argument %q, quotes around the query keep it together", args[1])
	case o.up < 0 || o.down < 0 || o.limit < 0:
		return nil, opt, usagef("--up, --down and --limit: want 0 or more")
	}
	if err := o.dumps.check(); err != nil {
		return nil, opt, err
	}
	by := find.Auto
	if o.by != "" {
		var err error
		if by, err = oneOf("--by", o.by, find.Kinds); err != nil {
			return nil, opt, err
		}
	}
	q, err := find.ParseQuery(args[0], by)
	if err != nil {
		return nil, opt, asUsage(err)
	}
	return q, opt, nil
}

func runFind(ctx context.Context, a *app, opts *findOptions, args []string) error {
	q, opt, err := opts.resolve(args)
	if err != nil {
		return err
	}
	answer, err := watched(a, "looking", func(observe func(batch.Event)) (*find.Answer, error) {
		opt.Observe = observe
		return find.Run(ctx, q, opt)
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
