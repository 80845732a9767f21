package check

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
	"dumptool/internal/trace"

	"golang.org/x/sync/semaphore"
)

// DefaultBudget is the default limit of multiplications and additions per operator.
const DefaultBudget = 4e9

// Options select the parts to check, and the way.
type Options struct {
	// Select chooses rounds, Ops operators; nil for all.
	Select dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Filter leaves operators out by their names.
	Filter dumpdir.NodeFilter
	// Version forces the container of dumps: 1, 2, or 0 to detect it.
	Version int
	// Workers is the number of operators at a time; 0 means one per CPU.
	Workers int
	// Attributes are the attributes of --attr.
	Attributes []UserAttribute
	// Graph: use graphs to find attributes. GraphFile is the graph that the user gave, empty for none.
	Graph     bool
	GraphFile string
	// Seed is the seed of random signs and samples. Full computes all elements. Budget limits the multiplications and
	// additions per operator, 0 for no limit.
	Seed   int64
	Full   bool
	Budget int64
	// FailOn lists the statuses that count as findings. Require is the least share of operators, 0 to 1, that must be
	// judged.
	FailOn  []string
	Require float64
	// Only lists the parts to check, see Parts; empty for all parts that the data allow.
	Only []string
	// Ranks are the options of the judgement between ranks.
	Ranks ranks.Options
	// Extract, unless nil, receives WRONG and MISFIT operators with their tensors. Calls are serialised. ExtractMost
	// limits the bytes of an operator's arrays; a larger operator is cut to a piece.
	Extract     func(*Case)
	ExtractMost int64
	// Observe receives progress events.
	Observe func(batch.Event)

	// recompute judges an operator, nil for recompute.Judge.
	recompute func(context.Context, *recompute.Operator) (*recompute.Verdict, error)
	// forComparison: the check serves a comparison. Operators with missing inputs are skipped, and convolutions of any
	// kernel size may use transforms.
	forComparison bool
	// onlyUnwritten: only unwritten memory is looked for.
	onlyUnwritten bool
	// peers returns the kind of an operator, empty to leave it out; nil groups by role and type.
	peers func(*Operator) string
}

// UserAttribute is an attribute that the user gives for an operator, or for a type.
type UserAttribute struct {
	Op, Type, Name string
	Value          recompute.Value
}

// ParseUserAttribute reads OP.KEY=VALUE, or TYPE:NAME.KEY=VALUE.
func ParseUserAttribute(text string) (g UserAttribute, err error) {
	left, value, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(left, '.')
	if !ok || dot <= 0 || dot == len(left)-1 || value == "" {
		return g, lang.Errorf("want OP.KEY=VALUE or TYPE:NAME.KEY=VALUE")
	}
	g.Name, g.Value = left[dot+1:], recompute.ParseValue(value)
	var isType bool
	if g.Type, isType = strings.CutPrefix(left[:dot], "TYPE:"); !isType {
		g.Op, g.Type = g.Type, ""
	}
	return g, nil
}

// selects reports whether an operator is selected by its names.
func (o *Options) selects(op *dumpdir.Op) bool {
	return o.Ops.Includes(op) && !slices.ContainsFunc(op.Names(), func(name string) bool { return o.Filter.Skip(name) != "" })
}

// checker makes the rows of a report.
type checker struct {
	*Report
	opt   *Options
	files *tensorfile.Pool
	// slots limits how many operators are judged concurrently.
	slots      *semaphore.Weighted
	extracting sync.Mutex
	// fileWarnings are warnings about the files of the operators.
	fileWarnings []lang.Sentence
	// hasUnfitGraph: the graphs do not fit the dumps and are not used.
	hasUnfitGraph bool
	// operatorsByFile maps file names to operators, calls maps functions and modules to their forward calls.
	operatorsByFile, forwardsByName map[*dumpdir.Round]map[string][]*dumpdir.Op
}

// job is an operator to check.
type job struct {
	round *dumpdir.Round
	op    *dumpdir.Op
}

// outcome is the result for an operator.
type outcome struct {
	row      Operator
	problems []Problem
	warnings []lang.Sentence
	// tensorWarnings are warnings about the files of its tensors.
	tensorWarnings []lang.Sentence
}

