package inspect

import (
	"cmp"
	"context"
	"errors"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// worker holds the buffers for statistics, reused for the next file.
type worker struct {
	opt    Options
	run    *dumpdir.Run
	places map[*dumpdir.File]*filePosition
	block  []byte
}

// file inspects one file.
func (w *worker) file(ctx context.Context, e *dumpdir.File) *File {
	f := newFile(e, e.Err)
	name := filename.Parse(e.Name)
	if f.Name, f.HasName = name.Dump, name.HasDump; f.HasName || name.Grammar == filename.Sync {
		f.OpType, f.OpName = jsonpos.NullableText(name.OpType), jsonpos.NullableText(name.OpName)
	}
	if p := w.places[e]; p != nil {
		f.setPlace(p, w.opt.Script)
	}
	switch {
	case f.Err != nil:
		return f
	case e.Role == dumpdir.Table:
		w.table(f)
		return f
	case w.summariseUnreadable(f, sideOf(e.Name)):
		return f
	case e.Role == dumpdir.Side && !w.run.Single:
		f.NotDump, f.why = true, errSide
		return f
	}
	src, err := tensorfile.Open(e.Path(), tensorfile.Options{Name: e.Name, Version: w.opt.Version, Whole: w.opt.Stats && name.IsDump(), Only: e.Only})
	if err != nil {
		if !w.looseProto(f) {
			f.fail(err, w.run.Single)
		}
		return f
	}
	defer src.Close()
	f.Warnings = src.AllWarnings()
	f.describe(src)
	slices := f.slices(src)
	for i := range src.Tensors {
		if !w.isSelected(f, &src.Tensors[i]) {
			continue
		}
		t := w.tensor(ctx, f, &src.Tensors[i], slices)
		if errors.Is(t.Err, context.Canceled) {
			return newFile(e, t.Err)
		}
		switch {
		case src.Named:
			t.name(&src.Tensors[i])
			f.Tensors = append(f.Tensors, t)
		case t.Kind.IsInput():
			f.Inputs = append(f.Inputs, t)
		default:
			f.Outputs = append(f.Outputs, t)
		}
	}
	if !src.Named && len(f.Inputs)+len(f.Outputs)+len(f.Buffers)+len(f.Spaces) == 0 {
		f.Warnings = append(f.Warnings, lang.Say("the dump holds no tensors"))
	}
	return f
}

// msprobe is the container of values listed by msprobe.
const msprobe = jsonpos.NullableText(dumpdir.MSProbe)

// setPlace copies the file's place in the run.
func (f *File) setPlace(p *filePosition, script bool) {
	f.At, f.Statistics = p.at, p.rows
	if p.values != nil {
		f.Container, f.Tensors = msprobe, p.values
	}
	if p.order >= 0 {
		f.Order = &p.order
	}
	if script {
		f.Script = p.script
	}
	if p.op != nil && f.OpName == "" && f.OpType == "" {
		f.OpName, f.OpType = jsonpos.NullableText(p.op.Name), jsonpos.NullableText(p.op.Type)
	}
}

// isSelected reports whether a tensor belongs to the selected operators; a file may also hold tensors of other
// operators.
func (w *worker) isSelected(f *File, t *tensorfile.Tensor) bool {
	p := w.places[f.Entry]
	return t.Name == "" || w.opt.Ops == nil || p != nil && p.members[t.Name]
}

// errSide says why a side file is not opened.
var errSide = lang.Errorf("it is in a folder of dumps and holds no tensors")

// table sets the problems of a table.
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
		f.Partial = true
		f.countMisfits(&rows.Misfits, w.opt.Misfits)
	}
}

// fail sets the error of opening the file.
func (f *File) fail(err error, single bool) {
	name := filename.Parse(f.Entry.Name)
	claims := name.IsDump() || single || tensorfile.Claims(f.Entry.Name)
	if f.NotDump = errors.Is(err, dumpfmt.ErrNotDump) && !claims; !f.NotDump {
		f.Err = lang.AsFailure(err)
	} else {
		f.why = err
	}
}

// describe copies the properties of the file as a whole.
func (f *File) describe(src *tensorfile.File) {
	if f.Container, f.Values = jsonpos.NullableText(src.Container), src.Values; src.Named {
		f.Tensors = []Tensor{}
	}
	// Exception dumps name no operator; their number is a date, not a timestamp.
	if f.Name.OpName != "" {
		f.DumpTime = Time(f.Name.Timestamp)
	}
	op := src.Op
	if op == nil {
		return
	}
	f.OpDebug = src.IsRecord(f.Entry.Name)
	if op.Name != "" {
		f.OpName = jsonpos.NullableText(op.Name)
	}
	f.DumpTime = cmp.Or(Time(op.Time), f.DumpTime)
	f.Buffers, f.Spaces = newBlobs(op.Buffers), newBlobs(op.Spaces)
}

// slices returns the shapes of the thread's part by kind of tensor, nil for an operator that was
// not sliced by threads.
func (f *File) slices(src *tensorfile.File) map[tensor.Kind][]tensor.Shape {
	shapes, err := src.ThreadShapes(f.Name)
	if err != nil {
		f.Warnings = append(f.Warnings, lang.Error(err))
	}
	f.Sliced = shapes != nil
	return shapes
}

// tensor inspects one tensor.
func (w *worker) tensor(ctx context.Context, f *File, src *tensorfile.Tensor, slices map[tensor.Kind][]tensor.Shape) Tensor {
	t := Tensor{
		Kind: src.Kind, Index: src.Index, DType: tensorfile.TypeName(src.DType, src.Origin), Format: &src.Format, Shape: Shape(src.Shape),
		OriginalShape: append(tensor.Shape{}, src.OriginalShape...), Groups: &src.Groups, Size: src.Size, OriginalFormat: src.OriginalFormat, C0: src.C0,
	}
	if list := slices[t.Kind]; t.Index < len(list) {
		t.Slice = list[t.Index]
	}
	err := src.Err
	switch {
	case errors.Is(err, tensorfile.ErrNoData):
		f.Warnings, err = append(f.Warnings, lang.Say("%s: %v", src, err)), nil
	case err != nil:
	case f.OpDebug && t.Kind == tensor.Output:
		if t.Record, err = src.Record(); err == nil {
			f.Warnings = append(f.Warnings, t.Record.Warnings...)
		}
	default:
		err = w.elements(ctx, f, src, &t)
	}
	t.Err = lang.AsFailure(err)
	return t
}

// name copies the properties of a named tensor.
func (t *Tensor) name(src *tensorfile.Tensor) {
	t.NameInFile, t.KindInFile, t.typeName, t.DType, t.Details = &src.Name, t.Kind, t.DType, src.DType.String(), src.Details
	t.Format, t.OriginalShape, t.Groups, t.OriginalFormat, t.C0, t.Slice, t.Record = nil, nil, nil, nil, 0, nil, nil
	if op := src.Operator; op != nil {
		t.Node, t.Seq, t.Round = op.Name, &op.Seq, &op.Round
	}
}

// elements checks that the bytes hold the elements, and computes statistics.
func (w *worker) elements(ctx context.Context, f *File, src *tensorfile.Tensor, t *Tensor) error {
	if t.Slice != nil && !src.CoversShape(src.Shape) {
		src.Shape = t.Slice
	}
	shape, err := src.StoredShape()
	var noElements *tensor.UnsupportedType
	switch {
	case errors.As(err, &noElements) && !w.opt.Stats:
		return nil
	case err != nil || !w.opt.Stats:
		return err
	}
	stats, err := src.Stats(ctx, shape, &w.block)
	t.Stats = newStats(stats)
	if p := w.places[f.Entry]; err == nil && p != nil {
		if differs := p.statistics.Contradiction(src, stats); differs != nil {
			f.Warnings = append(f.Warnings, lang.Error(differs))
		}
	}
	return err
}

// maxBlock is the size of a block of statistics: elements have at most 16 bytes.
const maxBlock = 16 * layout.BlockElements
