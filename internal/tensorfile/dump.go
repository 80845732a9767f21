package tensorfile

import (
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// dumpContainer is the dump of one execution of an operator. It is tried for
// every file that nothing else is known about, because neither name nor first
// bytes are sure signs of one.
var dumpContainer = Container{
	Name: "dump",
	is:   func([]byte, *source) bool { return true },
	read: readDump,
}

// Operator is the execution of one operator that a dump describes.
type Operator struct {
	// Name is the full name of the operator, empty where the file has none.
	Name string
	// Time is when it was dumped, in microseconds; 0 where the file does not say.
	Time uint64
	// Buffers are on-chip buffers, Spaces workspaces.
	Buffers, Spaces []dumpfmt.Blob

	dump *dumpfmt.Dump
}

// Origin returns the operator and output of the user's model that an output stands
// for, nil where the file names none.
func (o *Operator) Origin(output int) *dumpfmt.OriginalOp {
	if output < 0 || output >= len(o.dump.OutputDetails) {
		return nil
	}
	return o.dump.OutputDetails[output].OriginalOp
}

func readDump(f *File, src *source) error {
	d, err := dumpfmt.Read(src.file, src.size, dumpfmt.Options{Version: src.opt.Version})
	if err != nil {
		return err
	}
	f.Container, f.Warnings = d.Container.String(), d.Warnings
	f.Op = &Operator{Name: d.OpName, Time: d.DumpTime, Buffers: d.Buffers, Spaces: d.Spaces, dump: d}
	f.add(tensor.Input, d.Inputs, d.InputDetails)
	f.add(tensor.Output, d.Outputs, d.OutputDetails)
	return nil
}

func (f *File) add(kind tensor.Kind, tensors []tensor.Tensor, details []dumpfmt.Detail) {
	for i, t := range tensors {
		f.Tensors = append(f.Tensors, Tensor{Tensor: t, Kind: kind, Index: i, Err: details[i].Err})
	}
}

// ThreadShapes returns the shapes, by kind of tensor, that the tensors have in
// the thread in the file's name; they take the place of the stored
// ones. They are nil for every file but the dump of an operator that was cut in
// slices by thread (FFTS+).
func (f *File) ThreadShapes(name filename.Dump) (map[tensor.Kind][]tensor.Shape, error) {
	if f.Op == nil {
		return nil, nil
	}
	inputs, outputs, ok, err := dumpfmt.ThreadSlices(f.Op.dump, name)
	if err != nil || !ok {
		return nil, err
	}
	return map[tensor.Kind][]tensor.Shape{tensor.Input: inputs, tensor.Output: outputs}, nil
}
