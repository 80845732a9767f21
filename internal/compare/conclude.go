package compare

import (
	"context"
	"maps"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/engine"
	"dumptool/internal/compare/pairing"
)

// report makes the report of the rows that are finished. Interrupted is set if
// some are not, unless it was a failure that ended the run.
func (r *run) report() *Report {
	rep := &Report{
		Profile: string(r.opt.Judge.Limits.Profile), NaNPolicy: string(r.opt.Judge.Verdict.NaN), TolMode: TolModes()[r.opt.Judge.Mode],
		OrderSource: r.source, Coverage: r.m.coverage, Warnings: r.m.warnings, FailedFast: r.stopped,
		KLD:      map[int]engine.Metric{},
		Findings: Findings{FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1},
	}
	n := len(r.m.matches)
	rep.Rows, rep.rounds = make([]Row, 0, n), make([]string, 0, n)
	settled := make([]*settled, 0, n)
	for i := range r.m.matches {
		if !r.done[i] {
			rep.Interrupted = !r.stopped
			continue
		}
		if m, ok := r.kld[i]; ok {
			rep.KLD[len(rep.Rows)] = m
		}
		x := &r.m.matches[i]
		round := x.row.Round
		if x.npu != nil {
			round = r.roundOf(x.npu)
		}
		rep.Rows, rep.rounds = append(rep.Rows, x.row), append(rep.rounds, round)
		settled = append(settled, r.settled[i])
	}
	r.settled = settled
	if r.opt.Keep {
		rep.pairs, rep.opener = settled, &r.opener
	}
	rep.selection = r.selection
	rep.cover(r.m)
	for _, op := range slices.Sorted(maps.Keys(r.opt.Shape.Transpose)) {
		if !slices.ContainsFunc(rep.Rows, func(row Row) bool { return row.Op == op }) && !rep.Interrupted && !r.stopped {
			rep.Warnings = append(rep.Warnings, "--transpose: no operator of the reference is called "+op)
		}
	}
	rep.count()
	r.m = nil // the rows tell it all
	return rep
}

// count counts the rows by status.
func (rep *Report) count() {
	rep.Counts = map[Status]int{}
	for i := range rep.Rows {
		rep.Counts[rep.Rows[i].Status]++
	}
}

// cover fills in what was compared and what was not. A tensor of the reference
// counts once, in however many rounds it was compared; one that was skipped does
// not count.
func (rep *Report) cover(m *matcher) {
	c := &rep.Coverage
	asked, compared := map[string]bool{}, map[string]bool{}
	for _, file := range m.candidates {
		asked[file] = true
	}
	for i := range m.matches {
		// Rows that were not reached count too.
		if row := &m.matches[i].row; row.Status != Skip && row.RefFile != "" {
			asked[row.RefFile] = true
		}
	}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		switch row.Status {
		case UnmatchedRef:
			c.RefOnly = append(c.RefOnly, row.Name())
		case UnmatchedNPU:
			c.NPUOnly = append(c.NPUOnly, row.Name())
		case Error:
			c.Unread = append(c.Unread, row.Name())
		}
		if row.RefFile != "" && row.Compared() {
			compared[row.RefFile] = true
		}
	}
	c.Reference, c.Compared = len(asked), len(compared)
}

// diagnose looks for the cause of what is bad, and for where it began.
func (r *run) diagnose(ctx context.Context, rep *Report) error {
	patterns, err := r.patterns(ctx, rep)
	if err != nil {
		return err
	}
	ops := make([]diagnose.Op, len(rep.Rows))
	for i := range rep.Rows {
		row := &rep.Rows[i]
		ops[i] = diagnose.Op{
			Name: row.Op, Output: row.Output, Input: row.Kind == string(pairing.Input), Round: row.Round,
			State: row.Status.state(), Order: row.Order, Result: row.Result, Patterns: patterns[i],
		}
	}
	graph, source := r.graph(rep.Rows)
	rep.GraphSource = source
	v := diagnose.Network(ops, graph)
	for i := range rep.Rows {
		row := &rep.Rows[i]
		var found []Reason
		for _, f := range v.Ops[i].Findings {
			found = append(found, Reason{Code(f.Code), Confidence(f.Confidence), f.Evidence})
		}
		if row.Status == Fail || row.Status == ShapeMismatch {
			row.Reasons = merge(found, row.Reasons)
		}
		if row.Status == Fail && len(row.Reasons) == 0 {
			row.Reasons = []Reason{{UnknownCode, Low, "no rule explains the errors"}}
		}
	}
	rep.Findings = Findings{
		FirstBad: v.FirstBad, FirstDamaged: v.FirstDamaged, LastGood: v.LastGood, Suspects: v.Suspects, FirstNaN: v.FirstNaN, FirstOverflow: v.FirstOverflow,
		LargestJump: v.LargestJump, Jump: v.Jump, Chain: v.Chain, OutputsBad: v.OutputsBad,
	}
	r.settled = nil
	if !r.opt.Keep {
		trimDiagnosed(rep.Rows)
	}
	if r.opt.Baseline != nil {
		rep.Baseline = r.opt.Baseline.apply(rep, r.opt.Slack)
		rep.Baseline.File = r.opt.BaselineFile
		if rep.FailedFast {
			rep.Baseline.Missing = nil // nobody knows: the rest was not reached
		}
	}
	return nil
}

