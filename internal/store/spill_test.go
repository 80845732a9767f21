package store

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestSpill checks that of an object that is larger than the memory for blocks and read
// all over many times each byte is fetched a few times only, if there is room on the disk;
// and that all bytes are those of the object.
func TestSpill(t *testing.T) {
	const blocks, rounds = 12, 10
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		folder string
		most   int // requests
	}{
		"room":    {dir, 4 * blocks},
		"no room": {filepath.Join(dir, "missing"), 2 * rounds * blocks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", tt.folder)
			f := newFaults(t)
			s, bucket, data := f.begin(t, headSize+blocks*minBlock, smallBlocks)
			src := s.mustOpen(t, bucket, "run/x")
			Whole(src)
			var readers sync.WaitGroup
			for part := range 2 {
				readers.Go(func() {
					for round := range rounds {
						for at := (part*rounds + round) * 700; at < len(data); at += minBlock / 2 {
							p := make([]byte, min(900, len(data)-at))
							if _, err := src.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, data[at:][:len(p)]) {
								t.Errorf("other bytes at %d, or %v", at, err)
								return
							}
						}
					}
				})
			}
			readers.Wait()
			gets := slices.DeleteFunc(f.log(), func(line string) bool { return !strings.HasPrefix(line, "GET ") })
			if len(gets) > tt.most || name == "no room" && len(gets) < rounds*blocks/2 {
				t.Errorf("%d requests for %d blocks that were read %d times", len(gets), blocks, 2*rounds)
			}
			t.Logf("%d requests", len(gets))
			if err := src.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}
