package pair

import (
	"fmt"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// Rule says why two tensors are a pair.
type Rule string

// The rules; see the table for what they equate.
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
	// RuleValues is that of pairs that are given: the NPU tensor was found in the reference by
	// its values.
	RuleValues Rule = "values"
)

// rule is a way to find partners: tensors of the two sides that have a key in
// common.
type rule struct {
	name Rule
	// equates says what is equal in partners.
	equates string
	keys    func(*Tensor) keys
	// given reports whether the options have what the rule needs; nil if it needs
	// nothing.
	given func(*Options) bool
	// ref and npu return a tensor as the rule sees it, nil if the rule does not
	// apply to it. A rule without them sees every tensor as it is.
	ref, npu view
	// counted, in place of all below, makes a rule for operators that have a name in
	// common without its number: the k-th of a name is the partner of the k-th,
	// where both sides have equally many.
	counted func(*Tensor) string
	// shared allows several operators of the NPU the same partner.
	shared bool
	// reserve, if not nil, keeps what the rule applies to from the later rules,
	// and returns why a tensor of the NPU without partner has none.
	reserve func(*Options, *Tensor) lang.Sentence
	// reserveRef does the same with the tensors of the reference.
	reserveRef bool
}

// view returns a tensor as a rule sees it.
type view func(*Options, *Tensor) *Tensor

// rules are tried in this order; what one has decided is no matter for the next.
var rules = [...]rule{
	{
		name: RuleCall, equates: "calls of msprobe and the places of values in them",
		keys: callKeys, given: hasCalls, ref: ofCall, npu: ofCall, reserve: whyCall, reserveRef: true,
	},
	{
		name: RuleRecorded, equates: "executions of the operators of PyTorch and what they read and write, as torch.utils.dumper has them",
		keys: recordedKeys, given: hasRecorded, ref: ofRecorder, npu: ofRecorder, reserve: whyRecorded, reserveRef: true,
	},
	{
		name: RuleMap, equates: "names that the name map gives to each other; no other rule pairs an operator of the map",
		keys: nameKeys, given: hasMap, ref: mappedRef, npu: mappedNPU, reserve: whyMapped, reserveRef: true,
	},
	{
		name: RuleFusion, equates: "the result of the model that the NPU's stands for, by the graph of the compiler, and the reference's name",
		keys: nameKeys, given: hasFusion, npu: origin, shared: true,
	},
	{name: RuleFusion, equates: "the same, as file names have them", keys: normalisedKeys, given: hasFusion, npu: origin, shared: true},
	{name: RuleFusion, equates: "the same but for suffixes", keys: suffixKeys, given: hasFusion, npu: origin, shared: true},
	{
		// The reference has an earlier result under the NPU's own name, unless it
		// is a run of the NPU too, with the same operator.
		name: RuleName, equates: "name and type of an operator whose origin the reference lacks; it is not paired by its name alone",
		keys: typedKeys, given: hasFusion, npu: outputWithOrigin, reserve: whyFused,
	},
	{name: RuleStem, equates: "names of files but for the extension", keys: stemKeys},
	{name: RuleName, equates: "both names of operators whose header and file name disagree", keys: bothKeys},
	{name: RuleName, equates: "names of operators", keys: nameKeys},
	{name: RuleNormalised, equates: "names of operators as file names have them", keys: normalisedKeys},
	{name: RuleOriginal, equates: "the result of the model that the header of a dump names, and the reference's name", keys: normalisedKeys, npu: original},
	{name: RuleSuffix, equates: "names but for a shape at the end of one, which is that of its tensor, or for timestamps", keys: suffixKeys},
	{name: RuleNumber, equates: "names but for the number that MindSpore puts behind them, as -op515, in their order", counted: withoutNumber},
}

func hasMap(opt *Options) bool { return opt.Map != nil }

// mappedRef is a tensor of an operator in the name map.
func mappedRef(opt *Options, t *Tensor) *Tensor {
	if entry, ok := opt.Map.FindRef(t.Names()...); ok {
		return t.renamed(entry.Ref)
	}
	return nil
}

// mappedNPU is a tensor of an operator in the name map, under the reference's
// name.
func mappedNPU(opt *Options, t *Tensor) *Tensor {
	if entry, ok := opt.Map.FindNPU(t.Names()...); ok {
		return t.renamed(entry.Ref)
	}
	return nil
}

func whyMapped(opt *Options, t *Tensor) lang.Sentence {
	return lang.Sayf("the name map gives it to %s, which has no free tensor for it", "名称映射将其对应到 %s，后者没有可供配对的张量", mappedNPU(opt, t).Name())
}

func hasFusion(opt *Options) bool { return opt.Fusion != nil }

