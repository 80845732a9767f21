package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/lang"
)

// printedCommand finds commands in the output of a run: on a line of their own, or after a colon.
var printedCommand = regexp.MustCompile(`(?m)(?:^|: )((?:dumptool|tar|eval|mkdir) .*)$`)

// TestPrintedPaths: printed commands about a folder, an archive, a dump, a configuration and a
// document name it as given, for any name, and do nothing else in a shell.
func TestPrintedPaths(t *testing.T) {
	t.Parallel()
	network := filepath.Join("..", "..", "testdata", "network")
	dump, err := os.ReadFile(filepath.Join(network, "npu", "Conv2D.conv2.3.16.1624605159829817"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{".tar.xz": "\xfd7zXZ\x00\x00", ".dump": string(dump), ".json": `{"dump":{"dump_path":"/x","dump_mode":"all"}}`, ".doc.json": `{"schema":"dumptool/compare/2"}`}
	for _, name := range dumptest.HardNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(network)); err != nil {
				t.Fatal(err)
			}
			for ending, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name+ending), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				args []string
				path string // without the part behind it
				want int    // commands
			}{
				{[]string{lang.PathArgument(name)}, name + "/", 3},
				{[]string{"inspect", "--", name + ".tar.xz"}, name + ".tar.xz", 1},
				{[]string{"config", "check", "--", name + ".dump"}, name + ".dump", 1},
				{[]string{"check", "--", name + ".json"}, name + ".json", 1},
				{[]string{"check", "--", name + ".doc.json"}, name + ".doc.json", 1},
			} {
				for _, language := range []string{"en", "zh"} {
					stdout, stderr, _ := runTold(t, dir, append([]string{"--lang", language}, c.args...)...)
					printed := printedCommand.FindAllStringSubmatch(strings.ReplaceAll(string(stdout)+stderr, "：", ": "), -1)
					if len(printed) != c.want {
						t.Fatalf("%q: %d commands, want %d, in %s%s", c.args, len(printed), c.want, stdout, stderr)
					}
					for _, line := range printed {
						args := dumptest.ShellArgs(t, line[1])
						if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, lang.PathArgument(c.path)) }) {
							t.Errorf("%s: %q have no %q", line[1], args, c.path)
						}
					}
				}
			}
		})
	}
}

// TestPrintedOps: the printed name of an operator chooses only that operator.
func TestPrintedOps(t *testing.T) {
	t.Parallel()
	array, err := os.ReadFile(filepath.Join("..", "..", "testdata", "network", "cpu", "fc.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dumptest.HardNames() {
		dir := t.TempDir()
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, member := range []string{"other", name, name + "2"} {
			out, err := w.Create(member + ".npy")
			if err == nil {
				_, err = out.Write(array)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.npz"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		out, stderr, _ := runTold(t, dir, slices.Concat([]string{"inspect", "run.npz", "--json"}, lang.Flag("--ops", dumpdir.OpsText(name)))...)
		var got struct{ Tensors []struct{ Name string } }
		if err := json.Unmarshal(out, &got); err != nil || len(got.Tensors) != 1 || got.Tensors[0].Name != name {
			t.Errorf("%q: %v %v %s", name, got, err, stderr)
		}
	}
}
