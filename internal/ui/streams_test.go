package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dumptool/internal/lang"
)

func TestSystemOfFiles(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := NewSystemStreams(f, f, f)
	if s.OutTTY || s.ErrTTY || s.OutWidth != 0 {
		t.Errorf("a file passes for a terminal: %+v", s)
	}
	if s.In != f || s.Out != f || s.Err != f {
		t.Error("the streams are not the files")
	}
}

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
		if got := tt.mode.IsEnabled(tt.terminal, getenv); got != tt.want {
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

func TestEscape(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", ""},
		{`C:\dumps\"x".npy`, `C:\dumps\"x".npy`},
		{"层 ½ é", "层 ½ é"},
		{"tab\there", `tab\there`},
		{"bell\a del\x7f c1\u009b", `bell\a del\x7f c1\u009b`},
		{"line\u2028sep", `line\u2028sep`},
		{"bad\xff\xc3(", `bad\xff\xc3(`},
		{"real \ufffd", "real \ufffd"},
		{"tag \U000e0001", `tag \U000e0001`},
		{"wide\u3000nbsp\u00a0", "wide\u3000nbsp\u00a0"},
	}
	for _, tt := range tests {
		if got := Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("plain")
	f.Add("a\x1b[2J\r\nb\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) || strings.IndexFunc(got, lang.IsInvisible) >= 0 {
			t.Errorf("Escape(%q) = %q is not safe", s, got)
		}
		if again := Escape(got); again != got {
			t.Errorf("Escape of %q is %q", got, again)
		}
	})
}
