package dumpconf

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStatFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]PathState{
		dir:                        PathUsable,
		file:                       PathNotDir,
		filepath.Join(dir, "none"): PathMissing,
		filepath.Join(file, "sub"): PathMissing,
	}
	for path, want := range tests {
		if got := StatFolder(path); got != want {
			t.Errorf("%s: state %v, want %v", path, got, want)
		}
	}
}
