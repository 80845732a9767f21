package report

import (
	"strings"
	"unicode/utf8"

	"dumptool/internal/ui"
)

// Text of files - names, paths, messages that quote them - is escaped for where
// it goes: by ui.Escape for terminals and logs, by csvText for cells, by markdown
// for Markdown, by escapeLines for XML; the encoder of JSON escapes its own.

// escapeLines shows control and invisible characters as in Go. Line breaks stay,
// and U+FFFD stands for what is no UTF-8.
func escapeLines(text string) string {
	lines := strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\n")
	for i := range lines {
		lines[i] = ui.Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

// csvText escapes text for a cell of a CSV file: as escapeLines does, and a quote
// in front keeps spreadsheets from taking it for a formula. Some take the wide
// forms of the signs for the signs.
func csvText(text string) string {
	cell := escapeLines(text)
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + cell
	}
	return cell
}

// markdown keeps text from being taken for markup, or for the mention of a user.
// Underscores within a word are none.
func markdown(text string) string {
	text = ui.Escape(text)
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '@':
			b.WriteString("@<!-- -->")
		case c == '_' && inWord(text, i), !strings.ContainsRune("\\|`*_[]~$", rune(c)):
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// inWord reports whether an ASCII letter or digit is on both sides of the
// underscores around text[i].
func inWord(text string, i int) bool {
	before, after := strings.TrimRight(text[:i], "_"), strings.TrimLeft(text[i:], "_")
	return before != "" && after != "" && alphanumeric(before[len(before)-1]) && alphanumeric(after[0])
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
