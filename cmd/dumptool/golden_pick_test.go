package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/hdf5"
)

// TestConvertPick takes the operators of a golden case out of a file. The names and the
// commands are those of h5copy; elements and attributes are compared with the file.
func TestConvertPick(t *testing.T) {
	t.Parallel()
	type pick struct {
		ID, Path string
		Pick     []string
	}
	var cases []pick
	readJSON(t, filepath.Join(inputsRoot, "cases.json"), &cases)
	var expect struct {
		Pick struct{ Tensors, Commands []string } `json:"h5_pick"`
	}
	readJSON(t, filepath.Join(inputsRoot, "expect.json"), &expect)
	i := slices.IndexFunc(cases, func(c pick) bool { return c.ID == "h5_pick" })
	if i < 0 {
		t.Fatal("there is no case h5_pick")
	}
	in, ops := filepath.Join(inputsRoot, cases[i].Path), strings.Join(cases[i].Pick, ",")
	r := runArgs(t, "convert", "-d", in, "-t", "h5copy", "--ops", ops)
	want := strings.ReplaceAll(strings.Join(expect.Pick.Commands, "\n")+"\n", "'"+filepath.Base(in)+"'", "'"+in+"'")
	if r.code != exitOK || r.out != want {
		t.Errorf("exit %d, commands\n%s\nwant\n%s", r.code, r.out, want)
	}

	out := filepath.Join(t.TempDir(), "out.h5")
	if r := runArgs(t, "convert", "-d", in, "-t", "h5", "--ops", ops, "-out", out); r.code != exitOK {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	got, all := openHDF5(t, out), openHDF5(t, in)
	var names []string
	for _, v := range got.Values {
		names = append(names, v.Name)
		if !slices.Contains(all.Values, v) {
			t.Errorf("the value %+v is not in the file", v)
		}
	}
	for i := range got.Tensors {
		tensor := &got.Tensors[i]
		names = append(names, tensor.Name)
		k := slices.IndexFunc(all.Tensors, func(w format.Tensor) bool { return w.Name == tensor.Name })
		if k < 0 {
			t.Errorf("%s is not in the file", tensor.Name)
			continue
		}
		w := &all.Tensors[k]
		if tensor.DType != w.DType || !tensor.Shape.Equal(w.Shape) || tensor.TorchDType != w.TorchDType || tensor.Device != w.Device ||
			!slices.Equal(tensor.Strides, w.Strides) || len(tensor.Attrs) != len(w.Attrs) {
			t.Errorf("%+v, want %+v", tensor, w)
		}
		if !bytes.Equal(dumptest.Elements(t, &tensor.Tensor), dumptest.Elements(t, &w.Tensor)) {
			t.Errorf("%s: other elements", tensor.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, expect.Pick.Tensors) {
		t.Errorf("datasets %q, want %q", names, expect.Pick.Tensors)
	}
}

func openHDF5(t *testing.T, path string) *format.Contents {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := hdf5.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConvertPickBroken copies broken files: what is refused leaves nothing behind.
func TestConvertPickBroken(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(inputsRoot, "bad", "*.h5"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		dir := t.TempDir()
		r := runArgs(t, "convert", "-d", file, "-t", "h5", "-out", filepath.Join(dir, "new", "out.h5"))
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := os.Stat(filepath.Join(dir, "new", "out.h5"))
		switch {
		case r.code != exitIncomplete && r.code != exitOK:
			t.Errorf("%s: exit %d: %s", file, r.code, r.err)
		case r.code == exitOK:
			openHDF5(t, filepath.Join(dir, "new", "out.h5"))
		case !strings.Contains(r.err, filepath.Base(file)):
			t.Errorf("%s is not named: %s", file, r.err)
		case len(left) > 0 && readErr != nil:
			t.Errorf("%s: %d names are left", file, len(left))
		}
	}
}
