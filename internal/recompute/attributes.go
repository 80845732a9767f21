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

// Source says where an attribute comes from.
type Source string

// The sources, the best first.
const (
	FromHand    Source = "hand"   // the user
	FromGraph   Source = "graph"  // of the compiler, or of MindSpore
	FromCall    Source = "call"   // an argument of the call
	FromInput   Source = "input"  // a tensor that holds it
	FromShape   Source = "shape"  // the only one that the shapes allow
	FromValues  Source = "values" // of those that are possible the one that explains the elements
	FromFit     Source = "fit"    // a number that was fitted to the elements
	FromDefault Source = "default"

	maxInteger = 1 << 53
)

// Sources are all of them, the best first.
var Sources = []Source{FromHand, FromGraph, FromCall, FromInput, FromShape, FromValues, FromFit, FromDefault}

// byHand sorts attributes given by the user before all others.
func (s Source) byHand() int {
	if s == FromHand {
		return 0
	}
	return 1
}

// Value is the value of an attribute: numbers, of which nested lists are one list and true
// and false are 1 and 0, or a text.
type Value struct {
	Numbers []float64
	Text    string
	// List is set for a list, also one of a single number.
	List bool
}

// Number is the value of one number.
func Number(x float64) Value { return Value{Numbers: []float64{x}} }

// Numbers is a list.
func Numbers(all ...float64) Value { return Value{Numbers: all, List: true} }

// Text is the value of a text.
func Text(s string) Value { return Value{Text: s} }

func integers[T int | int64](all ...T) Value {
	v := Value{List: true, Numbers: make([]float64, len(all))}
	for i, n := range all {
		v.Numbers[i] = float64(n)
	}
	return v
}

// IsText reports whether the value is a text.
func (v Value) IsText() bool { return !v.List && len(v.Numbers) == 0 }

// Number is the value of one number.
func (v Value) Number() (float64, bool) {
	if len(v.Numbers) != 1 || v.Numbers[0] != v.Numbers[0] {
		return 0, false
	}
	return v.Numbers[0], true
}

// Integers are the numbers, if all are whole.
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

// String is the value as reports have it.
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

// Attribute is the value of an attribute and where it comes from.
type Attribute struct {
	Value  Value  `json:"value"`
	Source Source `json:"source"`
}

// Attributes are those of an operator by their names.
type Attributes map[string]Attribute

// with returns the attributes with others, which come first.
func (a Attributes) with(others Attributes) Attributes {
	all := make(Attributes, len(a)+len(others))
	maps.Copy(all, a)
	maps.Copy(all, others)
	return all
}

// call is one computation of a formula: its inputs, cut to a cell, and its attributes.
type call struct {
	*machine
	inputs []*Array // nil for those that are absent
	attrs  Attributes
	// shapes are those of the outputs in the cell, got what the NPU has there.
	shapes []tensor.Shape
	got    []*Array
	lo     []int64        // where the cell begins along the free axes
	free   []free         // those axes
	axis   int            // along which inputs lie behind each other
	ties   []bool         // elements of the output that rounding may put either way
	dtypes []tensor.DType // of the outputs
	types  []tensor.DType // of the inputs
}

// tie reports whether an element lies where rounding may go either way.
func (c *call) tie(i int) bool { return c.ties != nil && c.ties[i] }

// in returns an input; a missing one does not fit.
func (c *call) in(k int) *Array {
	if k >= len(c.inputs) || c.inputs[k] == nil {
		c.lacks = true
		return c.fail("there is no input %d", k)
	}
	return c.inputs[k]
}

// has reports whether there is an input.
func (c *call) has(k int) bool { return k < len(c.inputs) && c.inputs[k] != nil }

// num returns an attribute of one number.
func (c *call) num(name string) float64 {
	x, ok := c.attrs[name].Value.Number()
	if !ok {
		c.fail("attribute %s is %q, want a number", name, c.attrs[name].Value)
	}
	return x
}

// is reports whether an attribute is true; one that is not there is false.
func (c *call) is(name string) bool {
	x, _ := c.attrs[name].Value.Number()
	return x != 0
}

// ints returns an attribute of whole numbers.
func (c *call) ints(name string) []int {
	all, ok := c.attrs[name].Value.Integers()
	if !ok {
		c.fail("attribute %s is %q, want whole numbers", name, c.attrs[name].Value)
	}
	return toInts(all)
}

