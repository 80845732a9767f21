package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLocalFiles reads files at offsets and sequentially, with sizes on both sides of smallFile.
func TestLocalFiles(t *testing.T) {
	t.Parallel()
	const whole = 8 << 10
	dir := t.TempDir()
	ids := map[string]bool{}
	for _, size := range []int{0, 1, 100, whole - 1, whole, whole + 1, 3 * whole} {
		want := bytes.Repeat([]byte{byte(size), 7, byte(size >> 3)}, size/3+1)[:size]
		name := filepath.Join(dir, "x")
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if src.Size() != int64(size) || ids[src.ID()] || !Mode(src).IsRegular() {
			t.Errorf("%d bytes: size %d, %s, %s", size, src.Size(), src.ID(), Mode(src))
		}
		ids[src.ID()] = true
		for _, off := range []int{0, size / 3, size, size + 5} {
			got := make([]byte, size/2+1)
			n, err := src.ReadAt(got, int64(off))
			if rest := want[min(off, size):]; !bytes.Equal(got[:n], rest[:min(len(rest), len(got))]) || (n < len(got)) != errors.Is(err, io.EOF) {
				t.Errorf("%d bytes: %d at %d, %v", size, n, off, err)
			}
		}
		if got, err := io.ReadAll(src.(io.Reader)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
		other, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		if err := src.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed twice: %v", err)
		}
		if n, err := src.ReadAt(make([]byte, 1), 0); n > 0 || err == nil {
			t.Errorf("%d bytes of a closed file, %v", n, err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(other, 0, other.Size())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes beside a closed file: read %d, %v", size, len(got), err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if !Mode(folder).IsDir() {
		t.Errorf("a folder is %s", Mode(folder))
	}
	if _, err := Open(filepath.Join(dir, "y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
