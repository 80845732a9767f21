package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
)

const goodText = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n"

// text returns a header text with the values for its three keys.
func text(descr, order, shape string) string {
	return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}\n"
}

func shaped(shape string) string { return text("'<f4'", "False", shape) }

func typed(descr string) string { return text(descr, "False", "(2,)") }

func TestAcceptedShapes(t *testing.T) {
	tests := map[string]tensor.Shape{
		"()": nil, "( )": nil, "(2,)": {2}, "( 2 , )": {2}, "(2,3)": {2, 3}, "(2,3,)": {2, 3}, "(2L, 3L)": {2, 3},
		"(\t2\f,\r\n3)": {2, 3}, "(007,)": {7},
		"(4611686018427387904, 4611686018427387904, 0)": {1 << 62, 1 << 62, 0},
	}
	data := make([]byte, 4000)
	for text, want := range tests {
		f, err := openBytes(t, withHeader(1, shaped(text), data))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, f.Shape); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAcceptedTypes(t *testing.T) {
	tests := map[string]Header{
		"'<f4'": {Host: tensor.HostFloat32}, "'=f4'": {Host: tensor.HostFloat32}, "'|f4'": {Host: tensor.HostFloat32},
		"'f4'": {Host: tensor.HostFloat32}, "\"<f4\"": {Host: tensor.HostFloat32},
		"'>f4'": {Host: tensor.HostFloat32, BigEndian: true}, "'>f2'": {Host: tensor.HostFloat16, BigEndian: true},
		"'|b1'": {Host: tensor.HostBool}, "'>i1'": {Host: tensor.HostInt8}, "'|u1'": {Host: tensor.HostUint8},
		"'>c16'": {Host: tensor.HostComplex128, BigEndian: true},
		"'|V2'":  {Host: tensor.HostUint16, Float: tensor.BFloat16}, "'<V2'": {Host: tensor.HostUint16, Float: tensor.BFloat16},
		"'>V2'": {Host: tensor.HostUint16, Float: tensor.BFloat16, BigEndian: true}, "'<f1'": {Host: tensor.HostUint8, Float: tensor.Float8E5M2},
	}
	for text, want := range tests {
		want.Shape = tensor.Shape{2}
		f, err := openBytes(t, withHeader(1, typed(text), make([]byte, 32)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, f.Header); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAcceptedDicts(t *testing.T) {
	for _, text := range []string{
		goodText, strings.TrimSpace(goodText), "  \n\n" + goodText + "\n ",
		`{"shape": (2,), "fortran_order": False, "descr": "<f4",}`,
		`{'shape':(2,),'fortran_order':False,'descr':'<f4'}`,
		"{\n'shape':\r\n(2,)\t,\f'fortran_order' : False,'descr':'<f4' }\r\n",
	} {
		for version := byte(1); version <= 3; version++ {
			f, err := openBytes(t, withHeader(version, text, make([]byte, 10)))
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if diff := cmp.Diff(Header{Host: tensor.HostFloat32, Shape: tensor.Shape{2}}, f.Header); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
			if f.Size != 8 || f.Spare != 2 {
				t.Errorf("%q: size %d, spare %d", text, f.Size, f.Spare)
			}
		}
	}
}

// readerErrors are broken files and a part of the message for each.
var readerErrors = []struct {
	name string
	file string
	want string
}{
	{"empty", "", "npy: file is truncated, want 8 bytes, found 0 at 0x0"},
	{"no magic", "PK\x03\x04 and more", `magic is wrong, want "\x93NUMPY", found "PK\x03\x04 a" at 0x0`},
	{"short no magic", "P", `magic is wrong, want "\x93NUMPY", found "P" at 0x0`},
	{"magic only", "\x93NUMPY", "file is truncated, want 8 bytes, found 6 at 0x6"},
	{"no length", "\x93NUMPY\x01\x00\x01", "header length is truncated, want 2 bytes, found 1 at 0x8"},
	{"no length 2", "\x93NUMPY\x02\x00\x01\x00\x00", "header length is truncated, want 4 bytes, found 3 at 0x8"},
	{"header length", "\x93NUMPY\x01\x00\x40\x00{}", "header is truncated, want 64 bytes, found 2 at 0xa"},
	{"huge header length", "\x93NUMPY\x03\x00\xff\xff\xff\xff{}", "header is truncated, want 4294967295 bytes, found 2 at 0xc"},
	{"no header", string(withHeader(1, "", nil)), "header ends, want { at 0xa"},
	{"blank header", string(withHeader(1, " \n", nil)), "header ends, want { at 0xc"},
	{"not utf-8", string(withHeader(3, goodText+"#\xff", nil)), "header is not utf-8 at 0xc"},
	{"nul", string(withHeader(1, goodText+"\x00", nil)), "header has a zero byte at 0x42"},
	{"second dict", string(withHeader(1, goodText+"{}", nil)), `want the end of the header, found "{}"`},
	{"comment", string(withHeader(1, goodText+"# c", nil)), `want the end of the header, found "# c"`},
	{"in brackets", string(withHeader(1, "("+goodText+")", nil)), `header is not a dict of numpy, want {, found "({'descr'`},
	{"not a dict", string(withHeader(1, "[1, 2]", nil)), `header is not a dict of numpy, want {, found "[1, 2]" at 0xa`},
	{"set", string(withHeader(1, "{1, 2}", nil)), `want a key in quotes, found "1, 2}" at 0xb`},
	{"set of keys", string(withHeader(1, "{'descr', 'shape'}", nil)), `want a colon, found ", 'shape'}"`},
	{"open dict", string(withHeader(1, "{'descr': '<f4', ", nil)), "header ends, want a key in quotes at 0x1b"},
	{"dict without comma", string(withHeader(1, "{'descr': '<f4' 'shape': ()}", nil)), `want a comma or }, found "'shape': ()}"`},
	{"two commas", string(withHeader(1, "{'descr': '<f4',,}", nil)), `want a key in quotes, found ",}"`},
	{"comma only", string(withHeader(1, "{,}", nil)), `want a key in quotes, found ",}"`},
	{"no keys", string(withHeader(1, "{}", nil)), "header has no key descr at 0xa"},
	{"missing key", string(withHeader(1, "{'descr': '<f4', 'shape': ()}", nil)), "header has no key fortran_order"},
	{"other key", string(withHeader(1, "{'descr': '<f4', 'x': 1}", nil)), `want one of the keys descr, fortran_order and shape, found "'x': 1}" at 0x1b`},
	{"key twice", string(withHeader(1, "{'descr': '<f4', 'descr': '<f4'}", nil)), `want every key once, found "'descr': '<f4'}" at 0x1b`},
	{"escaped key", string(withHeader(1, `{'\x64escr': '<f4'}`, nil)), "want a key in quotes"},
	{"bytes key", string(withHeader(1, "{b'descr': '<f4'}", nil)), `want a key in quotes, found "b'descr'`},
	{"shape is an integer", string(withHeader(1, shaped("(2)"), nil)), `want a tuple of integers, found "(2)}\n" at 0x3c`},
	{"shape is a list", string(withHeader(1, shaped("[2]"), nil)), "want a tuple of integers"},
	{"shape is a string", string(withHeader(1, shaped("'2'"), nil)), "want a tuple of integers"},
	{"shape of bools", string(withHeader(1, shaped("(True, 2)"), nil)), "want a tuple of integers"},
	{"shape of tuples", string(withHeader(1, shaped("((2,),)"), nil)), "want a tuple of integers"},
	{"negative dimension", string(withHeader(1, shaped("(0, -1)"), nil)), `shape has a negative dimension, found "(0, -1)" at 0x3c`},
	{"two signs", string(withHeader(1, shaped("(--1,)"), nil)), "want a tuple of integers"},
	{"float", string(withHeader(1, shaped("(2.0,)"), nil)), "want a tuple of integers"},
	{"hexadecimal", string(withHeader(1, shaped("(0x2,)"), nil)), "want a tuple of integers"},
	{"huge dimension", string(withHeader(1, shaped("(9223372036854775808,)"), nil)), `dimension is over 63 bits, found "9223372036854775808" at 0x3c`},
	{"huge shape", string(withHeader(1, shaped("(4294967296, 4294967296)"), nil)), `shape has more than 63 bits of data, found "(4294967296, 4294967296)" at 0xa`},
	{"huge data", string(withHeader(1, shaped("(4611686018427387904,)"), nil)), "shape has more than 63 bits of data"},
	{"shape without comma", string(withHeader(1, shaped("(2 3)"), nil)), "want a tuple of integers"},
	{"wrong bracket", string(withHeader(1, shaped("(2]"), nil)), "want a tuple of integers"},
	{"open shape", string(withHeader(1, "{'shape': (2, ", nil)), `want a tuple of integers, found "(2, "`},
	{"order is an integer", string(withHeader(1, text("'<f4'", "0", "()"), nil)), `want True or False, found "0, 'shape': ()}\n" at 0x2c`},
	{"order is a name", string(withHeader(1, text("'<f4'", "false", "()"), nil)), "want True or False"},
	{"order goes on", string(withHeader(1, text("'<f4'", "Falsehood", "()"), nil)), "want True or False"},
	{"descr is an integer", string(withHeader(1, typed("4"), nil)), `want a type string, found "4, 'fortran_order'`},
	{"descr is bytes", string(withHeader(1, typed("b'<f4'"), nil)), "want a type string"},
	{"descr is a dict", string(withHeader(1, typed("{'a': 1}"), nil)), "want a type string"},
	{"descr of no type", string(withHeader(1, typed("'<f3'"), nil)), `descr is not a type string of numpy, found "'<f3'" at 0x14`},
	{"descr is empty", string(withHeader(1, typed("''"), nil)), "descr is not a type string of numpy"},
	{"descr is an order", string(withHeader(1, typed("'>'"), nil)), "descr is not a type string of numpy"},
	{"descr is a name", string(withHeader(1, typed("'>float32'"), nil)), "descr is not a type string of numpy"},
	{"open string", string(withHeader(1, "{'descr", nil)), `want a key in quotes, found "'descr" at 0xb`},
	{"string over lines", string(withHeader(1, "{'de\nscr'}", nil)), "want a key in quotes"},
	{"truncated data", string(withHeader(1, goodText, make([]byte, 7))), "data is truncated, want 8 bytes, found 7 at 0x49"},
	{"no data", string(withHeader(1, goodText, nil)), "data is truncated, want 8 bytes, found 0 at 0x42"},
}

func TestReaderErrors(t *testing.T) {
	for _, tt := range readerErrors {
		t.Run(tt.name, func(t *testing.T) {
			f, err := openBytes(t, []byte(tt.file))
			var broken *FormatError
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if f != nil {
				t.Errorf("a file comes with the error: %+v", f)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	long := withHeader(2, strings.Repeat(" ", maxHeader)+goodText, nil)
	tests := map[string]string{
		"\x93NUMPY\x04\x00 and more": `format version is not supported, want 1.0, 2.0 or 3.0, found "4.0" at 0x6`,
		"\x93NUMPY\x01\x01":          `format version is not supported, want 1.0, 2.0 or 3.0, found "1.1" at 0x6`,
		string(long):                 "header length over 1048576 bytes is not supported, found 1048632 at 0x8",
	}
	for _, descr := range []string{
		"'|O'", "'|S5'", "'<U3'", "'|V3'", "'>M8[25s]'", "'<m8'", "'<f16'", "'<f12'", "'>c32'",
	} {
		tests[string(withHeader(1, typed(descr), nil))] = "element type is not supported, found \"" + descr + "\" at 0x14"
	}
	for _, descr := range []string{"'|V1'", "'<V1'"} {
		tests[string(withHeader(1, typed(descr), nil))] = "without a type: float8, float4 or int4 of ml_dtypes, the header does not say which (save them as float32), found \"" + descr + "\" at 0x14"
	}
	for _, descr := range []string{"[('a', '<f4')]", "[]", "('<f4', (2,))", "[('', '|V4'), ('b', [('c', '<i2', (3,))])]"} {
		tests[string(withHeader(1, typed(descr), nil))] = "structured element type is not supported"
	}
	for file, want := range tests {
		f, err := openBytes(t, []byte(file))
		var unsupported *UnsupportedError
		if f != nil || !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, %v, want %q", file, f, err, want)
		}
	}
}

// TestOpenSize passes wrong sizes of the file.
func TestOpenSize(t *testing.T) {
	data := withHeader(1, goodText, make([]byte, 8))
	for _, size := range []int64{int64(len(data)) - 1, 0, -1, -1 << 63} {
		f, err := Open(bytes.NewReader(data), size)
		var broken *FormatError
		if f != nil || !errors.As(err, &broken) {
			t.Errorf("size %d: %v, %v", size, f, err)
		}
	}
	for _, n := range []int{5, 20} {
		f, err := Open(bytes.NewReader(data[:n]), int64(len(data)))
		if f != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes of %d: %v, %v", n, len(data), f, err)
		}
	}
}

// TestOpenMemory bounds the allocations of Open for hostile headers.
func TestOpenMemory(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, maxHeader/len(s)-100) }
	for name, text := range map[string]string{
		"integers": shaped("(" + fill("1,") + ")"),
		"dicts":    shaped("[" + fill("{},") + "]"),
		"keys":     "{" + fill("1:1,") + "}",
		"strings":  typed(fill("'' ")),
		"escapes":  typed("'" + fill(`\777`) + "'"),
	} {
		file := withHeader(2, text, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = openBytes(t, file)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 24*uint64(len(file)) {
			t.Errorf("%s: %d bytes for a file of %d", name, used, len(file))
		}
	}
	claim := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, 1<<31)...)
	if n := testing.AllocsPerRun(10, func() { _, _ = Open(bytes.NewReader(claim), int64(len(claim))) }); n > 20 {
		t.Errorf("%v allocations for a false header length", n)
	}
}

func TestAppendHeader(t *testing.T) {
	tests := []struct {
		host  tensor.Host
		shape tensor.Shape
		want  string
	}{
		{tensor.HostFloat16, tensor.Shape{128, 3, 32, 32}, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '<f2', 'fortran_order': False, 'shape': (128, 3, 32, 32), }" +
			strings.Repeat(" ", 18+30) + "\n"},
		{tensor.HostUint8, tensor.Shape{3}, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }" +
			strings.Repeat(" ", 20+40) + "\n"},
		{tensor.HostFloat64, nil, "\x93NUMPY\x01\x00\x76\x00" +
			"{'descr': '<f8', 'fortran_order': False, 'shape': (), }" +
			strings.Repeat(" ", 0+62) + "\n"},
		// One newline more would end at a multiple of 64: a whole line of spaces follows.
		{tensor.HostComplex128, tensor.Shape{5, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, "\x93NUMPY\x01\x00\xb6\x00" +
			"{'descr': '<c16', 'fortran_order': False, 'shape': (5, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10), }" +
			strings.Repeat(" ", 20+64) + "\n"},
	}
	for _, shape := range []tensor.Shape{make(tensor.Shape, 64), {1<<62 - 1}, {1 << 31, 1<<31 - 1, 0}} {
		if _, err := AppendHeader(nil, tensor.HostInt16, shape); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range tests {
		got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "before"+tt.want {
			t.Errorf("%v %v:\n got %q\nwant %q", tt.host, tt.shape, got, "before"+tt.want)
		}
	}
}

func TestAppendHeaderErrors(t *testing.T) {
	tests := []struct {
		name  string
		host  tensor.Host
		shape tensor.Shape
		want  string
	}{
		{"no type", tensor.HostNone, nil, "host element type 0 cannot be written"},
		{"unknown type", 200, nil, "host element type 200 cannot be written"},
		{"negative", tensor.HostInt8, tensor.Shape{2, -1}, "(2, -1) is not the shape of an array: dimension -1 is negative"},
		{"too many elements", tensor.HostInt8, tensor.Shape{1 << 40, 1 << 40}, "is too large for numpy"},
		{"too many bytes", tensor.HostInt16, tensor.Shape{1 << 62}, "(4611686018427387904,) is too large for numpy: its dimensions other than 0 take more than 63 bits of int16"},
		{"too large but for a 0", tensor.HostInt8, tensor.Shape{1 << 40, 0, 1 << 40}, "is too large for numpy"},
		{"too many dimensions", tensor.HostInt8, make(tensor.Shape, 65), "the shape has 65 dimensions, numpy loads at most 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendHeader([]byte("before"), tt.host, tt.shape)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// FuzzOpen checks that no file makes Open panic or read outside the file, that every error is
// typed, that parsed headers survive writing and parsing, and that small arrays equal the slow
// version.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.npy")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, tt := range readerErrors {
		f.Add([]byte(tt.file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := openBytes(t, data)
		var broken *FormatError
		var unsupported *UnsupportedError
		switch {
		case err != nil && file != nil:
			t.Fatalf("a file comes with the error %v", err)
		case errors.As(err, &broken) || errors.As(err, &unsupported):
			return
		case err != nil:
			t.Fatalf("error of neither type: %v", err)
		}
		again, err := AppendHeader(nil, file.Host, file.Shape)
		if err != nil {
			return // only shapes that fill the longest header
		}
		stored := data[file.Offset:][:file.Size]
		rewritten, err := openBytes(t, append(again, stored...))
		if err != nil {
			t.Fatalf("own header %q: %v", again, err)
		}
		if rewritten.Host != file.Host || !rewritten.Shape.Equal(file.Shape) || rewritten.Size != file.Size {
			t.Fatalf("parsed again %+v, first %+v", rewritten, file)
		}
		if !bytes.Equal(readAll(t, file.Data()), slowCOrder(stored, file.Header)) {
			t.Fatalf("data of %+v differs", file.Header)
		}
	})
}

// TestUsualHeaders: parseUsual agrees with parseDict on headers of numpy, and accepts no other
// headers.
func TestUsualHeaders(t *testing.T) {
	var texts []string
	for _, host := range tensor.Hosts() {
		for _, shape := range []string{"()", "(0,)", "(5,)", "(4, 16)", "(2, 3, 4, 9223372036854775807)"} {
			texts = append(texts, fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }      \n", host.Descr(), shape))
		}
	}
	for _, text := range texts {
		usual, ok := parseUsual(text)
		want, err := parseDict(source{data: []byte(text)})
		if !ok || err != nil || usual.Host != want.Host || !slices.Equal(usual.Shape, want.Shape) || usual.Fortran || usual.BigEndian {
			t.Errorf("%q: %v, %v, want %v, %v", text, usual, ok, want, err)
		}
	}
	for _, text := range []string{
		"", "{", "{'descr': '<f4', 'fortran_order': True, 'shape': (4, 16), }", "{'descr': '>f4', 'fortran_order': False, 'shape': (4, 16), }",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4 16), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (4), }",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4, -1), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,16), }",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 9223372036854775808), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 16), }x",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (04, 16), }", "{'descr': '<q4', 'fortran_order': False, 'shape': (4, 16), }",
	} {
		if h, ok := parseUsual(text); ok {
			t.Errorf("%q is taken for %v", text, h)
		}
	}
}
