// Package layout moves elements between Ascend device layouts (NC1HWC0, FRACTAL_Z, FRACTAL_NZ, ...)
// and host axis orders (NCHW, HWCN, ND, ...). A Plan describes a result, a Reader reads any part of
// it through a Source; the package opens no files.
//
// Every device layout is one offset rule from host elements to places in the device buffer. Device
// to host is a gather by the rule, which skips padding; host to device is a scatter into zeros.
// Device to device goes through a host order, which only permutes the loops.
//
// A rule is written as blocks: boxes of host elements whose offset is a sum with one mixed-radix
// term per axis (the channel axis of NC1HWC0: c%C0 + (c/C0)*H*W*C0). Blocks are cut into boxes with
// plain strides on both sides, which the kernels copy.
//
// The formulas come from the public Ascend sources: format_transfer and the shape inference of the
// graph engine (hicann/ge), and the TransData operator (hicann/ops-math).
package layout

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
)

// Request describes a conversion of a tensor to another format.
type Request struct {
	DType  tensor.DType
	Source tensor.Format
	Shape  tensor.Shape // stored shape, in the source format
	C0     int64        // channel block that the file records, 0 for none
	Groups int64        // groups of a convolution; 0 and 1 mean none

	// Original is the recorded host shape in the order OriginalFormat; both
	// may be missing (empty, nil).
	Original       tensor.Shape
	OriginalFormat *tensor.Format

	Target tensor.Format
	// TargetShape, when not empty, is the host shape in the target's order and
	// replaces Original.
	TargetShape tensor.Shape
	// Order, when not nil, is the axis order of Original according to the user.
	Order *tensor.Format
	// TargetC0, when not 0, is the channel block of a device layout to produce.
	TargetC0 int64
	// HiddenSize and InputSize are attributes of RNN layouts, 0 when unknown.
	HiddenSize, InputSize int64
}

// Plan is a conversion ready to run: shape and format of the result, and the steps from the stored
// elements to the result.
type Plan struct {
	Shape tensor.Shape
	// Format is the format of the result: the target, or ND if the source has no named axes and
	// its elements keep their order.
	Format tensor.Format
	// AnyOrder is set if the result does not depend on the order of axes of the target, because
	// the axes of the source have no names.
	AnyOrder bool
	Warnings []lang.Sentence
	steps    []step
}

// step is one pass over the elements.
type step struct {
	m        *Map
	toDevice bool
	// column is the second reading of an ambiguous map, nil for none; see holdsColumn.
	column *Map
}

// Copies reports whether the result is the stored elements in their order, so that the leading
// Shape.Count() elements can be copied.
func (p *Plan) Copies() bool { return len(p.steps) == 0 }

// maxElements bounds the elements of a tensor, so that products of dimensions cannot overflow.
// The bound of the graph engine is 2^40.
const maxElements = 1 << 48

// NewPlan plans a conversion. Errors are *ShapeError, *UnsupportedError
// and *MissingError.
func NewPlan(r Request) (*Plan, error) {
	for _, s := range []tensor.Shape{r.Shape, r.Original, r.TargetShape} {
		if n, ok := s.Count(); !ok || n > maxElements {
			return nil, &ShapeError{Format: r.Source, Stored: s, Relation: lang.Say("too many elements")}
		}
	}
	pl := &planner{Request: r, plan: &Plan{Format: r.Target}}
	if err := pl.planRule(); err != nil {
		return nil, err
	}
	return pl.plan, nil
}

// planner makes a plan.
type planner struct {
	Request
	plan *Plan
}

func (pl *planner) warn(format string, args ...any) {
	pl.plan.Warnings = append(pl.plan.Warnings, lang.Say(format, args...))
}

func (pl *planner) add(s step) { pl.plan.steps = append(pl.plan.steps, s) }

func (pl *planner) unsupportedError(why lang.Sentence) error {
	return &UnsupportedError{From: pl.Source, To: pl.Target, Why: why}
}

func (pl *planner) planRule() error {
	pl.relabel()
	if pl.Source == pl.Target {
		return pl.planUnchanged(pl.Target)
	}
	if IsHost(pl.Source) {
		return pl.planFromHost()
	}
	return pl.planFromDevice()
}

