package compare

import "dumptool/internal/compare/engine"

// Report is the result of a comparison.
type Report struct {
	Profile   string
	NaNPolicy string
	TolMode   string
	// Rows are in execution order; rows of equal place by name and output.
	// Unmatched and skipped ones are among them.
	Rows []Row
	// OrderSource tells where the execution order comes from, with the file.
	OrderSource string
	// GraphSource tells where the inputs of operators come from; empty when
	// there is no graph and the operator before counts as the input.
	GraphSource string
	Counts      map[Status]int
	Coverage    Coverage
	Findings    Findings
	Baseline    *BaselineResult // nil without a baseline
	// KLD holds the Kullback-Leibler divergence of rows, by index, where it was
	// computed.
	KLD      map[int]engine.Metric
	Warnings []string
	// Interrupted is set when the run was stopped: rows that were not reached
	// are missing.
	Interrupted bool
	// rounds are the rounds of the rows in a baseline, selection tells what the
	// run was asked for.
	rounds    []string
	selection *selection
	// pairs are kept for WriteTensor.
	pairs  []*settled
	opener *opener
	// FailedFast is set when --fail-fast stopped the run at the first failure.
	FailedFast bool
}

// Coverage tells how much of the reference was compared.
type Coverage struct {
	// Reference counts the tensors of the reference, Compared those of them
	// that were compared. The lists name tensors as op:output:k.
	Reference, Compared               int
	RefOnly, NPUOnly, Skipped, Unread []string
	// Superseded are files with an older timestamp than one of the same name.
	Superseded []string
	// Unused are names of op_config.csv that no row has.
	Unused []string
}

// Ratio is the compared share of the reference; 1 when the reference is empty.
func (c *Coverage) Ratio() float64 {
	if c.Reference == 0 {
		return 1
	}
	return float64(c.Compared) / float64(c.Reference)
}

// Findings say where the run went wrong. The numbers are indexes into Rows, -1
// when there is no such row.
type Findings struct {
	// FirstBad is the first failing row whose known inputs all pass.
	FirstBad int
	// FirstDamaged is the first failing row with a cause of its own - a pattern, a
	// calculation error, a wrong shape - rather than noise that adds up or bad
	// inputs. It usually is FirstBad.
	FirstDamaged int
	// LastGood is the last good row before it, in execution order; Suspects are
	// the rows in between that were not compared: the fault may be in one of them.
	LastGood int
	Suspects []int
	// FirstNaN and FirstOverflow are the first rows whose NPU tensor has a
	// NaN or infinity that the reference has not, or overflowed elements.
	FirstNaN, FirstOverflow int
	// LargestJump is the row whose mean relative error exceeds that of its
	// inputs by the largest factor, Jump the factor.
	LargestJump int
	Jump        float64
	// Chain are the bad rows that are reached from FirstBad, in order, and
	// OutputsBad tells whether outputs of the network are among them.
	Chain      []int
	OutputsBad bool
}

// BaselineResult compares the run with an earlier one.
type BaselineResult struct {
	File string
	// The lists hold indexes into Rows.
	New, Known, Worse, Fixed []int
	// Missing are the op:output:k of the baseline that this run lacks.
	Missing []string
	Updated bool
}
