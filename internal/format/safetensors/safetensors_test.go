package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

func TestGolden(t *testing.T) {
	dumptest.Golden(t, "st", Open, map[string]string{
		"datatype": `element type "F4_NEW" is not supported`,
		"hole":     "of the data belong to no tensor",
		"header":   "header: a, line 1, column 9: found the end of the file",
		"twice":    `duplicate key "a"`,
	})
}

func open(t testing.TB, data []byte) *format.Contents {
	t.Helper()
	c, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dumptest.CheckContents(t, c)
	return c
}

// dtypeNames are all element types, and an unknown one.
func dtypeNames() []string {
	names := []string{"F4"}
	for name := range slowSizes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func drawTensors(rt *rapid.T) []slowTensor {
	var all []slowTensor
	for i := range rapid.IntRange(0, 5).Draw(rt, "tensors") {
		t := slowTensor{
			name:  fmt.Sprint(rapid.String().Draw(rt, "name"), i),
			dtype: rapid.SampledFrom(dtypeNames()).Draw(rt, "type"),
			shape: rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(rt, "shape"),
		}
		size := slowSizes[t.dtype]
		for _, n := range t.shape {
			size *= n
		}
		t.data = rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(rt, "data")
		all = append(all, t)
	}
	return all
}

// same compares the tensors read with the expected ones, in any order.
func same(t testing.TB, got []format.Tensor, want []slowTensor) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tensors, want %d", len(got), len(want))
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(g format.Tensor) bool { return g.Name == w.name })
		if i < 0 {
			t.Fatalf("no %q", w.name)
		}
		g := got[i]
		if !slices.Equal(g.Path, []string{w.name}) {
			t.Errorf("path %q of %q", g.Path, w.name)
		}
		if slowSizes[w.dtype] == 0 {
			if g.Err == nil {
				t.Errorf("%q: no error for type %s", w.name, w.dtype)
			}
			continue
		}
		if g.Err != nil || !slices.Equal(g.Shape, w.shape) || dtypes[w.dtype] != g.DType {
			t.Fatalf("%q: %v%v, error %v, want %s%v", w.name, g.DType, g.Shape, g.Err, w.dtype, w.shape)
		}
		if data, err := readAll(g.Data, g.Size); err != nil || !bytes.Equal(data, w.data) {
			t.Errorf("%q: % x, %v, want % x", w.name, data, err, w.data)
		}
	}
}

// TestOpen reads files with members in any order.
func TestOpen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawTensors(rt)
		c := open(t, slowWrite(want, `"__metadata__": {"format": "pt", "a": "b"}`))
		same(t, c.Tensors, want)
		if n := len(c.Values); n != 2 || c.Values[0] != (format.Value{Name: "__metadata__.format", Type: "text", Text: "pt"}) {
			rt.Errorf("values %+v", c.Values)
		}
	})
}

// TestOrder has tensors in the order of their data, and empty ones at the same offset in the order
// of their names.
func TestOrder(t *testing.T) {
	c := open(t, file(`{"z": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
		"b": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]},
		"e": {"dtype": "U8", "shape": [0], "data_offsets": [2, 2]},
		"d": {"dtype": "U8", "shape": [0], "data_offsets": [2, 2], "other": [{}]}} `, "123"))
	var names []string
	for _, tt := range c.Tensors {
		names = append(names, tt.Name)
	}
	if got := strings.Join(names, " "); got != "z d e b" {
		t.Errorf("order %s", got)
	}
	if _, off, n := c.Tensors[3].Data.Outer(); n != 1 || off != c.Tensors[0].Data.Size()+offset(c.Tensors[0].Data) {
		t.Errorf("%d bytes at %d", n, off)
	}
}

func offset(s *io.SectionReader) int64 {
	_, off, _ := s.Outer()
	return off
}

