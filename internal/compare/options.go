package compare

import (
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
)

// Options say what is compared, and how. Ref and NPU are needed, and so is a
// profile and a NaN policy; the zero value of everything else is useful. What one step
// alone reads is in its own options, which stand in its file.
type Options struct {
	// Ref and NPU are a file or a folder each, of which RefRounds and NPURounds
	// choose rounds.
	Ref, NPU             string
	RefRounds, NPURounds dumpdir.Selection
	SideOptions
	// Version is the dump container, 0 for what the file says.
	Version int

	Judge JudgeOptions
	// Standard is the acceptance standard that stands in place of the verdict, Third the
	// path of the third result that some need.
	Standard standard.Options
	Third    string
	// Second is the path of a second reference, of a lower precision than the first:
	// how far it is from the first is the noise that an NPU may have too. A run has a
	// third result or a second reference.
	Second string
	// SideFiles is what files say about the operators: their limits, names, order
	// and graph. Without a map of consumers the graph of the compiler is used.
	SideFiles sidefile.Inputs
	Pair      PairOptions
	Shape     align.Options
	// Shard compares some rounds only, those of one of several shards.
	Shard shard.Spec
	// OrderBy is the source of the execution order.
	OrderBy dumpdir.OrderBy

	KeepOptions
	// Pictures lets rows be read again for their pictures; nil for no pictures.
	Pictures *PictureOptions

	FailOptions
	BaselineOptions
	SumOptions
	SelfOptions

	// Warnings are about the options. A report ends with them, and names its
	// Origin and Args, what made it.
	Warnings []lang.Sentence
	Origin   shard.Origin
	Args     []string

	// Unshard says whether tensors are compared with their part of a reference that is sharded
	// otherwise.
	Unshard Unshard
	RankOptions

	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
}

// maxWorkers is the most goroutines unless more are asked for.
const maxWorkers = 16

// Load reads the files about operators and the baseline, which need not be there if
// it is to be written. What a comparison can do without becomes a warning. The error
// is a *sidefile.FileError.
func (o *Options) Load(files sidefile.Files) error {
	in, err := files.Load()
	if err != nil {
		return err
	}
	o.SideFiles = *in
	for _, problem := range in.Problems {
		o.Warnings = append(o.Warnings, lang.Plain(problem.Error()))
	}
	if o.Ref != "" && safefile.SameFile(o.Ref, o.NPU) {
		o.Warnings = append(o.Warnings, lang.Sayf("--cpu and --npu are the same: %s", "--cpu 与 --npu 是同一路径：%s", o.Ref))
	}
	o.Judge.chooseMode(o.SideFiles.OpConfig)
	return o.LoadBaseline()
}
