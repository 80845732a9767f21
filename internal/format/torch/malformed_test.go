package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/pickle"
)

// entry is an entry of a zip file.
type entry struct{ name, data string }

func zipOf(t testing.TB, method uint16, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err == nil {
			_, err = io.WriteString(f, e.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Parts of pickles: the storage s of 4 float32, functions, and the ends of arguments.
const (
	sto  = "(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\ntQ"
	v1   = "ctorch._utils\n_rebuild_tensor\n("
	v2   = "ctorch._utils\n_rebuild_tensor_v2\n("
	v3   = "ctorch._utils\n_rebuild_tensor_v3\n("
	npu  = "ctorch_npu.utils.storage\n_rebuild_npu_tensor\n("
	qt   = "ctorch._utils\n_rebuild_qtensor\n("
	pair = "I0\n(I2\nt(I1\nt" // offset, size and strides of 2 elements
	end  = "I00\nNtR."
)

// zipped is a file with a pickle and the storage.
func zipped(t testing.TB, pickle string) []byte {
	t.Helper()
	return zipOf(t, zip.Store, entry{"a/data.pkl", pickle}, entry{"a/data/0", strings.Repeat("\x00\x00\x80?", 4)})
}

// legacyOf is a file of the form before 1.6.
func legacyOf(object, rest string) []byte {
	return []byte("\x80\x02" + legacyMagic + "\x80\x02M\xe9\x03.}." + object + rest)
}

// TestRefused: files that are refused as a whole.
func TestRefused(t *testing.T) {
	for _, test := range refused(t) {
		c, err := openBytes(test.file)
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) || !typed(err) {
			t.Errorf("%.80q: %v, %T %v, want %s", test.file, c, err, err, test.want)
		}
	}
}

type malformed struct {
	file []byte
	want string
}

func refused(t testing.TB) []malformed {
	t.Helper()
	tarOf := func(names ...string) []byte {
		var b []byte
		for _, n := range names {
			head := make([]byte, 1024)
			copy(head, n)
			copy(head[124:], "00000000007\x00")
			copy(head[257:], "ustar")
			b = append(b, head...)
		}
		return b
	}
	all := []malformed{
		{nil, "the file begins with , want a file of torch.save"},
		{[]byte("\x80\x02}."), "the file begins with 80 02 7d 2e, want a file of torch.save"},
		{[]byte("PK"), "zip: "},
		{tarOf("sys_info", "pickle", "tensors", "storages"), "the tar format of PyTorch before 0.1.10 is not supported"},
		{tarOf("sys_info", "pickle"), "a tar archive, want a file of torch.save"},
		{tarOf("a")[:700], "a tar archive"},
		{zipOf(t, zip.Store), "the archive has no data.pkl"},
		{zipOf(t, zip.Store, entry{"a/xdata.pkl", "N."}), "the archive has no data.pkl"},
		{zipOf(t, zip.Store, entry{"a/data.pkl", "N."}, entry{"b/data.pkl", "N."}), `the archive has "a/data.pkl" and "b/data.pkl", want one data.pkl`},
		{zipOf(t, zip.Store, entry{"data.pkl", "N."}, entry{"constants.pkl", "N."}), "a TorchScript archive, want a file of torch.save"},
		{zipOf(t, zip.Store, entry{"data.pkl", "N."}, entry{"byteorder", "middle"}), `byteorder: found "middle", want little or big`},
		{zipOf(t, zip.Store, entry{"data.pkl", "N."}, entry{"byteorder", strings.Repeat("x", 101)}), "byteorder has 101 bytes, at most 100 are read"},
		{zipOf(t, zip.Store, entry{"data.pkl", "N."}, entry{"byteorder", "little"}, entry{"byteorder", "middle"}), `byteorder: found "middle", want little or big`},
		{zipOf(t, zip.Deflate, entry{"data.pkl", strings.Repeat("N", 20<<20)}), "data.pkl has 20971520 bytes, at most 17"},

		{zipped(t, "N"), "data.pkl: pickle: end of file at 0x1: found no STOP opcode"},
		{zipped(t, "(ios\nsystem\n."), "data.pkl: INST at 1: os.system is not part of tensor files"},
		{zipped(t, "}Nb."), ""},
		{zipped(t, "]Nb."), "data.pkl: BUILD at 2 is not part of tensor files"},
		{zipped(t, "c__main__\nNet\n)\x81."), "data.pkl: GLOBAL at 0: __main__.Net is not part of tensor files"},
		{zipped(t, "ctorch\nload\n."), "torch.load is not part of tensor files"},
		{zipped(t, "ctorch.evil\nstorage\n."), "torch.evil.storage is not part"},
		{zipped(t, "cevil\nFloatStorage\n."), "evil.FloatStorage is not part"},
		{zipped(t, "ctorch\nFloatStorage\n)R."), "torch.FloatStorage is not part of tensor files"},
		{zipped(t, "NQ."), "BINPERSID at 0x1: found a persistent id that is a None, want a tuple"},
		{zipped(t, "(Vmodule\nctorch\nFloatStorage\nV0\nVcpu\nI4\ntQ."), "found a persistent id with parts that PyTorch does not write"},
		{zipped(t, "(Vstorage\nctorch\nfloat32\nV0\nVcpu\nI4\ntQ."), "found a storage of class torch.float32"},
		{zipped(t, "(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\ntQ."), "found a persistent id with parts that PyTorch does not write"},
		{zipped(t, "(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\nI4\ntQ."), "found a part of a storage that is a int, want a tuple of 3"},
		{zipped(t, "(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\n(VX\nI0\nVx\nttQ."), "found a persistent id with parts that PyTorch does not write"},

		{zipped(t, "]"+strings.Repeat("h\x01", 1)+"."), "found no memo entry 1"},
		{legacyOf("N.", "}."), "found a dict before 0x1b, want the list of storages"},
		{legacyOf("N.", "(I1\nl."), "found a int in the list of storages, want a text"},
		{legacyOf(sto+".", "(V0\nl.\xff\xff\xff\xff\xff\xff\xff\xff"), `storage "0" has -1 elements`},
		{legacyOf("cos\nsystem\n.", "]."), "GLOBAL at 23: os.system is not part of tensor files"},
		{legacyOf("]a.", "]."), "pickle: APPEND at 0x18: found an empty stack"},
		{legacyOf("]", ""), "pickle: end of file at 0x18: found no STOP opcode"},
		{[]byte("\x80\x02" + legacyMagic + "\x80\x02M\xea\x03.}.N."), "version 1002 of the format before 1.6 is not supported, want 1001"},
		{[]byte("\x80\x02" + legacyMagic + "\x80\x02\x8a\x09123456789.}.N."), "the version of the format before 1.6 is not supported"},
		{[]byte("\x80\x02" + legacyMagic), "found no STOP opcode"},
	}
	for i := range all { // one file of the list can be read
		if all[i].want == "" {
			if _, err := openBytes(all[i].file); err != nil {
				t.Error(err)
			}
			all = append(all[:i], all[i+1:]...)
			break
		}
	}
	for _, args := range []string{
		v1 + sto + "I0\n(I2\nttR.",
		v1 + sto + pair + "NtR.",
		v1 + "N" + pair + "tR.",
		v1 + sto + "N(I2\nt(I1\nttR.",
		v1 + sto + "I0\n(Vx\nt(I1\nttR.",
		v2 + sto + pair + "tR.",
		v2 + sto + pair + "NNtR.",
		v2 + sto + pair + "I00\nI1\ntR.",
		v2 + sto + pair + "I00\nNI1\ntR.",
		v3 + sto + pair + "I00\nNtR.",
		v3 + sto + pair + "I00\nNctorch\nFloatStorage\ntR.",
		npu + sto + pair + end,
		npu + sto + pair + "I00\nNNtR.",
		qt + sto + pair + "(ctorch\nfloat32\nF1.0\nI0\nt" + end,
		qt + sto + pair + "(ctorch\nper_tensor_affine\nF1.0\nt" + end,
		qt + sto + pair + "N" + end,
		"ctorch._utils\n_rebuild_parameter\n(NI01\nNtR.",
		"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nctorch\nTensor\n)NtR.",
		"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nfloat32\nctorch\nTensor\n)NtR.",
		"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor\nctorch\nfloat32\n)NtR.",
		"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor\nctorch\nTensor\n)NtR.",
		"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n(" + v1 + sto + pair + "tRNNI00\ntR.",
		"ctorch\nSize\n(I1\ntR.",
		"ctorch\ndevice\n(I1\ntR.",
		"ctorch\ndevice\n(Vcpu\nVx\ntR.",
		"cbuiltins\ncomplex\n(F1.0\ntR.",
		"ctorch.serialization\n_get_layout\n)R.",
	} {
		all = append(all, malformed{zipped(t, args), "with arguments that PyTorch does not pass"})
	}
	return all
}

// typed reports whether an error has one of the types that Open returns.
func typed(err error) bool {
	for _, e := range []any{new(*FormatError), new(*UnsupportedError), new(*archive.FormatError), new(*archive.UnsupportedError), new(*pickle.FormatError)} {
		if errors.As(err, e) {
			return true
		}
	}
	return false
}

// TestBadTensors: unreadable tensors beside readable ones.
func TestBadTensors(t *testing.T) {
	untyped := "(Vstorage\nctorch.storage\nUntypedStorage\nV0\nVcpu\nI16\ntQ"
	for _, test := range []struct{ tensor, want string }{
		{v1 + sto + "I0\n(I5\nt(I1\nttR", "needs 5 elements, its storage has 4"},
		{v1 + sto + "I3\n(I2\nt(I1\nttR", "needs 5 elements, its storage has 4"},
		{v1 + sto + "I0\n(I2\nI2\nt(I3\nI1\nttR", "needs 5 elements, its storage has 4"},
		{v1 + sto + "I0\n(I2\nt(I9223372036854775807\nttR", "needs 9223372036854775807 elements, its storage has 4"},
		{v1 + sto + "I9223372036854775807\n(I1\nt(I1\nttR", "elements, its storage has 4"},
		{v1 + sto + "I0\n(I2\nt)tR", "shape (2,) has 0 strides []"},
		{v1 + sto + "I-1\n(I2\nt(I1\nttR", "the offset is -1, want at least 0"},
		{v1 + sto + "I0\n(I-2\nt(I1\nttR", "shape (-2,) with strides [1] has a negative number"},
		{v1 + sto + "I0\n(I2\nt(I-1\nttR", "has a negative number"},
		{v1 + sto + "I0\n(I4611686018427387904\nt(I0\nttR", "has more than 63 bits of data"},
		{v1 + sto + "I0\n(I2147483648\nI4096\nt(I0\nI0\nttR", "is an expansion of 4 elements, more than 65536 times"},
		{v1 + sto + "I0\n(" + strings.Repeat("I1\n", 33) + "t(" + strings.Repeat("I1\n", 33) + "ttR", "has more than 32 axes"},
		{v1 + sto + "I0\n(" + strings.Repeat("I1\n", 99) + "t(" + strings.Repeat("I1\n", 98) + "ttR", "has more than 32 axes"},
		{v1 + strings.Replace(sto, "I4", "I5", 1) + pair + "tR", `storage "0" has 4 elements, want 5`},
		{v1 + strings.Replace(sto, "I4", "I-1", 1) + pair + "tR", `storage "0" has 4 elements, want -1`},
		{v1 + strings.Replace(sto, "V0", "V7", 1) + pair + "tR", `the archive has no entry "a/data/7"`},
		{v1 + strings.Replace(sto, "tQ", "(VX\nI3\nI2\nttQ", 1) + pair + "tR", `the part of 2 elements from 3 on is not in storage "0", which has 4`},
		{v1 + strings.Replace(sto, "tQ", "(VX\nI2\nI1\nttQ", 1) + pair + "tR", "needs 2 elements, its storage has 1"},
		{v1 + strings.Replace(sto, "Float", "QUInt4x2", 1) + pair + "tR", "elements of torch.quint4x2 are not supported"},
		{v3 + untyped + pair + "I00\nNctorch\nbits8\ntR", "elements of torch.bits8 are not supported"},
		{v3 + untyped + "I0\n(I5\nt(I1\ntI00\nNctorch\nfloat32\ntR", "needs 5 elements, its storage has 4"},
		{v3 + strings.Replace(sto, "Float", "QUInt2x4", 1) + pair + "I00\nNctorch\nint8\ntR", "a storage of torch.quint2x4 is not supported"},
		{v2 + sto + pair + "I00\nN(Vconj\nI01\ndtR", "a conjugate or negative of torch.float32 that is not computed is not supported"},
		{v2 + strings.Replace(sto, "Float", "Int", 1) + pair + "I00\nN(Vneg\nI01\ndtR", "a conjugate or negative of torch.int32"},
		{"ctorch._utils\n_rebuild_sparse_tensor\n(NNtR", "a sparse tensor is not supported"},
		{"ctorch._utils\n_rebuild_sparse_csr_tensor\n(NNtR", "a sparse tensor is not supported"},
		{"ctorch._utils\n_rebuild_wrapper_subclass\n(tR", "a wrapper of a tensor is not supported"},
		{"ctorch._utils\n_rebuild_nested_tensor\n(NtR", "a nested tensor is not supported"},
		{"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(NtR", "a tensor of the device meta has no data"},
		{"ctorch._utils\n_rebuild_device_tensor_from_numpy\n(NtR", "a tensor of an array of numpy is not supported"},
		{"ctorch._utils\n_rebuild_parameter\n(ctorch._utils\n_rebuild_sparse_tensor\n(tRI01\nNtR", "a sparse tensor is not supported"},
	} {
		c, err := openBytes(zipped(t, "("+test.tensor+v1+sto+pair+"tRl."))
		if err != nil {
			t.Errorf("%q: %v", test.tensor, err)
			continue
		}
		dumptest.CheckContents(t, c)
		if bad := c.Tensors[0].Err; len(c.Tensors) != 2 || bad == nil || !strings.Contains(bad.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.tensor, bad, test.want)
		}
		if c.Tensors[1].Err != nil || len(dumptest.Elements(t, &c.Tensors[1].Tensor)) != 8 {
			t.Errorf("%q: the other tensor: %v", test.tensor, c.Tensors[1].Err)
		}
	}
}

// TestUnusual: rare arguments that PyTorch may write.
func TestUnusual(t *testing.T) {
	for _, pickle := range []string{
		v2 + sto + pair + "I00\nNNtR.",
		v2 + sto + pair + "I00\nN(Vconj\nI00\nV2\nI01\ndtR.",
		npu + sto + pair + "I00\nNI01\ntR.",
		npu + sto + pair + "I00\nNctorch_npu.npu._format\nFormat\n(I2\ntRtR.",
		"ctorch._utils\n_rebuild_parameter_with_state\n(" + v1 + sto + pair + "tRI01\nN}tR.",
		"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n(" + v1 + sto + pair + "tRctorch\nfloat32\nVxla:0\nI00\ntR.",
		"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n(" + v1 + sto + pair + "tRctorch\nfloat32\nctorch\ndevice\n(Vxla\nI0\ntRI00\ntR.",
		qt + strings.Replace(sto, "Float", "QInt32", 1) + pair + "(ctorch\nper_channel_affine\nNNI0\nt" + end,
		v1 + sto + pair + "tR}(Vx\nI1\nub.",
		"ccollections\nCounter\n(ccollections\nOrderedDict\n(tRtR0" + v1 + sto + pair + "tR.",
		v1 + sto + "I9\n(I0\nI4611686018427387904\nt(I9\nI9\nttR.",
		v1 + strings.Replace(sto, "V0", "Vnone", 1) + "I0\n(I0\nt(I1\nttR.",
		v1 + strings.Replace(sto, "torch\nFloat", "torch_npu.storage\nFloat", 1) + pair + "tR.",
		v1 + strings.Replace(sto, "torch\nFloat", "torch\n_Untyped", 1) + pair + "tR.",
	} {
		c, err := openBytes(zipped(t, pickle))
		if err != nil || len(c.Tensors) != 1 || c.Tensors[0].Err != nil || c.Tensors[0].Name != "" || c.Tensors[0].Path != nil {
			t.Errorf("%q: %+v, %v", pickle, c, err)
			continue
		}
		dumptest.CheckContents(t, c)
	}
}

// TestLegacyParts: tensors over ranges of storages, and a storage truncated by the end of the file.
func TestLegacyParts(t *testing.T) {
	part := strings.Replace(sto, "tQ", "(VX\nI1\nI2\nttQ", 1)
	other := strings.Replace(sto, "V0", "V1", 1)
	data := string(binary.LittleEndian.AppendUint64(nil, 4)) + "aaaabbbbccccdddd"
	file := legacyOf("("+v1+part+"I1\n(I1\nt(I1\nttR"+part+v1+other+pair+"tRl.", "(V0\nV1\nl."+data+data[:12])
	c, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	dumptest.CheckContents(t, c)
	if got := string(dumptest.Elements(t, &c.Tensors[0].Tensor)); got != "cccc" {
		t.Errorf("part of a part: %q", got)
	}
	if got := string(dumptest.Elements(t, &c.Tensors[1].Tensor)); got != "bbbbcccc" {
		t.Errorf("part: %q", got)
	}
	if err := c.Tensors[2].Err; err == nil || err.Error() != `storage "1" has 1 elements, want 4` {
		t.Errorf("cut: %v", err)
	}
	for cut := len(file) - 13; cut > len(file)-30; cut-- { // inside the first storage
		if c, err := openBytes(file[:cut]); err != nil || c.Tensors[0].Err == nil && cut < len(file)-12 {
			t.Errorf("cut to %d: %v", cut, err)
		}
	}
}

// TestLongLegacyPickle: the length of a pickle is known only after parsing.
func TestLongLegacyPickle(t *testing.T) {
	long := "(V" + strings.Repeat("x", 300_000) + "\n" + v1 + sto + pair + "tRd."
	data := string(binary.LittleEndian.AppendUint64(nil, 4)) + "aaaabbbbccccdddd"
	c, err := openBytes(legacyOf(long, "(V0\nl."+data))
	if err == nil || !strings.Contains(err.Error(), "a key of more than") {
		t.Fatal(c, err)
	}
	c, err = openBytes(legacyOf("(V"+strings.Repeat("x", 300_000)+"\n"+v1+sto+pair+"tRl.", "(V0\nl."+data))
	if err != nil || len(c.Tensors) != 1 || string(dumptest.Elements(t, &c.Tensors[0].Tensor)) != "aaaabbbb" || c.Tensors[0].Name != "1" {
		t.Error(c, err)
	}
}

func TestIs(t *testing.T) {
	for head, want := range map[string]bool{
		"\x80\x02" + legacyMagic + "\x80\x02M":                       true,
		"\x80\x03" + legacyMagic:                                     true,
		"\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00" + legacyMagic: true,
		legacyText:                    true,
		"\x80\x02" + legacyMagic[:12]: false,
		"\x80":                        false,
		"":                            false,
		"\x80\x02}.":                  false,
	} {
		if got := IsLegacy([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
	for name, want := range map[string]bool{"data.pkl": true, "a/data.pkl": true, "a/b/data.pkl": true, "xdata.pkl": false, "data.pkl/x": false, "a.npy": false} {
		file := zipOf(t, zip.Store, entry{name, ""})
		a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil || IsArchive(a) != want {
			t.Errorf("%q: %v, %v", name, !want, err)
		}
	}
}

// TestTexts: keys and values as Python prints them.
func TestTexts(t *testing.T) {
	for pickle, want := range map[string]string{
		"Vab\n": "ab", "I7\n": "7", "L123456789012345678901L\n": "123456789012345678901", "\x88": "True", "N": "None",
		"F1.0\n": "1.0", "F-0.5\n": "-0.5", "F1e16\n": "1e+16", "F123456789012345.0\n": "123456789012345.0", "F0.0001\n": "0.0001", "F0.00001\n": "1e-05",
		"Fnan\n": "nan", "Finf\n": "inf", "F-inf\n": "-inf", "F1e300\n": "1e+300", "F-0.0\n": "-0.0",
		"C\x04a\x00'\xff": `b"a\x00'\xff"`, "C\x02\n\\": `b'\n\\'`,
		"(I1\nVa\nt": "(1, 'a')", "(I1\nt": "(1,)", ")": "()", "(Vit's\nV\"q\" it's\nt": `("it's", '"q" it\'s')`, "(V\\u0007\\u5377\\u200b\\u00e9\nt": `('\x07卷\u200bé',)`,
		"(ctorch\nfloat16\nt": "(torch.float16,)", "(V\\U0001f600\\U000e0001\\u000d\\u0009\nt": `('😀\U000e0001\r\t',)`,
	} {
		c, err := openBytes(zipped(t, "}"+pickle+sto+"s."))
		if err != nil || len(c.Tensors) != 1 || c.Tensors[0].Name != want {
			t.Errorf("%q: %+v, %v, want %s", pickle, c, err, want)
		}
	}
	for pickle, want := range map[string]format.Value{
		"cbuiltins\ncomplex\n(F1.0\nF-2.5\ntR.":                    {Type: "complex", Text: "(1-2.5j)"},
		"cbuiltins\nslice\n(NI3\nNtR.":                             {Type: "slice", Text: "slice(None, 3, None)"},
		"cbuiltins\nbytearray\n(Vab\nVlatin-1\ntR.":                {Type: "bytes", Text: "b'ab'"},
		"ctorch\nSize\n((I1\nI2\nttR.":                             {Type: "torch.Size", Text: "torch.Size([1, 2])"},
		"ctorch\ndevice\n(Vnpu\nI3\ntR.":                           {Type: "torch.device", Text: "npu:3"},
		"ctorch\nbfloat16\n.":                                      {Type: "torch.dtype", Text: "torch.bfloat16"},
		"ctorch\nper_tensor_affine\n.":                             {Type: "torch.qscheme", Text: "torch.per_tensor_affine"},
		"ctorch.nn.parameter\nParameter\n.":                        {Type: "type", Text: "torch.nn.parameter.Parameter"},
		"ctorch.serialization\n_get_layout\n(Vtorch.strided\ntR.":  {Type: "torch.layout", Text: "torch.strided"},
		"V" + strings.Repeat("卷", 100) + "\n.":                     {Type: "str", Text: strings.Repeat("卷", 66) + "..."},
		"ctorch\nSize\n((" + strings.Repeat("I1\n", 999) + "ttR.":  {Type: "torch.Size", Text: "torch.Size([" + strings.Repeat("1, ", 66) + "1...)"},
		"cbuiltins\nslice\n(((lI1\nac__builtin__\nint\n}" + "ttR.": {Type: "slice", Text: "slice(([1], __builtin__.int, ...),)"},
	} {
		pickle = strings.ReplaceAll(pickle, "卷", "\\u5377")
		c, err := openBytes(zipped(t, pickle))
		if err != nil || len(c.Values) != 1 || c.Values[0] != want {
			t.Errorf("%q: %+v, %v, want %v", pickle, c, err, want)
		}
	}
}

// TestMemory: memory is in proportion to the size of the file.
func TestMemory(t *testing.T) {
	for _, file := range hungry(t) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, err := openBytes(file.file)
		runtime.ReadMemStats(&after)
		used := int64(after.TotalAlloc - before.TotalAlloc)
		t.Logf("%s: %d bytes of file, %d MiB allocated, error %v", file.want, len(file.file), used>>20, err)
		if most := int64(160 << 20); used > most {
			t.Errorf("%s: %d bytes, want %d at most", file.want, used, most)
		}
		runtime.KeepAlive(c)
	}
}

// hungry are files that demand much memory.
func hungry(t testing.TB) []malformed {
	t.Helper()
	many := func(s string) string { return strings.Repeat(s, 3<<20/len(s)) }
	few := func(s string) string { return strings.Repeat(s, 200<<10/len(s)) }
	deflated := func(pickle string) []byte { return zipOf(t, zip.Deflate, entry{"data.pkl", pickle}) }
	return []malformed{
		{deflated("(" + many("N") + "l."), "values"},
		{zipOf(t, zip.Store, entry{"data.pkl", "N" + strings.Repeat("2", 9<<20) + "."}), "the same value"},
		{zipOf(t, zip.Store, entry{"data.pkl", strings.Repeat("(", 9<<20) + "N."}), "marks"},
		{deflated("(" + many(")") + "l."), "tuples"},
		{deflated("(" + v1 + sto + pair + "tRp1\n" + many("h\x01") + "l."), "rows"},
		{deflated("(" + v1 + sto + pair + "tRp1\n" + few("h\x01") + "l."), "fewer rows"},
		{deflated("}V" + strings.Repeat("k", 60000) + "\n(" + v1 + sto + pair + "tRp1\n" + few("h\x01") + "ls."), "names of rows"},
		{deflated("}V" + strings.Repeat("k", 60000) + "\n(" + few("K\x01") + "ls."), "names of values"},
		{deflated("(" + few("K\x01") + "l."), "fewer values"},
		{deflated("(" + many("ctorch\nint8\n") + "l."), "names"},
		{deflated("(" + sto + "p1\n(" + strings.Repeat("I1\n", 100000) + "tp2\n" + many("ctorch._utils\n_rebuild_tensor\n(g1\nI0\ng2\ng2\ntR") + "l."), "long shapes"},
	}
}

// TestGoldenMemory: damaged files take no more memory than the largest pickle.
func TestGoldenMemory(t *testing.T) {
	for _, dir := range []string{"pt", "bad"} {
		files, err := filepath.Glob(filepath.Join(dumptest.GoldenDir, dir, "*.pt"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = openBytes(b)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("%s: %d bytes", name, used)
			}
		}
	}
}
