package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/bundle"
	"dumptool/internal/config"
	"dumptool/internal/convert"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
	"dumptool/internal/ui"
)

// app holds the state of one command line.
type app struct {
	streams ui.Streams
	// out receives results. Its first write error is kept for run to report.
	out *bufio.Writer
	// msg receives messages: everything except results.
	msg    *ui.Messages
	global globalOptions
	// settings names the sources of values for flags that the user did not set.
	settings config.Options
	// commands returns the commands below the root.
	commands func(*app) []*cobra.Command
	// firstWord is the first word of the command line. alone reports whether commands made only the
	// command that first names.
	firstWord  string
	isOnlyWord bool
	// requested is the command to run. wholeHelp reports whether its help may exceed a screen.
	requested *cobra.Command
	wholeHelp bool
	// line is the command line without the name of the program.
	line []string
	// shardable holds the options of the commands that can work in shards.
	shardable map[*cobra.Command]shardable
	// unknownVariables lists environment variables with the prefix of dumptool that no flag has.
	unknownVariables []string
	// lastOutcome is the last outcome passed to conclude.
	lastOutcome batch.Outcome
	// hasHPAASpelling reports whether a flag has a spelling of HPAA's scripts, or dumptool was called
	// under the name of one.
	hasHPAASpelling bool
	// isHPAA reports whether dumptool was called under the name of HPAA's script.
	isHPAA bool
	// isRunning is true from the start of a command's own work. Earlier errors are mistakes on the
	// command line.
	isRunning bool
	// isShared reports whether other processes read the same runs.
	isShared bool
}

// newApp returns an app with the settings of the process.
func newApp(streams ui.Streams) *app {
	return &app{
		streams:  streams,
		out:      bufio.NewWriter(streams.Out),
		msg:      ui.NewMessages(streams, ui.MessageOptions{}),
		settings: config.Options{Working: ".", User: config.UserFolder(), LookupEnv: os.LookupEnv, Environ: os.Environ},
		commands: allCommands, shardable: map[*cobra.Command]shardable{},
	}
}

func (a *app) run(ctx context.Context, args []string) int {
	a.msg.RedirectLog()
	a.line = args
	err := a.execute(ctx, args)
	if left := store.CloseArchives(); left != nil {
		a.warnf("%w", left)
	}
	if lost := a.out.Flush(); lost != nil {
		err = a.lostResultsError(err, lost)
	}
	a.report(err)
	return exitCode(err)
}

// lostResultsError returns the error of a command whose results could not be written. The write error
// wins over err. A closed pipe, as from head, is no error.
func (a *app) lostResultsError(err, lost error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(lost, syscall.EPIPE):
		return ignoreClosedPipe(err)
	case !errors.Is(err, lost):
		a.report(err)
	}
	return incompletef("cannot write the results: %w", lost)
}

