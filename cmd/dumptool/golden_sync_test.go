package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
)

// syncName is a name of testdata/golden/mindspore/sync_names.json, and the meaning of the file.
type syncName struct {
	File, Form string
	OpName     *string `json:"op_name"`
	OpType     string  `json:"op_type"`
	DType      string
	Shape      tensor.Shape
	Format     string
	Status     string
	ExpectNpy  string `json:"expect_npy"`
	IO         string
	Index      int
	Task       uint64
	Stream     uint64
}

// inspectedFile is what inspect --json prints about a file.
type inspectedFile struct {
	Container       string
	OpType          string            `json:"op_type"`
	OpName          string            `json:"op_name"`
	Inputs, Outputs []inspectedTensor `json:",omitempty"`
}

type inspectedTensor struct {
	Index         int
	DType, Format string
	Shape         tensor.Shape
}

func readSyncNames(t *testing.T) (folder string, names []syncName) {
	t.Helper()
	root := filepath.Join("..", "..", "testdata", "golden", "mindspore")
	text, err := os.ReadFile(filepath.Join(root, "sync_names.json"))
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil || len(names) != 28 {
		t.Fatalf("%d names, want 28, error %v", len(names), err)
	}
	return filepath.Join(root, "sync_arrays"), names
}

// TestSyncNames: every command reads files of MindSpore's synchronous dumps as their names say.
func TestSyncNames(t *testing.T) {
	t.Parallel()
	folder, names := readSyncNames(t)
	for _, n := range names {
		t.Run(n.File, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(folder, n.File)
			if n.Status == "error" {
				for _, args := range [][]string{{"inspect", path}, {"convert", "-d", path, "-out", t.TempDir()}, {"overflow", "scan", path}, {"compare", "--cpu", path, "--npu", path}} {
					if r := runArgs(t, args...); r.code != exitIncomplete && r.code != exitFinding || r.err == "" {
						t.Errorf("%s: exit %d, message %q", args[0], r.code, r.err)
					}
				}
				return
			}
			n.inspect(t, path)
			n.convert(t, path, filepath.Join(folder, n.ExpectNpy))
			n.scan(t, path)
			reference := path
			if n.ExpectNpy != "" {
				reference = filepath.Join(folder, n.ExpectNpy)
			}
			r := runArgs(t, "compare", "--cpu", reference, "--npu", path, "--profile", "exact", "--out", filepath.Join(t.TempDir(), "out"))
			code, headline := exitOK, "PASS"
			if strings.HasPrefix(n.File, "fc.empty") {
				code, headline = exitNothing, "NO VERDICT: the only tensor is empty"
			}
			if r.code != code || !strings.Contains(r.out, headline) {
				t.Errorf("compare: exit %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

func (n *syncName) inspect(t *testing.T, path string) {
	t.Helper()
	r := runArgs(t, "inspect", "--json", path)
	var got inspectedFile
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != exitOK {
		t.Fatalf("exit %d, error %v: %s%s", r.code, err, r.out, r.err)
	}
	x := inspectedTensor{n.Index, n.DType, n.Format, n.Shape}
	want := inspectedFile{Container: "npy", OpType: n.OpType, OpName: got.OpName}
	if n.Form == "sync-bin" {
		want.Container, want.OpType = "bin", got.OpType
		// The names that the set has are the parts before and after these words.
		kind, rest := "output", ""
		for _, word := range []string{"input", "output"} {
			if i := strings.LastIndex(n.File[:strings.LastIndex(n.File, "_shape_")], "_"+word+"_"); i >= 0 && i+len(word) > len(n.File)-len(rest) || rest == "" && i >= 0 {
				kind, rest = word, n.File[i+len(word)+2:]
			}
		}
		n.IO = kind
		if _, err := fmt.Sscanf(rest, "%d_shape", &x.Index); err != nil {
			t.Fatal(err)
		}
	}
	if n.OpName != nil {
		want.OpName = *n.OpName
	}
	if n.IO == "input" {
		want.Inputs = []inspectedTensor{x}
		want.Outputs = []inspectedTensor{}
	} else {
		want.Inputs, want.Outputs = []inspectedTensor{}, []inspectedTensor{x}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b tensor.Shape) bool { return a.Equal(b) })); diff != "" {
		t.Error(diff)
	}
	if n.Form == "npy" {
		ids := fmt.Sprintf("task %d, stream %d\n", n.Task, n.Stream)
		if r := runArgs(t, "inspect", path); !strings.Contains(r.out, ids) {
			t.Errorf("no %q in\n%s", ids, r.out)
		}
	}
}

// convert: raw files become arrays, and arrays need no conversion.
func (n *syncName) convert(t *testing.T, path, expected string) {
	t.Helper()
	out := t.TempDir()
	if n.Form == "npy" {
		folder := filepath.Join(out, "in")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, filepath.Join(folder, n.File), data)
		if r := runArgs(t, "convert", "-d", folder, "-out", filepath.Join(out, "out")); r.code != exitNothing || !strings.Contains(r.err, "nothing to convert: 1 array found") {
			t.Errorf("convert of an array: exit %d, %s", r.code, r.err)
		}
		return
	}
	r := runArgs(t, "convert", "-d", path, "-out", out)
	got, want := readDir(t, out), readDir(t, filepath.Dir(expected))
	name := strings.TrimSuffix(n.File, ".bin") + ".npy"
	if r.code != exitOK || len(got) != 1 || !bytes.Equal(got[name], want[filepath.Base(expected)]) {
		t.Errorf("convert: exit %d, %d files, %s", r.code, len(got), r.err)
	}
}

func (n *syncName) scan(t *testing.T, path string) {
	t.Helper()
	r := runArgs(t, "overflow", "scan", "--all", "--format", "json", path)
	if n.OpName != nil && !strings.Contains(r.out, *n.OpName) || !strings.Contains(r.out, `"`+n.IO+`"`) || r.code != exitOK {
		t.Errorf("scan: exit %d: %s%s", r.code, r.out, r.err)
	}
}
