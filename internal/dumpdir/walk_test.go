package dumpdir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed lists the files of a run below its folder, with the stored name if it differs.
func listed(t *testing.T, r *Run) []string {
	t.Helper()
	var all []string
	for _, f := range r.Files {
		if f.Err != nil {
			t.Fatal(f.Err)
		}
		text := filepath.ToSlash(filepath.Join(f.Folder.Dir, f.Name))
		if base := filepath.Base(f.Path()); base != f.Name {
			text += " stored as " + base
		}
		all = append(all, text)
	}
	return all
}

func TestWalk(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"b":               "1",
		"a":               "22",
		"sub/c":           "",
		"sub/mapping.csv": "c,Conv2D.x.1.2." + stamp1 + "\nno comma\n",
		"sub/deep/d":      "",
		"out/e":           "",
		"mapping.csv":     "b,B",
	})
	for _, test := range []struct {
		name string
		opt  Options
		want []string
	}{
		{"all", Options{}, []string{"a", "B stored as b", "out/e", "sub/Conv2D.x.1.2." + stamp1 + " stored as c", "sub/deep/d"}},
		{"without one folder", Options{Skip: filepath.Join(root, "sub", "..", "out")},
			[]string{"a", "B stored as b", "sub/Conv2D.x.1.2." + stamp1 + " stored as c", "sub/deep/d"}},
		{"the folder itself is never left out", Options{Skip: root, NoRecursive: true}, []string{"a", "B stored as b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := openAt(t, root, test.opt)
			if diff := cmp.Diff(test.want, listed(t, r)); diff != "" {
				t.Error(diff)
			}
			if !test.opt.NoRecursive && len(r.Warnings) != 1 {
				t.Errorf("warnings %q, want one about the line without a comma", r.Warnings)
			}
			if r.Single {
				t.Error("a folder is no single file")
			}
		})
	}
}

// TestLinks: links to files are followed, out of the folder too, because people collect dumps that
// way; links to folders are reported and not followed; broken links are unreadable files.
func TestLinks(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, named("real.npy", "rank_1/Net/0/2/A.x.1.2."+stamp1))
	write(t, root, named("rank_0/Net/0/2/A.x.1.2."+stamp1))
	for link, target := range map[string]string{
		"linked.npy": filepath.Join(elsewhere, "real.npy"), "rank_1": filepath.Join(elsewhere, "rank_1"), "loop": ".", "lost.npy": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	r := openAt(t, root, Options{})
	if diff := cmp.Diff([]string{": linked(o0) lost(o0)", "rank 0 step 2 graph 0 model Net: x(*)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
	want := []string{"linked folder|loop|", "linked folder|rank_1|", "unreadable|lost.npy|"}
	if diff := cmp.Diff(want, problems(r)); diff != "" {
		t.Error(diff)
	}
	if link := filepath.Join(root, "again"); os.Symlink(root, link) != nil || len(openAt(t, link, Options{}).Files) != 3 {
		t.Error("a link that is given is not followed")
	}
}

// TestOddFiles: a pipe named mapping.csv does not block, and temporary files of a killed run are no
// inputs.
func TestOddFiles(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("a", ".a.output.0.npy.0F3K.tmp", ".a.output.0.npy.0123abcd-42-0F3K.tmp", ".a-b.tmp", ".tmp", ".x.tmp", "a..tmp"))
	if err := syscall.Mkfifo(filepath.Join(root, MappingName), 0o666); err != nil {
		t.Fatal(err)
	}
	r := openAt(t, root, Options{})
	if diff := cmp.Diff([]string{".a-b.tmp", ".tmp", ".x.tmp", "a", "a..tmp"}, listed(t, r)); diff != "" {
		t.Error(diff)
	}
	if len(r.Warnings) != 1 || strings.Count(r.Warnings[0].String(), MappingName) != 1 {
		t.Errorf("warnings %q, want one about mapping.csv", r.Warnings)
	}
}

func TestPaths(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"a": "22", "b": "", "sub/mapping.csv": "1.npy,Add.x.1.2." + stamp1 + ".output.0.npy", "sub/1.npy": "x"})
	a, missing := filepath.Join(root, "a"), filepath.Join(root, "missing")
	for _, test := range []struct {
		paths  []string
		single bool
		files  []string
	}{
		{[]string{a}, true, []string{a}},
		{[]string{missing}, true, []string{missing}},
		{[]string{missing, a}, false, []string{missing, a}},
		{[]string{a, a, filepath.Join(root, "sub"), root}, false,
			[]string{a, filepath.Join(root, "sub", "1.npy"), filepath.Join(root, "b")}},
	} {
		r, err := Open(context.Background(), test.paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range r.Files {
			files = append(files, f.Path())
			if (f.Path() == missing) != (f.Err != nil) {
				t.Errorf("%s: %v", f.Path(), f.Err)
			}
		}
		if diff := cmp.Diff(test.files, files); diff != "" || r.Single != test.single {
			t.Errorf("%s: single %v\n%s", test.paths, r.Single, diff)
		}
	}
	r := openAt(t, filepath.Join(root, "sub", "1.npy"), Options{})
	if r.Files[0].Name != "Add.x.1.2."+stamp1+".output.0.npy" || len(r.Rounds) != 1 {
		t.Errorf("the name of a file that is given is %q", r.Files[0].Name)
	}
}

// TestRelativePaths: a file given by several spellings of its path is listed once, and the
// mapping.csv of a folder is read once.
func TestRelativePaths(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"run/a": "1", "run/b": "2", "run/c": "3", "run/mapping.csv": "a,A\nno comma\n"})
	t.Chdir(root)
	for _, test := range []struct{ paths, files []string }{
		{[]string{"run/a", "run"}, []string{"A", "b", "c"}},
		{[]string{"run", "run/a", "./run/../run/b"}, []string{"A", "b", "c"}},
		{[]string{"run/b", "./run/a", filepath.Join(root, "run", "b"), "run"}, []string{"b", "A", "c"}},
	} {
		r, err := Open(t.Context(), test.paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range r.Files {
			files = append(files, f.Name)
		}
		if diff := cmp.Diff(test.files, files); diff != "" || len(r.Warnings) != 1 {
			t.Errorf("%s: warnings %q, want one\n%s", test.paths, r.Warnings, diff)
		}
	}
}

// TestMappingOfAbsentFiles: all entries of mapping.csv without a file are one warning.
func TestMappingOfAbsentFiles(t *testing.T) {
	r := open(t, map[string]string{"7": "x", MappingName: "\"7\", \"Add.x.1.2.3\"\n8,b\n9,c\n"})
	want := filepath.Join(r.Paths[0], MappingName) + `: 2 of 3 entries name no file of the folder, the first is "8"`
	if len(r.Files) != 1 || r.Files[0].Name != "Add.x.1.2.3" || len(r.Warnings) != 1 || r.Warnings[0].String() != want {
		t.Errorf("%q", r.Warnings)
	}
}

// TestLongNames: files with shortened names have the names of mapping.csv, operators too.
func TestLongNames(t *testing.T) {
	r := open(t, map[string]string{
		"rank_0/Net/0/1/1234.npy":    "x",
		"rank_0/Net/0/1/mapping.csv": "1234.npy,Add.a_Add-op1.0.0." + stamp1 + ".output.2.DefaultFormat.float32.npy\n",
	})
	if diff := cmp.Diff([]string{"rank 0 step 1 graph 0 model Net: a_Add-op1(o2)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Open(ctx, []string{t.TempDir()}, Options{}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
}
