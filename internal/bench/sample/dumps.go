package main

import (
	"strings"

	"dumptool/internal/bench/synth"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// The operators ran on one stream.
const stream = 16

// The convolution is the example of the dump manual, with a smaller batch of
// smaller images.
const (
	convName = "Default/network/_backbone/conv1/Conv2D-op515"
	convTask = 58
	convTime = 1624605159829577
)

// The multiplication is that of a gradient, and its loss scale is too high: an
// overflow record follows it.
const (
	gradName  = "Gradients/Default/network/_backbone/linear/gradMatMul/MatMul-op733"
	gradTask  = 171
	gradTime  = 1624605159913042
	debugTime = gradTime + 4
)

// dumps returns all files by name.
func dumps() map[string]*dumpfmt.Content {
	conv, grad := newConvolution(), newGradient()
	return map[string]*dumpfmt.Content{
		fileName("Conv2D", convName, convTask, convTime): operator(convName, convTime, conv.input, conv.weight, conv.output),
		fileName("MatMul", gradName, gradTask, gradTime): operator(gradName, gradTime, grad.left, grad.right, grad.product),

		fileName("Opdebug", debugName, gradTask, debugTime): overflow(),
	}
}

// fileName names a dump as the device's software does.
func fileName(opType, opName string, task, time uint64) string {
	return dumpfmt.Name{
		OpType: opType, OpName: strings.ReplaceAll(opName, "/", "_"),
		TaskID: task, StreamID: stream, HasStream: true, Timestamp: time,
	}.String()
}

// operator is the dump of an operator with two inputs.
func operator(name string, time uint64, first, second, output synth.Tensor) *dumpfmt.Content {
	return &dumpfmt.Content{
		Container: dumpfmt.BinaryV2, DumpTime: time, OpName: name,
		Inputs:  []dumpfmt.TensorContent{first.Input(), second.Input()},
		Outputs: []dumpfmt.TensorContent{output.Output(name)},
	}
}

const debugName = "Node_OpDebug"

// overflow is the record that speaks of the multiplication: a float32 sum did
// not fit into float16. The addresses are made up.
func overflow() *dumpfmt.Content {
	record := &opdebug.Record{
		Generation: opdebug.OldLayout,
		Areas: []opdebug.Area{
			{Unit: opdebug.DHA, Status: []uint64{0}},
			{Unit: opdebug.L2, Status: []uint64{0}},
			{
				Unit: opdebug.AICore, ModelID: 11, StreamID: stream, TaskID: gradTask,
				PCStart: 0x1008005b0000, ParaBase: 0x100800297000, KernelCode: 0x1008005ae000,
				BlockIdx: 1, Status: []uint64{0x100},
			},
		},
	}
	return &dumpfmt.Content{
		Container: dumpfmt.BinaryV2, DumpTime: debugTime, OpName: debugName,
		Outputs: []dumpfmt.TensorContent{{
			Payload:      dumpfmt.Bytes(opdebug.Encode(record)),
			StoredDType:  int32(tensor.Uint8),
			StoredFormat: tensor.FormatWord(tensor.ND),
			Shape:        []uint64{opdebug.BufferSize},
			OriginalOp:   &dumpfmt.OriginalContent{Name: debugName, StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND)},
		}},
	}
}
