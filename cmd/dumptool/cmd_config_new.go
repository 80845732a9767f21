package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
	"dumptool/internal/ui"
)

type configNewOptions struct {
	profiles []dumpconf.Profile
	fields   []*profileFlag
	target   configTarget
	output   configOutput
}

func newConfigNewCommand(a *app) *cobra.Command {
	opts := &configNewOptions{profiles: dumpconf.Profiles()}
	cmd := &cobra.Command{
		Use:   "new PROFILE",
		Short: "write a dump configuration for a purpose",
		Long: `new prints a complete configuration for a purpose, or writes it to a file with
-out, and says what to do with it. What is not given has a default, or a
placeholder that is named. The result is checked: values that the runtime would
refuse are an error.

At a terminal and without flags it asks for the few things that matter.

Profiles:
` + opts.profileTable() + `
The names of the flags are those of the keys in the file. A flag that takes
several values takes them with commas between, or is given more than once.`,
		Example: `  dumptool config new model --dump-path /data/dump --layer conv1 -out acl.json
  dumptool config new op --target-version 7.0 --dump-path /data/dump
  dumptool config new ms-stat --backend ms_backend --path /data/dump`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConfigNew(cmd.Context(), a, opts, cmd.Flags(), args)
		},
		ValidArgsFunction: cobra.FixedCompletions(opts.profileNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Long += exitStatus(exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *configNewOptions) addFlags(cmd *cobra.Command) {
	o.addFields(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { annotate(f, rare) }) // those of each profile are its keys
	o.target.addMakingFlags(cmd)
	o.output.addFlags(cmd.Flags())
}

func runConfigNew(ctx context.Context, a *app, opts *configNewOptions, flags *pflag.FlagSet, args []string) error {
	profile, err := a.profileOf(opts, args)
	if err != nil {
		return err
	}
	values, err := opts.values(flags, profile)
	if err != nil {
		return err
	}
	opt, err := opts.target.resolve()
	if err != nil {
		return err
	}
	if err := opts.output.check(); err != nil {
		return err
	}
	if len(values) == 0 && !saysMore(flags) && a.streams.InTTY && a.streams.OutTTY {
		if values, err = a.askFields(ctx, profile, a.lang()); err != nil {
			return err
		}
	}
	made, err := dumpconf.New(profile.Name, values, opt)
	if err != nil {
		return a.refused(err)
	}
	return a.deliver(opts, made, opt)
}

// saysMore reports whether any flag says what is wanted. That of the language is
// also for the questions.
func saysMore(flags *pflag.FlagSet) bool {
	found := false
	flags.Visit(func(f *pflag.Flag) { found = found || f.Name != "lang" })
	return found
}

// profileOf returns the profile that the arguments name.
func (a *app) profileOf(opts *configNewOptions, args []string) (*dumpconf.Profile, error) {
	all := opts.profiles
	i := -1
	if len(args) > 0 {
		i = slices.IndexFunc(all, func(p dumpconf.Profile) bool { return p.Name == args[0] })
	}
	switch {
	case len(args) > 1:
		return nil, usagef("unexpected argument %q", args[1])
	case i >= 0:
		return &all[i], nil
	case len(args) == 1:
		a.msg.Errorf("no profile %q, there are:", args[0])
	default:
		a.msg.Errorf("no profile given, there are:")
	}
	for _, p := range all {
		a.msg.Hintf("%-13s %s", p.Name, a.lang().Text(p.About))
	}
	return nil, reported(usagef("no profile"))
}

// refused reports all that a check has against the values.
func (a *app) refused(err error) error {
	var refused *dumpconf.RefusedError
	if errors.As(err, &refused) {
		for i := range refused.Findings[1:] {
			one := dumpconf.RefusedError{Findings: refused.Findings[i+1:]}
			a.msg.Errorf("%s", one.Error())
		}
	}
	return asUsage(err)
}

// deliver writes a configuration and says what comes next.
func (a *app) deliver(opts *configNewOptions, made *dumpconf.Made, opt dumpconf.Options) error {
	opt.Schema = made.Report.Schema
	r, err := a.writeConfig(&opts.output, made.Text, opt)
	if err != nil {
		return err
	}
	a.say(report.MadeMessages(made, r))
	return nil
}

// askFields asks for the fields of a profile that matter. Questions go to
// stderr, as stdout is for the configuration.
func (a *app) askFields(ctx context.Context, p *dumpconf.Profile, lang report.Lang) (dumpconf.Values, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ui.ReadLines(ctx, a.streams.In)
	values := dumpconf.Values{}
	for i := range p.Fields {
		field := &p.Fields[i]
		if field.Question.EN == "" {
			continue
		}
		answer, err := a.askField(ctx, field, lang, lines)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			values[field.Key] = answer
		}
	}
	return values, nil
}

// errNoAnswer is that of questions without an answer.
var errNoAnswer = errors.New("the answers ended before the questions")

// askField asks until an answer can be used. nil stands for the default.
func (a *app) askField(ctx context.Context, field *dumpconf.Field, lang report.Lang, lines *ui.Lines) ([]string, error) {
	question := lang.Text(field.Question)
	if len(field.Default) > 0 {
		question += " [" + strings.Join(field.Default, ",") + "]"
	}
	for {
		fmt.Fprintf(a.streams.Err, "%s ", question)
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(a.streams.Err)
			return nil, errNoAnswer
		case err != nil:
			return nil, err
		}
		answer := field.Split(line.Text)
		bad := slices.IndexFunc(answer, func(v string) bool { return field.Values != nil && !slices.Contains(field.Values, v) })
		if bad < 0 {
			return answer, nil
		}
		a.msg.Warnf("%q is not one of %s", answer[bad], strings.Join(field.Values, ", "))
	}
}
