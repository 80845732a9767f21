package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/dumpconf"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:         "config",
		Short:       "write, check and explain dump configurations",
		Annotations: chinese("编写、检查和解释 dump 配置"),
		Long: `config has commands for the files that say what Ascend software dumps:
acl.json of the ACL runtime, the file that MINDSPORE_DUMP_CONFIG names, and the
dump options of the graph engine and the TensorFlow adapter, written as flat
JSON. Which of them a file is shows in its keys.`,
	})
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	cmd.AddCommand(
		newConfigNewCommand(a),
		newConfigCheckCommand(a),
		newConfigExplainCommand(a),
		newConfigConvertCommand(a),
	)
	return cmd
}

// configTarget are the flags about what a configuration is for.
type configTarget struct {
	schema, version, soc, backend string
	devices                       deviceIDs
}

// configBackends are the backends of MindSpore.
var configBackends = []string{"ge", "ms_backend", "O0", "O1", "O2", "pynative"}

// checkedSchemas are the schemas that files can be checked as.
var checkedSchemas = []dumpconf.Schema{dumpconf.SchemaACL, dumpconf.SchemaMindSpore, dumpconf.SchemaGE, dumpconf.SchemaTF, dumpconf.SchemaMsprobe}

// schemaNames returns the names of schemas.
func schemaNames(all []dumpconf.Schema) []string {
	var list []string
	for _, s := range all {
		list = append(list, s.String())
	}
	return list
}

func (o *configTarget) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.schema, "schema", "", "the file is of this `SCHEMA`: acl, mindspore, ge, tf or msprobe; default: as its keys say")
	harmless(cmd.Flags(), "schema")
	completeValues(cmd.Flag("schema"), schemaNames(checkedSchemas))
	o.addMakingFlags(cmd)
}

// addMakingFlags adds the flags that also apply to files that do not exist.
func (o *configTarget) addMakingFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.version, "target-version", "", "the file is for release `V` of CANN, or of MindSpore, such as 8.0 or 2.3.1; default: the newest")
	flags.StringVar(&o.soc, "soc", "", "the file is for `PRODUCT`, such as Ascend910B, A2 or 310P; cpu or gpu for MindSpore without NPU")
	flags.StringVar(&o.backend, "backend", "", "MindSpore runs on `BACKEND`: ge, ms_backend, O0, O1, O2 or pynative")
	flags.Var(&o.devices, "device", "`IDS` of the devices that will be used")
	harmless(flags, "target-version", "soc", "backend", "device")
	completeValues(cmd.Flag("backend"), configBackends)
	completeValues(cmd.Flag("soc"), []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"})
}

// resolve checks the flags.
func (o *configTarget) resolve() (dumpconf.Options, error) {
	opt := dumpconf.Options{SoC: o.soc}
	if o.schema != "" {
		name, err := oneOf("--schema", o.schema, schemaNames(checkedSchemas))
		if err != nil {
			return opt, err
		}
		opt.Schema, _ = dumpconf.ParseSchema(name)
	}
	if o.version != "" {
		var err error
		if opt.TargetVersion, err = dumpconf.ParseVersion(o.version); err != nil {
			return opt, usagef("--target-version %s: %v", o.version, err)
		}
	}
	if o.backend != "" {
		same := func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(o.backend, "-", "_")) }
		i := slices.IndexFunc(configBackends, same)
		if i < 0 {
			return opt, usagef("--backend %s: want one of %s", o.backend, strings.Join(configBackends, ", "))
		}
		opt.Backend = configBackends[i]
	}
	opt.Devices = o.devices.ids
	return opt, nil
}

// deviceIDs are the ids of devices on a command line. It has the methods of a
// flag value.
type deviceIDs struct{ ids []uint64 }

// String implements the value of a flag.
func (d *deviceIDs) String() string { return strings.Join(d.GetSlice(), ",") }

// Type implements the value of a flag: it names the value in the help.
func (d *deviceIDs) Type() string { return "IDS" }

// Set implements the value of a flag.
func (d *deviceIDs) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := d.Append(part); err != nil {
			return err
		}
	}
	return nil
}

// Append implements pflag.SliceValue.
func (d *deviceIDs) Append(text string) error {
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return lang.Errorf("ids of devices are numbers such as 0,1 and have no sign, found %q", text)
	}
	d.ids = append(d.ids, id)
	return nil
}

// Replace implements pflag.SliceValue.
func (d *deviceIDs) Replace(texts []string) error {
	d.ids = nil
	return d.Set(strings.Join(texts, ","))
}

// GetSlice implements pflag.SliceValue.
func (d *deviceIDs) GetSlice() []string {
	var out []string
	for _, id := range d.ids {
		out = append(out, strconv.FormatUint(id, 10))
	}
	return out
}

type configExplainOptions struct {
	target   configTarget
	checkEnv bool
	json     jsonFlag
	exitZero exitZero
}

