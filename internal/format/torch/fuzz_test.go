package torch

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumptest"
)

// FuzzOpen checks that no file makes Open panic, that errors are typed and come alone,
// that tensors have the bytes that they say, and that parts of them are those of the
// whole.
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
