package ui

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSystemOfFiles(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := System(f, f, f)
	if s.OutTTY || s.ErrTTY || s.OutWidth != 0 {
		t.Errorf("a file passes for a terminal: %+v", s)
	}
	if s.In != f || s.Out != f || s.Err != f {
		t.Error("the streams are not the files")
	}
}
