package dumpfmt_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
)

// Numbers of the specification.
const (
	tlvMagic   = 0x5A5A5A5A
	tlvInputs  = 4
	tlvOutputs = 5

	tlvShape         = 0
	tlvOriginalShape = 1
	tlvOriginalName  = 2
)

// words encodes integers as little-endian 4 bytes, uint64s as 8 bytes, and text.
func words(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

// long is an eight-byte integer for words.
type long = uint64

// tlvRecord is a tag, a length and a value.
func tlvRecord(tag int, values ...any) []byte {
	v := words(values...)
	return words(tag, len(v), v)
}

// tlvFile prepends the length, the magic number and version 1.
func tlvFile(records, data []byte) []byte {
	return v2File(words(tlvMagic, 1, records), data)
}

// tlvInput is an input without records after its fixed fields.
func tlvInput(size long) []byte { return words(0, 2, 0, long(0), long(0), size, 0) }

// tlvSample is a file written byte by byte from the specification.
func tlvSample() []byte {
	inShape := tlvRecord(tlvShape, long(2), long(1))
	in := words(1, 5<<24|3, 7, long(0x1000), long(0x20), long(4), len(inShape), inShape)
	outRecords := words(tlvRecord(tlvShape, long(3)), tlvRecord(tlvOriginalShape, long(1), long(3)), tlvRecord(9, "?"), tlvRecord(tlvOriginalName, "conv"))
	out := words(5, 2, 1, 6, 27, 1, long(0x2000), long(0), long(3), len(outRecords), outRecords)
	return tlvFile(words(tlvRecord(99, "skip"), tlvRecord(tlvOutputs, 1, out), tlvRecord(tlvInputs, 1, in)), []byte("INPTout"))
}

func TestTLV(t *testing.T) {
	for version := range 3 {
		d := mustRead(t, tlvSample(), dumpfmt.Options{Version: version})
		if d.Container != dumpfmt.TLV || d.Version != "1" || d.OpName != "" || len(d.Inputs) != 1 || len(d.Outputs) != 1 || d.Warnings != nil {
			t.Fatalf("got %+v", d)
		}
		in, out := d.Inputs[0], d.Outputs[0]
		if in.DType != tensor.Float16 || in.Format != tensor.NC1HWC0 || in.C0 != 16 || !in.Shape.Equal(tensor.Shape{2, 1}) ||
			in.OriginalShape != nil || in.OriginalFormat != nil || string(data(t, in.Data)) != "INPT" {
			t.Errorf("got input %+v", in)
		}
		if out.DType != -5 || out.DType.String() != "dtype(-5)" || !out.Shape.Equal(tensor.Shape{3}) || !out.OriginalShape.Equal(tensor.Shape{1, 3}) ||
			out.OriginalFormat == nil || *out.OriginalFormat != tensor.NHWC || string(data(t, out.Data)) != "out" {
			t.Errorf("got output %+v", out)
		}
		wantIn := dumpfmt.Detail{StoredDType: 1, StoredFormat: 5<<24 | 3, Address: 0x1000, Offset: 0x20}
		wantOut := dumpfmt.Detail{StoredDType: 5, StoredFormat: 2, Address: 0x2000, OriginalOp: &dumpfmt.OriginalOp{"conv", 6, tensor.BFloat16, tensor.NHWC}}
		if diff := cmp.Diff([]dumpfmt.Detail{wantIn, wantOut}, []dumpfmt.Detail{d.InputDetails[0], d.OutputDetails[0]}); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTLVDType(t *testing.T) {
	for n, want := range map[int32]tensor.DType{0: tensor.Float32, 3: tensor.Int32, 12: tensor.Bool, 30: tensor.Uint1, 5: -5, 99: -99, -1: -1, -1 << 31: -1 << 31} {
		if got := dumpfmt.TLVDType(n); got != want {
			t.Errorf("type %d is %v, want %v", n, got, want)
		}
	}
}

func TestTLVMalformed(t *testing.T) {
	sample := tlvSample()
	inputs := func(values ...any) []byte { return tlvFile(tlvRecord(tlvInputs, values...), nil) }
	withRecords := func(records []byte) []byte {
		return inputs(1, words(0, 2, 0, long(0), long(0), long(0), len(records)), records)
	}
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"head length beyond the file", "header length 0x1000000000000000 at 0x0 exceeds", append(words(long(1<<60)), sample[8:]...)},
		{"head of four bytes", "version at 0xc is cut off", v2File(words(tlvMagic), nil)},
		{"head of three bytes", "magic number at 0x8 is cut off", append(words(long(3)), words(tlvMagic)...)},
		{"spare byte", "continues for 1 bytes after the last tensor", append(sample[:len(sample):len(sample)], 0)},
		{"record tag cut off", "record tag at 0x10 is cut off", tlvFile([]byte{4, 0}, nil)},
		{"record length cut off", "record length at 0x14 is cut off", tlvFile(words(4, "ab"), nil)},
		{"record too long", "record length 255 at 0x14 exceeds the 4 bytes", tlvFile(words(4, 255, 0), nil)},
		{"twice", "record tag 4 at 0x1c is given twice", tlvFile(words(tlvRecord(4, 0), tlvRecord(4, 0)), nil)},
		{"no count", "input count at 0x18 is cut off", inputs()},
		{"lying count", "input count 2 at 0x18 is more than the 40 bytes", inputs(2, tlvInput(0))},
		{"enormous count", "input count 4294967295 at 0x18 is more", inputs(0xffffffff, tlvInput(0))},
		{"count too small", "input list at 0x44 has 40 bytes more than its 1 tensors", inputs(1, tlvInput(0), tlvInput(0))},
		{"second input cut off by the records of the first", "input 1 descriptor of 40 bytes at 0x4c exceeds the 32 bytes", inputs(2, words(0, 2, 0, long(0), long(0), long(0), 8), tlvRecord(9), tlvInput(0)[:32])},
		{"lying list length", "input 0 list length 9 at 0x40 exceeds the 8 bytes", inputs(1, words(0, 2, 0, long(0), long(0), long(0), 9), tlvRecord(9))},
		{"dims of seven bytes", "input 0 shape of 7 bytes at 0x4c is not", withRecords(tlvRecord(tlvShape, "1234567"))},
		{"dims beyond the list", "input 0 record length 16 at 0x48 exceeds the 8 bytes", withRecords(words(tlvShape, 16, long(1)))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkMalformed(t, test.file, dumpfmt.Options{}, []string{test.want}) })
	}
}

// TestNotTLV is a version 2 dump whose first tensor looks like a head.
func TestNotTLV(t *testing.T) {
	file := v2File(realHeader, []byte("ZZZZ"))
	if d := mustRead(t, file, dumpfmt.Options{}); d.Container != dumpfmt.BinaryV2 {
		t.Errorf("read as %v", d.Container)
	}
	if !bytes.Equal(words(tlvMagic), []byte("ZZZZ")) {
		t.Error("the magic number is something else")
	}
}
