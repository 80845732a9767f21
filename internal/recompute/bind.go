package recompute

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/optype"
)

// aliases are the names that attributes have in graphs and among arguments of calls, by those
// of formulas that mean the same.
var aliases = map[string]string{
	"axes": "axis axes dim dims dimension reduction_indices", "axis": "axis axes dim dims dimension concat_dim split_dim",
	"epsilon": "epsilon eps", "num_groups": "num_groups groups", "value": "value scalar",
}

// mostValues is how many numbers an input has that is the value of an attribute.
const mostValues = 1 << 12

// Bind makes an operator of a type of the tensors of an execution, in their order there, and
// of what is known of it, by the names that the graph or the call has for attributes. Of a
// type that nobody knows the formula of the operator is empty. The error is one of reading
// an input.
func Bind(t optype.Formula, inputs, outputs []*Tensor, raw Attributes) (op *Operator, warnings []string, err error) {
	op = &Operator{Formula: t.Name, Inputs: inputs, Outputs: outputs, Attributes: Attributes{}}
	f := formulaOf(t.Name)
	if f == nil {
		op.Formula = ""
		return op, nil, nil
	}
	raw = raw.with(nil)
	for text := range strings.FieldsSeq(t.Always) {
		name, value, _ := strings.Cut(text, "=")
		raw[name] = Attribute{ParseValue(value), FromDefault}
	}
	if t.Inputs != "" {
		if err := op.arrange(f, t.Inputs, raw); err != nil {
			return nil, nil, err
		}
	}
	return op, op.adopt(f, raw), nil
}

// arrange puts the inputs in the order of the formula, and takes the values of attributes
// from inputs that hold them.
func (o *Operator) arrange(f *formula, order string, raw Attributes) error {
	names := strings.Fields(f.inputs)
	place := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.TrimRight(n, "?*") == name })
	}
	given := o.Inputs
	o.Inputs = nil
	for i, spec := range strings.Fields(order) {
		name := strings.TrimRight(spec, "?*!")
		if i >= len(given) {
			break
		}
		switch {
		case strings.HasSuffix(spec, "*"):
			o.Inputs = append(o.Inputs, o.listed(given[i:], order, raw)...)
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
			for len(o.Inputs) <= k {
				o.Inputs = append(o.Inputs, nil)
			}
			o.Inputs[k] = given[i]
		}
	}
	return nil
}

// listed are inputs of a list. Where the order has an attribute behind it, its value is the
// last one if that is a number beside tensors.
func (o *Operator) listed(all []*Tensor, order string, raw Attributes) []*Tensor {
	last := len(all) - 1
	_, name, ok := strings.Cut(strings.TrimSuffix(order, "!"), "* ")
	if !ok || last < 1 || all[last] == nil || all[0] == nil || all[last].elements() != 1 || len(all[last].Shape) >= len(all[0].Shape) {
		return all
	}
	v, err := valueOf(all[last])
	if _, known := raw[name]; !known && err == nil && v != nil {
		raw[name] = Attribute{*v, FromInput}
	}
	return all[:last]
}

// valueOf reads a small tensor of numbers, nil for one that is none.
func valueOf(t *Tensor) (*Value, error) {
	if t.Stored.Host().Complex() || t.elements() > mostValues {
		return nil, nil
	}
	all, err := wholeOf(t)
	if err != nil {
		return nil, err
	}
	return &Value{Numbers: slices.Clone(all), List: len(t.Shape) > 0}, nil
}

// adopt takes what is known of the attributes of a formula; what is of another kind than it
// has to be is not known, and a warning.
func (o *Operator) adopt(f *formula, raw Attributes) (warnings []string) {
	if f.read != nil {
		raw = f.read(&problem{Operator: o}, raw)
	}
	for _, a := range f.attrs {
		for _, name := range a.names {
			names := []string{name}
			if also, ok := aliases[name]; ok {
				names = strings.Fields(also)
			}
			for _, alias := range names {
				x, ok := raw[alias]
				if !ok {
					continue
				}
				if kind := a.kind(name); !kind.takes(x.Value) {
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

// kind is what the value of an attribute has to be.
type kind uint8

const (
	aNumber kind = iota
	aList
	aText
	aNumbers
	aSteps
)

// String says what a value of the kind is.
func (k kind) String() string {
	return [...]string{"a number", "whole numbers", "a text", "numbers", "whole numbers of at least 1"}[k]
}

func (k kind) takes(v Value) bool {
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

// kind is that of the attribute in formulas.
func (a *attribute) kind(name string) kind {
	switch name {
	case "strides", "dilations", "ksize":
		if slices.Contains(a.names, "pads") { // of windows
			return aSteps
		}
		return aList
	case "axes", "axis", "perm", "shape", "begin", "before", "pads":
		return aList
	case "coeff":
		return aNumbers
	case "approximate", "mode", "activation", "padding", "added", "layout", "masked":
		if name != "mode" || a.words {
			return aText
		}
	}
	return aNumber
}
