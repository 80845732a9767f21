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

// Options select what to compare, and how. Ref, NPU, a profile and a NaN policy are required; all other fields may be
// zero.
type Options struct {
	// Ref and NPU are files or folders. RefRounds and NPURounds select rounds in
	// them.
	Ref, NPU             string
	RefRounds, NPURounds dumpdir.Selection
	SideOptions
	// Stems are the stems of the file names of the reference and of the NPU if both lie in one folder, else empty.
	Stems [2]string
	// Version is the version of the dump container, 0 to take it from the file.
	Version int

	Judge limits.Options
	// Standard is an acceptance standard that replaces the verdict, Third the path of the
	// third result that some standards need.
	Standard standard.Options
	Third    string
	// Second is the path of a second reference, of lower precision than the first: its distance from the first is an
	// error that an NPU may also have. A run may have Third or Second, not both.
	Second string
	// SideFiles has the contents of side files: limits, names, order and graph of operators.
	// Without a map of consumers the compiler's graph is used.
	SideFiles sidefile.Inputs
	Pair      PairOptions
	Shape     align.Options
	// Mask is the name of the tensor whose zeros mark tokens that do not count among log probabilities; if it is empty,
	// DefaultMask is used where it exists.
	Mask string
	// Shard limits the run to the rounds of one of several shards.
	Shard shard.Spec
	// OrderBy is the source of the execution order.
	OrderBy dumpdir.OrderSource
	// Keep also keeps the details of good rows, and allows writing tensors after the comparison. Tensors with only
	// statistics are then left out.
	Keep bool
	// Calls keeps the paired values of msprobe calls.
	Calls bool
	// Unshard says whether tensors are compared with parts of a reference that is sharded
	// differently.
	Unshard Unshard
	RankOptions
	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
	// Warnings about the options appear at the end of a report.
	Warnings []lang.Sentence
}

// StemOf returns the stem of one side.
func (o *Options) StemOf(npu bool) dumpdir.Stem {
	if npu {
		return dumpdir.Stem{Own: o.Stems[1], Other: o.Stems[0]}
	}
	return dumpdir.Stem{Own: o.Stems[0], Other: o.Stems[1]}
}

// SideOptions are options for the folders of both sides.
type SideOptions struct {
	// Skip is the output folder: its files are not inputs.
	Skip string
	// IR is a file or folder of MindSpore graphs that replaces the graphs in the runs, dumpdir.NoIR for none.
	IR string
}

// PairOptions say which tensors are compared.
type PairOptions struct {
	// NamesOnly pairs tensors whose names are equal, or mapped by a file; the loose rules of package pair are off.
	NamesOnly bool
	SkipKeys  []string
	// Fuzzy pairs msprobe calls by their order if their numbers differ.
	Fuzzy   bool
	Exclude *dumpdir.NameSet
	Ops     *dumpdir.NameSet
	// Inputs also compares inputs if the reference has none; they are listed as
	// unmatched.
	Inputs bool
	Rounds Rounds
	// SameRounds pairs rounds of different ranks, steps, graphs or models only if neither has a partner with equal
	// coordinates.
	SameRounds bool
}

// Rounds selects rounds among several.
type Rounds struct {
	// First and Last select the first or the last round of the NPU, Number the round with this number, from 0; all
	// rounds if none is set.
	First, Last bool
	Number      *int
}

// String returns the value of the flag.
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

// Unshard says whether tensors of ranks are compared with parts of the reference.
type Unshard string

// The modes.
const (
	// UnshardAuto detects whether the two sides are sharded differently.
	UnshardAuto Unshard = "auto"
	UnshardOff  Unshard = "off"
)

// Unshards lists the modes.
func Unshards() []Unshard { return []Unshard{UnshardAuto, UnshardOff} }

// RankOptions describe the ranks of the NPU beyond the contents of their dumps.
type RankOptions struct {
	// Groups are communication groups. If they come from a mesh, the ranks are sharded differently
	// from the reference.
	Groups ranks.Groups
}
