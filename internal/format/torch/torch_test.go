package torch

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
)

// noise returns n bytes that depend on seed only.
func noise(seed uint64, n int64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func TestGolden(t *testing.T) {
	dumptest.Golden(t, "pt", Open, map[string]string{
		"pt_short":        "needs 6 elements, its storage has 2",
		"pt_huge_numel":   `storage "0" has 2 elements, want 1099511627776`,
		"pt_legacy_short": "has 2 elements, want 4",
		"pt_huge_shape":   "shape (2147483648, 2147483648, 4) has more than 63 bits of data",
		"pt_neg_stride":   "shape (2,) with strides [-1] has a negative number",
		"pt_neg_offset":   "the offset is -1, want at least 0",
		"pt_no_record":    `the archive has no entry "archive/data/0"`,
		"pt_sparse":       "a sparse tensor is not supported",

		"pt_os_system":  "data.pkl: GLOBAL at 2: posix.system is not part of tensor files",
		"pt_os_system4": "data.pkl: STACK_GLOBAL at 14: os.system is not part of tensor files",
		"pt_eval":       "data.pkl: GLOBAL at 169: builtins.eval is not part of tensor files",
		"pt_getattr":    "data.pkl: GLOBAL at 2: builtins.getattr is not part of tensor files",
		"pt_build_evil": "data.pkl: GLOBAL at 2: torch.nn.modules.linear.Linear: a pickled model, save its state_dict()",
		"pt_npu_evil":   "torch_npu.utils.storage.__import__ is not part of tensor files",

		"too deep":          "data.pkl: pickle: STOP at 0x2711: found values nested deeper than 100",
		"tar":               "the tar format of PyTorch before 0.1.10 is not supported",
		"torchscript":       "a TorchScript archive, want a file of torch.save",
		"not a tensor file": "the archive has no data.pkl, want a file of torch.save",
	})
}

func golden(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dumptest.GoldenDir, path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openBytes(b []byte) (*format.Contents, error) {
	return Open(bytes.NewReader(b), int64(len(b)))
}

func openGolden(t testing.TB, path string) *format.Contents {
	t.Helper()
	c, err := openBytes(golden(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ptr[T any](v T) *T { return &v }

// TestDetails checks the details of tensors.
func TestDetails(t *testing.T) {
	no, yes := ptr(false), ptr(true)
	for path, want := range map[string]format.Details{
		"pt/f4.pt":           {TorchDType: "Float", Strides: []int64{10, 2, 1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "cpu"},
		"pt/strided.pt":      {TorchDType: "Float", Strides: []int64{1, 7}, Offset: ptr[int64](9), RequiresGrad: no, Device: "cpu"},
		"pt/param.pt":        {TorchDType: "Float", Strides: []int64{2, 1}, Offset: ptr[int64](0), RequiresGrad: yes, Device: "cpu"},
		"pt/storage.pt":      {TorchDType: "Float", Strides: []int64{1}, Offset: ptr[int64](0), Device: "cpu"},
		"pt/npu_location.pt": {TorchDType: "Half", Strides: []int64{10, 2, 1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "npu:0"},
		"pt/npu_format.pt": {TorchDType: "Half", Strides: []int64{10, 2, 1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "cpu",
			Attrs: []format.Attr{{Name: "npu_format", Value: int64(29)}}},
		"pt/npu_bool.pt":  {TorchDType: "Half", Strides: []int64{10, 2, 1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "cpu"},
		"pt/f8_e4m3fn.pt": {TorchDType: "Float8_e4m3fn", Strides: []int64{1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "cpu"},
		"pt/quant.pt": {TorchDType: "QInt8", Strides: []int64{3, 1}, Offset: ptr[int64](0), RequiresGrad: no, Device: "cpu",
			Quant: &format.Quant{Scale: 0.25, ZeroPoint: 3}, Attrs: []format.Attr{{Name: "qscheme", Value: "torch.per_tensor_affine"}}},
	} {
		c := openGolden(t, path)
		if len(c.Tensors) != 1 {
			t.Fatalf("%s: %d tensors", path, len(c.Tensors))
		}
		if diff := cmp.Diff(want, c.Tensors[0].Details); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestPaths: every level of dicts and lists is a component, and a key with dots is one component.
func TestPaths(t *testing.T) {
	for path, want := range map[string][][]string{
		"pt/nested.pt":     {{"in", "0"}, {"in", "1", "0"}, {"n", "k.y"}, {"n", "7"}},
		"pt/state_dict.pt": {{"fc.weight"}, {"fc.bias"}},
		"pt/f4.pt":         {nil},
		"pt/deflated.pt":   {{"a"}},
	} {
		var got [][]string
		for _, tt := range openGolden(t, path).Tensors {
			got = append(got, tt.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestValues lists values other than tensors.
func TestValues(t *testing.T) {
	for path, want := range map[string][]format.Value{
		"pt/nested.pt": {{Name: "in.1.1", Type: "NoneType", Text: "None"}, {Name: "in.1.2", Type: "int", Text: "3"}, {Name: "in.1.3", Type: "str", Text: "x"},
			{Name: "in.1.4", Type: "float", Text: "0.5"}, {Name: "in.1.5", Type: "bool", Text: "True"}},
		"pt/misc.pt": {{Name: "dtype", Type: "torch.dtype", Text: "torch.float16"}, {Name: "size", Type: "torch.Size", Text: "torch.Size([1, 2])"},
			{Name: "dev", Type: "torch.device", Text: "cpu"}},
		"pt/none.pt": {{Name: "a", Type: "int", Text: "1"}},
	} {
		if diff := cmp.Diff(want, openGolden(t, path).Values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// FuzzOpen checks that no file makes Open panic, that errors are typed and come without a result,
// that tensors have the bytes they claim, and that parts equal parts of the whole.
func FuzzOpen(f *testing.F) {
	for _, dir := range []string{"pt", "bad"} {
		files, err := filepath.Glob(filepath.Join(dumptest.GoldenDir, dir, "*.pt"))
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	for _, test := range refused(f) {
		if len(test.file) < 1<<16 {
			f.Add(test.file)
		}
	}
	for _, pickle := range []string{v1 + sto + pair + "tR.", v2 + sto + pair + "I00\nN(Vneg\nI01\ndtR.", "(" + sto + sto + "l."} {
		f.Add(zipped(f, pickle))
		f.Add(legacyOf(pickle, "(V0\nl.\x04\x00\x00\x00\x00\x00\x00\x00aaaabbbbccccdddd"))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkOpen(t, data) })
}

// FuzzPickle is FuzzOpen for the pickle of a file with a storage of 16 bytes.
func FuzzPickle(f *testing.F) {
	for _, pickle := range []string{
		v1 + sto + pair + "tR.", v2 + sto + pair + "I00\nN(Vneg\nI01\ndtR.", npu + sto + pair + "I00\nNI2\ntR.",
		qt + sto + pair + "(ctorch\nper_tensor_affine\nF1.0\nI0\nt" + end, "(" + sto + "I1\nVx\n}]l.", "}" + sto + sto + "s.",
		v3 + sto + pair + "I00\nNctorch\nint16\ntR.", "ctorch._utils\n_rebuild_parameter\n(" + v1 + sto + pair + "tRI01\nNtR.",
		"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor\nctorch\nTensor\n(" + sto + pair + "t}tR.",
	} {
		f.Add([]byte(pickle))
	}
	f.Fuzz(func(t *testing.T, pickle []byte) { checkOpen(t, zipped(t, string(pickle))) })
}

func checkOpen(t *testing.T, data []byte) {
	t.Helper()
	c, err := openBytes(data)
	if err != nil {
		if c != nil || !typed(err) {
			t.Fatalf("%v, %T %v", c, err, err)
		}
		return
	}
	dumptest.CheckContents(t, c)
	const most = 1 << 12
	for i := range c.Tensors {
		tt := &c.Tensors[i]
		if tt.Err != nil || tt.Size > 1<<20 {
			continue
		}
		if i == 100 {
			break
		}
		whole, err := io.ReadAll(tt.Data)
		if err != nil || int64(len(whole)) != tt.Size {
			// A deflated storage may be damaged.
			if !typed(err) {
				t.Fatalf("%q: %d of %d bytes, %v", tt.Name, len(whole), tt.Size, err)
			}
			continue
		}
		part := make([]byte, min(len(whole)/2, most))
		if _, err := tt.Data.ReadAt(part, int64(len(whole)-len(part))); err != nil && err != io.EOF || string(part) != string(whole[len(whole)-len(part):]) {
			t.Fatalf("%q: the end differs, %v", tt.Name, err)
		}
	}
}
