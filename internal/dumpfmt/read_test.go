package dumpfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

func TestRealHeader(t *testing.T) {
	if len(realHeader) != 49 {
		t.Fatalf("the header has %d bytes", len(realHeader))
	}
	d := mustRead(t, realDump(), dumpfmt.Options{})
	if d.Container != dumpfmt.BinaryV2 || d.Version != "2.0" || d.OpName != "Default/Add-op0" || d.DumpTime != 1634155934514051 ||
		len(d.Inputs) != 0 || d.Warnings != nil {
		t.Errorf("got %+v", d)
	}
	if len(d.Outputs) != 1 {
		t.Fatalf("got %d outputs", len(d.Outputs))
	}
	out := d.Outputs[0]
	if out.DType != tensor.Float16 || out.Format != tensor.ND || !out.Shape.Equal(tensor.Shape{2}) ||
		!out.OriginalShape.Equal(tensor.Shape{2}) || out.OriginalFormat != nil || out.Size != 4 {
		t.Errorf("got output %+v", out)
	}
	if got := data(t, out.Data); !bytes.Equal(got, []byte{1, 2, 3, 4}) {
		t.Errorf("got data %x", got)
	}
	if _, off, n := out.Data.Outer(); off != 57 || n != 4 {
		t.Errorf("data at %d, %d bytes", off, n)
	}
}

// TestGolden rewrites every golden dump and compares the bytes.
func TestGolden(t *testing.T) {
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			b := golden(t, name)
			d, err := readBytes(b, dumpfmt.Options{})
			if want := goldenErrors[strings.Split(name, ".")[1]]; want != "" {
				if err == nil || !strings.Contains(err.Error(), want) || d != nil {
					t.Errorf("got %v, %v; want an error with %q", d, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "Op.truncated.") {
				const want = "dumpfmt: output 0 data length 1152 at 0x33 exceeds the 550 bytes that follow"
				if err := d.OutputDetails[0].Err; err == nil || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			got := write(t, contentOf(t, d))
			if d.Container == dumpfmt.BinaryV2 && !bytes.Equal(got, b) {
				t.Errorf("written again:\n%x, was\n%x", got, b)
			}
			if d.Warnings != nil {
				t.Errorf("warnings %q", d.Warnings)
			}
			if d.IsOpDebug() != strings.HasPrefix(name, "Opdebug.") {
				t.Errorf("IsOpDebug is %v", d.IsOpDebug())
			}
		})
	}
}

// goldenErrors are the errors of the broken golden files.
var goldenErrors = map[string]string{
	"garbage":    "not a dump file: as binary version 2: header length 0x94cf76019791e98b at 0x0 exceeds the 492 bytes",
	"hugeheader": "dumpfmt: header length 0x1000000000000000 at 0x0 exceeds the 5 bytes that follow",
	"zerofile":   "file of 0 bytes",
}

func TestGoldenDetails(t *testing.T) {
	many := mustRead(t, golden(t, "Foo.many.53.16.1624605159829060"), dumpfmt.Options{})
	if len(many.Inputs) != 2 || len(many.Outputs) != 2 || len(many.Buffers) != 1 || len(many.Spaces) != 1 ||
		many.Buffers[0].Size != 15 || many.Spaces[0].Size != 10 {
		t.Errorf("many: got %+v", many)
	}
	packed := mustRead(t, golden(t, "Op.packed_word.32.16.1624605159907032"), dumpfmt.Options{}).Outputs[0]
	if packed.Format != tensor.NC1HWC0 || packed.C0 == 0 {
		t.Errorf("packed word: got %+v", packed)
	}
	grouped := mustRead(t, golden(t, "Op.fracz_group_1.22.16.1624605159907022"), dumpfmt.Options{}).Outputs[0]
	if grouped.Format != tensor.FractalZ || grouped.Groups != 4 {
		t.Errorf("groups: got %+v", grouped)
	}
	inline := mustRead(t, golden(t, "Op.inline.7.16.1624605159907990"), dumpfmt.Options{})
	if inline.Container != dumpfmt.ProtobufV1 || inline.Outputs[0].Size != 80 {
		t.Errorf("inline: got %+v", inline)
	}
	if _, off, _ := inline.Outputs[0].Data.Outer(); off != 0x1c {
		t.Errorf("inline: data at 0x%x", off)
	}
}

