package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/config"
)

// terminalHelp runs a command line at a terminal of this width.
func terminalHelp(t *testing.T, width int, args ...string) string {
	t.Helper()
	streams, _, out, errs := testStreams()
	streams.OutTTY, streams.OutWidth = true, width
	a := newApp(streams)
	a.settings = config.Options{}
	if code := a.run(t.Context(), args); code != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit status %d, %s", args, code, errs)
	}
	return out.String()
}

// TestHelpIsAScreen: the help of every command fits a screen at 80 columns, compare's with at most
// 25 flags, and --help-all has the rest.
func TestHelpIsAScreen(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		words := commandPath(cmd)
		screen := runArgs(t, append(slices.Clone(words), "--help")...).out
		if n := strings.Count(screen, "\n"); n > screenLines {
			t.Errorf("%v --help has %d lines:\n%s", words, n, screen)
		}
		for _, also := range []string{"-h", "-help"} {
			if got := runArgs(t, append(slices.Clone(words), also)...).out; got != screen {
				t.Errorf("%v %s:\n%s", words, also, got)
			}
		}
		all := runArgs(t, append(slices.Clone(words), "--help_all")...)
		if all.code != 0 || all.err != "" || !strings.HasSuffix(all.out, screen[strings.Index(screen, exitStatusTitle):]) {
			t.Errorf("%v --help-all: %+v", words, all)
		}
		if len(words) == 1 && words[0] == "compare" {
			if n := len(regexp.MustCompile(`(?m)^ +(-\w, )?--`).FindAllString(screen, -1)); n > 25 {
				t.Errorf("compare --help has %d flags", n)
			}
		}
		cmd.InitDefaultHelpFlag()
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if listed := strings.Contains(all.out, "--"+f.Name+" ") || strings.Contains(all.out, "--"+f.Name+"["); listed == f.Hidden {
				t.Errorf("%v --help-all lists --%s: %v", words, f.Name, listed)
			}
		})
	})
}

// TestHelpAtTerminal checks that no help is wider than the terminal.
func TestHelpAtTerminal(t *testing.T) {
	t.Parallel()
	for _, cmd := range []string{"", "convert", "compare", "overflow status"} {
		whole := terminalHelp(t, 60, append(strings.Fields(cmd), "--help-all")...)
		wantContains(t, whole, exitStatusTitle)
		about, _, _ := strings.Cut(whole, "\nUsage:")
		for line := range strings.Lines(about) {
			if len(strings.TrimRight(line, "\n")) > 60 {
				t.Errorf("%s: line is too long: %s", cmd, line)
			}
		}
	}
}

// TestTopics checks that every topic has a text and flags, and is named in the help.
func TestTopics(t *testing.T) {
	t.Parallel()
	list := runArgs(t, "help", "--help").out
	for _, topic := range topics {
		got := runArgs(t, "help", topic.name)
		if got.code != 0 || got.err != "" || strings.Count(got.out, "\n") < 6 || !strings.Contains(got.out, "\nFlags:\n  ") {
			t.Errorf("%s: %+v", topic.name, got)
		}
		wantContains(t, list, "  "+topic.name+" ")
	}
}

func TestHelpWrap(t *testing.T) {
	t.Parallel()
	text := "one two three four\nfive six\n\n  name      what it is for, in words\n  long-name-of-something\n"
	want := "one two three four\nfive six\n\n  name      what it\n            is for,\n            in words\n  long-name-of-something\n"
	if got := (help{width: 20}).wrap(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (help{width: 80}).wrap(text); got != text {
		t.Errorf("it fits, but got\n%s", got)
	}
}
