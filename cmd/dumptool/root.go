package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// globalOptions are the flags of every command.
type globalOptions struct {
	quiet, verbose bool
	logFormat      ui.LogFormat
	lang           report.Lang // empty: the language of the environment
	color          ui.ColorMode
	config         string
	s3             store.S3Settings
	unpackMax      int64
}

// listFlags lists the flags of every command. None changes the content of a result.
func (o *globalOptions) listFlags() []cmdFlag {
	o.logFormat, o.color = ui.LogText, ui.ColorAuto
	return append([]cmdFlag{
		{"quiet|q", boolSwitch(&o.quiet), "print errors only, no other messages and no progress", groupGlobal, 0},
		{"verbose", boolSwitch(&o.verbose), "print debug logs", groupGlobal, 0},
		{"log-format", &o.logFormat, "format of messages and logs", groupGlobal, 0},
		{"color", &o.color, "statuses, severities and carets in colour; auto: on a terminal, unless NO_COLOR is set", groupGlobal, 0},
		{"lang", &o.lang, "language of messages; default: from LC_ALL, LC_MESSAGES or LANG", groupGlobal, 0},
		{configFlag, textValue(&o.config), "read settings from `FILE` instead of dumptool.yaml", groupGlobal, 0},
		unpackMaxFlag(&o.unpackMax),
	}, o.s3Flags()...)
}

// messageOptions returns the options for the message printer.
func (a *app) messageOptions() ui.MessageOptions {
	o := &a.global
	return ui.MessageOptions{Quiet: o.quiet, Verbose: o.verbose, Format: o.logFormat, Color: o.color.IsEnabled(a.streams.ErrTTY, a.getenv), Chinese: a.lang() == report.Chinese}
}

// allCommands returns the commands of dumptool, or only the one that the command line begins with:
// making all of them takes half the time of a short run. Add new commands here.
func allCommands(a *app) (made []*cobra.Command) {
	all := []struct {
		name string
		make func(*app) *cobra.Command
	}{
		{overviewName, newOverviewCommand},
		{"convert", newConvertCommand},
		{"inspect", newInspectCommand},
		{"show", newShowCommand},
		{"find", newFindCommand},
		{"overflow", newOverflowCommand},
		{"compare", newCompareCommand},
		{"check", newCheckCommand},
		{"hpaa", newHPAACommand},
		{"run-npu-data-analysis", newNPUAnalysisCommand},
		{"perf", newPerfCommand},
		{"merge", newMergeCommand},
		{"report", newReportCommand},
		{"config", newConfigCommand},
		{"cluster", newClusterCommand},
		{versionName, newVersionCommand},
		{"completion", newCompletionCommand},
	}
	for _, c := range all {
		if c.name == a.firstWord {
			a.isOnlyWord = true
			return append(made, c.make(a))
		}
	}
	for _, c := range all {
		made = append(made, c.make(a))
	}
	return made
}

// newRootCommand returns the command tree, reduced to one command if the line begins with it.
func newRootCommand(a *app) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "dumptool",
		Short: "debug numerical accuracy on NPUs",
		Long: `dumptool says which operator of an NPU computed wrong first, and why. It
compares dumps with a golden run, or computes operators again from their own
inputs; turns dumps into host tensors, decodes overflow records, and writes and
checks dump configurations.

Long flags may be written with one dash and with _ for -. Every flag can also
be set by the environment variable DUMPTOOL_<COMMAND>_<FLAG>, or in a file
dumptool.yaml in the user's configuration folder.`,
	})
	root.Long += exitStatus(exitFinding, exitIncomplete, exitNothing, exitCoverage, exitInterrupted)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] == "" {
			return unknownCommand(cmd, "")
		}
		return noArgs(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		a.printHelp(cmd)
		return nil
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) }
	root.SetGlobalNormalizationFunc(normalizeFlag)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.printHelp(cmd) })
	root.SetIn(a.streams.In)
	root.SetOut(a.out)
	root.SetErr(a.streams.Err)
	root.PersistentFlags().SortFlags = false
	addFlagsTo(root.PersistentFlags(), append(a.global.listFlags(), cmdFlag{"help-all", a.helpAllValue(), "the complete help of a command, with all flags", groupGlobal, 0})...)
	excludeFromSettings(root.PersistentFlags().Lookup("help-all"))
	completeValues(root.PersistentFlags().Lookup("color"), toStrings([]ui.ColorMode{ui.ColorAuto, ui.ColorAlways, ui.ColorNever}))
	completeValues(root.PersistentFlags().Lookup("lang"), toStrings([]report.Lang{report.English, report.Chinese}))
	versionFlag(a, root)
	makeExclusive(root, "quiet", "verbose")

	root.AddCommand(a.commands(a)...)
	root.SetHelpCommand(newHelpCommand(a))
	root.InitDefaultHelpCmd()
	a.watchStart(root)
	return root
}

// newGroup completes a command that only holds subcommands: calling it without one is a mistake.
// The caller adds the subcommands.
func newGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = noArgs
	cmd.SuggestionsMinimumDistance = 2 // without it cobra suggests exact names only
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return missingCommand(cmd) }
	return cmd
}

// noArgs is the Args of commands without positional arguments.
func noArgs(cmd *cobra.Command, args []string) error { return maxArgs(0)(cmd, args) }

// maxArgs is the Args of commands with at most n positional arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("unexpected argument %q", args[n])
		}
		return nil
	}
}

// missingCommand returns the error for a group called without a subcommand.
func missingCommand(group *cobra.Command) error {
	var names []string
	for _, sub := range group.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("no command given, one of %s is needed", strings.Join(names, ", "))
}

