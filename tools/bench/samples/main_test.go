package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const shipped = "../../../testdata"

// TestShipped compares the files in testdata with what the program writes.
func TestShipped(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir}); err != nil {
		t.Fatal(err)
	}
	for folder, count := range map[string]int{"sample": 3, "network": 2 * len(layers())} {
		made, there := files(t, filepath.Join(dir, folder)), files(t, filepath.Join(shipped, folder))
		if !slices.Equal(made, there) || len(made) != count {
			t.Fatalf("made %q, shipped are %q, want %d", made, there, count)
		}
		for _, name := range made {
			if !bytes.Equal(read(t, filepath.Join(dir, folder, name)), read(t, filepath.Join(shipped, folder, name))) {
				t.Errorf("%s: not what the generator writes, run go generate", name)
			}
		}
	}
}

func TestRunErrors(t *testing.T) {
	if err := run(nil); err == nil {
		t.Error("no error without an argument")
	}
	if err := run([]string{filepath.Join("main.go", "x")}); err == nil {
		t.Error("no error for a folder below a file")
	}
}

// files lists the files below a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
