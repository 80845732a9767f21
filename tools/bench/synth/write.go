package synth

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// Stream is the stream on which all operators run.
const Stream = 16

// Operator is an operator that was dumped.
type Operator struct {
	Type, Name string
	Task       uint64
	Time       uint64 // of the dump, in microseconds since 1970
	Inputs     []Tensor
	Output     Tensor
}

// FileName names the dump as the software of the device does.
func (o *Operator) FileName() string {
	return filename.Dump{
		OpType: o.Type, OpName: strings.ReplaceAll(o.Name, "/", "_"),
		TaskID: o.Task, StreamID: Stream, HasStream: true, Timestamp: o.Time,
	}.String()
}

// Write writes the dump into a folder, in binary version 2.
func (o *Operator) Write(dir string) error {
	c := &dumptest.Content{
		Container: dumpfmt.BinaryV2, DumpTime: o.Time, OpName: o.Name,
		Outputs: []dumptest.TensorContent{o.Output.Output(o.Name)},
	}
	for _, in := range o.Inputs {
		c.Inputs = append(c.Inputs, in.Input())
	}
	return WriteFile(filepath.Join(dir, o.FileName()), c)
}

// WriteFile writes a dump file.
func WriteFile(path string, c *dumptest.Content) error {
	return create(path, func(w *bufio.Writer) error { return dumptest.Write(w, c) })
}

// WriteArray writes values in host order as a .npy file of float32.
func WriteArray[F Float](path string, dims []int, values []F) error {
	var shape tensor.Shape
	for _, d := range dims {
		shape = append(shape, int64(d))
	}
	data, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		return err
	}
	return create(path, func(w *bufio.Writer) error {
		for _, v := range values {
			w.Write(data) // its error is kept and returned by Flush
			data = binary.LittleEndian.AppendUint32(data[:0], math.Float32bits(float32(v)))
		}
		_, err := w.Write(data)
		return err
	})
}

// create makes a file of what write writes.
func create(path string, write func(*bufio.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
