package ui

import (
	"io"
	"sync"
)

// The terminal shows a key such as Ctrl-C as ^C where the cursor is, and the
// drawer, which moves the cursor up and down only, goes on in that column. So
// lines begin with lineStart while progress is drawn, and clearLine follows it.
const (
	lineStart = "\r"
	clearLine = "\r\x1b[K"
)

// sink is the one way of messages to a stream. While progress is drawn, lines
// go through the drawer, which puts them above the bar.
type sink struct {
	mu    sync.Mutex
	out   io.Writer
	above io.Writer // nil unless progress is drawn
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.above != nil {
		if _, err := s.above.Write(append([]byte(clearLine), p...)); err == nil {
			return len(p), nil
		}
		// The drawer gave up; the message must not be lost with it.
	}
	return s.out.Write(p)
}

// divert sends all further lines to above.
func (s *sink) divert(above io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.above = above
}

// restore calls stop and sends all further lines to the stream again. No line
// is written meanwhile: the drawer draws for a last time in stop.
func (s *sink) restore(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop()
	s.above = nil
	_, _ = io.WriteString(s.out, clearLine) // whoever cannot show it has no bar either
}
