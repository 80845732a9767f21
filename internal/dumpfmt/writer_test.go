package dumpfmt_test

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// TestWriteReal rewrites a dump of a device.
func TestWriteReal(t *testing.T) {
	got := write(t, &dumptest.Content{
		Container: dumpfmt.BinaryV2,
		DumpTime:  1634155934514051,
		OpName:    "Default/Add-op0",
		Outputs: []dumptest.TensorContent{{
			Payload:       dumptest.Bytes([]byte{1, 2, 3, 4}),
			StoredDType:   int32(tensor.Float16),
			StoredFormat:  tensor.FormatWord(tensor.ND),
			Shape:         []uint64{2},
			OriginalShape: []uint64{2},
		}},
	})
	if !bytes.Equal(got, realDump()) {
		t.Errorf("got\n%x, want\n%x", got, realDump())
	}
}

// TestWriteTLVBytes rewrites the handmade TLV file.
func TestWriteTLVBytes(t *testing.T) {
	in := dumptest.TensorContent{Payload: dumptest.Bytes([]byte("ab")), StoredDType: 4, StoredFormat: 2, Shape: []uint64{2}}
	want := tlvFile(tlvRecord(tlvInputs, 1, words(4, 2, 0, long(0), long(0), long(2), 16), tlvRecord(tlvShape, long(2))), []byte("ab"))
	if got := write(t, &dumptest.Content{Container: dumpfmt.TLV, Version: "1", Inputs: []dumptest.TensorContent{in}}); !bytes.Equal(got, want) {
		t.Errorf("got\n%x, want\n%x", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.ProtobufV1, dumpfmt.TLV} {
		t.Run(c.String(), rapid.MakeCheck(func(t *rapid.T) {
			content, payloads := drawContent(t, c)
			var file bytes.Buffer
			if err := dumptest.Write(&file, content); err != nil {
				t.Fatal(err)
			}
			for _, version := range []int{0, map[dumpfmt.Container]int{dumpfmt.BinaryV2: 2, dumpfmt.ProtobufV1: 1}[c]} {
				d, err := readBytes(file.Bytes(), dumpfmt.Options{Version: version})
				if err != nil {
					t.Fatal(err)
				}
				if d.Container != c || d.Warnings != nil {
					t.Errorf("got %+v", d)
				}
				back := readBack(d)
				compareContent(t, content, back.content)
				if diff := cmp.Diff(payloads, back.payloads, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("payloads: %s", diff)
				}
			}
		}))
	}
}

// back is a dump after reading, in the form of the writer.
type back struct {
	content  *dumptest.Content
	payloads []string
}

func readBack(d *dumpfmt.Dump) back {
	b := back{content: &dumptest.Content{Container: d.Container, Version: d.Version, DumpTime: d.DumpTime, OpName: d.OpName, Attrs: d.Attrs, DFX: d.DFX}}
	read := func(r *io.SectionReader) {
		p := make([]byte, r.Size())
		if n, err := r.ReadAt(p, 0); n < len(p) {
			p = []byte(err.Error())
		}
		b.payloads = append(b.payloads, string(p))
	}
	tensors := func(list []tensor.Tensor, details []dumpfmt.Detail) (out []dumptest.TensorContent) {
		for i, x := range list {
			read(x.Data)
			out = append(out, describe(x, details[i]))
		}
		return out
	}
	blobs := func(list []dumpfmt.Blob) (out []dumptest.BlobContent) {
		for _, x := range list {
			read(x.Data)
			out = append(out, dumptest.BlobContent{Payload: dumptest.Payload{Size: x.Size}, Type: x.Type})
		}
		return out
	}
	b.content.Inputs = tensors(d.Inputs, d.InputDetails)
	b.content.Outputs = tensors(d.Outputs, d.OutputDetails)
	b.content.Buffers = blobs(d.Buffers)
	b.content.Spaces = blobs(d.Spaces)
	return b
}

// compareContent compares everything except the payloads.
func compareContent(t interface{ Errorf(string, ...any) }, want, got *dumptest.Content) {
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(dumptest.Payload{}, "Data"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("read back: %s", diff)
	}
}

// drawContent draws content that the container can represent, and the bytes of the tensors in the
// order of a Dump.
func drawContent(t *rapid.T, c dumpfmt.Container) (*dumptest.Content, []string) {
	word := rapid.StringMatching(`[a-zé/._-]{0,12}`)
	var payloads []string
	payload := func() dumptest.Payload {
		b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")
		payloads = append(payloads, string(b))
		return dumptest.Bytes(b)
	}
	tensors := func(output bool) (list []dumptest.TensorContent) {
		for range rapid.IntRange(0, 3).Draw(t, "tensors") {
			x := drawTensor(t, c, output)
			x.Payload = payload()
			list = append(list, x)
		}
		return list
	}
	content := &dumptest.Content{Container: c, Version: strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "version")), Inputs: tensors(false), Outputs: tensors(true)}
	if c == dumpfmt.TLV {
		return content, payloads
	}
	content.Version += ".0"
	content.DumpTime = rapid.Uint64().Draw(t, "time")
	content.OpName = word.Draw(t, "op name")
	content.DFX = word.Draw(t, "dfx")
	for range rapid.IntRange(0, 2).Draw(t, "attrs") {
		content.Attrs = append(content.Attrs, dumpfmt.Attr{word.Draw(t, "attr"), word.Draw(t, "value")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "buffers") {
		content.Buffers = append(content.Buffers, dumptest.BlobContent{Payload: payload(), Type: rapid.Int32().Draw(t, "type")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "spaces") {
		content.Spaces = append(content.Spaces, dumptest.BlobContent{Payload: payload(), Type: rapid.Int32().Draw(t, "type")})
	}
	if len(payloads) == 0 && c == dumpfmt.ProtobufV1 {
		content.Spaces = append(content.Spaces, dumptest.BlobContent{Payload: payload(), Type: 0})
	}
	return content, payloads
}

func drawTensor(t *rapid.T, c dumpfmt.Container, output bool) dumptest.TensorContent {
	dims := rapid.SliceOfN(rapid.Uint64Range(0, 1<<63-1), 0, 5)
	x := dumptest.TensorContent{
		StoredDType:   rapid.Int32().Draw(t, "dtype"),
		StoredFormat:  tensor.FormatWord(rapid.Uint32().Draw(t, "format")),
		Shape:         dims.Draw(t, "shape"),
		OriginalShape: dims.Draw(t, "original shape"),
		Address:       rapid.Uint64().Draw(t, "address"),
		Offset:        rapid.Uint64().Draw(t, "offset"),
	}
	if c != dumpfmt.TLV {
		x.SubFormat = rapid.Int32().Draw(t, "sub format")
	}
	switch {
	case output:
		// Element types with the same number in both numberings.
		x.OriginalOp = &dumptest.OriginalContent{Name: "conv", Index: rapid.Uint32().Draw(t, "index"), StoredDType: 16, StoredFormat: tensor.FormatWord(rapid.IntRange(0, 255).Draw(t, "original format"))}
		if c != dumpfmt.TLV {
			x.DimRanges = []dumpfmt.DimRange{{0, rapid.Uint64().Draw(t, "end")}}
		}
	case c != dumpfmt.TLV:
		x.ArgIndex, x.InputType = rapid.Uint32().Draw(t, "arg"), rapid.Uint32().Draw(t, "input type")
	}
	return x
}

// TestWriteStream writes a tensor that is too large for memory.
func TestWriteStream(t *testing.T) {
	const size = 256 << 20
	for _, c := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.ProtobufV1, dumpfmt.TLV} {
		w := &counter{}
		var err error
		allocated := allocates(func() {
			err = dumptest.Write(w, &dumptest.Content{Container: c, Outputs: []dumptest.TensorContent{{Payload: dumptest.Payload{Size: size, Data: zeros{}}}}})
		})
		if err != nil || w.n < size || w.n > size+200 || allocated > 1<<20 {
			t.Errorf("%v: wrote %d bytes with %d of memory, %v", c, w.n, allocated, err)
		}
	}
}

// counter counts written bytes.
type counter struct{ n int64 }

func (w *counter) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	one := func(p dumptest.Payload) []dumptest.TensorContent { return []dumptest.TensorContent{{Payload: p}} }
	tests := []struct {
		name, want string
		content    dumptest.Content
	}{
		{"no container", "no writer for unknown container", dumptest.Content{}},
		{"short payload", "a payload ends after 2 of 3 bytes", dumptest.Content{Container: dumpfmt.BinaryV2, Inputs: one(dumptest.Payload{Size: 3, Data: strings.NewReader("ab")})}},
		{"short payload inside", "a payload ends after 2 of 3 bytes", dumptest.Content{Container: dumpfmt.ProtobufV1, Inputs: one(dumptest.Payload{Size: 3, Data: strings.NewReader("ab")})}},
		{"no data", "payload 0 has size 3 and no such data", dumptest.Content{Container: dumpfmt.BinaryV2, Inputs: one(dumptest.Payload{Size: 3})}},
		{"negative size", "payload 1 has size -1", dumptest.Content{Container: dumpfmt.TLV, Inputs: one(dumptest.Payload{}), Outputs: one(dumptest.Payload{Size: -1})}},
		{"TLV version", "version of a TLV dump", dumptest.Content{Container: dumpfmt.TLV, Version: "2.0"}},
		{"TLV attributes", "a TLV dump has no buffers, spaces or attributes", dumptest.Content{Container: dumpfmt.TLV, Attrs: []dumpfmt.Attr{{}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := dumptest.Write(io.Discard, &test.content); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	full := errors.New("disk full")
	for _, c := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.ProtobufV1, dumpfmt.TLV} {
		for room := range 17 {
			content := dumptest.Content{Container: c, Inputs: one(dumptest.Bytes([]byte("ab"))), Outputs: one(dumptest.Bytes([]byte("cd")))}
			if err := dumptest.Write(&fullDisk{room, full}, &content); !errors.Is(err, full) {
				t.Errorf("%v with room for %d bytes: %v", c, room, err)
			}
		}
	}
}

// fullDisk is a disk with room for some bytes.
type fullDisk struct {
	room int
	err  error
}

func (w *fullDisk) Write(b []byte) (int, error) {
	if len(b) > w.room {
		return 0, w.err
	}
	w.room -= len(b)
	return len(b), nil
}
