package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"dumptool/internal/lang"
)

// LogFormat is the format of messages and logs. It implements a flag value; the zero value is
// invalid, and NewMessages treats it as LogText.
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
	return lang.Errorf("must be %s or %s", LogText, LogJSON)
}

// String implements the value of a flag.
func (f *LogFormat) String() string { return string(*f) }

// Type implements the value of a flag.
func (f *LogFormat) Type() string { return "text|json" }

// MessageOptions selects messages and their form.
type MessageOptions struct {
	// Quiet shows only errors: no hints, no progress.
	Quiet bool
	// Verbose adds the debug log.
	Verbose bool
	Format  LogFormat
	// Color highlights warnings.
	Color bool
	// Chinese uses Chinese prefixes of warnings and hints.
	Chinese bool
}

// minLevel returns the lowest level shown.
func (o MessageOptions) minLevel() slog.Level {
	switch {
	case o.Quiet:
		return slog.LevelError
	case o.Verbose:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// Messages prints everything but results. All methods may be called from several goroutines and
// while progress is drawn.
//
// Rules of messages: one line that begins with "dumptool: ", without an initial capital and a full
// stop. Advice for the user is a hint, a separate line that begins with "hint: ".
type Messages struct {
	out  *sink
	log  *slog.Logger
	bars bool // progress may be drawn
}

// NewMessages returns messages to s.Err.
func NewMessages(s Streams, opt MessageOptions) *Messages {
	out := &sink{out: s.Err}
	return &Messages{
		out:  out,
		log:  slog.New(newHandler(out, s.ErrWidth, opt)),
		bars: s.ErrTTY && !opt.Quiet && opt.Format != LogJSON,
	}
}

// newHandler returns the handler for the format of opt.
func newHandler(w io.Writer, width int, opt MessageOptions) slog.Handler {
	if opt.Format == LogJSON {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: opt.minLevel()})
	}
	return newTextHandler(w, width, opt)
}

// Errorf reports why the command, or a part of it, failed.
func (m *Messages) Errorf(format string, args ...any) {
	m.say(slog.LevelError, format, args)
}

// Warnf reports a problem that did not stop the work.
func (m *Messages) Warnf(format string, args ...any) {
	m.say(slog.LevelWarn, format, args)
}

// Infof reports a useful fact, such as the summary of a run.
func (m *Messages) Infof(format string, args ...any) {
	m.say(slog.LevelInfo, format, args)
}

// Hintf prints advice on the previous message.
func (m *Messages) Hintf(format string, args ...any) {
	m.say(slog.LevelInfo, format, args, slog.Bool(hintKey, true))
}

// Log returns the logger behind the messages. Debug records appear only with --verbose.
func (m *Messages) Log() *slog.Logger { return m.log }

// RedirectLog redirects the process's log, to which libraries write, to debug records. By default it
// goes to stderr; net/http reports misbehaving servers there.
func (m *Messages) RedirectLog() {
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(m.log)
}

func (m *Messages) say(level slog.Level, format string, args []any, attrs ...slog.Attr) {
	m.log.LogAttrs(context.Background(), level, fmt.Sprintf(format, args...), attrs...)
}

// hintKey marks the record of a hint.
const hintKey = "hint"

// textHandler prints records as messages: a prefix, the text, then the attributes as
// slog.TextHandler prints them.
type textHandler struct {
	level  slog.Leveler
	attrs  slog.Handler // prints attributes to page.buf
	buffer *lineBuffer
	width  int // of the terminal, 0 for none
	opt    MessageOptions
}

// lineBuffer is the buffer in which the handlers of one logger compose lines.
type lineBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
	out io.Writer
}

func newTextHandler(w io.Writer, width int, opt MessageOptions) slog.Handler {
	level := opt.minLevel()
	p := &lineBuffer{out: w}
	attrs := slog.NewTextHandler(&p.buf, &slog.HandlerOptions{Level: level, ReplaceAttr: dropBuiltin})
	return &textHandler{level: level, attrs: attrs, buffer: p, width: width, opt: opt}
}

// dropBuiltin drops the attributes that Handle prints itself. A user's attribute with the same name
// is kept: it has another type, or a text.
func dropBuiltin(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	if _, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	if a.Key == slog.MessageKey && a.Value.String() == "" {
		return slog.Attr{}
	}
	return a
}

// Enabled implements slog.Handler.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle implements slog.Handler.
func (h *textHandler) Handle(ctx context.Context, r slog.Record) error {
	rest := slog.Record{Level: r.Level}
	hint := false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == hintKey && a.Value.Kind() == slog.KindBool {
			hint = a.Value.Bool()
		} else {
			rest.AddAttrs(a)
		}
		return true
	})

	h.buffer.mu.Lock()
	defer h.buffer.mu.Unlock()
	buf := &h.buffer.buf
	buf.Reset()
	buf.WriteString(h.formatLine(r.Level, hint, Escape(r.Message)))
	end := buf.Len()
	buf.WriteByte(' ')
	if err := h.attrs.Handle(ctx, rest); err != nil {
		return err
	}
	if buf.Len() == end+2 { // a space, no attribute and a newline
		buf.Truncate(end)
		buf.WriteByte('\n')
	}
	_, err := h.buffer.out.Write(buf.Bytes())
	return err
}

