package recompute

import (
	"cmp"
	"context"
	bits "encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Tensor is an input or output of an operator in host order.
type Tensor struct {
	// DType is the type that the NPU rounds to, Stored that of the elements in Source.
	DType, Stored tensor.DType
	Shape         tensor.Shape
	// Source gives the stored elements by their position in Shape. It serves one goroutine.
	Source layout.Source
	// rounded is the type to which elements are rounded as they are read, Undefined for none.
	rounded tensor.DType
}

// elements is the number of elements.
func (t *Tensor) elements() int64 { return t.Shape.Elements() }

// asked is how many elements are looked at to find out which numbers a tensor holds.
const asked = 1 << 16

// Held is the type of the numbers in a float32 file: bfloat16 and float16 are stored as float32 if the file
// format lacks them.
func (t *Tensor) Held() (tensor.DType, error) {
	if t.DType != tensor.Float32 || t.Stored != tensor.Float32 || t.Source == nil {
		return t.DType, nil
	}
	v, err := t.numbers(min(asked, t.elements()))
	return v.Held(), err
}

// numbers counts the first n elements of a tensor by the types that they fit.
func (t *Tensor) numbers(n int64) (*tensor.ValueType, error) {
	v := new(tensor.ValueType)
	f, err := newFeed(t, view{shape: t.Shape})
	for first := int64(0); err == nil && first < n; first += cellElements {
		var part []float64
		if part, err = f.values64(first, min(cellElements, n-first)); err == nil {
			v.Add(part)
		}
	}
	return v, err
}

// SameBytes reports whether two tensors hold the same.
func SameBytes(ctx context.Context, x, y *Tensor) (bool, error) {
	unit := x.Stored.UnitSize()
	p, q := make([]byte, 0), make([]byte, 0)
	for first, n := int64(0), x.elements(); first < n; first += cellElements {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		size := int(min(cellElements, n-first)) * unit
		p, q = resize(p, size), resize(q, size)
		if err := x.Source.ReadElements(p, first); err != nil {
			return false, &TensorError{tensor.Input, 0, err}
		}
		if err := y.Source.ReadElements(q, first); err != nil {
			return false, &TensorError{tensor.Output, 0, err}
		}
		if !slices.Equal(p, q) {
			return false, nil
		}
	}
	return true, nil
}

// Operator is one execution of an operator.
type Operator struct {
	// Formula is the name of a row of the table.
	Formula string
	// Inputs are those of the formula in their order, nil for an optional one that is absent.
	Inputs, Outputs []*Tensor
	// Attributes are those that are known, by the names of the formula.
	Attributes Attributes
	// Fused says whether other operators were merged into this one; nil if nobody knows.
	Fused *bool
	// Known is set where a graph has all attributes of the operator that have not their default.
	Known bool
	// Overlap says whether an output lies in the memory of an input; nil if nobody knows.
	Overlap *bool
	// Called is set for a call of a framework, which saves its inputs before it runs.
	Called bool
	// Saved is the input that is an output of a forward call, nil for none: a kernel may have kept it
	// before it was rounded.
	Saved *Tensor
	// Open is set for modules of whose inside more is possible than the formula says, such as
	// roundings between two steps.
	Open bool
	// Transforms is set where convolutions of any kernel may have been computed by transforms, as
	// those of 3x3 are.
	Transforms bool
	// Full computes everything, Budget is how many multiplications and additions an operator
	// may cost, elements for those that are none; 0 for no limit. Seed is that of signs.
	Full   bool
	Budget int64
	Seed   int64

	// usual are attributes that hold where nothing says another value and Known is set.
	usual Attributes
	// unread is set where an input was given that the formula does not read.
	unread bool

	wholes map[*Tensor]*whole
	views  map[*Tensor]*Tensor
	casts  map[tensor.DType]*Operator // with rounded inputs
}

// With is the operator with other inputs.
func (o *Operator) With(inputs []*Tensor) *Operator {
	as := *o
	as.Inputs, as.wholes, as.views, as.casts = inputs, nil, nil, nil
	return &as
}

// rank is that of the first input.
func (o *Operator) rank() int { return len(o.Inputs[0].Shape) }

// mayBeFused reports whether something may follow the operator before its output is written.
func (o *Operator) mayBeFused() bool { return o.Fused == nil || *o.Fused }

// input returns an input, nil for none.
func (o *Operator) input(k int) *Tensor {
	if k >= len(o.Inputs) {
		return nil
	}
	return o.Inputs[k]
}

// aliases are the names that attributes have in graphs and among arguments of calls, by those
// of formulas that mean the same.
var aliases = map[string]string{
	"axes": "axis axes dim dims dimension reduction_indices", "axis": "axis axes dim dims dimension concat_dim split_dim",
	"epsilon": "epsilon eps", "num_groups": "num_groups groups", "value": "value scalar",
}

// ofGraphs lists the names of attributes of graphs and calls that the read functions of formulas translate.
var ofGraphs = strings.Fields("begin_norm_axis normalized_shape scale_value head_num num_heads input_layout sparse_mode is_causal rotary_mode paddings begin end size begin_mask end_mask " +
	"ellipsis_mask new_axis_mask shrink_axis_mask count_include_pad divisor_override global_pooling adj_x1 adj_x2 transpose_a transpose_b data_format ceil_mode window stride pad padding pads " +
	"pad_mode mode p index indexed_sizes groups ksize kernel_size strides dilation dilations")

// AttributeNames are the names under which attributes of a formula may be given.
func AttributeNames(name string) (all []string) {
	f := formulaOf(name)
	if f == nil {
		return nil
	}
	for _, a := range f.attrs {
		for _, own := range a.names {
			all = append(append(all, own), strings.Fields(aliases[own])...)
		}
	}
	for i := range f.forms {
		for _, one := range f.call(f.forms[i].inputs).Arguments {
			all = append(all, one.Keyword, one.Name)
		}
	}
	if f.read != nil {
		all = append(all, ofGraphs...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" || name == "-" })
}

// mostValues is how many numbers an input has that is the value of an attribute.
const mostValues = 1 << 12

// Bind makes an operator of a type of the tensors of an execution, in their order there, and
// of what is known of it, by the names that the graph or the call has for attributes. Of a
// type that nobody knows the formula of the operator is empty. The error is one of reading
// an input.
func Bind(t Formula, inputs, outputs []*Tensor, raw Attributes) (op *Operator, warnings []string, err error) {
	op = &Operator{Formula: t.Name, Inputs: inputs, Outputs: outputs, Attributes: Attributes{}}
	f := formulaOf(t.Name)
	if f == nil {
		op.Formula = ""
		return op, nil, nil
	}
	op.Outputs = f.judged(outputs)
	raw = raw.with(nil)
	var order []string
	for text := range strings.FieldsSeq(t.Inputs) {
		name, value, ok := strings.Cut(strings.TrimLeft(text, ":?"), "=")
		switch one := (Attribute{ParseValue(value), FromDefault}); {
		case !ok:
			order = append(order, text)
		case text[0] == '?':
			op.usual = op.usual.with(Attributes{name: one})
		default:
			raw[name] = one
		}
	}
	if len(order) > 0 {
		if err := op.arrange(f, order, raw); err != nil {
			return nil, nil, err
		}
	}
	if names := strings.Fields(f.inputs); !strings.Contains(names[len(names)-1], "*") { // others are not read
		op.Inputs = op.Inputs[:min(len(op.Inputs), len(names))]
	}
	return op, op.adopt(f, raw), nil
}

// arrange puts the inputs in the order of the formula, and takes the values of attributes
// from inputs that hold them.
func (o *Operator) arrange(f *formula, order []string, raw Attributes) error {
	names := strings.Fields(f.inputs)
	place := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.TrimRight(n, "?*") == name })
	}
	given := o.Inputs
	o.Inputs = nil
	isUnread := func(t *Tensor) bool { return t != nil && t.elements() > 0 }
	pad := func(k int) {
		for len(o.Inputs) < k {
			o.Inputs = append(o.Inputs, nil)
		}
	}
	for i, spec := range order {
		name := strings.TrimRight(spec, "?*!")
		if i >= len(given) {
			break
		}
		switch {
		case spec == "~*":
			o.unread = o.unread || slices.ContainsFunc(given[i:], isUnread)
		case spec == "~":
			o.unread = o.unread || isUnread(given[i])
		case strings.HasSuffix(spec, "*"):
			pad(place(name))
			o.Inputs = append(o.Inputs, o.listed(given[i:], order[i+1:], raw)...)
			return nil
		case name == "-" || given[i] == nil:
		case strings.Contains(spec, "!"):
			v, err := valueOf(given[i])
			if err != nil {
				return err
			}
			if _, ok := raw[name]; !ok && v != nil {
				raw[name] = Attribute{*v, FromInput}
			}
		default:
			k := place(name)
			pad(k + 1)
			o.Inputs[k] = given[i]
		}
	}
	return nil
}

