package npy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// table reads a file of testdata with one row a line and tabs between fields.
func table(t testing.TB, name string) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(string(testdata(t, name))) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func hostOf(t testing.TB, name string) tensor.Host {
	t.Helper()
	for _, h := range tensor.Hosts() {
		if h.String() == name {
			return h
		}
	}
	t.Fatalf("no element type %s", name)
	return tensor.HostNone
}

// shapeOf reads a shape of the tables: 2x3x4, 1*5 for five ones, or nothing.
func shapeOf(t testing.TB, s string) tensor.Shape {
	t.Helper()
	dim, times, repeated := strings.Cut(s, "*")
	if repeated {
		n, err := strconv.Atoi(times)
		if err != nil {
			t.Fatal(err)
		}
		s = strings.TrimSuffix(strings.Repeat(dim+"x", n), "x")
	}
	var shape tensor.Shape
	for field := range strings.SplitSeq(s, "x") {
		if field == "" {
			continue
		}
		d, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		shape = append(shape, d)
	}
	return shape
}

// goldenFile is a row of golden.tsv.
type goldenFile struct {
	name  string
	head  Header
	spare int64
	want  []byte
}

func goldenFiles(t testing.TB) []goldenFile {
	t.Helper()
	var files []goldenFile
	for _, row := range table(t, "golden.tsv") {
		want, err := hex.DecodeString(row[6])
		if err != nil {
			t.Fatal(err)
		}
		spare, err := strconv.ParseInt(row[5], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, goldenFile{row[0], Header{
			Host: hostOf(t, row[1]), Shape: shapeOf(t, row[2]),
			Fortran: row[3] == "1", BigEndian: row[4] == "1",
		}, spare, want})
	}
	return files
}

func TestHeadersOfNumpy(t *testing.T) {
	for _, row := range table(t, "headers.tsv") {
		got, err := AppendHeader(nil, hostOf(t, row[0]), shapeOf(t, row[1]))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(got)
		if hex.EncodeToString(sum[:]) == row[2] {
			continue
		}
		var want string
		if err := json.Unmarshal([]byte(row[3]), &want); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s %s: %d bytes, %q, want %q", row[0], row[1], len(got), got[:min(len(got), 1000)], want)
	}
}

func TestGoldenFiles(t *testing.T) {
	for _, g := range goldenFiles(t) {
		t.Run(g.name, func(t *testing.T) {
			data := testdata(t, g.name)
			f, err := openBytes(t, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.head, f.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if f.Size != int64(len(g.want)) || f.Spare != g.spare || f.Offset+f.Size+f.Spare != int64(len(data)) {
				t.Errorf("offset %d, size %d, spare %d in a file of %d", f.Offset, f.Size, f.Spare, len(data))
			}
			if diff := cmp.Diff(g.want, readAll(t, f.Data())); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			v := f.view()
			section, ok := v.Section()
			if ok == (g.head.Fortran || g.head.BigEndian) {
				t.Errorf("Section: ok = %v for %+v", ok, g.head)
			}
			if ok {
				if _, off, n := section.Outer(); off != f.Offset || n != f.Size {
					t.Errorf("Section is %d bytes at %d, want %d at %d", n, off, f.Size, f.Offset)
				}
			}
		})
	}
}

// TestSaveAsNumpy writes the golden files that are in the form of numpy.save.
func TestSaveAsNumpy(t *testing.T) {
	for _, g := range goldenFiles(t) {
		data := testdata(t, g.name)
		version := data[len(Magic)]
		if g.head.Fortran || g.head.BigEndian || g.spare > 0 || version != 1 || g.name == "python2.npy" {
			continue
		}
		got, err := AppendHeader(nil, g.head.Host, g.head.Shape)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(data, append(got, g.want...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g.name, diff)
		}
	}
}

func TestUnsupportedFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/other-*.npy")
	if err != nil || len(names) != 11 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		f, err := openBytes(t, testdata(t, filepath.Base(name)))
		var unsupported *UnsupportedError
		if f != nil || !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "element type is not supported") && !strings.Contains(err.Error(), "without a type") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}
