package ui

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestProgressInterrupted: no part of a bar stays on the screen if the terminal shows ^C at the
// cursor, at any time.
func TestProgressInterrupted(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 1, 2} { // frames drawn before ^C
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			var screen terminal
			m := NewMessages(Streams{Err: &screen, ErrTTY: true}, MessageOptions{})
			p := m.Progress("converting")
			if after == 0 {
				screen.echo("^C")
			}
			for i := range after + 2 {
				p.Observe(i, 10, 0, 0)
				screen.wait(fmt.Sprintf("converting %d/10", i))
				if i+1 == after {
					screen.echo("^C")
				}
			}
			m.Warnf("half way")
			screen.wait("half way")
			screen.echo("^C")
			p.Close()
			m.Errorf("interrupted")
			want := "dumptool: warning: half way\ndumptool: interrupted"
			if got := screen.text(); got != want {
				t.Errorf("the screen shows %q, want %q", got, want)
			}
		})
	}
}

// terminalWidth is the default width of bars.
const terminalWidth = 80

// terminal emulates the parts of a terminal that progress uses.
type terminal struct {
	mu    sync.Mutex
	all   string // everything written
	lines [][]rune
	x, y  int
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all += string(p)
	s.show(strings.ReplaceAll(string(p), "\n", "\r\n")) // as the terminal driver does
	return len(p), nil
}

// echo shows a typed key.
func (s *terminal) echo(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show(key)
}

// wait waits until a text has been written.
func (s *terminal) wait(text string) {
	for {
		s.mu.Lock()
		found := strings.Contains(s.all, text)
		s.mu.Unlock()
		if found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *terminal) show(text string) {
	for text != "" {
		var n int
		var command rune
		if _, err := fmt.Sscanf(text, "\x1b[%d%c", &n, &command); err != nil {
			n = 0
			_, err = fmt.Sscanf(text, "\x1b[%c", &command)
			if err != nil {
				c := []rune(text)[0]
				s.put(c)
				text = text[len(string(c)):]
				continue
			}
		}
		text = text[strings.IndexRune(text, command)+1:]
		s.obey(n, command)
	}
}

// obey executes an escape sequence.
func (s *terminal) obey(n int, command rune) {
	switch command {
	case 'A': // up, in the same column
		s.y = max(0, s.y-max(1, n))
	case 'K', 'J': // right of the cursor, and everything below
		s.line()
		s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
		if command == 'J' {
			s.lines = s.lines[:s.y+1]
		}
	}
}

// put shows a character.
func (s *terminal) put(c rune) {
	switch c {
	case '\r':
		s.x = 0
		return
	case '\n':
		s.y++
		return
	}
	if s.x == terminalWidth {
		s.x, s.y = 0, s.y+1
	}
	line := s.line()
	for len(*line) <= s.x {
		*line = append(*line, ' ')
	}
	(*line)[s.x] = c
	s.x++
}

// line returns the line of the cursor.
func (s *terminal) line() *[]rune {
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, nil)
	}
	return &s.lines[s.y]
}

// text returns the text on the screen.
func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, line := range s.lines {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
