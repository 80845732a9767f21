package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/hdf5"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/safetensors"
	"dumptool/internal/tensor"
)

// goldenCase is one case of testdata/golden/convert/cases.json.
type goldenCase struct {
	ID   string   `json:"id"`
	Dump string   `json:"dump"`
	Args []string `json:"args"`
	Exit int      `json:"exit"`
}

// TestConvertGolden converts every golden dump and compares the files byte for byte with numpy's.
func TestConvertGolden(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "convert")
	text, err := os.ReadFile(filepath.Join(root, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("%d golden cases, want more than 100", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"convert", "-d", filepath.Join(root, "dumps", c.Dump), "-out", out}, c.Args...)
			r := runArgs(t, args...)
			if c.Exit != 0 {
				if r.code != exitIncomplete || r.err == "" {
					t.Errorf("exit %d, message %q", r.code, r.err)
				}
				if files := readDir(t, out); len(files) > 0 {
					t.Errorf("wrote %d files", len(files))
				}
				return
			}
			if r.code != exitOK {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			got, want := readDir(t, out), readDir(t, filepath.Join(root, "expect", c.ID))
			for name, data := range want {
				if !sameFile(name, got[name], data) {
					t.Errorf("%s differs", name)
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("%s is not expected", name)
			}
		})
	}
}

func readDir(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// sameFile compares two files byte for byte; a float32 NaN equals any other.
func sameFile(name string, got, want []byte) bool {
	if bytes.Equal(got, want) {
		return true
	}
	const header = 128 // of every golden array
	if !strings.HasSuffix(name, ".npy") || len(got) != len(want) || len(got) < header ||
		!bytes.Equal(got[:header], want[:header]) || !bytes.Contains(want[:header], []byte("'<f4'")) {
		return false
	}
	for i := header; i < len(want); i += 4 {
		a, b := binary.LittleEndian.Uint32(got[i:]), binary.LittleEndian.Uint32(want[i:])
		if a != b && !(math.IsNaN(float64(math.Float32frombits(a))) && math.IsNaN(float64(math.Float32frombits(b)))) {
			return false
		}
	}
	return true
}

// TestConvertPick copies operators of a golden case out of a file. Names and commands are h5copy's;
// elements and attributes are compared with the source.
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
	unquoted := strings.NewReplacer("'", "").Replace // none of these words needs quotes
	if r.code != exitOK || unquoted(r.out) != unquoted(want) {
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

// TestConvertPickBroken copies broken files: a refused copy leaves no file.
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

// TestConvertSafetensors converts the golden dumps to files of safetensors, and compares
// their elements with the arrays of numpy. The reader has tests of its own.
func TestConvertSafetensors(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "convert")
	var cases []goldenCase
	readJSON(t, filepath.Join(root, "cases.json"), &cases)
	for _, c := range cases {
		if c.Exit != 0 || slices.Contains(c.Args, "-t") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			want := map[string]hostArray{}
			for name, data := range readDir(t, filepath.Join(root, "expect", c.ID)) {
				if stem, ok := strings.CutSuffix(name, ".npy"); ok {
					want[stem] = openArray(t, data)
				}
			}
			if len(want) == 0 {
				return // records and buffers have no type
			}
			args := append([]string{"convert", "-d", filepath.Join(root, "dumps", c.Dump)}, c.Args...)
			checkSafetensors(t, args, c.Dump, want)
		})
	}
}

// hostArray is the content of a .npy file.
type hostArray struct {
	host  tensor.Host
	shape tensor.Shape
	data  []byte
}

func openArray(t *testing.T, file []byte) hostArray {
	t.Helper()
	f, err := npy.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Fortran || f.BigEndian {
		t.Fatal("an array of numpy's own order is wanted")
	}
	return hostArray{f.Host, f.Shape, file[f.Offset:][:f.Size]}
}

// sameElements compares a tensor with an array; a float32 NaN equals any other.
func sameElements(t *testing.T, name string, got *format.Tensor, want hostArray) {
	t.Helper()
	if got.Err != nil || got.DType.Host() != want.host || !got.Shape.Equal(want.shape) {
		t.Errorf("%s: %v%v, error %v, want %v%v", name, got.DType, got.Shape, got.Err, want.host, want.shape)
		return
	}
	elements := dumptest.Elements(t, &got.Tensor)
	if bytes.Equal(elements, want.data) {
		return
	}
	for i := 0; i+4 <= len(want.data) && want.host == tensor.HostFloat32; i += 4 {
		a, b := binary.LittleEndian.Uint32(elements[i:]), binary.LittleEndian.Uint32(want.data[i:])
		if a != b && !(math.IsNaN(float64(math.Float32frombits(a))) && math.IsNaN(float64(math.Float32frombits(b)))) {
			t.Errorf("%s: element %d differs", name, i/4)
			return
		}
	}
	if want.host != tensor.HostFloat32 {
		t.Errorf("%s: % x, want % x", name, elements, want.data)
	}
}

// checkSafetensors converts to one file.
func checkSafetensors(t *testing.T, args []string, dump string, want map[string]hostArray) {
	t.Helper()
	out := t.TempDir()
	r := runArgs(t, append(args, "-t", "safetensors", "-out", out)...)
	fails := false
	for stem, array := range want {
		if array.host == tensor.HostComplex128 {
			fails = true
			delete(want, stem)
		}
	}
	if wantExit := map[bool]int{false: exitOK, true: exitIncomplete}[fails]; r.code != wantExit {
		t.Errorf("-t safetensors: exit %d, want %d: %s", r.code, wantExit, r.err)
	}
	file, err := os.ReadFile(filepath.Join(out, dump+".safetensors"))
	if len(want) == 0 && os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := safetensors.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tensors) != len(want) {
		t.Errorf("%d tensors, want %d", len(c.Tensors), len(want))
	}
	for i := range c.Tensors {
		found := false
		for stem, array := range want {
			if at := fmt.Sprintf("%s.%s", dump, c.Tensors[i].Name); stem == at || strings.HasPrefix(stem, at+".") {
				found = true
				sameElements(t, stem, &c.Tensors[i], array)
			}
		}
		if !found {
			t.Errorf("no array is %q", c.Tensors[i].Name)
		}
	}
}
