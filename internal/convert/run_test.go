package convert

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/torch"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// counting returns n little-endian uint16 values from 0 on.
func counting(n int) []byte {
	b := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(i))
	}
	return b
}

const opName = "Add.add.1.2.1624605159829577"

// plainDump has one input and one output of type uint16.
func plainDump() *dumptest.Content {
	return &dumptest.Content{
		OpName:  "scope/add",
		Inputs:  []dumptest.TensorContent{tensorOf(tensor.Uint16, tensor.ND, tensor.Shape{3}, nil, counting(3))},
		Outputs: []dumptest.TensorContent{tensorOf(tensor.Uint16, tensor.NCHW, tensor.Shape{1, 2, 1, 2}, nil, counting(4))},
	}
}

func array(t *testing.T, host tensor.Host, shape tensor.Shape, data []byte) string {
	t.Helper()
	b, err := npy.AppendHeader(nil, host, shape)
	if err != nil {
		t.Fatal(err)
	}
	return string(append(b, data...))
}

func TestFolderTree(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	writeDump(t, in, opName, plainDump())
	writeDump(t, in, "rank_0/7/"+opName, plainDump())
	writeFile(t, filepath.Join(in, "rank_0/README.md"), []byte("no dump"))
	writeFile(t, filepath.Join(in, "rank_0/statistic.csv"), []byte("a,b\n1,2\n"))
	sum, _ := convertAll(t, Options{Out: out}, in)
	if want := (Summary{Files: 2, NotDumps: 2, Written: 4}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	input := array(t, tensor.HostUint16, tensor.Shape{3}, counting(3))
	output := array(t, tensor.HostUint16, tensor.Shape{1, 2, 1, 2}, counting(4))
	want := map[string]string{
		opName + ".input.0.npy":                input,
		opName + ".output.0.npy":               output,
		"rank_0/7/" + opName + ".input.0.npy":  input,
		"rank_0/7/" + opName + ".output.0.npy": output,
	}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestMappingGivesNames(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	writeDump(t, in, "sub/12345678901234567890", plainDump())
	writeFile(t, filepath.Join(in, "sub/mapping.csv"), []byte("12345678901234567890,"+opName+"\n"))
	convertAll(t, Options{Out: out}, in)
	got := names(t, out)
	slices.Sort(got)
	if want := []string{"sub/" + opName + ".input.0.npy", "sub/" + opName + ".output.0.npy"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLongNames(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	long := "Conv2D." + strings.Repeat("n", 220) + ".1.2.1624605159829577"
	writeDump(t, in, long, plainDump())
	writeFile(t, filepath.Join(out, "mapping.csv"), []byte("old,older"))
	convertAll(t, Options{Out: out}, in)
	first, second := long+".input.0.npy", long+".output.0.npy"
	want := []string{filename.Short(first), filename.Short(second), "mapping.csv"}
	got := names(t, out)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	lines := []string{filename.Short(first) + "," + first, filename.Short(second) + "," + second}
	slices.Sort(lines)
	text := "old,older\n" + strings.Join(lines, "\n") + "\n"
	for range 2 { // a second run must not repeat lines
		if got := tree(t, out)["mapping.csv"]; got != text {
			t.Errorf("mapping.csv is %q, want %q", got, text)
		}
		convertAll(t, Options{Out: out}, in)
	}
}

func TestTwins(t *testing.T) {
	a, b, out := t.TempDir(), t.TempDir(), t.TempDir()
	first, second := writeDump(t, a, opName, plainDump()), writeDump(t, b, opName, plainDump())
	sum, results := convertAll(t, Options{Out: out}, first, second)
	if sum.Failed != 1 || results[0].HasFailed() || !strings.Contains(fmt.Sprint(results[1].Err), first) {
		t.Errorf("summary %+v, error %v", sum, results[1].Err)
	}
}

// TestTwinsLeftAlone: files with the same output names clash only if two of them are converted, in
// any order.
func TestTwinsLeftAlone(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	data := array(t, tensor.HostUint16, tensor.Shape{2}, counting(2))
	for name, text := range map[string]string{"notes.csv": "1,2\n", "x.npy": data, "unknown": "no dump", opName: "cut"} {
		writeFile(t, filepath.Join(a, name), []byte(text))
	}
	for name, text := range map[string]string{"notes.csv": "3,4\n", "x.npy": data, "unknown": "no dump either"} {
		writeFile(t, filepath.Join(b, name), []byte(text))
	}
	good := writeDump(t, b, opName, plainDump())
	for _, paths := range [][]string{{a, b}, {b, a}} {
		for _, workers := range []int{1, 8} {
			out := t.TempDir()
			sum, results := convertAll(t, Options{Out: out, Workers: workers}, paths...)
			if want := (Summary{Files: 1, Failed: 1, NotDumps: 6, Arrays: 2, Written: 2}); sum != want {
				t.Errorf("%d workers: summary %+v, want %+v", workers, sum, want)
			}
			for i := range results {
				if r := &results[i]; r.HasFailed() != (filepath.Base(r.Job.Path()) == opName && r.Job.Path() != good) || strings.Contains(fmt.Sprint(r.Err), "same names") {
					t.Errorf("%s: error %v", r.Job.Path(), r.Err)
				}
			}
		}
	}
	// With a type for which arrays are converted, they clash.
	sum, _ := convertAll(t, Options{Out: t.TempDir(), Type: Txt}, a, b)
	if want := (Summary{Files: 2, Failed: 2, NotDumps: 4, Written: 3}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
}

// TestOneBadTensor has tensors with a bad type, a bad shape and a bad layout among good ones: they
// are rows and lines of the list, and the others are converted.
func TestOneBadTensor(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	bad := &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.String, tensor.ND, tensor.Shape{2}, nil, counting(2)),
		tensorOf(tensor.Uint16, tensor.ND, tensor.Shape{2}, nil, counting(2)),
		tensorOf(tensor.Uint16, tensor.ND, tensor.Shape{200}, nil, counting(2)),
		tensorOf(99, tensor.ND, tensor.Shape{2}, nil, counting(2)),
	}}
	path := writeDump(t, in, opName, bad)
	good := writeDump(t, in, "Mul.mul.3.2.1624605159829578", plainDump())
	cut := writeFile(t, filepath.Join(in, "Sub.sub.4.2.1624605159829579"), []byte(tree(t, in)[filepath.Base(good)][:40]))
	sum, results := convertAll(t, Options{Out: out}, in)
	if want := (Summary{Files: 1, Failed: 2, Written: 3}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	var messages []string
	for _, row := range results[0].Rows {
		messages = append(messages, fmt.Sprint(row.Err))
	}
	want := []string{
		"tensor: unsupported element type string", "<nil>",
		"(200,) elements of uint16 need 400 bytes, found 4", "tensor: unsupported element type dtype(99)",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
	list := path + ",output:0,output:2,output:3\n" + cut + "\n"
	if got := tree(t, out)[failedListName]; got != list {
		t.Errorf("list of failures %q, want %q", got, list)
	}
	// A run without failures removes the list.
	os.Remove(path)
	os.Remove(cut)
	convertAll(t, Options{Out: out}, in)
	if _, there := tree(t, out)[failedListName]; there {
		t.Error("the list of failures of an earlier run is still there")
	}
}

func TestOutputIsNeverInput(t *testing.T) {
	dir := t.TempDir()
	data := array(t, tensor.HostUint16, tensor.Shape{2}, counting(2))
	path := writeFile(t, filepath.Join(dir, "x.npy"), []byte(data))
	for _, out := range []string{dir, filepath.Join(dir, ".", "sub", "..")} {
		_, results := convertAll(t, Options{Out: out}, path)
		if !results[0].HasFailed() {
			t.Errorf("%s: an input was replaced", out)
		}
	}
	if got := tree(t, dir); len(got) != 1 || got["x.npy"] != data {
		t.Errorf("the folder holds %d files", len(got))
	}
}

func TestNamesStayInside(t *testing.T) {
	parent := t.TempDir()
	in, out := filepath.Join(parent, "in"), filepath.Join(parent, "a", "b", "out")
	c := plainDump()
	c.OpName = "../../.."
	writeDump(t, in, opName, c)
	d := plainDump()
	d.OpName = `x/..\..\y`
	writeDump(t, in, "Mul.mul.3.2.1624605159829578", d)
	writeDump(t, in, "99", plainDump())
	writeFile(t, filepath.Join(in, "mapping.csv"), []byte("99,../../evil.a.1.2.1624605159829577\n"))
	for _, typ := range Types {
		convertAll(t, Options{Out: out, Type: typ}, in)
	}
	for name := range tree(t, parent) {
		if !strings.HasPrefix(name, "in/") && !strings.HasPrefix(name, "a/b/out/") {
			t.Errorf("%s is outside the output folder", name)
		}
	}
}

func TestSkipExisting(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	path := writeDump(t, in, opName, plainDump())
	writeFile(t, filepath.Join(out, opName+".input.0.npy"), []byte("kept"))
	sum, _ := convertAll(t, Options{Out: out, SkipExisting: true}, path)
	if sum.Skipped != 1 || sum.Written != 1 || tree(t, out)[opName+".input.0.npy"] != "kept" {
		t.Errorf("summary %+v", sum)
	}
}

// TestWorkersDoNotMatter converts a tree with one worker and with many.
func TestWorkersDoNotMatter(t *testing.T) {
	in := t.TempDir()
	for i := range 40 {
		c := &dumptest.Content{OpName: fmt.Sprint("op", i)}
		n := int64(i%5 + 1)
		c.Outputs = append(c.Outputs, tensorOf(tensor.Float16, tensor.NC1HWC0, tensor.Shape{n, 2, 3, 3, 16},
			tensor.Shape{n, 20, 3, 3}, counting(int(n*2*9*16))))
		writeDump(t, in, fmt.Sprintf("Conv2D.c%d.%d.2.1624605159829577", i, i), c)
	}
	writeFile(t, filepath.Join(in, "Sub.sub.4.2.1624605159829579"), []byte("broken"))
	var first map[string]string
	for _, workers := range []int{1, 3, 16} {
		out := t.TempDir()
		convertAll(t, Options{Out: out, Target: new(tensor.NCHW), Workers: workers}, in)
		got := tree(t, out)
		if first == nil {
			first = got
		}
		if len(got) != 41 || cmp.Diff(first, got) != "" {
			t.Errorf("%d workers wrote %d files that differ", workers, len(got))
		}
	}
}

func TestInterrupted(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	writeDump(t, in, opName, plainDump())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, Options{Out: out, Type: Npy}, opened(t, in), nil, func(*Result) error { return nil })
	if err == nil || len(tree(t, out)) != 0 {
		t.Errorf("error %v, %d files", err, len(tree(t, out)))
	}
}

// TestOutputFolderIsAFile: an output folder that cannot be created is reported once.
func TestOutputFolderIsAFile(t *testing.T) {
	in := t.TempDir()
	writeDump(t, in, opName, plainDump())
	file := writeFile(t, filepath.Join(t.TempDir(), "out"), []byte("mine"))
	below := filepath.Join(file, "below")
	for out, want := range map[string]string{file: file + " is a file; -out wants a folder", below: "cannot make folder " + below} {
		sum, err := Run(t.Context(), Options{Out: out, Type: Npy}, opened(t, in), nil,
			func(r *Result) error { return fmt.Errorf("a result of %s", r.Job.Path()) })
		if err == nil || !strings.Contains(err.Error(), want) || sum != (Summary{}) {
			t.Errorf("%s: %+v, error %v", out, sum, err)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != "mine" {
		t.Error("the file was touched")
	}
}

// TestResultsNumpyCannotLoad: shapes that numpy cannot load are errors without a file; other output
// types support them.
func TestResultsNumpyCannotLoad(t *testing.T) {
	ones := make(tensor.Shape, 65)
	for i := range ones {
		ones[i] = 1
	}
	for _, tt := range []struct {
		name  string
		shape tensor.Shape
		data  []byte
		want  string
	}{
		{"rank", ones, []byte{1}, "npy: the shape has 65 dimensions, numpy loads at most 64"},
		{"product", tensor.Shape{1 << 40, 0, 1 << 40}, nil, "is too large for numpy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeDump(t, t.TempDir(), opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
				tensorOf(tensor.Int8, tensor.ND, tt.shape, nil, tt.data)}})
			out := filepath.Join(t.TempDir(), "out")
			sum, results := convertAll(t, Options{Out: out}, path)
			if err := results[0].Rows[0].Err; err == nil || !strings.Contains(err.Error(), tt.want) || sum.Failed != 1 || len(names(t, out)) != 0 {
				t.Errorf("%+v, error %v, files %q", sum, err, names(t, out))
			}
			if sum, _ := convertAll(t, Options{Out: out, Type: Txt}, path); sum.Written != 1 {
				t.Errorf("as text: %+v", sum)
			}
		})
	}
}

func TestTextOutput(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	path := writeDump(t, in, opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Uint16, tensor.NCHW, tensor.Shape{1, 2, 1, 2}, nil, counting(4))}})
	convertAll(t, Options{Out: out, Type: Txt}, path)
	convertAll(t, Options{Out: out, Type: Txt, Target: new(tensor.NHWC)}, path)
	value := func(i int) string { return fmt.Sprintf("%d.000000000000000000e+00\n", i) }
	want := map[string]string{
		opName + ".output.0.txt":         value(0) + value(1) + value(2) + value(3),
		opName + ".output.0.1x1x2x2.txt": value(0) + value(2) + value(1) + value(3),
	}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestArrays converts .npy files to text and bytes; beside dumps they are skipped.
