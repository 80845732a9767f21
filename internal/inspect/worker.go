package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// worker is the memory that statistics take, kept for the next file.
type worker struct {
	opt    Options
	run    *dumpdir.Run
	places map[*dumpdir.File]*place
	block  []byte
}

// file inspects one file.
func (w *worker) file(ctx context.Context, e *dumpdir.File) *File {
	f := &File{Entry: e, At: e.Folder.At, Err: e.Err}
	name := filename.Parse(e.Name)
	if f.Name, f.HasName = name.Dump, name.HasDump; f.HasName || name.Grammar == filename.Sync {
		f.OpType, f.OpName = name.OpType, name.OpName
	}
	if p := w.places[e]; p != nil {
		f.belong(p, w.opt.Script)
	}
	switch {
	case f.Err != nil:
		return f
	case e.Role == dumpdir.Table:
		w.table(f)
		return f
	case w.side(f, sideOf(e.Name)):
		return f
	case e.Role == dumpdir.Side && !w.run.Single:
		f.NotDump, f.why = true, errSide
		return f
	}
	src, err := tensorfile.Open(e.Path(), tensorfile.Options{Name: e.Name, Version: w.opt.Version, Whole: w.opt.Stats && name.IsDump()})
	if err != nil {
		if !w.looseProto(f) {
			f.fail(err, w.run.Single)
		}
		return f
	}
	defer src.Close()
	f.Warnings = src.Warnings
	f.describe(src)
	slices := f.slices(src)
	for i := range src.Tensors {
		if !w.wants(f, &src.Tensors[i]) {
			continue
		}
		t := w.tensor(ctx, f, &src.Tensors[i], slices)
		if errors.Is(t.Err, context.Canceled) {
			return &File{Entry: e, Err: t.Err}
		}
		switch {
		case src.Named:
			f.Tensors = append(f.Tensors, t)
		case t.Kind.IsInput():
			f.Inputs = append(f.Inputs, t)
		default:
			f.Outputs = append(f.Outputs, t)
		}
	}
	if !src.Named && len(f.Inputs)+len(f.Outputs)+len(f.Buffers)+len(f.Spaces) == 0 {
		f.Warnings = append(f.Warnings, "the dump holds no tensors")
	}
	return f
}

// msprobe is the container of what msprobe lists.
const msprobe = string(dumpdir.MSProbe)

// belong notes where in the run the file belongs.
func (f *File) belong(p *place, script bool) {
	f.At, f.Statistics = p.at, p.rows
	if p.values != nil {
		f.Container, f.Named, f.Tensors = msprobe, true, p.values
	}
	if p.order >= 0 {
		f.Order = &p.order
	}
	if script {
		f.Script = p.script
	}
	if p.op != nil && f.OpName == "" && f.OpType == "" {
		f.OpName, f.OpType = p.op.Name, p.op.Type
	}
}

// wants reports whether a tensor is one of the operators that are chosen, of a file
// that may hold those of others too.
func (w *worker) wants(f *File, t *tensorfile.Tensor) bool {
	p := w.places[f.Entry]
	return t.Name == "" || w.opt.Ops == nil || p != nil && p.members[t.Name]
}

// errSide says why a file is not opened.
var errSide = errors.New("it lies beside dumps and holds no tensors")

// table notes what is wrong with a table.
func (w *worker) table(f *File) {
	f.Container = "statistics"
	if f.Entry.Folder.Producer == dumpdir.MSProbe {
		f.Container = msprobe
	}
	for i := range w.run.Problems {
		if p := &w.run.Problems[i]; p.Kind == dumpdir.BadSide && p.Path == f.Entry.Path() {
			f.Err = p.Err
		}
	}
	if rows, ok := errors.AsType[*dumpdir.TableError](f.Err); ok {
		f.Err, f.Partial = nil, f.Err
		f.keep(&rows.Misfits, w.opt.Misfits)
	}
}

// fail notes the error of opening the file.
func (f *File) fail(err error, single bool) {
	name := filename.Parse(f.Entry.Name)
	claims := name.IsDump() || single || tensorfile.Claims(f.Entry.Name)
	if f.NotDump = errors.Is(err, dumpfmt.ErrNotDump) && !claims; !f.NotDump {
		f.Err = err
	} else {
		f.why = err
	}
}

// describe notes what the file says as a whole.
func (f *File) describe(src *tensorfile.File) {
	f.Container, f.Named, f.Values = src.Container, src.Named, src.Values
	// The name of an exception dump, which names no operator, has a date instead.
	if f.Name.OpName != "" {
		f.DumpTime = f.Name.Timestamp
	}
	op := src.Op
	if op == nil {
		return
	}
	f.OpDebug = src.IsRecord(f.Entry.Name)
	if op.Name != "" {
		f.OpName = op.Name
	}
	f.DumpTime = cmp.Or(op.Time, f.DumpTime)
	f.Buffers, f.Spaces = op.Buffers, op.Spaces
}

// slices returns the shapes of the thread's part by kind of tensor, nil for an
// operator that was not sliced by threads.
func (f *File) slices(src *tensorfile.File) map[tensor.Kind][]tensor.Shape {
	shapes, err := src.ThreadShapes(f.Name)
	if err != nil {
		f.Warnings = append(f.Warnings, strings.TrimPrefix(err.Error(), "dumpfmt: "))
	}
	f.Sliced = shapes != nil
	return shapes
}

// tensor inspects one tensor.
func (w *worker) tensor(ctx context.Context, f *File, src *tensorfile.Tensor, slices map[tensor.Kind][]tensor.Shape) Tensor {
	t := Tensor{Tensor: src.Tensor, Kind: src.Kind, Index: src.Index, Name: src.Name, Operator: src.Operator, Details: src.Details, Origin: src.Origin, Err: src.Err}
	t.Data = nil
	if list := slices[t.Kind]; t.Index < len(list) {
		t.Slice = list[t.Index]
	}
	switch {
	case errors.Is(t.Err, tensorfile.ErrNoData):
		f.Warnings, t.Err = append(f.Warnings, fmt.Sprintf("%s: %v", src, t.Err)), nil
	case t.Err != nil:
	case f.OpDebug && t.Kind == tensor.Output:
		if t.Record, t.Err = src.Record(); t.Err == nil {
			f.Warnings = append(f.Warnings, t.Record.Warnings...)
		}
	default:
		w.elements(ctx, src, &t)
	}
	return t
}

// elements checks that the bytes hold the elements and gathers statistics.
func (w *worker) elements(ctx context.Context, src *tensorfile.Tensor, t *Tensor) {
	if t.Slice != nil && !src.Holds(src.Shape) {
		src.Shape = t.Slice
	}
	shape, err := src.Stored()
	var noElements *tensor.UnsupportedType
	switch {
	case errors.As(err, &noElements) && !w.opt.Stats:
	case err != nil:
		t.Err = err
	case w.opt.Stats:
		t.Stats, t.Err = src.Stats(ctx, shape, &w.block)
	}
}

// maxBlock is the size of a block of statistics: elements have 16 bytes at most.
const maxBlock = 16 * layout.BlockElements
