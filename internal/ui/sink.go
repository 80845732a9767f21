package ui

import (
	"io"
	"sync"
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
		if n, err := s.above.Write(p); err == nil {
			return n, nil
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
}
