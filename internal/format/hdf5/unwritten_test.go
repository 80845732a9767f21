package hdf5

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestUnwritten counts elements that were never written: a shape of 10 x 10 in chunks of 4 x 4, of
// which (0, 0) and (4, 0), or (8, 8), were written.
func TestUnwritten(t *testing.T) {
	want := map[string]string{
		"/full": "[]", "/full_chunks": "[]", "/empty": "[]",
		"/none":        "[12 of 12 elements were never written: they have the fill value 7.5]",
		"/none_chunks": "[6 of 6 elements were never written: they have the fill value 0]",
		"/fixed":       "[68 of 100 elements were never written: they have the fill value -2]",
		"/grows":       "[68 of 100 elements were never written: they have the fill value 3]",
		"/tree":        "[96 of 100 elements were never written: they have the fill value 0]",
	}
	for _, name := range []string{"unwritten.h5", "unwritten_latest.h5"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(c.Tensors) != len(want) {
			t.Fatalf("%s: %d tensors, error %v", name, len(c.Tensors), err)
		}
		for i := range c.Tensors {
			tt := &c.Tensors[i]
			if got := fmt.Sprint(tt.Warnings); got != want[tt.Name] || tt.Err != nil {
				t.Errorf("%s: %s: %s, error %v, want %s", name, tt.Name, got, tt.Err, want[tt.Name])
			}
		}
	}
}
