// Package ui communicates with the person or script that runs the program: streams and their
// properties, messages, logs, progress and tables.
package ui

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"dumptool/internal/lang"
)

// Streams holds the three standard streams and the properties of their terminals. Results go to Out
// and everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	// InTTY: In is a terminal.
	InTTY bool
	// OutTTY: Out is a terminal, so tables may be cut to its width.
	OutTTY bool
	// ErrTTY: Err is a terminal that can draw progress.
	ErrTTY bool
	// OutWidth and ErrWidth are the widths of Out and Err in columns, 0 unless terminals.
	OutWidth, ErrWidth int
}

// NewSystemStreams returns streams over the files of the process.
func NewSystemStreams(in, out, err *os.File) Streams {
	s := Streams{
		In: in, Out: out, Err: err,
		InTTY:  term.IsTerminal(int(in.Fd())),
		OutTTY: term.IsTerminal(int(out.Fd())),
		ErrTTY: term.IsTerminal(int(err.Fd())) && os.Getenv("TERM") != "dumb",
	}
	s.OutWidth, s.ErrWidth = terminalColumns(out), terminalColumns(err)
	return s
}

// terminalColumns returns the width of a terminal in columns, 0 for other files.
func terminalColumns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// ColorMode says when to use colours. It implements a flag value; the zero value is invalid, and IsEnabled
// treats it as ColorAuto.
type ColorMode string

// The modes. ColorAuto uses colours on terminals, unless NO_COLOR is set or TERM is dumb.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// Set implements the value of a flag.
func (m *ColorMode) Set(s string) error {
	switch v := ColorMode(s); v {
	case ColorAuto, ColorAlways, ColorNever:
		*m = v
		return nil
	}
	return lang.Errorf("must be %s, %s or %s", ColorAuto, ColorAlways, ColorNever)
}

// String implements the value of a flag.
func (m *ColorMode) String() string { return string(*m) }

// Type implements the value of a flag.
func (m *ColorMode) Type() string { return "auto|always|never" }

// IsEnabled reports whether to use colours on a stream; terminal: the stream is a terminal.
func (m ColorMode) IsEnabled(terminal bool, getenv func(name string) string) bool {
	switch m {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Style is the style of a word on a terminal: the numbers of an escape sequence.
type Style string

// The styles.
const (
	Plain    Style = ""
	Good     Style = "32"   // green
	Bad      Style = "1;31" // bold red
	Doubtful Style = "33"   // yellow
	Remark   Style = "36"   // cyan
	Mark     Style = "1;32" // bold green, for carets
)

// styles maps words of statuses and severities to styles.
var styles = map[string]Style{
	"PASS": Good,

	"FAIL": Bad, "SHAPE_MISMATCH": Bad, "DTYPE_MISMATCH": Bad, "MISMATCH": Bad, "OVERFLOWS": Bad, "ERROR": Bad, "error": Bad,

	"WARN": Doubtful, "PARTIAL": Doubtful, "AMBIGUOUS": Doubtful, "UNDECIDED": Doubtful, "TIGHT": Doubtful, "INTERRUPTED": Doubtful, "warning": Doubtful,

	"SKIP": Remark, "UNMATCHED_REF": Remark, "UNMATCHED_NPU": Remark, "UNMATCHED": Remark, "note": Remark, "info": Remark,
}

// StyleOf returns the style of a word, Plain unless it is a status or a severity.
func StyleOf(word string) Style { return styles[word] }

// Paint returns a text, which must be escaped, in the style.
func (s Style) Paint(text string) string {
	if s == Plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Escape returns s with all characters that a terminal interprets instead of showing, in the form
// of Go strings: control characters, newlines, invisible and direction-changing characters, invalid
// UTF-8. Names in dumps and of files are untrusted.
func Escape(s string) string {
	if strings.IndexFunc(s, lang.IsInvisible) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if lang.IsInvisible(r) || r == utf8.RuneError && n == 1 {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
