package recompute

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/optype"
)

// nameGroup is a group of names of an operator that take its inputs in the same order.
//
// A name is written with the namespace that it belongs to:
//
//	Relu        a type of CANN, which MindSpore has too; case does not matter
//	relu        a function of PyTorch in any family; Torch.where in this family only
//	nn.ReLU     a module of torch.nn: it computes the formula and nothing else
//	module.X    another module, which may compute more, such as a rounding between two steps;
//	            *X stands for all classes that end in X
//	ms.softmax  a function or cell of MindSpore with arguments of its own
type nameGroup struct {
	names string
	// inputs are the inputs in the order in which the operator has them, empty for the order of the formula.
	//
	// Types: the names of the inputs in the formula. NAME? may be absent, NAME* stands for all
	// following inputs, NAME! is the value of the attribute NAME, - is not read, and ~ has to be
	// absent, because it would change the computation.
	// :NAME=VALUE is an attribute that the type always has, ?NAME=VALUE a default, which holds only if a
	// graph lists all attributes that differ from their defaults.
	//
	// Calls: the arguments, see parseArgument. The first input of the formula is the first argument unless
	// an argument names it.
	inputs string
	// noise is the noise of the operators with these names, nil for the noise of the row.
	noise *optype.Type
	// outputs are the indices in the formula of the operator's outputs, nil if they come first and in order.
	outputs []int
}

// newNameGroup returns a group of names, with its own noise if one is given.
func newNameGroup(names, inputs string, noise ...*optype.Type) nameGroup {
	f := nameGroup{names: names, inputs: inputs}
	if len(noise) > 0 {
		f.noise = noise[0]
	}
	return f
}

// namespace is the kind of names that a name of the table belongs to.
type namespace uint8

const (
	typeSpace namespace = iota
	functionSpace
	moduleSpace     // of torch.nn
	wideModuleSpace // a module that may compute more than the formula
	mindSporeSpace
)

// splitNamespace returns the namespace of a name in the table and the name without its prefix.
func splitNamespace(name string) (namespace, string) {
	prefix, rest, _ := strings.Cut(name, ".")
	switch prefix {
	case "nn":
		return moduleSpace, rest
	case "module":
		return wideModuleSpace, rest
	case "ms":
		return mindSporeSpace, rest
	}
	if rest != "" || strings.ToLower(name[:1]) == name[:1] {
		return functionSpace, name
	}
	return typeSpace, name
}

// Formula says what the operators of a type compute and in which order they have their inputs and outputs.
type Formula struct {
	// Name is the name of the row, empty for an unknown type.
	Name string
	// Inputs are the inputs in the order of the operator, as described at nameGroup.inputs; empty for the order of
	// the formula.
	Inputs string
	// Outputs are the indices in the formula of the operator's outputs, nil if they come first and in order.
	Outputs []int
	// IsOfImages: an input of four axes is a batch of images with the channels on the second axis.
	IsOfImages bool
}

// Call says what a call of a function or module of a framework may compute.
type Call struct {
	// Formula is the name of the row.
	Formula string
	// Arguments lists the arguments of the function in their order.
	Arguments []Argument
	// Open: the call is a module that may compute more than the formula, such as another padding or a rounding
	// between two steps.
	Open bool
}

// Argument is an argument of a function.
type Argument struct {
	// Keyword is the name of the argument in the function. It is empty for a value that the function always has,
	// which is Default.
	Keyword string
	// Name is an input or attribute of the formula, or - for an argument that changes nothing.
	Name string
	// Default is the value of an absent argument, empty for none. With Only the row holds for no other value.
	Default string
	Only    bool
	// Rest: the argument takes all following positional arguments.
	Rest bool
	// Tensor: the argument has to be a tensor, not a number.
	Tensor bool
	// Index: the argument is the index of x[...]. Its tensors are the input, its text is the attribute index.
	Index bool
}

// parseArgument parses an argument of the table, KEYWORD:NAME=DEFAULT. NAME may be omitted if it is the keyword. ==
// stands before the only value for which the row holds. After the keyword, * takes all following arguments, !
// requires a tensor, and [] is an index. parameters* are all parameters of a module in their order.
func parseArgument(text string) (a Argument) {
	text, a.Default, _ = strings.Cut(text, "=")
	if a.Only = strings.HasPrefix(a.Default, "="); a.Only {
		a.Default = a.Default[1:]
	}
	text, a.Tensor = strings.CutSuffix(text, "!")
	text, a.Index = strings.CutSuffix(text, "[]")
	a.Keyword, a.Name, _ = strings.Cut(text, ":")
	if a.Keyword, a.Rest = strings.CutSuffix(a.Keyword, "*"); a.Name == "" {
		a.Name = a.Keyword
	}
	return a
}