// listed are inputs of a list. Where an attribute is behind it, its value is the last one if that
// is a number beside tensors.
func (o *Operator) listed(all []*Tensor, behind []string, raw Attributes) []*Tensor {
	last := len(all) - 1
	if len(behind) == 0 || last < 1 || all[last] == nil || all[0] == nil || all[last].elements() != 1 || len(all[last].Shape) >= len(all[0].Shape) {
		return all
	}
	name := strings.TrimSuffix(behind[0], "!")
	v, err := valueOf(all[last])
	if _, known := raw[name]; !known && err == nil && v != nil {
		raw[name] = Attribute{*v, FromInput}
	}
	return all[:last]
}

// valueOf reads a small tensor of numbers, nil for one that is none.
func valueOf(t *Tensor) (*Value, error) {
	if _, err := tensor.NewDecoder(t.Stored); err != nil || t.Stored.Host().Complex() || t.elements() > mostValues {
		return nil, nil //nolint:nilerr // it is no number
	}
	all, err := wholeOf(t)
	if err != nil {
		return nil, err
	}
	return &Value{Numbers: slices.Clone(all), List: len(t.Shape) > 0}, nil
}

// adopt takes what is known of the attributes of a formula; what is of another kind than it
// has to be is not known, and a warning. Nothing is known where a tensor is missing.
func (o *Operator) adopt(f *formula, raw Attributes) (warnings []string) {
	if r, _ := f.missing(o); r != NoReason {
		return nil
	}
	if f.read != nil {
		raw = f.read(&problem{Operator: o}, raw)
	}
	for _, a := range f.attrs {
		for _, name := range a.names {
			names := []string{name}
			if also, ok := aliases[name]; ok {
				names = strings.Fields(also)
			}
			slices.SortStableFunc(names, func(s, t string) int { return raw[s].Source.byHand() - raw[t].Source.byHand() })
			for _, alias := range names {
				x, ok := raw[alias]
				if !ok {
					continue
				}
				if kind := a.valueKind(name); !kind.takes(x.Value) {
					warnings = append(warnings, fmt.Sprintf("attribute %s is %q, want %s", alias, x.Value, kind))
					continue
				}
				o.Attributes[name] = x
				break
			}
		}
	}
	return warnings
}

