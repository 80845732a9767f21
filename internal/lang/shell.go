package lang

import (
	"fmt"
	"strings"
	"unicode"
)

// plainWord is a word that neither a shell nor YAML reads as anything else. Words of
// YAML with a meaning, such as true, are not.
var plainWord = Pattern(`^[-A-Za-z0-9_./:=+@%,]+$`)

// ShellWord writes a word for a shell: as it is, in single quotes where it needs them, and
// with escapes where a terminal would obey a character of it.
func ShellWord(s string) string {
	switch {
	case plainWord().MatchString(s) && !strings.HasPrefix(s, "="):
		return s
	case !strings.ContainsFunc(s, obeyed):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// obeyed reports whether a terminal does something else with a character than to show it.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar || r == 0x2028 || r == 0x2029
}

// ShellLine writes words for a shell, in one line.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}