// unknownCommand returns the error for a word that names no command of the group.
func unknownCommand(group *cobra.Command, word string) error {
	if err := removedError(group, word); err != nil {
		return err
	}
	err := usagef("unknown command %q for %q", word, group.CommandPath())
	if !group.HasParent() {
		err = usagef("%q is neither a command nor an existing path", word)
	}
	if near := group.SuggestionsFor(word); word != "" && len(near) > 0 {
		return hintf(err, "did you mean '%s %s'?", group.CommandPath(), near[0])
	}
	return helpHint(group, err)
}

// flagError rewords an error of pflag: it names the valid values, the similar flag, or the
// replacement of a removed flag.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if ours := invalidValue(invalid.GetFlag(), invalid.GetValue(), err); ours != nil {
			return ours
		}
		return lang.Errorf("invalid argument %q for \"%s\" flag: %v", invalid.GetValue(), flagNames(invalid.GetFlag()), invalid.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return lang.Errorf("flag needs an argument: %s", flagAsWritten(missing))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	err = lang.Errorf("unknown flag: %s", flagAsWritten(unknown))
	name, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
	name = string(normalizeFlag(nil, name))
	if gone := removedError(cmd, "--"+name); gone != nil {
		return gone
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := lang.Nearest(name, known); near != "" {
		return withHint(asUsage(err), lang.Say("did you mean --%s?", near))
	}
	return err
}

// flagNames renders a flag with its short name, as in pflag's messages.
func flagNames(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// flagAsWritten renders the flag in an error of pflag as it was written.
func flagAsWritten(err interface {
	GetSpecifiedName() string
	GetSpecifiedShortnames() string
}) string {
	if short := err.GetSpecifiedShortnames(); short != "" {
		return "-" + short
	}
	return "--" + err.GetSpecifiedName()
}

func newCompletionCommand(a *app) *cobra.Command {
	shells := []cobra.Completion{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "print a completion script for a shell",
		Long: `completion prints a script that completes commands and flags in a shell.
To use it in the running shell:

  bash        source <(dumptool completion bash)
  zsh         source <(dumptool completion zsh)
  fish        dumptool completion fish | source
  powershell  dumptool completion powershell | Out-String | Invoke-Expression

To use it in every shell, put that line into the shell's start-up file.` + exitStatus(),
		ValidArgs:   shells,
		Args:        shellArgs,
		Annotations: withoutSettings(),
		RunE:        func(cmd *cobra.Command, args []string) error { return runCompletion(a, cmd.Root(), args[0]) },
	}
}

// shellArgs is the Args of completion.
func shellArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
		return usagef("one shell is needed: %s", strings.Join(cmd.ValidArgs, ", "))
	}
	return nil
}

// runCompletion prints the script for a shell.
func runCompletion(a *app, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(a.out, true)
	case "zsh":
		return root.GenZshCompletion(a.out)
	case "fish":
		return root.GenFishCompletion(a.out, true)
	default:
		return root.GenPowerShellCompletionWithDesc(a.out)
	}
}

// completeValues lets the shell complete a flag with one of values.
func completeValues(f *pflag.Flag, values []string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[valuesKey] = values
}

// registerCompletions registers the values of all flags with cobra when the shell asks for completions.
// Cobra keeps them, and the commands, for the life of the process.
func registerCompletions(cmd *cobra.Command) {
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		complete, ok := completeRounds[strings.TrimPrefix(strings.TrimPrefix(f.Name, "ref-"), "npu-")]
		if values, known := f.Annotations[valuesKey]; known {
			complete, ok = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp), true
		}
		if !ok {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err)
		}
	})
	for _, sub := range cmd.Commands() {
		registerCompletions(sub)
	}
}

// completeRounds completes the flags that choose rounds, from the paths on the command line.
var completeRounds = map[string]cobra.CompletionFunc{
	"rank": roundsOfPaths(func(at dumpdir.Coordinates) string { return at.Rank }),
	"step": roundsOfPaths(func(at dumpdir.Coordinates) string { return at.Step }),
}

const (
	// completionTime limits how long the shell waits for the values of a run.
	completionTime = 2 * time.Second
	// maxCompletions limits the values of a run offered to the shell.
	maxCompletions = 1000
)

// roundsOfPaths completes a coordinate of rounds: the last element of a list. It returns nothing
// for runs that take too long to list.
func roundsOfPaths(of func(dumpdir.Coordinates) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		folders := slices.DeleteFunc(slices.Concat(args, pathsOf(cmd.Flags())), func(path string) bool {
			if store.IsRemote(path) {
				return true
			}
			info, err := store.Stat(path)
			return err != nil || !info.IsDir()
		})
		if len(folders) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		var values []cobra.Completion
		err := guard.Do(func() error {
			run, err := dumpdir.Open(ctx, folders, dumpdir.Options{NoRaw: true})
			if err != nil {
				return err
			}
			before := word[:strings.LastIndexAny(word, ",|:")+1]
			for _, r := range run.Rounds {
				if value := of(r.At); value != "" {
					values = append(values, before+value)
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.SortFunc(values, lang.CompareNatural)
		values = slices.Compact(values)
		return values[:min(len(values), maxCompletions)], cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// pathsOf returns the paths of runs in flags.
func pathsOf(flags *pflag.FlagSet) (paths []string) {
	for _, name := range []string{"dump-path", "cpu", "npu"} {
		f := flags.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			paths = append(paths, list.GetSlice()...)
		} else {
			paths = append(paths, f.Value.String())
		}
	}
	return paths
}