func TestArrays(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	path := writeFile(t, filepath.Join(in, "x.npy"), []byte(array(t, tensor.HostUint16, tensor.Shape{2, 1}, counting(2))))
	convertAll(t, Options{Out: out, Type: Txt}, path)
	convertAll(t, Options{Out: out, Type: Bin}, in)
	want := map[string]string{
		"x.txt":            "0.000000000000000000e+00\n1.000000000000000000e+00\n",
		"x.2_1.uint16.bin": string(counting(2)),
	}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
	if sum, _ := convertAll(t, Options{Out: out}, in); sum.NotDumps != 1 {
		t.Errorf("summary %+v, want an array to be no dump", sum)
	}
	if sum, results := convertAll(t, Options{Out: out, Target: new(tensor.NHWC)}, path); sum.Failed != 1 {
		t.Errorf("a layout conversion of an array: %+v", results)
	}
}

// TestProductsAreNoInput: files converted from a dump beside them, under any of the names that
// converters use, are not converted again.
func TestProductsAreNoInput(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	writeDump(t, in, opName, plainDump())
	tails := []string{"", ".3", ".1x2x1x2", ".NCHW", ".NC1HWC0.float16", ".0.NC1HWC0.float16", ".4.uint16.NCHW", ".my-copy"}
	for _, tail := range tails {
		writeFile(t, filepath.Join(in, opName+".output.0"+tail+".npy"), []byte(array(t, tensor.HostUint16, tensor.Shape{4}, counting(4))))
	}
	sum, _ := convertAll(t, Options{Out: out, Type: Txt}, in)
	if want := (Summary{Files: 1, NotDumps: len(tails), Written: 2}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
}

// TestPackedElements writes four-bit elements after a layout conversion, as bytes and as an array.
func TestPackedElements(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	// Codes 1 to 8 in two column blocks of two rows by two: (1 2)(3 4) and
	// (5 6)(7 8); the last column of the second block is padding.
	path := writeDump(t, in, opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Int4, tensor.FractalNZ, tensor.Shape{2, 2, 1, 2}, tensor.Shape{2, 3}, []byte{0x21, 0x43, 0x65, 0x87})}})
	convertAll(t, Options{Out: out, Target: new(tensor.ND)}, path)
	convertAll(t, Options{Out: out, Type: Bin, Target: new(tensor.ND)}, path)
	want := map[string]string{
		opName + ".output.0.2x3.npy":         array(t, tensor.HostInt8, tensor.Shape{2, 3}, []byte{1, 2, 5, 3, 4, 7}),
		opName + ".output.0.2_3.int4.ND.bin": "\x21\x35\x74",
	}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestLargeTensorStreams converts a tensor of many tiles between layouts and to text, and compares
