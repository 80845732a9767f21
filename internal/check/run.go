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
	"dumptool/internal/graph"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
	"dumptool/internal/trace"

	"golang.org/x/sync/semaphore"
)

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
	// the names of what they call.
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
			if several && trace.IsCommunication(op) {
				continue
			}
			if !opt.wants(Operators) || !slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.File.Err == nil && !t.Whole() }) {
				continue
			}
			if !opt.chooses(op) {
				c.unchosen++
				continue
			}
			if !opt.compared || several {
				op = asCall(op)
			}
			jobs = append(jobs, job{round, op})
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
	r.set(lang.Sayf("internal error: %v", "内部错误：%v", p.Text()), lang.Sentence{})
	if r.Outputs = []Output{}; len(r.Inputs) == 0 {
		r.Inputs = x.describe(x.in)
	}
	for _, t := range x.describe(x.out) {
		t.Index += x.firstOut
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

// execution is an operator whose files are open.
type execution struct {
	*checker
	job
	*outcome
	guess []recompute.Call // what it may compute, nil for what its type says
	rest  []recompute.Call // rows of the table behind the one that was tried
	open  []*tensorfile.File
	// forward is the forward call of a backward call, nil for none.
	forward *dumpdir.Op
	// device says where the tensors lay, for those whose dumps say it.
	in, out []*recompute.Tensor
	// firstOut is the place of the first output that the formula has.
	firstOut int
	graphs   []*graph.Op // what graphs know of the operator
	stored   map[*recompute.Tensor]*tensorfile.Tensor
	from     map[*recompute.Tensor]string // who wrote what stands in for inputs
	watched  []*watched
}

// close closes the files.
func (x *execution) close() {
	for _, f := range x.open {
		_ = f.Close() // only read
	}
}

// judge opens the tensors, binds them to the formula and judges them.
func (x *execution) judge(ctx context.Context) error {
	x.consult()
	bind := x.bind
	switch {
	case isBackward(x.op):
		return x.backward(ctx)
	case x.op.Call != nil && x.op.Call.API != "":
		bind = x.bindCall
	}
	op, v, err := x.verdict(ctx, bind)
	if err != nil || op == nil {
		return err
	}
	if x.guess != nil { // it may be something else
		return x.explain(ctx, op, v)
	}
	return cmp.Or(x.explain(ctx, op, v), x.extract(ctx, op, v))
}

// verdict judges an operator that bind makes, and takes what it finds; the operator is nil where it was
// not computed again.
func (x *execution) verdict(ctx context.Context, bind func() (*recompute.Operator, []string, *recompute.Verdict, error)) (*recompute.Operator, *recompute.Verdict, error) {
	op, warnings, v, err := bind()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range warnings {
		x.warnings = append(x.warnings, lang.Sayf("%s: %v", "%s：%v", x.row.Op, w))
	}
	if v != nil {
		x.take(v)
		return nil, v, nil
	}
	op.Seed, op.Full, op.Budget = x.opt.Seed, x.opt.Full, x.opt.Budget
	op.Transforms = x.opt.compared
	judge := x.opt.recompute
	if judge == nil {
		judge = recompute.Judge
	}
	if v, err = judge(ctx, op); err != nil {
		return nil, nil, x.errorOf(err)
	}
	if op, v, err = x.otherRows(ctx, op, v); err != nil {
		return nil, nil, x.errorOf(err)
	}
	if err = x.verify(); err != nil {
		return nil, nil, err
	}
	if v, err = x.doubt(ctx, v); err != nil {
		return nil, nil, err
	}
	if v, err = x.trust(ctx, op, v); err != nil {
		return nil, nil, err
	}
	x.take(v)
	return op, v, nil
}

// otherRows tries the other rows of the table of a call of which only the names of its tensors are
// known, where the first one fits nothing: arguments that nobody saw tell the rows apart.
func (x *execution) otherRows(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) (*recompute.Operator, *recompute.Verdict, error) {
	if x.op.Call == nil || !x.op.Call.NamesOnly || x.guess != nil {
		return op, v, nil
	}
	for v.Status == recompute.Misfit && len(x.rest) > 0 {
		other := *x
		other.guess = x.rest
		next, _, none, err := other.bindCall()
		x.open, x.rest, x.aboutFiles = other.open, other.rest, other.aboutFiles
		if err != nil || none != nil {
			return op, v, err
		}
		next.Seed, next.Full, next.Budget = op.Seed, op.Full, op.Budget
		w, err := recompute.Judge(ctx, next)
		if err != nil {
			return op, v, err
		}
		if w.Status == recompute.OK || w.Status == recompute.Low {
			*x = other
			x.guess = nil
			return next, w, nil
		}
	}
	return op, v, nil
}

// verify compares what the tensors were read from with its checksums.
func (x *execution) verify() error {
	for _, t := range slices.Concat(x.in, x.out) {
		if s := x.stored[t]; s != nil {
			if err := s.Verify(); err != nil {
				return lang.Errorf("%s: %w", s, err)
			}
		}
	}
	return nil
}

// bind opens the tensors of a dump and binds them to the formula of its type, or says why
// it cannot be judged.
func (x *execution) bind() (op *recompute.Operator, warnings []string, v *recompute.Verdict, err error) {
	formula := recompute.FormulaOf(x.row.Type)
	if x.in, err = x.tensors(tensor.Input, formula.IsOfImages); err != nil {
		return nil, nil, nil, err
	}
	if x.out, err = x.tensors(tensor.Output, formula.IsOfImages); err != nil {
		return nil, nil, nil, err
	}
	switch n := formula.Output; {
	case n == 0 || len(x.out) == 1: // others are not connected, or were not dumped
	case n < len(x.out):
		x.out, x.firstOut = x.out[n:n+1], n
	default:
		x.out = nil
	}
	if formula.Name != "" && len(x.out) > 0 {
		if err = x.standIn(formula.IsOfImages); err != nil {
			return nil, nil, nil, err
		}
	}
	x.row.Inputs = x.describe(x.in)
	if v := x.refused(formula.Name, len(x.in) > 0); v != nil {
		return nil, nil, v, nil
	}
	if op, warnings, err = recompute.Bind(formula, x.connected(x.in), x.out, x.given()); err == nil {
		op.Overlap, op.Fused = x.overlap(), x.row.Fused
		op.Known = len(x.graphs) > 0 && op.Fused != nil && !*op.Fused
	}
	return op, warnings, nil, err
}

// refused is the verdict of an operator without what a formula needs.
func (x *execution) refused(formula string, hasInputs bool) *recompute.Verdict {
	v := &recompute.Verdict{Status: recompute.Undecided}
	switch {
	case formula == "":
		v.Reason = recompute.NoType
	case !hasInputs:
		v.Reason = recompute.NoInputs
	case len(x.out) == 0:
		v.Reason = recompute.NoOutputs
	default:
		return nil
	}
	return v
}

// errorOf says which tensor an error is about.
func (x *execution) errorOf(err error) error {
	if t, ok := errors.AsType[*recompute.TensorError](err); ok {
		return lang.Errorf("%s %d: %w", t.Kind, t.Index, err)
	}
	return err
}

// tensors opens the inputs or outputs in their order; one that is missing is nil.
func (x *execution) tensors(kind tensor.Kind, images bool) (all []*recompute.Tensor, err error) {
	for i := range x.op.Tensors {
		t := &x.op.Tensors[i]
		if t.Kind != kind || t.Table || t.Whole() || t.File.Err != nil {
			continue
		}
		one, err := x.tensor(t, images)
		if err != nil {
			return nil, lang.Errorf("%s %d: %w", t.Kind, t.Index, err)
		}
		for len(all) <= t.Index {
			all = append(all, nil)
		}
		all[t.Index] = one
	}
	return all, nil
}

// tensor opens a tensor and brings it into host order.
func (x *execution) tensor(t *dumpdir.Tensor, images bool) (*recompute.Tensor, error) {
	f, err := x.files.Open(t.File.Path(), t.Member, tensorfile.Options{Name: t.File.Name, Version: x.opt.Version})
	if err != nil {
		return nil, err
	}
	x.open = append(x.open, f)
	for _, w := range f.AllWarnings() {
		x.aboutFiles = append(x.aboutFiles, lang.Sayf("%s: %s", "%s：%s", t.File.Path(), w))
	}
	s, err := f.FindOrOnly(t.Kind, t.Index)
	if err == nil {
		err = s.Err
	}
	if err != nil {
		return nil, err
	}
	one, err := x.host(s, t, images)
	if err == nil {
		err = x.watch(one, t, s)
	}
	if err == nil && !saysType(f, s, t) {
		one.DType, err = one.Held()
	}
	return one, err
}

// saysType reports whether something says which type a tensor had on the NPU: dump.json, or a file
// that can hold any type. numpy has no bfloat16.
func saysType(f *tensorfile.File, s *tensorfile.Tensor, t *dumpdir.Tensor) bool {
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		return t.Leaf.Tensor.DType != ""
	}
	return s.Origin != tensor.Undefined || !f.IsArray && f.Container != "npz"
}

