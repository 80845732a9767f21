//go:build unix

package safefile

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestLeftovers: the first file in a folder removes leftovers of dead processes of this machine and
// nothing else.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := create(t, filepath.Join(t.TempDir(), "live")) // open, in a folder that was cleaned before
	other := "00000000"
	if hostID() == other {
		other = "00000001"
	}
	kept := []string{
		".x." + other + "-1-AAAA.tmp", ".x.AAAA.tmp", "x." + hostID() + "-1-AAAA.tmp", ".x." + hostID() + ".tmp",
		".link." + hostID() + "-1-AAAA.tmp", ".dir." + hostID() + "-1-AAAA.tmp",
	}
	left := ".x." + hostID() + "-1-AAAA.tmp"
	for _, name := range append(kept[:4:4], left) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kept[0], filepath.Join(dir, kept[4])); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, kept[5]), 0o777); err != nil {
		t.Fatal(err)
	}
	temporary := live.out.(*tempFile).Name()
	if err := os.Link(temporary, filepath.Join(dir, filepath.Base(temporary))); err != nil {
		t.Fatal(err)
	}
	want := append(kept, filepath.Base(temporary), "out")
	slices.Sort(want)
	if err := WriteFile(filepath.Join(dir, "out"), nil); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("folder holds\n%q, want\n%q", got, want)
	}
	live.Abort()
	removeLeftovers(dir)
	want = slices.DeleteFunc(want, func(name string) bool { return name == filepath.Base(temporary) })
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("without its writer: folder holds\n%q, want\n%q", got, want)
	}
	// A folder is cleaned once.
	if err := os.WriteFile(filepath.Join(dir, left), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "out"), nil); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Contains(got, left) {
		t.Errorf("the folder was looked through again: it holds %q", got)
	}
}

// TestCleanedWhileWritten: cleaning spares files that are being written.
func TestCleanedWhileWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var writers, cleaners sync.WaitGroup
	done := make(chan struct{})
	cleaners.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				removeLeftovers(dir)
			}
		}
	})
	for i := range 4 {
		writers.Go(func() {
			path := filepath.Join(dir, string(rune('a'+i)))
			for range 200 {
				if err := WriteFile(path, []byte(path)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	cleaners.Wait()
	if got := names(t, dir); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("folder holds %q", got)
	}
}
