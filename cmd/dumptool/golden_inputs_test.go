package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbinet/npyio"

	"dumptool/internal/tensor"
)

// inputsRoot has files with named tensors, and their expected contents.
var inputsRoot = filepath.Join("..", "..", "testdata", "golden", "inputs")

// inputCase is a file, how to read it, and the expectation.
type inputCase struct{ ID, Path, Kind, Format string }

// inputFile is the content of a file.
type inputFile struct {
	Tensors  []inputTensor
	Warnings []string
	Error    string
}

// inputTensor is a tensor of a file: its values, or an array file with them.
type inputTensor struct {
	Name, Stored, Error, NPY, Torch string
	Kind, Node                      string
	Index, Round                    int
	Seq                             int64
	Shape                           []int64
	Values                          []json.RawMessage
	Quant                           *inputQuant
	Attrs                           map[string]any
	NotATensor                      bool `json:"not_a_tensor"`
}

// inputQuant maps stored integers to numbers.
type inputQuant struct {
	Scale float64
	Zero  int64 `json:"zero_point"`
}

// inputErrors maps the classes of errors to parts of messages.
var inputErrors = map[string][]string{
	"datatype":           {"not", "sparse", "no ", "objects", "unknown", "unsupported"},
	"bounds":             {"elements", "more than 63 bits", "negative", "want at least 0"},
	"data":               {"record", "data", "cut", "truncated"},
	"torchscript":        {"TorchScript"},
	"truncated":          {"truncated", "cut", "beyond", "end", "zip:"},
	"not a tensor file":  {"not", "no "},
	"too deep":           {"deep", "nested"},
	"tar":                {"tar format"},
	"header":             {"header", "JSON"},
	"size":               {"bytes", "data_offsets", "63 bits"},
	"hole":               {"belong to no tensor"},
	"overlap":            {"overlap", "belong to"},
	"twice":              {"duplicate"},
	"checksum":           {"checksum"},
	"not HDF5":           {"HDF5"},
	"address":            {"outside", "beyond"},
	"btree":              {"B-tree"},
	"dataspace":          {"dataspace"},
	"heap":               {"heap"},
	"superblock":         {"superblock"},
	"filter":             {"filter"},
	"missing":            {"no such file", "missing"},
	"refused: os.system": {"os.system"},
}

func wantInputError(t *testing.T, class, text string) {
	t.Helper()
	parts := inputErrors[class]
	if name, ok := strings.CutPrefix(class, "refused: "); ok {
		parts = []string{name + " is not part of tensor files", name + ": a pickled model"}
	}
	if !slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) }) {
		t.Errorf("error %q, want one of class %q", text, class)
	}
}

// TestInputsGolden reads the files of other programs with inspect and convert.
func TestInputsGolden(t *testing.T) {
	t.Parallel()
	var cases []inputCase
	readJSON(t, filepath.Join(inputsRoot, "cases.json"), &cases)
	expect := map[string]json.RawMessage{}
	readJSON(t, filepath.Join(inputsRoot, "expect.json"), &expect)
	tested := 0
	for _, c := range cases {
		if expect[c.ID] == nil {
			continue
		}
		tested++
		if c.Kind != "read" && c.Kind != "refuse" {
			continue
		}
		var want inputFile
		if err := json.Unmarshal(expect[c.ID], &want); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(inputsRoot, filepath.FromSlash(c.Path))
			if c.Kind == "refuse" {
				refuseInput(t, path, want.Error)
				return
			}
			readInput(t, path, &want)
		})
	}
	if tested != len(expect) {
		t.Errorf("%d cases of %d files", tested, len(expect))
	}
}

// refuseInput expects the file to be refused, with a line that names it, and no output.
func refuseInput(t *testing.T, path, class string) {
	t.Helper()
	out := t.TempDir()
	for _, args := range [][]string{{"inspect", "--json", path}, {"convert", "-d", path, "-out", out}} {
		r := runArgs(t, args...)
		if r.code != 3 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, path) {
			t.Errorf("%s: exit %d, stderr %q", args[0], r.code, r.err)
		}
		wantInputError(t, class, r.err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("convert left %v, error %v", left, err)
	}
}

