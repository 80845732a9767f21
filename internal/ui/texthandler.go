package ui

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
)

// hintKey marks the record of a hint.
const hintKey = "hint"

// textHandler prints records as messages: a prefix, the text, then the
// attributes as slog.TextHandler prints them.
type textHandler struct {
	level slog.Leveler
	attrs slog.Handler // prints attributes to page.buf
	page  *page
	color bool
}

// page is where the handlers of one logger compose their lines.
type page struct {
	mu  sync.Mutex
	buf bytes.Buffer
	out io.Writer
}

func newTextHandler(w io.Writer, level slog.Leveler, color bool) slog.Handler {
	p := &page{out: w}
	attrs := slog.NewTextHandler(&p.buf, &slog.HandlerOptions{Level: level, ReplaceAttr: dropBuiltin})
	return &textHandler{level: level, attrs: attrs, page: p, color: color}
}

// dropBuiltin drops what Handle prints itself. An attribute that happens to
// have one of the names stays: it has another type, or a text.
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

	h.page.mu.Lock()
	defer h.page.mu.Unlock()
	buf := &h.page.buf
	buf.Reset()
	buf.WriteString(h.prefix(r.Level, hint))
	buf.WriteString(Escape(r.Message))
	end := buf.Len()
	buf.WriteByte(' ')
	if err := h.attrs.Handle(ctx, rest); err != nil {
		return err
	}
	if buf.Len() == end+2 { // a space, no attribute and a newline
		buf.Truncate(end)
		buf.WriteByte('\n')
	}
	_, err := h.page.out.Write(buf.Bytes())
	return err
}

// prefix returns what a line starts with.
func (h *textHandler) prefix(level slog.Level, hint bool) string {
	switch {
	case hint:
		return "hint: "
	case level < slog.LevelInfo:
		return "dumptool: debug: "
	case level == slog.LevelWarn:
		const word = "warning"
		if h.color {
			return "dumptool: " + StyleOf(word).Paint(word) + ": "
		}
		return "dumptool: " + word + ": "
	default:
		return "dumptool: "
	}
}

// WithAttrs implements slog.Handler.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &textHandler{level: h.level, attrs: h.attrs.WithAttrs(attrs), page: h.page, color: h.color}
}

// WithGroup implements slog.Handler.
func (h *textHandler) WithGroup(name string) slog.Handler {
	return &textHandler{level: h.level, attrs: h.attrs.WithGroup(name), page: h.page, color: h.color}
}
