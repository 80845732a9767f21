package recompute

import (
	"cmp"
	"context"
	bits "encoding/binary"
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Tensor is an input or output of an operator, in host byte order.
type Tensor struct {
	// DType is the type to which the NPU rounds the elements, Stored the type of the elements in Source.
	DType, Stored tensor.DType
	Shape         tensor.Shape
	// Source reads the stored elements by their offset in C order of Shape. Only one goroutine may use it.
	Source layout.Source
	// rounded is the type to which elements are rounded when they are read; Undefined: they are not rounded.
	rounded tensor.DType
}

func (t *Tensor) elements() int64 { return t.Shape.Elements() }

// typeSample is the number of elements that are read to find the type of the numbers in a tensor.
const typeSample = 1 << 16

// HeldType returns the type of the numbers in a float32 file: bfloat16 and float16 are stored as float32 if the file
// format lacks them.
func (t *Tensor) HeldType() (tensor.DType, error) {
	if t.DType != tensor.Float32 || t.Stored != tensor.Float32 || t.Source == nil {
		return t.DType, nil
	}
	var v tensor.ValueType
	err := t.eachBlock(min(typeSample, t.elements()), v.Add)
	return v.DType(), err
}

// eachBlock calls add with the first n elements of a tensor, in order, some at a time.
func (t *Tensor) eachBlock(n int64, add func(values []float64)) error {
	f, err := newFeed(t, view{shape: t.Shape})
	for first := int64(0); err == nil && first < n; first += cellElements {
		var part []float64
		if part, err = f.readValues(first, min(cellElements, n-first)); err == nil {
			add(part)
		}
	}
	return err
}

// HaveSameBytes reports whether two tensors of the same type and shape hold the same bytes.
func HaveSameBytes(ctx context.Context, x, y *Tensor) (bool, error) {
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
	// Formula is the name of a row of the table, empty for an unknown type.
	Formula string
	// Inputs are in the order of the formula's inputs; nil stands for an absent optional input.
	Inputs, Outputs []*Tensor
	// Attributes are the known attributes by the names in the formula.
	Attributes Attributes
	// Fused says whether other operators were merged into this one; nil if unknown.
	Fused *bool
	// AttributesComplete: the graph lists every attribute that differs from its default, so that an unlisted
	// attribute has its default.
	AttributesComplete bool
	// Overlap says whether an output shares memory with an input; nil if unknown.
	Overlap *bool
	// Called: the operator is a call of a framework, whose inputs were dumped before the call ran.
	Called bool
	// Saved is the input that a forward call returned as its output, nil for none. A kernel may have used its value
	// from before it was rounded.
	Saved *Tensor
	// Open: the operator is a module that may compute more than the formula, such as roundings between two steps.
	Open bool
	// ByEnding: the formula of the module follows from the ending of its class name. A class written by the user may
	// round between two steps, for example a product in autocast before the bias is added.
	ByEnding bool
	// Transforms: convolutions of any kernel size may have been computed by Winograd transforms. Otherwise only 3x3
	// kernels may.
	Transforms bool
	// Full disables all sampling. Budget limits the multiplications and additions of a product, or the output
	// elements of another operator; 0 for no limit. Seed is the seed of the random signs of projections.
	Full   bool
	Budget int64
	Seed   int64

	// graphDefaults are the values of attributes that a graph does not list. They hold only with AttributesComplete.
	graphDefaults Attributes
	// hasUnreadInput: an input is present that the formula does not read, so that the formula may not hold.
	hasUnreadInput bool

	cache map[*Tensor]*cachedTensor
	views map[*Tensor]*Tensor
	casts map[tensor.DType]*Operator // by the type to which inputs are rounded
}

// WithInputs returns the operator with other inputs.
func (o *Operator) WithInputs(inputs []*Tensor) *Operator {
	as := *o
	as.Inputs, as.cache, as.views, as.casts = inputs, nil, nil, nil
	return &as
}

// rank is the number of axes of the first input.
func (o *Operator) rank() int { return len(o.Inputs[0].Shape) }

// mayBeFused reports whether another operator may be computed on the result before the output is written.
func (o *Operator) mayBeFused() bool { return o.Fused == nil || *o.Fused }

// input returns input k, nil if it is absent.
func (o *Operator) input(k int) *Tensor {
	if k >= len(o.Inputs) {
		return nil
	}
	return o.Inputs[k]
}

// aliases lists, for the name of an attribute in formulas, the names of the same attribute in graphs and calls.
var aliases = map[string]string{
	"axes": "axis axes dim dims dimension reduction_indices", "axis": "axis axes dim dims dimension concat_dim split_dim",
	"epsilon": "epsilon eps", "num_groups": "num_groups groups", "value": "value scalar",
}

// graphAttributes lists the attributes of graphs and calls that the read functions of formulas translate.
var graphAttributes = strings.Fields("begin_norm_axis normalized_shape scale_value head_num num_heads input_layout sparse_mode is_causal rotary_mode paddings begin end size begin_mask end_mask " +
	"ellipsis_mask new_axis_mask shrink_axis_mask count_include_pad divisor_override global_pooling adj_x1 adj_x2 transpose_a transpose_b data_format ceil_mode window stride pad padding pads " +
	"pad_mode mode p index indexed_sizes groups ksize kernel_size strides dilation dilations")

// AttributeNames lists the names under which the attributes of a formula may be given.
func AttributeNames(name string) (all []string) {
	f := formulaOf(name)
	if f == nil {
		return nil
	}
	for _, a := range f.attrs {
		for _, listed := range a.names {
			all = append(append(all, listed), strings.Fields(aliases[listed])...)
		}
	}
	for i := range f.forms {
		for _, argument := range f.call(f.forms[i].inputs).Arguments {
			all = append(all, argument.Keyword, argument.Name)
		}
	}
	if f.read != nil {
		all = append(all, graphAttributes...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" || name == "-" })
}

// maxValues limits the elements of an input whose elements are read as the value of an attribute.
const maxValues = 1 << 12

// Bind makes an operator from the dumped tensors and attributes of one execution. inputs and outputs are in the order
// of the operator type t; raw has the names of the graph or call. For an unknown type the formula of the operator is
// empty. warnings name attributes whose values have the wrong kind. err is an error of reading an input.
func Bind(t Formula, inputs, outputs []*Tensor, raw Attributes) (op *Operator, warnings []lang.Sentence, err error) {
	op = &Operator{Formula: t.Name, Inputs: inputs, Outputs: outputs, Attributes: Attributes{}}
	f := formulaOf(t.Name)
	if f == nil {
		op.Formula = ""
		return op, nil, nil
	}
	op.Outputs = f.judgedOutputs(outputs)
	raw = raw.merge(nil)
	var order []string
	for text := range strings.FieldsSeq(t.Inputs) {
		name, value, ok := strings.Cut(strings.TrimLeft(text, ":?"), "=")
		switch one := (Attribute{ParseValue(value), FromDefault}); {
		case !ok:
			order = append(order, text)
		case text[0] == '?':
			op.graphDefaults = op.graphDefaults.merge(Attributes{name: one})
		default:
			raw[name] = one
		}
	}
	if len(order) > 0 {
		if err := op.orderInputs(f, order, raw); err != nil {
			return nil, nil, err
		}
	}
	if names := strings.Fields(f.inputs); !strings.Contains(names[len(names)-1], "*") { // further inputs are not read
		op.Inputs = op.Inputs[:min(len(op.Inputs), len(names))]
	}
	return op, op.setAttributes(f, raw), nil
}

// orderInputs puts the inputs in the order of the formula. Values of attributes that the operator takes as inputs are
// read and added to raw. order is described at nameGroup.inputs.
func (o *Operator) orderInputs(f *formula, order []string, raw Attributes) error {
	names := strings.Fields(f.inputs)
	place := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.TrimRight(n, "?*") == name })
	}
	given := o.Inputs
	o.Inputs = nil
	// Kernels of several steps treat an optional input without elements as absent.
	areAbsent := f.class == Tabled || f.class == Linear
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
			o.hasUnreadInput = o.hasUnreadInput || slices.ContainsFunc(given[i:], isUnread)
		case spec == "~":
			o.hasUnreadInput = o.hasUnreadInput || isUnread(given[i])
		case strings.HasSuffix(spec, "*"):
			pad(place(name))
			o.Inputs = append(o.Inputs, o.splitList(given[i:], order[i+1:], raw)...)
			return nil
		case name == "-" || given[i] == nil || given[i].elements() == 0 && strings.HasSuffix(spec, "?") && areAbsent:
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

// splitList returns the inputs of a list of tensors. If an attribute follows the list and the last input is a number
// of lower rank than the first input, the last input is the attribute and not a member of the list.
func (o *Operator) splitList(all []*Tensor, following []string, raw Attributes) []*Tensor {
	last := len(all) - 1
	if len(following) == 0 || last < 1 || all[last] == nil || all[0] == nil || all[last].elements() != 1 || len(all[last].Shape) >= len(all[0].Shape) {
		return all
	}
	name := strings.TrimSuffix(following[0], "!")
	v, err := valueOf(all[last])
	if _, known := raw[name]; !known && err == nil && v != nil {
		raw[name] = Attribute{*v, FromInput}
	}
	return all[:last]
}

// valueOf reads the value of an attribute from a tensor; nil if the tensor has too many elements or no numbers.
func valueOf(t *Tensor) (*Value, error) {
	if _, err := tensor.NewDecoder(t.Stored); err != nil || t.Stored.Host().Complex() || t.elements() > maxValues {
		return nil, nil //nolint:nilerr // a type without numbers has no value
	}
	all, err := t.Values()
	if err != nil {
		return nil, err
	}
	return &Value{Numbers: slices.Clone(all), List: len(t.Shape) > 0}, nil
}

// setAttributes sets the attributes of the formula from raw. A value of the wrong kind is left out and named in a
// warning. If a required tensor is missing nothing is set.
func (o *Operator) setAttributes(f *formula, raw Attributes) (warnings []lang.Sentence) {
	if r, _ := f.findMissing(o); r != NoReason {
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
			slices.SortStableFunc(names, func(s, t string) int { return raw[s].Source.userOrder() - raw[t].Source.userOrder() })
			for _, alias := range names {
				x, ok := raw[alias]
				if !ok {
					continue
				}
				if kind := a.valueKind(name); !kind.accepts(x.Value) {
					warnings = append(warnings, lang.Say("attribute %s is %q, want %s", alias, x.Value, kind.text()))
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
	numberKind valueKind = iota
	listKind
	literalKind
	numbersKind
	stepsKind
)

// text describes the kind in messages.
func (k valueKind) text() lang.Sentence {
	return lang.Say([...]string{"a number", "whole numbers", "a text", "numbers", "whole numbers of at least 1"}[k])
}

func (k valueKind) accepts(v Value) bool {
	switch k {
	case numberKind:
		_, ok := v.Number()
		return ok
	case literalKind:
		return v.IsText()
	case numbersKind:
		return !v.IsText() && len(v.Numbers) <= maxValues
	}
	all, ok := v.Integers()
	if k == stepsKind && ok && slices.Min(append(all, 1)) < 1 {
		return false
	}
	return ok && len(v.Numbers) > 0 && len(v.Numbers) <= maxValues
}

// valueKind returns the required form of the value of one of the attribute's names.
func (a *attribute) valueKind(name string) valueKind {
	if a.kind == textKind {
		return literalKind
	}
	switch name {
	case "strides", "dilations", "ksize":
		if a.choices == nil || slices.Contains(a.names, "pads") { // of a window
			return stepsKind
		}
		return listKind
	case "axes", "axis", "perm", "lengths", "lengths_kv", "groups_of_rows", "shape", "begin", "before", "pads", "shifts", "axes_of_tensors":
		return listKind
	case "coeff", "scales":
		return numbersKind
	case "added", "padding_mode", "layout": // one of a fixed set of texts
		return literalKind
	}
	return numberKind
}

// constantSource is the source of a tensor of float64 whose elements all have one value.
type constantSource float64

// ReadElements implements layout.Source.
func (x constantSource) ReadElements(dst []byte, _ int64) error {
	for ; len(dst) >= 8; dst = dst[8:] {
		bits.LittleEndian.PutUint64(dst, math.Float64bits(float64(x)))
	}
	return nil
}

// Constant returns a number in the form of a tensor without axes.
func Constant(x float64) *Tensor {
	return &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: tensor.Shape{}, Source: constantSource(x)}
}

// BindCall makes an operator from the tensors and arguments of a call. named has the tensors by the names of the
// formula's inputs, raw and better the arguments by the names of its attributes; better overrides raw.
func BindCall(name string, named map[string][]*Tensor, outputs []*Tensor, raw, better Attributes) (op *Operator, warnings []lang.Sentence) {
	op = &Operator{Formula: name, Outputs: outputs, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	f := formulaOf(name)
	if f == nil {
		op.Formula = ""
		return op, nil
	}
	op.Outputs = f.judgedOutputs(outputs)
	var unassigned []*Tensor // of a list of tensors that stand for several inputs
	for spec := range strings.FieldsSeq(f.inputs) {
		given := named[strings.TrimRight(spec, "?*")]
		if len(given) == 0 && len(unassigned) > 0 {
			given = unassigned
		}
		switch {
		case strings.Contains(spec, "*"):
			op.Inputs = append(op.Inputs, given...)
		case len(given) > 0:
			op.Inputs, unassigned = append(op.Inputs, given[0]), given[1:]
		default:
			op.Inputs = append(op.Inputs, nil)
		}
	}
	for len(op.Inputs) > 0 && op.Inputs[len(op.Inputs)-1] == nil {
		op.Inputs = op.Inputs[:len(op.Inputs)-1]
	}
	if r, _ := f.findMissing(op); r != NoReason {
		return op, nil
	}
	op.roundNumbers()
	op.addBatchAxis(raw[spatialAxes])
	return op, op.setAttributes(f, op.translateArguments(raw.merge(better)))
}

// addBatchAxis adds an axis of length 1 in front of an image and of an output without a batch axis.
func (o *Operator) addBatchAxis(axes Attribute) {
	n, ok := axes.Value.Number()
	if !ok || o.rank() != int(n)+1 {
		return
	}
	lead := func(t *Tensor) *Tensor { return o.viewAs(t, slices.Concat(tensor.Shape{1}, t.Shape)) }
	rank := o.rank()
	o.Inputs, o.Outputs = slices.Clone(o.Inputs), slices.Clone(o.Outputs)
	o.Inputs[0] = lead(o.Inputs[0])
	for i, t := range o.Outputs {
		if len(t.Shape) == rank {
			o.Outputs[i] = lead(t)
		}
	}
}

// HasInputs reports whether inputs has every required input of a formula, by name.
func HasInputs[T any](name string, inputs map[string]T) bool {
	f := formulaOf(name)
	return f != nil && !slices.ContainsFunc(strings.Fields(f.inputs), func(spec string) bool {
		_, ok := inputs[strings.TrimRight(spec, "*")]
		return !ok && !strings.Contains(spec, "?")
	})
}

// IsInput reports whether a formula has an input with the name.
func IsInput(name, input string) bool { return inputSpec(name, input) != "" }

// IsList reports whether an input of a formula takes any number of tensors.
func IsList(name, input string) bool { return strings.Contains(inputSpec(name, input), "*") }

// inputSpec returns the input of a formula with its marks ? and *, empty for none.
func inputSpec(name, input string) string {
	if f := formulaOf(name); f != nil {
		for spec := range strings.FieldsSeq(f.inputs) {
			if strings.TrimRight(spec, "?*") == input {
				return spec
			}
		}
	}
	return ""
}

// translateArguments derives attributes from arguments that PyTorch writes in another form: paddings from the last
// axis to the first, moved axes, reversed axes and swapped axes.
func (o *Operator) translateArguments(raw Attributes) Attributes {
	raw, rank := raw.merge(nil), o.rank()
	if last, ok := raw["last_pads"]; ok {
		pairs := last.Value.Numbers
		if before := make([]float64, rank); len(pairs)%2 == 0 && len(pairs) <= 2*rank {
			for i := range len(pairs) / 2 {
				before[rank-1-i] = pairs[2*i]
			}
			raw["before"] = Attribute{Numbers(before...), last.Source}
		}
	}
	if raw["source"].Value.Numbers != nil { // movedim(source, destination)
		if perm := permutationOfMove(raw["source"].Value, raw["destination"].Value, rank); perm != nil {
			raw["perm"] = Attribute{integers(perm...), raw["source"].Source}
		}
	}
	if raw["reversed"].Value.Numbers != nil { // .T reverses all axes
		perm := firstIntegers(rank)
		slices.Reverse(perm)
		raw["perm"] = Attribute{integers(perm...), raw["reversed"].Source}
	}
	first, ok := raw["swap0"].Value.Integers()
	second, too := raw["swap1"].Value.Integers()
	if perm := firstIntegers(rank); ok && too && len(first) == 1 && len(second) == 1 {
		i, j := normaliseAxis(first[0], rank), normaliseAxis(second[0], rank)
		if min(i, j) >= 0 && max(i, j) < rank {
			perm[i], perm[j] = perm[j], perm[i]
			raw["perm"] = Attribute{integers(perm...), raw["swap0"].Source}
		}
	}
	return raw
}

// permutationOfMove returns the permutation of movedim: axis from[i] moves to position to[i], the others keep their order. It
// is nil if the axes do not fit the rank.
func permutationOfMove(from, to Value, rank int) []int {
	source, ok := from.Integers()
	target, too := to.Integers()
	if !ok || !too || len(source) != len(target) {
		return nil
	}
	unmoved, perm := firstIntegers(rank), slices.Repeat([]int{-1}, rank)
	for i, k := range source {
		axis, place := normaliseAxis(k, rank), normaliseAxis(target[i], rank)
		if min(axis, place) < 0 || max(axis, place) >= rank || perm[place] >= 0 {
			return nil
		}
		perm[place] = axis
		unmoved = slices.DeleteFunc(unmoved, func(r int) bool { return r == axis })
	}
	for i := range perm {
		if perm[i] < 0 && len(unmoved) > 0 {
			perm[i], unmoved = unmoved[0], unmoved[1:]
		}
	}
	return perm
}

// normaliseAxis adds the rank to a negative axis. The result may still lie outside 0..rank-1.
func normaliseAxis(k int64, rank int) int {
	if k < 0 {
		k += int64(rank)
	}
	return int(k)
}

// FormListing is a name group of a row of the table, as the list of operators shows it.
type FormListing struct {
	// Names are the names in one namespace: types of CANN (MindSpore has them for its operators too), or functions or
	// modules of a framework. Inputs lists the inputs in their order, or the arguments of the call.
	Names             []string
	Framework, Inputs string
	// Formula is the name of the row, Class the name of its class, which decides how the output is judged.
	Formula, Class string
	// Attributes are the attributes of the formula, each with the treatment of an unknown value.
	Attributes []lang.Sentence
}

// frameworks names the owner of each namespace.
var frameworks = [...]string{typeSpace: "CANN", functionSpace: "PyTorch", moduleSpace: "torch.nn", wideModuleSpace: "torch.nn", mindSporeSpace: "MindSpore"}

// List returns the name groups of all rows with a formula; with names only the groups that have one of the names.
func List(names ...string) (all []FormListing) {
	for space := range frameworks {
		for i := range operators {
			f := &operators[i]
			for k := range f.forms {
				one := f.describeForm(&f.forms[k], namespace(space))
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

// describeForm describes a name group in a namespace. Names is empty if the group has no name there.
func (f *formula) describeForm(group *nameGroup, space namespace) (one FormListing) {
	for name := range strings.FieldsSeq(group.names) {
		if s, name := splitNamespace(name); s == space {
			one.Names = append(one.Names, name)
		}
	}
	if len(one.Names) == 0 || f.name == "" {
		return one
	}
	one.Framework, one.Formula, one.Class, one.Inputs = frameworks[space], f.name, f.class.String(), cmp.Or(group.inputs, f.inputs)
	if space != typeSpace {
		c := f.call(group.inputs)
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
