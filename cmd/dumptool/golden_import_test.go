package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// importCase is the form of testdata/golden/perf/import/expect.json.
type importCase struct {
	Args []string               `json:"args"`
	Exit int                    `json:"exit"`
	NPU  []string               `json:"npu"`
	Logs map[string]interface{} `json:"logs"`
}

// TestImportGolden imports the golden pieces and compares arrays byte for byte with numpy's, and
// the logs by name and code.
func TestImportGolden(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "perf", "import")
	text, err := os.ReadFile(filepath.Join(root, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c importCase
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	args := []string{"hpaa", "import"}
	for _, arg := range c.Args { // relative to the folder of the case
		if arg == "pieces.jsonl" || arg == "npu" {
			arg = filepath.Join(dir, arg)
		}
		args = append(args, arg)
	}
	if r := runArgs(t, args...); r.code != c.Exit {
		t.Fatalf("exit %d, want %d: %s", r.code, c.Exit, r.err)
	}
	got := readDir(t, filepath.Join(dir, "npu"))
	for _, name := range c.NPU {
		want, err := os.ReadFile(filepath.Join(root, "expect", "npu", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[name], want) {
			t.Errorf("%s differs", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not expected", name)
	}
	logs := readDir(t, filepath.Join(dir, "result"))
	for name, want := range c.Logs {
		var lines []any
		for line := range strings.Lines(string(logs[name])) {
			parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(parts) == 1 {
				lines = append(lines, parts[0])
			} else {
				lines = append(lines, []any{parts[0], parts[1]})
			}
		}
		if g, w := mustJSON(t, lines), mustJSON(t, want); !slices.Equal(g, w) {
			t.Errorf("%s: %s, want %s", name, g, w)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