// with the offset formula.
func TestLargeTensorStreams(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	n, c, h, w := 2, 35, 301, 99
	c1 := 3
	dev := make([]byte, 2*n*c1*h*w*16)
	host := make([]byte, 2*n*c*h*w)
	i := 0
	for a := range n {
		for b := range c {
			for y := range h {
				for x := range w {
					value := uint16(i*7 + i>>16)
					at := (((a*c1+b/16)*h+y)*w+x)*16 + b%16
					binary.LittleEndian.PutUint16(dev[2*at:], value)
					binary.LittleEndian.PutUint16(host[2*i:], value)
					i++
				}
			}
		}
	}
	shape := tensor.Shape{int64(n), int64(c), int64(h), int64(w)}
	path := writeDump(t, in, opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Uint16, tensor.NC1HWC0, tensor.Shape{int64(n), int64(c1), int64(h), int64(w), 16}, shape, dev)}})
	convertAll(t, Options{Out: out, Target: new(tensor.NCHW)}, path)
	convertAll(t, Options{Out: out, Target: new(tensor.NC1HWC0C04)}, path)
	got := tree(t, out)
	if want := array(t, tensor.HostUint16, shape, host); got[opName+".output.0.2x35x301x99.npy"] != want {
		t.Error("NCHW differs")
	}
	four := []byte(got[opName+".output.0.2x9x301x99x4.npy"])
	if len(four) < 128 {
		t.Fatalf("no NC1HWC0_C04 among %d files", len(got))
	}
	back := writeDump(t, in, "Back.b.1.2.1624605159829577", &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Uint16, tensor.NC1HWC0C04, tensor.Shape{2, 9, 301, 99, 4}, shape, four[128:])}})
	convertAll(t, Options{Out: out, Target: new(tensor.NCHW), Type: Bin}, back)
	name := "Back.b.1.2.1624605159829577.output.0.2_35_301_99.uint16.NCHW.bin"
	if !bytes.Equal([]byte(tree(t, out)[name]), host) {
		t.Error("through NC1HWC0_C04 differs")
	}
}