// readInput expects the contents of a file from inspect and from convert.
func readInput(t *testing.T, path string, want *inputFile) {
	t.Helper()
	code := 0
	switch {
	case slices.ContainsFunc(want.Tensors, func(x inputTensor) bool { return x.Error != "" }):
		code = 3
	case len(want.Tensors) == 0:
		code = 4
	}
	r := runArgs(t, "inspect", "--json", path)
	var file struct {
		Tensors []struct {
			Name, DType, Error, Kind string
			Node                     string
			Seq                      int64
			Round                    int
			Torch                    string `json:"torch_dtype"`
			Index                    int
			Shape                    []int64
			Attrs                    map[string]any
			Quant                    *inputQuant
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.out), &file); err != nil {
		t.Fatalf("inspect: %v in %q%s", err, r.out, r.err)
	}
	tensors := slices.DeleteFunc(slices.Clone(want.Tensors), func(x inputTensor) bool { return x.NotATensor })
	// The list has no warnings about elements: they are of the datasets that h5py wrote in parts.
	file.Warnings = slices.DeleteFunc(file.Warnings, func(w string) bool {
		name, _, unwritten := strings.Cut(w, " elements were never written: ")
		return unwritten && regexp.MustCompile(`^/(unwritten|sparse|sparse_unlimited|resized): `).MatchString(name)
	})
	if r.code != code || len(file.Tensors) != len(tensors) || (len(file.Warnings) > 0) != (len(want.Warnings) > 0) {
		t.Fatalf("inspect: exit %d, want %d; tensors %+v, want %+v; warnings %q, want %q", r.code, code, file.Tensors, tensors, file.Warnings, want.Warnings)
	}
	for i, got := range file.Tensors {
		w := tensors[i]
		switch {
		case got.Name != w.Name:
			t.Errorf("tensor %d is %q, want %q", i, got.Name, w.Name)
		case w.Error != "":
			wantInputError(t, w.Error, got.Error)
		case got.Error != "" || got.DType != w.Stored || !slices.Equal(got.Shape, w.Shape):
			t.Errorf("%q: %+v, want %+v", w.Name, got, w)
		case w.Node != "" && w.Seq > 0 && (got.Node != w.Node || got.Seq != w.Seq || got.Round != w.Round || got.Kind != w.Kind || got.Index != w.Index || got.Torch != w.Torch):
			t.Errorf("%q: %+v, want %+v", w.Name, got, w)
		case w.Quant != nil && (got.Quant == nil || *got.Quant != *w.Quant):
			t.Errorf("%q: quantisation %+v, want %+v", w.Name, got.Quant, w.Quant)
		}
	}

	out := t.TempDir()
	r = runArgs(t, "convert", "--json", "-d", path, "-out", out)
	var converted struct {
		Outputs []struct{ Name, Path, Error string }
	}
	if err := json.Unmarshal([]byte(r.out), &converted); err != nil {
		t.Fatalf("convert: %v in %q%s", err, r.out, r.err)
	}
	if r.code != code || len(converted.Outputs) != len(tensors) {
		t.Fatalf("convert: exit %d, want %d: %s%s", r.code, code, r.out, r.err)
	}
	files := 0
	for i, got := range converted.Outputs {
		w := &tensors[i]
		switch {
		case w.Error != "":
			wantInputError(t, w.Error, got.Error)
		case got.Error != "" || got.Name != w.Name:
			t.Errorf("converted %+v, want %+v", got, w)
		default:
			files++
			w.check(t, got.Path)
		}
	}
	if n := countFiles(t, out); n != files {
		t.Errorf("%d files, want %d", n, files)
	}
}

// check expects the values of the tensor in an array file.
func (w *inputTensor) check(t *testing.T, path string) {
	t.Helper()
	descr, shape, data := readNPY(t, path)
	if w.NPY != "" {
		wantDescr, wantShape, wantData := readNPY(t, filepath.Join(inputsRoot, filepath.FromSlash(w.NPY)))
		if descr != wantDescr || !slices.Equal(shape, wantShape) || !bytes.Equal(data, wantData) && fmt.Sprint(numbers(t, descr, data)) != fmt.Sprint(numbers(t, descr, wantData)) {
			t.Errorf("%q: %s %v, want %s %v, or other values", w.Name, descr, shape, wantDescr, wantShape)
		}
		return
	}
	got := numbers(t, descr, data)
	if len(got) != len(w.Values) {
		t.Fatalf("%q: %v, want %s", w.Name, got, w.Values)
	}
	for i, raw := range w.Values {
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if !sameNumber(got[i], want) {
			t.Errorf("%q: element %d is %v, want %s", w.Name, i, got[i], raw)
		}
	}
}