// word returns an attribute that is a text, empty for none.
func (c *call) word(name string) string { return c.attrs[name].Value.Text }

func toInts(all []int64) []int {
	ints := make([]int, len(all))
	for i, n := range all {
		ints[i] = int(n)
	}
	return ints
}

// problem is an operator whose attributes are wanted.
type problem struct {
	*Operator
	// ctx stops a long search, nil for none.
	ctx context.Context
	// output is the one that is computed, of so many of a formula that has one output at a
	// time, which have these shapes.
	output, outputs int
	shapes          []tensor.Shape
}

// stopped reports whether a search was interrupted.
func (p *problem) stopped() bool { return p.ctx != nil && p.ctx.Err() != nil }

// attribute is a column of a formula: a name, or several names whose values are found together.
type attribute struct {
	names []string
	kind  attributeKind
	// choices lists the possible values, the likely ones first. It is nil for an attribute that is
	// used only where it is known.
	choices func(p *problem) []Attributes
	// fit says how a number is fitted to the output, nil for attributes that are not fitted.
	fit *fit
}

// attributeKind says how an unknown attribute is treated.
type attributeKind uint8

const (
	// closedKind: the choices are all possible values, each is tried.
	closedKind attributeKind = iota
	// textKind: closed, and the values are texts.
	textKind
	// openKind: other values than the choices are possible, such as the steps of a slice. They cannot
	// be fitted, so that no operator is WRONG because no choice explains it.
	openKind
	// realKind: a number. The choices are tried, then it is fitted.
	realKind
	// fixedKind: the first choice is the default and counts as known. Other values are so rare, or
	// change so few elements, that they are not looked for.
	fixedKind
	// usualKind: the first choice is the default, which counts as known where a graph has all other
	// values. Without such a graph the choices are tried, and a number is fitted.
	usualKind
)

// fit says how a number is fitted to the elements of an output.
type fit struct {
	// log: the number is positive and fitted by its logarithm.
	log bool
	// natural is a value beside which other values only scale the output, such as e for the base of
	// a logarithm; 0 for none.
	natural float64
	// start is where the fit begins, 0 for the choice that explains most elements.
	start float64
	// most is the largest likely number, 0 for any.
	most float64
}

// choice is an attribute, or several with blanks between their names, with a closed list of values.
func choice(names string, choices func(p *problem) []Attributes) attribute {
	return attribute{names: strings.Fields(names), kind: closedKind, choices: choices}
}

// of returns the attribute as one of another kind.
func (a attribute) of(kind attributeKind) attribute {
	a.kind = kind
	return a
}

// oneOf is an attribute with one of a closed list of values.
func oneOf(name string, values ...Value) attribute {
	return choice(name, func(*problem) []Attributes {
		all := make([]Attributes, len(values))
		for i, v := range values {
			all[i] = Attributes{name: {v, FromValues}}
		}
		return all
	})
}

// texts is an attribute with one of some words, which have blanks between them.
func texts(name, words string) attribute {
	var values []Value
	for word := range strings.FieldsSeq(words) {
		values = append(values, Text(word))
	}
	return oneOf(name, values...).of(textKind)
}

// flags is an attribute that is false or true, in the order of likelihood.
func flags(name string, first bool) attribute {
	return oneOf(name, Number(flag(first)), Number(flag(!first)))
}

// real is a number: the values are tried, then it is fitted.
func real(name string, values ...float64) attribute {
	all := make([]Value, len(values))
	for i, x := range values {
		all[i] = Number(x)
	}
	return oneOf(name, all...).fitted(fit{})
}

// fitted returns the attribute as a number that is fitted.
func (a attribute) fitted(f fit) attribute {
	a.kind, a.fit = realKind, &f
	return a
}

// constant is an attribute that nearly always has its default.
func constant(name string, value float64) attribute { return oneOf(name, Number(value)).of(fixedKind) }

// epsilon is the number that norms add to a variance.
func epsilon(values ...float64) attribute {
	return real("epsilon", append(slices.Clip(values), 1e-5, 1e-6, 1e-12, 1e-3, 1e-4, 1e-7, 1e-8, 0, 2e-5, 1e-9, 1e-10, 1e-2)...).fitted(fit{log: true, most: 2})
}

// baseOf is the base of powers or logarithms: -1 stands for e.
func baseOf(natural float64, values ...float64) attribute {
	return real("base", values...).fitted(fit{log: true, start: math.E, natural: natural}).of(usualKind)
}

