package compare

import (
	"errors"
	"os"
	"strconv"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// Options say what is compared, and how. Ref and NPU are needed, and so is a
// profile and a NaN policy; the zero value of everything else is useful.
type Options struct {
	// Ref and NPU are a file or a folder each, of which RefRounds and NPURounds
	// choose rounds.
	Ref, NPU             string
	RefRounds, NPURounds dumpdir.Selection
	// Skip is a folder whose files are no inputs, that of the results.
	Skip string
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

	// Top is the number of worst elements that are kept for bad rows, List that
	// of the first error elements, Points about that of sampled points.
	Top, List, Points int
	// Bins keeps the joint histograms, and of bad rows the profiles of axes.
	Bins bool
	// Axes keeps the profiles of axes of bad rows alone.
	Axes bool
	// Calls keeps the values of calls of msprobe.
	Calls bool
	// Keep keeps the details of good rows too, and lets tensors be written after they
	// were compared.
	Keep bool
	// Pictures lets rows be read again for their pictures; nil for no pictures.
	Pictures *PictureOptions
	// KLD computes the Kullback-Leibler divergence, which needs a second pass.
	KLD bool

	// FailOn are the statuses that count as failures, for FailFast: to stop
	// after the first one in execution order.
	FailOn   []record.Status
	FailFast bool
	// Baseline is an earlier run, that of BaselineFile, nil for none; a known failure
	// may grow by the factor Slack. UpdateBaseline writes it again.
	Baseline       *Baseline
	BaselineFile   string
	UpdateBaseline bool
	Slack          float64

	// ExitZero keeps failures from the outcome, Coverage is what has to be compared
	// of the reference.
	ExitZero bool
	Coverage Required

	// Warnings are about the options. A report ends with them, and names its
	// Origin and Args, what made it.
	Warnings []lang.Sentence
	Origin   shard.Origin
	Args     []string

	// IR is a file or folder of graphs of MindSpore in place of those of the runs,
	// dumpdir.NoIR for none.
	IR string

	// Unshard says whether tensors are compared with their part of a reference that is sharded
	// otherwise.
	Unshard Unshard

	// Check says which operators of the NPU are computed again from their own inputs, Self
	// does it; nil for none.
	Check CheckMode
	Self  SelfFunc

	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
}

// PictureOptions say which rows have pictures.
type PictureOptions struct {
	// Bins bound the number of bins of their histograms.
	Bins metrics.BinLimits
	// Plots is set where all failing rows are drawn.
	Plots bool
	// Kept is the number of rows whose pictures stay in the report.
	Kept int
}

// maxWorkers is the most goroutines unless more are asked for.
const maxWorkers = 16

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

// baselineName is the baseline in a folder that is given for it.
const baselineName = "baseline.json"

// loadCompared takes an earlier comparison for the baseline.
func (o *Options) loadCompared() error {
	rep, err := ReadReport(o.BaselineFile)
	if err != nil {
		return &sidefile.FileError{Role: sidefile.BaselineFile, Path: o.BaselineFile, Given: true, Err: err}
	}
	o.Baseline = NewBaseline(rep)
	return nil
}

// LoadBaseline reads the baseline, if there is one, which need not be there if it is to
// be written, or that in a folder: a baseline, or else the comparison that one would be made
// of. That of shards is for their merge. The error is a *sidefile.FileError.
func (o *Options) LoadBaseline() error {
	if o.BaselineFile == "" || o.Shard.On() {
		return nil
	}
	names := []string{baselineName, DocumentName}
	if o.UpdateBaseline {
		names = names[:1]
	}
	o.BaselineFile = safefile.InFolder(o.BaselineFile, names...)
	if store.Base(o.BaselineFile) == DocumentName {
		return o.loadCompared()
	}
	data, err := safefile.ReadFile(o.BaselineFile)
	if err != nil && o.UpdateBaseline && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		o.Baseline, err = ReadBaseline(data)
	}
	if err != nil {
		return &sidefile.FileError{Role: sidefile.BaselineFile, Path: o.BaselineFile, Given: true, Err: err}
	}
	return nil
}
