package main

import (
	"path/filepath"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// writeRecord writes the overflow record of an operator: a float32 sum did not
// fit into float16. The addresses are made up.
func writeRecord(dir string, of *synth.Operator) error {
	const name = "Node_OpDebug"
	record := &opdebug.Record{
		Generation: opdebug.OldLayout,
		Areas: []opdebug.Area{
			{Unit: opdebug.DHA, Status: []uint64{0}},
			{Unit: opdebug.L2, Status: []uint64{0}},
			{
				Unit: opdebug.AICore, ModelID: 11, StreamID: synth.Stream, TaskID: of.Task,
				PCStart: 0x1008005b0000, ParaBase: 0x100800297000, KernelCode: 0x1008005ae000,
				BlockIdx: 1, Status: []uint64{0x100},
			},
		},
	}
	file := synth.Operator{Type: "Opdebug", Name: name, Task: of.Task, Time: of.Time + 4}
	return synth.WriteFile(filepath.Join(dir, file.FileName()), &dumptest.Content{
		Container: dumpfmt.BinaryV2, DumpTime: file.Time, OpName: name,
		Outputs: []dumptest.TensorContent{{
			Payload:      dumptest.Bytes(dumptest.EncodeRecord(record)),
			StoredDType:  int32(tensor.Uint8),
			StoredFormat: tensor.FormatWord(tensor.ND),
			Shape:        []uint64{opdebug.BufferSize},
			OriginalOp:   &dumptest.OriginalContent{Name: name, StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND)},
		}},
	})
}
