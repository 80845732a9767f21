package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dumptool/internal/convert"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
	"dumptool/tools/bench/synth"
)

// TestMain lets the test binary start itself to generate trees.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-only" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRealNetwork(t *testing.T) {
	ops := network{batch: 1, image: 224, width: 64}.ops()
	if len(ops) != 156 {
		t.Errorf("%d operators, want 156", len(ops))
	}
	names := map[string]bool{}
	var parameters, activations int
	for _, o := range ops {
		names[o.name] = true
		if o.kind == "Conv2D" {
			parameters += o.inputs[1].tensor().Count()
			activations += o.output.tensor().Count()
		}
	}
	if len(names) != len(ops) {
		t.Errorf("%d names for %d operators", len(names), len(ops))
	}
	// Sums for the convolutions of ResNet-50.
	if parameters != 23454912 || activations != 11113984 {
		t.Errorf("%d parameters, %d activations", parameters, activations)
	}
}

func TestFit(t *testing.T) {
	for mb, want := range map[int64]network{
		580:  {batch: 6, image: 224, width: 64},
		5800: {batch: 66, image: 224, width: 64},
		100:  {batch: 1, image: 160, width: 64},
	} {
		if got := fit(mb * 1e6); got != want {
			t.Errorf("%d MB: %v, want %v", mb, got, want)
		}
	}
	for _, mb := range []int64{1, 3, 10, 30, 60, 300, 900} {
		n := fit(mb * 1e6)
		if size := n.dumpSize(); size < mb*4e5 || size > mb*12e5 {
			t.Errorf("%d MB: %v takes %d bytes", mb, n, size)
		}
	}
	if n := fit(1); n.batch != 1 || n.image != 32 {
		t.Errorf("the smallest network is %v", n)
	}
}

var tiny = network{batch: 2, image: 32, width: 4}

