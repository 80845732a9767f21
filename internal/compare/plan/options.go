package plan

import (
	"strconv"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
)

// Options say what is compared. Ref and NPU are needed, and so is a profile and a NaN
// policy; the zero value of everything else is useful.
type Options struct {
	// Ref and NPU are a file or a folder each, of which RefRounds and NPURounds
	// choose rounds.
	Ref, NPU             string
	RefRounds, NPURounds dumpdir.Selection
	SideOptions
	// Version is the dump container, 0 for what the file says.
	Version int

	Judge limits.Options
	// Standard is the acceptance standard that replaces the verdict, Third the path of the
	// third result that some standards need.
	Standard standard.Options
	Third    string
	// Second is the path of a second reference, of a lower precision than the first: its
	// distance from the first is noise that an NPU may have too. A run has a third result
	// or a second reference.
	Second string
	// SideFiles is what files say about the operators: limits, names, order and graph.
	// Without a map of consumers the graph of the compiler is used.
	SideFiles sidefile.Inputs
	Pair      PairOptions
	Shape     align.Options
	// Shard compares the rounds of one of several shards.
	Shard shard.Spec
	// OrderBy is the source of the execution order.
	OrderBy dumpdir.OrderBy
	// Keep keeps the details of good rows too, and lets tensors be written after they were
	// compared: tensors with statistics only are left out.
	Keep bool
	// Calls pairs the values of calls of msprobe.
	Calls bool
	// Unshard says whether tensors are compared with their part of a reference that is sharded
	// otherwise.
	Unshard Unshard
	RankOptions
	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
	// Warnings are about the options; a report ends with them.
	Warnings []lang.Sentence
}

// SideOptions are about the folders of the sides.
type SideOptions struct {
	// Skip is the folder of the results, whose files are no inputs.
	Skip string
	// IR is a file or folder of graphs of MindSpore in place of those of the runs,
	// dumpdir.NoIR for none.
	IR string
}

// PairOptions say which tensors are compared.
type PairOptions struct {
	SkipKeys []string
	// Fuzzy pairs calls of msprobe by their order where their numbers differ.
	Fuzzy   bool
	Exclude *dumpdir.NameSet
	Ops     *dumpdir.NameSet
	// Inputs compares inputs even if the reference has none, where they are
	// listed as unmatched.
	Inputs bool
	Rounds Rounds
	// SameRounds pairs rounds of different ranks, steps, graphs or models only where
	// neither has a partner with the same ones.
	SameRounds bool
}

// Rounds says which of several rounds are compared.
type Rounds struct {
	// First and Last choose the first or last one of the NPU's in their order,
	// Number, from 0, any of them; all if none is set.
	First, Last bool
	Number      *int
}

// String returns the rounds as a flag has them.
func (r Rounds) String() string {
	switch {
	case r.First:
		return "first"
	case r.Last:
		return "last"
	case r.Number != nil:
		return strconv.Itoa(*r.Number)
	}
	return "all"
}

// Unshard says whether tensors of ranks are compared with their part of the reference.
type Unshard string

// The modes.
const (
	// UnshardAuto finds out whether the sides are sharded alike.
	UnshardAuto Unshard = "auto"
	UnshardOff  Unshard = "off"
)

// Unshards are all of them.
func Unshards() []Unshard { return []Unshard{UnshardAuto, UnshardOff} }

// RankOptions say of the ranks of the NPU what their dumps do not.
type RankOptions struct {
	// Groups are groups that communicate. With a mesh the ranks are sharded otherwise than the
	// reference.
	Groups ranks.Groups
}