// merge puts findings before reasons and keeps the first of each code.
func merge(found, reasons []Reason) []Reason {
	all := slices.Concat(found, reasons)
	var kept []Reason
	for _, r := range all {
		if !slices.ContainsFunc(kept, func(k Reason) bool { return k.Code == r.Code }) {
			kept = append(kept, r)
		}
	}
	return kept
}

// state is what a status means to the diagnosis.
func (s Status) state() diagnose.State {
	switch s {
	case Pass:
		return diagnose.Passed
	case Warn, Partial:
		return diagnose.Warned
	case Fail, ShapeMismatch, DTypeMismatch:
		return diagnose.Failed
	}
	return diagnose.NotCompared
}

// digest tells tensors apart.
type digest struct {
	crc   uint32
	sum   uint64
	count int64
}

// patterns looks for known patterns of errors in the bad rows.
func (r *run) patterns(ctx context.Context, rep *Report) ([][]diagnose.Finding, error) {
	same := map[digest][]int{}
	var bad []int
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if res := row.Result; res != nil && res.Total > 0 {
			d := digest{res.NPUCRC, res.NPUSum, res.Total}
			same[d] = append(same[d], i)
		}
		permuted := row.Status == ShapeMismatch && count(row.RefShape) == count(row.NPUShape)
		if r.settled[i] != nil && (row.Status == Fail || permuted) {
			bad = append(bad, i)
		}
	}
	patterns := make([][]diagnose.Finding, len(rep.Rows))
	type outcome struct {
		found []diagnose.Finding
		err   error
	}
	err := batch.Run(ctx, batch.Options{Workers: r.opt.Workers}, bad, nil,
		func(ctx context.Context, i int) outcome {
			row := &rep.Rows[i]
			side, err := r.opener.open(r.settled[i])
			if err != nil {
				return outcome{err: err}
			}
			defer side.Close()
			others := func(crc uint32, sum uint64, count int64) []string {
				return rep.twins(i, same[digest{crc, sum, count}])
			}
			in := diagnose.Input{Result: row.Result, Request: r.request(r.settled[i], row.Limits), Ref: side.ref, NPU: side.npu, OtherNPUDigests: others}
			if row.Result == nil {
				in.NPUShape = row.NPUShape
			}
			found, err := diagnose.Patterns(ctx, in)
			return outcome{found, err}
		},
		func(k int, o outcome) {
			patterns[bad[k]] = o.found
			if o.err != nil && !ended(o.err) {
				rep.Warnings = append(rep.Warnings, rep.Rows[bad[k]].Name()+": not diagnosed: "+o.err.Error())
			}
		})
	return patterns, err
}

// twins names the rows of other operators whose NPU tensor is that of row i
// while their references differ.
func (rep *Report) twins(i int, candidates []int) []string {
	var names []string
	mine := rep.Rows[i].Result
	for _, k := range candidates {
		other := &rep.Rows[k]
		if k != i && other.Op != rep.Rows[i].Op && (other.Result.RefCRC != mine.RefCRC || other.RefDType != rep.Rows[i].RefDType) {
			names = append(names, other.Name())
		}
	}
	return names
}

// graph returns what the operators of the rows read, and where that comes from.
func (r *run) graph(rows []Row) (diagnose.Graph, string) {
	g, source := r.opt.Order.Consumers, "consumer map "+r.opt.Order.ConsumersFile
	if g == nil && r.opt.Pair.Fusion != nil {
		g, source = r.opt.Pair.Fusion.Graph(), "fusion graph "+r.opt.Order.FusionFile
	}
	if g == nil || g.Len() == 0 {
		return nil, ""
	}
	// Producers have the names of the graph; rows have those of the reference.
	names := map[string]string{}
	for i := range rows {
		row := &rows[i]
		for _, name := range []string{row.Op, row.NPUOp} {
			if name != "" {
				names[pairing.Normalise(name)] = row.Op
			}
		}
	}
	known := func(name string) string {
		if op, ok := names[pairing.Normalise(name)]; ok {
			return op
		}
		return name
	}
	graph := diagnose.Graph{}
	var queue []string
	for i := range rows {
		queue = append(queue, rows[i].Op)
	}
	aliases := map[string]string{}
	for i := range rows {
		if rows[i].NPUOp != "" {
			aliases[rows[i].Op] = rows[i].NPUOp
		}
	}
	for len(queue) > 0 {
		op := queue[0]
		queue = queue[1:]
		if _, done := graph[op]; done {
			continue
		}
		search := []string{op}
		if alias := aliases[op]; alias != "" {
			search = append(search, alias)
		}
		producers, ok := g.Find(search...)
		if !ok {
			continue
		}
		graph[op] = nil
		for _, p := range producers {
			name := known(p.Op)
			graph[op] = append(graph[op], diagnose.Source{Op: name, Output: p.Output})
			queue = append(queue, name)
		}
	}
	return graph, source
}
