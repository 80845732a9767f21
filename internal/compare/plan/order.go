package plan

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// OrderError reports that the requested execution order is not available.
type OrderError struct{ Err error }

// Error returns the text of Err.
func (e *OrderError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *OrderError) Unwrap() error { return e.Err }

// operator is an operator of a round with its pairs, for ordering.
type operator struct {
	dumpdir.Item
	pairs []*Pair
}

// isCompared reports whether any tensor of the operator has a partner.
func (o operator) isCompared() bool {
	return slices.ContainsFunc(o.pairs, func(x *Pair) bool { return x.Ref != nil && x.NPU != nil })
}

// Sort sets the place of every pair in the execution order of its round, and sorts the
// pairs by round and place.
func (p *Planner) Sort() error {
	rounds := map[*Round][]*Pair{}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		x.Round = p.ownRound(x.Round)
		rounds[x.Round] = append(rounds[x.Round], x)
	}
	place := map[*Round]int{}
	for i, round := range p.rounds {
		place[round] = i
		reasons, err := p.orderOperators(round, p.groupByOperator(rounds[round]))
		if err != nil {
			return &OrderError{err}
		}
		round.Pairing.Rejected = reasons
	}
	slices.SortStableFunc(p.Pairs, func(a, b Pair) int {
		return cmp.Or(place[a.Round]-place[b.Round], compareRows(a.Row, b.Row))
	})
	return nil
}

// ownRound returns the round of this plan for a pair; r may belong to another plan with the
// same NPU side.
func (p *Planner) ownRound(r *Round) *Round {
	if slices.Contains(p.rounds, r) {
		return r
	}
	same := func(own *Round) bool { return own.pair.NPU == r.pair.NPU && own.Name == r.Name }
	if i := slices.IndexFunc(p.rounds, same); i >= 0 {
		return p.rounds[i]
	}
	p.rounds = append(p.rounds, r)
	return r
}

// groupByOperator groups the pairs of a round by NPU operator, or by reference operator if they have no NPU tensor. The
// clocks of two runs are not comparable: the NPU's times are used if it has any, and operators that only the
// reference has then have no time. If any operator is compared, sources of the order need not contain the other
// operators.
func (p *Planner) groupByOperator(pairs []*Pair) []operator {
	clock := slices.ContainsFunc(pairs, func(x *Pair) bool { return x.NPU != nil && p.npu.op[x.NPU.ID].IsTimed() })
	all, at := make([]operator, 0, len(pairs)), make(map[*dumpdir.Op]int, len(pairs))
	for _, x := range pairs {
		op, item := p.operatorItem(x, clock)
		i, ok := at[op]
		if !ok || op == nil {
			i = len(all)
			at[op] = i
			all = append(all, operator{Item: item})
			all[i].Names = appendNames([]string{x.Row.Op}, item.Names...)
		} else {
			all[i].Names = appendNames(appendNames(all[i].Names, x.Row.Op), item.Names...)
		}
		all[i].pairs = append(all[i].pairs, x)
	}
	if slices.ContainsFunc(all, operator.isCompared) {
		for i := range all {
			all[i].Passive = all[i].Passive || !all[i].isCompared()
		}
	}
	return all
}

// operatorItem returns the operator of a pair, for ordering. With clock only times of the NPU run are used.
func (p *Planner) operatorItem(x *Pair, clock bool) (op *dumpdir.Op, item dumpdir.Item) {
	if x.Ref != nil && !x.comm {
		op = p.ref.op[x.Ref.ID]
		item = op.Item()
		if clock {
			item.Timestamp, item.Seq = 0, 0
		}
	}
	if x.NPU != nil {
		names, timestamp, seq := item.Names, item.Timestamp, item.Seq
		op = p.npu.op[x.NPU.ID]
		item = op.Item()
		item.Names = appendNames(slices.Clip(item.Names), names...)
		if !clock {
			item.Timestamp, item.Seq = timestamp, seq
		}
	}
	return op, item
}

