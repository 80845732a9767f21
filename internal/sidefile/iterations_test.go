package sidefile

import (
	"slices"
	"strings"
	"testing"
)

func TestReadIterations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		numbers []uint64
		misfits string
	}{
		"":                                  {},
		"0\n1\n2\n":                         {numbers: []uint64{0, 1, 2}},
		"5\r\n6\r\n\r\n0":                   {numbers: []uint64{5, 6, 0}},
		"iteration\n3,\n \"4\"\n-1\n":       {numbers: []uint64{3, 4}, misfits: "1 4"},
		"99999999999999999999\n1 2\n\x00\n": {misfits: "1 2 3"},
	} {
		got, err := ReadIterations(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, m := range got.Misfits.First {
			lines = append(lines, strings.TrimPrefix(m.Place(), "line "))
		}
		if !slices.Equal(got.Numbers, want.numbers) || strings.Join(lines, " ") != want.misfits {
			t.Errorf("%q: %v, misfits in lines %v", text, got.Numbers, lines)
		}
	}
	if _, err := ReadIterations(strings.NewReader(strings.Repeat("1\n", maxSize/2+1))); err == nil {
		t.Error("a file that is too large: no error")
	}
}

// FuzzReadIterations: every line is a number, a misfit or empty.
func FuzzReadIterations(f *testing.F) {
	for _, text := range []string{"", "0\n1\n", "a\n\r\n3,\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadIterations(strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(got.Numbers) + got.Misfits.Count; n > strings.Count(text, "\n")+1 {
			t.Errorf("%d numbers and misfits of %q", n, text)
		}
	})
}
