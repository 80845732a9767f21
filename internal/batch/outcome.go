package batch

import (
	"fmt"
	"log/slog"
)

// Kind says how a run ended.
type Kind uint8

// The kinds, from the one that matters least.
const (
	Done       Kind = iota // nothing wrong was found
	Found                  // what was looked for is there
	NotCovered             // less was looked at than has to be
	Nothing                // there was nothing to do
	Incomplete             // some input could not be read, or some output not be written
)

// Outcome is how a run ended, in one sentence.
type Outcome struct {
	Kind Kind
	// Text is empty if Done. Shown says that the results say it already.
	Text  string
	Shown bool
	// Hint says what can be done about it, empty for nothing.
	Hint string
	// Messages sum the run up; they come first.
	Messages []Message
}

// Outcomef returns an outcome with a text.
func Outcomef(kind Kind, format string, args ...any) Outcome {
	return Outcome{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// AsShown marks the text as said by the results.
func (o Outcome) AsShown() Outcome {
	o.Shown = true
	return o
}

// Message is something to say about a run, or about one of its jobs, that is no
// result. A hint says what to do about the message before.
type Message struct {
	Level slog.Level
	Hint  bool
	Text  string
	// Attrs are names and values of a record of the debug log.
	Attrs []any
}

// Errorf says why a part of a run failed.
func Errorf(format string, args ...any) Message {
	return Message{Level: slog.LevelError, Text: fmt.Sprintf(format, args...)}
}

// Warnf says what is doubtful and did not stop the work.
func Warnf(format string, args ...any) Message {
	return Message{Level: slog.LevelWarn, Text: fmt.Sprintf(format, args...)}
}

// Infof says what is good to know.
func Infof(format string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Text: fmt.Sprintf(format, args...)}
}

// Hint says what to do about the message before.
func Hint(text string) Message { return Message{Level: slog.LevelInfo, Hint: true, Text: text} }

// Debug is a record of the debug log.
func Debug(text string, attrs ...any) Message {
	return Message{Level: slog.LevelDebug, Text: text, Attrs: attrs}
}