// call returns the call described by the inputs of a name group.
func (f *formula) call(inputs string) (c Call) {
	c.Formula = f.name
	own := strings.Fields(f.inputs)
	for text := range strings.FieldsSeq(inputs) {
		c.Arguments = append(c.Arguments, parseArgument(text))
	}
	first := strings.TrimRight(own[0], "?*")
	if !slices.ContainsFunc(c.Arguments, func(a Argument) bool { return a.Name == first }) {
		// x1, the first of two inputs, may be a number
		c.Arguments = slices.Insert(c.Arguments, 0, Argument{Keyword: "input", Name: first, Tensor: first != "x1"})
	}
	if inputs == "" && len(own) == 2 {
		c.Arguments = append(c.Arguments, Argument{Keyword: "other", Name: own[1]})
	}
	return c
}

// spatialAxes is the attribute for the number of axes of an image after the channels.
const spatialAxes = "spatial_axes"

// withSpatialAxes adds the number of spatial axes in the name of a convolution or pool, such as conv2d. Modules such as
// BatchNorm1d have no fixed number.
func (c Call) withSpatialAxes(f *formula, name string) Call {
	for n := range maxSpatial {
		if count := strconv.Itoa(n + 1); f.isOfImages && f.class != Norm && strings.Contains(name, count+"d") {
			c.Arguments = append(slices.Clip(c.Arguments), Argument{Name: spatialAxes, Default: count})
		}
	}
	return c
}

// isInMindSpore reports whether MindSpore has the functions of a group with the same arguments: functions of one
// tensor or of two.
func (f *nameGroup) isInMindSpore() bool {
	first, _, _ := strings.Cut(f.inputs, " ")
	return first == "" || parseArgument(first).Name == "x2"
}

// nameTable is the table of operators by name.
type nameTable struct {
	types                         map[string]Formula // by lower-case name
	functions, modules, mindspore map[string][]Call
	noise                         map[string]*optype.Type // by lower-case name without namespace
	isType                        map[string]bool         // the names in noise that are operator types of CANN
	moduleNoise                   map[string]*optype.Type // by class
}

var table = sync.OnceValue(func() *nameTable {
	x := &nameTable{types: map[string]Formula{}, functions: map[string][]Call{}, modules: map[string][]Call{}, mindspore: map[string][]Call{},
		noise: map[string]*optype.Type{}, isType: map[string]bool{}, moduleNoise: map[string]*optype.Type{}}
	for i := range operators {
		for k := range operators[i].forms {
			x.add(&operators[i], &operators[i].forms[k])
		}
	}
	return x
})

// add adds the names of a group. If several rows have a name, its noise is the noise of the first row.
func (x *nameTable) add(f *formula, group *nameGroup) {
	for name := range strings.FieldsSeq(group.names) {
		space, name := splitNamespace(name)
		x.addNoise(space, name, f.noiseOf(group))
		if f.name == "" {
			if space == wideModuleSpace {
				x.modules[name] = nil // a longer ending takes precedence over the shorter ending of a formula
			}
			continue
		}
		switch space {
		case typeSpace:
			x.types[strings.ToLower(name)] = Formula{f.name, group.inputs, group.outputs, f.isOfImages}
		case functionSpace:
			x.functions[name] = append(x.functions[name], f.call(group.inputs).withSpatialAxes(f, name))
		case moduleSpace, wideModuleSpace:
			c := f.call(group.inputs).withSpatialAxes(f, name)
			c.Open = space == wideModuleSpace
			x.modules[name] = append(x.modules[name], c)
		}
		if space == mindSporeSpace || (space == functionSpace || space == moduleSpace && group.inputs == "") && group.isInMindSpore() {
			x.mindspore[name] = append(x.mindspore[name], f.call(group.inputs))
		}
	}
}

func (x *nameTable) addNoise(space namespace, name string, noise *optype.Type) {
	low := strings.ToLower(name)
	if family, function, ok := strings.Cut(low, "."); ok && slices.Contains(families, family) {
		low = function
	}
	if x.noise[low] == nil {
		x.noise[low] = noise
	}
	x.isType[low] = x.isType[low] || space == typeSpace
	if (space == moduleSpace || space == wideModuleSpace) && x.moduleNoise[name] == nil {
		x.moduleNoise[name] = noise
	}
}

// findByClass returns the entry for the class of a module: for its name, else for the longest matching ending (*Name).
func findByClass[T any](all map[string]T, class string) (one T) {
	if one, ok := all[class]; ok {
		return one
	}
	for k := range class {
		if one, ok := all["*"+class[k:]]; ok {
			return one
		}
	}
	return one
}

