package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// makeOverflows makes "overflows DIR RANKS STEPS TYPE.NAME...": a run in which every
// operator overflows on every rank and in every step, with its dump and its record.
// The first one makes +Inf of ones, the others get it.
func makeOverflows(ts *testscript.TestScript, _ bool, args []string) {
	ranks, err := strconv.Atoi(args[1])
	ts.Check(err)
	steps, err := strconv.Atoi(args[2])
	ts.Check(err)
	for rank := range ranks {
		for step := range steps {
			dir := ts.MkAbs(filepath.Join(args[0], "20260101120000", strconv.Itoa(rank), "net", "1", strconv.Itoa(step)))
			ts.Check(os.MkdirAll(dir, 0o777))
			for i, op := range args[3:] {
				in, task, stamp := uint16(0x7c00), 10+i, 1767268800000000+rank*1000000000+step*1000000+i*100
				if i == 0 {
					in = 0x3c00
				}
				writeDump(ts, filepath.Join(dir, fmt.Sprintf("%s.%d.1.%d", op, task, stamp)), &dumptest.Content{OpName: filepath.Ext(op)[1:],
					Inputs: []dumptest.TensorContent{halves(0x3c00, in)}, Outputs: []dumptest.TensorContent{halves(0x3c00, 0x7c00)}})
				record := &opdebug.Record{Generation: opdebug.OldLayout, Size: opdebug.BufferSize, Areas: []opdebug.Area{
					{Unit: opdebug.DHA, Status: []uint64{0}}, {Unit: opdebug.L2, Status: []uint64{0}},
					{Unit: opdebug.AICore, TaskID: uint64(task), StreamID: 1, Status: []uint64{0x100}}}}
				writeDump(ts, filepath.Join(dir, fmt.Sprintf("Opdebug.Node_OpDebug.%d.1.%d", task, stamp+10)), &dumptest.Content{OpName: "Node_OpDebug",
					Outputs: []dumptest.TensorContent{{Payload: dumptest.Bytes(dumptest.EncodeRecord(record)), StoredDType: int32(tensor.Uint8),
						StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{opdebug.BufferSize}}}})
			}
		}
	}
}

// halves is a tensor of float16 codes.
func halves(codes ...uint16) dumptest.TensorContent {
	var data []byte
	for _, c := range codes {
		data = append(data, byte(c), byte(c>>8))
	}
	return dumptest.TensorContent{Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float16),
		StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(codes))}}
}

func writeDump(ts *testscript.TestScript, path string, c *dumptest.Content) {
	f, err := os.Create(path)
	ts.Check(err)
	defer f.Close()
	c.Container = dumpfmt.BinaryV2
	ts.Check(dumptest.Write(f, c))
}