// origin is the result of the model that a tensor of the NPU stands for.
func origin(opt *Options, t *Tensor) *Tensor {
	find := opt.Fusion.Origin
	if t.Kind == tensor.Input {
		find = opt.Fusion.InputOrigin
	}
	from, ok := find(t.Index, t.Names()...)
	if !ok {
		return nil
	}
	alias := t.renamed(from.Op)
	alias.Kind, alias.Index = tensor.Output, from.Output
	return alias
}

func outputWithOrigin(opt *Options, t *Tensor) *Tensor {
	if t.Kind != tensor.Output || origin(opt, t) == nil {
		return nil
	}
	return t
}

func whyFused(opt *Options, t *Tensor) lang.Sentence {
	return lang.Sayf("it stands for the model's %s, which the reference lacks", "它代表模型的 %s，标杆中没有", tensorName(origin(opt, t)))
}

// tensorName names a tensor as reports do: op:output:k.
func tensorName(t *Tensor) string { return fmt.Sprintf("%s:%s:%d", t.Name(), t.Kind, t.Index) }

// original is the result of the model that the header of a dump names.
func original(_ *Options, t *Tensor) *Tensor {
	if t.Origin == nil || t.Kind != tensor.Output {
		return nil
	}
	alias := t.renamed(t.Origin.Op)
	alias.Index = t.Origin.Output
	return alias
}

// Options say what is paired and how.
type Options struct {
	Map    *sidefile.NameMap // nil for none
	Fusion *graph.Graph      // of the compiler, nil for none
	// Calls are those that tensors have a Call of; nil where they have none.
	Calls *Calls
	// Recorded is set where tensors have a Recorded.
	Recorded bool
	// Given are the pairs, in place of those that rules make, nil for none. A tensor of the
	// reference may be in several.
	Given []Pair
	// SkipKeys are texts; operators whose name contains one are skipped.
	SkipKeys []string
	// Exclude are operators that are skipped, nil for none.
	Exclude *dumpdir.NameSet
	// Ops are the operators to be paired, nil for all. The results for others
	// are left out; a pair is one of them if either side's name is.
	Ops *dumpdir.NameSet
	// Kind restricts the tensors to inputs or outputs; empty for both.
	Kind tensor.Kind
	// Shapes returns the shapes that a tensor of the reference or of the NPU is
	// known to have, nil for none. It is called for tensors without a shape, once
	// each, and only for those that may be a pair but for a shape at the end of a
	// name, since the answer may take reading a file.
	Shapes func(id int, npu bool) []tensor.Shape
}

// Result has an entry for every tensor. Its numbers are the tensors' IDs; -1
// stands for none.
type Result struct {
	Pairs        []Pair
	Ambiguous    []Ambiguity
	UnmatchedRef []Unmatched
	UnmatchedNPU []Unmatched
	Skipped      []Skipped
	Superseded   []Superseded
	// Unused are skip keys, excluded names and wanted operators that no tensor
	// has.
	Unused []string
}

// Pair is two tensors to be compared. A tensor of the reference is in several
// pairs when the graph of the compiler names it as the origin of several results.
type Pair struct {
	Ref, NPU int
	Rule     Rule
}

// Ambiguity is a tensor with several partners: one side has one tensor, the
// other the candidates; of the reference's candidates the first 16.
type Ambiguity struct {
	Refs, NPUs []int
	Rule       Rule
}

// Unmatched is a tensor without a partner.
type Unmatched struct {
	ID int
	// Why says why its names were not compared, if anything does.
	Why lang.Sentence
	// Near is the name without a partner of the other side that is most like that of its
	// call, empty where it is none or nothing is like it.
	Near string
}

// SkipCode says whether a skip key or an excluded name left a tensor out.
type SkipCode string

// The codes.
const (
	SkipKey  SkipCode = "SKIP_KEY"
	Excluded SkipCode = "EXCLUDED"
)

// Skipped is a pair, or a tensor alone, that is not to be compared.
type Skipped struct {
	Ref, NPU int
	Code     SkipCode
	Key      string // the key, name or pattern
}

// Superseded is a tensor of which the same round has a later one.
type Superseded struct {
	ID, By int
	NPU    bool // the side
}

// RuleCount is how many pairs and ambiguities a rule makes.
type RuleCount struct {
	Rule             Rule
	Pairs, Ambiguous int
}

// Count applies each rule alone.
func Count(ref, npu []Tensor, opt Options) []RuleCount {
	var counts []RuleCount
	for i := range rules {
		r := &rules[i]
		if r.given != nil && !r.given(&opt) {
			continue
		}
		j := newJoin(&opt, ofKind(ref, opt.Kind), ofKind(npu, opt.Kind))
		j.apply(r, j.ref, j.npu)
		if n := len(counts); n == 0 || counts[n-1].Rule != r.name {
			counts = append(counts, RuleCount{Rule: r.name})
		}
		last := &counts[len(counts)-1]
		last.Pairs, last.Ambiguous = max(last.Pairs, len(j.pairs)), max(last.Ambiguous, len(j.ambiguous))
	}
	return counts
}
