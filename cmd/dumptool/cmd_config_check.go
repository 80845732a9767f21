package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpconf"
)

type configCheckOptions struct {
	target            configTarget
	format            string
	json              bool
	checkFS, checkEnv bool
	strict            bool
	fix, write        bool
}

// configFormats are the forms of findings.
var configFormats = []string{"text", "json", "sarif"}

func newConfigCheckCommand(a *app) *cobra.Command {
	opts := new(configCheckOptions)
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "find mistakes in dump configurations",
		Long: `check finds what is wrong in configurations: what the runtime rejects, with its
own error code, and what it accepts without a word and does not do, such as
misspelled keys, which it ignores. FILE may be - for stdin.

Findings have the form of a compiler's messages, or with --json one JSON object
a file with the keys file, schema and findings; each finding has rule, severity
(error, warning, info), path, line, column, message and code, and where it
applies suggestion, ignored (why the runtime does not look at it) and related.
Lines and columns count from 1, columns are characters. --format sarif is for
services that show findings beside the source.

The file alone is checked, as it may be for another host. --check-fs also looks
at the folders that it names, --check-env at the variables that overrule it and
at whether this is a container.

--fix prints what can be repaired as a diff for 'patch -p1' and leaves the file
alone; the exit status is that of the file as it is. With --write the file is
changed, and what is left in it is printed. Only what is sure is repaired, and
nothing at all where quotes or brackets do not pair up. The diff names files
outside the working folder by their last name only.

The exit status is 1 when there are errors, with --strict also for warnings, and
3 in any case when a file could not be read or written.`,
		Example: `  dumptool config check acl.json
  dumptool config check --target-version 8.0 --soc A2 --check-fs acl.json
  dumptool config check --backend ms_backend --device 0,1 data_dump.json
  dumptool config check --fix acl.json | patch -p1
  dumptool config check --format sarif configs/*.json > findings.sarif`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigCheck(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *configCheckOptions) addFlags(cmd *cobra.Command) {
	o.target.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "text", "`FORM` of the findings: text, json or sarif")
	flags.BoolVar(&o.json, "json", false, "the same as --format json")
	flags.BoolVar(&o.checkFS, "check-fs", false, "look at the folders that the file names")
	flags.BoolVar(&o.checkEnv, "check-env", false, "look at the environment that overrules the file")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 for warnings too")
	flags.BoolVar(&o.fix, "fix", false, "print the change that repairs what can be repaired")
	flags.BoolVar(&o.write, "write", false, "with --fix: make the change")
	completeValues(cmd, "format", configFormats)
	exclusive(cmd, "json", "format")
}

// resolve checks the flags.
func (o *configCheckOptions) resolve(args []string) (dumpconf.Options, error) {
	opt, err := o.target.resolve()
	if err != nil {
		return opt, err
	}
	if o.json {
		o.format = "json"
	}
	if o.format, err = oneOf("--format", o.format, configFormats); err != nil {
		return opt, err
	}
	stdin := 0
	for _, name := range args {
		if name == stdinArg {
			stdin++
		}
	}
	switch {
	case len(args) == 0:
		return opt, usagef("no file given; - stands for stdin")
	case stdin > 1:
		return opt, usagef("- is given %d times, stdin can be read once", stdin)
	case o.write && !o.fix:
		return opt, usagef("--write goes with --fix only")
	case o.write && slices.Contains(args, stdinArg):
		return opt, usagef("--write cannot change stdin")
	case o.fix && !o.write && o.format != "text":
		return opt, usagef("--fix prints a diff, not %s; add --write to print what is left in the file", o.format)
	}
	if o.checkFS {
		opt.Stat = statFolder
	}
	if o.checkEnv {
		opt.Env, opt.Container = os.LookupEnv, inContainer()
	}
	return opt, nil
}

func runConfigCheck(ctx context.Context, a *app, opts *configCheckOptions, args []string) error {
	opt, err := opts.resolve(args)
	if err != nil {
		return err
	}
	p := newConfigPrinter(a, opts)
	for _, name := range args {
		if err := ctx.Err(); err != nil {
			return err
		}
		src, err := a.readConfig(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.fail(unreadable(name, err))
		case opts.fix:
			p.fix(name, src, opt)
		default:
			p.findings(name, dumpconf.Check(name, src, opt))
		}
		if p.broken != nil {
			return p.broken
		}
	}
	return p.conclude()
}
