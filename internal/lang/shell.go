package lang

import "strings"

// plainWord is a word that neither a shell nor YAML reads as anything else. Words of
// YAML with a meaning, such as true, are not.
var plainWord = Pattern(`^[-A-Za-z0-9_./:=+@%,]+$`)

// Quote writes a word for a POSIX shell, in single quotes where it needs any.
func Quote(word string) string {
	if plainWord().MatchString(word) && !strings.HasPrefix(word, "=") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellLine writes words for a POSIX shell, in one line unless words have several.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
