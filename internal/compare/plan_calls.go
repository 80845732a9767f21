package compare

import (
	"cmp"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
)

// nameCalls gives the tensors of a pair of rounds of msprobe what they have in common
// with their partners.
func (p *Plan) nameCalls(round *plannedRound, refs, npus []pair.Tensor, opt *pair.Options) {
	calls := pair.NewCalls(round.pair.Ref, round.pair.NPU, p.opt.SideFiles.NameMap)
	opt.Calls = calls != nil
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
