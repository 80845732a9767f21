// Package ui talks to the person or the script at the other end: streams and
// what is known of them, messages, logs, progress and tables. It knows nothing
// of what the messages are about.
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
	// OutWidth and ErrWidth are the numbers of columns of Out and Err, 0 for what is no
	// terminal.
	OutWidth, ErrWidth int
}

// System returns streams over the files of the process.
func System(in, out, err *os.File) Streams {
	s := Streams{
		In: in, Out: out, Err: err,
		InTTY:  term.IsTerminal(int(in.Fd())),
		OutTTY: term.IsTerminal(int(out.Fd())),
		ErrTTY: term.IsTerminal(int(err.Fd())) && os.Getenv("TERM") != "dumb",
	}
	s.OutWidth, s.ErrWidth = columns(out), columns(err)
	return s
}

// columns is how many columns a terminal has, 0 for what is none.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// ColorMode says when words stand out in colour. It has the methods of a flag
// value; the zero value is not valid, On takes it for ColorAuto.
type ColorMode string

// The modes. ColorAuto is colours on terminals, unless the environment has
// NO_COLOR or a terminal that knows none.
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

// On reports whether a stream, which may be a terminal, shows colours.
func (m ColorMode) On(terminal bool, getenv func(name string) string) bool {
	switch m {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Style is how a word stands out on a terminal: the numbers of an escape sequence.
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

// styles are those of the words for statuses and severities.
var styles = map[string]Style{
	"PASS": Good,

	"FAIL": Bad, "SHAPE_MISMATCH": Bad, "DTYPE_MISMATCH": Bad, "MISMATCH": Bad, "ERROR": Bad, "error": Bad,

	"WARN": Doubtful, "PARTIAL": Doubtful, "AMBIGUOUS": Doubtful, "UNDECIDED": Doubtful, "INTERRUPTED": Doubtful, "warning": Doubtful,

	"SKIP": Remark, "UNMATCHED_REF": Remark, "UNMATCHED_NPU": Remark, "UNMATCHED": Remark, "note": Remark, "info": Remark,
}

// StyleOf is the style of a word, Plain unless it is a status or a severity.
func StyleOf(word string) Style { return styles[word] }

// Paint returns text, which has been escaped, in the style.
func (s Style) Paint(text string) string {
	if s == Plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Escape returns s with everything that a terminal would obey instead of show
// written as in a Go string: control characters, newlines, invisible and
// direction-changing characters, broken UTF-8. Names in dumps and of files are
// other people's data.
func Escape(s string) string {
	if strings.IndexFunc(s, lang.Hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if lang.Hidden(r) || r == utf8.RuneError && n == 1 {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