// endings lists the suffixes of versions of an operator, and the suffix of ATB's types, as in GatherOperation. The
// noise of such an operator is the same, but the order of its inputs may differ.
var endings = []string{"operation", "d", "v2", "v3", "dv2", "2d", "3d", "withargmaxv1", "withargmaxv2"}

// noiseByName returns the noise of a name in lower case, nil if unknown.
func (x *nameTable) noiseByName(name string) *optype.Type {
	if t := x.noise[name]; t != nil {
		return t
	}
	for _, ending := range endings {
		if stem, ok := strings.CutSuffix(name, ending); ok && x.isType[stem] {
			return x.noise[stem]
		}
	}
	return nil
}

// families are the prefixes of PyTorch functions in the names of msprobe.
var families = []string{"functional", "torch", "tensor", "mint", "npu", "aten", "vf"}

// TypeOf returns how noise passes through the operators of a type, by the name in CANN, MindSpore or msprobe, in any
// case. It is Unknown for other names: nothing is guessed from a part of a name.
func TypeOf(name string) optype.Type {
	name = strings.ToLower(name)
	t := table().noiseByName(name)
	if family, function, ok := strings.Cut(name, "."); ok && slices.Contains(families, family) {
		if t = table().noiseByName(function); t == nil {
			t = table().noiseByName(strings.TrimSuffix(function, "_")) // in-place function
		}
	}
	if t == nil {
		return optype.Type{}
	}
	return *t
}

// TypeOfOperator is TypeOf for an operator with a type, or without one for an entry of msprobe such as
// Functional.relu.0.forward, or for a file name.
func TypeOfOperator(opType, name string) optype.Type {
	call := msprobe.ParseName(name)
	family, _, _ := strings.Cut(strings.ToLower(call.Callee), ".")
	switch {
	case opType != "":
		return TypeOf(opType)
	case call.Direction == "":
		return typeOfFile(name)
	case call.Direction != msprobe.Forward:
		return optype.Type{}
	case slices.Contains(families, family):
		return TypeOf(call.Callee)
	}
	// Output that a module copies from its parameters, such as an embedding, is not bounded by the inputs.
	if t := findByClass(table().moduleNoise, call.Class()); t != nil && (t.Parameters == 0 || !t.Class.Exact()) {
		return *t
	}
	return optype.Type{}
}

// typeOfFile is TypeOf for a file name without kind and index: a call of PyTorch (CallOfFile), or the name of a node
// that ends with its type, such as encoder/MatMul_1. Lower-case names are chosen by users and are ignored.
func typeOfFile(name string) optype.Type {
	words, family := splitFileName(name)
	switch last := words[len(words)-1]; {
	case slices.Contains(words, string(msprobe.Backward)):
		return optype.Type{}
	case family >= 0:
		return TypeOf(families[0] + "." + strings.Join(words[family+1:], "_"))
	case last != "" && unicode.IsUpper(rune(last[0])):
		return TypeOf(last)
	}
	return optype.Type{}
}

// CallOfFile returns msprobe's name of the forward call in a file whose name has _ in place of dots:
// Functional.layer_norm.3.forward for 012_Functional_layer_norm_3. It is empty for other names.
func CallOfFile(name string) string {
	words, family := splitFileName(name)
	if family < 0 || slices.Contains(words, string(msprobe.Backward)) || slices.ContainsFunc(words[:family], func(word string) bool { return !isDigits(word) }) {
		return ""
	}
	number := "0"
	if at := strings.LastIndex(name, "_"); isDigits(name[at+1:]) {
		number = name[at+1:]
	}
	return msprobe.Name{Callee: words[family] + "." + strings.Join(words[family+1:], "_"), Number: number}.InDirection(msprobe.Forward)
}

// splitFileName splits a file name at _, without the number and the direction at its end, and returns the index of the
// word that is a family, -1 for none.
func splitFileName(name string) (words []string, family int) {
	words = strings.Split(name[strings.LastIndexAny(name, "./:")+1:], "_")
	for len(words) > 1 && (isDigits(words[len(words)-1]) || words[len(words)-1] == string(msprobe.Forward)) {
		words = words[:len(words)-1]
	}
	return words, slices.IndexFunc(words, func(word string) bool { return slices.Contains(families, strings.ToLower(word)) })
}

