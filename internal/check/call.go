package check

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// argument is an argument of a call: a value, or the values of a list.
type argument struct {
	leaves []*msprobe.Leaf
	isList bool
	index  int // index of the first leaf in the call
}

// isTensor reports whether the argument has tensors only.
func (a *argument) isTensor() bool {
	return !slices.ContainsFunc(a.leaves, func(l *msprobe.Leaf) bool { return l.Tensor == nil })
}

// number returns the value of an argument with a single number.
func (a *argument) number() (float64, bool) {
	if len(a.leaves) != 1 || a.leaves[0].Value == nil {
		return 0, false
	}
	return valueOf(a.leaves[0].Value).Number()
}

// value returns the value of an argument without tensors. ok is false for a list with texts, or with tensors.
func (a *argument) value() (v recompute.Value, ok bool) {
	if len(a.leaves) == 1 && !a.isList && a.leaves[0].Value != nil {
		return valueOf(a.leaves[0].Value), true
	}
	v.List = true
	for _, l := range a.leaves {
		if l.Value == nil {
			return v, false
		}
		one := valueOf(l.Value)
		if one.IsText() {
			return v, false
		}
		v.Numbers = append(v.Numbers, one.Numbers...)
	}
	return v, true
}

func (a *argument) isFlag() bool {
	return len(a.leaves) == 1 && a.leaves[0].Value != nil && a.leaves[0].Value.Kind == jsonpos.Bool
}

// valueOf converts a value of dump.json to the value of an attribute.
func valueOf(v *msprobe.Value) recompute.Value {
	switch v.Kind {
	case jsonpos.Bool, jsonpos.Number, jsonpos.Array:
		return recompute.ParseValue(v.Text)
	}
	return recompute.Text(v.Text)
}

// arguments lists the arguments of a call by position or keyword, and the parameters of a module by name, without
// arguments that are None.
func arguments(c *dumpdir.Call) map[string]*argument {
	all := map[string]*argument{}
	for i := range c.Leaves {
		l := &c.Leaves[i]
		key, inside, list := strings.Cut(l.Path, ".")
		if l.Kind != tensor.Input && l.Kind != tensor.Parameter || l.Tensor == nil && l.Value == nil && !list {
			continue
		}
		if _, err := strconv.Atoi(key); err == nil && l.Kind == tensor.Parameter || l.Kind == tensor.Parameter && list {
			key = key + "." + inside // of an inner module
		}
		a := all[key]
		if a == nil {
			a = &argument{isList: list, index: i}
			all[key] = a
		}
		a.leaves = append(a.leaves, l)
	}
	return all
}

// withCall returns the operator with a call. If dump.json is missing and the names of its tensors follow msprobe, the
// call is reconstructed from these names; other operators are returned unchanged.
func withCall(op *dumpdir.Op) *dumpdir.Op {
	name := op.Names()[0]
	api := name
	if op.Type == "" {
		api = cmp.Or(recompute.CallOfFile(name), name)
	}
	if function, _ := recompute.CallsOf(api, ""); op.Call != nil || function == "" && typeOfBackward(api) == "" {
		return op
	}
	one := *op
	one.Tensors = slices.Clone(op.Tensors)
	one.Call = &dumpdir.Call{NamesOnly: true, Entry: msprobe.Entry{API: api, Leaves: make([]msprobe.Leaf, len(one.Tensors))}}
	for i := range one.Tensors {
		t := &one.Tensors[i]
		path := strings.Trim(strconv.Itoa(t.Index)+"."+t.Slice, ".")
		switch file := strings.TrimSuffix(t.File.Name, filepath.Ext(t.File.Name)); {
		case t.Kind == tensor.Parameter:
			path = t.Slice
		case strings.HasPrefix(file, name+"."+string(t.Kind)+"."): // a keyword: no index in the name, 0 in the list of tensors
			path = strings.TrimPrefix(file, name+"."+string(t.Kind)+".")
		}
		described := new(msprobe.Tensor)
		if t.Leaf != nil && t.Leaf.Tensor != nil {
			described = t.Leaf.Tensor
		}
		one.Call.Leaves[i] = msprobe.Leaf{Name: api + "." + string(t.Kind) + "." + path, Kind: t.Kind, Index: t.Index, Path: path, Tensor: described}
		t.Leaf = &one.Call.Leaves[i]
	}
	return &one
}

// boundCall is a call whose arguments are assigned to the inputs and attributes of a formula.
type boundCall struct {
	formula string
	open    bool
	// usesEnding: the call is a module whose class has a known ending.
	usesEnding bool
	// hasAllArguments: dump.json has all arguments of the call, so an absent argument has its default.
	hasAllArguments bool
	inputs          map[string]*argument
	attributes      recompute.Attributes
}

// numpyKeywords are the names in numpy of arguments of PyTorch, which PyTorch accepts too.
var numpyKeywords = map[string]string{"dim": "axis", "keepdim": "keepdims", "dim0": "axis0", "dim1": "axis1"}

