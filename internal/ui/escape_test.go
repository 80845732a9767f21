package ui

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", ""},
		{`C:\dumps\"x".npy`, `C:\dumps\"x".npy`},
		{"层 ½ é", "层 ½ é"},
		{"tab\there", `tab\there`},
		{"bell\a del\x7f c1\u009b", `bell\a del\x7f c1\u009b`},
		{"line\u2028sep", `line\u2028sep`},
		{"bad\xff\xc3(", `bad\xff\xc3(`},
		{"real \ufffd", "real \ufffd"},
		{"tag \U000e0001", `tag \U000e0001`},
		{"wide\u3000nbsp\u00a0", "wide\u3000nbsp\u00a0"},
	}
	for _, tt := range tests {
		if got := Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("plain")
	f.Add("a\x1b[2J\r\nb\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) || strings.IndexFunc(got, hidden) >= 0 {
			t.Errorf("Escape(%q) = %q is not safe", s, got)
		}
		if again := Escape(got); again != got {
			t.Errorf("Escape of %q is %q", got, again)
		}
	})
}
