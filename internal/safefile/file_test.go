package safefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names lists a folder, hidden files included.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// wantEmpty fails when dir holds anything at all.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("folder holds %q, want nothing", got)
	}
}

func create(t *testing.T, path string) *File {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Abort)
	return f
}

func TestCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npy")
	if err := os.WriteFile(path, []byte("old content, longer"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := create(t, path)
	if f.Path() != path {
		t.Errorf("Path = %q, want %q", f.Path(), path)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, strings.NewReader(" and more")); err != nil {
		t.Fatal(err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "old content, longer" {
		t.Fatalf("before Commit the target holds %q, %v", old, err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "new and more" {
		t.Errorf("target holds %q, %v", got, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q, want only the target", got)
	}
	if err := f.Commit(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second Commit = %v, want ErrClosed", err)
	}
}

func TestCreateNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := WriteNewFile(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(dir, "late")
	f, err := CreateNew(late)
	if err == nil {
		_, err = f.Write([]byte("ours"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nothing", late); err != nil {
		t.Fatal(err)
	}
	for path, err := range map[string]error{path: WriteNewFile(path, []byte("second")), late: f.Commit()} {
		if !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%v, want that %s exists", err, path)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("holds %q, %v", got, err)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("folder holds %q", got)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := create(t, filepath.Join(dir, "out"))
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	f.Abort()
	wantEmpty(t, dir)
	if err := f.Commit(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Commit after Abort = %v, want ErrClosed", err)
	}
	wantEmpty(t, dir)
}

func TestCommitAfterError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := create(t, filepath.Join(dir, "out"))
	if _, err := f.Write([]byte("good start")); err != nil {
		t.Fatal(err)
	}
	f.out.(*tempFile).Close() // close it behind its back
	_, first := f.Write([]byte("x"))
	if !errors.Is(first, os.ErrClosed) || strings.Contains(first.Error(), ".tmp") {
		t.Fatalf("error %v, want %v, without the name of the temporary file", first, os.ErrClosed)
	}
	if err := f.Commit(); !errors.Is(err, first) {
		t.Errorf("Commit = %v, want %v", err, first)
	}
	wantEmpty(t, dir)
}

func TestCommitOverFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	f := create(t, path)
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	err := f.Commit()
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("Commit = %v, want an error that names %s only", err, path)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "out" {
		t.Errorf("folder holds %q, want only out", got)
	}
}

func TestCreateErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := map[string]struct{ path, want string }{
		"missing folder": {filepath.Join(dir, "no", "out"), "no such file"},
		"folder":         {dir, "is a folder"},
		"device":         {os.DevNull, "not a regular file"},
		"slash":          {filepath.Join(dir, "out") + "/", "not a file name"},
		"empty":          {"", "not a file name"},
		"name too long":  {filepath.Join(dir, strings.Repeat("n", 256)), "too long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Create(tt.path)
			if err == nil {
				f.Abort()
				t.Fatal("no error")
			}
			if f != nil {
				t.Error("a file comes with the error")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) || strings.Contains(err.Error(), ".tmp") {
				t.Errorf("error %q, want %q and the path %q", err, tt.want, tt.path)
			}
		})
	}
	t.Cleanup(func() { wantEmpty(t, dir) })
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{
		"ascii": strings.Repeat("n", 255),
		"cjk":   strings.Repeat("张", 85),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := WriteFile(filepath.Join(dir, base), []byte("x")); err != nil {
				t.Fatal(err)
			}
			if got := names(t, dir); len(got) != 1 || got[0] != base {
				t.Errorf("folder holds %q", got)
			}
		})
	}
}

func TestTempName(t *testing.T) {
	t.Parallel()
	long := tempName(strings.Repeat("张", 85))
	if len(long) > 143 || !strings.HasPrefix(long, ".张") || !strings.HasSuffix(long, ".tmp") {
		t.Errorf("tempName = %q, %d bytes", long, len(long))
	}
	if strings.ToValidUTF8(long, "?") != long {
		t.Errorf("tempName splits a character: %q", long)
	}
	if a, b := tempName("out"), tempName("out"); a == b {
		t.Errorf("two temporary names are both %q", a)
	}
}

func TestMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, safe := filepath.Join(dir, "plain"), filepath.Join(dir, "safe")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(safe, nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(safe)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v like any new file", got.Mode(), want.Mode())
	}
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := WriteFile(file, nil); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(filepath.Join(file, "c")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("MkdirAll below a file = %v", err)
	}
}

// TestReserve: the length of a file is the number of bytes written, not the reserved size.
func TestReserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := make([]byte, 100_000)
	for i, size := range []int64{-1, 0, 1, 70_000, 100_000, 1 << 20, 1 << 62} {
		path := filepath.Join(dir, "out.npy")
		f := create(t, path)
		f.Reserve(size)
		if _, err := f.Write(data[:len(data)-i]); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || len(got) != len(data)-i {
			t.Errorf("reserved %d, wrote %d bytes: the file has %d bytes, %v", size, len(data)-i, len(got), err)
		}
	}
}