func isDigits(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// TypeOfCall is TypeOf for a call in msprobe's spelling, such as Functional.relu.0.forward. A module such as
// Module.conv1.Conv2d.backward.0 is found by its class, the last word before the numbers and the direction.
func TypeOfCall(name string) optype.Type {
	call := msprobe.ParseName(name)
	if class := call.Class(); class != "" {
		t := TypeOf(families[0] + "." + class)
		if wide := findByClass(table().moduleNoise, class); wide != nil && t == (optype.Type{}) {
			return *wide
		}
		return t
	}
	function := call.Function()
	if function == "" {
		return optype.Type{}
	}
	t := TypeOf(families[0] + "." + function)
	if distributed := "Distributed." + function; strings.HasPrefix(call.Callee, "Distributed.") && t.Noise != optype.NoiseRanks {
		t = TypeOf(distributed)
		t.Noise = optype.NoiseRanks
	}
	return t
}

// FormulaOf returns what the operators of a type compute; the zero value for an unknown type. Nothing is guessed from
// a part of a name, because versions of an operator differ in their inputs.
func FormulaOf(name string) Formula { return table().types[strings.ToLower(name)] }

// HasStates reports whether outputs that the formula does not compute are no results, but seeds and memory.
func HasStates(name string) bool {
	f := formulaOf(name)
	return f != nil && f.hasStates
}

// Ignored lists arguments that do not change the result of any function.
var Ignored = strings.Fields("inplace out dtype memory_format non_blocking copy requires_grad device _stacklevel generator layout pin_memory")

// CallsOf returns what a call may compute, and the name of its function or class. The call has a name of msprobe,
// such as Functional.relu.0.forward or Module.fc1.Linear.forward.0; framework is the framework in dump.json. There
// are no rows for an unknown call or a backward pass. If there are several rows, the first that accepts all arguments
// of the call holds.
func CallsOf(api, framework string) (function string, rows []Call) {
	call := msprobe.ParseName(api)
	if call.Direction != msprobe.Forward {
		return "", nil
	}
	class := call.Class()
	calls := table().functions
	switch {
	case framework == "mindspore" && !strings.HasPrefix(call.Callee, "Mint"):
		calls = table().mindspore
	case class != "":
		calls = table().modules
	}
	if class != "" {
		return class, findByClass(calls, class)
	}
	function = call.Function()
	name := function
	if !strings.HasSuffix(name, "__") {
		name = strings.TrimSuffix(name, "_")
	}
	family, _, _ := strings.Cut(call.Callee, ".")
	if rows = calls[family+"."+name]; rows == nil {
		rows = calls[name]
	}
	return function, rows
}

// AtenCalls returns the rows of the aten operator of a function of PyTorch, if the operator has another order of inputs.
func AtenCalls(api string) []Call {
	return table().functions["Aten."+msprobe.ParseName(api).Function()]
}

// AreDifferentModules reports whether modules of two classes surely compute different things. Classes that are not in
// the table, by name or ending, may compute anything.
func AreDifferentModules(a, b string) bool {
	as, bs := findByClass(table().modules, a), findByClass(table().modules, b)
	return len(as) > 0 && len(bs) > 0 && !slices.ContainsFunc(as, func(x Call) bool {
		return slices.ContainsFunc(bs, func(y Call) bool { return x.Formula == y.Formula })
	})
}

// CallNames lists the names of the functions and modules of PyTorch and MindSpore that have a formula.
func CallNames() []string {
	x := table()
	names := slices.Concat(slices.Collect(maps.Keys(x.functions)), slices.Collect(maps.Keys(x.mindspore)), slices.Collect(maps.Keys(x.modules)))
	slices.Sort(names)
	return slices.Compact(names)
}

// Guesses lists what a module of an unknown class may compute, the likely formulas first.
var Guesses = sync.OnceValue(func() (all []Call) {
	for _, guess := range [][2]string{
		{"Identity", ""}, {"Add", "input:x1! other:x2!"}, {"Mul", "input:x1! other:x2!"}, {"MatMul", inputsOfLinear}, {"RmsNorm", "weight:gamma!"},
		{"LayerNorm", "weight:gamma! bias:beta"}, {"SwiGlu", ":axis=-1"}, {"Gelu", ""}, {"Swish", ":scale=1"}, {"Relu", ""}, {"TopKRouter", inputsOfRouter},
	} {
		all = append(all, openCall(guess[0], guess[1]))
	}
	return all
})

// Half is half of the input. For small inputs, GELU and gates by a sigmoid return half of the input too, so that a
// module that fits Half may compute any of them.
var Half = sync.OnceValue(func() Call { return openCall("Muls", ":value=0.5") })

func openCall(formula, arguments string) Call {
	c := formulaOf(formula).call(arguments)
	c.Open = true
	return c
}

// signature lists the arguments of a call as users write them.
func (c *Call) signature() string {
	var all []string
	for _, a := range c.Arguments {
		switch {
		case a.Keyword == "":
			continue
		case a.Rest:
			a.Keyword += "*"
		}
		if a.Default != "" {
			a.Keyword += "=" + strings.TrimPrefix(a.Default, "=")
		}
		all = append(all, a.Keyword)
	}
	return strings.Join(all, " ")
}
