package main

import (
	"context"
	"math"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpconf"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

type configCheckOptions struct {
	dumpconf.Options
	format            string
	checkFS, checkEnv bool
	strict            bool
	fix, write        bool
	exitZero          exitZero
}

func newConfigCheckCommand(a *app) *cobra.Command {
	opts := new(configCheckOptions)
	cmd := &cobra.Command{
		Use:         "check FILE|DIR...",
		Short:       "find mistakes in dump configurations",
		Annotations: chinese("找出 dump 配置中的错误"),
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

Of a folder that MindSpore has dumped into, the configuration in it is checked
(.metadata or rank_N/.dump_metadata), and then what it asked for against what is
there: iterations, devices, operators and graphs. What is missing is an error.

--fix prints what can be repaired as a diff for 'patch -p1' and leaves the file
alone; the exit status is that of the file as it is. With --write the file is
changed, and what is left in it is printed. Only what is sure is repaired, and
nothing at all where quotes or brackets do not pair up: the message then shows
the line with the quote that is missing. The diff names files outside the
working folder by their last name only.

The exit status is 1 when there are errors, with --strict also for warnings, and
3 in any case when a file could not be read or written.`,
		Example: `  dumptool config check acl.json
  dumptool config check --target-version 8.0 --soc A2 --check-fs acl.json
  dumptool config check --backend ms_backend --device 0,1 data_dump.json
  dumptool config check dump
  dumptool config check --fix acl.json | patch -p1
  dumptool config check --format sarif configs/*.json > findings.sarif`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigCheck(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	define(cmd, targetFlags(&opts.Options)...)
	formatFlag[*report.ConfigChecks](cmd, &opts.format)
	define(cmd,
		cmdFlag{"check-fs", yes(&opts.checkFS), "look at the folders that the file names", "检查文件中提到的目录", facts, 0},
		cmdFlag{"check-env", yes(&opts.checkEnv), "look at the environment that overrules the file", "检查会覆盖该文件的环境变量", facts, safe},
		cmdFlag{"world-size", whole(&opts.WorldSize, 0, math.MaxInt64, "want a number from 0"), "the job has `N` ranks, for files of msprobe; default: unknown", "作业有 `N` 个 rank，用于 msprobe 的文件；默认未知", facts, safe},
		cmdFlag{"strict", yes(&opts.strict), "exit with 1 for warnings too", "有警告时退出码也为 1", ci, safe},
		cmdFlag{"fix", yes(&opts.fix), "print the change that repairs what can be repaired", "打印可修复之处的修改", reporting, safe},
		cmdFlag{"write", yes(&opts.write), "with --fix: make the change", "配合 --fix：直接修改文件", reporting, 0},
		opts.exitZero.flag("errors", "错误"))
	return cmd
}

// resolve checks the flags, and lets the check look at what they allow.
func (o *configCheckOptions) resolve(args []string) error {
	stdin := 0
	for _, name := range args {
		if name == stdinArg {
			stdin++
		}
	}
	switch {
	case len(args) == 0:
		return usagef("no file given; - stands for stdin")
	case stdin > 1:
		return usagef("- is given %d times, stdin can be read once", stdin)
	case o.write && !o.fix:
		return usagef("--write goes with --fix only")
	case o.write && slices.Contains(args, stdinArg):
		return usagef("--write cannot change stdin")
	case o.fix && slices.ContainsFunc(args, isFolder):
		return usagef("--fix goes with files, not with the folder of a dump")
	case o.fix && !o.write && o.format != "text":
		return usagef("--fix prints a diff, not %s; add --write to print what is left in the file", o.format)
	}
	if o.checkFS {
		o.Stat = dumpconf.StatFolder
	}
	if o.checkEnv {
		o.Env, o.Container = os.LookupEnv, dumpconf.InContainer()
	}
	return nil
}

func runConfigCheck(ctx context.Context, a *app, opts *configCheckOptions, args []string) error {
	err := opts.resolve(args)
	if err != nil {
		return err
	}
	checks := &report.ConfigChecks{Tool: toolName()}
	checks.Folder, _ = os.Getwd() // without it absolute names stay as they are
	stopped := a.checkConfigs(ctx, opts, args, &checks.Checks)
	if opts.fix && !opts.write {
		err = report.WriteConfigDiffs(a.out, checks)
	} else {
		err = printResult(a, opts.format, checks, report.Options{})
	}
	if err == nil {
		err = a.show(nil)
	}
	if err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	return a.conclude(opts.exitZero.of(checks.Outcome(opts.fix, opts.write, opts.strict)))
}

// checkConfigs checks files, and repairs them when that is asked for.
func (a *app) checkConfigs(ctx context.Context, opts *configCheckOptions, args []string, checks *dumpconf.Checks) error {
	for _, name := range args {
		if isFolder(name) {
			if err := a.checkTree(ctx, *opts, name, checks); err != nil {
				return err
			}
			continue
		}
		src, err := dumpconf.ReadFile(ctx, name, a.streams.In)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			a.failed(checks, err)
			continue
		}
		a.checkConfig(opts, name, src, checks)
	}
	return nil
}

// checkConfig checks a text, and repairs it when that is asked for.
func (a *app) checkConfig(opts *configCheckOptions, name string, src []byte, checks *dumpconf.Checks) {
	f := dumpconf.FileCheck{Name: name}
	err := guard.Do(func() error {
		if opts.fix {
			f = dumpconf.RepairFile(name, src, opts.Options)
		} else {
			f.Before = dumpconf.Check(name, src, opts.Options)
		}
		return nil
	})
	if err != nil {
		a.failed(checks, safefile.WithPath(name, err))
		return
	}
	if opts.write && f.Changed() {
		err = safefile.Replace(name, f.Fixed)
	}
	if err != nil {
		a.failed(checks, safefile.WithPath(name, err))
	}
	f.Written = opts.write && err == nil
	checks.Files = append(checks.Files, f)
}

// checkTree checks the configurations in a dump, and what they promised against what is
// there.
func (a *app) checkTree(ctx context.Context, opts configCheckOptions, dir string, checks *dumpconf.Checks) error {
	files, bad, err := dumpconf.OpenTree(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(files) == 0:
		err = lang.Errorf("%s: no configuration of MindSpore in it (.metadata/data_dump.json or rank_N/.dump_metadata/data_dump.json)", dir)
	}
	if err != nil {
		a.failed(checks, err)
	}
	for _, err := range bad {
		a.failed(checks, err)
	}
	opts.Schema = dumpconf.SchemaMindSpore
	for _, f := range files {
		src, err := dumpconf.ReadFile(ctx, f.Path, nil)
		if err != nil {
			a.failed(checks, err)
			continue
		}
		opts.Tree = f.Tree
		a.checkConfig(&opts, f.Path, src, checks)
	}
	return ctx.Err()
}

// isFolder reports whether an argument is a folder.
func isFolder(name string) bool {
	info, err := store.Stat(name)
	return name != stdinArg && err == nil && info.IsDir()
}

// failed notes that a file could not be read or written.
func (a *app) failed(checks *dumpconf.Checks, err error) {
	checks.Failed = append(checks.Failed, err.Error())
	a.msg.Errorf("%s", a.inLang(lang.Error(err)))
}
