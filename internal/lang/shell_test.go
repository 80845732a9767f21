package lang

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestShellLine: a shell parses a line into the words, and a terminal shows the whole line.
func TestShellLine(t *testing.T) {
	t.Parallel()
	special := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n'\"\\$`!*?[]{}()<>|&;#~%=-aE\x01\x1bé张\u202eEND\u200b")))
	text := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	bytes := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	words := rapid.SliceOfN(rapid.OneOf(special, text, bytes), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		want := words.Draw(t, "words")
		line := ShellLine(append([]string{"printf", `%s\0`, "."}, want...))
		if strings.ContainsFunc(line, IsInvisible) || !utf8.ValidString(line) {
			t.Errorf("%q: a terminal does not show all of it", line)
		}
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell)
			cmd.Stdin = strings.NewReader(line + "\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err, line)
			}
			if got := strings.Split(string(out), "\x00"); !slices.Equal(got[1:len(got)-1], want) {
				t.Errorf("%s: %s: %q, want %q", shell, line, got, want)
			}
		}
	})
	for line, words := range map[string][]string{
		`compare --cpu s3://a/b 'a b' '' 'it'\''s' '=x'`: {"compare", "--cpu", "s3://a/b", "a b", "", "it's", "=x"},
		`show "$(printf 'a\011b')"`:                      {"show", "a\tb"},
		`eval "$(printf '\047show\047 \047a\012\047')"`:  {"show", "a\n"},
		"show '张量 1'":                                    {"show", "张量 1"},
	} {
		if got := ShellLine(words); got != line {
			t.Errorf("%q: %s, want %s", words, got, line)
		}
	}
}

func TestFlag(t *testing.T) {
	t.Parallel()
	got := slices.Concat(Flag("--ops", "a"), Flag("--ops", "-a"), PathArguments([]string{"-", "-a", "./-a", "s3://a/b"}))
	if want := []string{"--ops", "a", "--ops=-a", "./-", "./-a", "./-a", "s3://a/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
