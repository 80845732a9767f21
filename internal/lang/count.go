package lang

import (
	"fmt"
	"strings"
)

// Count prints a number of things: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountText is Count in both languages; zh has the measure word, such as 个文件.
func CountText(n int, noun, zh string) Text {
	return Text{EN: Count(n, noun), ZH: fmt.Sprintf("%d %s", n, zh)}
}

// FirstNames lists at most five names.
func FirstNames(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + ", ..."
}

// Clip cuts a text of a file to what fits a message.
func Clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}