// host is a tensor in host order; images have their channels first.
func (x *execution) host(s *tensorfile.Tensor, t *dumpdir.Tensor, images bool) (*recompute.Tensor, error) {
	one := &recompute.Tensor{DType: cmp.Or(s.Origin, s.DType), Stored: s.DType}
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		one.DType = cmp.Or(t.Leaf.Tensor.ElementType(), one.DType)
	}
	stored, err := s.Stored()
	if unsupported, ok := errors.AsType[*tensor.UnsupportedType](err); ok {
		one.Stored, one.Shape = unsupported.DType, s.Shape
		return x.note(one, s), nil
	} else if err != nil {
		return nil, err
	}
	one.Shape, one.Source = stored, s.Elements()
	target := tensor.NCHW
	if layout.IsHost(s.Format) && (!images || s.Format == tensor.ND || s.Format == target) {
		return x.note(one, s), nil
	}
	plan, err := hostPlan(s, stored, images)
	if err != nil {
		return nil, err
	}
	one.Shape = plan.Shape
	if plan.Copies() {
		return x.note(one, s), nil
	}
	buffers := new(layout.Buffers)
	one.Source, err = plan.Reader(one.Source, s.DType.UnitSize(), buffers)
	return x.note(one, s), err
}

// note keeps how a tensor is stored.
func (x *execution) note(one *recompute.Tensor, s *tensorfile.Tensor) *recompute.Tensor {
	if x.stored == nil {
		x.stored = map[*recompute.Tensor]*tensorfile.Tensor{}
	}
	x.stored[one] = s
	return one
}

