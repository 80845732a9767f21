package overflow

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// tree writes a dump tree file by file.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) *tree {
	t.Helper()
	return &tree{t, t.TempDir()}
}

func (tr *tree) file(path string, data []byte) string {
	tr.t.Helper()
	full := filepath.Join(tr.root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(full, data, 0o666); err != nil {
		tr.t.Fatal(err)
	}
	return full
}

func (tr *tree) dump(path string, c *dumptest.Content) string {
	tr.t.Helper()
	c.Container = dumpfmt.BinaryV2
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		tr.t.Fatal(err)
	}
	return tr.file(path, b.Bytes())
}

// Float16 codes.
const (
	one  = 0x3c00
	inf  = 0x7c00
	nan  = 0x7e00
	most = 0x7bff
)

func halves(codes ...uint16) dumptest.TensorContent {
	var data []byte
	for _, c := range codes {
		data = binary.LittleEndian.AppendUint16(data, c)
	}
	return dumptest.TensorContent{Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float16),
		StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(codes))}}
}

// op writes the dump of an operator with one input and one output.
func (tr *tree) op(path, name string, in, out uint16) string {
	tr.t.Helper()
	return tr.dump(path, &dumptest.Content{OpName: name,
		Inputs: []dumptest.TensorContent{halves(one, in)}, Outputs: []dumptest.TensorContent{halves(one, one, out)}})
}

// record writes an OpDebug file.
func (tr *tree) record(path string, r *opdebug.Record) string {
	tr.t.Helper()
	return tr.dump(path, recordDump("Node_OpDebug", dumptest.EncodeRecord(r)))
}

func recordDump(opName string, payload []byte) *dumptest.Content {
	return &dumptest.Content{OpName: opName, Outputs: []dumptest.TensorContent{{
		Payload: dumptest.Bytes(payload), StoredDType: int32(tensor.Uint8),
		StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(payload))}}}}
}

// oldRecord returns a record of the old layout: AI Core with the given ids.
func oldRecord(task, stream, status uint64) *opdebug.Record {
	return &opdebug.Record{Generation: opdebug.OldLayout, Size: opdebug.BufferSize, Areas: []opdebug.Area{
		{Unit: opdebug.DHA, Status: []uint64{0}}, {Unit: opdebug.L2, Status: []uint64{0}},
		{Unit: opdebug.AICore, TaskID: task, StreamID: stream, Status: []uint64{status}},
	}}
}

// newLayoutRecord returns a record of the new layout.
func newLayoutRecord(version uint32, task, stream, context, thread uint64, status ...uint64) *opdebug.Record {
	return &opdebug.Record{Generation: opdebug.NewLayout, Header: opdebug.Header{Magic: opdebug.Magic, Version: version, Valid: 1, AccType: 1, DataLen: 88 + 24*version}, Areas: []opdebug.Area{
		{Unit: opdebug.AIV, TaskID: task, StreamID: stream, ContextID: context, ThreadID: thread, Status: status},
	}}
}

// run opens the tree.
func (tr *tree) run() *dumpdir.Run {
	tr.t.Helper()
	run, err := dumpdir.Open(context.Background(), []string{tr.root}, dumpdir.Options{NoRaw: true})
	if err != nil {
		tr.t.Fatal(err)
	}
	return run
}

func (tr *tree) scan(opt Options) *ScanReport {
	tr.t.Helper()
	r, err := Scan(tr.t.Context(), tr.run(), opt)
	if err != nil {
		tr.t.Fatal(err)
	}
	return r
}

func (tr *tree) analyze(opt Options) *Report {
	tr.t.Helper()
	r, err := Analyze(tr.t.Context(), tr.run(), opt)
	if err != nil {
		tr.t.Fatal(err)
	}
	return r
}

// summary formats a record in short.
func summary(r *Record) string {
	op, rule := "-", Rule("-")
	if r.Op != nil {
		op, rule = r.Op.Name, r.Op.MatchedBy
	}
	return fmt.Sprintf("rank %s step %s: %s, %s, %s", r.Rank, r.Step, op, rule, r.Verdict)
}