func TestFormatFields(t *testing.T) {
	word := tensor.FormatWord(5<<24 | 3<<8 | 3)
	original := &dumptest.OriginalContent{Name: "conv", Index: 2, StoredDType: 1, StoredFormat: 1}
	for _, c := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.ProtobufV1} {
		d := mustRead(t, write(t, &dumptest.Content{Container: c, Outputs: []dumptest.TensorContent{
			{Payload: dumptest.Bytes([]byte{1}), StoredDType: 77, StoredFormat: word, SubFormat: 8, OriginalOp: original},
			{Payload: dumptest.Bytes([]byte{2}), StoredFormat: word, OriginalOp: &dumptest.OriginalContent{StoredFormat: 1}},
		}}), dumpfmt.Options{})
		a, b := d.Outputs[0], d.Outputs[1]
		if a.Format != tensor.NC1HWC0 || a.C0 != 16 || a.Groups != 8 || b.Groups != 3 {
			t.Errorf("%v: got %+v and %+v", c, a, b)
		}
		if a.DType.String() != "dtype(77)" || d.OutputDetails[0].Err != nil {
			t.Errorf("%v: unknown type is %v, %v", c, a.DType, d.OutputDetails[0].Err)
		}
		if a.OriginalFormat == nil || *a.OriginalFormat != tensor.NHWC || b.OriginalFormat != nil {
			t.Errorf("%v: original formats %v and %v", c, a.OriginalFormat, b.OriginalFormat)
		}
		want := &dumpfmt.OriginalOp{"conv", 2, tensor.Float32, tensor.NHWC}
		if diff := cmp.Diff(want, d.OutputDetails[0].OriginalOp); diff != "" || d.OutputDetails[1].OriginalOp != nil {
			t.Errorf("%v: original op %s, %v", c, diff, d.OutputDetails[1].OriginalOp)
		}
	}
}

// TestAbsurdDimension checks that a tensor with an impossible dimension does not affect the others.
func TestAbsurdDimension(t *testing.T) {
	for _, c := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.ProtobufV1, dumpfmt.TLV} {
		tensors := []dumptest.TensorContent{
			{Payload: dumptest.Bytes([]byte{1}), Shape: []uint64{2, 1 << 63}, OriginalShape: []uint64{7}},
			{Payload: dumptest.Bytes([]byte{2}), Shape: []uint64{3}, OriginalShape: []uint64{1<<64 - 1}},
			{Payload: dumptest.Bytes([]byte{3}), Shape: []uint64{1}},
		}
		d := mustRead(t, write(t, &dumptest.Content{Container: c, Inputs: tensors}), dumpfmt.Options{})
		for i, want := range []string{
			"input 0 shape dimension 1 9223372036854775808 at",
			"input 1 original shape dimension 0 18446744073709551615 at",
			"",
		} {
			var fe *dumpfmt.FormatError
			err := d.InputDetails[i].Err
			if want == "" && err == nil {
				continue
			}
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: input %d has error %v, want %q", c, i, err, want)
			}
		}
		if d.Inputs[0].Shape != nil || d.Inputs[1].OriginalShape != nil || len(d.Inputs[2].Shape) != 1 || data(t, d.Inputs[2].Data)[0] != 3 {
			t.Errorf("%v: got %+v", c, d.Inputs)
		}
	}
}

// failing is a file on a broken disk.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestReadError(t *testing.T) {
	disk := errors.New("disk on fire")
	d, err := dumpfmt.Read(failing{disk}, 1000, dumpfmt.Options{})
	if d != nil || !errors.Is(err, disk) || errors.Is(err, dumpfmt.ErrNotDump) {
		t.Errorf("got %v, %v", d, err)
	}
	d, err = dumpfmt.Read(bytes.NewReader(realDump()), 1000, dumpfmt.Options{})
	if d != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file shorter than its size: got %v, %v", d, err)
	}
}

func TestContainerString(t *testing.T) {
	for c, want := range map[dumpfmt.Container]string{dumpfmt.BinaryV2: "binary version 2", dumpfmt.ProtobufV1: "protobuf version 1", dumpfmt.TLV: "TLV", 0: "unknown container", 9: "unknown container"} {
		if got := c.String(); got != want {
			t.Errorf("container %d is %q, want %q", c, got, want)
		}
	}
}

// partsOf lists the tensors, buffers and spaces of a dump in the order of their bytes.
func partsOf(d *dumpfmt.Dump) []dumpfmt.Blob {
	var all []dumpfmt.Blob
	for i, t := range d.Inputs {
		all = append(all, dumpfmt.Blob{Size: t.Size, Data: t.Data, Err: d.InputDetails[i].Err})
	}
	for i, t := range d.Outputs {
		all = append(all, dumpfmt.Blob{Size: t.Size, Data: t.Data, Err: d.OutputDetails[i].Err})
	}
	return append(append(all, d.Buffers...), d.Spaces...)
}