// TestThreadSlices: a tensor has the shape of its thread's slice (FFTS+), also in a layout
// conversion if the file holds only the slice.
func TestThreadSlices(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	const name = "Add.add.1.2.1624605159829577.4.7.1.0"
	note := `{"threadMode":1,"slice_instance_num":2,
		"input_tensor_slice":[[],[]],
		"output_tensor_slice":[[[{"lower":0,"higher":1},{"lower":0,"higher":2}]],[[{"lower":1,"higher":4},{"lower":0,"higher":2}]]]}`
	dump := func(data []byte, notes string) *dumptest.Content {
		return &dumptest.Content{
			Outputs: []dumptest.TensorContent{tensorOf(tensor.Uint16, tensor.ND, tensor.Shape{4, 2}, nil, data)},
			Attrs:   []dumpfmt.Attr{{Name: "slice", Value: notes}},
		}
	}
	path := writeDump(t, in, name, dump(counting(6), note))
	convertAll(t, Options{Out: out}, path)
	convertAll(t, Options{Out: out, Target: new(tensor.NCHW)}, path)
	part := array(t, tensor.HostUint16, tensor.Shape{3, 2}, counting(6))
	want := map[string]string{name + ".output.0.npy": part, name + ".output.0.3x2.npy": part}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
	// If the file holds all bytes, a layout conversion uses the whole shape.
	whole := writeDump(t, t.TempDir(), name, dump(counting(8), note))
	convertAll(t, Options{Out: out, Target: new(tensor.NHWC)}, whole)
	if got, want := tree(t, out)[name+".output.0.4x2.npy"], array(t, tensor.HostUint16, tensor.Shape{4, 2}, counting(8)); got != want {
		t.Error("the whole tensor differs")
	}
	bad := writeDump(t, t.TempDir(), name, dump(counting(8), strings.ReplaceAll(note, "output_tensor_slice", "outputs")))
	if _, results := convertAll(t, Options{Out: out}, bad); results[0].Err == nil {
		t.Error("missing slices are no error")
	}
}

