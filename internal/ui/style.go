package ui

import "fmt"

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
	return fmt.Errorf("must be %s, %s or %s", ColorAuto, ColorAlways, ColorNever)
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
