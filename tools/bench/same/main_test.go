package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a shell script that stands for a build.
func program(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun runs two builds that are alike but for their version, and then ones
// that differ in what they print, what they write and how they exit.
func TestRun(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	old := program(t, "echo dumptool devel; mkdir out; echo 1 >out/a.npy; echo 2 >out/b.csv")
	for name, c := range map[string]struct {
		body  string
		wants []string
	}{
		"same":   {"echo dumptool v1.2.3; mkdir out; echo 1 >out/a.npy; echo 2 >out/b.csv", []string{"0 kinds of differences"}},
		"stdout": {"echo other; mkdir out; echo 1 >out/a.npy; echo 2 >out/b.csv", []string{": stdout: ", "- dumptool VERSION\n  + other"}},
		"file":   {"echo dumptool devel; mkdir out; echo 1 >out/a.npy; echo 3 >out/b.csv", []string{": *.csv: ", "such as out/b.csv of ", "- 2\n  + 3"}},
		"lost":   {"echo dumptool devel; mkdir out; echo 2 >out/b.csv", []string{": *.npy: ", "+ no such file"}},
		"status": {"echo dumptool devel; mkdir out; echo 1 >out/a.npy; echo 2 >out/b.csv; exit 3", []string{": exit status: ", "- 0\n  + 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out, msg bytes.Buffer
			err := run(t.Context(), []string{"-old", old, "-new", program(t, c.body), "-trees", "1", "-only", "convert -d"}, &out, &msg)
			if differ := errors.Is(err, errDiffer); differ != (name != "same") || err != nil && !differ {
				t.Errorf("error %v", err)
			}
			for _, want := range c.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
	if err := run(t.Context(), []string{"-old", old, "-new", old, "-trees", "0", "-only", "no such command"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Error("nothing was run, and that is no error")
	}
}

// TestMadeTrees wants the made data to be what it is for: dumps that are read,
// pairs that are compared, faults in some and not in others.
func TestMadeTrees(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(3) {
		tree := filepath.Join(dir, string(rune('a'+seed)))
		if err := errors.Join(writeTree(tree, seed), writeConfigs(tree, seed)); err != nil {
			t.Fatal(err)
		}
		in := input{dir: tree}
		want := len(forDumps) + len(forPairs) + 1 + 3*7 // seven of each configuration
		if got := len(commands(in)); got != want {
			t.Errorf("%d commands, want %d", got, want)
		}
	}
}
