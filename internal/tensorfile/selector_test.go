package tensorfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/tensor"
)

// TestSplit: a path that exists is the file, else its longest prefix that exists.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d", "x:output:0", "x", "a:b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, path string
		of         Selector
	}{
		{"d", "d", Selector{}},
		{"d:output:0", "d", Selector{Kind: tensor.Output}},
		{"d:input:12", "d", Selector{Kind: tensor.Input, Index: 12}},
		{"d:parameter:3", "d", Selector{Kind: tensor.Parameter, Index: 3}},
		{"d:parameter:fc.weight", "d", Selector{Name: "fc.weight"}},
		{"d:fc:weight", "d", Selector{Name: "fc:weight"}},
		{"d:output:x", "d", Selector{Name: "output:x"}},
		{"d:output:-1", "d", Selector{Name: "output:-1"}},
		{"x:output:0", "x:output:0", Selector{}},
		{"x:output:1", "x", Selector{Kind: tensor.Output, Index: 1}},
		{"x:output:0:output:1", "x:output:0", Selector{Kind: tensor.Output, Index: 1}},
		{"a:b:c", "a:b", Selector{Name: "c"}},
		{"nothing:output:0", "", Selector{}},
		{"a:c", "", Selector{}},
		{":output:0", "", Selector{}}, // the folder is no file
	} {
		path, of, err := Split(filepath.Join(dir, tt.name))
		if tt.name[0] == ':' {
			path, of, err = Split(dir + tt.name)
		}
		want := tt.path
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if path != want || of != tt.of || (err == nil) != (want != "") {
			t.Errorf("%s: %q %+v %v, want %q %+v", tt.name, path, of, err, tt.path, tt.of)
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, text := range []string{"output:0", "input:-1", "parameter:x", "parameter:", ":", "gradient:99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := parseSelector(text)
		if text != "" && s.IsZero() || s.Kind != "" && (s.Name != "" || s.Index < 0) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}

// TestFind: FindOrOnly finds the only tensor of a file under any kind and index.
func TestFind(t *testing.T) {
	several := File{Tensors: []Tensor{{Kind: tensor.Input, Index: 1}, {Kind: tensor.Output}, {Kind: tensor.Output, Index: 1}}}
	alone := File{Tensors: several.Tensors[:1]}
	const absent = "the file has no output 2 any more"
	for _, c := range []struct {
		file       *File
		kind       tensor.Kind
		index      int
		find, only string
	}{
		{&several, tensor.Output, 1, "output 1", "output 1"},
		{&several, tensor.Input, 1, "input 1", "input 1"},
		{&several, tensor.Output, 2, absent, absent},
		{&alone, tensor.Input, 1, "input 1", "input 1"},
		{&alone, tensor.Output, 2, absent, "input 1"},
	} {
		text := func(found *Tensor, err error) string {
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(found.Kind, " ", found.Index)
		}
		find, only := text(c.file.Find(c.kind, c.index)), text(c.file.FindOrOnly(c.kind, c.index))
		if find != c.find || only != c.only {
			t.Errorf("%s %d of %d tensors: %q and %q, want %q and %q", c.kind, c.index, len(c.file.Tensors), find, only, c.find, c.only)
		}
	}
}
