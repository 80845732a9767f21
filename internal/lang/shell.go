package lang

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainWord matches words without special meaning in a shell or in the syntax of YAML. It also matches YAML keywords
// such as true.
var plainWord = Pattern(`^[-A-Za-z0-9_./:=+@%,]+$`)

// CommandLine returns a dumptool command that can be pasted into a POSIX shell.
func CommandLine(args ...string) string { return ShellLine(append([]string{"dumptool"}, args...)) }

// Flag returns the words of a flag with its value. A value that begins with a dash is joined to the flag, so that it
// is not parsed as a flag.
func Flag(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{name + "=" + value}
	}
	return []string{name, value}
}

// PathArgument returns a path in a form that is parsed neither as a flag nor as - for stdin.
func PathArgument(path string) string {
	if strings.HasPrefix(path, "-") {
		return "./" + path
	}
	return path
}

// PathArguments converts several paths.
func PathArguments(paths []string) []string {
	args := make([]string, len(paths))
	for i, path := range paths {
		args[i] = PathArgument(path)
	}
	return args
}

// ShellLine quotes the words of a command for a POSIX shell, in one line of visible characters. Command substitution
// drops trailing line breaks: if a word ends with a line break, the whole line is passed through eval.
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
	return "eval " + printfText(strings.Join(line, " "))
}

// ShellWord quotes a word for a POSIX shell: unchanged, in single quotes, or as the output of printf if it has
// characters that a terminal does not show. It loses trailing line breaks; ShellLine keeps them.
func ShellWord(s string) string {
	switch {
	case plainWord().MatchString(s) && !strings.HasPrefix(s, "="): // zsh expands =NAME to a path
		return s
	case strings.ContainsFunc(s, IsInvisible) || !utf8.ValidString(s):
		return printfText(s)
	}
	return singleQuoted(s)
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// printfText returns a text as a command substitution of printf. Octal escapes encode invisible characters, characters
// with a meaning for printf or in quotes, and ! (the history of bash).
func printfText(s string) string {
	var b strings.Builder
	b.WriteString(`"$(printf '`)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if IsInvisible(r) || r == utf8.RuneError || strings.ContainsRune("'\"`\\%!", r) || i == 0 && r == '-' {
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

// IsInvisible reports whether a character is invisible, such as control characters and marks of text direction.
// Spaces of all widths are not hidden.
func IsInvisible(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }
