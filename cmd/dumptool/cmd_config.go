package main

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpconf"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "config",
		Short: "write, check and explain dump configurations",
		Long: `config writes, checks and explains the files that tell Ascend software what to
dump: acl.json of the ACL runtime, the file named by MINDSPORE_DUMP_CONFIG,
config.json of msprobe, and the dump options of the graph engine and of the
TensorFlow adapter, written as a flat JSON object. dumptool recognises the kind
of a file by its keys.`,
	})
	cmd.Long += exitStatus(exitFinding, exitInterrupted)
	cmd.AddCommand(
		newConfigNewCommand(a),
		newConfigCheckCommand(a),
		newConfigExplainCommand(a),
	)
	return cmd
}

// configBackends lists the backends of MindSpore.
var configBackends = []string{"ge", "ms_backend", "O0", "O1", "O2", "pynative"}

// targetVersion is the flag for the target release of a configuration.
const targetVersion = "target-version"

// schemaFlag reads the name of a schema.
func schemaFlag(to *dumpconf.Schema, known ...dumpconf.Schema) *value[dumpconf.Schema] {
	return namedValue(to, lists.Map(known, dumpconf.Schema.String), known...)
}

// targetFlags lists the flags for the schema and the target of a configuration.
func targetFlags(o *dumpconf.Options) []cmdFlag {
	schema := schemaFlag(&o.Schema, dumpconf.SchemaACL, dumpconf.SchemaMindSpore, dumpconf.SchemaGE, dumpconf.SchemaTF, dumpconf.SchemaMsprobe)
	return append([]cmdFlag{{"schema", schema, "the file is of this `SCHEMA`: acl, mindspore, ge, tf or msprobe; default: from its keys", groupFacts, 0}}, newConfigFlags(o)...)
}

// newConfigFlags lists the targetFlags that also apply to files that do not exist yet.
func newConfigFlags(o *dumpconf.Options) []cmdFlag {
	soc := textValue(&o.SoC)
	soc.known = []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"}
	version := parsedValue(&o.TargetVersion, func(text string) (dumpconf.Version, error) {
		v, err := dumpconf.ParseVersion(text)
		if err != nil {
			err = &valueError{err: err}
		}
		return v, err
	})
	backend := parsedValue(&o.Backend, func(text string) (string, error) {
		i := slices.IndexFunc(configBackends, func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(text, "-", "_")) })
		if i < 0 {
			return "", wantf("want one of %s", strings.Join(configBackends, ", "))
		}
		return configBackends[i], nil
	})
	backend.known = configBackends
	return []cmdFlag{
		{targetVersion, version, "the file is for release `V` of CANN, or of MindSpore, such as 8.0 or 2.3.1; default: the newest", groupFacts, 0},
		{"soc", soc, "the file is for `PRODUCT`, such as Ascend910B, A2 or 310P; cpu or gpu for MindSpore without NPU", groupFacts, 0},
		{"backend", backend, "MindSpore runs on `BACKEND`: ge, ms_backend, O0, O1, O2 or pynative", groupFacts, 0},
		{"device", deviceList(&o.Devices), "`IDS` of the devices that will be used", groupFacts, 0},
	}
}

// deviceList reads device IDs.
func deviceList(to *[]uint64) *list[[]uint64] {
	return &list[[]uint64]{to: to, read: func(texts []string) (ids []uint64, err error) {
		for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
			id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
			if err != nil {
				return nil, lang.Errorf("ids of devices are numbers such as 0,1 and have no sign, found %q", text)
			}
			ids = append(ids, id)
		}
		return ids, nil
	}}
}

type configExplainOptions struct {
	dumpconf.Options
	checkEnv bool
	json     jsonFlag
	exitZero exitZero
}