// formatLine returns a message with its prefix, wrapped at the width of the terminal unless it is a debug
// record.
func (h *textHandler) formatLine(level slog.Level, hint bool, text string) string {
	prefix, word := "dumptool: ", ""
	switch {
	case hint:
		prefix = h.translatePrefix(lang.Text{EN: "hint: "})
	case level < slog.LevelInfo:
		return prefix + "debug: " + text
	case level == slog.LevelWarn:
		word = h.translatePrefix(lang.Text{EN: "warning: "})
		prefix += word
	}
	const indent = "  "
	whole := quotedText().ReplaceAllStringFunc(prefix+text, func(s string) string {
		start := strings.IndexByte(s, '\'')
		return s[:start] + strings.ReplaceAll(s[start:], " ", unbrokenBlank)
	})
	lines := strings.Join(WrapWords(whole, h.width, h.width-len(indent)), "\n"+indent)
	lines = strings.ReplaceAll(lines, unbrokenBlank, " ")
	if word = strings.TrimRight(word, ": ："); h.opt.Color && word != "" {
		return strings.Replace(lines, word, StyleOf("warning").Paint(word), 1)
	}
	return lines
}

// translatePrefix returns a prefix in the language of the messages.
func (h *textHandler) translatePrefix(t lang.Text) string {
	if h.opt.Chinese {
		return t.Chinese()
	}
	return t.String()
}

// quotedText matches quoted texts, which people copy and so are never wrapped.
var quotedText = lang.Pattern(`(?:^|[ (（])'[^']+'`)

// unbrokenBlank marks blanks at which a line must not break. Texts never contain it, since they are
// escaped.
const unbrokenBlank = "\x00"

// WithAttrs implements slog.Handler.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &textHandler{level: h.level, attrs: h.attrs.WithAttrs(attrs), buffer: h.buffer, width: h.width, opt: h.opt}
}

// WithGroup implements slog.Handler.
func (h *textHandler) WithGroup(name string) slog.Handler {
	return &textHandler{level: h.level, attrs: h.attrs.WithGroup(name), buffer: h.buffer, width: h.width, opt: h.opt}
}

// The terminal shows a key such as Ctrl-C as ^C at the cursor, and the drawer, which moves the
// cursor only vertically, continues in that column. Therefore lines begin with lineStart while
// progress is drawn, followed by clearLine.
const (
	lineStart = "\r"
	clearLine = "\r\x1b[K"
)

// sink is the only writer of messages to a stream. While progress is drawn, lines go through the
// drawer, which puts them above the bar.
type sink struct {
	mu     sync.Mutex
	out    io.Writer
	drawer io.Writer // nil unless progress is drawn
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawer != nil {
		if _, err := s.drawer.Write(append([]byte(clearLine), p...)); err == nil {
			return len(p), nil
		}
		// the drawer failed: write the message directly
	}
	return s.out.Write(p)
}

// sendTo sends all further lines to above.
func (s *sink) sendTo(above io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawer = above
}

// restore calls stop and sends all further lines to the stream again. It holds the lock, since the
// drawer draws a last time in stop.
func (s *sink) restore(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop()
	s.drawer = nil
	_, _ = io.WriteString(s.out, clearLine) // the drawer cannot show a bar on this stream either
}

// Progress draws the progress of one run on a terminal and does nothing elsewhere. Only one
// goroutine may call Observe and Close.
type Progress struct {
	title string
	sink  *sink // nil disables drawing

	done   atomic.Int64 // jobs, read by the drawer
	drawer *mpb.Progress
	bar    *mpb.Bar
}

// Progress returns a progress bar for a run; title is a verb such as "converting". Close it before
// printing results or a summary.
func (m *Messages) Progress(title string) *Progress {
	p := &Progress{title: Escape(title)}
	if m.bars {
		p.sink = m.out
	}
	return p
}

// Observe shows that done of total jobs are finished, with doneCost of totalCost. The bar shows
// costs, or jobs if they have no costs.
func (p *Progress) Observe(done, total int, doneCost, totalCost int64) {
	if p.sink == nil || total == 0 {
		return
	}
	current, end := int64(done), int64(total)
	if totalCost > 0 {
		current, end = doneCost, totalCost
	}
	p.done.Store(int64(done))
	if p.bar == nil {
		p.start(total, end)
	}
	p.bar.SetCurrent(current)
}

// start draws the empty bar.
func (p *Progress) start(jobs int, end int64) {
	p.drawer = mpb.New(mpb.WithOutput(p.sink.out), mpb.WithAutoRefresh())
	p.bar = p.drawer.AddBar(end,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%s%s %d/%d ", lineStart, p.title, p.done.Load(), jobs)
		})),
		mpb.AppendDecorators(decor.Percentage(), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)),
	)
	p.sink.sendTo(p.drawer)
}

// Close removes the bar. It may be called repeatedly, and without any event before.
func (p *Progress) Close() {
	if p.drawer == nil {
		return
	}
	p.sink.restore(func() {
		p.bar.Abort(true)
		p.drawer.Wait()
	})
	p.drawer, p.bar, p.sink = nil, nil, nil
}
