package convert

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// TestMergeOutside: no part leads out of the output folder, neither by a name nor by a
// link.
func TestMergeOutside(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"sub", "..", "link", "../other"} {
		base := t.TempDir()
		out := filepath.Join(base, "out")
		for _, folder := range []string{"out/sub", "other"} {
			if err := os.MkdirAll(filepath.Join(base, folder), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../other", filepath.Join(out, "link")); err != nil {
			t.Fatal(err)
		}
		w, err := shard.Create(out, shard.Head{Kind: PartKind, Tool: "t", Plan: "p", Of: 1, Rows: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range []any{inputsPart{}, resultPart{Shortened: []renamedPart{{shard.Text(dir), "short", "long"}}}} {
			data, err := json.Marshal(row)
			if err == nil {
				err = w.Write(i, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		parts, err := shard.List([]string{out}, shard.Head{Kind: PartKind})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Merge(parts, out)
		_, written := os.Stat(filepath.Join(out, dir, "mapping.csv"))
		if dir == "sub" {
			if err != nil || written != nil {
				t.Errorf("%s: %v, %v", dir, err, written)
			}
		} else if !errors.Is(err, store.ErrOutside) || !errors.Is(written, os.ErrNotExist) {
			t.Errorf("%s: error %v, mapping.csv: %v", dir, err, written)
		}
	}
}
