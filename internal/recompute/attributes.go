package recompute

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

// Source says where the value of an attribute comes from.
type Source string

// The sources, the most reliable first.
const (
	FromHand    Source = "hand"   // the user (--attr)
	FromGraph   Source = "graph"  // a graph of the compiler or of MindSpore
	FromCall    Source = "call"   // an argument of the call
	FromInput   Source = "input"  // a tensor that holds the value
	FromShape   Source = "shape"  // the only value that the shapes allow
	FromValues  Source = "values" // the possible value that explains most elements
	FromFit     Source = "fit"    // a number fitted to the elements
	FromDefault Source = "default"

	// maxInteger: float64 holds all integers up to this size.
	maxInteger = 1 << 53
)

// Sources lists all sources, the most reliable first.
var Sources = []Source{FromHand, FromGraph, FromCall, FromInput, FromShape, FromValues, FromFit, FromDefault}

// userOrder sorts attributes given by the user before all others.
func (s Source) userOrder() int {
	if s == FromHand {
		return 0
	}
	return 1
}

// Value is the value of an attribute: a text, or numbers. Nested lists are flattened; true and false are 1 and 0.
type Value struct {
	Numbers []float64
	Text    string
	// List distinguishes a list of one number from a number.
	List bool
}

// Number returns a value of one number.
func Number(x float64) Value { return Value{Numbers: []float64{x}} }

// Numbers returns a list.
func Numbers(all ...float64) Value { return Value{Numbers: all, List: true} }

// Text returns a text value.
func Text(s string) Value { return Value{Text: s} }

func integers[T int | int64](all ...T) Value {
	v := Value{List: true, Numbers: make([]float64, len(all))}
	for i, n := range all {
		v.Numbers[i] = float64(n)
	}
	return v
}

// IsText reports whether a value is a text: neither a list nor a number.
func (v Value) IsText() bool { return !v.List && len(v.Numbers) == 0 }

// Number returns the number if the value is one number, also in a list.
func (v Value) Number() (float64, bool) {
	if len(v.Numbers) != 1 || v.Numbers[0] != v.Numbers[0] {
		return 0, false
	}
	return v.Numbers[0], true
}

// Integers returns the numbers if all are whole and at most 2^53 in size.
func (v Value) Integers() ([]int64, bool) {
	all := make([]int64, len(v.Numbers))
	for i, x := range v.Numbers {
		if x != math.Trunc(x) || math.Abs(x) > maxInteger {
			return nil, false
		}
		all[i] = int64(x)
	}
	return all, !v.IsText()
}