// TestThreadSliceOfHugeShape: a recorded shape beyond 63 bits is impossible; the thread's slice has
// its own shape.
func TestThreadSliceOfHugeShape(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	const name = "Add.add.1.2.1624605159829577.4.7.1.0"
	huge := func() []dumptest.TensorContent {
		return []dumptest.TensorContent{tensorOf(tensor.Uint16, tensor.ND, tensor.Shape{1 << 31, 1 << 31, 1 << 31}, nil, counting(6))}
	}
	path := writeDump(t, in, name, &dumptest.Content{
		Outputs: huge(),
		Attrs: []dumpfmt.Attr{{Name: "slice", Value: `{"threadMode":1,"slice_instance_num":2,"input_tensor_slice":[[],[]],
			"output_tensor_slice":[[[{"lower":0,"higher":1},{"lower":0,"higher":2}]],[[{"lower":1,"higher":4},{"lower":0,"higher":2}]]]}`}},
	})
	convertAll(t, Options{Out: out}, path)
	convertAll(t, Options{Out: out, Target: new(tensor.NCHW)}, path)
	part := array(t, tensor.HostUint16, tensor.Shape{3, 2}, counting(6))
	want := map[string]string{name + ".output.0.npy": part, name + ".output.0.3x2.npy": part}
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
	// Without the slice the shape is an error.
	whole := writeDump(t, t.TempDir(), "Add.add.1.2.1624605159829577", &dumptest.Content{Outputs: huge()})
	if _, results := convertAll(t, Options{Out: t.TempDir(), Target: new(tensor.NCHW)}, whole); results[0].Err == nil && results[0].Rows[0].Err == nil {
		t.Error("the huge shape is no error")
	}
}

