package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"dumptool/internal/ui"
)

// ConfigDiff returns the change of a file as a unified diff that patch -p1 and
// git apply understand; nothing when there is none.
func ConfigDiff(name string, before, after []byte) []byte {
	change := diff.Diff("", before, "", after)
	// Its own heading does not quote names.
	for range 3 {
		_, change, _ = bytes.Cut(change, []byte("\n"))
	}
	if len(change) == 0 {
		return nil
	}
	name = strings.TrimLeft(name, "/")
	heading := fmt.Sprintf("--- %s\n+++ %s\n", diffName("a/"+name), diffName("b/"+name))
	return append([]byte(heading), change...)
}

// diffName writes the name of a file as git does: in quotes when it holds
// characters that end a line or a name, and with a tab behind blanks.
func diffName(name string) string {
	switch {
	case ui.Escape(name) != name || strings.ContainsAny(name, `"\`):
		return quoteBytes(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// quoteBytes quotes a name as C does, with octal escapes.
func quoteBytes(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			b.WriteString(`\` + fmt.Sprintf("%03s", strconv.FormatUint(uint64(c), 8)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}
