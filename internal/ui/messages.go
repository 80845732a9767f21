package ui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// LogFormat is the form of messages and logs. It has the methods of a flag
// value; the zero value is not valid, NewMessages takes it for LogText.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Set implements the value of a flag.
func (f *LogFormat) Set(s string) error {
	switch v := LogFormat(s); v {
	case LogText, LogJSON:
		*f = v
		return nil
	}
	return fmt.Errorf("must be %s or %s", LogText, LogJSON)
}

// String implements the value of a flag.
func (f *LogFormat) String() string { return string(*f) }

// Type implements the value of a flag.
func (f *LogFormat) Type() string { return "text|json" }

// MessageOptions says which messages appear, and how.
type MessageOptions struct {
	// Quiet leaves errors only; no hints, no progress.
	Quiet bool
	// Verbose adds the debug log.
	Verbose bool
	Format  LogFormat
	// Color lets warnings stand out.
	Color bool
}

// level returns the lowest level that is shown.
func (o MessageOptions) level() slog.Level {
	switch {
	case o.Quiet:
		return slog.LevelError
	case o.Verbose:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// Messages prints what is not a result. All methods may be called from several
// goroutines and while progress is drawn.
//
// The rules of messages: one line that starts with "dumptool: ", no capital at
// the start and no full stop at the end. What the user can do about it is a
// hint, a line of its own that starts with "hint: ".
type Messages struct {
	out  *sink
	log  *slog.Logger
	bars bool // whether progress may be drawn
}

// NewMessages returns messages to s.Err.
func NewMessages(s Streams, opt MessageOptions) *Messages {
	out := &sink{out: s.Err}
	return &Messages{
		out:  out,
		log:  slog.New(newHandler(out, opt)),
		bars: s.ErrTTY && !opt.Quiet && opt.Format != LogJSON,
	}
}

// newHandler returns the handler for the format of opt.
func newHandler(w io.Writer, opt MessageOptions) slog.Handler {
	if opt.Format == LogJSON {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: opt.level()})
	}
	return newTextHandler(w, opt.level(), opt.Color)
}

// Errorf reports why the command, or a part of it, failed.
func (m *Messages) Errorf(format string, args ...any) {
	m.say(slog.LevelError, format, args)
}

// Warnf reports something doubtful that did not stop the work.
func (m *Messages) Warnf(format string, args ...any) {
	m.say(slog.LevelWarn, format, args)
}

// Infof reports something good to know, such as the summary of a run.
func (m *Messages) Infof(format string, args ...any) {
	m.say(slog.LevelInfo, format, args)
}

// Hintf says what to do about the message before.
func (m *Messages) Hintf(format string, args ...any) {
	m.say(slog.LevelInfo, format, args, slog.Bool(hintKey, true))
}

// Log returns the logger behind the messages. Debug records appear with
// --verbose only.
func (m *Messages) Log() *slog.Logger { return m.log }

// TakeLog makes debug records of what libraries write to the log of the process, which
// goes to stderr by itself: net/http tells of servers that break the rules there.
func (m *Messages) TakeLog() {
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(m.log)
}

func (m *Messages) say(level slog.Level, format string, args []any, attrs ...slog.Attr) {
	m.log.LogAttrs(context.Background(), level, fmt.Sprintf(format, args...), attrs...)
}
