package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordedTypes: tensors that torch.utils.dumper recorded with other types are not
// compared, but integers with integers and floating-point numbers with such.
func TestRecordedTypes(t *testing.T) {
	t.Parallel()
	source := filepath.Join(inputsRoot, "h5", "npu.h5")
	whole, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	// The value of a scalar attribute stands behind its name, type and space, of 16, 16
	// and 8 bytes (version 1 of the message).
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

// TestRecordedDevice: a file of a GPU on the NPU's side is a warning.
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

// TestRecordedTable: msaccucmp's table of files of torch.utils.dumper has the sequence
// numbers and the paths.
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
