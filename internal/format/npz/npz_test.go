package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/format/npy"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

func TestGolden(t *testing.T) {
	dumptest.Golden(t, "npz", Open, map[string]string{
		"datatype":  "an array of Python objects",
		"data":      "data is truncated",
		"truncated": "no end record of a zip file",
	})
}

// entry is a test entry.
type entry struct {
	name     string
	data     []byte
	deflated bool
}

func write(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name}
		if e.deflated {
			h.Method = zip.Deflate
		}
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = to.Write(e.data)
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

// array is a .npy file with any header, so that tests can choose the order of elements.
func array(descr, order, shape string, data []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	b := append([]byte(npy.Magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return slices.Concat(b, []byte(text), data)
}

func open(t testing.TB, file []byte) *format.Contents {
	t.Helper()
	c, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	dumptest.CheckContents(t, c)
	return c
}

// TestOpen compares with a slow reader on arrays in any byte order and axis order, some deflated.
func TestOpen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var entries []entry
		var want [][]byte
		for i := range rapid.IntRange(0, 4).Draw(rt, "arrays") {
			rows, columns := rapid.IntRange(0, 9).Draw(rt, "rows"), rapid.IntRange(1, 9).Draw(rt, "columns")
			values := rapid.SliceOfN(rapid.Uint16(), rows*columns, rows*columns).Draw(rt, "values")
			descr, order := "<u2", "False"
			stored, elements := make([]byte, 2*len(values)), make([]byte, 2*len(values))
			big, fortran := rapid.Bool().Draw(rt, "big"), rapid.Bool().Draw(rt, "fortran")
			for j, v := range values {
				binary.LittleEndian.PutUint16(elements[2*j:], v)
				if fortran {
					j = j%columns*rows + j/columns
				}
				if big {
					binary.BigEndian.PutUint16(stored[2*j:], v)
				} else {
					binary.LittleEndian.PutUint16(stored[2*j:], v)
				}
			}
			if big {
				descr = ">u2"
			}
			if fortran {
				order = "True"
			}
			name := fmt.Sprintf("%s/%d.npy", rapid.String().Draw(rt, "name"), i)
			shape := fmt.Sprintf("(%d, %d)", rows, columns)
			entries = append(entries, entry{name, array(descr, order, shape, stored), rapid.Bool().Draw(rt, "deflated")})
			want = append(want, elements)
		}
		c := open(t, write(t, entries...))
		if len(c.Tensors) != len(want) || len(c.Warnings) > 0 {
			rt.Fatalf("%d tensors, %q, want %d", len(c.Tensors), c.Warnings, len(want))
		}
		for i := range c.Tensors {
			tt := &c.Tensors[i]
			name := strings.TrimSuffix(entries[i].name, ".npy")
			if tt.Err != nil || tt.Name != name || strings.Join(tt.Path, "/") != name {
				rt.Fatalf("%q, path %q, error %v, want %q", tt.Name, tt.Path, tt.Err, name)
			}
			if got := dumptest.Elements(t, &tt.Tensor); !bytes.Equal(got, want[i]) {
				rt.Errorf("%q: % x, want % x", name, got, want[i])
			}
		}
	})
}

// TestPlaces checks that the data of a stored array is a section of the file.
func TestPlaces(t *testing.T) {
	file := write(t, entry{name: "a.npy", data: array("|u1", "False", "(4,)", []byte("data"))})
	data := open(t, file).Tensors[0].Data
	_, off := store.Origin(data, 0)
	if got := string(file[off:][:data.Size()]); got != "data" {
		t.Errorf("at %d: %q", off, got)
	}
}

