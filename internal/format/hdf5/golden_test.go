package hdf5

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

func TestGolden(t *testing.T) {
	dumptest.Golden(t, "h5", Open, map[string]string{"header": "object header", "btree": "B-tree"})
}

// recordedTensor has the fields of the list of golden files for tensors of torch.utils.dumper.
type recordedTensor struct {
	Name       string
	Torch      string
	Attrs      map[string]any
	Node       string
	Kind       tensor.Kind
	Index      int
	Seq        int64
	Round      int
	Values     []json.Number
	NotATensor bool `json:"not_a_tensor"`
}

// TestGoldenOperators compares operators, attributes, and values other than tensors.
func TestGoldenOperators(t *testing.T) {
	var cases []struct{ ID, Path, Kind string }
	dumptest.ReadGolden(t, "cases.json", &cases)
	var expect map[string]struct{ Tensors json.RawMessage }
	dumptest.ReadGolden(t, "expect.json", &expect)
	operators, attrs := 0, 0
	for _, file := range cases {
		if !strings.HasPrefix(file.ID, "h5_") || file.Kind != "read" {
			continue
		}
		var want []recordedTensor
		if err := json.Unmarshal(expect[file.ID].Tensors, &want); err != nil {
			t.Fatal(file.ID, err)
		}
		c, _ := openGolden(t, file.Path)
		for _, w := range want {
			if w.NotATensor {
				checkValue(t, c, w)
				continue
			}
			got := &c.Tensors[0]
			c.Tensors = c.Tensors[1:]
			if w.Node != "" {
				operators++
				op := format.Operator{Name: w.Node, Seq: w.Seq, Round: w.Round, Kind: w.Kind, Index: w.Index}
				if got.Operator == nil || *got.Operator != op {
					t.Errorf("%s: %s belongs to %+v, want %+v", file.ID, w.Name, got.Operator, op)
				}
				if got.TorchDType != w.Torch || (got.Origin == tensor.Float16) != (w.Torch == "Half") {
					t.Errorf("%s: %s is %s of %v, want %s", file.ID, w.Name, got.TorchDType, got.Origin, w.Torch)
				}
			}
			if len(w.Attrs) > 0 {
				attrs += len(w.Attrs)
				attrs := plain(t, got.Attrs)
				if attrs["text"] == "variable length" {
					delete(attrs, "text") // the list has numbers only
				}
				if diff := cmp.Diff(w.Attrs, attrs); diff != "" {
					t.Errorf("%s: attributes of %s (-want +got):\n%s", file.ID, w.Name, diff)
				}
			}
		}
		if len(c.Values) > 0 || len(c.Tensors) > 0 {
			t.Errorf("%s: more values %v and tensors %v", file.ID, c.Values, c.Tensors)
		}
	}
	if operators < 30 || attrs < 200 {
		t.Errorf("the list has %d tensors of operators and %d attributes", operators, attrs)
	}
}

// checkValue compares the next value of a file.
func checkValue(t *testing.T, c *format.Contents, w recordedTensor) {
	t.Helper()
	text := strings.ReplaceAll(fmt.Sprint(w.Values), " ", ", ")
	switch {
	case w.Values == nil:
		text = format.NotRead
	case len(w.Values) == 1:
		text = string(w.Values[0])
	}
	if len(c.Values) == 0 || c.Values[0].Name != w.Name || c.Values[0].Text != text {
		t.Errorf("values %+v, want %s %s", c.Values, w.Name, text)
		return
	}
	c.Values = c.Values[1:]
}

// plain returns attributes in the form of JSON.
func plain(t *testing.T, attrs []format.Attr) map[string]any {
	t.Helper()
	all := make(map[string]any)
	for _, a := range attrs {
		all[a.Name] = a.Value
	}
	if len(all) != len(attrs) {
		t.Errorf("a name comes twice in %v", attrs)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func openGolden(t testing.TB, path string) (*format.Contents, []byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dumptest.GoldenDir, path))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(path, err)
	}
	return c, file
}

// goldenFiles are the golden files and the broken ones.
func goldenFiles(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"h5/*.h5", "bad/h5_*.h5"} {
		names, err := filepath.Glob(filepath.Join(dumptest.GoldenDir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	if len(all) < 30 {
		t.Fatalf("%d golden files", len(all))
	}
	return all
}

// TestMoved prepends data to a file, as h5jam does: addresses count from the superblock.
func TestMoved(t *testing.T) {
	for _, path := range []string{"h5/gpu.h5", "h5/storage_latest.h5", "h5/userblock.h5"} {
		want, data := openGolden(t, path)
		moved := append(make([]byte, 1024), data...)
		if path == "h5/userblock.h5" {
			moved = data[512:] // the data before may be removed again
		}
		got, err := Open(bytes.NewReader(moved), int64(len(moved)))
		if err != nil {
			t.Fatal(path, err)
		}
		if len(got.Tensors) != len(want.Tensors) {
			t.Fatalf("%s: %d tensors, want %d", path, len(got.Tensors), len(want.Tensors))
		}
		for i := range got.Tensors {
			g, w := &got.Tensors[i], &want.Tensors[i]
			if g.Name != w.Name || (g.Err == nil) != (w.Err == nil) || g.Err == nil && !bytes.Equal(dumptest.Elements(t, &g.Tensor), dumptest.Elements(t, &w.Tensor)) {
				t.Errorf("%s: %s differs from %s", path, g.Name, w.Name)
			}
		}
		short := moved[:len(moved)-1]
		if _, err := Open(bytes.NewReader(short), int64(len(short))); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: error %v for a file that is cut", path, err)
		}
	}
}
