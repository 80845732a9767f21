package ui

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sayAll prints one message of each kind.
func sayAll(m *Messages) {
	m.Log().Debug("opened", "path", "a b.npy", "size", 12)
	m.Infof("converted %d files", 3)
	m.Warnf("no shape recorded")
	m.Errorf("cannot read %s", "x\n\x1b]0;title\a")
	m.Hintf("see 'dumptool convert --help'")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const (
		debug = "dumptool: debug: opened path=\"a b.npy\" size=12\n"
		info  = "dumptool: converted 3 files\n"
		warn  = "dumptool: warning: no shape recorded\n"
		fail  = `dumptool: cannot read x\n\x1b]0;title\a` + "\n"
		hint  = "hint: see 'dumptool convert --help'\n"
	)
	tests := map[string]struct {
		opt  MessageOptions
		want string
	}{
		"normal":  {MessageOptions{}, info + warn + fail + hint},
		"quiet":   {MessageOptions{Quiet: true}, fail},
		"verbose": {MessageOptions{Verbose: true, Format: LogText}, debug + info + warn + fail + hint},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, out, err := testStreams()
			sayAll(NewMessages(s, tt.opt))
			if diff := cmp.Diff(tt.want, err.String()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if out.Len() > 0 {
				t.Errorf("messages on stdout: %s", out)
			}
		})
	}
}

// On a terminal messages break between words. Paths and commands, which people copy, stay whole,
// and the debug log is unchanged.
func TestMessagesWrap(t *testing.T) {
	t.Parallel()
	s, _, err := testStreams()
	s.ErrWidth = 24
	m := NewMessages(s, MessageOptions{Verbose: true, Color: true})
	m.Hintf("create the folder: mkdir -p /data/a/very/long/path")
	m.Hintf("afterwards: dumptool overflow analyze -d '/data/my dump'")
	m.Hintf("see (run 'dumptool convert --help') for its flags")
	m.Hintf("之后执行：dumptool overflow analyze -d /data/dump")
	m.Hintf("请替换 dump_path 的占位值 /path/to/dump")
	m.Warnf("the runtime's folder is not the user's own")
	m.Log().Debug("a line of the debug log as it is", "key", "a value")
	want := "hint: create the folder:\n  mkdir -p /data/a/very/long/path\n" +
		"hint: afterwards:\n  dumptool overflow analyze -d '/data/my dump'\n" +
		"hint: see (run\n  'dumptool convert --help')\n  for its flags\n" +
		"hint: 之后执行：\n  dumptool overflow analyze -d /data/dump\n" +
		"hint: 请替换 dump_path\n  的占位值 /path/to/dump\n" +
		"dumptool: \x1b[33mwarning\x1b[0m: the\n  runtime's folder is\n  not the user's own\n" +
		"dumptool: debug: a line of the debug log as it is key=\"a value\"\n"
	if diff := cmp.Diff(want, err.String()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestJSONMessages(t *testing.T) {
	t.Parallel()
	s, _, err := testStreams()
	sayAll(NewMessages(s, MessageOptions{Verbose: true, Format: LogJSON}))
	type record struct {
		Level, Msg, Path string
		Hint             bool
	}
	var got []record
	for line := range strings.Lines(err.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, r)
	}
	want := []record{
		{Level: "DEBUG", Msg: "opened", Path: "a b.npy"},
		{Level: "INFO", Msg: "converted 3 files"},
		{Level: "WARN", Msg: "no shape recorded"},
		{Level: "ERROR", Msg: "cannot read x\n\x1b]0;title\a"},
		{Level: "INFO", Msg: "see 'dumptool convert --help'", Hint: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestLoggerAttributes(t *testing.T) {
	t.Parallel()
	s, _, err := testStreams()
	log := NewMessages(s, MessageOptions{}).Log()
	log.With("file", "a").WithGroup("tensor").Info("read", "level", 3, "msg", "")
	log.Info("plain", "level", "high", "hint", "not one")
	log.WithGroup("g").LogAttrs(t.Context(), slog.LevelError+4, "grave")
	want := "dumptool: read file=a tensor.level=3 tensor.msg=\"\"\n" +
		"dumptool: plain level=high hint=\"not one\"\n" +
		"dumptool: grave\n"
	if diff := cmp.Diff(want, err.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestConcurrentMessages(t *testing.T) {
	t.Parallel()
	const n = 50
	s, _, err := testStreams()
	m := NewMessages(s, MessageOptions{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			m.Infof("message %02d", i)
			m.Log().With("i", i).Info("log")
		})
	}
	wg.Wait()
	if got := strings.Count(err.String(), "\n"); got != 2*n {
		t.Errorf("%d lines, want %d", got, 2*n)
	}
	for i := range n {
		for _, want := range []string{fmt.Sprintf("dumptool: message %02d\n", i), fmt.Sprintf("dumptool: log i=%d\n", i)} {
			if !strings.Contains(err.String(), want) {
				t.Errorf("%q is missing", want)
			}
		}
	}
}

func TestLogFormat(t *testing.T) {
	t.Parallel()
	f := LogText
	if err := f.Set("json"); err != nil || f != LogJSON || f.String() != "json" {
		t.Errorf("Set(json) = %v, %q", err, f)
	}
	if err := f.Set("xml"); err == nil || err.Error() != "must be text or json" || f != LogJSON {
		t.Errorf("Set(xml) = %v, %q", err, f)
	}
	if f.Type() != "text|json" {
		t.Errorf("Type = %q", f.Type())
	}
}