// Run computes every chosen operator of a run again. An interrupted run returns the report of the operators judged
// until then, together with the error.
func Run(ctx context.Context, run *dumpdir.Run, opt Options) (*Report, error) {
	headers := dumpdir.HeaderOptions{Workers: opt.Workers, Version: opt.Version}
	if opt.onlyUnwritten {
		headers.Rounds = roundsWithMemory(run)
	}
	if err := run.ReadHeaders(ctx, headers); err != nil {
		return nil, err
	}
	c := &checker{Report: &Report{Schema: Schema, Paths: append([]string{}, run.Paths...), Seed: opt.Seed, Operators: []Operator{}, Warnings: append([]lang.Sentence{}, run.Warnings...), Problems: []Problem{}, failOn: opt.FailOn, require: opt.Require},
		opt: &opt, files: new(tensorfile.Pool), slots: semaphore.NewWeighted(int64(cmp.Or(max(0, opt.Workers), store.Workers()))), operatorsByFile: map[*dumpdir.Round]map[string][]*dumpdir.Op{}, forwardsByName: map[*dumpdir.Round]map[string][]*dumpdir.Op{}}
	defer c.files.Close()
	if err := c.checkUserAttributes(run); err != nil {
		return nil, err
	}
	var jobs []job
	several := len(trace.RanksOf(run.Rounds)) > 1 // package ranks judges communication then
	for _, round := range run.Select(opt.Select) {
		if headers.Rounds != nil && !headers.Rounds[round] {
			continue
		}
		c.operatorsByFile[round], c.forwardsByName[round] = round.OpsByName(), forwardCalls(round)
		c.Orders, c.Rounds = append(c.Orders, round.Order), append(c.Rounds, round.At)
		for _, op := range round.Ops {
			if several && trace.IsCommunication(op) || msprobe.ParseName(op.Names()[0]).Direction == msprobe.Gradients { // not operators
				continue
			}
			if !opt.includesPart(Operators) || !slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.File.Err == nil && !t.IsWholeFile() }) {
				continue
			}
			if !opt.selects(op) {
				c.excludedCount++
				continue
			}
			jobs = append(jobs, job{round, withCall(op)})
		}
	}
	for _, p := range run.Problems {
		if opt.Select.Includes(p.At) && (p.Kind == dumpdir.Unreadable || p.Kind == dumpdir.Cut) {
			c.Problems = append(c.Problems, Problem{p.Path, lang.Error(p.Err), p.Kind})
		}
	}
	c.onlyStatistics = len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j job) bool {
		return slices.ContainsFunc(j.op.Tensors, func(t dumpdir.Tensor) bool { return !t.Table })
	})
	if opt.onlyUnwritten {
		return c.Report, c.findUnwritten(ctx, jobs)
	}
	problems, warnings := len(c.Problems), len(c.Warnings)
	err := c.run(ctx, jobs)
	if err == nil && c.isGraphUnfit() {
		c.hasUnfitGraph, c.Operators, c.Problems = true, c.Operators[:0], c.Problems[:problems]
		c.Warnings = slices.Delete(c.Warnings, warnings, len(c.Warnings)-1) // keep the warning of isGraphUnfit
		err = c.run(ctx, jobs)
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		c.Interrupted = true
		c.conclude()
		return c.Report, err
	}
	if err := c.judgePeers(ctx, jobs); err != nil {
		return nil, err
	}
	if err := c.judgeChoices(ctx, jobs); err != nil {
		return nil, err
	}
	c.acceptOperandBits()
	if !opt.forComparison {
		if err := c.findUnwritten(ctx, jobs); err != nil {
			return nil, err
		}
	}
	c.Warnings = append(c.Warnings, tensorfile.FirstWarnings(c.fileWarnings)...)
	c.reportGraph()
	if err := c.judgeRanks(ctx, run); err != nil {
		return nil, err
	}
	if len(jobs) == 0 && !c.hasRankChecks() {
		c.otherFiles = run.OtherFiles()
	}
	c.conclude()
	return c.Report, nil
}

// maxPictures is the number of outputs with pictures in a report.
const maxPictures = 50