// ignoreClosedPipe returns err, or nil if err says that the reader closed the pipe.
func ignoreClosedPipe(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// withProgress runs the work of a batch with a progress bar. title is a verb such as "converting";
// observe goes into batch.Options.
func withProgress[R any](a *app, title string, work func(observe func(batch.Event)) (R, error)) (R, error) {
	progress := a.msg.Progress(title)
	defer progress.Close()
	return work(func(e batch.Event) { progress.Observe(e.Done, e.Total, e.DoneCost, e.TotalCost) })
}

// openRun lists the run at the paths. It warns of oddities in its mapping.csv files and in the
// chosen rounds.
func (a *app) openRun(ctx context.Context, paths []string, opt dumpdir.Options, chosen dumpdir.Selection) (*dumpdir.Run, error) {
	if len(paths) == 1 {
		if err := checkExists(paths[0]); err != nil {
			return nil, err
		}
	}
	run, err := dumpdir.Open(ctx, paths, opt)
	return a.warnOfRun(run, err, chosen)
}

// warnOfRun prints the warnings about an opened run.
func (a *app) warnOfRun(run *dumpdir.Run, err error, chosen dumpdir.Selection) (*dumpdir.Run, error) {
	if run != nil {
		warn(a, run.Warnings)
	}
	if err == nil {
		warn(a, dumpdir.ChoiceWarnings(dumpdir.RunSelection{Run: run, By: chosen}))
	}
	return run, err
}

// warn prints warnings.
func warn[T string | lang.Sentence](a *app, warnings []T) {
	for _, w := range warnings {
		if s, ok := any(w).(lang.Sentence); ok {
			a.msg.Warnf("%s", a.translate(s))
		} else {
			a.msg.Warnf("%s", w)
		}
	}
}

// warnf, infof and failf print a warning, a note and an error, in Chinese if the table of messages
// has a translation.
func (a *app) warnf(format string, args ...any) {
	a.msg.Warnf("%s", a.translate(lang.Say(format, args...)))
}
func (a *app) infof(format string, args ...any) {
	a.msg.Infof("%s", a.translate(lang.Say(format, args...)))
}
func (a *app) failf(format string, args ...any) {
	a.msg.Errorf("%s", a.translate(lang.Say(format, args...)))
}

func (a *app) printMessages(messages []batch.Message) {
	for _, m := range messages {
		if m.Hint {
			a.msg.Hintf("%s", a.translate(m.Text))
		} else {
			a.msg.Log().Log(context.Background(), m.Level, a.translate(m.Text), m.Attrs...)
		}
	}
}

// translate renders a message in the user's language. JSON logs are always English.
func (a *app) translate(s lang.Sentence) string {
	if a.global.logFormat == ui.LogJSON {
		return s.String()
	}
	return a.lang().Text(s.Text())
}

// conclude prints the messages of an outcome and returns its error.
func (a *app) conclude(o batch.Outcome) error {
	a.lastOutcome = o
	a.printMessages(o.Messages)
	return outcomeError(o)
}

// printResult prints a result in a format.
func printResult[R any](a *app, format string, result R, opt report.Options) error {
	text := a.textOptions()
	text.Matrix, text.All = opt.Matrix, opt.All
	opt.Text, opt.Page.Lang = text, string(a.global.lang)
	return report.Write(a.out, format, result, opt)
}

// textOptions returns the options for text on stdout.
func (a *app) textOptions() report.Text {
	return report.Text{Lang: a.lang(), Width: a.streams.OutWidth, ASCII: !lang.UnicodeLocale(a.getenv), Color: a.global.color.IsEnabled(a.streams.OutTTY, a.getenv)}
}

// lang returns the language of texts for people.
func (a *app) lang() report.Lang {
	switch {
	case a.global.lang != "":
		return a.global.lang
	case lang.ChineseLocale(a.getenv):
		return report.Chinese
	}
	return report.English
}

// resultPrinter prints results one by one.
type resultPrinter struct {
	*app
	format string
	shown  int
}

// printNext prints a result at once. In text an empty line separates it from the previous result.
func printNext[R any](p *resultPrinter, result R) error {
	if p.shown++; p.shown > 1 && p.format == "text" {
		fmt.Fprintln(p.out)
	}
	if err := printResult(p.app, p.format, result, report.Options{}); err != nil {
		return err
	}
	return p.out.Flush()
}

// execute runs the command that args name.
func (a *app) execute(ctx context.Context, args []string) error {
	a.isHPAA = len(args) > 0 && findTool(args[0]) != nil && findTool(args[0]).name == hpaaTool
	a.hasHPAASpelling = a.isHPAA || slices.ContainsFunc(args, isHPAAFlag)
	args, unused, err := translateTool(args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		a.firstWord = args[0]
	}
	root := newRootCommand(a)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		registerCompletions(root)
	}
	a.global.lang = langOf(args)
	a.msg = ui.NewMessages(a.streams, a.messageOptions())
	if len(unused) > 0 {
		a.infof("without effect here: %s", strings.Join(unused, ", "))
	}
	line := rewriteArgs(root, args)
	if line.extra != "" {
		return unknownCommand(line.cmd, line.extra)
	}
	a.requested = line.cmd
	root.SetArgs(line.args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return nil
	}
	if !a.isRunning {
		// The global flags may have been parsed before the mistake.
		a.msg = ui.NewMessages(a.streams, a.messageOptions())
		err = asUsage(err)
	}
	return helpHint(cmd, err)
}

