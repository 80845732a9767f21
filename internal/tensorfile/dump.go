package tensorfile

import (
	"path/filepath"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

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

// readDump reads the dump of one execution of an operator.
func readDump(f *File, src *source) error {
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
		one := Tensor{Tensor: t, Kind: kind, Index: i, Address: details[i].Address, Err: details[i].Err}
		if need, ok := surplus(&t); ok && one.Err == nil && !f.Op.dump.IsOpDebug() {
			one.Warnings = append(one.Warnings, lang.Say("%v elements of %s need %d bytes, found %d: the first are taken", t.Shape, t.DType, need, t.Size))
		}
		f.Tensors = append(f.Tensors, one)
	}
}

// surplus reports whether a tensor of a dump has more bytes than it needs and than the runtime
// gives it: it rounds sizes up to 32 bytes, and may add 32.
func surplus(t *tensor.Tensor) (need int64, ok bool) {
	n, counted := t.Shape.Count()
	if !counted || n == 0 || len(t.Shape) == 0 || t.DType == tensor.Undefined {
		return 0, false
	}
	need, fits := t.DType.Bytes(n)
	return need, fits && need > 0 && t.Size > need && (t.Size%32 != 0 || t.Size-need >= 64)
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

// maxRecord is how many bytes of an overflow record are read; the device's
// buffer has 2048.
const maxRecord = 1 << 20

// IsRecord reports whether the outputs of the file are overflow records: its
// header says so, or name, the one that the file goes by.
func (f *File) IsRecord(name string) bool {
	n := filename.Parse(name)
	return f.Op != nil && (f.Op.dump.IsOpDebug() || n.IsOpDebug())
}

// Lone returns the only tensor of a file that may be a record, whatever its names
// say; nil if there are others, or if it cannot be one.
func (f *File) Lone() *Tensor {
	if t := f.Tensors; len(t) == 1 && t[0].Kind == tensor.Output && t[0].DType == tensor.Uint8 {
		return &t[0]
	}
	return nil
}

// HoldsRecord reports whether the only tensor of a file is a record of the new
// layout by its content.
func (f *File) HoldsRecord() bool {
	t := f.Lone()
	if t == nil {
		return false
	}
	r, err := t.Record()
	return err == nil && r.Generation == opdebug.NewLayout && len(r.Undecoded) == 0
}

// Record reads the overflow record that an output of an OpDebug file holds. The
// error is one of package opdebug, or of reading.
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

// Payload reads all stored bytes of a tensor that should be a record; one that
// is far too large for that is an error.
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

// hasSyncName reports whether a file has such a name.
func hasSyncName(name string) bool {
	if !strings.EqualFold(filepath.Ext(name), syncEnding) { // most often, and parsing takes long
		return false
	}
	info := filename.Parse(name)
	return isSync(&info)
}

// syncEnding ends the names of raw files of synchronous dumps.
const syncEnding = ".bin"

// resolveScalar changes the dimension 0 that MindSpore writes for no dimensions
// into none, for a file of one element. A file without a byte is empty indeed.
func resolveScalar(info *filename.Info, size int64) {
	one, ok := info.DType.Bytes(1)
	if ok && size == one && info.Shape.Equal(tensor.Shape{0}) {
		info.Shape = tensor.Shape{}
	}
}

// warnFormat warns of a format in the file's name that is not known.
func (f *File) warnFormat(info *filename.Info) {
	if info.UnknownFormat != "" {
		f.Warnings = append(f.Warnings, lang.Say("the format %q in the name is not known: the elements are taken as they lie", info.UnknownFormat))
	}
}