// relabel corrects the format of the source. A tensor with a 4-D or 5-D order but another rank is
// ND; an ND tensor gets the order that the user gives.
func (pl *planner) relabel() {
	order, ok := Order(pl.Source)
	if ok && len(order) != len(pl.Shape) {
		if pl.Target == pl.Source {
			pl.Target = tensor.ND
		}
		pl.Source = tensor.ND
	}
	if pl.Source == tensor.ND && pl.Order != nil {
		if order, ok := Order(*pl.Order); ok && len(order) == len(pl.Shape) {
			pl.Source = *pl.Order
		}
	}
}

// planUnchanged plans a result with the elements in their order. A target shape of as many elements regroups
// them; a smaller one crops.
func (pl *planner) planUnchanged(format tensor.Format) error {
	pl.plan.Format = format
	pl.plan.Shape = pl.Shape
	if len(pl.TargetShape) == 0 {
		return nil
	}
	if pl.TargetShape.Elements() == pl.Shape.Elements() {
		pl.plan.Shape = pl.TargetShape
		return nil
	}
	if order, ok := Order(pl.Source); ok && pl.Source == format && len(order) == len(pl.Shape) {
		return pl.planPermutation(order, order) // crops
	}
	return &ShapeError{Format: pl.Source, Stored: pl.Shape, Host: pl.TargetShape,
		Relation: lang.Say("%d elements, want %d", pl.Shape.Elements(), pl.TargetShape.Elements())}
}

func (pl *planner) planFromHost() error {
	from, namedSource := Order(pl.Source)
	to, namedTarget := Order(pl.Target)
	switch {
	case namedSource && namedTarget:
		return pl.planPermutation(from, to)
	case pl.Target == tensor.ND:
		return pl.planUnchanged(tensor.ND)
	case pl.Source == tensor.ND && namedTarget:
		if len(pl.Shape) == len(to) {
			pl.warn("ND has no axis names: elements stay in their order (--original-format names the axes)")
		}
		return pl.planUnchanged(tensor.ND)
	case IsHost(pl.Target):
		return pl.unsupportedError(lang.Sentence{})
	}
	if len(pl.TargetShape) > 0 {
		pl.warn("the shape %v is not used: %s takes its shape from the tensor", pl.TargetShape, pl.Target)
	}
	if rule := ruleOf(pl.Target); rule != nil && namedSource {
		d := nameAxes(from, pl.Shape)
		if !rule.axes3D && d[axD] != 1 {
			return pl.unsupportedError(lang.Say("D is %d, want 1", d[axD]))
		}
		return pl.planToDevice(rule, d, from)
	}
	if rule := ndRuleOf(pl.Target); rule != nil && (pl.Target != tensor.FractalZ || len(pl.Shape) == 2) {
		return pl.planToMatrix(rule, pl.Shape)
	}
	if ruleOf(pl.Target) != nil {
		return pl.unsupportedError(lang.Say("the axis order of the tensor is unknown; give it with --original-format"))
	}
	return pl.unsupportedError(lang.Sentence{})
}

// planPermutation plans a change of the order of named axes. A target shape crops them.
func (pl *planner) planPermutation(from, to string) error {
	if len(from) != len(to) {
		return pl.unsupportedError(lang.Say("different axes"))
	}
	stored := nameAxes(from, pl.Shape)
	wanted := stored
	if len(pl.TargetShape) > 0 {
		if len(pl.TargetShape) != len(to) {
			return &ShapeError{Format: pl.Target, Stored: stored.shape(to), Host: pl.TargetShape,
				Relation: lang.Say("rank is %d, want %d", len(pl.TargetShape), len(to))}
		}
		wanted = nameAxes(to, pl.TargetShape)
		for i := range wanted {
			if wanted[i] > stored[i] {
				return &ShapeError{Format: pl.Source, Stored: pl.Shape, Host: pl.TargetShape,
					Relation: lang.Say("%c is %d, want at least %d", axisNames[i], stored[i], wanted[i])}
			}
		}
	}
	pl.plan.Shape = wanted.shape(to)
	pl.add(step{m: permutationMap(stored, wanted, from, to)})
	return nil
}