// sameNumber compares a number with its JSON form: a number, a bool, a text such as nan, or the
// parts of a complex number.
func sameNumber(got complex128, want any) bool {
	switch want := want.(type) {
	case float64:
		return imag(got) == 0 && real(got) == want
	case bool:
		return got == map[bool]complex128{true: 1}[want]
	case string:
		x := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[want]
		return real(got) == x || math.IsNaN(x) && math.IsNaN(real(got))
	case []any:
		return sameNumber(complex(real(got), 0), want[0]) && sameNumber(complex(imag(got), 0), want[1])
	}
	return false
}

// readNPY reads an array file with another program's reader.
func readNPY(t *testing.T, path string) (descr string, shape []int, data []byte) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := npyio.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if r.Header.Descr.Fortran && len(r.Header.Descr.Shape) > 1 {
		t.Fatalf("%s is in Fortran order", path)
	}
	data, err = io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Descr.Type, append([]int{}, r.Header.Descr.Shape...), data
}

// numbers returns the elements of an array file.
func numbers(t *testing.T, descr string, data []byte) []complex128 {
	t.Helper()
	order := binary.LittleEndian
	var all []complex128
	for len(data) > 0 {
		var x complex128
		n := 1
		switch descr[1:] {
		case "b1", "u1":
			x = complex(float64(data[0]), 0)
		case "i1":
			x = complex(float64(int8(data[0])), 0)
		case "i2":
			n, x = 2, complex(float64(int16(order.Uint16(data))), 0)
		case "u2":
			n, x = 2, complex(float64(order.Uint16(data)), 0)
		case "f2":
			n, x = 2, complex(tensor.Float16To64(order.Uint16(data)), 0)
		case "i4":
			n, x = 4, complex(float64(int32(order.Uint32(data))), 0)
		case "u4":
			n, x = 4, complex(float64(order.Uint32(data)), 0)
		case "f4":
			n, x = 4, complex(float64(math.Float32frombits(order.Uint32(data))), 0)
		case "i8":
			n, x = 8, complex(float64(int64(order.Uint64(data))), 0)
		case "u8":
			n, x = 8, complex(float64(order.Uint64(data)), 0)
		case "f8":
			n, x = 8, complex(math.Float64frombits(order.Uint64(data)), 0)
		case "c8":
			n, x = 8, complex(float64(math.Float32frombits(order.Uint32(data))), float64(math.Float32frombits(order.Uint32(data[4:]))))
		case "c16":
			n, x = 16, complex(math.Float64frombits(order.Uint64(data)), math.Float64frombits(order.Uint64(data[8:])))
		default:
			t.Fatalf("element type %s", descr)
		}
		all, data = append(all, x), data[n:]
	}
	return all
}

func countFiles(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) != "mapping.csv" {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestInputsPairs compares torch.utils.dumper files of an NPU and of a GPU: the pairs are the known
// ones.
func TestInputsPairs(t *testing.T) {
	t.Parallel()
	var cases []struct{ ID, NPU, Golden string }
	readJSON(t, filepath.Join(inputsRoot, "cases.json"), &cases)
	var expect struct {
		Pairs struct {
			Pairs []struct{ NPU, Golden string }
		} `json:"h5_pairs"`
	}
	readJSON(t, filepath.Join(inputsRoot, "expect.json"), &expect)
	for _, c := range cases {
		if c.ID != "h5_pairs" {
			continue
		}
		out := t.TempDir()
		r := runArgs(t, "compare", "--cpu", filepath.Join(inputsRoot, c.Golden), "--npu", filepath.Join(inputsRoot, c.NPU), "--out", out)
		if r.code != exitFinding {
			t.Errorf("exit %d: %s", r.code, r.err)
		}
		var doc struct {
			Order string `json:"order_source"`
			Rows  []struct {
				Ref string `json:"ref_file"`
				NPU string `json:"npu_file"`
			}
		}
		readJSON(t, filepath.Join(out, "compare.json"), &doc)
		if want := "sequence numbers of the dumps, 5 of 5 operators known"; doc.Order != want {
			t.Errorf("order %q, want %q", doc.Order, want)
		}
		var got, want []string
		member := func(file string) string { return file[strings.Index(file, ":")+1:] }
		last := 0
		for _, row := range doc.Rows {
			got = append(got, member(row.NPU)+" = "+member(row.Ref))
			seq, err := strconv.Atoi(strings.Split(member(row.NPU)+"//", "/")[2])
			if row.NPU != "" && (err != nil || seq < last) {
				t.Errorf("%s comes after number %d", row.NPU, last)
			}
			last = max(last, seq)
		}
		for _, p := range expect.Pairs.Pairs {
			want = append(want, p.NPU+" = "+p.Golden)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("pairs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return
	}
	t.Error("there is no case h5_pairs")
}
