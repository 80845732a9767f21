package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/dumptest"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// TestParts converts a tensor that is large enough for several workers with one and with many
// workers: the files are equal, and the progress counts its bytes.
func TestParts(t *testing.T) {
	t.Parallel()
	const n, c1, h, w, c0 = 3, 5, 300, 256, 16
	data := make([]byte, 2*n*c1*h*w*c0)
	for i := 0; i < len(data); i += 2 {
		binary.LittleEndian.PutUint16(data[i:], uint16(i*0x9e37>>9))
	}
	in := t.TempDir()
	path := writeDump(t, in, opName, &dumptest.Content{OpName: "op", Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Float16, tensor.NC1HWC0, tensor.Shape{n, c1, h, w, c0}, tensor.Shape{n, c1*c0 - 7, h, w}, data),
	}})
	for _, opt := range []Options{{Type: Npy}, {Type: Bin}, {Type: Npy, Target: new(tensor.NCHW)}} {
		var want [sha256.Size]byte
		for _, workers := range []int{1, 3} {
			opt.Out, opt.Workers = t.TempDir(), workers
			var moved int
			var last batch.Event
			_, err := Run(t.Context(), opt, opened(t, path), func(e batch.Event) {
				if e.DoneCost < last.DoneCost || e.DoneCost > e.TotalCost {
					t.Errorf("%d workers: progress %+v after %+v", workers, e, last)
				}
				if e.DoneCost > last.DoneCost {
					moved++
				}
				last = e
			}, func(r *Result) error { return r.Rows[0].Err })
			if err != nil {
				t.Fatal(err)
			}
			if last.Done != 1 || last.DoneCost != last.TotalCost || last.TotalCost < int64(len(data)) || moved < 50 {
				t.Errorf("%d workers: progress ends with %+v after %d steps", workers, last, moved)
			}
			files := tree(t, opt.Out)
			if len(files) != 1 {
				t.Fatalf("%d files", len(files))
			}
			for name, content := range files {
				if opt.Target == nil && !strings.HasSuffix(content, string(data)) {
					t.Errorf("%d workers: %s does not end with the elements", workers, name)
				}
				got := sha256.Sum256([]byte(content))
				if workers == 1 {
					want = got
				} else if got != want {
					t.Errorf("%d workers: another %s of %d bytes", workers, name, len(content))
				}
			}
		}
	}
	// A truncated file leaves nothing behind.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.Clone(whole[:len(whole)-100])
	short := writeFile(t, filepath.Join(t.TempDir(), opName), whole)
	out := t.TempDir()
	_, results := convertAll(t, Options{Out: out, Workers: 3}, short)
	if len(tree(t, out)) > 0 || results[0].Err == nil && results[0].Rows[0].Err == nil {
		t.Errorf("%d files and %+v of a file that ends early", len(tree(t, out)), results[0])
	}
}

// TestMergeOutside: no document leads out of the output folder, neither by a name nor by a link.
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
		d := Document{Schema: Schema, Files: []listEntry{{Renamed: []renamedFile{{anyText(dir), "short", "long"}}}}}
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