// overlap reports whether an output lay in the memory of an input; nil where no dump says
// where they were.
func (x *execution) overlap() *bool {
	var is *bool
	for _, in := range x.in {
		for _, out := range x.out {
			if in == nil || out == nil || x.from[in] != "" || x.stored[in].Address == 0 || x.stored[out].Address == 0 {
				continue
			}
			a, b := x.stored[in], x.stored[out]
			both := a.Address < b.Address+uint64(b.Size) && b.Address < a.Address+uint64(a.Size)
			if is == nil {
				is = new(bool)
			}
			*is = *is || both
		}
	}
	return is
}

// hostPlan plans a tensor of a device layout in host order.
func hostPlan(s *tensorfile.Tensor, stored tensor.Shape, images bool) (plan *layout.Plan, first error) {
	var orders []tensor.Format
	if f := s.OriginalFormat; f != nil && layout.IsHost(*f) && !images {
		orders = append(orders, *f)
	}
	orders = append(orders, tensor.NCHW, tensor.NCDHW, tensor.ND)
	if len(s.OriginalShape) != 4 && len(s.OriginalShape) != 5 && len(s.OriginalShape) > 0 {
		orders = append([]tensor.Format{tensor.ND}, orders...)
	}
	for _, target := range orders {
		plan, err := layout.NewPlan(layout.Request{DType: s.DType, Source: s.Format, Shape: stored, C0: s.C0, Groups: s.Groups,
			Original: s.OriginalShape, OriginalFormat: s.OriginalFormat, Target: target})
		if err == nil {
			return plan, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// describe lists tensors for the report.
func (x *execution) describe(tensors []*recompute.Tensor) []Tensor {
	all := []Tensor{}
	for i, t := range tensors {
		if t != nil {
			all = append(all, Tensor{Index: i, DType: t.DType.String(), Shape: append(tensor.Shape{}, t.Shape...), Format: x.stored[t].Format.String(), From: x.from[t]})
		}
	}
	return all
}

// fileOf is the file of an output.
func (x *execution) fileOf(output int) string {
	i := slices.IndexFunc(x.op.Tensors, func(t dumpdir.Tensor) bool { return t.Kind == tensor.Output && t.Index == output })
	if i < 0 {
		return x.row.File
	}
	return x.op.Tensors[i].File.Path()
}

// take makes the row of a verdict.
func (x *execution) take(v *recompute.Verdict) {
	r := x.row
	r.Status, r.Reason, r.Extent, r.Confidence = v.Status, string(v.Reason), v.Extent, v.Confidence
	for name, a := range v.Attributes {
		r.Attributes[name] = a
	}
	r.Hypotheses, r.Notes, r.singles = v.Hypotheses, v.Notes, v.Singles
	if !v.Why.IsZero() && v.Status == recompute.Undecided {
		r.set(lang.Sayf("%v: %s", "%v：%s", reasons[v.Reason], v.Why), lang.Sentence{})
	}
	if v.Status == recompute.Misfit && !v.Why.IsZero() {
		r.set(v.Why, lang.Sentence{})
	}
	outputs := x.describe(x.out)
	for i := range outputs {
		outputs[i].Index += x.firstOut
	}
	for _, o := range v.Outputs {
		t := outputs[o.Index]
		out := Output{Tensor: t, Elements: o.Elements, Checked: o.Checked, How: o.How, Bad: o.Bad, Beyond: o.Beyond, Worst: tensor.Number(o.Worst), RMS: tensor.Number(o.RMS),
			Overflow: o.Overflow, Skipped: o.Skipped, Chi: o.Chi, MaxZ: o.MaxZ, Elems: []Element{}, file: x.fileOf(t.Index), width: o.Width}
		if o.First >= 0 {
			out.FirstBad = &Element{Offset: o.First, Coord: t.Shape.Coordinates(o.First)}
		}
		for _, s := range o.Spots {
			computed, npu := tensor.Number(s.Computed), tensor.Number(s.NPU)
			out.Elems = append(out.Elems, Element{s.Offset, t.Shape.Coordinates(s.Offset), &computed, &npu})
		}
		r.Outputs = append(r.Outputs, out)
	}
	for _, t := range outputs[min(len(outputs), len(v.Outputs)):] { // nobody computes them
		r.Outputs = append(r.Outputs, Output{Tensor: t, Elements: t.Shape.Elements(), Elems: []Element{}, file: x.fileOf(t.Index)})
	}
	x.row = r
}