// TestOverflowRecords recognises records by any spelling of the name and by the header.
func TestOverflowRecords(t *testing.T) {
	record := func(op string) *dumptest.Content {
		data := make([]byte, 2048)
		data[1040] = 32
		return &dumptest.Content{OpName: op, Outputs: []dumptest.TensorContent{
			tensorOf(tensor.Uint8, tensor.ND, tensor.Shape{2048}, nil, data)}}
	}
	in, out := t.TempDir(), t.TempDir()
	writeDump(t, in, "OpDebug.Node_Opdebug.5.1624605159829577", record(""))
	writeDump(t, in, "Opdebug.Node_OpDebug.6.1.1624605159829577", record("x"))
	writeDump(t, in, "0123456789abcdef", record("Node_OpDebug"))
	empty := record("Node_OpDebug")
	empty.Outputs = nil
	empty.Inputs = []dumptest.TensorContent{tensorOf(tensor.Uint8, tensor.ND, tensor.Shape{1}, nil, []byte{1})}
	writeDump(t, in, "Opdebug.Node_OpDebug.7.1.1624605159829577", empty)
	short := record("Node_OpDebug")
	short.Outputs[0] = tensorOf(tensor.Uint8, tensor.ND, tensor.Shape{100}, nil, make([]byte, 100))
	writeDump(t, in, "Opdebug.Node_OpDebug.8.1.1624605159829577", short)
	sum, _ := convertAll(t, Options{Out: out, Target: new(tensor.NCHW), Type: Bin}, in)
	if want := (Summary{Files: 3, Failed: 2, Written: 3}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	for name, text := range tree(t, out) {
		if name != failedListName && (!strings.HasSuffix(name, ".output.0.json") || !strings.Contains(text, "\"status\": 32\n")) {
			t.Errorf("%s holds %.60q", name, text)
		}
	}
}

// TestLayoutWarnings covers the warnings of ambiguous conversions.
func TestLayoutWarnings(t *testing.T) {
	dev := tensor.Shape{2, 1, 2, 2, 16}
	data := counting(256)
	tests := []struct {
		name     string
		f        tensor.Format
		shape    tensor.Shape
		original tensor.Shape
		target   tensor.Format
		file     string
		warning  string
	}{
		{"no original shape", tensor.NC1HWC0, dev, nil, tensor.NCHW, "2x16x2x2", "padding is kept"},
		{"two orders fit", tensor.NC1HWC0, dev, tensor.Shape{2, 2, 2, 3}, tensor.NCHW, "", ""},
		{"several orders", tensor.NC1HWC0, dev, tensor.Shape{2, 2, 2, 2}, tensor.NHWC, "2x2x2x2", ""},
		{"a vector", tensor.NC1HWC0, tensor.Shape{1, 1, 1, 1, 16}, tensor.Shape{7}, tensor.NCHW, "7", ""},
		{"lower rank", tensor.NC1HWC0, tensor.Shape{1, 2, 2, 3, 16}, tensor.Shape{20, 2, 3}, tensor.NCHW, "20x2x3", ""},
		{"no axis names", tensor.ND, tensor.Shape{2, 2, 2, 2}, nil, tensor.NHWC, "2x2x2x2", "ND has no axis names"},
		{"rank 2 is ND", tensor.NCHW, tensor.Shape{4, 4}, nil, tensor.NHWC, "4x4", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := t.TempDir()
			path := writeDump(t, t.TempDir(), opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
				tensorOf(tensor.Uint16, tt.f, tt.shape, tt.original, data)}})
			_, results := convertAll(t, Options{Out: out, Target: &tt.target}, path)
			row := results[0].Rows[0]
			if tt.file != "" {
				if want := filepath.Join(out, opName+".output.0."+tt.file+".npy"); row.Path != want || row.Err != nil {
					t.Errorf("%s, error %v; want %s", row.Path, row.Err, want)
				}
			}
			if got := fmt.Sprint(row.Warnings); !strings.Contains(got, tt.warning) || tt.warning == "" && got != "[]" {
				t.Errorf("warnings %q, want %q", got, tt.warning)
			}
		})
	}
}

