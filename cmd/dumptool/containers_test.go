package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// atbFile is a float32 tensor in the file format of the Ascend Transformer Boost library.
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
	if r = runArgs(t, compare...); r.code != exitFinding || !strings.Contains(r.out, "reference 0, NPU 0.5") {
		t.Errorf("compare: exit %d: %s%s", r.code, r.out, r.err)
	}

	// A truncated header is an error of its file only.
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

// TestForeign: every command names the kind of another program's file, and says nothing about
// failed readers.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ head, want string }{
		"notes.db":                 {"SQLite format 3\x00", "an SQLite database: dumptool does not use it"},
		"net.safetensors.1":        {"\x40\x00\x00\x00\x00\x00\x00\x00{\"w\":{}}", "a safetensors file: dumptool reads it if its name ends in .safetensors"},
		"ge_proto_00001_Build.txt": {"graph {\n  op {\n    name: 'a'\n  }\n}\n", "a graph as text (protobuf): use it with -f of compare"},
		"libascendcl.so":           {"\x7fELF\x02\x01\x01\x00", "an ELF program or library: dumptool does not use it"},
		"noise":                    {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", "nor another kind of file that dumptool reads"},
	} {
		dir := t.TempDir()
		path, out := filepath.Join(dir, name), filepath.Join(dir, "out")
		writeTo(t, path, []byte(test.head))
		for _, args := range [][]string{
			{"inspect", path}, {"convert", "-d", path, "-out", out}, {"overflow", "scan", path}, {"overflow", "decode", path},
			{"compare", "--cpu", path, "--npu", path, "--out", out},
		} {
			if args[0] == "compare" && strings.HasSuffix(name, ".txt") {
				continue // numbers may be in it
			}
			r := runArgs(t, args...)
			all := strings.Join(strings.Fields(r.out+r.err), " ")
			if r.code != exitIncomplete || !strings.Contains(all, test.want) || strings.Contains(all, "header length") {
				t.Errorf("%s: exit %d: %s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
	}
	// A file that claims to be a dump is reported as a broken dump.
	path := filepath.Join(t.TempDir(), "Add.add.1.2.1624605159829022")
	writeTo(t, path, []byte("SQLite format 3\x00"))
	if r := runArgs(t, "inspect", path); r.code != exitIncomplete || !strings.Contains(r.err, "header length") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	// Side files are read by other readers.
	network := filepath.Join("..", "..", "testdata", "network")
	path = filepath.Join(t.TempDir(), "model.om")
	writeTo(t, path, []byte("IMOD\x00\x01\x00\x00"))
	for _, flag := range []string{"-f", "--op-config", "--consumer-map"} {
		r := runArgs(t, "compare", "--cpu", filepath.Join(network, "cpu"), "--npu", filepath.Join(network, "npu"), flag, path, "--out", filepath.Join(t.TempDir(), "out"))
		if all := strings.Join(strings.Fields(r.out+r.err), " "); !strings.Contains(all, "the file is an offline model (.om): atc --mode=1 converts it to JSON") {
			t.Errorf("%s: exit %d: %s%s", flag, r.code, r.out, r.err)
		}
	}
}

// TestRecordedTypes: tensors recorded by torch.utils.dumper with other types compare only integers
// with integers and floating-point numbers with floating-point numbers.
func TestRecordedTypes(t *testing.T) {
	t.Parallel()
	source := filepath.Join(inputsRoot, "h5", "npu.h5")
	whole, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	// The value of a scalar attribute follows its name, type and space, of 16, 16 and 8 bytes
	// (version 1 of the message).
	const name, value = "DataType\x00", 40
	const typeFloat, typeHalf, typeLong = 1, 10, 7
	at := -1
	for i := 0; ; {
		n := bytes.Index(whole[i:], []byte(name))
		if n < 0 {
			break
		}
		i += n + 1
		if binary.LittleEndian.Uint32(whole[i-1+value:]) == typeFloat {
			at = i - 1 + value
			break
		}
	}
	if at < 0 {
		t.Fatal("no tensor of type Float")
	}
	for dtype, want := range map[byte]string{typeFloat: "", typeHalf: "", typeLong: "recorded as Float in the reference and as Long on the NPU"} {
		patched := bytes.Clone(whole)
		patched[at] = dtype
		path := filepath.Join(t.TempDir(), "npu.h5")
		writeTo(t, path, patched)
		r := runArgs(t, "compare", "--cpu", source, "--npu", path)
		text := strings.Join(strings.Fields(r.out), " ")
		if strings.Contains(text, "DTYPE_MISMATCH") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("type %d: exit %d: %s", dtype, r.code, r.out)
		}
	}
}

// TestRecordedDevice: a GPU's file on the NPU side gives a warning.
func TestRecordedDevice(t *testing.T) {
	t.Parallel()
	gpu, npu := filepath.Join(inputsRoot, "h5", "gpu.h5"), filepath.Join(inputsRoot, "h5", "npu.h5")
	for _, test := range []struct {
		npu, lang, want string
	}{{npu, "en", ""}, {gpu, "en", gpu + " was recorded on cuda, not on an NPU"}, {gpu, "zh", gpu + " 是在 cuda 上记录的，不是 NPU"}} {
		r := runArgs(t, "compare", "--lang", test.lang, "--cpu", gpu, "--npu", test.npu)
		text := strings.Join(strings.Fields(r.out+r.err), " ")
		if !strings.Contains(text, test.want) || test.want == "" && strings.Contains(text, "was recorded on") {
			t.Errorf("%s: %s", test.npu, text)
		}
	}
}

// TestRecordedTable: msaccucmp's table of torch.utils.dumper files has the sequence numbers and the
// paths.
func TestRecordedTable(t *testing.T) {
	t.Parallel()
	gpu, npu := filepath.Join(inputsRoot, "h5", "gpu.h5"), filepath.Join(inputsRoot, "h5", "npu.h5")
	r := runArgs(t, "compare", "--cpu", gpu, "--npu", npu, "--format", "msaccucmp", "--order", "sequence")
	for _, want := range []string{
		"Index,NPUDump,NPUDumpPath,GroundTruthPath,DataType,Shape,CosineSimilarity,",
		"\n3,NpuConvolutionBackward,/NpuConvolutionBackward/3/input/input,/CudnnConvolutionBackward/41/input/self,float32,\"[1,3,5,5]\",1.000000,",
		"\n14,NpuOnlyOp,/NpuOnlyOp/14/output/result,*,",
		"\nNaN,*,*,/GpuOnlyOp/55/output/result,",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}
