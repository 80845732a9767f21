package store

import (
	"errors"
	"os"
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
		if IsRemote(path) != want {
			t.Errorf("Remote(%q) = %v", path, !want)
		}
	}
}

// TestLocalPaths compares with package path/filepath.
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

// TestWithin tests names from untrusted files, and links in their paths.
func TestWithin(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"run/a", "run-2"} {
		if err := os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"run/a/x", "run/..x", "run-2/x"} {
		if err := os.WriteFile(filepath.Join(base, filepath.FromSlash(file)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "run", "run/out": base, "run/in": "a", "run/a/up": "../a/x", "run/loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(base, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a/x": "run/a/x", "..x": "run/..x", "in/up": "run/a/x", "a/../in/x": "run/a/x", "out/run/a/x": "run/a/x", "": "run",
		"out": "", "out/run-2/x": "", "../run-2/x": "", "a/../../run-2/x": "",
	} {
		for _, root := range []string{"run", "link"} {
			root = filepath.Join(base, root)
			got, err := ResolveWithin(root, filepath.Join(root, filepath.FromSlash(name)))
			if want == "" {
				if !errors.Is(err, ErrOutside) || got != "" {
					t.Errorf("%s: %q, error %v, want %v", name, got, err, ErrOutside)
				}
			} else if err != nil || got != filepath.Join(base, filepath.FromSlash(want)) {
				t.Errorf("%s: %q, error %v, want %s", name, got, err, want)
			}
		}
	}
	for _, name := range []string{"none", "out/none", "loop", "a/x/y"} {
		if got, err := ResolveWithin(filepath.Join(base, "run"), filepath.Join(base, "run", filepath.FromSlash(name))); err == nil || errors.Is(err, ErrOutside) {
			t.Errorf("%s: %q, error %v, want that of the system", name, got, err)
		}
	}
}
