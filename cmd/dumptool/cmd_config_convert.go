package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
)

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
		Use:   "convert FILE --to SCHEMA",
		Short: "write a dump configuration for another runtime",
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
	completeValues(cmd, "to", schemaNames(madeSchemas))
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
