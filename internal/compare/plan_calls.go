package compare

import (
	"cmp"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// nameCalls gives the tensors of a pair of rounds of msprobe what they have in common
// with their partners.
func (p *Plan) nameCalls(round *plannedRound, refs, npus []pair.Tensor, opt *pair.Options) {
	calls := pair.NewCalls(round.pair.Ref, round.pair.NPU, p.opt.SideFiles.NameMap, p.opt.Pair.Fuzzy)
	round.calls, opt.Calls = calls, calls != nil
	if calls == nil {
		return
	}
	name := func(s *Side, tensors []pair.Tensor, npu bool) {
		for i := range tensors {
			t := &tensors[i]
			if l := s.Tensors[t.ID].Leaf; l != nil {
				t.Call = calls.Key(s.op[t.ID].Name, l, npu)
			}
		}
	}
	name(p.ref, refs, false)
	name(p.npu, npus, true)
}

// callOf says where an operator was called.
func callOf(op *dumpdir.Op) (script string, modules []string) {
	if op.Call == nil {
		return "", nil
	}
	return op.Script(), op.Call.Modules
}

// within are the operators that run inside of the modules of rows.
func within(rows []record.Row) map[string][]string {
	names := make(map[string]string) // of the rows, by those that modules have
	for i := range rows {
		if row := &rows[i]; row.Script != "" || row.Modules != nil {
			names[cmp.Or(row.NPUOp, row.Op)], names[row.Op] = row.Op, row.Op
		}
	}
	inside := make(map[string][]string)
	last := ""
	if len(names) == 0 {
		return nil
	}
	for i := range rows {
		row := &rows[i]
		if row.Op == last {
			continue
		}
		last = row.Op
		for _, module := range row.Modules {
			if name, ok := names[module]; ok && name != row.Op {
				inside[name] = append(inside[name], row.Op)
			}
		}
	}
	return inside
}

// pairValues lists the values of all calls of the NPU with those of the reference that
// belong to them. The pairs have their order.
func (p *Plan) pairValues() []record.CallPair {
	type place struct {
		round *plannedRound
		leaf  *msprobe.Leaf
	}
	rows := make(map[place]int)
	for i := range p.Pairs {
		if x := &p.Pairs[i]; x.NPU != nil && x.NPU.Leaf != nil {
			rows[place{x.round, x.NPU.Leaf}] = i
		}
	}
	var all []record.CallPair
	for _, round := range p.rounds {
		ref, npu, calls := round.pair.Ref, round.pair.NPU, round.calls
		if calls == nil {
			continue
		}
		type key struct {
			name string
			kind tensor.Kind
		}
		refs := make(map[key]*msprobe.Leaf)
		for _, c := range ref.Calls {
			for i := range c.Leaves {
				l := &c.Leaves[i]
				refs[key{calls.Key(c.API, l, false), l.Kind}] = l
			}
		}
		for _, c := range npu.Calls {
			of := record.CallPair{At: round.At, API: c.API, Stack: c.Stack, Values: make([]record.ValuePair, len(c.Leaves))}
			for i := range c.Leaves {
				l := &c.Leaves[i]
				row, ok := rows[place{round, l}]
				if !ok {
					row = -1
				}
				of.Values[i] = record.ValuePair{NPU: l, Ref: refs[key{calls.Key(c.API, l, true), l.Kind}], Row: row}
			}
			all = append(all, of)
			round.countDiffering(&of)
		}
	}
	return all
}

// countDiffering counts arguments that are no tensors and differ: the calls then compute
// something else.
func (r *plannedRound) countDiffering(c *record.CallPair) {
	for _, v := range c.Values {
		if v.Ref == nil || v.NPU.Value == nil || v.Ref.Value == nil || v.NPU.Value.Text == v.Ref.Value.Text {
			continue
		}
		if r.Pairing.Differ++; r.Pairing.Differ == 1 {
			r.Pairing.FirstDiffer = lang.Sayf("%s is %.100s, the reference has %.100s", "%s 为 %.100s，标杆为 %.100s", v.NPU.Name, v.NPU.Value.Text, v.Ref.Value.Text)
		}
	}
}
