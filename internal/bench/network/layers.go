package main

import (
	"encoding/binary"
	"math"

	"dumptool/internal/bench/synth"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/npy"
	"dumptool/internal/tensor"
)

// The operators ran one after the other on one stream.
const (
	stream    = 16
	firstTime = 1624605159829577
	timeStep  = 120 // microseconds
)

// layer is an operator with its output on the host and on the NPU.
type layer struct {
	name, opType string
	format       tensor.Format
	shape        []int
	host, device []float64
}

// array is the output on the host, a .npy file of float32.
func (l *layer) array() ([]byte, error) {
	var shape tensor.Shape
	for _, d := range l.shape {
		shape = append(shape, int64(d))
	}
	data, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	for _, v := range l.host {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return data, err
}

// time is when the i-th operator was dumped.
func (l *layer) time(i int) uint64 { return firstTime + timeStep*uint64(i) }

// dump is the output on the NPU, in the layout of the device.
func (l *layer) dump(i int) *dumpfmt.Content {
	t := synth.Tensor{Format: l.format, Shape: l.shape}
	for _, v := range l.device {
		t.Elements = append(t.Elements, synth.Half(float32(v)))
	}
	return &dumpfmt.Content{
		Container: dumpfmt.BinaryV2, DumpTime: l.time(i), OpName: l.name,
		Outputs: []dumpfmt.TensorContent{t.Output(l.name)},
	}
}