func TestTrees(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if err := errors.Join(makeDumps(ctx, dir, tiny), makeGolden(ctx, dir, tiny)); err != nil {
		t.Fatal(err)
	}
	if got := len(files(t, dumpTree(dir, tiny))); got != 156 {
		t.Errorf("%d dumps", got)
	}
	golden := map[string]string{}
	for _, path := range files(t, goldenTree(dir, tiny)) {
		name, _, _ := strings.Cut(filepath.Base(path), ".0.")
		golden[name] = path
	}

	out, target := t.TempDir(), tensor.NCHW
	opt := convert.Options{Out: out, Target: &target, Type: convert.Npy}
	in, _, err := opt.Open(ctx, []string{dumpTree(dir, tiny)}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = convert.Run(ctx, opt, in, nil, func(r *convert.Result) error {
		if r.HasFailed() || len(r.Warnings) > 0 {
			t.Fatalf("%s: %+v", r.Job.Path(), r)
		}
		name := filename.Parse(r.Job.Name)
		want, shape := readGolden(t, golden[name.OpName])
		delete(golden, name.OpName)
		row := r.Rows[len(r.Rows)-1]
		if row.Kind != "output" || !strings.HasSuffix(row.Path, shape.Join("x")+".npy") {
			t.Errorf("last row of %s: %+v, want an output of %v", r.Job.Name, row, shape)
		}
		sameHalves(t, row.Path, want)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name := range golden {
		t.Errorf("%s has no dump", name)
	}
}

// readGolden reads a golden array.
func readGolden(t *testing.T, path string) ([]float64, tensor.Shape) {
	t.Helper()
	data, f := readArray(t, path)
	if f.Host != tensor.HostFloat32 {
		t.Errorf("%s holds %v", path, f.Host)
	}
	values := make([]float64, len(data)/4)
	tensor.Float64s(values, data, f.Host)
	return values, f.Shape
}

// sameHalves compares a converted array with golden values rounded to float16.
func sameHalves(t *testing.T, path string, want []float64) {
	t.Helper()
	data, f := readArray(t, path)
	if f.Host != tensor.HostFloat16 || len(data) != 2*len(want) {
		t.Fatalf("%s holds %d bytes of %v, want %d", path, len(data), f.Host, 2*len(want))
	}
	for i, w := range want {
		if got := binary.LittleEndian.Uint16(data[2*i:]); got != dumptest.Half(float32(w)) {
			t.Fatalf("%s: element %d is %v, want %v", path, i, tensor.Float16To64(got), w)
		}
	}
}

func readArray(t *testing.T, path string) ([]byte, *npy.File) {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := npy.Open(r, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f.Data())
	if err != nil {
		t.Fatal(err)
	}
	return data, f
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	in, err := dumpdir.Open(t.Context(), []string{dir}, dumpdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range in.Files {
		paths = append(paths, f.Path())
	}
	return paths
}

func TestTreesAreKept(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if err := makeGolden(ctx, dir, tiny); err != nil {
		t.Fatal(err)
	}
	kept := files(t, dir)[0]
	if err := os.WriteFile(kept, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := makeGolden(ctx, dir, tiny); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept); err != nil || info.Size() != 0 {
		t.Error("a tree was made again")
	}
}

func TestInterruptedTree(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if err := makeDumps(ctx, dir, tiny); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out, msg strings.Builder
	if err := run(context.Background(), []string{"-mb", "1", "-runs", "2", "-dir", dir, "-golden"}, &out, &msg); err != nil {
		t.Fatalf("%v\n%s", err, msg.String())
	}
	for _, want := range []string{" CPUs, ", "version ", "static", "convert -f NCHW, peak memory", "x cp -r", "in 2 runs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	var kept []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		kept = append(kept, e.Name())
	}
	n := fit(1e6).String()
	if err != nil || strings.Join(kept, " ") != "dumps-"+n+" golden-"+n {
		t.Errorf("kept: %q", kept)
	}
}

func TestRunErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-mb 0":                            "-mb and -runs",
		"-runs -1":                         "-mb and -runs",
		"-only trees":                      "-dir only",
		"-golden":                          "-dir only",
		"-only x":                          "trees, version, convert, scan, inspect, find, compare, s3, containers, pairs, page, import or big",
		"x":                                "unexpected argument x",
		"-only version -bin /no/such/file": "no such file",
	} {
		err := run(context.Background(), strings.Fields(args), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", args, err, want)
		}
	}
	if err := run(context.Background(), []string{"-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: error %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	} {
		first := test.values[0]
		if got := median(test.values); got != test.want || test.values[0] != first {
			t.Errorf("median(%v) = %v, want %v and the values as they were", test.values, got, test.want)
		}
	}
}

func times(seconds ...float64) []sample {
	var out []sample
	for _, s := range seconds {
		out = append(out, sample{wall: time.Duration(s * float64(time.Second))})
	}
	return out
}

func TestSpeedResult(t *testing.T) {
	// The ratio of the medians would be 1: the ratio of each round counts.
	r := speedResult("convert", times(2, 4, 6), "cp -r", times(1, 4, 8), 1)
	if r.measured != "1.00 x cp -r" || r.target != "<= 1 x" || r.verdict != fine || r.note != "0.75 to 2.00 in 3 runs; 4.00 s, cp -r 4.00 s" {
		t.Errorf("%+v", r)
	}
	if r := speedResult("convert", times(2, 3, 9), "cp -r", times(1, 2, 3), 1.9); r.measured != "2.00 x cp -r" || r.verdict != missed {
		t.Errorf("%+v", r)
	}
}

func TestMemoryResult(t *testing.T) {
	for top, want := range map[int64]string{memoryTarget: "256 MiB ok", memoryTarget + 1<<20: "257 MiB MISSED", 0: "not known -"} {
		r := memoryResult("x", []sample{{peak: top / 2}, {peak: top}, {}}, memoryTarget)
		got := strings.TrimPrefix(r.measured, "<= ") + " " + r.verdict // "<=" appears if the test itself uses more memory
		if got != want {
			t.Errorf("%d bytes: %s, want %s", top, got, want)
		}
	}
}

func TestMeasure(t *testing.T) {
	if _, err := measure(context.Background(), "sh", "-c", "echo broken >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error %v, want the message of the process in it", err)
	}
	s, err := measure(context.Background(), "sh", "-c", "exit 0")
	if err != nil || s.wall <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestBigReaderRepeats(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &repeat{ctx: ctx, block: []byte("abc")}
	got := make([]byte, 8)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "abcabcab" {
		t.Errorf("%q, %v", got, err)
	}
	cancel()
	if _, err := r.Read(got); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of ctx", err)
	}
}

func TestWriteBig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	feature := synth.Tensor{Format: tensor.NC1HWC0, Shape: []int{1, 20, 100, 100}}
	if err := writeBig(context.Background(), path, feature); err != nil {
		t.Fatal(err)
	}
	f, err := tensorfile.Open(path, tensorfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if in := f.Tensors[0]; in.Size != 2*32*10000 || !in.OriginalShape.Equal(tensor.Shape{1, 20, 100, 100}) {
		t.Errorf("%+v", in)
	}
}