// targetParams returns the block sizes of the device layout to produce. fixed is the channel block
// that the layout fixes, 0 for none.
func (pl *planner) targetParams(fixed int64) params {
	return params{c0: cmp.Or(fixed, pl.TargetC0, pl.C0, defaultC0(pl.DType)), n0: 16, cout: 16, groups: max(pl.Groups, 1),
		hidden: pl.HiddenSize, input: pl.InputSize}
}

// defaultC0 is the channel block that 310 and 910 chips use for an element
// type (shape inference of the graph engine; 32 for every one-byte type).
func defaultC0(d tensor.DType) int64 {
	switch bits := d.Bits(); {
	case bits == 0 || bits >= 16:
		return 16
	case d == tensor.Float6E3M2 || d == tensor.Float6E2M3:
		return 32
	default:
		return 256 / int64(bits)
	}
}

// planToDevice plans the device layout of a rule for host sizes d, stored in the given order.
func (pl *planner) planToDevice(rule *rule, d axisSizes, order string) error {
	p := pl.targetParams(rule.c0)
	want, err := rule.relations(d, p)
	if err != nil {
		return err
	}
	dev := shapeOf(want)
	if n, ok := dev.Count(); !ok || n > maxElements {
		return &ShapeError{Format: rule.format, Stored: dev, Relation: lang.Say("too many elements")}
	}
	pl.plan.Shape = dev
	pl.add(step{m: rule.mapTo(d, dev, p, order), toDevice: true})
	return nil
}

// planToMatrix plans the device layout of a matrix rule for a host shape.
func (pl *planner) planToMatrix(rule *ndRule, host tensor.Shape) error {
	if len(host) == 0 {
		return pl.unsupportedError(lang.Say("the tensor has no dimensions"))
	}
	p := pl.targetParams(cmp.Or(rule.c0, rule.variants[pl.Target]))
	batch, m, n := rule.matrixOf(host)
	want, err := rule.relations(m, n, p)
	if err != nil {
		return err
	}
	dev := append(append(tensor.Shape{}, batch...), shapeOf(want)...)
	if n, ok := dev.Count(); !ok || n > maxElements {
		return &ShapeError{Format: pl.Target, Stored: dev, Relation: lang.Say("too many elements")}
	}
	stored := dev
	if rule == &fractalNZ && isNibbleFloat(pl.DType) {
		stored, err = pairNibbles(pl.Target, dev, n)
		if err != nil {
			return err
		}
		p.c0 *= 2
	}
	pl.plan.Shape = dev
	pl.add(step{m: rule.mapTo(host, stored, p, denseAxes(host)), toDevice: true})
	return nil
}

// denseAxes are the axes of a dense host array.
func denseAxes(host tensor.Shape) []Axis {
	axes := make([]Axis, len(host))
	for i, stride := range host.Strides() {
		axes[i] = Axis{host[i], stride}
	}
	return axes
}

// isNibbleFloat reports whether FRACTAL_NZ blocks the type by bytes of two elements each.
func isNibbleFloat(d tensor.DType) bool {
	return d == tensor.Float4E2M1 || d == tensor.Float4E1M2
}

// pairNibbles returns the device shape, in elements, of a FRACTAL_NZ tensor of four-bit floats.
// C0 counts bytes there: a block has 2*C0 elements, and there are half as many blocks. N and N1
// must be even.
func pairNibbles(f tensor.Format, dev tensor.Shape, columns int64) (tensor.Shape, error) {
	at := len(dev) - 4
	if columns%2 != 0 || dev[at]%2 != 0 {
		return nil, &ShapeError{Format: f, Stored: dev, Relation: lang.Say(
			"N is %d and N1 is %d, want both even for four-bit floats", columns, dev[at])}
	}
	paired := append(tensor.Shape{}, dev...)
	paired[at] /= 2
	paired[at+3] *= 2
	return paired, nil
}

