package compare

import (
	"dumptool/internal/batch"
	"dumptool/internal/compare/pairing"
)

// Options say what is compared, and how. Ref and NPU are needed, and so is a
// profile and a NaN policy; the zero value of everything else is useful.
type Options struct {
	// Ref and NPU are a file or a folder each.
	Ref, NPU string
	// Skip is a folder whose files are no inputs, that of the results.
	Skip string
	// Version is the dump container, 0 for what the file tells.
	Version int

	Judge JudgeOptions
	// Config holds limits of single operators, nil for none.
	Config *pairing.OpConfig
	Pair   PairOptions
	Shape  ShapeOptions
	Order  OrderOptions

	// Top is the number of worst elements that are kept for bad rows, List that
	// of the first error elements, Points about that of sampled points.
	Top, List, Points int
	// Keep keeps the details of good rows too, and what WriteTensor needs.
	Keep bool
	// KLD computes the Kullback-Leibler divergence, which needs a second pass.
	KLD bool

	// FailOn are the statuses that count as failures, for FailFast: to stop
	// after the first one in execution order.
	FailOn   []Status
	FailFast bool
	// Baseline is an earlier run, nil for none; a known failure may grow by the
	// factor Slack.
	Baseline     *Baseline
	BaselineFile string
	Slack        float64

	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
	// Observe hears of the progress, if it is not nil.
	Observe func(batch.Event)
}

// maxWorkers is the most goroutines unless more are asked for.
const maxWorkers = 16

// PairOptions say which tensors are compared.
type PairOptions struct {
	Map      *pairing.NameMap
	Fusion   *pairing.Fusion
	SkipKeys []string
	Exclude  *pairing.NameSet
	Ops      *pairing.NameSet
	// Inputs compares inputs even if the reference has none, where they are
	// listed as unmatched.
	Inputs bool
	Rounds Rounds
}

// Rounds says which of several rounds of one tensor are compared.
type Rounds struct {
	// First and Last choose the first or last one in natural order of their
	// folders, Number, from 0, any of them; all if none is set.
	First, Last bool
	Number      *int
}

// OrderOptions hold the sources of the execution order and of the graph.
type OrderOptions struct {
	By      pairing.OrderBy
	Sources pairing.OrderSources
	// Consumers is a map of consumers, nil for none; the graph of the compiler
	// in PairOptions is used then.
	Consumers     *pairing.Graph
	ConsumersFile string
	FusionFile    string
}
