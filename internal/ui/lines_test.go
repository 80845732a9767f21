package ui

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns all lines and the final error.
func readAll(ctx context.Context, r io.Reader) (texts []string, err error) {
	lines := ReadLines(ctx, r)
	for {
		line, err := lines.Next(ctx)
		if err != nil {
			return texts, err
		}
		texts = append(texts, line.Text)
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"": nil, "\n": {""}, "a": {"a"}, "a\nb\n": {"a", "b"}, "a\n\nb": {"a", "", "b"}, "a\r\n": {"a\r"}} {
		got, err := readAll(t.Context(), iotest.OneByteReader(strings.NewReader(text)))
		if !slices.Equal(got, want) || !errors.Is(err, io.EOF) {
			t.Errorf("%q: got %q and %v, want %q", text, got, err, want)
		}
	}
	lines := ReadLines(t.Context(), strings.NewReader("last"))
	for i, want := range []error{nil, io.EOF, io.EOF} {
		if _, err := lines.Next(t.Context()); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
}

func TestReadLinesLong(t *testing.T) {
	t.Parallel()
	lines := ReadLines(t.Context(), strings.NewReader(strings.Repeat("x", MaxLine+1)+"\n"+strings.Repeat("y", MaxLine)))
	for _, cut := range []bool{true, false} {
		if line, err := lines.Next(t.Context()); err != nil || line.Cut != cut || len(line.Text) != MaxLine {
			t.Errorf("got %d bytes, cut %v, %v", len(line.Text), line.Cut, err)
		}
	}
}

func TestReadLinesErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("device gone")
	if _, err := readAll(t.Context(), iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, _ := io.Pipe()
	if _, err := readAll(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