// chooseMap returns the map that fits the data in src.
func (s step) chooseMap(src Source, unit int) (*Map, error) {
	if s.column == nil {
		return s.m, nil
	}
	isColumn, err := s.holdsColumn(src, unit)
	if err != nil {
		return nil, err
	}
	if isColumn {
		return s.column, nil
	}
	return s.m, nil
}

// holdsColumn decides between the row and the column reading of a one-dimensional FRACTAL_NZ
// tensor; up to the length of a block both fit. It returns true if the row reading has only zeros
// after its first element and the column reading does not.
func (s step) holdsColumn(src Source, unit int) (bool, error) {
	n, c0 := s.m.Axes[0].Size, s.m.Device[len(s.m.Device)-1]
	element := make([]byte, unit)
	nonZero := func(stride int64) (bool, error) {
		for i := int64(1); i < n; i++ {
			if err := src.ReadElements(element, i*stride); err != nil {
				return false, err
			}
			if slices.ContainsFunc(element, func(b byte) bool { return b != 0 }) {
				return true, nil
			}
		}
		return false, nil
	}
	if row, err := nonZero(1); row || err != nil {
		return false, err
	}
	return nonZero(c0)
}

// Crop plans the leading part of a dense array: the first want[i] positions of axis i.
func Crop(got, want tensor.Shape) (*Plan, error) {
	if len(got) != len(want) {
		return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
			Relation: lang.Say("rank is %d, want %d", len(got), len(want))}
	}
	for i, n := range got {
		if want[i] > n {
			return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
				Relation: lang.Say("dimension %d is %d, want at least %d", i, n, want[i])}
		}
	}
	return viewPlan(got, want, got.Strides()), nil
}

// Run is N consecutive positions of an axis, beginning at From.
type Run struct{ From, N int64 }

// Pick plans a selection from a dense array: of each axis the positions of its runs, one run
// after the other; nil selects all positions.
func Pick(got tensor.Shape, axes [][]Run) (*Plan, error) {
	if len(axes) != len(got) {
		return nil, lang.Errorf("runs for %d axes, want the %d of %v", len(axes), len(got), got)
	}
	want, picked, blocks := slices.Clone(got), make([][]Run, len(got)), int64(1)
	for k, runs := range axes {
		if runs == nil {
			runs = []Run{{0, got[k]}}
		}
		want[k] = 0
		for _, r := range runs {
			if r.From < 0 || r.N < 0 || r.From > got[k]-r.N {
				return nil, lang.Errorf("axis %d: positions from %d on, %d of them, want some of %d", k, r.From, r.N, got[k])
			}
			if r.N > 0 {
				picked[k] = append(picked[k], r)
			}
			want[k] += r.N
		}
		blocks *= int64(len(picked[k]))
	}
	if n, ok := want.Count(); !ok || n > maxElements {
		return nil, &ShapeError{Format: tensor.ND, Host: want, Relation: lang.Say("too many elements")}
	}
	m := &Map{Device: got, Axes: denseAxes(want), blocks: pickedBlocks(got.Strides(), picked, blocks)}
	return &Plan{Shape: want, Format: tensor.ND, steps: []step{{m: m}}}, nil
}

// pickedBlocks returns the n blocks of a selection: one for each choice of a run per axis.
func pickedBlocks(strides []int64, picked [][]Run, n int64) blockList {
	starts := make([][]int64, len(picked)) // where runs begin in the result
	long := -1                             // the axis with most runs
	for k, runs := range picked {
		starts[k] = make([]int64, len(runs)+1)
		for i, r := range runs {
			starts[k][i+1] = starts[k][i] + r.N
		}
		if long < 0 || len(runs) > len(picked[long]) {
			long = k
		}
	}
	if long < 0 {
		return newBlockList(block{})
	}
	others := n / max(1, int64(len(picked[long])))
	at := func(i int64) block {
		b := block{spans: make([]span, len(picked))}
		rest := i % max(1, others)
		for k, runs := range picked {
			which := i / max(1, others)
			if k != long {
				which = rest % int64(len(runs))
				rest /= int64(len(runs))
			}
			b.spans[k] = linearAxis(runs[which].N, strides[k])
			b.spans[k].start = starts[k][which]
			b.base += runs[which].From * strides[k]
		}
		return b
	}
	// The index of a block begins with the run of the longest axis, so a range of its positions
	// is a range of blocks.
	blocksIn := func(ranges []axisRange) (from, to int64) {
		lo, _ := slices.BinarySearch(starts[long], ranges[long].lo+1)
		hi, _ := slices.BinarySearch(starts[long], ranges[long].hi)
		return int64(lo-1) * others, int64(hi) * others
	}
	return blockList{n: n, at: at, inHost: blocksIn}
}