func newConfigExplainCommand(a *app) *cobra.Command {
	opts := new(configExplainOptions)
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "say what a dump configuration does",
		Long: `explain says what a configuration dumps: which operators and steps, to which
files, and with which commands to read them. It also says which settings have no
effect, and what else must be set for the dump to work. FILE may be - for stdin.

A file with errors is explained as if they were mended; the report begins with
the settings that the runtime refuses, and the exit status is 1. With --json the
result is an object with the keys file, schema, active (whether anything will be
dumped), sections (name, title, lines), patterns (paths of the files), commands,
and error.`,
		Example: `  dumptool config explain acl.json
  dumptool config explain --lang zh --target-version 2.3 data_dump.json
  dumptool config explain --json acl.json | jq -r '.patterns[]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigExplain(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFinding, exitInterrupted)
	addFlags(cmd, append(targetFlags(&opts.Options),
		cmdFlag{"check-env", boolSwitch(&opts.checkEnv), "take the environment into account", groupFacts, 0},
		opts.exitZero.flag("errors do not change the exit status"), opts.json.flag("print a JSON object"))...)
	return cmd
}

func runConfigExplain(ctx context.Context, a *app, opts *configExplainOptions, args []string) error {
	if opts.checkEnv {
		opts.Env, opts.Container = os.LookupEnv, dumpconf.IsInContainer()
	}
	name, src, err := a.readOnlyConfig(ctx, args, opts.Schema)
	if err != nil {
		return err
	}
	r := dumpconf.Check(name, src, opts.Options)
	e := &report.ConfigExplanation{Name: name, Explanation: dumpconf.Explain(r, opts.Options), Refused: r.FirstError()}
	if err := printResult(a, opts.json.format(), e, report.Options{}); err != nil {
		return err
	}
	if e.Refused == nil {
		return nil
	}
	if err := a.show(nil); err != nil {
		return err
	}
	a.msg.Hintf("%s", a.translate(lang.Say("'dumptool config check' shows all errors")))
	return a.conclude(opts.exitZero.applyTo(batch.Outcomef(batch.Found, "errors found").AsShown()))
}

// readOnlyConfig reads the one file in the arguments.
func (a *app) readOnlyConfig(ctx context.Context, args []string, schema dumpconf.Schema) (name string, src []byte, err error) {
	switch len(args) {
	case 0:
		return "", nil, usagef("no file given; - stands for stdin")
	case 1:
	default:
		return "", nil, usagef("unexpected argument %q", args[1])
	}
	src, err = a.readConfig(ctx, args[0], schema)
	return args[0], src, err
}

// readConfig reads a file that is a configuration of some schema, or of the given one.
func (a *app) readConfig(ctx context.Context, name string, schema dumpconf.Schema) ([]byte, error) {
	src, err := dumpconf.ReadFile(ctx, name, a.streams.In)
	if err == nil && schema == dumpconf.SchemaUnknown {
		err = dumpconf.CheckContent(name, src)
	}
	return src, err
}

// configOutput holds the flags for the output of a configuration.
type configOutput struct {
	out   string
	force bool
}

func (o *configOutput) listFlags() []cmdFlag {
	return []cmdFlag{
		outFlag(&o.out, "write to `FILE`, not to stdout"),
		{"force", boolSwitch(&o.force), "replace the file of -out", groupReports, 0},
	}
}

// check refuses to replace a file without --force, and always refuses to replace an input.
func (o *configOutput) check(inputs ...string) error {
	if o.out == "" {
		if o.force {
			return usagef("--force needs -out")
		}
		return nil
	}
	if err := safefile.CheckOutput(o.out, inputs...); err != nil {
		return asUsage(err)
	}
	if _, err := store.Lstat(o.out); err == nil && !o.force {
		return o.existsError()
	}
	return nil
}

// existsError returns the error for a file that would be replaced.
func (o *configOutput) existsError() error {
	return hintf(usagef("%s already exists", o.out), "--force replaces it")
}

// writeConfig writes a new configuration and returns its check, under the name of the output.
func (a *app) writeConfig(o *configOutput, text []byte, opt dumpconf.Options) (*dumpconf.Report, error) {
	r := dumpconf.Check(o.out, text, opt)
	if first := r.FirstError(); first != nil {
		return nil, usagef("%s: %s", report.ConfigName(o.out), a.translate(first.Message))
	}
	if o.out == "" {
		return r, a.show(text)
	}
	write := safefile.WriteNewFile
	if o.force {
		write = safefile.WriteFile
	}
	err := write(o.out, text)
	switch {
	case errors.Is(err, fs.ErrExist): // created in the meantime
		return nil, o.existsError()
	case err != nil:
		return nil, safefile.WithPath(o.out, err)
	}
	a.infof("%s is written", o.out)
	return r, nil
}

// show prints a result and flushes it, so that it precedes the messages about it.
func (a *app) show(text []byte) error {
	a.out.Write(text)
	return a.out.Flush()
}

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
		Use:   "check FILE|DIR...",
		Short: "find mistakes in dump configurations",
		Long: `check reports mistakes in configurations: settings that the runtime rejects,
with its error code, and settings that it silently ignores, such as misspelled
keys. FILE may be - for stdin.

Each finding is printed as compilers do: file, line, column, message. With
--json each file gives one JSON object with the keys file, schema and findings.
A finding has rule, severity (error, warning, info), path, line, column, message
and code; if they apply, also suggestion, ignored (why the runtime does not read
the setting) and related. Lines and columns count from 1, columns in characters.
--format sarif is for services that show findings beside the source.

By default only the text of the file is checked, because the file may be for
another host. --check-fs also checks the folders that it names, --check-env the
environment variables that override it, and whether this is a container.

For a folder that MindSpore has dumped into, check reads the configuration
stored there (.metadata or rank_N/.dump_metadata) and compares what it requested
with what exists: iterations, devices, operators and graphs. Anything missing is
an error.

--fix prints the repairs as a diff for 'patch -p1' and does not change the file;
the exit status is for the file before the repair. --write changes the file and
prints the findings that remain. Only unambiguous mistakes are repaired. If
quotes or brackets do not match, nothing is repaired; the message shows the line
with the missing quote. In the diff a file outside the working folder has its
base name only.

The exit status is 1 if there are errors (with --strict also if there are
warnings), and 3 if a file could not be read or written.`,
		Example: `  dumptool config check acl.json
  dumptool config check --target-version 8.0 --soc A2 --check-fs acl.json
  dumptool config check --backend ms_backend --device 0,1 data_dump.json
  dumptool config check dump
  dumptool config check --fix acl.json | patch -p1
  dumptool config check --format sarif configs/*.json > findings.sarif`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigCheck(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFinding, exitInterrupted)
	addFlags(cmd, targetFlags(&opts.Options)...)
	formatFlag[*report.ConfigChecks](cmd, &opts.format)
	addFlags(cmd,
		cmdFlag{"check-fs", boolSwitch(&opts.checkFS), "check the folders named in the file too", groupFacts, 0},
		cmdFlag{"check-env", boolSwitch(&opts.checkEnv), "check the environment variables that override the file too", groupFacts, 0},
		cmdFlag{"world-size", integerValue(&opts.WorldSize, 0, math.MaxInt64, "want a number from 0"), "the job has `N` ranks, for files of msprobe; default: unknown", groupFacts, 0},
		cmdFlag{"strict", boolSwitch(&opts.strict), "exit with 1 for warnings too", groupCI, 0},
		cmdFlag{"fix", boolSwitch(&opts.fix), "print the change that repairs what can be repaired", groupReports, 0},
		cmdFlag{"write", boolSwitch(&opts.write), "with --fix: make the change", groupReports, 0},
		opts.exitZero.flag("errors do not change the exit status"))
	return cmd
}

// resolve checks the flags, and enables the checks that they allow.
func (o *configCheckOptions) resolve(args []string) error {
	stdin := lists.Count(args, func(name string) bool { return name == stdinArg })
	switch {
	case len(args) == 0:
		return usagef("no file given; - stands for stdin")
	case stdin > 1:
		return usagef("- is given %d times, stdin can be read once", stdin)
	case o.write && !o.fix:
		return usagef("--write needs --fix")
	case o.write && slices.Contains(args, stdinArg):
		return usagef("--write cannot change stdin")
	case o.fix && slices.ContainsFunc(args, isFolder):
		return usagef("--fix works on files, not on the folder of a dump")
	case o.fix && !o.write && o.format != "text":
		return usagef("--fix prints a diff, not %s; add --write to print the findings that remain in the file", o.format)
	}
	if o.checkFS {
		o.Stat = dumpconf.StatFolder
	}
	if o.checkEnv {
		o.Env, o.Container = os.LookupEnv, dumpconf.IsInContainer()
	}
	return nil
}

func runConfigCheck(ctx context.Context, a *app, opts *configCheckOptions, args []string) error {
	err := opts.resolve(args)
	if err != nil {
		return err
	}
	checks := &report.ConfigChecks{Tool: toolName()}
	checks.Folder, _ = os.Getwd() // without it absolute names stay unchanged
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
	return a.conclude(opts.exitZero.applyTo(checks.Outcome(opts.fix, opts.write, opts.strict)))
}

// checkConfigs checks files, and repairs them with --fix.
func (a *app) checkConfigs(ctx context.Context, opts *configCheckOptions, args []string, checks *dumpconf.Checks) error {
	for _, name := range args {
		if isFolder(name) {
			if err := a.checkTree(ctx, *opts, name, checks); err != nil {
				return err
			}
			continue
		}
		src, err := a.readConfig(ctx, name, opts.Schema)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			a.recordFailure(checks, err)
			continue
		}
		a.checkConfig(opts, name, src, checks)
	}
	return nil
}

// checkConfig checks a text, and repairs it with --fix.
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
		a.recordFailure(checks, safefile.WithPath(name, err))
		return
	}
	if opts.write && f.IsChanged() {
		err = safefile.Replace(name, f.Fixed)
	}
	if err != nil {
		a.recordFailure(checks, safefile.WithPath(name, err))
	}
	f.Written = opts.write && err == nil
	checks.Files = append(checks.Files, f)
}

// checkTree checks the configurations in a dump, and compares the files in the dump with what they
// request.
func (a *app) checkTree(ctx context.Context, opts configCheckOptions, dir string, checks *dumpconf.Checks) error {
	files, bad, err := dumpconf.OpenTree(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(files) == 0:
		err = lang.Errorf("%s: no configuration of MindSpore in it (.metadata/data_dump.json or rank_N/.dump_metadata/data_dump.json)", dir)
	}
	if err != nil {
		a.recordFailure(checks, err)
	}
	for _, err := range bad {
		a.recordFailure(checks, err)
	}
	opts.Schema = dumpconf.SchemaMindSpore
	for _, f := range files {
		src, err := dumpconf.ReadFile(ctx, f.Path, nil)
		if err != nil {
			a.recordFailure(checks, err)
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

// recordFailure records that a file could not be read or written.
func (a *app) recordFailure(checks *dumpconf.Checks, err error) {
	checks.Failed = append(checks.Failed, err.Error())
	a.msg.Errorf("%s", a.translate(lang.Error(err)))
}
