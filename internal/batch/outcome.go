package batch

import (
	"log/slog"

	"dumptool/internal/lang"
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
	Text  lang.Sentence
	Shown bool
	// Hint says what can be done about it, empty for nothing.
	Hint lang.Sentence
	// Messages sum the run up; they come first.
	Messages []Message
}

// Outcomef returns an outcome with a text, from what lang.Sayf takes.
func Outcomef(kind Kind, en, zh string, args ...any) Outcome {
	return Outcome{Kind: kind, Text: lang.Sayf(en, zh, args...)}
}

// WithHint returns the outcome with what can be done about it, from what lang.Sayf
// takes.
func (o Outcome) WithHint(en, zh string, args ...any) Outcome {
	o.Hint = lang.Sayf(en, zh, args...)
	return o
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
	Text  lang.Sentence
	// Attrs are names and values of a record of the debug log.
	Attrs []any
}

// Errorf says why a part of a run failed, from what lang.Sayf takes.
func Errorf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelError, Text: lang.Sayf(en, zh, args...)}
}

// Warnf says what is doubtful and did not stop the work.
func Warnf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelWarn, Text: lang.Sayf(en, zh, args...)}
}

// Infof says what is good to know.
func Infof(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Text: lang.Sayf(en, zh, args...)}
}

// Hintf says what to do about the message before.
func Hintf(en, zh string, args ...any) Message {
	return Message{Level: slog.LevelInfo, Hint: true, Text: lang.Sayf(en, zh, args...)}
}

// Debug is a record of the debug log.
func Debug(text string, attrs ...any) Message {
	return Message{Level: slog.LevelDebug, Text: lang.Plain(text), Attrs: attrs}
}