// bind assigns the arguments of a call to a row of the table. hasArguments: dump.json lists all arguments. ok is false
// if the row has no parameter for an argument, or accepts only another value.
func bind(row *recompute.Call, given map[string]*argument, isModule, hasArguments bool) (c boundCall, ok bool) {
	c = boundCall{formula: row.Formula, open: row.Open || !hasArguments && !isModule, usesEnding: row.Open, hasAllArguments: hasArguments, inputs: map[string]*argument{}, attributes: recompute.Attributes{}}
	used := map[string]bool{}
	for _, name := range recompute.Ignored {
		used[name] = true
	}
	place := 0
	for i := range row.Arguments {
		spec := &row.Arguments[i]
		isInput := recompute.IsInput(c.formula, spec.Name)
		if spec.Keyword == "" && isInput {
			c.inputs[spec.Name] = numberArgument(spec.Default)
			continue
		}
		if spec.Keyword == "" {
			c.attributes[spec.Name] = recompute.Attribute{Value: recompute.ParseValue(spec.Default), Source: recompute.FromCall}
			continue
		}
		key := strconv.Itoa(place)
		if !hasArguments && !isModule && !isInput && (spec.Name != "-" || spec.Only) && given[key] != nil && given[key].isTensor() {
			continue // file names number the tensors only
		}
		if place++; spec.Rest && spec.Keyword == "parameters" {
			given[key] = joinParameters(given, used)
		} else if spec.Rest || !hasArguments && endsInList(row, i) {
			if a := joinArguments(given, place-1, used); a != nil {
				given[key] = a
			}
			for used[strconv.Itoa(place)] {
				place++
			}
		}
		a := given[key]
		if a == nil {
			if key = spec.Keyword; given[key] == nil && numpyKeywords[key] != "" {
				key = numpyKeywords[key]
			}
			a = given[key]
		}
		used[key] = true
		if !c.bindArgument(spec, a) {
			return c, false
		}
	}
	for key := range given {
		if !used[key] && (!isModule || !strings.Contains(key, ".")) {
			return c, false
		}
	}
	return c, true
}

// endsInList reports whether argument i of a row is a list of tensors and no further argument is an input.
func endsInList(row *recompute.Call, i int) bool {
	return recompute.IsList(row.Formula, row.Arguments[i].Name) &&
		!slices.ContainsFunc(row.Arguments[i+1:], func(a recompute.Argument) bool { return recompute.IsInput(row.Formula, a.Name) })
}

// joinParameters joins the parameters of a module in their order.
func joinParameters(given map[string]*argument, used map[string]bool) *argument {
	all := &argument{isList: true}
	keys := slices.SortedFunc(maps.Keys(given), func(a, b string) int { return cmp.Compare(given[a].index, given[b].index) })
	for _, key := range keys {
		if a := given[key]; a.leaves[0].Kind == tensor.Parameter {
			used[key] = true
			all.leaves = append(all.leaves, a.leaves...)
		}
	}
	return all
}

// joinArguments joins the positional arguments from an index on, nil for none.
func joinArguments(given map[string]*argument, from int, used map[string]bool) *argument {
	first := given[strconv.Itoa(from)]
	if first == nil || given[strconv.Itoa(from+1)] == nil {
		return first
	}
	all := &argument{isList: true}
	for k := from; given[strconv.Itoa(k)] != nil; k++ {
		used[strconv.Itoa(k)] = true
		all.leaves = append(all.leaves, given[strconv.Itoa(k)].leaves...)
	}
	return all
}

// numberArgument returns an argument with the number in text.
func numberArgument(text string) *argument {
	x, _ := recompute.ParseValue(text).Number()
	return &argument{leaves: []*msprobe.Leaf{{Value: &msprobe.Value{Kind: jsonpos.Number, Text: strconv.FormatFloat(x, 'g', -1, 64)}}}}
}

// bindIndex assigns the tensors of an index to their input. The index as text becomes an attribute, with T for a
// tensor: x[3, i] is "3;T". A missing argument is None.
func (c *boundCall) bindIndex(spec *recompute.Argument, a *argument) {
	tensors, items := &argument{isList: true}, []string{"None"}
	if a != nil {
		items = nil
		for _, l := range a.leaves {
			switch {
			case l.Tensor != nil:
				tensors.leaves, items = append(tensors.leaves, l), append(items, "T")
			case l.Value != nil:
				items = append(items, l.Value.Text)
			default:
				items = append(items, "None")
			}
		}
	}
	c.inputs[spec.Name] = tensors
	c.attributes["index"] = recompute.Attribute{Value: recompute.Text(strings.Join(items, ";")), Source: recompute.FromCall}
}