// valueKind is the required form of the value of an attribute.
type valueKind uint8

const (
	aNumber valueKind = iota
	aList
	aText
	aNumbers
	aSteps
)

// String says what a value of the kind is.
func (k valueKind) String() string {
	return [...]string{"a number", "whole numbers", "a text", "numbers", "whole numbers of at least 1"}[k]
}

func (k valueKind) takes(v Value) bool {
	switch k {
	case aNumber:
		_, ok := v.Number()
		return ok
	case aText:
		return v.IsText()
	case aNumbers:
		return !v.IsText() && len(v.Numbers) <= mostValues
	}
	all, ok := v.Integers()
	if k == aSteps && ok && slices.Min(append(all, 1)) < 1 {
		return false
	}
	return ok && len(v.Numbers) > 0 && len(v.Numbers) <= mostValues
}

// valueKind returns the required form of the value of one of the attribute's names.
func (a *attribute) valueKind(name string) valueKind {
	if a.kind == textKind {
		return aText
	}
	switch name {
	case "strides", "dilations", "ksize":
		if a.choices == nil || slices.Contains(a.names, "pads") { // of windows
			return aSteps
		}
		return aList
	case "axes", "axis", "perm", "lengths", "lengths_kv", "groups_of_rows", "shape", "begin", "before", "pads", "shifts", "axes_of_tensors":
		return aList
	case "coeff", "scales":
		return aNumbers
	case "added", "padding_mode", "layout": // of fixed texts
		return aText
	}
	return aNumber
}

