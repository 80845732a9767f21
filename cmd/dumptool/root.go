package main

import (
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/report"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// globalOptions are the flags of every command.
type globalOptions struct {
	quiet, verbose bool
	logFormat      ui.LogFormat
	lang           report.Lang // empty for that of the environment
	color          ui.ColorMode
	config         string
	s3             store.S3Settings
	unpackMax      int64
}

// flags are those of every command. None changes what a result says.
func (o *globalOptions) flags() []cmdFlag {
	o.logFormat, o.color = ui.LogText, ui.ColorAuto
	all := append([]cmdFlag{
		{"quiet|q", yes(&o.quiet), "print errors only, no other messages and no progress", global, safe},
		{"verbose", yes(&o.verbose), "print debug logs", global, safe},
		{"log-format", &o.logFormat, "format of messages and logs", global, safe},
		{"color", &o.color, "statuses, severities and carets in colour; auto: on a terminal, unless NO_COLOR is set", global, safe},
		{"lang", &o.lang, "language of texts for people; default: as LC_ALL, LC_MESSAGES or LANG says", global, safe},
		{configFlag, text(&o.config), "read settings from `FILE` instead of dumptool.yaml", global, 0},
		unpackMaxFlag(&o.unpackMax),
	}, o.s3Flags()...)
	for i := range all {
		all[i].is |= ofTransport
	}
	return all
}

// messages returns the options as the message printer knows them.
func (a *app) messages() ui.MessageOptions {
	o := &a.global
	return ui.MessageOptions{Quiet: o.quiet, Verbose: o.verbose, Format: o.logFormat, Color: o.color.On(a.streams.ErrTTY, a.getenv)}
}

// allCommands returns the commands of dumptool. A new one is added here.
func allCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		newConvertCommand(a),
		newInspectCommand(a),
		newFindCommand(a),
		newOverflowCommand(a),
		newCompareCommand(a),
		newHPAACommand(a),
		newNPUAnalysisCommand(a),
		newPerfCommand(a),
		newMergeCommand(a),
		newReportCommand(a),
		newConfigCommand(a),
		newClusterCommand(a),
		newVersionCommand(a),
		newCompletionCommand(a),
	}
}

// newRootCommand returns the whole command tree.
func newRootCommand(a *app) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "dumptool",
		Short: "debug numerical accuracy on NPUs",
		Long: `dumptool turns device dumps into host tensors, decodes overflow records,
compares NPU tensors with a golden run, and writes and checks dump
configurations.

Long flags may be written with one dash and with _ for -. Every flag can also
be set by the environment variable DUMPTOOL_<COMMAND>_<FLAG>, or in a file
dumptool.yaml in the user's configuration folder. One in the working folder, which
may have come with the dumps, sets only numbers, names and the like.`,
	})
	root.Long += exitStatus(exitFound, exitIncomplete, exitNothing, exitCoverage, exitInterrupted)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) }
	root.SetGlobalNormalizationFunc(normalizeFlag)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.printHelp(cmd) })
	root.SetIn(a.streams.In)
	root.SetOut(a.out)
	root.SetErr(a.streams.Err)
	root.PersistentFlags().SortFlags = false
	defineIn(root, root.PersistentFlags(), append(a.global.flags(), cmdFlag{"help-all", a.allHelp(), "all that there is to say about a command", global, ofTransport | noSetting})...)
	completeValues(root, "color", names([]ui.ColorMode{ui.ColorAuto, ui.ColorAlways, ui.ColorNever}))
	completeValues(root, "lang", names([]report.Lang{report.English, report.Chinese}))
	versionFlag(a, root)
	exclusive(root, "quiet", "verbose")

	root.AddCommand(a.commands(a)...)
	root.SetHelpCommand(newHelpCommand(a))
	root.InitDefaultHelpCmd()
	a.watchStart(root)
	return root
}

// newGroup completes a command that only holds others: called without one of
// them, it is a mistake. Its subcommands are the caller's to add.
func newGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = noArgs
	cmd.SuggestionsMinimumDistance = 2 // without it cobra suggests exact names only
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return missingCommand(cmd) }
	return cmd
}

// noArgs is the Args of commands without positional arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

// missingCommand is the error of a group that was called by itself.
func missingCommand(group *cobra.Command) error {
	var names []string
	for _, sub := range group.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("no command given, one of %s is needed", strings.Join(names, ", "))
}

// unknownCommand is the error for a word that is no command of group.
func unknownCommand(group *cobra.Command, word string) error {
	if err := goneCommand(group, word); err != nil {
		return err
	}
	err := usagef("unknown command %q for %q", word, group.CommandPath())
	if near := group.SuggestionsFor(word); len(near) > 0 {
		return hintf(err, "did you mean '%s %s'?", group.CommandPath(), near[0])
	}
	return helpHint(group, err)
}
