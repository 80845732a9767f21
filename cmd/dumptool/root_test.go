package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommand checks the rules that are most easily forgotten for new commands.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Args == nil {
			t.Errorf("%s: Args is not set", path)
		}
		if cmd.RunE == nil || cmd.Run != nil {
			t.Errorf("%s: does not run by RunE", path)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, want a phrase without full stop", path, cmd.Short)
		}
		about, status, found := strings.Cut(cmd.Long, exitStatusTitle)
		if !found || strings.TrimSpace(about) == "" {
			t.Errorf("%s: Long does not describe the command and its exit status", path)
		}
		for line := range strings.Lines(status) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %q stands below the exit status", path, line)
			}
		}
		if cmd.PersistentPreRunE != nil && cmd.HasParent() {
			t.Errorf("%s: PersistentPreRunE hides that of the root, which applies the settings", path)
		}
	})
}

// TestEveryHelp checks that help goes to stdout, in both ways to call it, and
// ends with the exit status.
func TestEveryHelp(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		words := commandPath(cmd)
		t.Run(cmd.Name(), func(t *testing.T) {
			t.Parallel()
			got := runArgs(t, append(words[:len(words):len(words)], "-help")...)
			if got.code != 0 || got.err != "" {
				t.Fatalf("got %+v", got)
			}
			wantContains(t, got.out, "Usage:\n  "+cmd.CommandPath())
			if _, status, _ := strings.Cut(cmd.Long, exitStatusTitle); !strings.HasSuffix(got.out, exitStatusTitle+status) {
				t.Errorf("help does not end with the exit status:\n%s", got.out)
			}
			if strings.Join(words, " ") == "hpaa" { // it is a topic too
				return
			}
			if topic := runArgs(t, append([]string{"help"}, words...)...); topic != got {
				t.Errorf("dumptool help prints\n%s\nwant\n%s", topic.out, got.out)
			}
		})
	})
}

func TestGlobalFlags(t *testing.T) {
	t.Parallel()
	work := func(a *app) func(context.Context, []string) error {
		return func(context.Context, []string) error {
			a.msg.Log().Debug("detail")
			a.msg.Infof("summary")
			return incompletef("failure")
		}
	}
	const failure = "dumptool: failure\n"
	tests := map[string]struct {
		args []string
		want string
	}{
		"default": {[]string{"convert"}, "dumptool: summary\n" + failure},
		"quiet":   {[]string{"-q", "convert"}, failure},
		"long":    {[]string{"convert", "-quiet=True"}, failure},
		"verbose": {[]string{"convert", "-verbose"}, "dumptool: debug: detail\ndumptool: summary\n" + failure},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, get := testApp(t)
			a.commands = sampleCommands(new(sampleOptions), work(a))
			if got := get(a.run(t.Context(), tt.args)); got.err != tt.want {
				t.Errorf("stderr %q, want %q", got.err, tt.want)
			}
		})
	}
}

// TestJSONErrors: even mistakes on the command line are records if --log-format precedes them.
func TestJSONErrors(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "version", "--log-format=json", "--nosuch")
	if got.code != exitUsage {
		t.Errorf("exit status %d, want 2", got.code)
	}
	for line := range strings.Lines(got.err) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is not JSON", line)
		}
	}
	wantContains(t, got.err, `"msg":"unknown flag: --nosuch"`)
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, get := testApp(t)
	a.commands = sampleCommands(new(sampleOptions), func(ctx context.Context, _ []string) error {
		return ctx.Err()
	})
	if got, want := get(a.run(ctx, []string{"convert"})), (result{exitInterrupted, "", "dumptool: interrupted\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestEarlyLog: log output of libraries before the flags are parsed does not go straight to stderr.
func TestEarlyLog(t *testing.T) { //nolint:paralleltest // the log is that of the process
	var raw bytes.Buffer
	log.SetOutput(&raw)
	a, _ := testApp(t)
	a.commands = func(a *app) []*cobra.Command {
		log.Print("early")
		return allCommands(a)
	}
	if code := a.run(t.Context(), []string{"version"}); code != exitOK {
		t.Errorf("exit status %d", code)
	}
	if raw.Len() > 0 {
		t.Errorf("the log has %q", raw.String())
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{
		"bash": "# bash completion V2 for dumptool", "zsh": "#compdef dumptool",
		"fish": "# fish completion for dumptool", "powershell": "# powershell completion for dumptool",
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			got := runArgs(t, "completion", shell)
			if got.code != 0 || got.err != "" || !strings.HasPrefix(got.out, want) {
				t.Errorf("exit status %d, stderr %q, script %.60q", got.code, got.err, got.out)
			}
		})
	}
	for name, args := range map[string][]string{"none": nil, "unknown": {"tcsh"}, "two": {"bash", "zsh"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runArgs(t, append([]string{"completion"}, args...)...)
			want := "dumptool: one shell is needed: bash, zsh, fish, powershell\nhint: see 'dumptool completion --help'\n"
			if got != (result{exitUsage, "", want}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestComplete calls completion as the scripts do.
func TestComplete(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "__complete", "completion", "f")
	if got.code != 0 || !strings.HasPrefix(got.out, "fish\n") {
		t.Errorf("got %+v", got)
	}
}

// TestCompleteRounds: --rank and --step complete to the values of the runs on the command line, or
// to nothing without a run.
func TestCompleteRounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, round := range []string{"step2/rank0", "step2/rank10", "step2/rank3", "step7/rank0"} {
		folder := filepath.Join(dir, round)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		const dump = `{"task": "statistics", "level": "L1", "data": {"Torch.add.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "Max": 1.0, "Min": 1.0, "Mean": 1.0, "Norm": 1.0, "requires_grad": false}], "input_kwargs": {}, "output": []}}}`
		if err := os.WriteFile(filepath.Join(folder, "dump.json"), []byte(dump), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const found = ":36\n"
	const none = ":4\n"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"ranks":       {[]string{"inspect", dir, "--rank", ""}, "0\n3\n10\n" + found},
		"steps":       {[]string{"check", dir, "--step", ""}, "2\n7\n" + found},
		"one of many": {[]string{"overflow", "scan", "-d", dir, "--rank", "0|"}, "0|0\n0|3\n0|10\n" + found},
		"of a side":   {[]string{"compare", "--npu", dir, "--npu-rank", ""}, "0\n3\n10\n" + found},
		"no path":     {[]string{"inspect", "--rank", ""}, none},
		"no folder":   {[]string{"inspect", filepath.Join(dir, "nosuch"), "--rank", ""}, none},
		"a bucket":    {[]string{"inspect", "s3://nosuch/run", "--rank", ""}, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := runArgs(t, append([]string{"__complete"}, test.args...)...); got.code != 0 || got.out != test.want {
				t.Errorf("got %+v, want %q", got, test.want)
			}
		})
	}
}

// TestFirstCommand: a line that begins with a command makes only that command, any other line all.
func TestFirstCommand(t *testing.T) {
	t.Parallel()
	whole, _ := testApp(t)
	for _, cmd := range allCommands(whole) {
		a, _ := testApp(t)
		a.firstWord = cmd.Name()
		if alone := allCommands(a); len(alone) != 1 || alone[0].Name() != cmd.Name() || !a.isOnlyWord {
			t.Errorf("%s is one of %d commands", cmd.Name(), len(alone))
		}
	}
	if whole.isOnlyWord {
		t.Error("all commands are one")
	}
}
