package tensorfile

import (
	"path/filepath"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// Operator is the execution of one operator that a dump describes.
type Operator struct {
	// Name is the full name of the operator, empty if the file has none.
	Name string
	// Time of the dump in microseconds; 0 if the file does not record it.
	Time uint64
	// Buffers are on-chip buffers, Spaces are workspaces.
	Buffers, Spaces []dumpfmt.Blob

	dump *dumpfmt.Dump
}

// Origin returns the operator and output of the user's model that an output stands for, nil if the
// file names none.
func (o *Operator) Origin(output int) *dumpfmt.OriginalOp {
	if output < 0 || output >= len(o.dump.OutputDetails) {
		return nil
	}
	return o.dump.OutputDetails[output].OriginalOp
}

// readDump reads the dump of one execution of an operator.
func readDump(f *File, src *containerInput) error {
	d, err := dumpfmt.Read(src.file, src.size, dumpfmt.Options{Version: src.opt.Version})
	if err != nil {
		return err
	}
	f.Container, f.Warnings = d.Container.String(), d.Warnings
	f.Op = &Operator{Name: d.OpName, Time: d.DumpTime, Buffers: d.Buffers, Spaces: d.Spaces, dump: d}
	f.Tensors = make([]Tensor, 0, len(d.Inputs)+len(d.Outputs))
	f.add(tensor.Input, d.Inputs, d.InputDetails)
	f.add(tensor.Output, d.Outputs, d.OutputDetails)
	return nil
}

func (f *File) add(kind tensor.Kind, tensors []tensor.Tensor, details []dumpfmt.Detail) {
	for i, t := range tensors {
		one := Tensor{Tensor: format.Tensor{Tensor: t, Err: details[i].Err}, Kind: kind, Index: i, Address: details[i].Address}
		if need, ok := hasSurplusBytes(&t); ok && one.Err == nil && !f.Op.dump.IsOpDebug() {
			one.Warnings = append(one.Warnings, lang.Say("%v elements of %s need %d bytes, found %d: only the first are used", t.Shape, t.DType, need, t.Size))
		}
		f.Tensors = append(f.Tensors, one)
	}
}

// hasSurplusBytes reports whether a tensor of a dump has more bytes than its shape needs plus the
// padding of the runtime, which rounds sizes up to 32 bytes and may add 32.
func hasSurplusBytes(t *tensor.Tensor) (need int64, ok bool) {
	n, counted := t.Shape.Count()
	if !counted || n == 0 || len(t.Shape) == 0 || t.DType == tensor.Undefined {
		return 0, false
	}
	need, fits := t.DType.Bytes(n)
	return need, fits && need > 0 && t.Size > need && (t.Size%32 != 0 || t.Size-need >= 64)
}

// ThreadShapes returns the shapes of the tensors, by kind, in the thread of the file's name; they
// replace the stored shapes. They are nil for every file but the dump of an operator that was
// sliced by thread (FFTS+).
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

// maxRecord bounds the bytes read of an overflow record; the buffer of the device has 2048.
const maxRecord = 1 << 20

// IsRecord reports whether the outputs of the file are overflow records, by its header or by name,
// which may differ from its path.
func (f *File) IsRecord(name string) bool {
	n := filename.Parse(name)
	return f.Op != nil && (f.Op.dump.IsOpDebug() || n.IsOpDebug())
}

// OnlyByteTensor returns the only tensor of a file if it holds bytes: it may be an overflow record under
// any name. It returns nil for several tensors, and for a tensor of another kind or type.
func (f *File) OnlyByteTensor() *Tensor {
	if t := f.Tensors; len(t) == 1 && t[0].Kind == tensor.Output && t[0].DType == tensor.Uint8 {
		return &t[0]
	}
	return nil
}

// HoldsRecord reports whether the contents of the only tensor of a file are an overflow record of
// the new layout.
func (f *File) HoldsRecord() bool {
	t := f.OnlyByteTensor()
	if t == nil {
		return false
	}
	r, err := t.Record()
	return err == nil && r.Generation == opdebug.NewLayout && len(r.Undecoded) == 0
}

// Record parses the output of an OpDebug file as an overflow record. Errors come from package
// opdebug, or from reading.
func (t *Tensor) Record() (r *opdebug.Record, err error) {
	err = guard.Do(func() error {
		payload, err := t.Payload()
		if err == nil {
			r, err = opdebug.Parse(payload)
		}
		return err
	})
	return r, err
}

// Payload reads all stored bytes of a tensor that should be an overflow record, at most maxRecord.
func (t *Tensor) Payload() ([]byte, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	if t.Size > maxRecord {
		return nil, lang.Errorf("the overflow record has %d bytes, want at most %d", t.Size, maxRecord)
	}
	payload := make([]byte, t.Size)
	if n, err := t.Data.ReadAt(payload, 0); n < len(payload) && lang.IsLocated(err) {
		return nil, err
	} else if n < len(payload) {
		return nil, lang.Errorf("read %d bytes of the overflow record, want %d: %w", n, len(payload), err)
	}
	return payload, nil
}

func isSync(info *filename.Info) bool { return info.Grammar == filename.Sync && info.Ext == syncEnding }

// hasSyncName reports whether a file has the name of a raw file of a synchronous dump.
func hasSyncName(name string) bool {
	if !strings.EqualFold(filepath.Ext(name), syncEnding) { // parsing is slow and rarely necessary
		return false
	}
	info := filename.Parse(name)
	return isSync(&info)
}

// syncEnding ends the names of raw files of synchronous dumps.
const syncEnding = ".bin"

// resolveScalar replaces shape (0), which MindSpore writes for scalars, by () for a file of one
// element. A file of 0 bytes keeps shape (0): it is empty.
func resolveScalar(info *filename.Info, size int64) {
	one, ok := info.DType.Bytes(1)
	if ok && size == one && info.Shape.Equal(tensor.Shape{0}) {
		info.Shape = tensor.Shape{}
	}
}

// warnFormat warns of an unknown format in the file's name.
func (f *File) warnFormat(info *filename.Info) {
	if info.UnknownFormat != "" {
		f.Warnings = append(f.Warnings, lang.Say("the format %q in the name is not known: the elements are used as stored", info.UnknownFormat))
	}
}