// kept is an attribute that is used only where it is known.
func kept(name string) attribute { return choice(name, nil) }

// keptText is a text that is used only where it is known.
func keptText(name string) attribute { return kept(name).of(textKind) }

// axisWhere lists the axes of the first input that fit.
func axisWhere(fits func(p *problem, k int) bool) attribute {
	return choice("axis", func(p *problem) (all []Attributes) {
		for k := range p.rank() {
			if fits(p, k) {
				all = append(all, Attributes{"axis": {integers(k), FromValues}})
			}
		}
		return all
	})
}

// subsets lists the sets of axes that leave the output's shape, the smallest and last first.
func subsets(p *problem) (all []Attributes) {
	in, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(in) > mostAxes {
		return nil
	}
	sets := axisSets(len(in))
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

const mostAxes = 8

// axisSets lists the sets of axes of a rank, the smallest and last first.
func axisSets(rank int) (sets [][]int) {
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
	// reducedAxes are those that are missing in the output.
	reducedAxes = choice("axes", subsets)
	// anyAxes are one or several axes, the last one first.
	anyAxes = choice("axes", func(p *problem) (all []Attributes) {
		if p.rank() > mostAxes {
			return nil
		}
		sets := axisSets(p.rank())
		for _, s := range sets {
			all = append(all, Attributes{"axes": {integers(s...), FromValues}})
		}
		return all
	})
	// lastAxes is one axis, the last one first.
	lastAxes = choice("axes", func(p *problem) (all []Attributes) {
		for k := p.rank() - 1; k >= 0; k-- {
			all = append(all, Attributes{"axes": {integers(k), FromValues}})
		}
		return all
	})
	// oneAxis is the one that is missing in the output.
	oneAxis = choice("axes", func(p *problem) (all []Attributes) {
		for _, a := range subsets(p) {
			// Without an axis the index counts in the flat array.
			if n := len(a["axes"].Value.Numbers); n == 1 || n == p.rank() {
				all = append(all, a)
			}
		}
		return all
	})
	// normAxes are the last ones, first as many as the weight has.
	normAxes = choice("axes", func(p *problem) (all []Attributes) {
		if p.rank() == 0 {
			return nil
		}
		likely := 1
		if g := p.input(1); g != nil && len(g.Shape) <= p.rank() && g.Shape.Equal(p.Inputs[0].Shape[p.rank()-len(g.Shape):]) {
			likely = max(1, len(g.Shape))
		}
		order := append([]int{likely}, slices.DeleteFunc(upTo(p.rank()+1), func(n int) bool { return n == 0 || n == likely })...)
		for _, n := range order {
			all = append(all, Attributes{"axes": {integers(upTo(p.rank())[p.rank()-n:]...), FromValues}})
		}
		return all
	})
	// divisors are the numbers of groups that channels may have.
	divisors = choice("num_groups", func(p *problem) (all []Attributes) {
		if p.rank() < 2 {
			return nil
		}
		add := func(n int64) {
			if p.Inputs[0].Shape[1]%n == 0 && len(all) < mostHypotheses {
				all = append(all, Attributes{"num_groups": {Number(float64(n)), FromValues}})
			}
		}
		usual := []int64{32, 16, 8, 4, 2, 1}
		for _, n := range usual {
			add(n)
		}
		for n := int64(3); n <= min(p.Inputs[0].Shape[1], mostGroups); n++ {
			if !slices.Contains(usual, n) {
				add(n)
			}
		}
		return all
	})
)

// channelsOf is the number of channels of an image.
func channelsOf(x *Array) int64 {
	if len(x.shape) < 2 {
		return 0
	}
	return x.shape[1]
}

// mostGroups is the largest number of groups that is tried, but for the usual ones.
const mostGroups = 1 << 16

// fromBegin takes the axes of a norm from the first of them, or from their lengths.
func fromBegin(p *problem, raw Attributes) Attributes {
	first := p.rank()
	from, ok := raw["begin_norm_axis"]
	if n, is := from.Value.Integers(); ok && is && len(n) == 1 {
		first = inRank(n[0], p.rank())
	} else if from, ok = raw["normalized_shape"]; ok {
		first = p.rank() - len(from.Value.Numbers)
	}
	if first < 0 || first >= p.rank() {
		return raw
	}
	return raw.with(Attributes{"axes": {integers(upTo(p.rank())[first:]...), from.Source}})
}

// ParseValue reads a value as people write it: numbers with commas between them, true or
// false, or a text.
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
