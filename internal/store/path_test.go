package store

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, dir, base, abs string }{
		{"s3://b/k/x", "s3://b/k", "x", "s3://b/k/x"},
		{"obs://b/k/x/", "obs://b/k/x", "x", "s3://b/k/x"},
		{"s3://b/k", "s3://b", "k", "s3://b/k"},
		{"s3://b", "s3://b", "b", "s3://b"},
		{"s3://b/", "s3://b", "b", "s3://b"},
		{"s3://b/a//x", "s3://b/a/", "x", "s3://b/a//x"},
		{"s3://b/../x", "s3://b/..", "x", "s3://b/../x"},
	} {
		abs, err := Abs(tt.path)
		if Dir(tt.path) != tt.dir || Base(tt.path) != tt.base || abs != tt.abs || err != nil || !IsAbs(tt.path) {
			t.Errorf("%s: Dir %q, Base %q, Abs %q, %v", tt.path, Dir(tt.path), Base(tt.path), abs, err)
		}
	}
	for _, tt := range []struct {
		want string
		elem []string
	}{
		{"s3://b/k/x", []string{"s3://b", "k", "x"}},
		{"s3://b/k/x", []string{"s3://b/", "", "k/x"}},
		{"s3://b/k/../x", []string{"s3://b/k", ".", "../x"}},
	} {
		if got := Join(tt.elem...); got != tt.want {
			t.Errorf("Join(%q) = %q, want %q", tt.elem, got, tt.want)
		}
	}
	if got, err := Rel("obs://b/run7/", "s3://b/run7/a/x"); got != "a/x" || err != nil {
		t.Errorf("Rel = %q, %v", got, err)
	}
	if got, err := Rel("s3://b/run7", "s3://b/run70/x"); err == nil {
		t.Errorf("Rel = %q", got)
	}
	for path, want := range map[string]bool{"s3://b": true, "obs://b": true, "s3:/b": false, "x/s3://b": false, "S3://b": false, "": false} {
		if Remote(path) != want {
			t.Errorf("Remote(%q) = %v", path, !want)
		}
	}
}

// TestLocalPaths wants what path/filepath has.
func TestLocalPaths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a./]{0,8}`)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		abs, _ := Abs(a)
		wantAbs, _ := filepath.Abs(a)
		rel, _ := Rel(a, b)
		wantRel, _ := filepath.Rel(a, b)
		if Join(a, b) != filepath.Join(a, b) || Dir(a) != filepath.Dir(a) || Base(a) != filepath.Base(a) || Clean(a) != filepath.Clean(a) || abs != wantAbs || rel != wantRel || IsAbs(a) != filepath.IsAbs(a) {
			t.Errorf("%q, %q: another path than filepath's", a, b)
		}
	})
}
