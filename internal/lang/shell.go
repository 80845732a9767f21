package lang

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainWord is a word that neither a shell nor YAML reads as anything else. Words of
// YAML with a meaning, such as true, are not.
var plainWord = Pattern(`^[-A-Za-z0-9_./:=+@%,]+$`)

// CommandLine is the line of a command of dumptool that can be pasted into a POSIX shell.
func CommandLine(args ...string) string { return ShellLine(append([]string{"dumptool"}, args...)) }

// Flag returns the words of a flag with its value. A value that begins with a dash stands in
// the word of the flag, so that nobody reads it as a flag.
func Flag(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{name + "=" + value}
	}
	return []string{name, value}
}

// PathArgument returns a path in a form that is no flag, and not the - of stdin.
func PathArgument(path string) string {
	if strings.HasPrefix(path, "-") {
		return "./" + path
	}
	return path
}

// PathArguments are several paths as arguments.
func PathArguments(paths []string) []string {
	args := make([]string, len(paths))
	for i, path := range paths {
		args[i] = PathArgument(path)
	}
	return args
}

// ShellLine writes the words of a command for a POSIX shell, in one line that a terminal
// shows as it is. A shell drops line breaks at the end of what a command substitution gives:
// where a word ends in one, eval reads the whole line.
func ShellLine(words []string) string {
	line, lossy := make([]string, len(words)), false
	for i, w := range words {
		line[i] = ShellWord(w)
		lossy = lossy || strings.HasSuffix(w, "\n")
	}
	if !lossy {
		return strings.Join(line, " ")
	}
	for i, w := range words {
		line[i] = singleQuoted(w)
	}
	return "eval " + printed(strings.Join(line, " "))
}

// ShellWord writes a word for a POSIX shell: as it is, in single quotes where it needs them,
// and as the output of printf where a terminal would not show a character of it. Line breaks
// at its end are kept by ShellLine only.
func ShellWord(s string) string {
	switch {
	case plainWord().MatchString(s) && !strings.HasPrefix(s, "="): // =NAME is a path in zsh
		return s
	case strings.ContainsFunc(s, Hidden) || !utf8.ValidString(s):
		return printed(s)
	}
	return singleQuoted(s)
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// printed is a text as the output of printf. Octal escapes stand for what has no visible form
// or a meaning for printf or for the quotes around it; ! for the history of bash.
func printed(s string) string {
	var b strings.Builder
	b.WriteString(`"$(printf '`)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if Hidden(r) || r == utf8.RuneError || strings.ContainsRune("'\"`\\%!", r) || i == 0 && r == '-' {
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteString(`')"`)
	return b.String()
}

// Hidden reports whether a character has no visible form of its own: a control character,
// one that turns the direction of text. Spaces of all widths pass.
func Hidden(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }
