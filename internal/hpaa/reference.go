package hpaa

import (
	"context"
	"fmt"
	"sync"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Reference is a run of the same network whose tensors have the shapes of the outputs.
type Reference struct {
	index   filename.Index
	outputs []map[int]*modelTensor // of each name
}

// modelTensor is an output of the reference, which is opened when it is asked for.
type modelTensor struct {
	file   *dumpdir.File
	member string
	once   sync.Once
	dtype  tensor.DType
	shape  tensor.Shape
	err    error
}

// OpenReference lists the tensors at a path.
func OpenReference(ctx context.Context, path string) (*Reference, error) {
	run, err := dumpdir.Open(ctx, []string{path}, dumpdir.Options{NoRaw: true})
	if err == nil {
		err = run.ReadHeaders(ctx, dumpdir.HeaderOptions{})
	}
	if err != nil {
		return nil, err
	}
	r := new(Reference)
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			r.add(op)
		}
	}
	return r, nil
}

// add adds the outputs of an operator; the first of a name counts.
func (r *Reference) add(op *dumpdir.Op) {
	for _, name := range op.Names() {
		if _, added := r.index.Add(name, len(r.outputs)); !added {
			continue
		}
		outputs := map[int]*modelTensor{}
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if t.Kind == tensor.Output && outputs[t.Index] == nil && !t.Table {
				outputs[t.Index] = &modelTensor{file: t.File, member: t.Member}
			}
		}
		r.outputs = append(r.outputs, outputs)
	}
}

// has reports whether the reference has a node.
func (r *Reference) has(node string) bool {
	_, ok := r.index.Find(node)
	return ok
}

// output is an output of a node, nil for one that is not there.
func (r *Reference) output(node string, index int) *modelTensor {
	if r == nil {
		return nil
	}
	i, ok := r.index.Find(node)
	if !ok {
		return nil
	}
	return r.outputs[i][index]
}

// describe returns type and shape.
func (t *modelTensor) describe() (tensor.DType, tensor.Shape, error) {
	t.once.Do(func() { t.err = t.open() })
	return t.dtype, t.shape, t.err
}

func (t *modelTensor) open() error {
	f, err := tensorfile.Open(t.file.Path(), tensorfile.Options{Name: t.file.Name})
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range f.Tensors {
		if found := &f.Tensors[i]; found.Name == t.member {
			t.dtype = found.DType
			t.shape, err = found.Stored()
			return err
		}
	}
	return fmt.Errorf("no tensor %q in it", t.member)
}

// hintsOf is what is known about a piece of a group besides its description.
func (w *worker) hintsOf(g *group, p *Piece) hints {
	h := hints{encoding: w.opt.Encoding, skip: w.opt.Skip, dtype: w.opt.DType, shape: w.opt.shapeOf(g.row.Node, p.Node)}
	if h.encoding == "" {
		h.encoding = Auto
	}
	model := w.opt.Reference.output(g.row.Node, g.row.Output)
	if model == nil {
		h.unknown = w.opt.Reference != nil
		return h
	}
	dtype, shape, err := model.describe()
	if err != nil {
		h.err = fmt.Errorf("%s: %w", model.file.Path(), err)
		return h
	}
	h.model = shape
	h.from = model.file.Path()
	if h.dtype == tensor.Undefined {
		h.dtype = dtype
	}
	if h.shape == nil {
		h.shape, h.divided = w.opt.divide(g, p, shape), true
	}
	return h
}

// divide is the shape of a piece of an output with the shape of the model: that divided
// by the number of pieces on their axis. The last of them may be padded.
func (o *Options) divide(g *group, p *Piece, model tensor.Shape) tensor.Shape {
	axis := o.Axis
	if p.Axis != nil {
		axis = *p.Axis
	}
	axis = chooseAxis(axis, model)
	n := 1
	for _, other := range g.row.Pieces {
		n = max(n, other.Number+1)
	}
	return partOf(model, axis, n)
}

// shapeOf is the shape that the options give the pieces of a node, by any of its names.
func (o *Options) shapeOf(names ...string) tensor.Shape {
	for _, name := range names {
		if s, ok := o.Shapes[name]; ok && name != "" {
			return s
		}
	}
	for key, s := range o.Shapes {
		for _, name := range names {
			if key != "" && filename.SameNormalised(key, name) {
				return s
			}
		}
	}
	return o.Shapes[""]
}
