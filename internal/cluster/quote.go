package cluster

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// yamlPlain is what a YAML reader takes for a string as it stands: a path, a word, a
// flag, but no number, and no word that may mean a truth value or nothing.
var (
	yamlPlain = lang.Pattern(`^(--?)?[A-Za-z/][-A-Za-z0-9_./+@]*(://?[-A-Za-z0-9_./+@]+|:[0-9]+)?(=[-A-Za-z0-9_./+@]*)?$`)
	yamlWords = lang.Pattern(`(?i)^(true|false|yes|no|on|off|y|n|null|nan|inf|[-+]?\.inf)$`)
)

// yamlString writes a string for YAML 1.1 and 1.2. The text is valid UTF-8 without control
// characters.
func yamlString(s string) string {
	if yamlPlain().MatchString(s) && !yamlWords().MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case 0x20 <= r && r < 0x7f || 0xa0 <= r && r < 0x2000 || 0x3000 <= r && r < 0xd800:
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// containerArg is an argument as the manifests of Kubernetes have it, where $(NAME) would
// be a variable.
func containerArg(s string) string { return yamlString(strings.ReplaceAll(s, "$", "$$")) }

// checkText refuses what YAML cannot hold.
func checkText(words [][]string) error {
	for _, list := range words {
		for _, w := range list {
			if !utf8.ValidString(w) {
				return fmt.Errorf("argument %q is no UTF-8, which manifests cannot hold", w)
			}
		}
	}
	return nil
}
