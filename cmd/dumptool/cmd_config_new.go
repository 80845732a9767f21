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
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/report"
	"dumptool/internal/ui"
)

type configNewOptions struct {
	profiles []dumpconf.Profile
	fields   []*profileFlag
	dumpconf.Options
	output configOutput
}

func newConfigNewCommand(a *app) *cobra.Command {
	opts := &configNewOptions{profiles: dumpconf.Profiles()}
	cmd := &cobra.Command{
		Use:   "new PROFILE",
		Short: "write a dump configuration for a purpose",
		Long: `new prints a complete configuration for a purpose, or writes it to the file of
-out, and says how to use it. A setting that you do not give gets its default,
or a placeholder that the message names. The result is checked: a value that the
runtime would refuse is an error.

On a terminal and without flags, new asks for the few settings that matter.

Profiles:
` + opts.profileTable() + `
A flag has the name of its key in the file. Several values are separated by
commas, or the flag is given several times.`,
		Example: `  dumptool config new model --dump-path /data/dump --layer conv1 -out acl.json
  dumptool config new op --target-version 7.0 --dump-path /data/dump
  dumptool config new ms-stat --backend ms_backend --path /data/dump
  dumptool config new msprobe --dump-path /data/dump --step 0,3-5`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConfigNew(cmd.Context(), a, opts, cmd.Flags(), args)
		},
		ValidArgsFunction: cobra.FixedCompletions(opts.profileNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Long += exitStatus(exitInterrupted)
	opts.addFields(cmd)
	addFlags(cmd, slices.Concat(newConfigFlags(&opts.Options), opts.output.listFlags())...)
	return cmd
}

func runConfigNew(ctx context.Context, a *app, opts *configNewOptions, flags *pflag.FlagSet, args []string) error {
	profile, err := a.findProfile(opts, args)
	if err != nil {
		return err
	}
	values, err := opts.valuesFor(flags, profile)
	if err != nil {
		return err
	}
	if err := opts.output.check(); err != nil {
		return err
	}
	if len(values) == 0 && !hasOtherFlags(flags) && a.streams.InTTY && a.streams.OutTTY {
		if values, err = a.askFields(ctx, profile, a.lang()); err != nil {
			return err
		}
	}
	made, err := dumpconf.New(profile.Name, values, opts.Options)
	if err != nil {
		return a.printRefusals(err)
	}
	return a.writeConfiguration(opts, made)
}

// hasOtherFlags reports whether any flag but --lang is set. --lang also sets the language of the
// questions.
func hasOtherFlags(flags *pflag.FlagSet) bool {
	found := false
	flags.Visit(func(f *pflag.Flag) { found = found || f.Name != "lang" })
	return found
}

// findProfile returns the profile that the arguments name.
func (a *app) findProfile(opts *configNewOptions, args []string) (*dumpconf.Profile, error) {
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
		a.msg.Errorf("%s", a.translate(lang.Say("no profile %q, there are:", args[0])))
	default:
		a.msg.Errorf("%s", a.translate(lang.Say("no profile given, there are:")))
	}
	for _, p := range all {
		a.msg.Hintf("%-13s %s", p.Name, a.lang().Text(p.About))
	}
	return nil, asReported(usagef("no profile"))
}

// printRefusals prints all but the first finding against the values, and returns the error.
func (a *app) printRefusals(err error) error {
	if refused, ok := errors.AsType[*dumpconf.RefusedError](err); ok {
		for i := range refused.Findings[1:] {
			one := dumpconf.RefusedError{Findings: refused.Findings[i+1:]}
			a.failf("%w", one)
		}
	}
	return asUsage(err)
}

// writeConfiguration writes a configuration and prints the next steps.
func (a *app) writeConfiguration(opts *configNewOptions, made *dumpconf.NewFile) error {
	opts.Schema = made.Report.Schema
	r, err := a.writeConfig(&opts.output, made.Text, opts.Options)
	if err != nil {
		return err
	}
	a.printMessages(report.NewConfigMessages(made, r))
	return nil
}

