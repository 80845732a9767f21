package pair

import (
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// Options say what is paired and how.
type Options struct {
	Map    *sidefile.NameMap // nil for none
	Fusion *graph.Graph      // of the compiler, nil for none
	// Calls is set where tensors have a Call.
	Calls bool
	// Recorded is set where tensors have a Recorded.
	Recorded bool
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
	// Why is empty, or says why its names were not compared.
	Why string
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
