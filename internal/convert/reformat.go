package convert

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// plain writes a tensor in the order in which it is stored.
func (c *conversion) plain(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := t.Stored()
	if err != nil {
		return err
	}
	return c.saveStored(row, t, product{kind: row.Kind, index: row.Index, shape: shape, format: t.Format, dtype: binDType(t.DType)}, name)
}

// saveStored writes a product whose elements are the stored ones in their order.
func (c *conversion) saveStored(row *Row, t *tensorfile.Tensor, p product, name namer) error {
	n := p.shape.Elements()
	if c.run.opt.Type == Bin {
		size, _ := t.DType.Bytes(n)
		return c.save(row, p, storedBytes(t.Data, size), name)
	}
	return c.save(row, p, storedElements(t, n), name)
}

// savePlanned writes a product that a plan makes.
func (c *conversion) savePlanned(row *Row, t *tensorfile.Tensor, p product, plan *layout.Plan, name namer) error {
	if plan.Copies() {
		return c.saveStored(row, t, p, name)
	}
	open := func(buf *layout.Buffers) (layout.Source, error) {
		return plan.Reader(t.Elements(), t.DType.UnitSize(), buf)
	}
	r, err := open(&c.mem.layout)
	if err != nil {
		return err
	}
	src := elements{Source: r, dtype: t.DType, n: p.shape.Elements()}
	if c.run.opt.Type == Safetensors {
		src.Source = &later{open: func() (layout.Source, error) { return open(&c.mem.layout) }}
	}
	if isRandom(t) {
		src.another = open
	}
	return c.save(row, p, src, name)
}

// save writes a product to the file that its name says, unless that is there
// already and is to be kept.
func (c *conversion) save(row *Row, p product, src elements, name namer) error {
	if c.run.opt.Type == Safetensors {
		return c.hold(row, p, src)
	}
	ready, err := c.claim(row, name(p))
	if err != nil || !ready {
		return err
	}
	return c.write(row.Path, c.run.opt.Type, src, p.shape)
}

// binDType is the element type in the name of a .bin file: numpy's name
// where the stored elements are those of a numpy type.
func binDType(d tensor.DType) string {
	if dec, err := tensor.NewDecoder(d); err == nil && (dec.Identity() || d == tensor.Bool) {
		return dec.Host().String()
	}
	return d.String()
}

// reformat converts a tensor to the target format and writes it.
func (c *conversion) reformat(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := c.stored(t)
	if err != nil {
		return err
	}
	opt := &c.run.opt
	if opt.Custom.Has(t.Format, *opt.Target) {
		var unusable *unusableError
		err := c.custom(row, t, shape, name)
		if !errors.As(err, &unusable) {
			return err
		}
		row.Warnings = append(row.Warnings, fmt.Sprintf("%v: the built-in converter is used", err))
	}
	plan, err := layout.NewPlan(layout.Request{
		DType: t.DType, Source: t.Format, Shape: shape, C0: t.C0, Groups: cmp.Or(opt.Groups, t.Groups),
		Original: t.OriginalShape, OriginalFormat: t.OriginalFormat,
		Target: *opt.Target, TargetShape: opt.Shape, Order: opt.Order, TargetC0: opt.C0,
		HiddenSize: opt.HiddenSize, InputSize: opt.InputSize,
	})
	if err != nil {
		return err
	}
	row.Warnings = append(row.Warnings, plan.Warnings...)
	p := product{kind: row.Kind, index: row.Index, shape: plan.Shape, format: plan.Format, converted: true, dtype: binDType(t.DType)}
	return c.savePlanned(row, t, p, plan, name)
}

// stored is the shape of the stored elements for a conversion: bytes of
// undefined type count as elements when the shape takes exactly all of them.
func (c *conversion) stored(t *tensorfile.Tensor) (tensor.Shape, error) {
	shape, err := t.Stored()
	if err == nil && t.DType == tensor.Undefined && len(t.Shape) > 0 {
		if n, ok := t.Shape.Count(); ok && n == t.Size {
			return t.Shape, nil
		}
	}
	return shape, err
}

// custom converts a tensor with the user's own converter.
func (c *conversion) custom(row *Row, t *tensorfile.Tensor, shape tensor.Shape, name namer) error {
	dir, err := os.MkdirTemp("", "dumptool-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n := shape.Elements()
	in := filepath.Join(dir, "in.npy")
	if err := c.write(in, Npy, storedElements(t, n), tensor.Shape{n}); err != nil {
		return err
	}
	to := c.run.opt.Shape
	if len(to) == 0 {
		to = t.OriginalShape
	}
	out := filepath.Join(dir, "out.npy")
	if err := c.run.opt.Custom.convert(c.ctx, call{
		pair: pair{t.Format, *c.run.opt.Target}, In: in, Out: out, ShapeFrom: shape, ShapeTo: to, Group: t.Groups,
	}); err != nil {
		return err
	}
	f, err := tensorfile.Open(out, tensorfile.Options{})
	if err != nil {
		return fmt.Errorf("the converter's result: %w", err)
	}
	defer f.Close()
	result := &f.Tensors[0]
	p := product{kind: row.Kind, index: row.Index, shape: result.Shape, format: *c.run.opt.Target, converted: true, dtype: binDType(result.DType)}
	crop, err := cropTo(result.Shape, to)
	if err != nil {
		row.Warnings = append(row.Warnings, err.Error())
	}
	p.shape = crop.Shape
	return c.savePlanned(row, result, p, crop, name)
}

// cropTo cuts the padding off the result of a user's converter, which may return
// more than the host shape that it was asked for. A result that merely has its
// axes in another order is left alone, and so, with the error, is one that
// cannot be cut.
func cropTo(got, want tensor.Shape) (*layout.Plan, error) {
	if len(want) == 0 || got.Elements() == want.Elements() {
		return &layout.Plan{Shape: got}, nil
	}
	plan, err := layout.Crop(got, want)
	if err != nil {
		return &layout.Plan{Shape: got}, fmt.Errorf("the converter returned %v, which cannot be cut to %v: left as it is", got, want)
	}
	return plan, nil
}