// run checks jobs and collects their rows.
func (c *checker) run(ctx context.Context, jobs []job) error {
	rows, pictures := map[*dumpdir.Round]map[string]int{}, 0 // rows by the file names of operators
	return batch.Run(ctx, batch.Options{Workers: c.opt.Workers, Observe: c.opt.Observe}, jobs, job.size,
		func(ctx context.Context, j job) outcome { return c.checkOperator(ctx, j, nil) },
		func(i int, o outcome) {
			if o.row.Status == "" {
				return // interrupted
			}
			for k := range o.row.Outputs {
				if p := &o.row.Outputs[k].Pictures; pictures == maxPictures {
					*p = nil
				} else if *p != nil {
					pictures++
				}
			}
			rowsOfRound := rows[jobs[i].round]
			if rowsOfRound == nil {
				rowsOfRound = map[string]int{}
				rows[jobs[i].round] = rowsOfRound
			}
			o.row.FedBy = jobs[i].producersOf(rowsOfRound)
			rowsOfRound[filename.Normalise(jobs[i].op.Name)] = len(c.Operators)
			c.Operators = append(c.Operators, o.row)
			c.Problems, c.Warnings = append(c.Problems, o.problems...), append(c.Warnings, o.warnings...)
			c.fileWarnings = append(c.fileWarnings, o.tensorWarnings...)
		})
}

// producersOf returns the rows of the operators that wrote the inputs, by the data flow: for each name the last row so
// far.
func (j job) producersOf(rows map[string]int) (from []int) {
	if j.round.Flow.Graph == nil {
		return nil
	}
	if node := j.round.Flow.Graph.Find(j.op.Names()...); node != nil {
		for _, p := range node.Producers() {
			if row, ok := rows[filename.Normalise(p.Op)]; ok && !slices.Contains(from, row) {
				from = append(from, row)
			}
		}
	}
	return from
}

// size returns the bytes to read for the tensors of the operator.
func (j job) size() (n int64) {
	seen := map[*dumpdir.File]bool{}
	for _, t := range j.op.Tensors {
		if !seen[t.File] && !t.Table {
			seen[t.File] = true
			n += t.File.Size
		}
	}
	return n + 1
}

// checkOperator computes an operator again: with the rows of guess, or with the formula of its type if guess is nil.
func (c *checker) checkOperator(ctx context.Context, j job, guess []recompute.Call) (o outcome) {
	if c.slots.Acquire(ctx, 1) != nil {
		return o
	}
	defer c.slots.Release(1)
	op := j.op
	o.row = Operator{Op: op.Names()[0], Type: typeOf(op), At: j.round.At, File: op.Tensors[0].File.Path(), Script: op.Script(), Order: op.Place, size: j.size(),
		Outputs: []Output{}, Inputs: []Tensor{}}
	o.row.Attributes = recompute.Attributes{}
	if !j.round.Order.IsKnown() {
		o.row.Order = -1
	}
	if op.Call != nil {
		o.row.Modules = op.Call.Modules
	}
	x := &execution{checker: c, job: j, outcome: &o, guess: guess}
	defer x.close()
	err := guard.Do(func() error { return x.judge(ctx) })
	if crash, ok := errors.AsType[*guard.Panic](err); ok && ctx.Err() == nil {
		x.recordCrash(crash)
	} else if err != nil && ctx.Err() == nil {
		o.problems = append(o.problems, Problem{File: o.row.File, Err: lang.Say("%s: %v", o.row.Op, err)})
		o.row.Status, o.row.Reason = recompute.Undecided, recompute.NoInputs
	}
	return o
}

// recordCrash writes an internal error into the row of an operator. Its files were read: they are not reported as a
// problem.
func (x *execution) recordCrash(p *guard.Panic) {
	r := &x.row
	r.Status, r.Reason, r.Extent, r.Confidence, r.Notes = recompute.Crashed, "", "", "", nil
	r.setEvidenceText(lang.Say("internal error: %v", p.Text()), lang.Sentence{})
	if r.Outputs = []Output{}; len(r.Inputs) == 0 {
		r.Inputs = x.listTensors(x.inputs)
	}
	for _, t := range x.listOutputs() {
		r.Outputs = append(r.Outputs, x.unjudgedOutput(t))
	}
}

// typeOf returns the type of an operator: the function of a call, the class of a module.
func typeOf(op *dumpdir.Op) string {
	if op.Call != nil && op.Call.API != "" {
		function, _ := recompute.CallsOf(op.Call.API, "")
		return cmp.Or(function, typeOfBackward(op.Call.API), op.Type)
	}
	return op.Type
}
