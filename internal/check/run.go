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

// DefaultBudget is the usual limit of multiplications and additions per operator.
const DefaultBudget = 4e9

// Options says what of a run is checked, and how.
type Options struct {
	// Select chooses rounds, Ops operators; nil for all.
	Select dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Filter leaves operators out by their names.
	Filter dumpdir.NodeFilter
	// Version forces the container of dumps: 1, 2, or 0 to find out from the content.
	Version int
	// Workers is the number of operators at a time; 0 means one per CPU.
	Workers int
	// Attributes are those that the user gives.
	Attributes []Given
	// Graph is whether graphs give attributes, GraphFile the one that was given, empty for none.
	Graph     bool
	GraphFile string
	// Seed is that of signs and samples. Full computes everything, Budget bounds what one
	// operator may cost in multiplications and additions, 0 for no limit.
	Seed   int64
	Full   bool
	Budget int64
	// FailOn are the statuses that are a finding, Require is the share of the operators that
	// has to be judged.
	FailOn  []string
	Require float64
	// Only are the parts that are checked; see Parts. None are all that the data allow.
	Only []string
	// Ranks say how ranks are set beside each other.
	Ranks ranks.Options
	// Extract, unless nil, takes what is WRONG or a MISFIT, with its tensors; it is called by
	// one goroutine at a time. ExtractMost is how many bytes the arrays of an operator may take:
	// of a larger one a piece is handed on.
	Extract     func(*Case)
	ExtractMost int64
	// Observe hears of the progress.
	Observe func(batch.Event)

	// recompute judges an operator, nil for recompute.Judge.
	recompute func(context.Context, *recompute.Operator) (*recompute.Verdict, error)
	// compared is set for a comparison: operators of which inputs were not dumped are left alone,
	// and convolutions of any kernel may have been computed by transforms.
	compared bool
	// peers tells operators of a kind apart from others, empty for one that is of none; nil for
	// those of one role and type.
	peers func(*Operator) string
}

// Given is an attribute that the user gives for an operator, or for all of a type.
type Given struct {
	Op, Type, Name string
	Value          recompute.Value
}

// ParseGiven reads OP.KEY=VALUE, or TYPE:NAME.KEY=VALUE.
func ParseGiven(text string) (g Given, err error) {
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

// chooses reports whether the names of an operator are among those that are checked.
func (o *Options) chooses(op *dumpdir.Op) bool {
	return o.Ops.Wants(op) && !slices.ContainsFunc(op.Names(), func(name string) bool { return o.Filter.Skip(name) != "" })
}

// checker makes the rows of a report.
type checker struct {
	*Report
	opt   *Options
	files *tensorfile.Pool
	// places are the workers: an operator that is judged holds one.
	places     *semaphore.Weighted
	extracting sync.Mutex
	// fileWarnings are warnings about the files of the operators.
	fileWarnings []lang.Sentence
	// unfit is set for graphs that do not fit the dumps.
	unfit bool
	// named are the operators of rounds by their names as files have them, calls the forward calls by
	// the functions and modules that they call.
	named, calls map[*dumpdir.Round]map[string][]*dumpdir.Op
}

// job is an operator to check.
type job struct {
	round *dumpdir.Round
	op    *dumpdir.Op
}

// outcome is what was found about an operator.
type outcome struct {
	row      Operator
	problems []Problem
	warnings []lang.Sentence
	// aboutFiles are warnings about the files of its tensors.
	aboutFiles []lang.Sentence
}

// Run computes every chosen operator of a run again. The report of a run that was interrupted
// has what was done until then, and comes with the error.
func Run(ctx context.Context, run *dumpdir.Run, opt Options) (*Report, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers, Version: opt.Version}); err != nil {
		return nil, err
	}
	c := &checker{Report: &Report{Schema: Schema, Paths: append([]string{}, run.Paths...), Seed: opt.Seed, Operators: []Operator{}, Warnings: append([]lang.Sentence{}, run.Warnings...), Problems: []Problem{}, failOn: opt.FailOn, require: opt.Require},
		opt: &opt, files: new(tensorfile.Pool), places: semaphore.NewWeighted(int64(cmp.Or(max(0, opt.Workers), store.Workers()))), named: map[*dumpdir.Round]map[string][]*dumpdir.Op{}, calls: map[*dumpdir.Round]map[string][]*dumpdir.Op{}}
	defer c.files.Close()
	if err := c.checkGiven(run); err != nil {
		return nil, err
	}
	var jobs []job
	several := len(trace.RanksOf(run.Rounds)) > 1 // then communications are judged as such
	for _, round := range run.Select(opt.Select) {
		c.named[round], c.calls[round] = round.ByName(), forwardCalls(round)
		c.Orders, c.Rounds = append(c.Orders, round.Order), append(c.Rounds, round.At)
		for _, op := range round.Ops {
			if several && trace.IsCommunication(op) || msprobe.ParseName(op.Names()[0]).Direction == msprobe.Gradients { // no operators
				continue
			}
			if !opt.wants(Operators) || !slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.File.Err == nil && !t.Whole() }) {
				continue
			}
			if !opt.chooses(op) {
				c.unchosen++
				continue
			}
			jobs = append(jobs, job{round, asCall(op)})
		}
	}
	for _, p := range run.Problems {
		if opt.Select.Wants(p.At) && (p.Kind == dumpdir.Unreadable || p.Kind == dumpdir.Cut) {
			c.Problems = append(c.Problems, Problem{p.Path, p.Err, p.Kind})
		}
	}
	c.tables = len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j job) bool {
		return slices.ContainsFunc(j.op.Tensors, func(t dumpdir.Tensor) bool { return !t.Table })
	})
	problems, warnings := len(c.Problems), len(c.Warnings)
	err := c.run(ctx, jobs)
	if err == nil && c.doubt() {
		c.unfit, c.Operators, c.Problems = true, c.Operators[:0], c.Problems[:problems]
		c.Warnings = slices.Delete(c.Warnings, warnings, len(c.Warnings)-1) // but the doubt
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
	c.settleOperands()
	c.Warnings = append(c.Warnings, tensorfile.FirstWarnings(c.fileWarnings)...)
	c.sayGraph()
	if err := c.judgeRanks(ctx, run); err != nil {
		return nil, err
	}
	if len(jobs) == 0 && !c.ranksChecked() {
		c.others = run.OtherFiles()
	}
	c.conclude()
	return c.Report, nil
}

