package ui

import (
	"strings"
	"testing"
)

func TestColorMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode     ColorMode
		terminal bool
		env      string
		want     bool
	}{
		{"", true, "", true},
		{ColorAuto, true, "TERM=xterm", true},
		{ColorAuto, false, "TERM=xterm", false},
		{ColorAuto, true, "TERM=dumb", false},
		{ColorAuto, true, "NO_COLOR=1", false},
		{ColorAuto, true, "NO_COLOR=", true},
		{ColorAlways, false, "NO_COLOR=1", true},
		{ColorAlways, false, "TERM=dumb", true},
		{ColorNever, true, "TERM=xterm", false},
	}
	for _, tt := range tests {
		getenv := func(name string) string {
			value, _ := strings.CutPrefix(tt.env, name+"=")
			if value == tt.env {
				return ""
			}
			return value
		}
		if got := tt.mode.On(tt.terminal, getenv); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
	var m ColorMode
	if err := m.Set("always"); err != nil || m.String() != "always" || m.Type() != "auto|always|never" {
		t.Errorf("%v, %s", err, m)
	}
	if err := m.Set("yes"); err == nil || m != ColorAlways {
		t.Errorf("yes is taken, now %s", m)
	}
}

func TestPaint(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"PASS":    "\x1b[32mPASS\x1b[0m",
		"FAIL":    "\x1b[1;31mFAIL\x1b[0m",
		"warning": "\x1b[33mwarning\x1b[0m",
		"conv1":   "conv1",
		"":        "",
	} {
		if got := StyleOf(word).Paint(word); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