// TestTruncated truncates dumps at every offset after the header: parts in the file are read, and
// each missing part has an error with the offset, the number of bytes found and the number wanted.
func TestTruncated(t *testing.T) {
	payloads := [][]byte{[]byte("abcd"), []byte("ef"), nil, []byte("ghi"), []byte("jk"), []byte("l")}
	tensors := func(from, to int) (all []dumptest.TensorContent) {
		for _, p := range payloads[from:to] {
			all = append(all, dumptest.TensorContent{Payload: dumptest.Bytes(p), StoredDType: 4, Shape: []uint64{uint64(len(p))}})
		}
		return all
	}
	kinds := []string{"input 0", "input 1", "output 0", "output 1", "buffer 0", "space 0"}
	for _, container := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.TLV} {
		t.Run(container.String(), func(t *testing.T) {
			c := &dumptest.Content{Container: container, Inputs: tensors(0, 2), Outputs: tensors(2, 4)}
			parts := 4
			if container == dumpfmt.BinaryV2 {
				c.Buffers = []dumptest.BlobContent{{Payload: dumptest.Bytes(payloads[4])}}
				c.Spaces = []dumptest.BlobContent{{Payload: dumptest.Bytes(payloads[5])}}
				parts = 6
			}
			file := write(t, c)
			header := len(file) - len(bytes.Join(payloads[:parts], nil))
			for cut := header; cut <= len(file); cut++ {
				d := mustRead(t, file[:cut], dumpfmt.Options{})
				off := header
				for i, p := range partsOf(d) {
					want := payloads[i]
					if off+len(want) <= cut || len(want) == 0 {
						if got := data(t, p.Data); p.Err != nil || !bytes.Equal(got, want) {
							t.Errorf("cut at %#x: %s is %q, error %v, want %q", cut, kinds[i], got, p.Err, want)
						}
					} else {
						text := fmt.Sprintf("dumpfmt: %s data length %d at %#x exceeds the %d bytes that follow", kinds[i], len(want), off, max(0, cut-off))
						if p.Err == nil || p.Err.Error() != text {
							t.Errorf("cut at %#x: %s has error %v, want %s", cut, kinds[i], p.Err, text)
						}
					}
					off += len(want)
				}
			}
		})
	}
}

// TestTruncatedV1 truncates a version-1 dump at every offset: the tensors before are read, and the
// truncated one has an error. Later tensors are unknown.
func TestTruncatedV1(t *testing.T) {
	whole := pb{}.bytes(2, []byte("abcd"))
	file := version().bytes(3, pb{}.bytes(5, []byte("abcd"))).bytes(4, pb{}.bytes(4, []byte("ef"))).bytes(5, whole).bytes(8, whole)
	starts := []int{5, 13, 19, 27, len(file)} // of output, input, buffer and space
	errs := []string{"output 0", "input 0", "buffer 0", "space 0"}
	for cut := starts[0] + 1; cut <= len(file); cut++ {
		d := mustRead(t, file[:cut], dumpfmt.Options{})
		parts := [][]dumpfmt.Blob{nil, nil, d.Buffers, d.Spaces}
		all := partsOf(d)
		parts[1], parts[0] = all[:len(d.Inputs)], all[len(d.Inputs):][:len(d.Outputs)]
		for i, want := range [][]byte{[]byte("abcd"), []byte("ef"), []byte("abcd"), []byte("abcd")} {
			switch {
			case cut <= starts[i]:
				if len(parts[i]) != 0 {
					t.Errorf("cut at %#x: %s is there", cut, errs[i])
				}
			case len(parts[i]) != 1:
				t.Errorf("cut at %#x: %s is not there", cut, errs[i])
			case cut >= starts[i+1]:
				if got := data(t, parts[i][0].Data); parts[i][0].Err != nil || !bytes.Equal(got, want) {
					t.Errorf("cut at %#x: %s is %q, error %v", cut, errs[i], got, parts[i][0].Err)
				}
			default:
				text := fmt.Sprintf("dumpfmt: %s length %d at %#x exceeds the %d bytes that follow", errs[i], starts[i+1]-starts[i]-2, starts[i]+1, cut-starts[i]-2)
				if cut == starts[i]+1 {
					text = fmt.Sprintf("dumpfmt: %s length at %#x is cut off", errs[i], cut)
				}
				if err := parts[i][0].Err; err == nil || err.Error() != text {
					t.Errorf("cut at %#x: error %v, want %s", cut, err, text)
				}
			}
		}
	}
}

// TestTruncatedText truncates a version-1 dump in the text after its tensors, which affects no
// tensor.
func TestTruncatedText(t *testing.T) {
	file := version().bytes(3, pb{}.bytes(5, []byte("abcd"))).bytes(6, []byte("conv"))
	d := mustRead(t, file[:len(file)-1], dumpfmt.Options{})
	if got := data(t, d.Outputs[0].Data); d.OutputDetails[0].Err != nil || string(got) != "abcd" {
		t.Errorf("output is %q, error %v", got, d.OutputDetails[0].Err)
	}
	want := "the file is cut off: op_name length 4 at 0xe exceeds the 3 bytes that follow"
	if len(d.Warnings) != 1 || d.Warnings[0].String() != want {
		t.Errorf("warnings %q, want %q", d.Warnings, want)
	}
}

