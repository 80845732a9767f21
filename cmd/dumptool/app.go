package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"dumptool/internal/config"
	"dumptool/internal/ui"
)

// app is what every command works with.
type app struct {
	streams ui.Streams
	// out takes results. It keeps its first error, which run reports.
	out *bufio.Writer
	// msg takes everything that is not a result.
	msg    *ui.Messages
	global globalOptions
	// settings says where values of flags come from that the user did not set.
	settings config.Options
	// commands returns the commands below the root.
	commands func(*app) []*cobra.Command
	// running is true from the start of a command's own work: errors before
	// that are mistakes on the command line.
	running bool
}

// newApp returns an app with the settings of the process.
func newApp(streams ui.Streams) *app {
	return &app{
		streams:  streams,
		out:      bufio.NewWriter(streams.Out),
		msg:      ui.NewMessages(streams, ui.MessageOptions{}),
		settings: config.Options{Folders: config.Folders(), LookupEnv: os.LookupEnv},
		commands: allCommands,
	}
}

// run executes one command line, without the program name, and returns the
// exit status.
func run(ctx context.Context, args []string, streams ui.Streams) int {
	return newApp(streams).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	err := a.execute(ctx, args)
	if flushErr := a.out.Flush(); flushErr != nil && err == nil {
		err = fmt.Errorf("cannot write the results: %w", flushErr)
	}
	a.report(err)
	return exitCode(err)
}

// execute runs the command that args name.
func (a *app) execute(ctx context.Context, args []string) error {
	root := newRootCommand(a)
	line := rewriteArgs(root, args)
	if line.stray != "" {
		return unknownCommand(line.cmd, line.stray)
	}
	root.SetArgs(line.args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return nil
	}
	if !a.running {
		// The global flags may have been read before the mistake.
		a.msg = ui.NewMessages(a.streams, a.global.messages())
		err = asUsage(err)
	}
	return helpHint(cmd, err)
}

// prepare runs before any command: it applies the settings and the global
// options.
func (a *app) prepare(cmd *cobra.Command) error {
	if takesSettings(cmd) {
		if err := a.applySettings(cmd); err != nil {
			return err
		}
	}
	a.msg = ui.NewMessages(a.streams, a.global.messages())
	return nil
}

// watchStart makes every command below cmd note that its own work begins.
func (a *app) watchStart(cmd *cobra.Command) {
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			return work(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.watchStart(sub)
	}
}