// run makes the rows of jobs.
func (c *checker) run(ctx context.Context, jobs []job) error {
	return batch.Run(ctx, batch.Options{Workers: c.opt.Workers, Observe: c.opt.Observe}, jobs, job.size,
		func(ctx context.Context, j job) outcome { return c.check(ctx, j, nil) },
		func(_ int, o outcome) {
			if o.row.Status == "" {
				return // it was interrupted
			}
			c.Operators = append(c.Operators, o.row)
			c.Problems, c.Warnings = append(c.Problems, o.problems...), append(c.Warnings, o.warnings...)
			c.fileWarnings = append(c.fileWarnings, o.aboutFiles...)
		})
}

// size is what reading the tensors of the operator takes.
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

// check computes an operator again, by what it is or by what it is guessed to be.
func (c *checker) check(ctx context.Context, j job, guess []recompute.Call) (o outcome) {
	if c.places.Acquire(ctx, 1) != nil {
		return o
	}
	defer c.places.Release(1)
	op := j.op
	o.row = Operator{Op: op.Names()[0], Type: typeOf(op), At: j.round.At, File: op.Tensors[0].File.Path(), Script: op.Script(), Order: op.Place, size: j.size(),
		Attributes: map[string]recompute.Attribute{}, Outputs: []Output{}, Inputs: []Tensor{}}
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
		x.crashed(crash)
	} else if err != nil && ctx.Err() == nil {
		o.problems = append(o.problems, Problem{File: o.row.File, Err: lang.Failed(lang.Errorf("%s: %w", o.row.Op, err))})
		o.row.Status, o.row.Reason = recompute.Undecided, string(recompute.NoInputs)
	}
	return o
}

// crashed makes the row of an operator at which the program has a bug. Its files were read: they are
// no problem.
func (x *execution) crashed(p *guard.Panic) {
	r := &x.row
	r.Status, r.Reason, r.Extent, r.Confidence, r.Notes = recompute.Crashed, "", "", "", nil
	r.set(lang.Say("internal error: %v", p.Text()), lang.Sentence{})
	if r.Outputs = []Output{}; len(r.Inputs) == 0 {
		r.Inputs = x.describe(x.in)
	}
	for _, t := range x.outputs() {
		r.Outputs = append(r.Outputs, Output{Tensor: t, Elements: t.Shape.Elements(), Elems: []Element{}, file: x.fileOf(t.Index)})
	}
}

// typeOf is the type of an operator; of a call the function, of a module its class.
func typeOf(op *dumpdir.Op) string {
	if op.Call != nil && op.Call.API != "" {
		function, _ := recompute.CallsOf(op.Call.API, "")
		return cmp.Or(function, typeOfBackward(op.Call.API), op.Type)
	}
	return op.Type
}
