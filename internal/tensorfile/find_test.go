package tensorfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files with their path as content.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// short lists entries as dir/name, with the stored name where it is another.
func short(t *testing.T, root string, l *Listing) []string {
	t.Helper()
	var all []string
	for _, e := range l.Entries {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		all = append(all, filepath.ToSlash(filepath.Join(e.Dir, e.Name)))
		if rel, _ := filepath.Rel(root, e.Path); filepath.Base(rel) != e.Name {
			all[len(all)-1] += " stored as " + filepath.Base(rel)
		}
	}
	return all
}

func TestFind(t *testing.T) {
	root := tree(t, map[string]string{
		"b":               "1",
		"a":               "22",
		"sub/c":           "",
		"sub/mapping.csv": "c,Conv2D.x.1.2.1624605159829577\nno comma\n",
		"sub/deep/d":      "",
		"out/e":           "",
		"mapping.csv":     "b,B",
	})
	if err := os.Symlink(filepath.Join(root, "sub"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		opt  FindOptions
		want []string
	}{
		{"all", FindOptions{}, []string{"a", "B stored as b", "out/e", "sub/Conv2D.x.1.2.1624605159829577 stored as c", "sub/deep/d"}},
		{"without one folder", FindOptions{Skip: filepath.Join(root, "sub", "..", "out")},
			[]string{"a", "B stored as b", "sub/Conv2D.x.1.2.1624605159829577 stored as c", "sub/deep/d"}},
		{"the folder itself is never left out", FindOptions{Skip: root, NoRecursive: true}, []string{"a", "B stored as b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Find([]string{root}, tt.opt)
			if diff := cmp.Diff(tt.want, short(t, root, l)); diff != "" {
				t.Error(diff)
			}
			if want := 1; !tt.opt.NoRecursive && len(l.Warnings) != want {
				t.Errorf("warnings %q, want one about the line without a comma", l.Warnings)
			}
			if l.Alone() {
				t.Error("a folder is no single file")
			}
		})
	}
}

// TestFindOddFiles: a link as the root is followed, a pipe that calls itself
// mapping.csv does not block, and files that a killed run left are no inputs.
func TestFindOddFiles(t *testing.T) {
	root := tree(t, map[string]string{"dumps/a": "", "dumps/.a.output.0.npy.0F3K.tmp": ""})
	if err := syscall.Mkfifo(filepath.Join(root, "dumps", MappingName), 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink("dumps", link); err != nil {
		t.Fatal(err)
	}
	l := Find([]string{link}, FindOptions{})
	if len(l.Entries) != 1 || l.Entries[0].Path != filepath.Join(link, "a") || l.Entries[0].Dir != "." {
		t.Errorf("entries %+v", l.Entries)
	}
	if len(l.Warnings) != 1 {
		t.Errorf("warnings %q, want one about mapping.csv", l.Warnings)
	}
}

func TestFindPaths(t *testing.T) {
	root := tree(t, map[string]string{"a": "22", "b": ""})
	a, missing := filepath.Join(root, "a"), filepath.Join(root, "missing")
	if l := Find([]string{a}, FindOptions{}); !l.Alone() || l.Entries[0].Size != 2 || l.Entries[0].Dir != "." {
		t.Errorf("one file: %+v", l)
	}
	if l := Find([]string{missing}, FindOptions{}); !l.Alone() || l.Entries[0].Err == nil {
		t.Errorf("one missing file: %+v", l)
	}
	if l := Find([]string{missing, a}, FindOptions{}); l.Alone() || len(l.Entries) != 2 || l.Entries[0].Err == nil || l.Entries[1].Err != nil {
		t.Errorf("two files: %+v", l)
	}
}

// TestOpenPipe: a pipe among the dumps must not stop the run.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(path, openOptions); err == nil || f != nil {
		t.Errorf("opened a pipe: %v", f)
	}
}
