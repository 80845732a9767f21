package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
)

// writeAll writes files of a size below a folder.
func writeAll(t *testing.T, dir string, size int, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// left lists the files of a folder and its folders.
func left(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestStaleFiles has a compare.json with illegal entries: only unchanged files in the folder itself
// are removed.
func TestStaleFiles(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "out")
	kept := []string{"below/deep.csv", "changed.csv", "input.csv", "new.csv", "notes.txt", "op_config.csv"}
	writeAll(t, dir, 7, append(kept, "gone.csv", "junit.xml")...)
	writeAll(t, top, 7, "outside.csv")
	if err := os.Symlink(filepath.Join(top, "outside.csv"), filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range []string{"gone.csv", "junit.xml", "below/deep.csv", "below", "input.csv", "new.csv", "notes.txt", "op_config.csv", "compare.json", "link.csv",
		"../outside.csv", "..", ".", "", filepath.Join(top, "outside.csv"), "never.csv", `..\\outside.csv`} {
		list = append(list, fmt.Sprintf(`{"name": %q, "size": 7}`, filepath.ToSlash(name)))
	}
	list = append(list, `{"name": "changed.csv", "size": 8}`)
	document := fmt.Sprintf(`{"schema": %q, "files": [%s], "rows": []}`, record.Schema, strings.Join(list, ", "))
	if err := os.WriteFile(filepath.Join(dir, "compare.json"), []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	f := NewFolder(dir, filepath.Join(dir, "input.csv"))
	before := f.earlierReports()
	f.Written = []record.File{{Name: "new.csv", Size: 7}}
	if rest := f.removeStale(before); len(rest) > 0 {
		t.Errorf("cannot remove %v", rest)
	}
	want := append(slices.Clone(kept), "compare.json", "link.csv")
	slices.Sort(want)
	if got := left(t, dir); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(top, "outside.csv")); err != nil {
		t.Error(err)
	}
}

// TestStaleProof has documents that prove nothing.
func TestStaleProof(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "{", "[]", `{"files": [{"name": "a.csv", "size": 1}]}`, `{"schema": "other/1", "files": [{"name": "a.csv", "size": 1}]}`,
		fmt.Sprintf(`{"schema": %q, "files": [{"name": "a.csv", "size": -1}]}`, record.Schema),
		fmt.Sprintf(`{"schema": %q, "files": "a.csv"}`, record.Schema), fmt.Sprintf(`{"schema": %q, "files": [{"name": "a.csv", "si`, record.Schema),
		fmt.Sprintf(`{"schema": %q, "rows": [{"op": "a", "status": "FAIL"}]}`, record.Schema)} {
		dir := t.TempDir()
		writeAll(t, dir, 1, "a.csv")
		if err := os.WriteFile(filepath.Join(dir, "compare.json"), []byte(document), 0o666); err != nil {
			t.Fatal(err)
		}
		if before := NewFolder(dir).earlierReports(); len(before) > 0 {
			t.Errorf("%q proves %v", document, before)
		}
	}
}
