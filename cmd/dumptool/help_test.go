package main

import (
	"strings"
	"testing"

	"dumptool/internal/config"
)

// terminalHelp runs a command line at a terminal of some columns.
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

// TestHelpAtTerminal checks that -h is short and --help whole, and that neither is
// wider than the terminal.
func TestHelpAtTerminal(t *testing.T) {
	t.Parallel()
	for _, cmd := range []string{"", "convert", "compare", "overflow status"} {
		words := strings.Fields(cmd)
		short := terminalHelp(t, 60, append(words, "-h")...)
		whole := terminalHelp(t, 60, append(words, "--help")...)
		if len(short) >= len(whole) || strings.Contains(short, exitStatusTitle) || !strings.Contains(short, "--help' says more") {
			t.Errorf("%s -h:\n%s", cmd, short)
		}
		wantContains(t, whole, exitStatusTitle)
		about, _, _ := strings.Cut(whole, "\nUsage:")
		for line := range strings.Lines(about) {
			if len(strings.TrimRight(line, "\n")) > 60 {
				t.Errorf("%s: line is too long: %s", cmd, line)
			}
		}
		if off := runArgs(t, append(words, "-h")...); !strings.Contains(off.out, exitStatusTitle) {
			t.Errorf("%s -h off a terminal is short:\n%s", cmd, off.out)
		}
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
