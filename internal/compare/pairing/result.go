package pairing

import "dumptool/internal/tensor"

// Rule says why two tensors are a pair.
type Rule string

// The rules, in the order in which they are tried.
const (
	// RuleMap: the name map says so.
	RuleMap Rule = "map"
	// RuleFusion: the graph of the compiler says so.
	RuleFusion Rule = "fusion"
	// RuleStem: the files have the same name but for the extension.
	RuleStem Rule = "stem"
	// RuleName: the operators have the same name. One that has two, since a
	// header and its file name disagree, is looked for by both at once, and if
	// there is no such partner, by either.
	RuleName Rule = "name"
	// RuleNormalised: the names are equal as file names have them.
	RuleNormalised Rule = "normalised"
	// RuleSuffix: the names are equal but for a shape at the end of one, which
	// is that of its tensor, or for timestamps.
	RuleSuffix Rule = "suffix"
)

// Options say what is paired and how.
type Options struct {
	Map    *NameMap // nil for none
	Fusion *Fusion  // nil for none
	// SkipKeys are texts; operators whose name contains one are skipped.
	SkipKeys []string
	// Exclude are operators that are skipped, nil for none.
	Exclude *NameSet
	// Ops are the operators to be paired, nil for all. The results for others
	// are left out; a pair is one of them if either side's name is.
	Ops *NameSet
	// Kind restricts the tensors to inputs or outputs; empty for both.
	Kind Kind
	// Shapes returns the shapes that a tensor of the reference or of the NPU is
	// known to have, nil for none. It is asked for tensors that do not tell
	// themselves, once each, and only for those that may be a pair but for a
	// shape at the end of a name, since the answer may take reading a file.
	Shapes func(id int, npu bool) []tensor.Shape
}

// Result tells what became of every tensor. Its numbers are the tensors' IDs;
// -1 stands for none.
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
// pairs when the NPU has it in several rounds, or when the graph of the
// compiler names it as the origin of several results.
type Pair struct {
	Ref, NPU int
	Rule     Rule
	Round    string // that of the NPU's tensor
}

// Ambiguity is a tensor with several partners: one side has one tensor, the
// other the candidates; of the reference's candidates the first 16.
type Ambiguity struct {
	Refs, NPUs []int
	Rule       Rule
	Round      string
}

// Unmatched is a tensor without a partner.
type Unmatched struct {
	ID int
	// Why is empty, or tells why names were not looked at.
	Why string
}

// SkipCode tells skip keys from excluded names.
type SkipCode string

// The codes.
const (
	SkipKey  SkipCode = "SKIP_KEY"
	Excluded SkipCode = "EXCLUDED"
)

// Skipped is a pair, or a tensor alone, that is not to be compared.
type Skipped struct {
	Ref, NPU int
	Round    string
	Code     SkipCode
	Key      string // the key, name or pattern
}

// Superseded is a tensor of which the same folder has a later one.
type Superseded struct {
	ID, By int
	NPU    bool // the side
}