// TestInPlace converts into the folder of the dumps: outputs of an earlier run are skipped,
// whatever the order of execution.
func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	writeDump(t, dir, opName, plainDump())
	convertAll(t, Options{Out: dir}, dir)
	for range 3 {
		sum, _ := convertAll(t, Options{Out: dir, Type: Txt, Workers: 8}, dir)
		if sum.Failed != 0 || sum.Written != 2 {
			t.Fatalf("summary %+v", sum)
		}
	}
}

// TestRunsAtOnce shortens names from several runs into one folder: mapping.csv loses no line.
func TestRunsAtOnce(t *testing.T) {
	out := t.TempDir()
	var wg sync.WaitGroup
	const runs = 8
	for i := range runs {
		in := t.TempDir()
		path := writeDump(t, in, fmt.Sprintf("Conv2D.%s.%d.2.1624605159829577", strings.Repeat("n", 220), i), plainDump())
		wg.Go(func() {
			_, err := Run(context.Background(), Options{Out: out, Type: Npy}, opened(t, path), nil, func(*Result) error { return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(tree(t, out)["mapping.csv"], "\n"); n != 2*runs {
		t.Errorf("mapping.csv has %d lines, want %d", n, 2*runs)
	}
}

// TestInterruptedIsNotFailed: a tensor interrupted by the user is not in the list.
func TestInterruptedIsNotFailed(t *testing.T) {
	r := Result{Job: Job{File: &dumpdir.File{Folder: &dumpdir.Folder{Path: "a\nb"}}}, Rows: []Row{
		{Kind: "output", Index: 0, Err: lang.AsFailure(fmt.Errorf("cut: %w", context.Canceled))}, {Kind: "output", Index: 1}}}
	if line, failed := failedLine(&r); failed {
		t.Errorf("listed as %q", line)
	}
	r.Rows[1].Err = lang.AsFailure(os.ErrPermission)
	if line, failed := failedLine(&r); !failed || line != `a\nb,output:1` {
		t.Errorf("listed as %q", line)
	}
}

// TestTorch: files of PyTorch hold the values of the arrays, in a wider type if PyTorch lacks the
// type.
func TestTorch(t *testing.T) {
	wider := map[tensor.Host]tensor.Host{tensor.HostUint16: tensor.HostInt32, tensor.HostUint32: tensor.HostInt64}
	for _, target := range []*tensor.Format{nil, new(tensor.NCHW)} {
		arrays, tensors := t.TempDir(), t.TempDir()
		const dumps = "../../testdata/golden/convert/dumps"
		convertAll(t, Options{Out: arrays, Target: target}, dumps)
		_, results := convertAll(t, Options{Out: tensors, Target: target, Type: Pt}, dumps)
		got, compared := tree(t, tensors), 0
		for name, data := range tree(t, arrays) {
			base, isArray := strings.CutSuffix(name, ".npy")
			if !isArray {
				continue
			}
			a, err := npy.Open(strings.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			file, written := got[base+".pt"]
			if a.Host == tensor.HostUint64 {
				if written {
					t.Errorf("%s: uint64 is written", base)
				}
				continue
			}
			c, err := torch.Open(strings.NewReader(file), int64(len(file)))
			if err != nil || len(c.Tensors) != 1 || c.Tensors[0].Err != nil {
				t.Errorf("%s: %+v, %v", base, c, err)
				continue
			}
			tt := &c.Tensors[0]
			want, values := make([]float64, a.Size/int64(a.Host.Size())), make([]float64, tt.Size/int64(tt.DType.UnitSize()))
			host, widened := wider[a.Host]
			if !widened {
				host = a.Host
			}
			if !tt.Shape.Equal(a.Shape) || tt.DType != host.DType() || len(want) != len(values) {
				t.Errorf("%s: %v%v, want %v%v", base, tt.DType, tt.Shape, a.Host, a.Shape)
				continue
			}
			compared++
			if !widened {
				if !bytes.Equal(readAll(t, a.Data()), readAll(t, tt.Data)) {
					t.Errorf("%s: other elements", base)
				}
				continue
			}
			tensor.Float64s(want, readAll(t, a.Data()), a.Host)
			tensor.Float64s(values, readAll(t, tt.Data), tt.DType.Host())
			if !slices.Equal(values, want) {
				t.Errorf("%s: %v, want %v", base, values, want)
			}
		}
		refused := 0
		for _, r := range results {
			for _, row := range r.Rows {
				if row.Err != nil && strings.Contains(row.Err.Error(), "files of PyTorch have no elements of uint64") {
					refused++
				}
			}
		}
		if compared < 20 || target == nil && refused == 0 {
			t.Errorf("%d tensors are compared, %d refused", compared, refused)
		}
	}
}

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSafetensorsIsWhole: a read error in the middle is an error of the whole file, and no output
// is left.
func TestSafetensorsIsWhole(t *testing.T) {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for _, name := range []string{"a.npy", "b.npy"} {
		to, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(to, array(t, tensor.HostUint8, tensor.Shape{1 << 17}, bytes.Repeat([]byte(name[:4]), 1<<15)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := file.Bytes()
	crc := bytes.LastIndex(damaged, []byte("PK\x01\x02")) + 16 // of b.npy
	damaged[crc]++
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	path := writeFile(t, filepath.Join(in, "x.npz"), damaged)
	sum, results := convertAll(t, Options{Out: out, Type: Safetensors}, path)
	r := results[0]
	if sum.Failed != 1 || sum.Written != 0 || len(r.Rows) != 0 || r.Err == nil || !strings.Contains(r.Err.Error(), "b: ") || !strings.Contains(r.Err.Error(), "CRC-32") {
		t.Errorf("%+v, rows %+v, error %v", sum, r.Rows, r.Err)
	}
	if left := names(t, out); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	damaged[crc]--
	writeFile(t, path, damaged)
	sum, results = convertAll(t, Options{Out: out, Type: Safetensors}, path)
	if sum.Failed != 0 || sum.Written != 1 || len(results[0].Rows) != 2 {
		t.Errorf("%+v, %+v", sum, results[0])
	}
	if got := tree(t, out)["x.npz.safetensors"]; !strings.HasSuffix(got, strings.Repeat("a.np", 1<<15)+strings.Repeat("b.np", 1<<15)) {
		t.Errorf("written %.100q", got)
	}
}

// TestSafetensorsOnce: repeated names, and tensors with device layouts, whose readers share memory.
func TestSafetensorsOnce(t *testing.T) {
	var content dumptest.Content
	var want []string
	for i := range 3 {
		data := make([]byte, 2*16*16*32)
		for j := range data {
			data[j] = byte(j*(i+1) + j>>8)
		}
		content.Outputs = append(content.Outputs, tensorOf(tensor.Int8, tensor.NC1HWC0, tensor.Shape{2, 1, 16, 16, 32}, tensor.Shape{2, 20, 16, 16}, data))
		want = append(want, fmt.Sprintf("output.%d", i))
	}
	dir := t.TempDir()
	path := writeDump(t, dir, opName, &content)
	nchw := new(tensor.NCHW)
	_, _ = convertAll(t, Options{Out: filepath.Join(dir, "npy"), Target: nchw}, path)
	_, results := convertAll(t, Options{Out: filepath.Join(dir, "st"), Target: nchw, Type: Safetensors}, path)
	if results[0].HasFailed() {
		t.Fatalf("%+v", results[0])
	}
	all := tree(t, filepath.Join(dir, "st"))[opName+".safetensors"]
	arrays := tree(t, filepath.Join(dir, "npy"))
	size := 2 * 20 * 16 * 16
	for i, name := range want {
		array := arrays[opName+"."+name+".2x20x16x16.npy"]
		if len(array) < size || all[len(all)-(len(want)-i)*size:][:size] != array[len(array)-size:] {
			t.Errorf("%s differs from its array of %d bytes", name, len(array))
		}
	}
	c := conversion{f: &tensorfile.File{Named: true, Tensors: make([]tensorfile.Tensor, 2)}, mem: new(memory)}
	for name, want := range map[string]string{"a": "another tensor of the file has the same name", "__metadata__": "is the name of the metadata"} {
		_ = c.addPending(product{Row: &Row{Name: "a"}}, elements{dtype: tensor.Int8})
		if err := c.addPending(product{Row: &Row{Name: name}}, elements{dtype: tensor.Int8}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