// langOf finds the value of --lang in a command line, for messages about mistakes in it.
func langOf(args []string) report.Lang {
	const flag = "lang"
	for i, arg := range args {
		name, text, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != flag || name == arg {
			continue
		}
		if text == "" && i+1 < len(args) {
			text = args[i+1]
		}
		if l := report.Lang(text); l == report.English || l == report.Chinese {
			return l
		}
	}
	return ""
}

// prepare runs before any command and applies the settings and the global options.
func (a *app) prepare(cmd *cobra.Command) error {
	if takesSettings(cmd) {
		if err := a.applySettings(cmd); err != nil {
			return err
		}
	}
	a.msg = ui.NewMessages(a.streams, a.messageOptions())
	guard.Observe(a.logStack)
	a.msg.RedirectLog()
	if takesSettings(cmd) {
		a.warnOfUnread(cmd)
	}
	if err := refuseFileAsOut(cmd); err != nil {
		return err
	}
	if f := cmd.Flags().Lookup(shardFlag); f != nil {
		a.isShared = f.Value.String() != ""
	}
	a.useArchives(cmd.Context())
	return a.useStore(cmd.Context())
}

// logStack logs the stack of a panic, one line each.
func (a *app) logStack(p *guard.Panic) {
	for line := range strings.Lines(p.Trace()) {
		a.msg.Log().Debug(strings.TrimRight(line, "\n"))
	}
}

// watchStart makes every command below cmd set running when its own work begins.
func (a *app) watchStart(cmd *cobra.Command) {
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.isRunning = true
			return work(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.watchStart(sub)
	}
}

// unpackMaxFlag limits the bytes unpacked from an archive.
func unpackMaxFlag(to *int64) cmdFlag {
	*to = 1 << 40
	return cmdFlag{"unpack-max", (*sizeFlag)(to), "unpack at most this many bytes of an archive to $TMPDIR", groupGlobal, rareLevel}
}

// useArchives sets up the reading of archives.
func (a *app) useArchives(ctx context.Context) {
	store.UseArchives(func(path string) (store.Members, error) {
		progress := a.msg.Progress("unpacking")
		defer progress.Close()
		b, err := bundle.Open(path, bundle.Options{
			Max: a.global.unpackMax, Shared: a.isShared, Tensors: tensorfile.HoldsTensors, Context: ctx,
			Watch: func(done, total int64) { progress.Observe(0, 1, done, total) },
			Warn:  func(s lang.Sentence) { warn(a, []lang.Sentence{s}) },
		})
		packed := new(bundle.UnpackError)
		switch {
		case errors.As(err, &packed):
			return nil, configError(packed)
		case err != nil || b == nil:
			return nil, err
		}
		return b, nil
	})
}

// checkArchives refuses archives that every shard of a command would unpack. Archives in object storage
// are recognised by name: the shards read them first.
func (a *app) checkArchives(line *innerLine) error {
	a.isShared = true
	paths := slices.Clone(line.args)
	for _, v := range line.values {
		if isPathFlag(v.flag) && v.flag.Name != "out" {
			paths = append(paths, convert.SplitPaths([]string{v.text})...)
		}
	}
	for _, path := range paths {
		if store.IsRemote(path) {
			if name := strings.ToLower(path); bundle.HasCompressedName(name) {
				return configError(bundle.SharedError(path))
			}
			continue
		}
		if info, err := store.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if _, err := store.Mount(path); err != nil {
			return err
		}
	}
	return nil
}

// refuseFileAsOut refuses a file as --out where a folder is needed.
func refuseFileAsOut(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("out")
	if f == nil || !f.Changed {
		return nil
	}
	if kind, _ := pflag.UnquoteUsage(f); kind != "DIR" {
		return nil
	}
	if to := cmd.Flags().Lookup("type"); to != nil && convert.Type(to.Value.String()).Extracts() {
		return nil
	}
	if err := safefile.CheckFolder(f.Value.String()); err != nil {
		return incompletef("%w", err)
	}
	return nil
}