// TestRows lists entries that have an error or a warning.
func TestRows(t *testing.T) {
	one := array("|u1", "False", "(1,)", []byte{7})
	file := write(t,
		entry{name: "a.npy", data: []byte("older")},
		entry{name: "o.npy", data: array("|O", "False", "(1,)", []byte("pickle"))},
		entry{name: "O.npy", data: array("O", "False", "()", nil)},
		entry{name: "text.npy", data: array("<U5", "False", "(1,)", make([]byte, 20))},
		entry{name: "short.npy", data: array("<u2", "False", "(1,)", []byte{1})},
		entry{name: "none.npy"},
		entry{name: "none.NPY", data: one},
		entry{name: "spare.npy", data: append(slices.Clone(one), 1, 2), deflated: true},
		entry{name: "more/", data: nil},
		entry{name: "a.npy", data: one},
	)
	c := open(t, file)
	for i, want := range []struct{ name, err string }{
		{"o", "an array of Python objects"},
		{"O", "an array of Python objects"},
		{"short", "data is truncated, want 2 bytes, found 1"},
		{"none", "file is truncated"},
		{"spare", ""},
		{"a", ""},
	} {
		tt := &c.Tensors[i]
		if tt.Name != want.name || (tt.Err == nil) != (want.err == "") || tt.Err != nil && !strings.Contains(tt.Err.Error(), want.err) {
			t.Errorf("tensor %d is %q, error %v, want %q, %q", i, tt.Name, tt.Err, want.name, want.err)
		}
	}
	if got := fmt.Sprint(c.Tensors[4].Warnings); got != "[2 bytes after the data]" {
		t.Errorf("warnings about spare: %s", got)
	}
	if got := fmt.Sprint(c.Values); got != "[{text str (not read)}]" {
		t.Errorf("values %s", got)
	}
	want := []string{`the archive has several entries of a name, the last one is used: "a.npy"`, `the entry "none.NPY" is not an array of numpy`, `the entry "more/" is not an array of numpy`}
	if fmt.Sprint(c.Warnings) != fmt.Sprint(want) {
		t.Errorf("warnings %q, want %q", c.Warnings, want)
	}
}

// TestDamagedEntry expects an error for the entry with the damaged header.
func TestDamagedEntry(t *testing.T) {
	one := array("|u1", "False", "(1,)", []byte{7})
	file := write(t, entry{name: "a.npy", data: one}, entry{name: "b.npy", data: one})
	file[0]++
	c := open(t, file)
	if _, ok := errors.AsType[*archive.FormatError](c.Tensors[0].Err); !ok || c.Tensors[1].Err != nil {
		t.Errorf("errors %v, %v", c.Tensors[0].Err, c.Tensors[1].Err)
	}
}

// TestNoArrays distinguishes an empty archive from an archive of other files.
func TestNoArrays(t *testing.T) {
	if c := open(t, write(t)); len(c.Tensors)+len(c.Warnings) > 0 {
		t.Errorf("%+v", c)
	}
	file := write(t, entry{name: "a.txt"}, entry{name: "b.txt"})
	if c, err := Open(bytes.NewReader(file), int64(len(file))); c != nil || err == nil ||
		err.Error() != `none of the 2 entries of the archive, such as "a.txt", is an array of numpy` {
		t.Errorf("%+v, %v", c, err)
	}
	var entries []entry
	for i := range 13 {
		entries = append(entries, entry{name: fmt.Sprint(i)})
	}
	c := open(t, write(t, append(entries, entry{name: "a.npy", data: array("|u1", "False", "()", []byte{7})})...))
	if n := len(c.Warnings); n != 11 || c.Warnings[10].String() != "3 more entries are not arrays of numpy" {
		t.Errorf("warnings %q", c.Warnings)
	}
}

// FuzzOpen compares small arrays with package npy on entries unpacked by the standard library.
func FuzzOpen(f *testing.F) {
	for _, pattern := range []string{"npz/*.npz", "bad/*.npz"} {
		names, err := filepath.Glob(filepath.Join(dumptest.GoldenDir, pattern))
		if err != nil || len(names) == 0 {
			f.Fatal(names, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if c != nil {
				t.Fatalf("contents come with the error %v", err)
			}
			return
		}
		dumptest.CheckContents(t, c)
		theirs, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for i := range c.Tensors {
			tt := &c.Tensors[i]
			if tt.Err == nil && tt.Size < 1<<20 {
				compare(t, &tt.Tensor, theirs, tt.Name+".npy")
			}
		}
	})
}

func compare(t *testing.T, tt *tensor.Tensor, theirs *zip.Reader, name string) {
	t.Helper()
	i := slices.IndexFunc(theirs.File, func(f *zip.File) bool { return f.Name == name })
	got, err := io.ReadAll(tt.Data)
	if err != nil || i < 0 {
		return
	}
	in, err := theirs.File[i].Open()
	if err != nil {
		return
	}
	unpacked, err := io.ReadAll(in)
	if err != nil {
		return // only the standard library checks stored entries here
	}
	array, err := npy.Open(bytes.NewReader(unpacked), int64(len(unpacked)))
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	if want, err := io.ReadAll(array.Data()); err != nil || !bytes.Equal(got, want) || array.DType() != tt.DType {
		t.Fatalf("%q: %v % x, want %v % x", name, tt.DType, got, array.Host, want)
	}
}
