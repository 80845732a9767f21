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

// TestMergeOutside: no document leads out of the output folder, neither by a name nor by a
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
		path := filepath.Join(out, shard.Spec{Of: 1}.Folder(), DocumentName)
		d := Document{Schema: Schema, Files: []listed{{Renamed: []renamed{{anyText(dir), "short", "long"}}}}}
		data, err := json.Marshal(&d)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Merge([]shard.Document{{Path: path}}, out, false)
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