// TestAbsurdSizes: impossible sizes are errors of their tensors.
func TestAbsurdSizes(t *testing.T) {
	inputs := func(tail []byte, values ...any) []byte { return tlvFile(tlvRecord(tlvInputs, values...), tail) }
	tests := []struct {
		name string
		file []byte
		want []string // part of the error of each tensor, empty for none
	}{
		{"size of 2^64-1", v2File(version().bytes(3, output(1<<64-1)), make([]byte, 9)), []string{"output 0 data length 0xffffffffffffffff at 0x1c exceeds the 9 bytes"}},
		{"sum of sizes is 2^64", v2File(version().bytes(3, output(1<<63)).bytes(3, output(1<<63)), nil),
			[]string{"output 0 data length 0x8000000000000000 at 0x2b exceeds the 0", "output 1 data length 0x8000000000000000 at 0x7fffffffffffffff exceeds the 0"}},
		{"sum of sizes is 2^63", v2File(version().bytes(4, pb{}.varint(5, 4)).bytes(3, output(1<<63-4)), make([]byte, 9)),
			[]string{"", "output 0 data length 0x7ffffffffffffffc at 0x23 exceeds the 5 bytes"}},
		{"without version", v2File(pb{}.bytes(3, output(9)), make([]byte, 8)), []string{"output 0 data length 9 at 0xe exceeds the 8 bytes"}},
		{"TLV, sizes that overflow", inputs(nil, 2, tlvInput(1<<64-1), tlvInput(1)),
			[]string{"input 0 data length 0xffffffffffffffff at 0x6c exceeds the 0 bytes", "input 1 data length 1 at 0x7fffffffffffffff"}},
		{"TLV, sum that overflows", inputs([]byte{1}, 2, tlvInput(1), tlvInput(1<<64-1)), []string{"", "input 1 data length 0xffffffffffffffff at 0x6d exceeds the 0 bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for i, p := range partsOf(mustRead(t, test.file, dumpfmt.Options{})) {
				var broken *dumpfmt.FormatError
				if want := test.want[i]; want == "" && p.Err != nil || want != "" && (!errors.As(p.Err, &broken) || !strings.Contains(p.Err.Error(), want)) {
					t.Errorf("part %d: error %v, want %q", i, p.Err, want)
				}
			}
		})
	}
}

// TestDumpsStay: a Dump with its errors and warnings does not change when other files are read,
// although readers share memory.
func TestDumpsStay(t *testing.T) {
	say := func(d *dumpfmt.Dump) string {
		text := fmt.Sprintf("%s %v %v %v", d.OpName, d.Attrs, d.Warnings, d.DFX)
		for _, side := range []struct {
			tensors []tensor.Tensor
			details []dumpfmt.Detail
		}{{d.Inputs, d.InputDetails}, {d.Outputs, d.OutputDetails}} {
			for i, x := range side.tensors {
				detail := side.details[i]
				text += fmt.Sprintf("\n%v %v %v %v %v %v", x.Shape, x.OriginalShape, x.Format, x.Size, detail.DimRanges, detail.Err)
				if op := detail.OriginalOp; op != nil {
					text += fmt.Sprintf(" %v", *op)
				}
			}
		}
		for _, b := range append(d.Buffers[:len(d.Buffers):len(d.Buffers)], d.Spaces...) {
			text += fmt.Sprintf("\n%v %v %v", b.Type, b.Size, b.Err)
		}
		return text
	}
	dim := pb{}.bytes(1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}) // 2^63
	files := [][]byte{
		v2File(version().bytes(3, output(9)).bytes(3, output(9)), make([]byte, 8)),
		v2File(version().bytes(4, pb{}.bytes(3, dim)), nil),
		version().bytes(4, pb{}.bytes(4, []byte{1}).varint(5, 7)),
	}
	for _, name := range goldenNames(t) {
		if goldenErrors[strings.Split(name, ".")[1]] == "" {
			files = append(files, golden(t, name))
		}
	}
	var dumps []*dumpfmt.Dump
	var said []string
	for _, b := range files {
		d := mustRead(t, b, dumpfmt.Options{})
		dumps, said = append(dumps, d), append(said, say(d))
	}
	for i, d := range dumps {
		if got := say(d); got != said[i] {
			t.Errorf("file %d says %s\nit said %s", i, got, said[i])
		}
	}
}
