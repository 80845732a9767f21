package filename

import (
	"strings"
	"testing"
)

// The expected names are the results of Python's uuid.uuid3(uuid.NAMESPACE_DNS, name).hex; the
// first is the example in the documentation of the uuid module.
func TestShort(t *testing.T) {
	tests := []struct{ name, want string }{
		{"python.org", "6fa459eaee8a3ca4894edb77e160355e.org"},
		{strings.Repeat("a", 300) + ".output.0.npy", "dcf333c4dba33f20977782890badd789.npy"},
		{"x", "ec794efea3843b11a0b6ec8995bc6acc"},
	}
	for _, tt := range tests {
		if got := Short(tt.name); got != tt.want {
			t.Errorf("%.20s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestSafe(t *testing.T) {
	tests := []struct{ name, want string }{
		{"Conv2D.a.1.2.3", "Conv2D.a.1.2.3"},
		{"..", "__"},
		{".", "_"},
		{"", "_"},
		{"../../etc/passwd", ".._.._etc_passwd"},
		{"a\x00b\nc", "a_b_c"},
		{"算子.名.1", "算子.名.1"},
		{"\xc4\xe3.1", "\xc4\xe3.1"}, // GBK
	}
	for _, tt := range tests {
		if got := Safe(tt.name); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.name, got, tt.want)
		}
	}
}