// String formats the value for reports.
func (v Value) String() string {
	if v.IsText() {
		return v.Text
	}
	s := ""
	for i, x := range v.Numbers {
		if i > 0 {
			s += ","
		}
		bits := 64
		if float64(float32(x)) == x {
			bits = 32
		}
		s += strconv.FormatFloat(x, 'g', -1, bits)
	}
	return s
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsText() {
		return json.Marshal(v.Text)
	}
	all := make([]tensor.Number, len(v.Numbers))
	for i, x := range v.Numbers {
		all[i] = tensor.Number(x)
	}
	if !v.List {
		return json.Marshal(all[0])
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{List: data[0] == '['}
	if data[0] == '"' {
		return json.Unmarshal(data, &v.Text)
	}
	if !v.List {
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	var all []tensor.Number
	err := json.Unmarshal(data, &all)
	for _, x := range all {
		v.Numbers = append(v.Numbers, float64(x))
	}
	return err
}

// Attribute is a value with its source.
type Attribute struct {
	Value  Value  `json:"value"`
	Source Source `json:"source"`
}

// Attributes are the attributes of an operator by name.
type Attributes map[string]Attribute

// merge returns the attributes with others added; others take precedence.
func (a Attributes) merge(others Attributes) Attributes {
	all := make(Attributes, len(a)+len(others))
	maps.Copy(all, a)
	maps.Copy(all, others)
	return all
}

// call is one evaluation of a formula for a cell: its inputs, cut to the cell, and its attributes.
type call struct {
	*machine
	inputs []*Array // nil for absent inputs
	attrs  Attributes
	// shapes are the shapes of the outputs in the cell, got the NPU's elements of the outputs.
	shapes []tensor.Shape
	got    []*Array
	lo     []int64        // first index of the cell along each free axis
	free   []freeAxis     // axes along which the cell is cut
	axis   int            // axis along which the inputs are concatenated
	ties   []bool         // elements of the output that rounding may put on either side of a tie
	dtypes []tensor.DType // of the outputs
	types  []tensor.DType // of the inputs
}

// isTie reports whether element i lies on a tie, so that either rounding is right.
func (c *call) isTie(i int) bool { return c.ties != nil && c.ties[i] }

// input returns an input; if it is absent the evaluation fails.
func (c *call) input(k int) *Array {
	if k >= len(c.inputs) || c.inputs[k] == nil {
		c.lacksInput = true
		return c.fail("there is no input %d", k)
	}
	return c.inputs[k]
}

// hasInput reports whether an input is present.
func (c *call) hasInput(k int) bool { return k < len(c.inputs) && c.inputs[k] != nil }

// numberAttribute returns an attribute of one number.
func (c *call) numberAttribute(name string) float64 {
	x, ok := c.attrs[name].Value.Number()
	if !ok {
		c.fail("attribute %s is %q, want a number", name, c.attrs[name].Value)
	}
	return x
}

// isAttributeTrue reports whether an attribute is true. An absent attribute is false.
func (c *call) isAttributeTrue(name string) bool {
	x, _ := c.attrs[name].Value.Number()
	return x != 0
}

// integerAttributes returns an attribute of whole numbers.
func (c *call) integerAttributes(name string) []int {
	all, ok := c.attrs[name].Value.Integers()
	if !ok {
		c.fail("attribute %s is %q, want whole numbers", name, c.attrs[name].Value)
	}
	return toInts(all)
}

// textAttribute returns the text of an attribute, empty if it is absent.
func (c *call) textAttribute(name string) string { return c.attrs[name].Value.Text }

func toInts(all []int64) []int {
	ints := make([]int, len(all))
	for i, n := range all {
		ints[i] = int(n)
	}
	return ints
}

// problem is an operator with unknown attributes, as formulas see it.
type problem struct {
	*Operator
	// ctx stops a long search, nil for none.
	ctx context.Context
	// For a formula with one output at a time, output is the index of the computed output, outputs the number of all
	// outputs and shapes their shapes.
	output, outputs int
	shapes          []tensor.Shape
}

// isStopped reports whether the context of a search is done.
func (p *problem) isStopped() bool { return p.ctx != nil && p.ctx.Err() != nil }

// attribute describes an attribute of a formula: one name, or several names whose values are chosen together.
type attribute struct {
	names []string
	kind  attributeKind
	// choices lists the possible values, the likely ones first. It is nil for an attribute that has no effect unless
	// it is known.
	choices func(p *problem) []Attributes
	// fit says how a number is fitted to the output, nil for attributes that are not fitted.
	fit *fitRule
}

// attributeKind says how an unknown attribute is treated.
type attributeKind uint8

const (
	// closedKind: the choices are all possible values, and each is tried.
	closedKind attributeKind = iota
	// textKind: as closedKind, and the values are texts.
	textKind
	// openKind: other values than the choices are possible, such as the steps of a slice, and cannot be fitted.
	// Therefore no operator is WRONG because no choice explains it.
	openKind
	// realKind: a number. The choices are tried, then a number is fitted.
	realKind
	// fixedKind: the first choice is the default and counts as known. Other values are so rare, or change so few
	// elements, that they are not tried.
	fixedKind
	// usualKind: the first choice is the default. It counts as known if a graph lists all values that are not
	// defaults; without such a graph the choices are tried and a number is fitted.
	usualKind
)

// fitRule says how a number is fitted to the elements of an output.
type fitRule struct {
	// log: the number is positive, and its logarithm is fitted.
	log bool
	// natural is the usual value of a number whose other values only scale the output, such as e for the base of a
	// logarithm; 0 for none.
	natural float64
	// start is the initial value of the fit, 0 for the choice that explains most elements.
	start float64
	// maxPlausible is the largest plausible number, 0 for no limit. digits is the largest plausible number of decimal
	// digits, 0 for no limit.
	maxPlausible float64
	digits       int
}

// closedAttribute returns an attribute, or a group of attributes with names separated by blanks, with a closed list of values.
func closedAttribute(names string, choices func(p *problem) []Attributes) attribute {
	return attribute{names: strings.Fields(names), kind: closedKind, choices: choices}
}

// withKind returns the attribute with another kind.
func (a attribute) withKind(kind attributeKind) attribute {
	a.kind = kind
	return a
}

// oneOf returns an attribute with a closed list of values.
func oneOf(name string, values ...Value) attribute {
	return closedAttribute(name, func(*problem) []Attributes {
		all := make([]Attributes, len(values))
		for i, v := range values {
			all[i] = Attributes{name: {v, FromValues}}
		}
		return all
	})
}

// textAttribute returns an attribute whose value is one of some words, separated by blanks.
func textAttribute(name, words string) attribute {
	var values []Value
	for word := range strings.FieldsSeq(words) {
		values = append(values, Text(word))
	}
	return oneOf(name, values...).withKind(textKind)
}

// flagAttribute returns an attribute with the values false and true; first is the likely value.
func flagAttribute(name string, first bool) attribute {
	return oneOf(name, Number(boolToFloat(first)), Number(boolToFloat(!first)))
}

// realNumber returns an attribute whose values are tried, then a number is fitted.
func realNumber(name string, values ...float64) attribute {
	all := make([]Value, len(values))
	for i, x := range values {
		all[i] = Number(x)
	}
	return oneOf(name, all...).withFit(fitRule{})
}

// withFit returns the attribute as a number to fit.
func (a attribute) withFit(f fitRule) attribute {
	a.kind, a.fit = realKind, &f
	return a
}

// defaultNumber returns an attribute that nearly always has its default.
func defaultNumber(name string, value float64) attribute {
	return oneOf(name, Number(value)).withKind(fixedKind)
}

// epsilon returns the attribute for the number that norms add to a variance, with usual values: powers of ten with one
// digit, and the machine epsilons of float32, float16 and bfloat16 that nn.RMSNorm takes by default.
func epsilon(values ...float64) attribute {
	return realNumber("epsilon", append(slices.Clip(values), 1e-5, 1e-6, 1e-12, 1e-3, 1e-4, 1e-7, 1e-8, 0, 2e-5, 1e-9, 1e-10, 1e-2, 0x1p-23, 0x1p-10, 0x1p-7)...).withFit(fitRule{log: true, maxPlausible: .1, digits: 1})
}

// labelSmoothing is the share, 0 to 1, of the target that all classes get. Modules do not dump it; .1 is usual.
var labelSmoothing = oneOf("label_smoothing", Number(0), Number(.1)).withKind(openKind)

// ignoreIndex is the class whose targets do not count. Modules do not dump it; classes for padding are usual.
var ignoreIndex = oneOf("ignore_index", Number(-100), Number(0), Number(-1), Number(255), Number(1), Number(2), Number(3)).withKind(openKind)

// baseOf returns the attribute for the base of powers or logarithms; -1 stands for e.
func baseOf(natural float64, values ...float64) attribute {
	return realNumber("base", values...).withFit(fitRule{log: true, start: math.E, natural: natural}).withKind(usualKind)
}

// optionalNumber returns an attribute that has no effect unless it is known.
func optionalNumber(name string) attribute { return closedAttribute(name, nil) }

// optionalText returns a text that has no effect unless it is known.
func optionalText(name string) attribute { return optionalNumber(name).withKind(textKind) }

// axisChoice returns the attribute axis; its choices are the axes of the first input for which fits is true.
func axisChoice(fits func(p *problem, k int) bool) attribute {
	return closedAttribute("axis", func(p *problem) (all []Attributes) {
		for k := range p.rank() {
			if fits(p, k) {
				all = append(all, Attributes{"axis": {integers(k), FromValues}})
			}
		}
		return all
	})
}

// listReducedAxes lists the sets of axes that may have been reduced to give the output's shape, small sets and last axes
// first.
func listReducedAxes(p *problem) (all []Attributes) {
	in, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(in) > maxAxes {
		return nil
	}
	sets := listAxisSets(len(in))
	if len(in) == 0 {
		sets = [][]int{{}}
	}
	for _, axes := range sets {
		kept, dropped := slices.Clone(in), tensor.Shape{}
		for k := range in {
			if slices.Contains(axes, k) {
				kept[k] = 1
			} else {
				dropped = append(dropped, in[k])
			}
		}
		if kept.Equal(out) || dropped.Equal(out) || len(dropped) == 0 && out.Equal(tensor.Shape{1}) {
			all = append(all, Attributes{"axes": {integers(axes...), FromValues}})
		}
	}
	return all
}

// maxAxes limits the rank of tensors whose sets of axes are listed: 2^8 sets.
const maxAxes = 8

// listAxisSets lists the non-empty sets of axes of a rank, small sets and last axes first.
func listAxisSets(rank int) (sets [][]int) {
	for bits := 1; bits < 1<<rank; bits++ {
		var axes []int
		for k := range rank {
			if bits>>k&1 == 1 {
				axes = append(axes, k)
			}
		}
		sets = append(sets, axes)
	}
	total := func(s []int) (n int) {
		for _, k := range s {
			n += k
		}
		return n
	}
	slices.SortStableFunc(sets, func(s, t []int) int {
		if len(s) != len(t) {
			return len(s) - len(t)
		}
		return total(t) - total(s)
	})
	return sets
}

var (
	// reducedAxes are the axes that the output lacks or has with length 1.
	reducedAxes = closedAttribute("axes", listReducedAxes)
	// anyAxes are one or several axes, small sets and last axes first.
	anyAxes = closedAttribute("axes", func(p *problem) (all []Attributes) {
		if p.rank() > maxAxes {
			return nil
		}
		sets := listAxisSets(p.rank())
		for _, s := range sets {
			all = append(all, Attributes{"axes": {integers(s...), FromValues}})
		}
		return all
	})
	// lastAxes tries each single axis, beginning with the last axis.
	lastAxes = closedAttribute("axes", func(p *problem) (all []Attributes) {
		for k := p.rank() - 1; k >= 0; k-- {
			all = append(all, Attributes{"axes": {integers(k), FromValues}})
		}
		return all
	})
	// oneAxis is one reduced axis, or all axes.
	oneAxis = closedAttribute("axes", func(p *problem) (all []Attributes) {
		for _, a := range listReducedAxes(p) {
			// Without an axis, argmax and the like return an index into the flat array.
			if n := len(a["axes"].Value.Numbers); n == 1 || n == p.rank() {
				all = append(all, a)
			}
		}
		return all
	})
	// normAxes are the last axes, as many as the weight has first.
	normAxes = closedAttribute("axes", func(p *problem) (all []Attributes) {
		if p.rank() == 0 {
			return nil
		}
		likely := 1
		if g := p.input(1); g != nil && len(g.Shape) <= p.rank() && g.Shape.Equal(p.Inputs[0].Shape[p.rank()-len(g.Shape):]) {
			likely = max(1, len(g.Shape))
		}
		order := append([]int{likely}, slices.DeleteFunc(firstIntegers(p.rank()+1), func(n int) bool { return n == 0 || n == likely })...)
		for _, n := range order {
			all = append(all, Attributes{"axes": {integers(firstIntegers(p.rank())[p.rank()-n:]...), FromValues}})
		}
		return all
	})
	// divisors are the numbers of groups that divide the channels.
	divisors = closedAttribute("num_groups", func(p *problem) (all []Attributes) {
		if p.rank() < 2 {
			return nil
		}
		add := func(n int64) {
			if p.Inputs[0].Shape[1]%n == 0 && len(all) < maxHypotheses {
				all = append(all, Attributes{"num_groups": {Number(float64(n)), FromValues}})
			}
		}
		usual := []int64{32, 16, 8, 4, 2, 1}
		for _, n := range usual {
			add(n)
		}
		for n := int64(3); n <= min(p.Inputs[0].Shape[1], maxGroups); n++ {
			if !slices.Contains(usual, n) {
				add(n)
			}
		}
		return all
	})
)

// channelsOf returns the number of channels of an image.
func channelsOf(x *Array) int64 {
	if len(x.shape) < 2 {
		return 0
	}
	return x.shape[1]
}

// maxGroups limits the numbers of groups that are tried in addition to the usual ones.
const maxGroups = 1 << 16

// readNormAxes derives the axes of a norm from begin_norm_axis, or from normalized_shape.
func readNormAxes(p *problem, raw Attributes) Attributes {
	first := p.rank()
	from, ok := raw["begin_norm_axis"]
	if n, is := from.Value.Integers(); ok && is && len(n) == 1 {
		first = normaliseAxis(n[0], p.rank())
	} else if from, ok = raw["normalized_shape"]; ok {
		first = p.rank() - len(from.Value.Numbers)
	}
	if first < 0 || first >= p.rank() {
		return raw
	}
	return raw.merge(Attributes{"axes": {integers(firstIntegers(p.rank())[first:]...), from.Source}})
}

// ParseValue reads a value as users write it: numbers separated by commas, true or false, or a text.
func ParseValue(text string) Value {
	switch text {
	case "true", "True":
		return Number(1)
	case "false", "False":
		return Number(0)
	}
	v := Value{List: strings.Contains(text, ",")}
	for part := range strings.SplitSeq(strings.Trim(text, "[]()"), ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return Text(text)
		}
		v.Numbers = append(v.Numbers, x)
	}
	return v
}
