package plan

import (
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
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
	// Shard compares some rounds only, those of one of several shards.
	Shard shard.Spec
	// OrderBy is the source of the execution order.
	OrderBy dumpdir.OrderBy
	// Keep keeps the details of good rows too, and lets tensors be written after they were
	// compared: tensors of which only statistics are known are left out.
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