// appendNames appends the names that are not yet in the list.
func appendNames(names []string, more ...string) []string {
	for _, name := range more {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// orderOperators sets the positions of the operators of a round, and finds the data flow. It returns the reasons why
// existing sources were rejected.
func (p *Planner) orderOperators(round *Round, operators []operator) (rejected []lang.Sentence, err error) {
	items := make([]dumpdir.Item, len(operators))
	for i := range operators {
		items[i] = operators[i].Item
	}
	sources := p.options.orderSources()
	if round.pair.NPU != nil {
		sources = round.pair.Sources()
	}
	sources.By = p.options.OrderBy
	order, places, err := sources.Rank(items)
	if err != nil {
		return nil, err
	}
	for i := range operators {
		for _, x := range operators[i].pairs {
			x.Row.Order = places[i]
			if round.sharded != nil && x.NPU != nil {
				x.Row.Order = round.sharded.clockOf(p.npu, x.NPU, places[i])
			}
		}
	}
	var flow dumpdir.Flow
	if p.options.Judge.Verdict.Flow != diagnose.FlowNone {
		flow = sources.Flow(items)
	}
	round.OrderSource, round.GraphSource, round.Graph = order.Source, flow.Source, flow.Graph
	for i := range operators {
		for _, x := range operators[i].pairs {
			x.Row.Module = round.moduleName(x.Row)
			if op := round.graphOperator(x.Row); op != nil && x.Row.OpType == "" {
				x.Row.OpType = op.Type
			}
		}
	}
	// A single operator needs no order, and an order by name that the user requests counts as known.
	if !order.IsKnown() && round.sharded != nil && round.sharded.ordered {
		round.OrderSource, order.Rejected = lang.Say("equal tensors of the ranks"), nil
	}
	round.OrderKnown = order.IsKnown() || round.sharded != nil && round.sharded.ordered || p.options.OrderBy == dumpdir.ByName || len(items) < 2
	if round.OrderKnown || !slices.ContainsFunc(operators, operator.isCompared) {
		order.Rejected = nil // another source was used, or there is nothing to order
	}
	return slices.Concat(order.Rejected, flow.Rejected), nil
}

// graphOperator returns the operator of a row in the graph, nil if there is none.
func (r *Round) graphOperator(row *record.Row) *graph.Op {
	if r.Graph == nil {
		return nil
	}
	return r.Graph.Find(appendNames([]string{row.Op}, row.NPUOp)...)
}

// moduleName returns the name of the operator, preferably as in the graph, if it has slashes, else "".
func (r *Round) moduleName(row *record.Row) string {
	name := row.Op
	if op := r.graphOperator(row); op != nil && strings.Contains(op.Name, "/") {
		name = op.Name
	}
	if !strings.Contains(name, "/") {
		return ""
	}
	return name
}

// compareRows orders rows of a round by place, name, kind and output.
func compareRows(a, b *record.Row) int {
	return cmp.Or(a.Order-b.Order, lang.CompareNatural(a.Op, b.Op), strings.Compare(a.Kind, b.Kind), a.Output-b.Output,
		strings.Compare(a.NPUFile, b.NPUFile), strings.Compare(a.RefFile, b.RefFile))
}

// planReads selects the inputs to read in order to find their producers: inputs that only one
// side has, of operators that no file connects.
func (p *Planner) planReads() {
	v := &p.options.Judge.Verdict
	if !v.Flow.UsesContent() || v.Mode != limits.ByEvidence || p.options.Standard.Name != "" {
		return
	}
	byNPU, byRef := p.npu.inputsByOp(), p.ref.inputsByOp()
	first, paired := map[*dumpdir.Op]*Pair{}, map[*dumpdir.Op]bool{}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		if x.Ref == nil || x.NPU == nil || x.comm || x.Round.Graph != nil || !x.Round.OrderKnown {
			continue
		}
		op := p.npu.op[x.NPU.ID]
		if x.NPU.Kind == tensor.Input {
			paired[op] = true
		} else if first[op] == nil {
			first[op] = x
		}
	}
	for op, x := range first {
		if paired[op] {
			continue
		}
		if x.Reads = byNPU[op]; len(x.Reads) == 0 {
			x.Reads, x.ReadsOfRef = byRef[p.ref.op[x.Ref.ID]], true
		}
	}
}

// inputsByOp returns the inputs of each operator.
func (s *Side) inputsByOp() map[*dumpdir.Op][]*Tensor {
	of := map[*dumpdir.Op][]*Tensor{}
	for i, t := range s.Tensors {
		if t.Kind == tensor.Input && !t.Table {
			of[s.op[i]] = append(of[s.op[i]], t)
		}
	}
	return of
}