// constantSource is a tensor whose elements are one number.
type constantSource float64

// ReadElements implements layout.Source.
func (x constantSource) ReadElements(dst []byte, _ int64) error {
	for ; len(dst) >= 8; dst = dst[8:] {
		bits.LittleEndian.PutUint64(dst, math.Float64bits(float64(x)))
	}
	return nil
}

// Constant is a number in place of a tensor.
func Constant(x float64) *Tensor {
	return &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: tensor.Shape{}, Source: constantSource(x)}
}

// BindCall makes an operator of a formula of the tensors of a call, by the names of the
// inputs of the formula, and of the arguments that are known, by those of its attributes;
// better ones go before them.
func BindCall(name string, named map[string][]*Tensor, outputs []*Tensor, raw, better Attributes) (op *Operator, warnings []string) {
	op = &Operator{Formula: name, Outputs: outputs, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	f := formulaOf(name)
	if f == nil {
		op.Formula = ""
		return op, nil
	}
	op.Outputs = f.judged(outputs)
	var rest []*Tensor // of a list of tensors, for the inputs behind the first
	for spec := range strings.FieldsSeq(f.inputs) {
		given := named[strings.TrimRight(spec, "?*")]
		if len(given) == 0 && len(rest) > 0 {
			given = rest
		}
		switch {
		case strings.Contains(spec, "*"):
			op.Inputs = append(op.Inputs, given...)
		case len(given) > 0:
			op.Inputs, rest = append(op.Inputs, given[0]), given[1:]
		default:
			op.Inputs = append(op.Inputs, nil)
		}
	}
	for len(op.Inputs) > 0 && op.Inputs[len(op.Inputs)-1] == nil {
		op.Inputs = op.Inputs[:len(op.Inputs)-1]
	}
	if r, _ := f.missing(op); r != NoReason {
		return op, nil
	}
	op.passNumbers()
	op.batched(f)
	return op, op.adopt(f, op.ofCall(raw.with(better)))
}

// batched gives an image of a convolution an axis of one image, if it has none.
func (o *Operator) batched(f *formula) {
	if f.name != "Conv2D" && f.name != "Conv2DTranspose" || o.input(1) == nil || o.rank()+1 != len(o.Inputs[1].Shape) || len(o.Outputs[0].Shape) != o.rank() {
		return
	}
	lead := func(t *Tensor) *Tensor { return o.reshaped(t, slices.Concat(tensor.Shape{1}, t.Shape)) }
	o.Inputs, o.Outputs = slices.Clone(o.Inputs), slices.Clone(o.Outputs)
	o.Inputs[0], o.Outputs[0] = lead(o.Inputs[0]), lead(o.Outputs[0])
}

// HasInputs reports whether a formula has all inputs that it needs, by their names.
func HasInputs[T any](name string, inputs map[string]T) bool {
	f := formulaOf(name)
	return f != nil && !slices.ContainsFunc(strings.Fields(f.inputs), func(spec string) bool {
		_, ok := inputs[strings.TrimRight(spec, "*")]
		return !ok && !strings.Contains(spec, "?")
	})
}

// IsInput reports whether a formula has an input of a name.
func IsInput(name, input string) bool {
	f := formulaOf(name)
	return f != nil && slices.ContainsFunc(strings.Fields(f.inputs), func(spec string) bool { return strings.TrimRight(spec, "?*") == input })
}

// ofCall makes attributes of arguments that PyTorch has in another form: the paddings from
// the last axis on, and two axes that change places.
func (o *Operator) ofCall(raw Attributes) Attributes {
	raw, rank := raw.with(nil), o.rank()
	if last, ok := raw["last_pads"]; ok {
		pairs := last.Value.Numbers
		if before := make([]float64, rank); len(pairs)%2 == 0 && len(pairs) <= 2*rank {
			for i := range len(pairs) / 2 {
				before[rank-1-i] = pairs[2*i]
			}
			raw["before"] = Attribute{Numbers(before...), last.Source}
		}
	}
	if raw["source"].Value.Numbers != nil { // axes that move to other places
		if perm := movedAxes(raw["source"].Value, raw["destination"].Value, rank); perm != nil {
			raw["perm"] = Attribute{integers(perm...), raw["source"].Source}
		}
	}
	if raw["reversed"].Value.Numbers != nil { // all axes, as .T has it
		perm := upTo(rank)
		slices.Reverse(perm)
		raw["perm"] = Attribute{integers(perm...), raw["reversed"].Source}
	}
	first, ok := raw["swap0"].Value.Integers()
	second, too := raw["swap1"].Value.Integers()
	if perm := upTo(rank); ok && too && len(first) == 1 && len(second) == 1 {
		i, j := inRank(first[0], rank), inRank(second[0], rank)
		if min(i, j) >= 0 && max(i, j) < rank {
			perm[i], perm[j] = perm[j], perm[i]
			raw["perm"] = Attribute{integers(perm...), raw["swap0"].Source}
		}
	}
	return raw
}

// movedAxes are the axes of a rank after some moved to other places, nil where they do not fit.
func movedAxes(from, to Value, rank int) []int {
	source, ok := from.Integers()
	target, too := to.Integers()
	if !ok || !too || len(source) != len(target) {
		return nil
	}
	rest, perm := upTo(rank), slices.Repeat([]int{-1}, rank)
	for i, k := range source {
		axis, place := inRank(k, rank), inRank(target[i], rank)
		if min(axis, place) < 0 || max(axis, place) >= rank || perm[place] >= 0 {
			return nil
		}
		perm[place] = axis
		rest = slices.DeleteFunc(rest, func(r int) bool { return r == axis })
	}
	for i := range perm {
		if perm[i] < 0 && len(rest) > 0 {
			perm[i], rest = rest[0], rest[1:]
		}
	}
	return perm
}

// inRank counts an axis from the front.
func inRank(k int64, rank int) int {
	if k < 0 {
		k += int64(rank)
	}
	return int(k)
}

// Listed is a form of a row of the table, for people.
type Listed struct {
	// Names are those of a namespace: of CANN, whose names MindSpore has for its operators too, or
	// of functions and modules of a framework. Inputs are the inputs in their order, or the
	// arguments.
	Names             []string
	Framework, Inputs string
	// Formula is what it computes, Class how its output is judged.
	Formula, Class string
	// Attributes are what it depends on, each with what is done where nobody says it.
	Attributes []lang.Sentence
}

// frameworks say who has the names of a namespace.
var frameworks = [...]string{aType: "CANN", aFunction: "PyTorch", aModule: "torch.nn", aWideModule: "torch.nn", ofMindSpore: "MindSpore"}

// List returns the table of names that have a formula, or the forms with one of some names.
func List(names ...string) (all []Listed) {
	for space := range frameworks {
		for i := range operators {
			f := &operators[i]
			for k := range f.forms {
				one := f.listed(&f.forms[k], namespace(space))
				has := func(name string) bool {
					return slices.ContainsFunc(one.Names, func(own string) bool { return strings.EqualFold(own, name) || strings.HasSuffix(own, "."+name) })
				}
				if f.name != "" && len(one.Names) > 0 && (len(names) == 0 || slices.ContainsFunc(names, has)) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// listed is a form with its names of a namespace.
func (f *formula) listed(as *form, space namespace) (one Listed) {
	for name := range strings.FieldsSeq(as.names) {
		if s, name := split(name); s == space {
			one.Names = append(one.Names, name)
		}
	}
	if len(one.Names) == 0 || f.name == "" {
		return one
	}
	one.Framework, one.Formula, one.Class, one.Inputs = frameworks[space], f.name, f.class.String(), cmp.Or(as.inputs, f.inputs)
	if space != aType {
		c := f.call(as.inputs)
		one.Inputs = c.signature()
	}
	for _, a := range f.attrs {
		how := lang.Text{EN: "fitted to the elements"}
		switch {
		case a.choices == nil:
			how = lang.Text{EN: "only where it is known"}
		case a.kind == fixedKind:
			how = lang.Text{EN: "recompute¦default"}
		case a.fit == nil:
			how = lang.Text{EN: "all that fit are tried"}
		}
		one.Attributes = append(one.Attributes, lang.Say("%s: %s", strings.Join(a.names, ", "), how))
	}
	return one
}
