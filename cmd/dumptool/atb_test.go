package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// atbFile is a tensor as the Ascend Transformer Boost library saves it, of float32.
func atbFile(shape string, values ...float32) []byte {
	data := floats(values)
	return append(fmt.Appendf(nil, "$Version=1.0\n$Object.Count=1\n$Object.Length=%d\nformat=2\ndtype=0\ndims=%s\n$Object.data=0,%d\n$End=1\n",
		len(data), shape, len(data)), data...)
}

// TestATB: every command reads the tensors of the library, header and links.
func TestATB(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const op = "atb_dump_data/data/0_123/0/0_Word/0_GatherOperation"
	npu, cpu, out := filepath.Join(dir, "npu"), filepath.Join(dir, "cpu"), filepath.Join(dir, "out")
	values := []float32{1, -2, 3, 4.5, 0, 6}
	for _, root := range []string{npu, cpu} {
		writeTo(t, filepath.Join(root, op, "after", "outtensor0.bin"), atbFile("2,3", values...))
		writeTo(t, filepath.Join(root, op, "before", "intensor1.bin"), []byte("$Version=1.0\ndtype=0\ndims=3,2\ndata=../after/outtensor0.bin\n$End=1\n"))
	}

	r := runArgs(t, "inspect", "--json", "--stats", npu)
	if r.code != exitOK || !strings.Contains(r.out, `"container":"atb"`) || !strings.Contains(r.out, `{"index":1,"dtype":"float32","format":"ND","shape":[3,2]`) ||
		strings.Count(r.out, `"min":-2,"max":6,"mean":2.0833333333333335`) != 2 {
		t.Errorf("inspect: exit %d: %s%s", r.code, r.out, r.err)
	}

	r = runArgs(t, "convert", "-d", npu, "-out", out)
	after, before := readDir(t, filepath.Join(out, op, "after")), readDir(t, filepath.Join(out, op, "before"))
	if r.code != exitOK || !bytes.Equal(after["outtensor0.npy"], array(t, values, 2, 3)) || !bytes.Equal(before["intensor1.npy"], array(t, values, 3, 2)) {
		t.Errorf("convert: exit %d, %s", r.code, r.err)
	}

	r = runArgs(t, "overflow", "scan", "--all", npu)
	if r.code != exitOK || !strings.Contains(r.out, "outtensor0.bin") {
		t.Errorf("scan: exit %d: %s%s", r.code, r.out, r.err)
	}

	compare := []string{"compare", "--cpu", cpu, "--npu", npu, "--profile", "exact", "--inputs", "--out", filepath.Join(dir, "report")}
	if r = runArgs(t, compare...); r.code != exitOK || !strings.Contains(r.out, "PASS: all 2 tensors") {
		t.Errorf("compare: exit %d: %s%s", r.code, r.out, r.err)
	}
	writeTo(t, filepath.Join(npu, op, "after", "outtensor0.bin"), atbFile("2,3", 1, -2, 3, 4.5, 0.5, 6))
	if r = runArgs(t, compare...); r.code != exitFound || !strings.Contains(r.out, "reference 0, NPU 0.5") {
		t.Errorf("compare: exit %d: %s%s", r.code, r.out, r.err)
	}

	// A header that is cut off is the error of its file only.
	writeTo(t, filepath.Join(npu, op, "after", "outtensor0.bin"), []byte("$Version=1.0\ndtype=0\n"))
	writeTo(t, filepath.Join(npu, op, "after", "outtensor1.bin"), atbFile("", 7))
	for _, args := range [][]string{{"inspect", npu}, {"convert", "-d", npu, "-out", filepath.Join(dir, "out2")}, {"overflow", "scan", "--all", npu}, compare} {
		if r = runArgs(t, args...); r.code != exitIncomplete || !strings.Contains(strings.Join(strings.Fields(r.out+r.err), " "), "the header is cut off") {
			t.Errorf("%s: exit %d: %s%s", args[0], r.code, r.out, r.err)
		}
	}
	if got := readDir(t, filepath.Join(dir, "out2", op, "after")); !bytes.Equal(got["outtensor1.npy"], array(t, []float32{7})) {
		t.Errorf("%d files", len(got))
	}

	// Without data there is nothing to convert.
	writeTo(t, filepath.Join(dir, "stats", "outtensor0.bin"), []byte("$Version=1.0\ndtype=0\ndims=2\n$End=1\n"))
	if r = runArgs(t, "convert", "-d", filepath.Join(dir, "stats"), "-out", filepath.Join(dir, "out3")); r.code != exitNothing {
		t.Errorf("convert: exit %d: %s", r.code, r.err)
	}
	if r = runArgs(t, "inspect", filepath.Join(dir, "stats")); r.code != exitOK || !strings.Contains(r.err, "saved without data, statistics only") {
		t.Errorf("inspect: exit %d: %s%s", r.code, r.out, r.err)
	}
}
