package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"dumptool/internal/config"
	"dumptool/internal/ui"
)

// result is the outcome of a command line.
type result struct {
	code     int
	out, err string
}

// testStreams returns streams that are no terminals, and the buffers behind them.
func testStreams() (s ui.Streams, in, out, err *bytes.Buffer) {
	in, out, err = new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer)
	return ui.Streams{In: in, Out: out, Err: err}, in, out, err
}

// testApp returns an app without the machine's settings.
func testApp(t *testing.T) (a *app, get func(code int) result) {
	t.Helper()
	streams, _, out, err := testStreams()
	a = newApp(streams)
	a.settings = config.Options{}
	return a, func(code int) result { return result{code, out.String(), err.String()} }
}

// runArgs executes one command line in this process.
func runArgs(t *testing.T, args ...string) result {
	t.Helper()
	a, get := testApp(t)
	return get(a.run(t.Context(), args))
}

// sampleOptions have a flag of every kind.
type sampleOptions struct {
	out, dir, cpuDir, shape, format string
	jobs, topN                      int
	stats, half                     bool
	ops                             []string
}

// sampleCommands returns a command line like the real commands, and one below a group. work is the
// body of both.
func sampleCommands(opts *sampleOptions, work func(ctx context.Context, args []string) error) func(*app) []*cobra.Command {
	return func(*app) []*cobra.Command {
		convert := &cobra.Command{
			Use:  "convert",
			Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, args []string) error { return work(cmd.Context(), args) },
		}
		flags := convert.Flags()
		flags.StringVarP(&opts.dir, "dump-path", "d", "", "")
		flags.StringVarP(&opts.format, "format", "f", "", "")
		flags.StringVarP(&opts.shape, "shape", "s", "", "")
		flags.IntVarP(&opts.topN, "output", "o", 0, "")
		flags.IntVarP(&opts.jobs, "jobs", "j", 1, "")
		flags.BoolVarP(&opts.stats, "stats", "x", false, "")
		flags.BoolVarP(&opts.half, "half", "y", false, "")
		flags.StringSliceVar(&opts.ops, "ops", []string{"default"}, "")
		addFlags(convert, cmdFlag{names: "out|output_path|target", value: textValue(&opts.out)})
		makeExclusive(convert, "stats", "half")

		analyze := &cobra.Command{
			Use:  "analyze",
			Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, args []string) error { return work(cmd.Context(), args) },
		}
		analyze.Flags().StringVar(&opts.cpuDir, "cpu-dir", "", "")
		analyze.Flags().IntVarP(&opts.topN, "top-n", "n", 0, "")
		group := newGroup(&cobra.Command{Use: "overflow", Aliases: []string{"of"}})
		group.AddCommand(analyze)
		return []*cobra.Command{convert, group}
	}
}

// walk calls visit for cmd and every command below it.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// wantContains fails unless text holds part.
func wantContains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not contain %q", text, part)
	}
}
