package main

import (
	"strings"
	"testing"
)

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

// TestComplete asks what the completion scripts ask.
func TestComplete(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "__complete", "completion", "f")
	if got.code != 0 || !strings.HasPrefix(got.out, "fish\n") {
		t.Errorf("got %+v", got)
	}
}
