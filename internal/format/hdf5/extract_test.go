package hdf5

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"

	"github.com/google/go-cmp/cmp"
)

// below selects the paths below a path.
func below(prefix ...string) func(path []string) bool {
	return func(path []string) bool { return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix) }
}

func extract(t *testing.T, data []byte, keep func(path []string) bool) (*ExtractResult, []byte) {
	t.Helper()
	var b bytes.Buffer
	x, err := Extract(&b, bytes.NewReader(data), int64(len(data)), keep)
	if err != nil {
		t.Fatal(err)
	}
	return x, b.Bytes()
}

// TestExtractGolden compares with a golden file of h5copy.
func TestExtractGolden(t *testing.T) {
	var cases []struct {
		ID, Path string
		Pick     []string
	}
	dumptest.ReadGolden(t, "cases.json", &cases)
	var expect map[string]struct{ Tensors json.RawMessage }
	dumptest.ReadGolden(t, "expect.json", &expect)
	for _, tt := range cases {
		if tt.ID != "h5_pick" {
			continue
		}
		var want []string
		if err := json.Unmarshal(expect[tt.ID].Tensors, &want); err != nil {
			t.Fatal(err)
		}
		all, data := openGolden(t, tt.Path)
		x, file := extract(t, data, func(path []string) bool { return slices.Contains(tt.Pick, nameOf(path[:2])) })
		got, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil || len(x.Left) > 0 || x.Datasets != len(want) {
			t.Fatalf("%+v, error %v", x, err)
		}
		var names []string
		for _, v := range got.Values {
			names = append(names, v.Name)
		}
		for i := range got.Tensors {
			names = append(names, got.Tensors[i].Name)
			checkCopy(t, &got.Tensors[i], all)
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		return
	}
	t.Error("there is no case h5_pick")
}

// checkCopy compares a tensor with the tensor of the same name.
func checkCopy(t *testing.T, got *format.Tensor, all *format.Contents) {
	t.Helper()
	i := slices.IndexFunc(all.Tensors, func(w format.Tensor) bool { return w.Name == got.Name })
	if i < 0 {
		t.Errorf("%s is new", got.Name)
		return
	}
	want := &all.Tensors[i]
	if got.Err != nil || got.DType != want.DType || !got.Shape.Equal(want.Shape) || got.Origin != want.Origin {
		t.Errorf("%s: %v%v, error %v, want %v%v", got.Name, got.DType, got.Shape, got.Err, want.DType, want.Shape)
	} else if !bytes.Equal(dumptest.Elements(t, &got.Tensor), dumptest.Elements(t, &want.Tensor)) {
		t.Errorf("%s: other elements", got.Name)
	}
	attrs := slices.DeleteFunc(slices.Clone(want.Attrs), func(a format.Attr) bool { return a.Value == "variable length" })
	if diff := cmp.Diff(attrs, got.Attrs); diff != "" {
		t.Errorf("%s: attributes (-want +got):\n%s", got.Name, diff)
	}
}

// TestExtractAll copies every golden file completely.
func TestExtractAll(t *testing.T) {
	for _, path := range goldenFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			continue
		}
		x, file := extract(t, data, below())
		if x.Datasets == 0 {
			if len(file) > 0 {
				t.Errorf("%s: %d bytes for no dataset", path, len(file))
			}
			continue
		}
		got, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(path, err)
		}
		if n := len(got.Tensors) + len(got.Values); n != x.Datasets || len(got.Warnings) > 0 {
			t.Errorf("%s: %d datasets, want %d, warnings %q", path, n, x.Datasets, got.Warnings)
		}
		for i := range got.Tensors {
			if got.Tensors[i].Err == nil {
				checkCopy(t, &got.Tensors[i], want)
			}
		}
	}
}

func TestExtractNothing(t *testing.T) {
	_, data := openGolden(t, "h5/npu.h5")
	if x, file := extract(t, data, below("NoSuchOp")); x.Datasets != 0 || len(file) > 0 {
		t.Errorf("%+v, %d bytes", x, len(file))
	}
	if _, err := Extract(failing{}, bytes.NewReader(data), int64(len(data)), below()); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
