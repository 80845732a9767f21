package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverviewIsShort: the overview has at most 20 lines, also for 512 ranks, many steps, two
// producers, tables, mistakes in configurations and problems of hundreds of rounds.
func TestOverviewIsShort(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dump, err := os.ReadFile(filepath.Join("..", "..", "testdata", "network", "npu", "Conv2D.conv2.3.16.1624605159829817"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(path string, data []byte) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range 512 {
		put(fmt.Sprintf("npu/rank_%d/Net/%d/%d/Conv2D.conv2.3.16.1624605159829817", rank, rank%3, rank%7), dump)
	}
	for step := range 20 {
		for rank := range 8 {
			put(fmt.Sprintf("golden/step%d/rank%d/dump.json", step, rank), []byte(`{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {
				"Functional.relu.0.forward": {"input_args": [], "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0, "Mean": 0.5, "Norm": 1.0}]}}}`))
		}
	}
	for i := range 3 {
		put(fmt.Sprintf("acl%d.json", i), []byte(`{"dump": {"dump_path": "/d", "dump_mode": "everything", "dump_list": [{}]}}`))
	}
	for _, lang := range []string{"en", "zh"} {
		got := runArgs(t, root+"/", "--lang", lang)
		if n := strings.Count(got.out, "\n"); got.code != 0 || got.err != "" || n > 20 {
			t.Errorf("%d lines, exit status %d: %s\n%s", n, got.code, got.err, got.out)
		}
		wantContains(t, got.out, "0-511")
		wantContains(t, got.out, "\ndumptool compare --cpu "+root+"/golden --npu "+root+"/npu -out report  # ")
	}
}

// TestOverviewReadsFew: a folder of 10,000 files is described from their names and at most 64
// headers: one tensor is counted per header.
func TestOverviewReadsFew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	one := filepath.Join(root, "one.npy")
	if err := os.WriteFile(one, handNpy([]int{4}, []float32{1, 2, 3, 4}), 0o666); err != nil {
		t.Fatal(err)
	}
	const files = 10000
	for i := range files - 1 {
		if err := os.Link(one, filepath.Join(root, fmt.Sprintf("op%d.0.npy", i))); err != nil {
			t.Fatal(err)
		}
	}
	got := runArgs(t, root+"/", "--json")
	var o struct {
		Run struct {
			Files int
			Types []struct{ Tensors int }
		}
	}
	if err := json.Unmarshal([]byte(got.out), &o); got.code != 0 || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	read := 0
	for _, each := range o.Run.Types {
		read += each.Tensors
	}
	if o.Run.Files != files || read == 0 || read > 64 {
		t.Errorf("%d files, %d headers read", o.Run.Files, read)
	}
}
