package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text        string
		first, rest int
		want        []string
	}{
		"fits":             {"one two", 7, 7, []string{"one two"}},
		"no width":         {"one two", 0, 0, []string{"one two"}},
		"empty":            {"", 5, 5, []string{""}},
		"blanks":           {"one two three", 8, 8, []string{"one two", "three"}},
		"other rest":       {"one two three", 4, 9, []string{"one", "two three"}},
		"long word":        {"a 0123456789 b", 4, 4, []string{"a", "0123", "4567", "89 b"}},
		"chinese":          {"整数加减", 5, 5, []string{"整数", "加减"}},
		"closing":          {"整数，加减", 4, 4, []string{"整", "数，", "加减"}},
		"opening":          {"整数（加）减", 6, 6, []string{"整数", "（加）", "减"}},
		"narrow brackets":  {"整数(加)减", 5, 5, []string{"整数", "(加)", "减"}},
		"word in chinese":  {"转 FP16 溢出", 6, 6, []string{"转", "FP16", "溢出"}},
		"words stay whole": {"为FP16溢出", 6, 6, []string{"为FP16", "溢出"}},
		"narrow as can be": {"整a数", 1, 1, []string{"整", "a", "数"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.first, tt.rest)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWrapCommand checks that a command at the end of a text stays on one line, with Chinese
// characters in it too.
func TestWrapCommand(t *testing.T) {
	t.Parallel()
	const command = "dumptool check '/data/我的 dump' --ops 张量张量张量 --extract repro"
	for _, text := range []string{"look at it: ", "查看："} {
		for _, width := range []int{10, 30} {
			lines := Wrap(text+command, width, width)
			if got := lines[len(lines)-1]; got != command {
				t.Errorf("the last line is %q, want %q", got, command)
			}
		}
	}
}
