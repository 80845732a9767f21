package lang

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a shell makes of a line are the words, and the line has no character that a
// terminal obeys.
func TestShellLine(t *testing.T) {
	t.Parallel()
	special := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n'\"\\$`!*?[]{}()<>|&;#~%=-aE\x01\x1bé张\u202eEND")))
	text := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	bytes := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	words := rapid.SliceOfN(rapid.OneOf(special, text, bytes), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		want := words.Draw(t, "words")
		line := ShellLine(append([]string{"."}, want...))
		if strings.ContainsFunc(line, obeyed) {
			t.Errorf("%q: a terminal obeys it", line)
		}
		cmd := exec.Command("bash")
		cmd.Stdin = strings.NewReader("printf '%s\\0' " + line)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, line)
		}
		if got := strings.Split(string(out), "\x00"); !slices.Equal(got[1:len(got)-1], want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	})
	if got := ShellLine([]string{"compare", "--cpu", "s3://a/b", "a b", "", "it's", "=x", "a\tb"}); got != `compare --cpu s3://a/b 'a b' '' 'it'\''s' '=x' $'a\x09b'` {
		t.Errorf("%s", got)
	}
}
