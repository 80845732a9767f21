// Package ui talks to the person or the script at the other end: streams and
// what is known of them, messages, logs, progress and tables. It knows nothing
// of what the messages are about.
package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are the three standard streams and what they are connected to.
// Results go to Out and everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	// InTTY says that a person types what In reads.
	InTTY bool
	// OutTTY says that a person reads Out, so tables may be cut to its width.
	OutTTY bool
	// ErrTTY says that Err is a terminal on which progress can be drawn.
	ErrTTY bool
	// OutWidth is the number of columns of Out, 0 unless it is a terminal.
	OutWidth int
}

// System returns streams over the files of the process.
func System(in, out, err *os.File) Streams {
	s := Streams{
		In: in, Out: out, Err: err,
		InTTY:  term.IsTerminal(int(in.Fd())),
		OutTTY: term.IsTerminal(int(out.Fd())),
		ErrTTY: term.IsTerminal(int(err.Fd())) && os.Getenv("TERM") != "dumb",
	}
	if s.OutTTY {
		if width, _, err := term.GetSize(int(out.Fd())); err == nil {
			s.OutWidth = width
		}
	}
	return s
}
