package dumpfmt_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// realHeader is the header of a dump that a device wrote.
var realHeader = []byte("\x0A\x03\x32\x2E\x30\x10\x83\xF7\xEF\x9F\x99\xC8\xF3\x02\x1A\x10\x08\x02\x10\x02" +
	"\x1A\x03\x0A\x01\x02\x30\x04\x3A\x03\x0A\x01\x02\x32\x0F\x44\x65\x66\x61\x75\x6C\x74\x2F\x41\x64\x64\x2D\x6F\x70\x30")

// realDump is a version 2 dump with that header.
func realDump() []byte { return v2File(realHeader, []byte{1, 2, 3, 4}) }

func v2File(header, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "dumps", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// goldenNames lists the files of testdata/dumps.
func goldenNames(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "dumps"))
	if err != nil || len(entries) == 0 {
		t.Fatal("no dumps in testdata", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func readBytes(b []byte, opt dumpfmt.Options) (*dumpfmt.Dump, error) {
	return dumpfmt.Read(bytes.NewReader(b), int64(len(b)), opt)
}

func mustRead(t testing.TB, b []byte, opt dumpfmt.Options) *dumpfmt.Dump {
	t.Helper()
	d, err := readBytes(b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t testing.TB, c *dumptest.Content) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// data reads all of a section from its start.
func data(t testing.TB, r *io.SectionReader) []byte {
	t.Helper()
	b := make([]byte, r.Size())
	if _, err := r.ReadAt(b, 0); err != nil && len(b) > 0 {
		t.Fatal(err)
	}
	return b
}

// contentOf converts a Dump to the form of the writer.
func contentOf(t testing.TB, d *dumpfmt.Dump) *dumptest.Content {
	t.Helper()
	c := &dumptest.Content{
		Container: d.Container,
		Version:   d.Version,
		DumpTime:  d.DumpTime,
		OpName:    d.OpName,
		Attrs:     d.Attrs,
		DFX:       d.DFX,
		Inputs:    tensorContents(t, d.Inputs, d.InputDetails),
		Outputs:   tensorContents(t, d.Outputs, d.OutputDetails),
		Buffers:   blobContents(t, d.Buffers),
		Spaces:    blobContents(t, d.Spaces),
	}
	return c
}

func tensorContents(t testing.TB, tensors []tensor.Tensor, details []dumpfmt.Detail) []dumptest.TensorContent {
	t.Helper()
	var list []dumptest.TensorContent
	for i, x := range tensors {
		c := describe(x, details[i])
		c.Payload = dumptest.Bytes(data(t, x.Data))
		list = append(list, c)
	}
	return list
}

// describe returns the descriptor of a tensor with its size, without its bytes.
func describe(x tensor.Tensor, d dumpfmt.Detail) dumptest.TensorContent {
	c := dumptest.TensorContent{
		Payload:       dumptest.Payload{Size: x.Size},
		StoredDType:   d.StoredDType,
		StoredFormat:  d.StoredFormat,
		SubFormat:     d.SubFormat,
		Shape:         dimsOf(x.Shape),
		OriginalShape: dimsOf(x.OriginalShape),
		Address:       d.Address,
		Offset:        d.Offset,
		ArgIndex:      d.ArgIndex,
		InputType:     d.InputType,
		DimRanges:     d.DimRanges,
	}
	if op := d.OriginalOp; op != nil {
		c.OriginalOp = &dumptest.OriginalContent{Name: op.Name, Index: op.Index, StoredDType: int32(op.DType), StoredFormat: tensor.FormatWord(op.Format)}
	}
	return c
}

func blobContents(t testing.TB, blobs []dumpfmt.Blob) []dumptest.BlobContent {
	t.Helper()
	var list []dumptest.BlobContent
	for _, b := range blobs {
		list = append(list, dumptest.BlobContent{Payload: dumptest.Bytes(data(t, b.Data)), Type: b.Type})
	}
	return list
}

func dimsOf(s tensor.Shape) []uint64 {
	var dims []uint64
	for _, d := range s {
		dims = append(dims, uint64(d))
	}
	return dims
}

// repeat is a huge file: head, then tail repeated.
type repeat struct{ head, tail []byte }

func (r repeat) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		at := off + int64(i)
		if at < int64(len(r.head)) {
			b[i] = r.head[at]
		} else {
			b[i] = r.tail[(at-int64(len(r.head)))%int64(len(r.tail))]
		}
	}
	return len(b), nil
}
