package dumpfmt_test

import (
	"bytes"
	"errors"
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
		d.HeaderSize != 49 || d.FileSize != 61 || len(d.Inputs) != 0 || d.Warnings != nil {
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

// TestGolden writes every golden dump again and wants the same bytes.
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

// goldenErrors are the broken golden files.
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
	if inline.Container != dumpfmt.ProtobufV1 || inline.Outputs[0].Size != 80 || !inline.OutputDetails[0].Inline {
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

// TestAbsurdDimension checks that such a tensor does not spoil the others.
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
