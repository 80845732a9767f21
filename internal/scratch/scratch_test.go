package scratch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestLog: what was added is read again, wherever it lies.
func TestLog(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		var l Log
		defer l.Close()
		var all []byte
		type place struct {
			at int64
			n  int
		}
		var places []place
		big := rapid.Bool().Draw(t, "beyond memory")
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			n := rapid.IntRange(0, 5000).Draw(t, "bytes")
			if big && i%4 == 0 {
				n += 3 << 20
			}
			p := bytes.Repeat([]byte{byte(i + 1), byte(n)}, n/2+1)[:n]
			at, err := l.Append(p)
			if err != nil {
				t.Fatal(err)
			}
			places, all = append(places, place{at, n}), append(all, p...)
		}
		for _, p := range places {
			got := make([]byte, p.n)
			if err := l.ReadAt(got, p.at); err != nil || !bytes.Equal(got, all[p.at:][:p.n]) {
				t.Fatalf("%d bytes at %d of %d differ, %v", p.n, p.at, len(all), err)
			}
		}
		if err := l.ReadAt(make([]byte, 1), l.Size()); err == nil {
			t.Error("bytes behind the end are read")
		}
	})
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "dumptool-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

// TestNoRoom: a folder that is not there is named.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	var l Log
	_, err := l.Append(make([]byte, InMemory+2*chunkSize))
	if err == nil {
		t.Fatal("no error without a folder")
	}
}
