package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is an archive of files; the data of a file is its name.
type sample struct {
	names  []string
	closed int
}

func (s *sample) List() (all []Object) {
	for _, n := range s.names {
		all = append(all, Object{Key: n, Size: int64(len(strings.TrimRight(n, "/")))})
		if strings.HasSuffix(n, "/") {
			all[len(all)-1].Size = 0
		}
	}
	return all
}
func (s *sample) Open(name string) (Source, error) {
	return sampleFile{bytes.NewReader([]byte(name))}, nil
}
func (s *sample) Close() error { s.closed++; return nil }

type sampleFile struct{ *bytes.Reader }

func (sampleFile) ID() string   { return "" }
func (sampleFile) Close() error { return nil }

// TestMount lists, describes and opens the files of an archive by their paths, and mounts an
// archive when a path into it is used.
func TestMount(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"run.zip", "a!b", "plain"} {
		if err := os.WriteFile(name, []byte("zip"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := &sample{names: []string{"x/b.npy", "a.npy", "x/y/c.npy", "x/d!e", "empty/"}}
	failed := errors.New("is damaged")
	opened := 0
	UseArchives(func(path string) (Members, error) {
		opened++
		switch filepath.Base(path) {
		case "run.zip":
			return in, nil
		case "a!b":
			return nil, failed
		}
		return nil, nil
	})
	t.Cleanup(func() { archives.open.Store(nil) })

	if got, err := Mount("plain"); got != "plain" || err != nil {
		t.Errorf("no archive: %q, %v", got, err)
	}
	if _, err := Stat("plain!x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no archive: %v", err)
	}
	if _, err := Stat("a!b!x"); !errors.Is(err, failed) {
		t.Errorf("in a damaged one: %v", err)
	}
	if info, err := Stat("a!b"); err != nil || info.Size() != 3 {
		t.Errorf("a path that exists is that path: %v", err)
	}
	if info, err := Stat("run.zip!x"); err != nil || !info.IsDir() {
		t.Errorf("a folder in it: %v", err)
	}
	root, err := Mount("run.zip")
	if root != "run.zip!" || err != nil {
		t.Fatal(root, err)
	}
	if again, err := Mount("./run.zip"); again != "./run.zip!" || err != nil {
		t.Error(again, err)
	}
	before := opened
	if again, err := Mount("run.zip!"); again != root || err != nil || opened != before {
		t.Error(again, err, opened)
	}
	var walked []string
	err = WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, failed := textAt(path)
			if name := strings.TrimPrefix(path, root); failed != nil || data != name || Base(path) != d.Name() {
				t.Errorf("%s has %q, base %q, want %q; %v", path, data, Base(path), d.Name(), failed)
			}
		}
		walked = append(walked, path)
		return err
	})
	want := []string{"run.zip!", "run.zip!a.npy", "run.zip!empty", "run.zip!x", "run.zip!x/b.npy", "run.zip!x/d!e", "run.zip!x/y", "run.zip!x/y/c.npy"}
	if err != nil || !slices.Equal(walked, want) {
		t.Errorf("walked %q, want %q; %v", walked, want, err)
	}
	for _, tt := range [][2]string{
		{Join(root, "x", "y"), "run.zip!x/y"}, {Dir("run.zip!x/y"), "run.zip!x"}, {Dir("run.zip!x"), root}, {Dir(root), root}, {Base(root), "run.zip"},
		{Clean("run.zip!x/"), "run.zip!x"}, {first(Abs("run.zip!x/")), dir + "/run.zip!x"}, {first(Rel(root, "./run.zip!x/y")), "x/y"},
		{first(Rel("run.zip!x", dir+"/run.zip!x/y")), "y"}, {first(ResolveWithin(root, "run.zip!x/b.npy")), dir + "/run.zip!x/b.npy"},
		{first(textAt(dir + "/run.zip!x/d!e")), "x/d!e"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("found %q, want %q", tt[0], tt[1])
		}
	}
	if _, err := ResolveWithin("run.zip!x/y", "run.zip!a.npy"); !errors.Is(err, ErrOutside) && err == nil {
		t.Error("a.npy counts as inside of x/y")
	}
	if _, err := Stat("run.zip!none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "run.zip!none") {
		t.Errorf("missing: %v", err)
	}
	for name, err := range map[string]error{
		"Create": firstError(Create("run.zip!new")), "CreateNew": firstError(CreateNew("run.zip!new")), "Remove": Remove("run.zip!a.npy"),
		"CheckFolder": CheckFolder("run.zip!new"), "CheckWritable": CheckWritable("run.zip!new"),
	} {
		if !errors.Is(err, errArchive) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CloseArchives(); err != nil || in.closed != 1 {
		t.Errorf("closed %d times, %v", in.closed, err)
	}
	if IsRemote("run.zip!a.npy") {
		t.Error("still mounted")
	}
}

func first[T any](x T, _ error) T { return x }

func textAt(path string) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	return string(data), errors.Join(err, f.Close())
}
