package tensorfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

const (
	atbData = "$Version=1.0\n$Object.Count=1\n$Object.Length=4\nformat=2\ndtype=1\ndims=2\n$Object.data=0,4\n$End=1\nabcd"
	atbLink = "$Version=1.0\n$Object.Count=0\n$Object.Length=0\nformat=2\ndtype=1\ndims=%s\ndata=%s\n$End=1\n"
)

// TestATBLinks: a link may lead to another file of the run, but not out of the run, and not to a
// file that is a link itself.
func TestATBLinks(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "out", "atb_dump_data")
	first := filepath.Join(root, "data", "0_123", "0", "0_Word", "0_Gather", "after")
	second := filepath.Join(root, "data", "0_123", "1", "0_Word", "before")
	for _, dir := range []string{first, second} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := write(filepath.Join(first, "outtensor0.bin"), atbData)
	outside := write(filepath.Join(base, "outtensor0.bin"), atbData)
	chain := write(filepath.Join(first, "outtensor1.bin"), fmt.Sprintf(atbLink, "2", data))
	text := write(filepath.Join(first, "outtensor2.bin"), "no tensor\n")
	if err := os.Symlink(outside, filepath.Join(second, "escape.bin")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ dims, link, want string }{
		{"2", data, ""},
		{"1,2", "../../../0/0_Word/0_Gather/after/outtensor0.bin", ""},
		{"2", "data/0_123/0/0_Word/0_Gather/after/outtensor0.bin", ""},
		{"3", data, "(3,) elements of float16 need 6 bytes, found 4"},
		{"2", outside, "is outside of"},
		{"2", "../../../../../../../outtensor0.bin", "is outside of"},
		{"2", "escape.bin", "is outside of"},
		{"2", "/etc/passwd", "is outside of"},
		{"2", "absent.bin", "no such file"},
		{"2", ".", "a folder"},
		{"2", chain, "which in turn refers to another file"},
		{"2", "intensor0.bin", "which in turn refers to another file"}, // itself
		{"2", text, "the header"},
	} {
		path := write(filepath.Join(second, "intensor0.bin"), fmt.Sprintf(atbLink, test.dims, test.link))
		f, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := f.Tensors[0]
		if test.want == "" {
			var got [4]byte
			if err := x.Elements().ReadElements(got[:], 0); err != nil || string(got[:]) != "abcd" || x.Err != nil || x.String() != "input 0" || x.DType != tensor.Float16 {
				t.Errorf("%s: %q, %+v, error %v", test.link, got, x, err)
			}
		} else if x.Err == nil || !strings.Contains(x.Err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.link, x.Err, test.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestATBRoot(t *testing.T) {
	for dir, want := range map[string]string{
		"/o/atb_dump_data/data/0_1/0/0_A/0_B/after": "/o/atb_dump_data",
		"/data/atb_dump_data":                       "/data/atb_dump_data",
		"/moved/0_1/0/0_A/0_B/before":               "/moved/0_1",
		"/moved/x":                                  "/moved/x",
		"/1/x":                                      "/1/x",
	} {
		if got := runRoot(filepath.FromSlash(dir)); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}

func TestATBWithoutData(t *testing.T) {
	f := open(t, []byte("$Version=1.0\ndtype=1\ndims=2\n$End=1\n"))
	if x := f.Tensors[0]; !errors.Is(x.Err, ErrNoData) || !x.Shape.Equal(tensor.Shape{2}) {
		t.Errorf("%+v", x)
	}
	if f := open(t, []byte("$Version=")); f.Tensors[0].Err == nil {
		t.Error("a header that is cut off is read")
	}
}