// one is a header with one tensor.
func one(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"a": {"dtype": %s, "shape": %s, "data_offsets": %s}}`, dtype, shape, offsets)
}

var malformed = []struct {
	file []byte
	want string
}{
	{nil, "the file is truncated: 0 bytes, want 8"},
	{[]byte("1234567"), "the file is truncated: 7 bytes, want 8"},
	{file("", "")[:8], "header: line 1, column 1: found the end of the file, wanted an object"},
	{[]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "its header has 18446744073709551615 bytes, 2 bytes are there"},
	{[]byte("\x03\x00\x00\x00\x00\x00\x00\x00{}"), "its header has 3 bytes, 2 bytes are there"},
	{file(` {}`, ""), "header: found ' ' at its first byte, want a JSON object"},
	{file(`[]`, ""), "header: found '[' at its first byte"},
	{file(`{} x`, ""), `header: line 1, column 4: found "x", wanted the end`},
	{file(`{}`+"\x00", ""), `wanted the end of the file`},
	{file(`{"a": 1}`, ""), `header: a, line 1, column 7: found "1", wanted an object`},
	{file(`{"a": {}}`, ""), `header: "a": no key dtype`},
	{file(`{"a": {"dtype": "U8", "shape": []}}`, ""), `"a": no key data_offsets`},
	{file(`{"__metadata__": {"a": 1}}`, ""), `__metadata__.a, line 1, column 24: found "1", wanted a text`},
	{file(`{"__metadata__": {"a": "", "a": ""}}`, ""), `duplicate key "a" of __metadata__`},
	{file(`{"__metadata__": {}, "__metadata__": {}}`, ""), `duplicate key "__metadata__"`},
	{file(`{"a": {"dtype": "U8", "dtype": "U8"}}`, ""), `"a": duplicate key "dtype"`},
	{file(one(`1`, `[]`, `[0, 1]`), "1"), `found "1", wanted a name of an element type`},
	{file(one(`"U8"`, `1`, `[0, 1]`), "1"), `found "1", wanted an array`},
	{file(one(`"U8"`, `["1"]`, `[0, 1]`), "1"), `found "\"", wanted a whole number`},
	{file(one(`"U8"`, `[1.0]`, `[0, 1]`), "1"), `"a": found 1.0, want a whole number from 0 to 2^63-1`},
	{file(one(`"U8"`, `[-1]`, `[0, 1]`), "1"), `"a": found -1, want a whole number`},
	{file(one(`"U8"`, `[-0]`, `[0, 0]`), ""), `"a": found -0, want a whole number`},
	{file(one(`"U8"`, `[9223372036854775808]`, `[0, 1]`), "1"), `"a": found 9223372036854775808, want`},
	{file(one(`"U8"`, `[1]`, `[0]`), "1"), `"a": 1 data_offsets, want 2`},
	{file(one(`"U8"`, `[1]`, `[0, 1, 2]`), "1"), `wanted two offsets`},
	{file(one(`"U8"`, `[1]`, `[1, 0]`), "1"), `"a": data_offsets [1, 0]: the size is negative`},
	{file(one(`"F4"`, `[1]`, `[1, 0]`), "1"), `"a": data_offsets [1, 0]: the size is negative`},
	{file(one(`"F32"`, `[4294967296, 2147483648]`, `[0, 1]`), "1"), `"a": the size of F32(4294967296, 2147483648) has more than 63 bits`},
	{file(one(`"F32"`, `[2, 1]`, `[0, 4]`), "1234"), `"a": data_offsets [0, 4] have 4 bytes, the size of F32(2, 1) is 8`},
	{file(one(`"U8"`, `[4]`, `[0, 4]`), "123"), `"a": the data from 0 to 4 goes beyond the end at 3 bytes: the file is truncated`},
	{file(one(`"U8"`, `[4]`, `[4, 8]`), "12345678"), "bytes 0 to 4 of the data belong to no tensor"},
	{file(one(`"U8"`, `[4]`, `[0, 4]`), "12345678"), "bytes 4 to 8 of the data belong to no tensor"},
	{file(`{}`, "1"), "bytes 0 to 1 of the data belong to no tensor"},
	{file(`{"b": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}, "a": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}}`, "123"),
		`"a": the data from 1 to 3 overlaps the data of "b", which end at 2`},
	{file(`{"b": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}, "a": {"dtype": "U8", "shape": [0], "data_offsets": [1, 1]}}`, "12"),
		`"a": the data from 1 to 1 overlaps the data of "b", which end at 2`},
	{file(one(`"U8"`, `[`+strings.Repeat("1,", 32)+`1]`, `[0, 1]`), "1"), `"a": more than 32 dimensions are not supported`},
	{file(strings.Repeat(`{"a":`, 2000), ""), "found"},
}

// TestMalformed expects an error and no result.
func TestMalformed(t *testing.T) {
	for _, tt := range malformed {
		c, err := Open(bytes.NewReader(tt.file), int64(len(tt.file)))
		if err == nil || c != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: %v, error %v, want ...%s...", tt.file, c, err, tt.want)
		}
		checkType(t, err)
		if slow, err := slowRead(tt.file); err == nil && !strings.Contains(tt.want, "not supported") && !bytes.Contains(tt.file, []byte("[1, 1]")) {
			t.Errorf("the slow reader reads %.60q: %v", tt.file, slow)
		}
	}
}

func checkType(t testing.TB, err error) {
	t.Helper()
	var format *FormatError
	var unsupported *UnsupportedError
	var place *jsonpos.Error
	if !errors.As(err, &format) && !errors.As(err, &unsupported) && !errors.As(err, &place) {
		t.Errorf("error %v of type %T", err, err)
	}
}

// sparse is a file of zeros after its first bytes.
type sparse []byte

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(s)) {
		copy(p, s[off:])
	}
	return len(p), nil
}

// TestLimits bounds the header, and the memory for numbers in it.
func TestLimits(t *testing.T) {
	head := sparse("\x01\x00\x40\x06\x00\x00\x00\x00{")
	if _, err := Open(head, 1<<40); err == nil || err.Error() != "a header of 104857601 bytes is not supported, want at most 104857600" {
		t.Errorf("error %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	huge := file(one(`"U8"`, `[1099511627768]`, `[0, 1099511627768]`), "")
	c, err := Open(sparse(huge), int64(len(huge))+1099511627768)
	runtime.ReadMemStats(&after)
	if err != nil || c.Tensors[0].Size != 1099511627768 {
		t.Errorf("%+v, %v", c, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes", used)
	}
}

func TestTooMany(t *testing.T) {
	text := `{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`
	header := func() *io.SectionReader { return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))) }
	if h, err := parseHeader(header(), 2); err != nil || len(h.tensors) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := parseHeader(header(), 1); err == nil || err.Error() != "more than 1 tensors are not supported" {
		t.Errorf("error %v", err)
	}
}

// TestReadErrors checks that errors of the file are returned.
func TestReadErrors(t *testing.T) {
	data := file(one(`"U8"`, `[1]`, `[0, 1]`), "1")
	for cut := range len(data) - 1 {
		_, err := Open(bytes.NewReader(data[:cut]), int64(len(data)))
		if err == nil || cut < 8 && !errors.Is(err, io.EOF) {
			t.Errorf("cut at %d: error %v", cut, err)
		}
	}
}

// TestWrite compares with the slow reader, and with the order of the format's own library.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := slices.DeleteFunc(drawTensors(rt), func(s slowTensor) bool { return slowSizes[s.dtype] == 0 })
		byName := map[string]slowTensor{}
		var entries []Entry
		for _, w := range want {
			entries = append(entries, Entry{w.name, dtypes[w.dtype], w.shape})
			byName[w.name] = w
		}
		Sort(entries)
		data, err := AppendHeader(nil, entries)
		if err != nil {
			rt.Fatal(err)
		}
		if len(data)%8 != 0 {
			rt.Errorf("the data begins at %d", len(data))
		}
		for i, e := range entries {
			if i > 0 && (byName[entries[i-1].Name].size() < byName[e.Name].size() ||
				byName[entries[i-1].Name].size() == byName[e.Name].size() && entries[i-1].Name > e.Name) {
				rt.Errorf("%q before %q", entries[i-1].Name, e.Name)
			}
			data = append(data, byName[e.Name].data...)
		}
		got, err := slowRead(data)
		if err != nil {
			rt.Fatal(err)
		}
		same(t, open(t, data).Tensors, got)
		same(t, open(t, data).Tensors, want)
	})
}

func (s slowTensor) size() int64 { return slowSizes[s.dtype] }

// TestWriteBytes compares whole files: the example of the specification, padded to 8 bytes, and a
// file without tensors.
func TestWriteBytes(t *testing.T) {
	for _, tt := range []struct {
		entries []Entry
		want    string
	}{
		{nil, "\x08\x00\x00\x00\x00\x00\x00\x00{}      "},
		{[]Entry{{"a", tensor.Float32, tensor.Shape{2}}},
			"\x38\x00\x00\x00\x00\x00\x00\x00" + `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  `},
		{[]Entry{{"<\n>\"", tensor.Float64, tensor.Shape{2, 0}}, {"b", tensor.BFloat16, nil}},
			"\x78\x00\x00\x00\x00\x00\x00\x00" + `{"<\n>\"":{"dtype":"F64","shape":[2,0],"data_offsets":[0,0]},` +
				`"b":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}      `},
	} {
		got, err := AppendHeader([]byte("before"), tt.entries)
		if err != nil || string(got) != "before"+tt.want {
			t.Errorf("%q, %v, want %q", got, err, tt.want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	for want, entries := range map[string][]Entry{
		"no element type complex128":                               {{"a", tensor.Complex128, nil}},
		"is too large":                                             {{"a", tensor.Float64, tensor.Shape{1 << 60}}},
		`"b": uint8(9223372036854775807,) is too large`:            {{"a", tensor.Uint8, nil}, {"b", tensor.Uint8, tensor.Shape{1<<63 - 1}}},
		`"a": duplicate name`:                                      {{"a", tensor.Uint8, nil}, {"a", tensor.Uint8, nil}},
		`"__metadata__": __metadata__ is the name of the metadata`: {{"__metadata__", tensor.Uint8, nil}},
		`for 1 tensors, safetensors has at most 104857600`:         {{strings.Repeat("a", MaxHeader), tensor.Uint8, nil}},
	} {
		if got, err := AppendHeader(nil, entries); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ...%s...", err, want)
		}
	}
}

// FuzzOpen compares with the slow reader: both accept a file with the same result, or both refuse
// it.
func FuzzOpen(f *testing.F) {
	for _, pattern := range []string{"st/*.safetensors", "bad/*.safetensors"} {
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
	for _, tt := range malformed {
		f.Add(tt.file)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		want, slowErr := slowRead(data)
		if err != nil {
			checkType(t, err)
			if c != nil {
				t.Fatalf("contents come with the error %v", err)
			}
			if slowErr == nil && !emptyInside(err) {
				t.Fatalf("error %v, the slow reader has none", err)
			}
			return
		}
		if slowErr != nil {
			t.Fatalf("no error, the slow reader says %v", slowErr)
		}
		dumptest.CheckContents(t, c)
		same(t, c.Tensors, want)
	})
}

// emptyInside reports whether an error may be about an empty tensor inside another one, or beyond
// the data: the slow reader checks bytes only.
func emptyInside(err error) bool {
	return strings.Contains(err.Error(), "overlaps") || strings.Contains(err.Error(), "belong to no tensor")
}
