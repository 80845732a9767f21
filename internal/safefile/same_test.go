package safefile

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestSameFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// at joins without cleaning, to keep the .. of a test case.
	at := func(parts ...string) string { return dir + "/" + strings.Join(parts, "/") }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("foo"), 0o777))
	must(os.Mkdir(at("elsewhere"), 0o777))
	must(WriteFile(at("x"), []byte("x")))
	must(WriteFile(at("y"), []byte("x")))
	must(os.Symlink("x", at("soft")))
	must(os.Symlink("foo", at("softdir")))
	must(os.Symlink("nowhere", at("dangling")))
	must(os.Link(at("x"), at("hard")))

	tests := map[string]struct {
		a, b string
		want bool
	}{
		"itself":                    {at("x"), at("x"), true},
		"through a folder":          {at("foo", "..", "x"), at("x"), true},
		"symlink":                   {at("soft"), at("x"), true},
		"hard link":                 {at("hard"), at("x"), true},
		"equal content":             {at("y"), at("x"), false},
		"one missing":               {at("new"), at("x"), false},
		"both missing":              {at("new"), at("foo", "..", "new"), true},
		"missing, linked folder":    {at("softdir", "new"), at("foo", "new"), true},
		"missing, other folder":     {at("elsewhere", "new"), at("foo", "new"), false},
		"missing, other name":       {at("new"), at("newer"), false},
		"missing folder":            {at("no", "new"), at("no", ".", "new"), true},
		"one folder missing":        {at("no", "new"), at("foo", "new"), false},
		"dangling link is no input": {at("dangling"), at("x"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := IsSameFile(tt.a, tt.b); got != tt.want {
				t.Errorf("SameFile(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
			}
			if got := IsSameFile(tt.b, tt.a); got != tt.want {
				t.Errorf("SameFile(%q, %q) = %v, want %v", tt.b, tt.a, got, tt.want)
			}
		})
	}

	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		var overwrite *OverwriteError
		if err := CheckOutput(at("soft"), at("y"), at("x")); !errors.As(err, &overwrite) || overwrite.Input != at("x") {
			t.Errorf("CheckOutput = %v, want an OverwriteError for x", err)
		}
		if err := CheckOutput(at("x"), at("x")); err == nil || err.Error() != "output "+at("x")+" is also an input" {
			t.Errorf("CheckOutput = %v", err)
		}
		if err := CheckOutput(at("new"), at("y"), at("x")); err != nil {
			t.Errorf("CheckOutput of a new file = %v", err)
		}
	})
}
