package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/safetensors"
	"dumptool/internal/tensor"
)

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
				return // records and buffers are what they are for any type
			}
			args := append([]string{"convert", "-d", filepath.Join(root, "dumps", c.Dump)}, c.Args...)
			checkSafetensors(t, args, c.Dump, want)
		})
	}
}

// hostArray is what is in a .npy file.
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
