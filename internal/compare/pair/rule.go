package pair

import (
	"fmt"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// Rule is the reason why two tensors are a pair.
type Rule string

// The rules; the table explains them.
const (
	RuleCall       Rule = "msprobe"
	RuleRecorded   Rule = "torch.utils.dumper"
	RuleMap        Rule = "map"
	RuleFusion     Rule = "fusion"
	RuleStem       Rule = "stem"
	RuleName       Rule = "name"
	RuleNormalised Rule = "normalised"
	RuleOriginal   Rule = "original_op"
	RuleSuffix     Rule = "suffix"
	RuleNumber     Rule = "op number"
	RulePlace      Rule = "place"
	RuleExporter   Rule = "exporter"
	RuleATC        Rule = "atc"
	// RuleValues is the rule of given pairs: the NPU tensor was found in the reference by its
	// values.
	RuleValues Rule = "values"
)

// rule finds partners: tensors of the two sides that share a key.
type rule struct {
	name Rule
	// sharedProperty names the property that partners share.
	sharedProperty string
	keys           func(*Tensor) keys
	// hasInput reports whether the options have the input of the rule; nil for a rule without
	// input.
	hasInput func(*Options) bool
	// ref and npu are the views of the tensors of both sides; nil for the tensors as they are.
	ref, npu namedView
	// countedName replaces keys and views. It returns the name of an operator without its number; the k-th operators
	// of a name on both sides are partners if both sides have equally many.
	countedName func(*Tensor) string
	// shared allows several operators of the NPU one partner.
	shared bool
	// loose: the key is less specific than the name. Such a rule pairs two tensors if neither has another candidate
	// and their shapes agree; all other tensors remain for later rules.
	loose bool
	// prepare, if not nil, runs before the views.
	prepare func(*join)
	// reserve, if not nil, hides the tensors in the view of the rule from later rules. It
	// returns the reason for a tensor of the NPU without a partner.
	reserve func(*Options, *Tensor) lang.Sentence
	// reserveRef hides the tensors of the reference too.
	reserveRef bool
}

// namedView returns a tensor with the names for a rule, nil if the rule does not apply to it.
type namedView func(*Options, *Tensor) *Tensor

// IsLoose reports whether a rule pairs tensors whose names differ without a mapping from a file.
func IsLoose(name string) bool {
	return slices.ContainsFunc(rules[:], func(r rule) bool { return r.loose && string(r.name) == name })
}

// applies reports whether the options have the input of the rule, and allow the rule.
func (r *rule) applies(opt *Options) bool {
	return (r.hasInput == nil || r.hasInput(opt)) && !(r.loose && opt.NamesOnly)
}

// rules are tried in this order. Tensors that a rule has decided are hidden from later rules.
var rules = [...]rule{
	{
		name: RulePlace, sharedProperty: "places of modules whose classes differ, and the places of values in their calls",
		keys: callKeys, hasInput: hasCalls, ref: placeView, npu: placeView, loose: true, reserve: explainNoRefCall, reserveRef: true,
	},
	{
		name: RuleCall, sharedProperty: "calls of msprobe and the places of values in them",
		keys: callKeys, hasInput: hasCalls, ref: callView, npu: callView, reserve: explainNoRefCall, reserveRef: true,
	},
	{
		name: RuleRecorded, sharedProperty: "executions of the operators of PyTorch and what they read and write, as torch.utils.dumper has them",
		keys: recordedKeys, hasInput: hasRecorded, ref: recorderView, npu: recorderView, reserve: explainNoRecording, reserveRef: true,
	},
	{
		name: RuleMap, sharedProperty: "names that the name map gives to each other; no other rule pairs an operator of the map",
		keys: nameKeys, hasInput: hasMap, ref: mappedRefView, npu: mappedNPUView, reserve: explainMapping, reserveRef: true,
	},
	{
		name: RuleFusion, sharedProperty: "the result of the model that the NPU's stands for, by the graph of the compiler, and the reference's name",
		keys: nameKeys, hasInput: hasFusion, npu: originView, shared: true,
	},
	{name: RuleFusion, sharedProperty: "the same, as file names have them", keys: normalisedKeys, hasInput: hasFusion, npu: originView, shared: true},
	{name: RuleFusion, sharedProperty: "the same but for suffixes", keys: suffixKeys, hasInput: hasFusion, npu: originView, shared: true},
	{
		// The reference has an earlier result under the name of the NPU's operator, unless it is an NPU run, too,
		// with the same operator.
		name: RuleName, sharedProperty: "name and type of an operator whose origin the reference lacks; it is not paired by its name alone",
		keys: typedKeys, hasInput: hasFusion, npu: outputWithOrigin, reserve: explainFusion,
	},
	{name: RuleStem, sharedProperty: "names of files but for the extension", keys: stemKeys},
	{name: RuleName, sharedProperty: "both names of operators whose header and file name disagree", keys: bothKeys},
	{name: RuleName, sharedProperty: "names of operators", keys: nameKeys},
	{name: RuleNormalised, sharedProperty: "names of operators as file names have them", keys: normalisedKeys},
	{name: RuleOriginal, sharedProperty: "the result of the model that the header of a dump names, and the reference's name", keys: normalisedKeys, npu: headerView},
	{name: RuleSuffix, sharedProperty: "names but for a shape at the end of one, which is that of its tensor, or for timestamps", keys: suffixKeys},
	{name: RuleNumber, sharedProperty: "names but for the number that MindSpore puts behind them, as -op515, in their order", countedName: withoutNumber},
	{name: RuleExporter, sharedProperty: "words of names, where the name of a value of ONNX or TensorFlow is its operator and output: op_output_0, op:0", keys: valueKeys, loose: true},
	{
		name: RuleATC, sharedProperty: "the last of the operators whose names ATC joined in the NPU's, and the reference's name",
		keys: valueKeys, prepare: (*join).findFusible, npu: fusedView, loose: true,
	},
}

func hasMap(opt *Options) bool { return opt.Map != nil }

// mappedRefView is the view of the reference's operators in the name map.
func mappedRefView(opt *Options, t *Tensor) *Tensor {
	if entry, ok := opt.Map.FindRef(t.Names()...); ok {
		return t.withName(entry.Ref)
	}
	return nil
}

// mappedNPUView is the view of the NPU's operators in the name map, under the names of the reference.
func mappedNPUView(opt *Options, t *Tensor) *Tensor {
	if entry, ok := opt.Map.FindNPU(t.Names()...); ok {
		return t.withName(entry.Ref)
	}
	return nil
}

func explainMapping(opt *Options, t *Tensor) lang.Sentence {
	return lang.Say("the name map pairs it with %s, which has no free tensor left", mappedNPUView(opt, t).Name())
}

func hasFusion(opt *Options) bool { return opt.Fusion != nil }

// originView is the view of the NPU's tensors as results of the model, by the graph of the compiler.
func originView(opt *Options, t *Tensor) *Tensor {
	find := opt.Fusion.Origin
	if t.Kind == tensor.Input {
		find = opt.Fusion.InputOrigin
	}
	from, ok := find(t.Index, t.Names()...)
	if !ok {
		return nil
	}
	alias := t.withName(from.Op)
	alias.Kind, alias.Index = tensor.Output, from.Output
	return alias
}

func outputWithOrigin(opt *Options, t *Tensor) *Tensor {
	if t.Kind != tensor.Output || originView(opt, t) == nil {
		return nil
	}
	return t
}

func explainFusion(opt *Options, t *Tensor) lang.Sentence {
	return lang.Say("it is part of %s of the model, which the reference lacks", tensorName(originView(opt, t)))
}

// tensorName names a tensor as reports do: op:output:k.
func tensorName(t *Tensor) string { return fmt.Sprintf("%s:%s:%d", t.Name(), t.Kind, t.Index) }

// headerView is the view of the NPU's tensors as results of the model, by the header of the dump.
func headerView(_ *Options, t *Tensor) *Tensor {
	if t.Origin == nil || t.Kind != tensor.Output {
		return nil
	}
	alias := t.withName(t.Origin.Op)
	alias.Index = t.Origin.Output
	return alias
}

// Options select the tensors and rules.
type Options struct {
	Map    *sidefile.NameMap // nil for none
	Fusion *graph.Graph      // of the compiler, nil for none
	// Calls named the Call of tensors; nil if they have none.
	Calls *Calls
	// Recorded: tensors have a RecorderPosition.
	Recorded bool
	// Given are pairs that replace all rules, nil for none. A tensor of the reference may be in
	// several pairs.
	Given []Pair
	// NamesOnly leaves out the loose rules.
	NamesOnly bool
	// SkipKeys are parts of names of operators to skip.
	SkipKeys []string
	// Exclude are operators to skip, nil for none.
	Exclude *dumpdir.NameSet
	// Ops are the wanted operators, nil for all. A pair is in the result if the operator of
	// either side is wanted.
	Ops *dumpdir.NameSet
	// Kind is the kind of the wanted tensors, empty for all.
	Kind tensor.Kind
	// Shapes returns the known shapes of a tensor of the reference or of the NPU, nil for none.
	// It may have to read a file, so it is called at most once for a tensor, and only if a name
	// ends with a possible shape and the rest of it has a partner.
	Shapes func(id int, npu bool) []tensor.Shape

	fusible *fusible // of the rule atc
}

// Result has an entry for every tensor. Numbers are IDs of tensors, -1 for none.
type Result struct {
	Pairs        []Pair
	Ambiguous    []Ambiguity
	UnmatchedRef []UnmatchedTensor
	UnmatchedNPU []UnmatchedTensor
	Skipped      []SkippedPair
	Superseded   []SupersededTensor
	// Fused has the operators of the reference that an NPU operator fuses, by the ID of its tensor.
	Fused map[int][]string
	// Unused are skip keys, excluded names and wanted operators that match no tensor.
	Unused []string
}

// Pair is two tensors to compare. A tensor of the reference is in several pairs if the graph of
// the compiler names it as the origin of several results.
type Pair struct {
	Ref, NPU int
	Rule     Rule
}

// Ambiguity is a tensor with several partners: one side has one tensor, the other side the
// candidates. Candidates of the reference are limited to 16.
type Ambiguity struct {
	Refs, NPUs []int
	Rule       Rule
}

// UnmatchedTensor is a tensor without a partner.
type UnmatchedTensor struct {
	ID int
	// Why is the reason of the rule that reserved the tensor, empty for none.
	Why lang.Sentence
	// Near is the most similar call without a partner on the other side, empty for none.
	Near string
}

// SkipCode is the reason why a tensor is skipped: a skip key or an excluded name.
type SkipCode string

// The codes.
const (
	SkipKey  SkipCode = "SKIP_KEY"
	Excluded SkipCode = "EXCLUDED"
)

// SkippedPair is a pair, or a single tensor, that is excluded from the comparison.
type SkippedPair struct {
	Ref, NPU int
	Code     SkipCode
	Key      string // the key, name or pattern
}

// SupersededTensor is a tensor of an earlier run of its operator in the round.
type SupersededTensor struct {
	ID, By int
	NPU    bool // the side of both
}