// bindArgument assigns an argument to its input or attribute; a is nil for a missing argument. It reports whether the
// row accepts the argument.
func (c *boundCall) bindArgument(spec *recompute.Argument, a *argument) bool {
	isInput := recompute.IsInput(c.formula, spec.Name)
	switch {
	case spec.Index:
		c.bindIndex(spec, a)
		return true
	case a == nil && (spec.Default == "" || isInput && !c.hasAllArguments):
		return !spec.Tensor
	case a == nil && isInput:
		c.inputs[spec.Name] = numberArgument(spec.Default)
		return true
	case a == nil && (spec.Only || spec.Name == "-"):
		return true
	case a == nil && !c.hasAllArguments:
		return true
	case a == nil:
		c.attributes[spec.Name] = recompute.Attribute{Value: recompute.ParseValue(spec.Default), Source: recompute.FromDefault}
		return true
	case spec.Only:
		v, ok := a.value()
		return ok && v.String() == recompute.ParseValue(spec.Default).String()
	case spec.Name == "-":
		return true
	case isInput:
		_, isNumber := a.number()
		c.inputs[spec.Name] = a
		return a.isTensor() || isNumber && !spec.Tensor
	}
	v, ok := a.value()
	ok = ok && !(spec.Name == "axes" && a.isFlag())
	if ok {
		c.attributes[spec.Name] = recompute.Attribute{Value: v, Source: recompute.FromCall}
	}
	return ok
}

// bindFormula binds a call to the first row of the table that accepts all arguments. It also returns the further rows.
func bindFormula(rows []recompute.Call, call *dumpdir.Call) (c boundCall, rest []recompute.Call) {
	for i := range rows {
		one, ok := bind(&rows[i], arguments(call), msprobe.IsModule(call.API), !call.NamesOnly)
		if ok && recompute.HasInputs(one.formula, one.inputs) {
			return one, rows[i+1:]
		}
		if ok && c.formula == "" { // the verdict then names the missing input
			c = one
		}
	}
	return c, nil
}

// bindCall opens the tensors of a call and binds its arguments to a formula, or returns the reason why the call
// cannot be judged.
func (x *execution) bindCall(ctx context.Context) (op *recompute.Operator, warnings []lang.Sentence, v *recompute.Verdict, err error) {
	rows := x.guess
	if rows == nil {
		_, rows = recompute.CallsOf(x.op.Call.API, x.round.Header.Framework)
		if x.op.Call.NamesOnly { // perhaps in the order of the device's operator
			rows = slices.Concat(rows, recompute.AtenCalls(x.op.Call.API))
		}
	}
	c, rest := bindFormula(rows, x.op.Call)
	x.inputs, x.furtherRows = nil, rest
	if x.outputs, err = x.openTensors(tensor.Output, false); err != nil {
		return nil, nil, nil, err
	}
	inputs, err := x.inputsOf(&c)
	if err == nil {
		err = x.dropReturnedBias(ctx, inputs)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	x.row.Inputs = x.listTensors(x.inputs)
	if v := x.findRefusal(c.formula, len(inputs) > 0); v != nil {
		return nil, nil, v, nil
	}
	op, warnings = recompute.BindCall(c.formula, inputs, x.outputs, c.attributes, x.attributes())
	op.Open, op.ByEnding = c.open, c.usesEnding
	return op, warnings, nil, nil
}

// dropReturnedBias drops the bias from the inputs if the call returns it as a further output instead of adding it, as
// Megatron's linear layers do with skip_bias_add.
func (x *execution) dropReturnedBias(ctx context.Context, inputs map[string][]*recompute.Tensor) error {
	x.bias = nil
	if len(inputs["bias"]) != 1 || len(x.outputs) < 2 {
		return nil
	}
	bias := inputs["bias"][0]
	for _, out := range x.outputs[1:] {
		if out == nil || out.DType != bias.DType || out.Stored != bias.Stored || !out.Shape.Equal(bias.Shape) {
			continue
		}
		same, err := recompute.HaveSameBytes(ctx, bias, out)
		if err != nil {
			return err
		}
		if same {
			x.bias = out
			delete(inputs, "bias")
			break
		}
	}
	return nil
}

// inputsOf opens the inputs of a call by their names in the formula.
func (x *execution) inputsOf(c *boundCall) (map[string][]*recompute.Tensor, error) {
	all := map[string][]*recompute.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(c.inputs)) {
		for _, l := range c.inputs[name].leaves {
			if l.Tensor == nil {
				n, _ := valueOf(l.Value).Number()
				all[name] = append(all[name], recompute.Constant(n))
				continue
			}
			i := slices.IndexFunc(x.op.Tensors, func(t dumpdir.Tensor) bool { return t.Leaf == l })
			if i < 0 || x.op.Tensors[i].Table || x.op.Tensors[i].File.Err != nil {
				x.inputs = nil
				return nil, nil //nolint:nilerr // the missing tensor is reported for the operator
			}
			one, err := x.openTensor(&x.op.Tensors[i], false)
			if err != nil {
				return nil, lang.Errorf("%s: %w", l.Name, err)
			}
			x.inputs, all[name] = append(x.inputs, one), append(all[name], one)
		}
	}
	place := func(t *recompute.Tensor) int {
		return slices.IndexFunc(x.op.Tensors, func(dumped dumpdir.Tensor) bool { return dumped.Leaf == x.leaves[t] })
	}
	slices.SortStableFunc(x.inputs, func(a, b *recompute.Tensor) int { return place(a) - place(b) })
	return all, nil
}
