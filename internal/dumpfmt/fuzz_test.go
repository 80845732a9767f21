package dumpfmt_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/proto"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumpfmt/dumppb"
	"dumptool/internal/tensor"
)

// addFiles adds the files of testdata and of the tests as seeds.
func addFiles(tb testing.TB, add func(file []byte)) {
	tb.Helper()
	for _, name := range goldenNames(tb) {
		add(golden(tb, name))
	}
	for _, test := range malformed {
		add(test.file)
	}
	add(realDump())
	add(tlvSample())
	add(v2File(version().bytes(3, output(3).bytes(5, []byte("abc"))), nil))
}

func FuzzRead(f *testing.F) {
	addFiles(f, func(file []byte) {
		for v := range 3 {
			f.Add(file, v)
		}
	})
	f.Fuzz(func(t *testing.T, file []byte, version int) {
		checkAny(t, file, dumpfmt.Options{Version: version})
	})
}

// checkAny reads any file and checks the invariants.
func checkAny(t *testing.T, file []byte, opt dumpfmt.Options) {
	t.Helper()
	d, err := readBytes(file, opt)
	if err != nil {
		var fe *dumpfmt.FormatError
		var ue *dumpfmt.UnsupportedError
		if d != nil || !errors.As(err, &fe) && !errors.As(err, &ue) {
			t.Fatalf("got %+v, %T %v", d, err, err)
		}
		return
	}
	if len(d.Inputs) != len(d.InputDetails) || len(d.Outputs) != len(d.OutputDetails) {
		t.Fatalf("the details do not run along: %+v", d)
	}
	for _, x := range append(d.Inputs, d.Outputs...) {
		checkSection(t, file, x.Data, x.Size)
	}
	for _, x := range append(d.Buffers, d.Spaces...) {
		checkSection(t, file, x.Data, x.Size)
	}
	checkRewrite(t, d)
}

func checkSection(t *testing.T, file []byte, r *io.SectionReader, size int64) {
	t.Helper()
	_, off, n := r.Outer()
	if n != size || off < 0 || n < 0 || n > int64(len(file)) || off > int64(len(file))-n {
		t.Fatalf("%d bytes at %d, size %d, in a file of %d", n, off, size, len(file))
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, file[off:off+n]) {
		t.Fatalf("read %x, %v", got, err)
	}
}

// checkRewrite writes d and expects to read an equal dump.
func checkRewrite(t *testing.T, d *dumpfmt.Dump) {
	t.Helper()
	for _, detail := range append(d.InputDetails, d.OutputDetails...) {
		if detail.Err != nil {
			return // a shape is lost
		}
		if op := detail.OriginalOp; op != nil && d.Container == dumpfmt.TLV && op.DType != 16 {
			return // its number is lost
		}
	}
	want := readBack(d)
	if d.Container == dumpfmt.ProtobufV1 && strings.Join(want.payloads, "") == "" {
		return // whether it parses depends on the text and the place of the version
	}
	again := mustRead(t, write(t, contentOf(t, d)), dumpfmt.Options{})
	if again.Container != d.Container {
		t.Fatalf("wrote %v, read %v", d.Container, again.Container)
	}
	got := readBack(again)
	if d.Version == "" {
		got.content.Version = ""
	}
	compareContent(t, want.content, got.content)
	if strings.Join(want.payloads, "|") != strings.Join(got.payloads, "|") {
		t.Error("the payloads are others")
	}
}

// FuzzHeader compares the walker with a decoder that keeps all data.
func FuzzHeader(f *testing.F) {
	f.Add(realHeader)
	addFiles(f, func(file []byte) {
		f.Add(file)
		if len(file) > 8 {
			f.Add(file[8:])
		}
	})
	f.Fuzz(func(t *testing.T, header []byte) {
		h, err := dumpfmt.Walk(header)
		if err != nil {
			return
		}
		want := new(dumppb.DumpData)
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(header, want); err != nil {
			t.Fatalf("the header is read, and gives %v", err)
		}
		checkSpans(t, header, want, h)
		dropEmpty(want)
		if got := h.Message(); !proto.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// dropEmpty drops the parts of a message that a Dump does not represent: shapes without dimensions,
// original operators without a name, and the upper bits of their formats.
func dropEmpty(msg *dumppb.DumpData) {
	drop := func(shape **dumppb.Shape) {
		if len((*shape).GetDim()) == 0 {
			*shape = nil
		}
	}
	for _, x := range msg.GetOutput() {
		drop(&x.Shape)
		drop(&x.OriginalShape)
		if x.GetOriginalOp().GetName() == "" {
			x.OriginalOp = nil
		} else {
			x.OriginalOp.Format = uint32(tensor.FormatWord(x.GetOriginalOp().GetFormat()).Format())
		}
	}
	for _, x := range msg.GetInput() {
		drop(&x.Shape)
		drop(&x.OriginalShape)
	}
}

// checkSpans compares the tensor bytes that the header points to with want, and removes them from
// want.
func checkSpans(t *testing.T, header []byte, want *dumppb.DumpData, h *dumpfmt.Header) {
	t.Helper()
	check := func(kind string, i int, data *[]byte) {
		if got := h.Bytes(header, kind, i); !bytes.Equal(got, *data) {
			t.Errorf("%s %d: tensor bytes %x, want %x", kind, i, got, *data)
		}
		*data = nil
	}
	for i, x := range want.GetOutput() {
		check("output", i, &x.Data)
	}
	for i, x := range want.GetInput() {
		check("input", i, &x.Data)
	}
	for i, x := range want.GetBuffer() {
		check("buffer", i, &x.Data)
	}
	for i, x := range want.GetSpace() {
		check("space", i, &x.Data)
	}
}

func FuzzTLV(f *testing.F) {
	sample := tlvSample()
	f.Add(sample[16:len(sample)-7], sample[len(sample)-7:])
	f.Add(tlvRecord(tlvInputs, 2, tlvInput(1), tlvInput(2)), []byte("abc"))
	f.Add(tlvRecord(tlvInputs, 0xffffffff, tlvInput(1)), []byte("abc"))
	f.Add([]byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, records, data []byte) {
		checkAny(t, tlvFile(records, data), dumpfmt.Options{})
	})
}

func FuzzMapping(f *testing.F) {
	f.Add("1,a\n2,b,c\r\n\nbad\n,x\ny,\n1,z")
	f.Add("\ufeff7.npy,Add.x.1.2.1624605159829059.output.0.npy\n")
	f.Add(`"1" , "a ""b"", c"`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := dumpfmt.ReadMapping(strings.NewReader(text))
		if err != nil {
			if m != nil {
				t.Fatal("a mapping along with an error")
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		if len(m.Stored())+len(m.Bad) > lines {
			t.Errorf("%d names and %d bad lines of %d", len(m.Stored()), len(m.Bad), lines)
		}
		for _, e := range m.Bad {
			if e.Line < 1 || e.Line > lines {
				t.Errorf("%v, of %d lines", e, lines)
			}
		}
		for _, stored := range m.Stored() {
			original, _ := m.Original(stored)
			plain := !strings.ContainsFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) && r != '\n' })
			if stored == "" || original == "" || strings.Contains(stored, "\n") || plain && !strings.Contains(text, stored+","+original) {
				t.Errorf("%q is %q in %q", stored, original, text)
			}
		}
	})
}
