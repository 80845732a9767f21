package convert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// plain writes a tensor in the order in which it is stored.
func (c *conversion) plain(row *Row, t *tensorfile.Tensor, name func(product) string) {
	shape, err := t.Stored()
	if err != nil {
		row.Err = err
		return
	}
	p := product{kind: row.Kind, index: row.Index, shape: shape, format: t.Format, dtype: binDType(t.DType)}
	ready, err := c.claim(row, name(p))
	if err == nil && ready {
		err = c.write(row.Path, t, p)
	}
	row.Err = err
}

// binDType is the element type that the name of a .bin file tells: numpy's name
// where the stored elements are those of a numpy type.
func binDType(d tensor.DType) string {
	if dec, err := tensor.NewDecoder(d); err == nil && (dec.Identity() || d == tensor.Bool) {
		return dec.Host().String()
	}
	return d.String()
}

// reformat converts a tensor to the target format and writes it.
func (c *conversion) reformat(row *Row, t *tensorfile.Tensor, name func(product) string) {
	shape, err := c.stored(t)
	if err != nil {
		row.Err = err
		return
	}
	if c.opt.Custom.Has(t.Format, *c.opt.Target) {
		var unusable *unusableError
		err := c.custom(row, t, shape, name)
		if !errors.As(err, &unusable) {
			row.Err = err
			return
		}
		row.Warnings = append(row.Warnings, fmt.Sprintf("%v: the built-in converter is used", err))
	}
	groups := t.Groups
	if c.opt.Groups > 0 {
		groups = c.opt.Groups
	}
	plan, err := layout.NewPlan(layout.Request{
		DType: t.DType, Source: t.Format, Shape: shape, C0: t.C0, Groups: groups,
		Original: t.OriginalShape, OriginalFormat: t.OriginalFormat,
		Target: *c.opt.Target, TargetShape: c.opt.Shape, Order: c.opt.Order, TargetC0: c.opt.C0,
		HiddenSize: c.opt.HiddenSize, InputSize: c.opt.InputSize,
	})
	if err != nil {
		row.Err = err
		return
	}
	row.Warnings = append(row.Warnings, plan.Warnings...)
	p := product{kind: row.Kind, index: row.Index, shape: plan.Shape, format: plan.Format, converted: true, dtype: binDType(t.DType)}
	ready, err := c.claim(row, name(p))
	if err == nil && ready {
		if plan.Copies() {
			err = c.write(row.Path, t, p)
		} else {
			err = c.writePlan(row.Path, t, p, plan)
		}
	}
	row.Err = err
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
func (c *conversion) custom(row *Row, t *tensorfile.Tensor, shape tensor.Shape, name func(product) string) error {
	dir, err := os.MkdirTemp("", "dumptool-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flat := *t
	n, _ := shape.Count()
	flat.Shape = tensor.Shape{n}
	in := filepath.Join(dir, "in.npy")
	if err := c.writeNpy(in, &flat, flat.Shape); err != nil {
		return err
	}
	to := c.opt.Shape
	if len(to) == 0 {
		to = t.OriginalShape
	}
	out := filepath.Join(dir, "out.npy")
	if err := c.opt.Custom.convert(c.ctx, call{
		pair: pair{t.Format, *c.opt.Target}, In: in, Out: out, ShapeFrom: shape, ShapeTo: to, Group: t.Groups,
	}); err != nil {
		return err
	}
	f, err := tensorfile.Open(out, dumpfmt.Options{})
	if err != nil {
		return fmt.Errorf("the converter's result: %w", err)
	}
	defer f.Close()
	result := &f.Tensors[0]
	p := product{kind: row.Kind, index: row.Index, shape: result.Shape, format: *c.opt.Target, converted: true, dtype: binDType(result.DType)}
	crop, warning := cropTo(result.Shape, to)
	if warning != "" {
		row.Warnings = append(row.Warnings, warning)
	}
	if crop != nil {
		p.shape = to
	}
	ready, err := c.claim(row, name(p))
	if err != nil || !ready {
		return err
	}
	if crop != nil {
		return c.writePlan(row.Path, result, p, crop)
	}
	return c.write(row.Path, result, p)
}

// cropTo cuts the padding off the result of a user's converter, which may return
// more than the host shape that it was asked for. A result that merely has its
// axes in another order is left alone.
func cropTo(got, want tensor.Shape) (crop *layout.Plan, warning string) {
	n, _ := got.Count()
	m, _ := want.Count()
	if len(want) == 0 || n == m {
		return nil, ""
	}
	plan, err := layout.Crop(got, want)
	if err != nil {
		return nil, fmt.Sprintf("the converter returned %v, which cannot be cut to %v: left as it is", got, want)
	}
	return plan, ""
}
