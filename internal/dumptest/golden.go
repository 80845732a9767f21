package dumptest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// GoldenDir holds golden tensor files of other programs, relative to packages below
// internal/format.
const GoldenDir = "../../../testdata/golden/inputs"

// OpenContents is a reader of named tensors.
type OpenContents func(r io.ReaderAt, size int64) (*format.Contents, error)

// golden is the expected content of a file.
type golden struct {
	Tensors  []goldenTensor
	Warnings []string // words that the warnings contain
	Error    string
}

type goldenTensor struct {
	Name, Stored string
	Shape        tensor.Shape
	// Values lists the elements of a small tensor, NPY is the file with the elements of a large
	// one.
	Values []json.RawMessage
	NPY    string
	Error  string // a word that identifies the fault
	// NotATensor marks values beside the tensors.
	NotATensor bool `json:"not_a_tensor"`
}

// Golden reads the files in GoldenDir whose case begins with name and must be read or refused, and
// compares them with the expected contents. errors maps a case, or the word of a fault, to the text
// that the error must contain.
func Golden(t *testing.T, name string, open OpenContents, errors map[string]string) {
	t.Helper()
	var cases []struct{ ID, Path, Kind string }
	ReadGolden(t, "cases.json", &cases)
	var expect map[string]json.RawMessage
	ReadGolden(t, "expect.json", &expect)
	tested := 0
	for _, c := range cases {
		if !strings.HasPrefix(c.ID, name+"_") || c.Kind != "read" && c.Kind != "refuse" {
			continue
		}
		var want golden
		if err := json.Unmarshal(expect[c.ID], &want); err != nil {
			t.Errorf("%s: what is known of the file: %v", c.ID, err)
			continue
		}
		tested++
		t.Run(c.ID, func(t *testing.T) {
			want.check(t, c.Path, open, func(word string) string { return cmp.Or(errors[c.ID], errors[word], word) })
		})
	}
	if tested == 0 {
		t.Errorf("no case begins with %s_", name)
	}
}

// ReadGolden reads a file in GoldenDir.
func ReadGolden(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(GoldenDir, name))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (want *golden) check(t *testing.T, path string, open OpenContents, text func(word string) string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(GoldenDir, path))
	if err != nil {
		t.Fatal(err)
	}
	got, err := open(bytes.NewReader(file), int64(len(file)))
	checkError(t, "file", err, want.Error, text)
	if err != nil {
		if got != nil {
			t.Error("contents come with an error")
		}
		return
	}
	CheckContents(t, got)
	want.Tensors = slices.DeleteFunc(want.Tensors, func(t goldenTensor) bool { return t.NotATensor })
	if len(got.Tensors) != len(want.Tensors) || len(got.Warnings) != len(want.Warnings) {
		t.Fatalf("%d tensors, warnings %q, want %d, %q", len(got.Tensors), got.Warnings, len(want.Tensors), want.Warnings)
	}
	for i, word := range want.Warnings {
		if !strings.Contains(got.Warnings[i].String(), word) {
			t.Errorf("warning %q, want ...%s...", got.Warnings[i], word)
		}
	}
	for i := range want.Tensors {
		tt, w := &got.Tensors[i], &want.Tensors[i]
		if tt.Name != w.Name {
			t.Errorf("tensor %d is %q, want %q", i, tt.Name, w.Name)
			continue
		}
		fault := tt.Err
		if fault == nil && w.Error != "" { // errors of data show when it is read
			_, fault = io.ReadAll(io.NewSectionReader(tt.Data, 0, tt.Size))
		}
		checkError(t, w.Name, fault, w.Error, text)
		if fault != nil || w.Error != "" {
			continue
		}
		if tt.DType.String() != w.Stored || !tt.Shape.Equal(w.Shape) {
			t.Errorf("%s: %v%v, want %s%v", w.Name, tt.DType, tt.Shape, w.Stored, w.Shape)
			continue
		}
		elements := Elements(t, &tt.Tensor)
		if w.NPY != "" {
			compareArray(t, w.Name, tt.DType.Host(), elements, filepath.Join(GoldenDir, w.NPY))
		} else {
			compareValues(t, w.Name, tt.DType.Host(), elements, w.Values)
		}
	}
}