func newConfigExplainCommand(a *app) *cobra.Command {
	opts := new(configExplainOptions)
	cmd := &cobra.Command{
		Use:         "explain FILE",
		Short:       "say what a dump configuration does",
		Annotations: chinese("说明 dump 配置的作用"),
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
		a.msg.Hintf("%s", a.inLang(lang.Say("'dumptool config check' shows all errors")))
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

type configConvertOptions struct {
	target configTarget
	to     string
	output configOutput
}

// madeSchemas are the schemas that configurations can be converted to.
var madeSchemas = []dumpconf.Schema{dumpconf.SchemaACL, dumpconf.SchemaMindSpore, dumpconf.SchemaGE}

func newConfigConvertCommand(a *app) *cobra.Command {
	opts := new(configConvertOptions)
	cmd := &cobra.Command{
		Use:         "convert FILE --to SCHEMA",
		Short:       "write a dump configuration for another runtime",
		Annotations: chinese("为另一运行时改写 dump 配置"),
		Long: `convert prints a configuration that makes another runtime dump the same, as far
as it can, or writes it to a file with -out. FILE may be - for stdin. What has
no counterpart, is not quite the same, or had to be made up is said on stderr.

The version, the product, the backend and the devices are those of the result.
A configuration with errors is not converted, nor one that dumps nothing, or
whose result the version or backend would not act on; the exit status is 1 then.`,
		Example: `  dumptool config convert acl.json --to mindspore -out data_dump.json
  dumptool config convert data_dump.json --to acl --target-version 8.0
  dumptool config convert acl.json --to ge`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConfigConvert(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *configConvertOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.to, "to", "", "`SCHEMA` of the result: acl, mindspore or ge")
	harmless(cmd.Flags(), "to")
	completeValues(cmd.Flag("to"), schemaNames(madeSchemas))
	o.target.addFlags(cmd)
	cmd.Flag("target-version").Usage = "the result is for release `V` of its runtime; default: the newest"
	o.output.addFlags(cmd.Flags())
}

// resolve checks the flags; the options are for the result.
func (o *configConvertOptions) resolve(args []string) (from dumpconf.Schema, opt dumpconf.Options, err error) {
	if opt, err = o.target.resolve(); err != nil {
		return from, opt, err
	}
	if o.to == "" {
		return from, opt, usagef("--to is needed: one of acl, mindspore, ge")
	}
	to, err := oneOf("--to", o.to, schemaNames(madeSchemas))
	if err != nil {
		return from, opt, err
	}
	from = opt.Schema
	opt.Schema, _ = dumpconf.ParseSchema(to)
	inputs := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return name == stdinArg })
	return from, opt, o.output.check(inputs...)
}

func runConfigConvert(ctx context.Context, a *app, opts *configConvertOptions, args []string) error {
	from, opt, err := opts.resolve(args)
	if err != nil {
		return err
	}
	name, src, err := a.oneConfig(ctx, args)
	if err != nil {
		return err
	}
	r := dumpconf.Check(name, src, dumpconf.Options{Schema: from})
	if first := r.Refused(); first != nil {
		err := foundf("%s:%d:%d: %s", report.ConfigName(name), first.Line, first.Column, a.inLang(first.Message))
		return hintf(err, "'dumptool config check' shows all errors")
	}
	if r.Schema == opt.Schema {
		return usagef("%s is one of %s already", report.ConfigName(name), opts.to)
	}
	text, notes, err := dumpconf.Translate(r, opt.Schema, opt)
	if err != nil {
		return foundf("%s: %w", report.ConfigName(name), err)
	}
	if _, err := a.writeConfig(&opts.output, text, opt); err != nil {
		return err
	}
	a.say(report.TranslationMessages(name, notes))
	return nil
}

// configOutput are the flags about where a configuration goes.
type configOutput struct {
	out   string
	force bool
}

func (o *configOutput) addFlags(flags *pflag.FlagSet) {
	outFlag(flags, &o.out, "", "write to `FILE`, not to stdout")
	flags.BoolVar(&o.force, "force", false, "replace the file of -out")
}

// check refuses to replace a file, and in any case one of the inputs.
func (o *configOutput) check(inputs ...string) error {
	if o.out == "" {
		if o.force {
			return usagef("--force goes with -out only")
		}
		return nil
	}
	if err := safefile.CheckOutput(o.out, inputs...); err != nil {
		return asUsage(err)
	}
	if _, err := store.Lstat(o.out); err == nil && !o.force {
		return o.isThere()
	}
	return nil
}

// isThere is the error for a file that would be replaced.
func (o *configOutput) isThere() error {
	return hintf(usagef("%s is there already", o.out), "--force replaces it")
}

// writeConfig writes a configuration that was made and returns the check of
// it, under the name that it has there.
func (a *app) writeConfig(o *configOutput, text []byte, opt dumpconf.Options) (*dumpconf.Report, error) {
	r := dumpconf.Check(o.out, text, opt)
	if first := r.Refused(); first != nil {
		return nil, usagef("%s: %s", report.ConfigName(o.out), a.inLang(first.Message))
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
	case errors.Is(err, fs.ErrExist): // by now
		return nil, o.isThere()
	case err != nil:
		return nil, safefile.WithPath(o.out, err)
	}
	a.infof("%s is written", o.out)
	return r, nil
}

// show prints a result, before the messages about it that follow.
func (a *app) show(text []byte) error {
	a.out.Write(text)
	return a.out.Flush()
}
