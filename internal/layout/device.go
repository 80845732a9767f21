package layout

import (
	"cmp"
	"errors"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// planFromDevice plans a source in a device layout, by its rule for named axes or for matrices.
// FRACTAL_Z has both.
func (pl *planner) planFromDevice() error {
	host := pl.hostShape()
	matrix := ndRuleOf(pl.Source)
	rule := ruleOf(pl.Source)
	switch {
	case matrix == nil && rule == nil:
		return pl.unsupportedError(lang.Say("the layout has no public definition"))
	case matrix == nil:
		return pl.planFromNamed(rule)
	case rule == nil:
		return pl.planFromMatrix(matrix, host)
	}
	// A host shape of two dimensions, or a batch of matrices, is the weight of a MatMul unless its
	// axes are known to be other axes.
	isMatrix := pl.Groups <= 1 && len(host) >= 2 && (len(host) == 2 || len(pl.Shape) > matrix.tail) &&
		matrix.checkHostShape(pl.Source, host, pl.Shape, pl.matrixParams(matrix, host)) == nil
	if !isMatrix {
		return pl.planFromNamed(rule)
	}
	if pl.orderKnown(rule) {
		named := &planner{Request: pl.Request, plan: &Plan{Format: pl.Target}}
		if named.planFromNamed(rule) == nil {
			*pl.plan = *named.plan
			return nil
		}
	}
	return pl.planFromMatrix(matrix, host)
}

// orderKnown reports whether the file or the user names the axes of the host shape. A shape
// from the user is in the order of the target.
func (pl *planner) orderKnown(rule *rule) bool {
	if len(pl.TargetShape) > 0 {
		return rule.isAxisOrder(pl.Target)
	}
	return pl.Order != nil && rule.isAxisOrder(*pl.Order) || pl.OriginalFormat != nil && rule.isAxisOrder(*pl.OriginalFormat)
}

// hostShape is the host shape that the user gave, else the recorded one.
func (pl *planner) hostShape() tensor.Shape {
	if len(pl.TargetShape) > 0 {
		return pl.TargetShape
	}
	return pl.Original
}

// planFromNamed plans a source whose layout has named axes.
func (pl *planner) planFromNamed(rule *rule) error {
	p, err := rule.inferBlocks(pl.Shape, params{cout: 16, groups: 1})
	if err != nil {
		return err
	}
	if rule.grouped {
		p.groups = max(pl.Groups, 1)
	}
	_, namedTarget := Order(pl.Target)
	switch {
	case namedTarget && !rule.isAxisOrder(pl.Target):
		return pl.unsupportedError(lang.Say("different axes"))
	case !namedTarget && pl.Target != tensor.ND && ruleOf(pl.Target) == nil && ndRuleOf(pl.Target) == nil:
		return pl.unsupportedError(lang.Sentence{})
	}

	found, p, err := pl.inferSizes(rule, p)
	if err != nil {
		return err
	}
	order := found.order
	if namedTarget {
		order = pl.Target
	}
	letters := order.String()
	shape := found.dims.shape(letters)
	if recorded := pl.hostShape(); found.order == order && len(recorded) > 0 && len(recorded) < len(letters) {
		shape = recorded
	} else if len(recorded) > 0 && len(recorded) < len(letters) {
		pl.warn("host shape %v was read as %s %v: the result keeps all axes", recorded, found.order, found.dims.shape(found.order.String()))
	}
	pl.plan.Shape = shape
	pl.add(step{m: rule.mapTo(found.dims, pl.Shape, p, letters)})
	if IsHost(pl.Target) {
		return nil
	}
	if next := ruleOf(pl.Target); next != nil {
		if !next.axes3D && found.dims[axD] != 1 {
			return pl.unsupportedError(lang.Say("D is %d, want 1", found.dims[axD]))
		}
		return pl.planToDevice(next, found.dims, letters)
	}
	return pl.planToMatrix(ndRuleOf(pl.Target), shape)
}

// inferSizes finds the host sizes of a device shape: from the shape that the user gave in the order of
// the target, else from the recorded original shape. Its order is usually not recorded, so inferSizes
// tries every order of the rule's axes and keeps the orders that produce the device shape.
func (pl *planner) inferSizes(rule *rule, p params) (shapeReading, params, error) {
	host := pl.hostShape()
	if len(host) == 0 {
		if err := pl.keepPadding(rule.padded != nil); err != nil {
			return shapeReading{}, p, err
		}
		return shapeReading{rule.hostFormats()[0], rule.padded(pl.Shape)}, p, nil
	}
	orders := rule.hostFormats()
	switch {
	case len(pl.TargetShape) > 0 && rule.isAxisOrder(pl.Target):
		orders = []tensor.Format{pl.Target}
	case pl.Order != nil:
		if !rule.isAxisOrder(*pl.Order) {
			return shapeReading{}, p, &UnsupportedError{From: rule.format, To: *pl.Order, Why: lang.Say("the original format has different axes")}
		}
		orders = []tensor.Format{*pl.Order}
	}
	fitting, used, err := fittingReadings(rule, orders, host, pl.Shape, p)
	if len(fitting) == 0 && len(host) == 2 && !rule.axes3D {
		// The output of a fully connected layer: N and C alone.
		order := orders[0]
		if slices.Contains(orders, pl.Target) {
			order = pl.Target
		}
		if d := (axisSizes{host[0], host[1], 1, 1, 1}); rule.checkSizes(d, pl.Shape, used) == nil {
			fitting = []shapeReading{{order, d}}
		}
	}
	if len(fitting) == 0 {
		return shapeReading{}, p, pl.misfitError(rule, orders, host, p, err)
	}
	return pl.chooseReading(fitting), used, nil
}

// keepPadding warns that a result without an original shape keeps the padding. It is an error if
// the size of the padded array is unknown.
func (pl *planner) keepPadding(isKnown bool) error {
	if !isKnown {
		return &MissingError{pl.Source, lang.Say("the original shape, which the dump does not record: give it with -s")}
	}
	pl.warn("the dump records no original shape: padding is kept")
	return nil
}

// fittingReadings returns the readings of a host shape that produce the device shape, and their
// parameters. MindSpore rounds the output channels of a group up to C0 instead of 16: a second pass
// tries C0 if 16 does not fit.
func fittingReadings(rule *rule, orders []tensor.Format, host, dev tensor.Shape, p params) ([]shapeReading, params, error) {
	var all []shapeReading
	var first error
	for _, cout := range []int64{16, p.c0} {
		p.cout = cout
		for _, f := range orders {
			for _, r := range shapeReadings(f, host) {
				err := rule.checkSizes(r.dims, dev, p)
				if err == nil {
					all = append(all, r)
				} else if first == nil {
					first = err
				}
			}
		}
		if len(all) > 0 || p.groups == 1 {
			break
		}
	}
	return all, p, first
}

// misfitError returns the error of a host shape that no reading converts to the device shape.
func (pl *planner) misfitError(rule *rule, orders []tensor.Format, host tensor.Shape, p params, first error) error {
	likely := orders[0]
	if slices.Contains(orders, pl.Target) {
		likely = pl.Target
	}
	if pl.OriginalFormat != nil && slices.Contains(orders, *pl.OriginalFormat) {
		likely = *pl.OriginalFormat
	}
	all := shapeReadings(likely, host)
	if len(all) == 0 {
		return &ShapeError{Format: rule.format, Stored: pl.Shape, Host: host,
			Relation: lang.Say("the host rank is %d, want %d", len(host), len(likely.String()))}
	}
	err := rule.checkSizes(all[0].dims, pl.Shape, p)
	if err == nil {
		err = first
	}
	var shape *ShapeError
	if !errors.As(err, &shape) {
		return err
	}
	shape.Stored, shape.Host = pl.Shape, host
	shape.Relation = lang.Say("read as %s, %s", likely, shape.Relation)
	if len(orders) > 1 {
		shape.Relation = lang.Say("%s; no other axis order fits either (-s gives the shape in the order of the target)", shape.Relation)
	}
	return shape
}

// chooseReading picks one of several readings that produce the device shape: the recorded order,
// else the order of the target, else the first (NCHW, NCDHW). It warns if the sizes differ.
func (pl *planner) chooseReading(fitting []shapeReading) shapeReading {
	find := func(f tensor.Format) int {
		return slices.IndexFunc(fitting, func(r shapeReading) bool { return r.order == f })
	}
	if pl.OriginalFormat != nil {
		if i := find(*pl.OriginalFormat); i >= 0 {
			return fitting[i]
		}
	}
	chosen := fitting[max(find(pl.Target), 0)]
	for _, r := range fitting {
		if r.dims != chosen.dims {
			pl.warn("host shape %v can be read as %s and as %s: read as the first (--original-format, or -s with all axes, overrides this)",
				pl.hostShape(), chosen, r)
			break
		}
	}
	return chosen
}

// matrixParams infers the block sizes of a matrix layout from the device shape.
func (pl *planner) matrixParams(rule *ndRule, host tensor.Shape) params {
	p := params{c0: cmp.Or(pl.C0, defaultC0(pl.DType)), n0: 16, cout: 16, groups: 1, hidden: pl.HiddenSize, input: pl.InputSize}
	if len(pl.Shape) >= rule.tail {
		rule.blocks(pl.Shape[len(pl.Shape)-rule.tail:], columnsOf(host), &p)
	}
	return p
}

// columnsOf is the last dimension of a host shape, 0 if unknown.
func columnsOf(host tensor.Shape) int64 {
	if len(host) == 0 {
		return 0
	}
	return host[len(host)-1]
}

// planFromMatrix plans a source in a matrix layout.
func (pl *planner) planFromMatrix(rule *ndRule, host tensor.Shape) error {
	if rule == &fractalNZ && len(pl.Shape) == 1 && IsHost(pl.Target) && (len(host) == 0 || host.Elements() == pl.Shape.Elements()) {
		// One-dimensional tensors are tagged FRACTAL_NZ but not blocked.
		pl.TargetShape = host // groups the elements, which stay in their order
		return pl.planUnchanged(pl.Target)
	}
	p := pl.matrixParams(rule, host)
	if p.c0 <= 0 || p.n0 <= 0 {
		return &ShapeError{Format: pl.Source, Stored: pl.Shape, Relation: lang.Say("a block size is 0")}
	}
	dev := pl.Shape
	if rule == &fractalNZ && isNibbleFloat(pl.DType) && len(dev) >= rule.tail {
		var err error
		if dev, err = pairNibbles(pl.Source, dev, columnsOf(host)); err != nil {
			return err
		}
		p.c0 *= 2
	}
	if len(host) == 0 {
		var err error
		if host, err = pl.paddedMatrix(rule, dev); err != nil {
			return err
		}
	}
	s, err := pl.unpackStep(rule, host, dev, p)
	if err != nil {
		return err
	}
	return pl.planAfterMatrix(s, host)
}

// paddedMatrix is the host shape of a whole device buffer, its padding included.
func (pl *planner) paddedMatrix(rule *ndRule, dev tensor.Shape) (tensor.Shape, error) {
	if err := pl.keepPadding(rule.padded != nil); err != nil {
		return nil, err
	}
	cut := len(dev) - rule.tail
	if cut < 0 {
		return nil, &ShapeError{Format: pl.Source, Stored: dev, Relation: lang.Say("rank is %d, want at least %d", len(dev), rule.tail)}
	}
	m, n := rule.padded(dev[cut:])
	return append(append(tensor.Shape{}, dev[:cut]...), m, n), nil
}

// unpackStep is the step from a matrix layout to the host shape. A one-dimensional host shape in
// FRACTAL_NZ is a row or a column; if both fit, the data decides (holdsColumn).
func (pl *planner) unpackStep(rule *ndRule, host, dev tensor.Shape, p params) (step, error) {
	var s step
	err := rule.checkHostShape(pl.Source, host, dev, p)
	if err == nil {
		s.m = rule.mapTo(host, dev, p, denseAxes(host))
	}
	if rule == &fractalNZ && len(host) == 1 && host[0] > 1 {
		column := tensor.Shape{host[0], 1}
		if rule.checkHostShape(pl.Source, column, dev, p) == nil {
			s.column = rule.mapTo(column, dev, p, denseAxes(column))
		}
	}
	if s.m == nil && s.column != nil {
		return step{m: s.column}, nil
	}
	return s, err
}

// planAfterMatrix plans the steps from the host shape of a matrix layout, which step s unpacks, to the
// target.
func (pl *planner) planAfterMatrix(s step, host tensor.Shape) error {
	order := pl.matrixOrder(host)
	letters, namedTarget := Order(pl.Target)
	switch {
	case namedTarget && order != nil && *order != pl.Target && len(letters) == len(host):
		// The original order is known and differs: the host strides permute.
		d := nameAxes(order.String(), host)
		pl.plan.Shape = d.shape(letters)
		axes := make([]Axis, len(host))
		strides := pl.plan.Shape.Strides()
		for i, letter := range order.String() {
			axes[i] = Axis{host[i], strides[slices.Index([]rune(letters), letter)]}
		}
		s.m.Axes = axes
		pl.add(s)
		return nil
	case namedTarget || pl.Target == tensor.ND:
		if pl.Source == tensor.FractalZ {
			pl.plan.Format = tensor.ND // the axes of a MatMul's weight are not in the target
		} else {
			pl.plan.AnyOrder = order == nil
		}
		pl.plan.Shape = host
		pl.add(s)
		return nil
	case IsHost(pl.Target):
		return pl.unsupportedError(lang.Sentence{})
	}
	if next := ndRuleOf(pl.Target); next != nil && (next != &fractalZND || len(host) == 2) {
		pl.add(s)
		return pl.planToMatrix(next, host)
	}
	next := ruleOf(pl.Target)
	if next == nil {
		return pl.unsupportedError(lang.Sentence{})
	}
	if order == nil {
		if len(host) != len(next.printOrder()) {
			return pl.unsupportedError(lang.Say("the host rank is %d, want %d", len(host), len(next.printOrder())))
		}
		order = &next.hostFormats()[0]
		pl.warn("the axis order of %v is not recorded: assumed to be %s (--original-format overrides this)", host, *order)
	}
	if !next.isAxisOrder(*order) || len(host) != len(order.String()) {
		return pl.unsupportedError(lang.Say("different axes"))
	}
	pl.add(s)
	return pl.planToDevice(next, nameAxes(order.String(), host), order.String())
}

// matrixOrder returns the axis order of the host shape of a matrix layout, nil if unknown. A shape
// from the user is in the order of the target.
func (pl *planner) matrixOrder(host tensor.Shape) *tensor.Format {
	for _, f := range []*tensor.Format{pl.Order, pl.OriginalFormat} {
		if f == nil || len(pl.TargetShape) > 0 {
			continue
		}
		if letters, ok := Order(*f); ok && len(letters) == len(host) {
			return f
		}
	}
	return nil
}
