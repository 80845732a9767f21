package plan

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
)

// TestDumpsOf: a file counts once in each round that has it, and numbers outside the range of
// times are ignored.
func TestDumpsOf(t *testing.T) {
	t.Parallel()
	shared, own, unread := &dumpdir.File{Size: 10}, &dumpdir.File{Size: 7}, &dumpdir.File{Size: 5, Err: os.ErrPermission}
	op := func(at uint64, files ...*dumpdir.File) *dumpdir.Op {
		o := &dumpdir.Op{Moment: dumpdir.Moment{Timestamp: at}}
		for _, f := range files {
			o.Tensors = append(o.Tensors, dumpdir.Tensor{File: f}, dumpdir.Tensor{File: f, Index: 1})
		}
		return o
	}
	a := &dumpdir.Round{Ops: []*dumpdir.Op{op(1624605159829577, shared, unread), op(42, shared)}, Software: []dumpdir.Software{{Name: "mindspore", Version: "2.0", File: "config.json"}}}
	b := &dumpdir.Round{Ops: []*dumpdir.Op{op(0, shared), op(1624605159829578, own), op(1624605159829570, own), op(1<<63, own)}}
	got := dumpsOf([]*dumpdir.Round{a, b})
	want := map[*dumpdir.Round]record.Dumps{
		a: {Files: 1, Bytes: 10, Oldest: 1624605159829577, Newest: 1624605159829577, Software: []record.Software{{Name: "mindspore", Version: "2.0", File: "config.json"}}},
		b: {Files: 2, Bytes: 17, Oldest: 1624605159829570, Newest: 1624605159829578},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestDumpsOfRun: the document contains the sizes of the files and the times in their names.
func TestDumpsOfRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	array := func(name string) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		const header = "\x93NUMPY\x01\x00\x36\x00{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n"
		if err := os.WriteFile(name, []byte(header+"\x00\x00\x80\x3f"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	array("cpu/a.npy")
	array("npu/Add.a.1.1.1624605159000000.output.0.npy")
	plan, err := New(t.Context(), Options{Ref: filepath.Join(dir, "cpu"), NPU: filepath.Join(dir, "npu")})
	if err != nil {
		t.Fatal(err)
	}
	want := record.Dumps{Files: 1, Bytes: 68}
	if got := plan.Listed.Ref[0].Dumps; !reflect.DeepEqual(got, want) {
		t.Errorf("reference: %+v, want %+v", got, want)
	}
	want.Oldest, want.Newest = 1624605159000000, 1624605159000000
	if got := plan.Listed.NPU[0].Dumps; !reflect.DeepEqual(got, want) {
		t.Errorf("NPU: %+v, want %+v", got, want)
	}
}
