package ui

import (
	"bufio"
	"context"
	"errors"
	"io"

	"dumptool/internal/lang"
)

// MaxLine is the number of bytes kept of a line.
const MaxLine = 1 << 20

// Line is a line of stdin, without its newline.
type Line struct {
	Text string
	// Cut: the line had more than MaxLine bytes.
	Cut bool

	last bool // end of the input
	err  error
}

// Lines reads the lines of stdin. Waiting for a line can be interrupted.
type Lines struct {
	lines chan Line
	ended bool
}

// ReadLines starts reading lines, until ctx is done.
func ReadLines(ctx context.Context, r io.Reader) *Lines {
	l := &Lines{lines: make(chan Line)}
	// A read cannot be interrupted: when ctx is done the goroutine is left behind.
	go l.read(ctx, bufio.NewReader(r))
	return l
}

// Next returns the next line, io.EOF at the end. Text behind the last newline is a line.
func (l *Lines) Next(ctx context.Context) (Line, error) {
	if l.ended {
		return Line{}, io.EOF
	}
	var line Line
	select {
	case <-ctx.Done():
		return Line{}, ctx.Err()
	case line = <-l.lines:
	}
	l.ended = line.last
	switch {
	case line.err != nil:
		return Line{}, lang.Errorf("cannot read stdin: %w", line.err)
	case line.last && line.Text == "":
		return Line{}, io.EOF
	}
	return line, nil
}

// read sends lines.
func (l *Lines) read(ctx context.Context, in *bufio.Reader) {
	for {
		line := readLine(in)
		select {
		case l.lines <- line:
		case <-ctx.Done():
			return
		}
		if line.last {
			return
		}
	}
}

// readLine reads one line.
func readLine(in *bufio.Reader) Line {
	var l Line
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		kept := min(len(part), MaxLine-len(text))
		text = append(text, part[:kept]...)
		l.Cut = l.Cut || kept < len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			l.last = true
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
		}
		l.Text = string(text)
		return l
	}
}