// askFields asks for the important fields of a profile. Questions go to stderr, as stdout is for
// the configuration.
func (a *app) askFields(ctx context.Context, p *dumpconf.Profile, lang report.Lang) (dumpconf.Values, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ui.ReadLines(ctx, a.streams.In)
	values := dumpconf.Values{}
	for i := range p.Fields {
		field := &p.Fields[i]
		if field.Question.String() == "" {
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

// errNoAnswer reports that the input ended before the last question.
var errNoAnswer = lang.Errorf("the input ended before all questions were answered")

// askField repeats a question until the answer is valid. nil means the default.
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
		a.warnf("%q is not one of %s", answer[bad], strings.Join(field.Values, ", "))
	}
}

// profileFlag is the flag for a key of some profiles.
type profileFlag struct {
	name        string
	profiles    []string
	abouts      []fieldAbout
	kind        dumpconf.KeyType
	values      []string // possible values of the key; nil for any
	givenValues []string
}

// fieldAbout describes a key in some profiles.
type fieldAbout struct {
	lang.Text
	profiles []string
}

// toFlag returns the definition of the flag.
func (f *profileFlag) toFlag(usage string) cmdFlag {
	row := cmdFlag{names: f.name, usage: usage, section: groupMore, levels: rareLevel} // help lists the keys of each profile instead
	if f.kind == dumpconf.TypeStrings || f.kind == dumpconf.TypeUints {
		l := textList(&f.givenValues)
		l.kind = f.typeName()
		row.value = l
	} else {
		row.value = &value[[]string]{to: &f.givenValues, kind: f.typeName(), read: func(text string) ([]string, error) { return []string{text}, nil }}
	}
	return row
}

// typeName names the type of value in the help.
func (f *profileFlag) typeName() string {
	if all := strings.Join(f.values, "|"); all != "" && len(all) <= 24 {
		return all
	}
	switch f.kind {
	case dumpconf.TypeBool:
		return "bool"
	case dumpconf.TypeUint:
		return "N"
	case dumpconf.TypeUints:
		return "N,..."
	case dumpconf.TypeStrings:
		return "NAME,..."
	}
	return "TEXT"
}

// addFields adds the flags for the keys of all profiles.
func (o *configNewOptions) addFields(cmd *cobra.Command) {
	for _, p := range o.profiles {
		for i := range p.Fields {
			o.addField(p.Name, &p.Fields[i])
		}
	}
	for _, f := range o.fields {
		addFlags(cmd, f.toFlag(o.flagUsage(f)))
		values := f.values
		if f.kind == dumpconf.TypeBool {
			values = []string{"true", "false"}
		}
		completeValues(cmd.Flag(f.name), values)
	}
}

// addField adds a key of a profile.
func (o *configNewOptions) addField(profile string, field *dumpconf.Field) {
	f := o.findField(field.Flag)
	if f == nil {
		f = &profileFlag{name: field.Flag, kind: field.Type}
		o.fields = append(o.fields, f)
	}
	f.profiles = append(f.profiles, profile)
	if field.Type != dumpconf.TypeBool {
		f.values = append(f.values, subtractValues(field.Values, f.values)...)
	}
	i := slices.IndexFunc(f.abouts, func(a fieldAbout) bool { return a.Text == field.About })
	if i < 0 {
		i = len(f.abouts)
		f.abouts = append(f.abouts, fieldAbout{Text: field.About})
	}
	f.abouts[i].profiles = append(f.abouts[i].profiles, profile)
}

// findField finds a flag by name, or returns nil.
func (o *configNewOptions) findField(name string) *profileFlag {
	for _, f := range o.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// flagUsage describes a flag for the help. ms-* stands for all profiles of MindSpore.
func (o *configNewOptions) flagUsage(f *profileFlag) string {
	ofMindSpore := slices.DeleteFunc(o.profileNames(), func(name string) bool { return !strings.HasPrefix(name, "ms-") })
	var templates []string
	var lists [][]string
	for _, a := range f.abouts {
		names := a.profiles
		if len(subtractValues(ofMindSpore, names)) == 0 {
			names = append(subtractValues(names, ofMindSpore), "ms-*")
		}
		templates, lists = append(templates, "%s (%s)"), append(lists, []string{a.String()}, names)
	}
	return fillUsage(strings.Join(templates, "; "), lists...)
}

// subtractValues returns the values that are not in others.
func subtractValues(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

// valuesFor returns the flags' values for a profile. A flag that the profile lacks is a mistake on the
// command line. In settings it is ignored, since settings are for all profiles.
func (o *configNewOptions) valuesFor(flags *pflag.FlagSet, p *dumpconf.Profile) (dumpconf.Values, error) {
	values := dumpconf.Values{}
	for i := range p.Fields {
		field := &p.Fields[i]
		if !flags.Lookup(field.Flag).Changed {
			continue
		}
		for _, text := range o.findField(field.Flag).givenValues {
			values[field.Key] = append(values[field.Key], field.Split(text)...)
		}
		if len(values[field.Key]) == 0 {
			return nil, usagef("--%s is empty; leave it out for the default", field.Flag)
		}
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		field := o.findField(f.Name)
		if err == nil && field != nil && !slices.Contains(field.profiles, p.Name) {
			err = usagef("profile %s has no --%s; it is for %s", p.Name, f.Name, strings.Join(field.profiles, ", "))
		}
	})
	return values, err
}

// profileTable returns the list of profiles for the help.
func (o *configNewOptions) profileTable() string {
	const indent, columns = 16, 80
	var b strings.Builder
	for _, p := range o.profiles {
		b.WriteString(wrapWords(fmt.Sprintf("  %-*s%s", indent-2, p.Name, p.About.String()), columns, indent))
	}
	return b.String()
}

func (o *configNewOptions) profileNames() []string {
	return lists.Map(o.profiles, func(p dumpconf.Profile) string { return p.Name })
}