func checkError(t *testing.T, name string, err error, word string, text func(word string) string) {
	t.Helper()
	switch {
	case err == nil && word != "":
		t.Errorf("%s: no error, want %s", name, word)
	case err != nil && (word == "" || !strings.Contains(err.Error(), text(word))):
		t.Errorf("%s: error %v, want %q", name, err, text(word))
	}
}

// Elements reads a tensor as host elements.
func Elements(t testing.TB, data *tensor.Tensor) []byte {
	t.Helper()
	stored := make([]byte, data.Size)
	if n, err := data.Data.ReadAt(stored, 0); n < len(stored) {
		t.Fatalf("read %d bytes, want %d: %v", n, len(stored), err)
	}
	decoder, err := tensor.NewDecoder(data.DType)
	if err != nil {
		t.Fatal(err)
	}
	elements := make([]byte, len(stored)/decoder.UnitSize()*decoder.Host().Size())
	decoder.Decode(elements, stored)
	return elements
}

func compareArray(t *testing.T, name string, host tensor.Host, elements []byte, path string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	array, err := npy.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(array.Data())
	if err != nil {
		t.Fatal(err)
	}
	if array.Host != host || !bytes.Equal(elements, want) {
		t.Errorf("%s: %v % x, want %v % x", name, host, elements, array.Host, want)
	}
}

func compareValues(t *testing.T, name string, host tensor.Host, elements []byte, want []json.RawMessage) {
	t.Helper()
	if len(elements) != len(want)*host.Size() {
		t.Fatalf("%s: %d bytes, want %d values", name, len(elements), len(want))
	}
	got := make([]float64, len(want))
	tensor.Float64s(got, elements, host)
	for i, text := range want {
		value, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got[i] != value && !(math.IsNaN(got[i]) && math.IsNaN(value)) {
			t.Errorf("%s: value %d is %v, want %v", name, i, got[i], value)
		}
	}
}

// CheckContents checks the invariants of every reader of named tensors.
func CheckContents(t testing.TB, c *format.Contents) {
	t.Helper()
	for i := range c.Tensors {
		tt := &c.Tensors[i]
		if tt.Err != nil {
			continue
		}
		count, ok := tt.Shape.Count()
		need, fits := tt.DType.Bytes(count)
		switch {
		case !ok || !fits || need != tt.Size:
			t.Errorf("%q: %v%v has %d bytes, want %d", tt.Name, tt.DType, tt.Shape, tt.Size, need)
		case tt.Format != tensor.ND || tt.Shape == nil || tt.Data == nil || tt.Data.Size() != tt.Size:
			t.Errorf("%q: format %v, shape %v, data %v of %d bytes", tt.Name, tt.Format, tt.Shape, tt.Data, tt.Size)
		case len(tt.Path) == 0 && len(c.Tensors) > 1:
			t.Errorf("%q: no path", tt.Name)
		}
	}
}

// Half rounds a value to float16, ties to even; too large values become infinite.
func Half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00 // NaN
	case bits >= 0x477ff000: // 65520, halfway to the float16 after the largest
		return sign | 0x7c00
	case bits < 0x38800000: // 2^-14, the smallest normal float16
		// A float32 near 0.5 has steps of 2^-24, like a subnormal float16.
		sum := math.Float32frombits(bits) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	}
	odd := bits >> 13 & 1
	return sign | uint16((bits-112<<23+0xfff+odd)>>13)
}

// Untar unpacks a .tar.gz into a new folder and returns the folder.
func Untar(t *testing.T, path string) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