// Transpose plans a dense array with its axes in another order: axis i of the
// result is axis perm[i] of the array, as numpy.transpose has it.
func Transpose(got tensor.Shape, perm []int) (*Plan, error) {
	axes := make([]int, len(got))
	for i := range axes {
		axes[i] = i
	}
	if sorted := slices.Sorted(slices.Values(perm)); !slices.Equal(sorted, axes) {
		return nil, lang.Errorf("%v does not order the %d axes of %v", perm, len(got), got)
	}
	want, strides := make(tensor.Shape, len(perm)), make([]int64, len(perm))
	for i, p := range perm {
		want[i], strides[i] = got[p], got.Strides()[p]
	}
	return viewPlan(got, want, strides), nil
}

// Select plans rows of a dense array: its axes are taken in the order perm, the first joined of
// them form one axis, and of that axis the positions of the runs are selected.
func Select(got tensor.Shape, perm []int, joined int, runs []Run) (*Plan, error) {
	turned, err := Transpose(got, perm)
	if err != nil {
		return nil, err
	}
	shape := append(tensor.Shape{turned.Shape[:joined].Elements()}, turned.Shape[joined:]...)
	axes := make([][]Run, len(shape))
	axes[0] = runs
	picked, err := Pick(shape, axes)
	if err == nil && !slices.IsSorted(perm) {
		picked.steps = append(turned.steps, picked.steps...)
	}
	return picked, err
}

// PlanStrided plans an array with the given strides, all at least 0, on a buffer. Elements may lie
// in any order and with gaps, and may overlap. The buffer ends with the last element.
func PlanStrided(want tensor.Shape, strides []int64) (*Plan, error) {
	if len(strides) != len(want) {
		return nil, lang.Errorf("%d strides for the %d axes of %v", len(strides), len(want), want)
	}
	if n, ok := want.Count(); !ok || n > maxElements {
		return nil, &ShapeError{Format: tensor.ND, Host: want, Relation: lang.Say("too many elements")}
	}
	last := int64(0)
	for i, n := range want {
		if strides[i] < 0 {
			return nil, lang.Errorf("stride %d is %d, want at least 0", i, strides[i])
		}
		if n > 1 {
			if strides[i] > (math.MaxInt64-1-last)/(n-1) {
				return nil, lang.Errorf("strides %v for %v reach beyond 63 bits", strides, want)
			}
			last += (n - 1) * strides[i]
		}
	}
	return viewPlan(tensor.Shape{last + 1}, want, strides), nil
}

// viewPlan plans a view of a dense array: a shape with its strides.
func viewPlan(stored, want tensor.Shape, strides []int64) *Plan {
	return &Plan{Shape: want, Format: tensor.ND, steps: []step{{m: arrayView(stored, denseAxes(want), strides)}}}
}

// permutationMap is the map of a host array stored in the order from.
func permutationMap(stored, wanted axisSizes, from, to string) *Map {
	return arrayView(stored.shape(from), wanted.axes(to), lists.Map(stored.axes(from), func(axis Axis) int64 { return axis.Stride }))
}

// arrayView is the map from axes to a dense array in which they have the given strides.
func arrayView(stored tensor.Shape, axes []Axis, strides []int64) *Map {
	b := block{spans: make([]span, len(axes))}
	for i, a := range axes {
		b.spans[i] = linearAxis(a.Size, strides[i])
	}
	return &Map{Device: stored, Axes: axes, blocks: newBlockList(b)}
}
