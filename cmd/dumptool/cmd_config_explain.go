package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
)

type configExplainOptions struct {
	target   configTarget
	checkEnv bool
	json     jsonFlag
	exitZero exitZero
}

func newConfigExplainCommand(a *app) *cobra.Command {
	opts := new(configExplainOptions)
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "say what a dump configuration does",
		Long: `explain says in plain words what a configuration dumps, of which operators and
steps, where the files will be and how to read them, what in it has no effect,
and what must be done beside it. FILE may be - for stdin.

A file with errors is explained as it is meant, with what the runtime refuses
first; the exit status is 1 then. With --json the result is an object with the
keys file, schema, active (whether something will be dumped), sections (name,
title, lines), patterns (paths of the files), commands, and error.`,
		Example: `  dumptool config explain acl.json
  dumptool config explain --lang zh --target-version 2.3 data_dump.json
  dumptool config explain --json acl.json | jq -r '.patterns[]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigExplain(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *configExplainOptions) addFlags(cmd *cobra.Command) {
	o.target.addFlags(cmd)
	cmd.Flags().BoolVar(&o.checkEnv, "check-env", false, "take the environment into account")
	harmless(cmd.Flags(), "check-env")
	o.exitZero.add(cmd.Flags(), "errors")
	o.json.add(cmd.Flags(), "print a JSON object")
}

func runConfigExplain(ctx context.Context, a *app, opts *configExplainOptions, args []string) error {
	opt, err := opts.target.resolve()
	if err != nil {
		return err
	}
	if opts.checkEnv {
		opt.Env, opt.Container = os.LookupEnv, dumpconf.InContainer()
	}
	name, src, err := a.oneConfig(ctx, args)
	if err != nil {
		return err
	}
	r := dumpconf.Check(name, src, opt)
	e := &report.ConfigExplanation{Name: name, Explanation: dumpconf.Explain(r, opt), Refused: r.Refused()}
	if err := printResult(a, opts.json.format(), e, report.Options{}); err != nil {
		return err
	}
	if e.Refused == nil && r.Schema != dumpconf.SchemaMsprobe {
		return nil
	}
	if err := a.show(nil); err != nil {
		return err
	}
	if e.Refused != nil {
		a.msg.Hintf("'dumptool config check' shows all errors")
	}
	return a.conclude(opts.exitZero.of(batch.Outcomef(batch.Found, "errors found", "发现错误").AsShown()))
}

// oneConfig reads the only file that the arguments may name.
func (a *app) oneConfig(ctx context.Context, args []string) (name string, src []byte, err error) {
	switch len(args) {
	case 0:
		return "", nil, usagef("no file given; - stands for stdin")
	case 1:
	default:
		return "", nil, usagef("unexpected argument %q", args[1])
	}
	src, err = dumpconf.ReadFile(ctx, args[0], a.streams.In)
	return args[0], src, err
}
