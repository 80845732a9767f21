package ui

import (
	"bytes"
	"strings"
	"testing"
)

// testStreams returns streams that are no terminals, and the buffers for results and messages.
func testStreams() (s Streams, out, err *bytes.Buffer) {
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return Streams{In: new(bytes.Buffer), Out: out, Err: err}, out, err
}

// run simulates a run of ten jobs, with a message in the middle.
func run(m *Messages, costs int64) {
	p := m.Progress("converting")
	defer p.Close()
	for i := range 11 {
		p.Observe(i, 10, int64(i)*costs, 10*costs)
		if i == 5 {
			m.Warnf("half way")
		}
	}
	p.Close()
	m.Infof("converted 10 files")
}

const halfWay = "dumptool: warning: half way\n"

func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]int64{"by jobs": 0, "by cost": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, err := testStreams()
			s.ErrTTY = true
			run(NewMessages(s, MessageOptions{}), cost)
			got := err.String()
			if n := strings.Count(got, halfWay); n != 1 {
				t.Errorf("the message appears %d times in %q", n, got)
			}
			if !strings.HasSuffix(got, "dumptool: converted 10 files\n") {
				t.Errorf("the summary is not the last line of %q", got)
			}
		})
	}
}

// TestProgressDraws waits for the first frame of a bar.
func TestProgressDraws(t *testing.T) {
	t.Parallel()
	screen := make(pictures, 100)
	m := NewMessages(Streams{Err: screen, ErrTTY: true}, MessageOptions{})
	p := m.Progress("converting")
	p.Observe(3, 10, 0, 0)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "converting 3/10") {
		seen.WriteString(<-screen)
	}
	p.Observe(4, 10, 0, 0)
	p.Close()
}

// pictures passes drawn frames to the test.
type pictures chan string

func (p pictures) Write(b []byte) (int, error) {
	select {
	case p <- string(b):
	default: // nobody is listening any more
	}
	return len(b), nil
}

func TestNoProgress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tty  bool
		opt  MessageOptions
		want string
	}{
		"no terminal": {false, MessageOptions{}, halfWay + "dumptool: converted 10 files\n"},
		"quiet":       {true, MessageOptions{Quiet: true}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, err := testStreams()
			s.ErrTTY = tt.tty
			run(NewMessages(s, tt.opt), 7)
			if got := err.String(); got != tt.want {
				t.Errorf("stderr %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		s, _, err := testStreams()
		s.ErrTTY = true
		run(NewMessages(s, MessageOptions{Format: LogJSON}), 7)
		for line := range strings.Lines(err.String()) {
			if !strings.HasPrefix(line, "{") {
				t.Errorf("%q is no JSON record", line)
			}
		}
	})
}

func TestProgressOfNothing(t *testing.T) {
	t.Parallel()
	s, _, err := testStreams()
	s.ErrTTY = true
	p := NewMessages(s, MessageOptions{}).Progress("converting")
	p.Observe(0, 0, 0, 0)
	p.Close()
	p.Close()
	if err.Len() > 0 {
		t.Errorf("stderr %q, want nothing", err)
	}
}
