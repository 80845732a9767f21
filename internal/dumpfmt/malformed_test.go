package dumpfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"dumptool/internal/dumpfmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// pb builds messages field by field.
type pb []byte

func (b pb) varint(num protowire.Number, v uint64) pb {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func (b pb) bytes(num protowire.Number, v []byte) pb {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// version is the beginning of every header.
func version() pb { return pb{}.bytes(1, []byte("2.0")) }

// output is the descriptor of an output with a size in bytes.
func output(size uint64) pb { return pb{}.varint(1, 1).varint(6, size) }

var notDump = dumpfmt.ErrNotDump.Error()

// malformed are files that no reader accepts. With notDump the error wraps ErrNotDump.
var malformed = []struct {
	name string
	file []byte
	opt  dumpfmt.Options
	want []string
}{
	{"empty", nil, dumpfmt.Options{}, []string{notDump, "file of 0 bytes at 0x0 is too short"}},
	{"eight bytes", make([]byte, 8), dumpfmt.Options{}, []string{notDump, "file of 8 bytes"}},
	{"zeros", make([]byte, 100), dumpfmt.Options{}, []string{notDump, "header of 0 bytes at 0x8 names neither", "field 0 at 0x0 is no field"}},
	{"text", []byte("op_type,op_name,task_id\nAdd,x,1\n"), dumpfmt.Options{}, []string{notDump, "exceeds the 24 bytes that follow"}},
	{"npy", []byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }"), dumpfmt.Options{}, []string{notDump}},
	{"safetensors", append(binary.LittleEndian.AppendUint64(nil, 20), `{"__metadata__":{}}  `...), dumpfmt.Options{}, []string{notDump, "has wire type 3"}},
	{"a header length of 2^60", v2File(realHeader, nil)[3:], dumpfmt.Options{}, []string{notDump}},
	{"header cut off", realDump()[:40], dumpfmt.Options{}, []string{"dumpfmt: header length 49 at 0x0 exceeds the 32 bytes that follow"}},
	{"wrong wire type", v2File(version().varint(3, 9), nil), dumpfmt.Options{}, []string{"output at 0xd has wire type 0"}},
	{"wrong wire type inside", v2File(version().bytes(3, output(1)).bytes(3, pb{}.bytes(6, nil)), nil), dumpfmt.Options{}, []string{"output 1 size at 0x15 has wire type 2"}},
	{"descriptor longer than the header", v2File(append(version(), 0x1A, 99), nil), dumpfmt.Options{}, []string{"output 0 output length 99 at 0xe exceeds the 0 bytes"}},
	{"shape longer than its output", v2File(append(version(), 0x1A, 2, 0x1A, 99), nil), dumpfmt.Options{}, []string{"output 0 shape length 99 at 0x10 exceeds the 0 bytes"}},
	{"dims cut off", v2File(version().bytes(3, pb{}.bytes(3, pb{}.bytes(1, []byte{0x80}))), nil), dumpfmt.Options{}, []string{"output 0 dim at 0x13 is cut off"}},
	{"tag cut off", v2File(append(version(), 0x80), nil), dumpfmt.Options{}, []string{"field tag at 0xd is cut off"}},
	{"varint too long", v2File(append(version(), "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...), nil), dumpfmt.Options{}, []string{"dump_time at 0xe is not a 64-bit varint"}},
	{"group", v2File(append(version(), 11<<3|3, 11<<3|4), nil), dumpfmt.Options{}, []string{"field 11 at 0xd has wire type 3"}},
	{"unknown field cut off", v2File(append(version(), 11<<3|1, 1), nil), dumpfmt.Options{}, []string{"field 11 at 0xd is cut off"}},
	{"field number 0", v2File(append(version(), 2, 0), nil), dumpfmt.Options{}, []string{"field 0 at 0xd is no field"}},
	{"only a time", v2File(pb{}.varint(2, 5), nil), dumpfmt.Options{}, []string{notDump, "names neither operator nor tensor"}},

	{"data in version 1 beyond its descriptor", version().bytes(3, pb{}.bytes(5, make([]byte, 50))[:30]), dumpfmt.Options{}, []string{"output 0 data length 50 at 0x8 exceeds the 28 bytes"}},
	{"version 1 cut off without version", pb{}.bytes(3, pb{}.bytes(5, make([]byte, 50)))[:30], dumpfmt.Options{}, []string{notDump, "output length 52 at 0x1 exceeds the 28 bytes"}},
	{"version 1 with an unknown field", version().bytes(3, pb{}.bytes(5, []byte{1})).varint(11, 3), dumpfmt.Options{}, []string{"field 11 at 0xa is no field"}},
	{"version 1 without data", version().bytes(3, output(1)), dumpfmt.Options{}, []string{"message at 0x0 holds no tensor bytes"}},
	{"version 1 without anything", version(), dumpfmt.Options{}, []string{"message at 0x0 holds no tensor bytes"}},
	{"version 1 without version and data", pb{}.bytes(3, nil), dumpfmt.Options{}, []string{notDump, "holds no tensor bytes"}},
	{"version 2 as 1", realDump(), dumpfmt.Options{Version: 1}, []string{notDump, "as protobuf version 1"}},
	{"version 1 as 2", version().bytes(3, pb{}.bytes(5, make([]byte, 50))), dumpfmt.Options{Version: 2}, []string{notDump, "as binary version 2: header length 0x"}},
	{"version 3", realDump(), dumpfmt.Options{Version: 3}, []string{"dump version 3 is not supported"}},
}

func TestMalformed(t *testing.T) {
	for _, test := range malformed {
		t.Run(test.name, func(t *testing.T) { checkMalformed(t, test.file, test.opt, test.want) })
	}
}

// checkMalformed expects an error with these texts and no result.
func checkMalformed(t *testing.T, file []byte, opt dumpfmt.Options, want []string) {
	t.Helper()
	var d *dumpfmt.Dump
	var err error
	allocated := allocates(func() { d, err = readBytes(file, opt) })
	if err == nil || d != nil {
		t.Fatalf("got %+v, %v; want an error and nothing else", d, err)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
	if got, want := errors.Is(err, dumpfmt.ErrNotDump), want[0] == notDump; got != want {
		t.Errorf("is ErrNotDump: %v, want %v", got, want)
	}
	var fe *dumpfmt.FormatError
	var ue *dumpfmt.UnsupportedError
	if !errors.As(err, &fe) && !errors.As(err, &ue) {
		t.Errorf("error %T is neither a FormatError nor an UnsupportedError", err)
	}
	if strings.Count(err.Error(), "dumpfmt:") != 1 {
		t.Errorf("error %q does not name the package once", err)
	}
	if allocated > 1<<20 {
		t.Errorf("took %d bytes of memory", allocated)
	}
}

// allocates returns how many bytes f allocates.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHuge reads files of a terabyte with endless headers.
func TestHuge(t *testing.T) {
	const size = 1 << 40
	long := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	tests := []struct {
		name string
		file repeat
		want string // empty: the file is valid
	}{
		{"random", repeat{nil, []byte{0x8b, 0xe9, 0x91, 0x97, 0x01}}, notDump},
		{"zeros", repeat{nil, []byte{0}}, notDump},
		{"endless attributes", repeat{append(long(size-8), version()...), []byte{0x3A, 0}}, "64 MiB of memory"},
		{"endless outputs", repeat{append(long(size-8), version()...), []byte{0x1A, 0}}, "64 MiB of memory"},
		{"endless unknown fields", repeat{append(long(size-8), version()...), []byte{11 << 3, 0}}, "64 MiB of memory"},
		{"endless inputs, version 1", repeat{version(), []byte{0x22, 0}}, "64 MiB of memory"},
		{"a name of a terabyte", repeat{append(append(long(size-8), version()...), 0x32, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10), []byte{'x'}}, "64 MiB of memory"},
		{"TLV with a head of a terabyte", repeat{append(long(size-8), "ZZZZ\x01\x00\x00\x00"...), []byte{9, 0, 0, 0, 0, 0, 0, 0}}, "64 MiB of memory"},
		{"version 1 with a terabyte inside", repeat{terabyteV1(size), []byte{7}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d *dumpfmt.Dump
			var err error
			allocated := allocates(func() { d, err = dumpfmt.Read(test.file, size, dumpfmt.Options{}) })
			switch {
			case test.want == "" && (err != nil || d.Container != dumpfmt.ProtobufV1 || d.Outputs[0].Size < size-100):
				t.Errorf("got %+v, %v", d, err)
			case test.want != "" && (d != nil || err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %+v, %v; want %q", d, err, test.want)
			}
			if allocated > 16<<20 {
				t.Errorf("took %d bytes of memory", allocated)
			}
		})
	}
}

// terabyteV1 is a version-1 dump of that size without the bytes of its only tensor.
func terabyteV1(size uint64) []byte {
	for n := size - 50; ; n++ {
		head := version()
		desc := protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.BytesType), n)
		head = protowire.AppendVarint(protowire.AppendTag(head, 3, protowire.BytesType), uint64(len(desc))+n)
		head = append(head, desc...)
		if uint64(len(head))+n == size {
			return head
		}
	}
}

// TestBudget reads a header that is just within the budget, and checks that the budget is
// realistic.
func TestBudget(t *testing.T) {
	outputs := bytes.Repeat([]byte{0x1A, 0}, 29000)
	file := v2File(append(version(), outputs...), nil)
	var err error
	allocated := allocates(func() { _, err = readBytes(file, dumpfmt.Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	if allocated > dumpfmt.MemoryBudget {
		t.Errorf("took %d bytes of memory, %d are allowed", allocated, dumpfmt.MemoryBudget)
	}
	if _, err = readBytes(v2File(append(version(), bytes.Repeat(outputs, 2)...), nil), dumpfmt.Options{}); err == nil {
		t.Error("twice as many are accepted")
	}
}

func TestDims(t *testing.T) {
	for _, shape := range [][]byte{
		pb{}.bytes(1, []byte{2, 3}),
		pb{}.varint(1, 2).varint(1, 3),
	} {
		d := mustRead(t, v2File(version().bytes(3, output(1).bytes(3, shape)), []byte{1}), dumpfmt.Options{})
		if got := d.Outputs[0].Shape.String(); got != "(2, 3)" {
			t.Errorf("shape %x is %s", shape, got)
		}
	}
}

// TestOddities are files that give a warning.
func TestOddities(t *testing.T) {
	inline := func(size uint64, data string) pb { return output(size).bytes(5, []byte(data)) }
	tests := []struct {
		name     string
		file     []byte
		data     []string // of the outputs
		warnings []string
	}{
		{"spare bytes", append(realDump(), 9, 9), []string{"\x01\x02\x03\x04"}, []string{"2 spare bytes after the last tensor, at 0x3d"}},
		{"unknown fields", v2File(version().varint(11, 1).bytes(12, []byte("x")).bytes(3, output(1).varint(13, 1)), []byte("a")), []string{"a"}, nil},
		{"version 2 with the bytes inside", v2File(version().bytes(3, inline(3, "abc")).bytes(3, inline(2, "de")), nil), []string{"abc", "de"}, nil},
		{"version 2 with some bytes inside", v2File(version().bytes(3, inline(3, "abc")).bytes(3, output(2)), []byte("de")), []string{"abc", "de"}, nil},
		{"version 2 with bytes twice", v2File(version().bytes(3, inline(2, "ab")), []byte("cd")), []string{"cd"}, nil},
		{"version 2 with unclaimed bytes inside", v2File(version().bytes(3, inline(0, "ab")).bytes(3, output(2)), []byte("cd")), []string{"ab", "cd"}, nil},
		{"version 2 with other bytes inside", v2File(version().bytes(3, inline(3, "ab")), nil), []string{"ab"}, []string{"output 0 has 2 bytes, its recorded size is 3"}},
		{"version 1 with another size", version().bytes(3, inline(9, "ab")).bytes(3, inline(1, "c")), []string{"ab", "c"}, []string{"output 0 has 2 bytes, its recorded size is 9"}},
		{"version 1 without bytes", version().bytes(3, output(0)), []string{""}, nil},
		{"version 1 without version", pb{}.bytes(3, inline(0, "ab")), []string{"ab"}, nil},
		{"no tensors", v2File(version(), nil), nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := mustRead(t, test.file, dumpfmt.Options{})
			var got []string
			for i, out := range d.Outputs {
				got = append(got, string(data(t, out.Data)))
				if out.Size != int64(len(got[i])) {
					t.Errorf("output %d has size %d and %d bytes", i, out.Size, len(got[i]))
				}
			}
			if strings.Join(got, "|") != strings.Join(test.data, "|") {
				t.Errorf("got data %q, want %q", got, test.data)
			}
			if fmt.Sprint(d.Warnings) != fmt.Sprint(test.warnings) {
				t.Errorf("got warnings %q, want %q", d.Warnings, test.warnings)
			}
		})
	}
}
